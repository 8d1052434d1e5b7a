"""Which runs are the same: seeds, states, order of rows, weights, threads, processors, caches."""

from __future__ import annotations

import json
import platform
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.banks.bank import Bank
from boostsample.banks.bank_forms import make_bank
from boostsample.errors import DataError, StrategyError
from boostsample.loop.booster import Booster
from boostsample.records import Round
from boostsample.strategies import UniformNaive
from tests.cold_rounds import N_ROUNDS, PLACES, variants
from tests.compiled import slow_without_jit
from tests.paths import run_python
from tests.problems import bank_of, booster_of, noisy_labels, powers, resumed, rows_of, table

LEARNERS = (
    "product:n_terms=3",
    "tree:n_leaves=5",
    "tree:n_leaves=5:min_leaf=9:min_weight=0.1:max_depth=2",
)
STRATEGIES = ("full", "uniform-naive", "uniform-1q", "uniform-q1", "laminating")


def test_a_state_that_is_refused_ends_the_booster() -> None:
    other = Booster(bank_of(table(50)), None, noisy_labels(50), UniformNaive(), rng=5)
    other.next_round()
    booster = booster_of(UniformNaive())
    with pytest.raises(DataError, match="restore into a booster on the same examples"):
        booster.restore(other.state())
    assert booster.finished
    with pytest.raises(StrategyError, match="make another booster"):
        booster.next_round()


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
@pytest.mark.parametrize("n_labels", [1, 2, 17])
@pytest.mark.parametrize("strategy", ["full", "ucb", "laminating:scheme=distinct"])
def test_any_round_continues_to_identical_bits(learner: str, n_labels: int, strategy: str) -> None:
    def make(seed: int) -> Booster:
        return booster(learner, n_labels, strategy=strategy, rng=seed)

    for straight, run in resumed(make, 6):
        want, weights = straight.state()["weights"], run.state()["weights"]
        assert weights["values"].tobytes() == want["values"].tobytes()
        assert weights["sums"].tobytes() == want["sums"].tobytes()
        assert weights["mass"] == want["mass"]


@slow_without_jit
@pytest.mark.parametrize("learner", ["product:n_terms=3", "tree:n_leaves=12"])
@pytest.mark.parametrize("n_labels", [1, 10, 17])
def test_replay_of_many_examples(learner: str, n_labels: int) -> None:
    straight = booster(learner, n_labels, n=15_000)
    done = rounds_of(straight, 6)
    again = booster(learner, n_labels, n=15_000)
    state = straight.small_state()
    again.replay([finished.terms for finished in done], [finished.edge for finished in done], state)
    assert again.small_state()["weights"] == state["weights"]


@slow_without_jit
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
        runs.append(([{**row, "values_computed": 0, "cost": 0} for row in rows], bits(run, 1)))
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


@slow_without_jit
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
import hashlib
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
        done = run_python("-c", program, **environment)
        assert done.returncode == 0, done.stderr[-2000:]
        printed.add(done.stdout)
    return printed


def test_compiled_or_not_the_bits_are_the_same() -> None:
    assert len(digests(BITS, *({"NUMBA_DISABLE_JIT": off} for off in "01"))) == 1


#: Seconds on the processor by which a round of milliseconds may exceed the median of its run.
_LATE = 5.0
_OLD = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "+sse2"}
_ROUNDS = """
import hashlib
from tests.problems import *
from boostsample.registry import make_strategy
digest = hashlib.sha256()
for name in ("uniform-naive", "laminating"):
    booster = Booster(bank_of(table(90, 12)), None, noisy_labels(90, 10), make_strategy(name),
                      n_rounds=40, rng=0)
    digest.update(repr(rows_of(booster, 40)).encode())
    digest.update(booster.state()["weights"]["values"].tobytes())
print(digest.hexdigest())
"""


@slow_without_jit
def test_no_round_compiles_anything() -> None:
    done = run_python("-m", "tests.cold_rounds")
    assert done.returncode == 0, done.stderr
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(runs) == len(PLACES) * len(variants())
    assert runs[0][1] > 10, "the start has them all"
    for name, _, compiled, seconds in runs:
        assert compiled == [], name
        assert len(seconds) == N_ROUNDS, name
        assert max(seconds) - statistics.median(seconds) < _LATE, f"{name}: {seconds}"


@slow_without_jit
def test_old_processors_give_the_same_bits(tmp_path: Path) -> None:
    old = {"NUMBA_CACHE_DIR": str(tmp_path)}
    if platform.machine() in ("x86_64", "AMD64"):
        old |= _OLD
    assert len(digests(_ROUNDS, {}, old)) == 1
