"""Products and trees: which runs are the same, to the bit or nearly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.banks.bank_forms import make_bank
from boostsample.loop.booster import Booster
from boostsample.models.model import Model
from boostsample.models.scoring import TermArrays
from boostsample.records import Round
from tests.paths import ROOT
from tests.problems import bank_of, noisy_labels, powers, rows_of, table

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
LEARNERS = (
    "product:n_terms=3",
    "tree:n_leaves=5",
    "tree:n_leaves=5:min_leaf=9:min_weight=0.1:max_depth=2",
)
STRATEGIES = ("full", "ucb", "laminating:scheme=distinct")


def booster(learner: str, n_labels: int = 3, n: int = 80, **settings: Any) -> Booster:
    strategy = settings.pop("strategy", "uniform-naive:n_features=3")
    bank = bank_of(table(n), groups=2)
    given: dict[str, Any] = {"rng": 0, "n_rounds": 6, **settings}
    return Booster(bank, None, noisy_labels(n, n_labels), strategy, learner, **given)


def bits(run: Booster, n_rounds: int) -> tuple[Any, ...]:
    """History rows of the next rounds, and the weights after them."""
    weights = (rows_of(run, n_rounds), run.state()["weights"])[1]
    return weights["values"].tobytes(), weights["sums"].tobytes(), weights["mass"]


def rounds_of(run: Booster, n_rounds: int) -> list[Round]:
    return [run.next_round() for _ in range(n_rounds)]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("n_labels", [1, 2, 26])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_any_round_continues_to_identical_bits(learner: str, n_labels: int, strategy: str) -> None:
    straight = booster(learner, n_labels, strategy=strategy)
    done, states, small = [], [straight.state()], [straight.small_state()]
    for _ in range(6):
        done.append(straight.next_round())
        states.append(straight.state())
        small.append(straight.small_state())
    want = straight.state()["weights"]
    for at in range(6):
        second = booster(learner, n_labels, strategy=strategy, rng=5)
        second.restore(states[at])
        rows_of(second, 6 - at)
        third = booster(learner, n_labels, strategy=strategy, rng=7)
        third.replay([one.terms for one in done[:at]], [one.edge for one in done[:at]], small[at])
        rows_of(third, 6 - at)
        for one in (second, third):
            weights = one.state()["weights"]
            assert weights["values"].tobytes() == want["values"].tobytes()
            assert weights["sums"].tobytes() == want["sums"].tobytes()
            assert weights["mass"] == want["mass"]


@pytest.mark.skipif(not COMPILED, reason="many examples; compiled code runs them")
@pytest.mark.parametrize("learner", ["product:n_terms=3", "tree:n_leaves=12"])
@pytest.mark.parametrize("n_labels", [1, 10, 17])
def test_replay_of_many_examples(learner: str, n_labels: int) -> None:
    straight = booster(learner, n_labels, n=15_000)
    done = rounds_of(straight, 6)
    again = booster(learner, n_labels, n=15_000)
    state = straight.small_state()
    again.replay([one.terms for one in done], [one.edge for one in done], state)
    assert again.small_state()["weights"] == state["weights"]


@pytest.mark.skipif(not COMPILED, reason="many examples; compiled code runs them")
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("strategy", ["full", "uniform-naive", "laminating"])
def test_threads_give_the_same_bits(learner: str, strategy: str) -> None:
    one, two = (booster(learner, 10, 12_000, n_jobs=n, strategy=strategy) for n in (1, 2))
    assert rows_of(one, 4) == rows_of(two, 4)
    assert bits(one, 1) == bits(two, 1)


@pytest.mark.parametrize("learner", LEARNERS)
def test_forms_of_banks_give_the_same_bits(
    learner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, Y = table(120, 3), noisy_labels(120)
    found = []
    monkeypatch.setenv("BOOSTSAMPLE_CACHE_DIR", str(tmp_path))
    forms: dict[str, dict[str, Any]] = {
        "memory": {"reference": 50},
        "disk": {"reference": 50},
        "lazy": {"reference": 50, "cache_bytes": 300},
    }
    for form, settings in forms.items():
        bank = make_bank(form, powers(), X, **settings)
        run = Booster(bank, np.arange(10, 110), Y[10:110], "full", learner, n_rounds=5, rng=0)
        rows = rows_of(run, 5)
        found.append(([{**row, "values_computed": 0} for row in rows], bits(run, 1)))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("strategy", ["full", "uniform-naive"])
def test_rows_side_by_side_or_in_any_order(learner: str, strategy: str) -> None:
    X, Y = table(100), noisy_labels(100)
    order = np.random.default_rng(0).permutation(60)
    side_by_side = Booster(bank_of(X), np.arange(20, 80), Y[20:80], strategy, learner, rng=0)
    named = np.empty(60, np.int64)
    moved = X.copy()
    named[np.arange(60)] = 20 + order
    moved[named] = X[20:80]
    shuffled = Booster(bank_of(moved), named, Y[20:80], strategy, learner, rng=0)
    assert rows_of(side_by_side, 6) == rows_of(shuffled, 6)
    assert bits(side_by_side, 2) == bits(shuffled, 2)


@pytest.mark.parametrize("learner", LEARNERS)
def test_rows_of_weight_zero_are_as_good_as_absent(learner: str) -> None:
    X, Y = table(), noisy_labels()
    s = np.random.default_rng(2).integers(0, 3, 80).astype(np.float64)
    kept = np.flatnonzero(s)
    bank = bank_of(X, kept)
    same: dict[str, Any] = {"n_rounds": 8, "rng": 4}
    strategy = "uniform-naive"
    weighted = Booster(bank, None, Y, strategy, learner, example_weight=s, **same)
    without = Booster(bank, kept, Y[kept], strategy, learner, example_weight=s[kept], **same)
    assert rows_of(weighted, 8) == rows_of(without, 8)


@pytest.mark.parametrize("learner", LEARNERS[:2])
def test_a_weight_of_two_is_two_examples(learner: str) -> None:
    X, Y = table(30), noisy_labels(30)
    s = np.ones(30)
    s[[3, 4, 9]] = 2
    twice = np.repeat(np.arange(30), s.astype(int))
    first = Booster(bank_of(X), None, Y, "full", learner, n_rounds=4, example_weight=s)
    second = Booster(bank_of(X[twice]), None, Y[twice], "full", learner, n_rounds=4)
    for one, two in zip(rounds_of(first, 4), rounds_of(second, 4), strict=True):
        assert one.edge == pytest.approx(two.edge, abs=1e-6)


def loss_of(run: Booster, rounds: list[Round], X: NDArray[Any], Y: NDArray[Any]) -> float:
    """log10 of the mean of exp(-y f): uniform weights."""
    terms = [term for one in rounds for term in one.terms]
    scores = Model(run._bank.families, terms, Y.shape[1]).decision_function(X)
    return float(np.log10(np.exp(-Y * scores).mean()))


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("n_labels", [1, 2, 4, 17])
def test_scores_are_sums_of_outputs_and_the_loss_is_theirs(learner: str, n_labels: int) -> None:
    X = table()
    Y = np.where(np.random.default_rng(1).random((80, n_labels)) < 0.4, 1, -1).astype(np.int8)
    Y[0], Y[1] = 1, -1
    bank = bank_of(X, groups=2)
    run = Booster(bank, None, Y, "full", learner, weight_init="uniform", n_rounds=8)
    rounds = rounds_of(run, 8)
    scores, terms = np.zeros(Y.shape), [term for one in rounds for term in one.terms]
    model = Model(bank.families, terms, n_labels)
    assert len(model) == 8
    for at, one in enumerate(rounds, start=1):
        sides = np.array([X[:, term.feature] >= term.value for term in one.terms])
        scores += one.terms[0].alpha * TermArrays(one.terms, n_labels).outputs(sides)
        np.testing.assert_allclose(model.decision_function(X, at), scores, rtol=0, atol=1e-12)
    loss = float(np.log10(np.exp(-Y * scores).mean()))
    assert rounds[-1].rows[-1]["log10_loss"] == pytest.approx(loss, abs=1e-6)


@pytest.mark.parametrize("learner", LEARNERS)
def test_weights_at_the_floor_stay_there(learner: str) -> None:
    """A few examples that never agree keep the weight; the others sink to the floor."""
    X = table(60, 2)
    Y = np.where(X[:, :1] > 4, 1, -1).astype(np.int8)
    X[:4], Y[:4] = 5, [[1], [-1], [1], [-1]]
    weight = np.where(np.arange(60) < 4, 1e22, 1.0)
    strategy = "uniform-naive:n_features=1"  # which goes on at an edge of 0
    run = Booster(bank_of(X), None, Y, strategy, learner, example_weight=weight, n_rounds=400)
    rows_of(run, 400)
    sizes = np.abs(run.state()["weights"]["values"].astype(np.float64))
    assert sizes.min() >= 1e-30 * 0.999
    assert np.isfinite(sizes).all()
    assert sizes.sum() == pytest.approx(run.state()["weights"]["mass"], rel=1e-6)


BITS = """
import sys, hashlib
sys.path.insert(0, {root!r})
from tests.loop.test_repeatable_learners import booster, rows_of
digest = hashlib.sha256()
for n_labels in (1, 3, 17):
    for learner in ("product:n_terms=2", "tree:n_leaves=4"):
        run = booster(learner, n_labels, 20, strategy="uniform-naive", budget=40)
        digest.update(repr(rows_of(run, 2)).encode())
        digest.update(run.state()["weights"]["values"].tobytes())
print(digest.hexdigest())
"""


def test_compiled_or_not_the_bits_are_the_same() -> None:
    found = []
    for off in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", BITS.format(root=str(ROOT))],
            env={**os.environ, "NUMBA_DISABLE_JIT": off},
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found.append(done.stdout)
    assert found[0] == found[1]


@pytest.mark.skipif(not COMPILED, reason="many rounds; compiled code runs them")
@pytest.mark.parametrize("learner", LEARNERS[:2])
def test_replay_when_weights_are_far_apart(learner: str) -> None:
    """Sums of such weights round: they depend on the order of the rows and leaves."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6)).astype(np.float32)
    Y = np.where(X @ rng.normal(size=(6, 3)) > 0, 1, -1).astype(np.int8)
    bank = bank_of(X)
    straight, again = (Booster(bank, None, Y, "uniform-naive", learner, rng=0) for _ in range(2))
    done = rounds_of(straight, 90)
    sizes = np.abs(straight.state()["weights"]["values"])
    if "tree" in learner:
        assert sizes.max() > 1e9 * sizes[sizes > 0].min()
    state = straight.small_state()
    again.replay([one.terms for one in done], [one.edge for one in done], state)
    assert again.small_state()["weights"] == state["weights"]
