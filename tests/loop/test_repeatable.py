"""Which runs are the same: seeds, saved states, rows in any order, weights, threads, processors."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.banks.bank_forms import make_bank
from boostsample.errors import DataError, StrategyError
from boostsample.loop.booster import Booster
from boostsample.models.model import Model
from boostsample.models.scoring import TermArrays
from boostsample.records import Round
from boostsample.registry import make_strategy
from boostsample.strategies import Full, Laminating, UniformNaive
from tests.paths import ROOT
from tests.problems import bank_of, booster_of, noisy_labels, perfect, powers, rows_of, table

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

LEARNERS = (
    "product:n_terms=3",
    "tree:n_leaves=5",
    "tree:n_leaves=5:min_leaf=9:min_weight=0.1:max_depth=2",
)
STRATEGIES = ("full", "uniform-naive", "uniform-1q", "uniform-q1", "laminating")


@pytest.mark.parametrize("name", STRATEGIES)
def test_resuming_gives_identical_bits(name: str) -> None:
    straight = rows_of(booster_of(make_strategy(name), n_rounds=12), 12)
    for at in (0, 1, 7):
        first = booster_of(make_strategy(name), n_rounds=12)
        done = rows_of(first, at)
        state = first.state()
        rows_of(first, 2)
        second = booster_of(make_strategy(name), n_rounds=12, rng=123)
        rows_of(second, 3)
        second.restore(state)
        assert second.round == at
        assert done + rows_of(second, 12 - at) == straight
        first.restore(state)  # and once more, in the booster that it came from
        assert done + rows_of(first, 12 - at) == straight


def test_a_state_holds_plain_things_only() -> None:
    booster = booster_of(Laminating())
    booster.next_round()

    def check(value: Any, path: str) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                assert isinstance(key, str), path
                check(item, f"{path}.{key}")
        elif isinstance(value, list):
            for item in value:
                check(item, path)
        else:
            assert isinstance(value, np.ndarray | np.generic | int | float | str), path

    check(booster.state(), "state")


def test_a_state_after_the_end() -> None:
    X, Y = perfect()
    first = Booster(bank_of(X), None, Y, Full(), n_rounds=10, rng=0)
    first.next_round()
    second = Booster(bank_of(X), None, Y, Full(), n_rounds=10, rng=0)
    second.restore(first.state())
    assert second.finished
    with pytest.raises(StrategyError, match="training has ended"):
        second.next_round()


def test_a_state_of_other_examples_is_refused_and_changes_nothing() -> None:
    booster = booster_of(UniformNaive())
    other = Booster(bank_of(table(50)), None, noisy_labels(50), UniformNaive(), rng=5)
    other.next_round()
    with pytest.raises(DataError, match="restore into a booster on the same examples"):
        booster.restore(other.state())
    assert rows_of(booster, 5) == rows_of(booster_of(UniformNaive()), 5)


def test_a_restore_that_fails_changes_nothing() -> None:
    booster = booster_of(UniformNaive())
    booster.next_round()
    state = booster.state()
    state["rng"] = {**state["rng"], "bit_generator": "MT19937"}
    fresh = booster_of(UniformNaive())
    with pytest.raises((DataError, ValueError)):
        fresh.restore(state)
    assert rows_of(fresh, 5) == rows_of(booster_of(UniformNaive()), 5)


def test_example_weights_are_relative() -> None:
    """Scaling by a power of two changes no bit."""
    s = np.random.default_rng(2).random(80)
    first = booster_of(UniformNaive(), example_weight=s, n_rounds=9)
    second = booster_of(UniformNaive(), example_weight=s * 2.0**40, n_rounds=9)
    assert rows_of(first, 9) == rows_of(second, 9)


def test_rows_in_any_order_train_the_same_exact_model() -> None:
    X, Y = table(150), noisy_labels(150)
    rows = np.random.default_rng(0).permutation(150)[:90]
    bank = bank_of(X, rows)
    ordered = np.sort(rows)
    first = Booster(bank, rows, Y[rows], Full(), n_rounds=10)
    second = Booster(bank, ordered, Y[ordered], Full(), n_rounds=10)
    for _ in range(10):
        left, two = first.next_round(), second.next_round()
        assert left.terms[0].feature == two.terms[0].feature
        assert left.rows[0]["edge"] == pytest.approx(two.rows[0]["edge"], abs=1e-6)


def test_the_strategy_is_copied() -> None:
    laminating = Laminating()
    first, second = booster_of(laminating), booster_of(laminating)
    rows_of(first, 3)
    assert vars(laminating) == {"n_features": None, "scheme": "iid"}
    assert first.strategy is not laminating
    assert rows_of(second, 3) == rows_of(booster_of(Laminating()), 3)


def test_seeds_and_generators() -> None:
    def run(rng: Any) -> list[dict[str, Any]]:
        return rows_of(booster_of(UniformNaive(n_features=2), rng=rng), 5)

    assert run(7) == run(np.random.default_rng(7))
    assert run(7) != run(8)


def booster(learner: str, n_labels: int = 3, n: int = 80, **settings: Any) -> Booster:
    strategy = settings.pop("strategy", "uniform-naive:n_features=3")
    bank = bank_of(table(n), groups=2)
    arguments: dict[str, Any] = {"rng": 0, "n_rounds": 6, **settings}
    return Booster(bank, None, noisy_labels(n, n_labels), strategy, learner, **arguments)


def bits(run: Booster, n_rounds: int) -> tuple[Any, ...]:
    """History rows of the next rounds, and the weights after them."""
    weights = (rows_of(run, n_rounds), run.state()["weights"])[1]
    return weights["values"].tobytes(), weights["sums"].tobytes(), weights["mass"]


def rounds_of(run: Booster, n_rounds: int) -> list[Round]:
    return [run.next_round() for _ in range(n_rounds)]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("n_labels", [1, 2, 26])
@pytest.mark.parametrize("strategy", ["full", "ucb", "laminating:scheme=distinct"])
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
        third.replay([r.terms for r in done[:at]], [r.edge for r in done[:at]], small[at])
        rows_of(third, 6 - at)
        for resumed in (second, third):
            weights = resumed.state()["weights"]
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
    again.replay([finished.terms for finished in done], [finished.edge for finished in done], state)
    assert again.small_state()["weights"] == state["weights"]


@pytest.mark.skipif(not COMPILED, reason="many examples; compiled code runs them")
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("strategy", ["full", "uniform-naive", "laminating"])
def test_threads_give_the_same_bits(learner: str, strategy: str) -> None:
    first, two = (booster(learner, 10, 12_000, n_jobs=n, strategy=strategy) for n in (1, 2))
    assert rows_of(first, 4) == rows_of(two, 4)
    assert bits(first, 1) == bits(two, 1)


@pytest.mark.parametrize("learner", LEARNERS)
def test_forms_of_banks_give_the_same_bits(
    learner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, Y = table(120, 3), noisy_labels(120)
    runs = []
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
        runs.append(([{**row, "values_computed": 0} for row in rows], bits(run, 1)))
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("learner", ["stump", *LEARNERS])
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


@pytest.mark.parametrize("learner", ["stump", *LEARNERS[:2]])
def test_a_weight_of_two_is_two_examples(learner: str) -> None:
    X, Y = table(30), noisy_labels(30)
    s = np.ones(30)
    s[[3, 4, 9]] = 2
    twice = np.repeat(np.arange(30), s.astype(int))
    first = Booster(bank_of(X), None, Y, "full", learner, n_rounds=4, example_weight=s)
    second = Booster(bank_of(X[twice]), None, Y[twice], "full", learner, n_rounds=4)
    for left, two in zip(rounds_of(first, 4), rounds_of(second, 4), strict=True):
        assert left.edge == pytest.approx(two.edge, abs=1e-6)


def loss_of(run: Booster, rounds: list[Round], X: NDArray[Any], Y: NDArray[Any]) -> float:
    """log10 of the mean of exp(-y f): uniform weights."""
    terms = [term for finished in rounds for term in finished.terms]
    scores = Model(run._rows.families, terms, Y.shape[1]).decision_function(X)
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
    scores, terms = np.zeros(Y.shape), [term for finished in rounds for term in finished.terms]
    model = Model(bank.families, terms, n_labels)
    assert len(model) == 8
    for at, finished in enumerate(rounds, start=1):
        sides = np.array([X[:, term.feature] >= term.value for term in finished.terms])
        scores += finished.terms[0].alpha * TermArrays(finished.terms, n_labels).outputs(sides)
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
    again.replay([finished.terms for finished in done], [finished.edge for finished in done], state)
    assert again.small_state()["weights"] == state["weights"]


WEIGHTED = [(name, "stump") for name in STRATEGIES]
WEIGHTED += [("uniform-naive", learner) for learner in LEARNERS]


@pytest.mark.parametrize(("name", "learner"), WEIGHTED)
def test_rows_of_weight_zero_are_as_good_as_absent(name: str, learner: str) -> None:
    X, Y = table(), noisy_labels()
    s = np.random.default_rng(2).integers(0, 3, 80).astype(np.float64)
    used = np.flatnonzero(s)
    bank = bank_of(X, used)

    def run(bank: Bank, rows: Any, labels: Any, weight: Any) -> list[dict[str, Any]]:
        arguments: dict[str, Any] = {"example_weight": weight, "n_rounds": 8, "rng": 4}
        return rows_of(Booster(bank, rows, labels, name, learner, **arguments), 8)

    rows = run(bank, None, Y, s)
    assert rows == run(bank, used, Y[used], s[used])
    assert rows == run(bank_of(X[used]), None, Y[used], s[used])


BITS = """
import sys, hashlib
sys.path.insert(0, {root!r})
from tests.loop.test_repeatable import booster, rows_of
digest = hashlib.sha256()
runs = [("stump", name) for name in ("full", "uniform-naive", "laminating:scheme=distinct")]
runs += [(learner, "uniform-naive") for learner in ("product:n_terms=2", "tree:n_leaves=4")]
for n_labels in (1, 3, 17):
    for learner, strategy in runs:
        run = booster(learner, n_labels, 20, strategy=strategy)
        digest.update(repr(rows_of(run, 2)).encode())
        digest.update(run.state()["weights"]["values"].tobytes())
print(digest.hexdigest())
"""


def digests(program: str, *environments: dict[str, str]) -> set[str]:
    """What a program prints in each of these environments."""
    printed = set()
    for environment in environments:
        done = subprocess.run(
            [sys.executable, "-c", program.format(root=str(ROOT))],
            env={**os.environ, **environment},
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        printed.add(done.stdout)
    return printed


def test_compiled_or_not_the_bits_are_the_same() -> None:
    assert len(digests(BITS, *({"NUMBA_DISABLE_JIT": off} for off in "01"))) == 1


ROUNDS = """
import sys, hashlib
sys.path.insert(0, {root!r})
from tests.problems import *
from boostsample.models.model import Model
from boostsample.models.scoring import TermArrays
from boostsample.records import Round
from boostsample.registry import make_strategy
digest = hashlib.sha256()
for name in ("uniform-naive", "laminating"):
    booster = Booster(bank_of(table(90, 12)), None, noisy_labels(90, 10), make_strategy(name),
                      n_rounds=40, rng=0)
    digest.update(repr(rows_of(booster, 40)).encode())
    digest.update(booster.state()["weights"]["values"].tobytes())
print(digest.hexdigest())
"""


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64") or not COMPILED,
    reason="kernels are compiled for older processors of the x86-64 family",
)
def test_processors_without_wide_vectors_or_fused_operations_give_the_same_bits(
    tmp_path: Path,
) -> None:
    old = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "+sse2"}
    assert len(digests(ROUNDS, {}, {**old, "NUMBA_CACHE_DIR": str(tmp_path)})) == 1
