"""Every strategy passes the public checks over shards, and `full` chooses as in one process."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from boostsample.errors import SettingError
from boostsample.loop.booster import Booster
from boostsample.loop.shard_booster import ShardBooster
from boostsample.objectives import RealMH
from boostsample.registry import STRATEGIES, make_strategy
from boostsample.shards.exchange import LocalShards
from boostsample.shards.server import array_sources
from boostsample.strategies import Laminating
from boostsample.testing import STRATEGY_CHECKS, Make, over_shards
from boostsample.testing.strategies import noisy_strategy_problem, run_strategy
from tests.compiled import slow_without_jit
from tests.loop.checkpoint_runs import bits
from tests.problems import bank_of, noisy_labels, table
from tests.shards.shard_runs import shard_booster
from tests.shards.test_shard_losses import trained
from tests.strategies.test_full import training_set
from tests.strategies.test_strategies import WITH_LEARNERS

OTHERS: dict[str, Make] = {
    "laminating-distinct": functools.partial(Laminating, scheme="distinct"),
    "laminating-stratified": functools.partial(Laminating, scheme="stratified"),
}
#: Strategies that ask for weights which no shard knows, or draw by them: refused, see below.
_REFUSED = {
    "adaptive-pruning": "the number of examples",
    "label-sampling": "labels of a search must be None",
    "quickboost": "the number of examples",
    "weight-trimming": "the number of examples",
    "screening": "features must not be shuffled",
}
_NAMES = [name for name in STRATEGIES if name not in _REFUSED]
#: Shards make generators from the seeds that they are sent, which this check takes for the
#: strategy's own, and refuse schemes without a promise when they draw: checked without shards, as
#: are fresh interpreters, which take seconds.
_WITHOUT_SHARDS = ("own_seed", "schemes", "fresh_interpreters")


def _named(check: Any) -> str:
    return str(check.__name__).removeprefix("check_strategy_")


def make_of(name: str) -> Make:
    return OTHERS.get(name) or functools.partial(make_strategy, name)


@slow_without_jit
@pytest.mark.parametrize("name", [*_NAMES, *OTHERS])
def test_strategies(name: str) -> None:
    with over_shards(3):
        for check in STRATEGY_CHECKS:
            if _named(check) not in _WITHOUT_SHARDS:
                check(make_of(name))


@slow_without_jit
@pytest.mark.parametrize("name", _NAMES)
def test_with_trees(name: str) -> None:
    with over_shards(3):
        for check in STRATEGY_CHECKS:
            if _named(check) in WITH_LEARNERS:
                check(make_of(name), "tree:n_leaves=4")


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        *((name, f"over shards, {reason}") for name, reason in _REFUSED.items()),
        *(
            (f"uniform-naive:n_features=4:scheme={scheme}", "over shards, scheme must be .* use")
            for scheme in ("mvs", "goss", "uniform", "heaviest")
        ),
    ],
)
def test_strategies_and_schemes_that_are_refused(strategy: str, message: str) -> None:
    with over_shards(2), pytest.raises(SettingError, match=message):
        run_strategy(make_of(strategy), noisy_strategy_problem())


def test_the_checks_run_over_shards() -> None:
    """Not beside them: the columns of shards are there, and only inside the context."""

    def make() -> Laminating:
        return Laminating(n_features=4)

    with over_shards(2):
        inside = run_strategy(make, noisy_strategy_problem()).rounds[0].rows[0]
    outside = run_strategy(make, noisy_strategy_problem()).rounds[0].rows[0]
    assert inside["messages"] == 2 * 3
    assert "messages" not in outside


def compare(
    X: Any, Y: Any, n_shards: int, rounds: int, learner: str, init: str, objective: str = "mh"
) -> None:
    """The same features, thresholds and votes; values and edges within 1e-6, most within 1e-12."""
    bank = bank_of(X)
    settings: Any = {"n_rounds": rounds, "weight_init": init, "rng": 0, "objective": objective}
    alone = Booster(bank, None, Y, "full", learner, **settings)
    shards = LocalShards(array_sources(bank, Y, n_shards))
    many = ShardBooster(shards, "full", learner, **settings)
    for number in range(1, rounds + 1):
        want, over_shards = alone.next_round(), many.next_round()
        parts = [
            [(t.feature, t.threshold, t.value, t.parent, t.side) for t in each.terms]
            for each in (want, over_shards)
        ]
        assert parts[0] == parts[1], number
        votes = [np.stack([t.votes for t in each.terms]) for each in (want, over_shards)]
        within = 1e-6 if votes[0].dtype.kind == "f" else 0.0
        np.testing.assert_allclose(votes[0], votes[1], atol=within)
        assert over_shards.edge == pytest.approx(want.edge, abs=1e-6), number
        for a, b in zip(want.rows, over_shards.rows, strict=True):
            assert b["edge_estimated"] == pytest.approx(a["edge_estimated"], abs=1e-6)
            assert b["log10_loss"] == pytest.approx(a["log10_loss"], abs=1e-6)
            for name in ("family", "n_features", "n_examples", "looks_search", "looks_finish"):
                assert a[name] == b[name]


@slow_without_jit
@pytest.mark.parametrize("name", ["digits", "pendigits", "letter"])
def test_real_data_for_100_rounds(name: str, request: pytest.FixtureRequest) -> None:
    folder = None if name == "digits" else request.getfixturevalue("data_dir")
    compare(*training_set(name, folder), 3, 100, "stump", "balanced")


@pytest.mark.parametrize("n_shards", [1, 2, 3])
@pytest.mark.parametrize("n_labels", [1, 3, 17])
@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=4", "product:n_terms=2"])
def test_small_tables(learner: str, n_labels: int, n_shards: int) -> None:
    """Uniform weights tie at first; thirds of the values are missing."""
    X = table(90)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    compare(X, noisy_labels(90, n_labels), n_shards, 12, learner, "uniform")


@pytest.mark.parametrize("objective", ["mh", "real-mh"])
@pytest.mark.parametrize("init", ["balanced", "uniform"])
def test_labels_of_0_have_no_weight(init: str, objective: str) -> None:
    Y, rng = noisy_labels(90, 4), np.random.default_rng(0)
    Y[:, 1:][rng.random((90, 3)) < 0.4] = 0
    compare(table(90), Y, 3, 12, "stump", init, objective)


@pytest.mark.parametrize("objective", ["real-mh", "info", "gentle", "real-mh:abstains=1"])
@pytest.mark.parametrize("n_labels", [1, 3, 17])
@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=4"])
def test_objectives_of_real_values(learner: str, n_labels: int, objective: str) -> None:
    if "abstains" in objective and learner != "stump":
        pytest.skip("trees do not abstain")
    X = table(90)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    compare(X, noisy_labels(90, n_labels), 3, 12, learner, "balanced", objective)


@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=4"])
def test_runs_of_real_values_continue(learner: str) -> None:
    """From a state, and from a small state and its terms."""
    straight = shard_booster("laminating", learner, objective="real-mh")
    rounds = trained(straight)
    other = shard_booster("laminating", learner, objective="real-mh")
    first = [other.next_round() for _ in range(3)]
    restored, replayed = (
        shard_booster("laminating", learner, objective="real-mh") for _ in range(2)
    )
    restored.restore(other.state())
    of_terms = [done.terms for done in first], [done.edge for done in first]
    replayed.replay(*of_terms, other.small_state())
    for continued in (restored, replayed):
        assert bits(trained(continued)) == bits(rounds[3:])


class OwnWeights(RealMH):
    """Weights of labels of its own."""

    def label_weights(self, Y: Any, weights: Any) -> Any:
        return 2.0 * weights


@pytest.mark.parametrize("objective", ["m1", "samme", "rank", "bagging", OwnWeights()])
def test_objectives_that_are_refused(objective: Any) -> None:
    with pytest.raises(SettingError, match="over shards, weights must follow from scores"):
        shard_booster(objective=objective)
