"""`full` is the naive AdaBoost.MH, round by round; QuickBoost makes its choices, and reads less."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.errors import SettingError
from boostsample.experiments.data.datasets import load_dataset
from boostsample.labels import encode
from boostsample.loop.booster import Booster
from boostsample.strategies import AdaptivePruning, Full, QuickBoost
from boostsample.strategy import Strategy
from tests.compiled import COMPILED, slow_without_jit
from tests.naive import ExactNaive, FastNaive, Naive
from tests.problems import bank_of, booster_of, noisy_labels, stumps_of, table
from tests.strategies.watch import Watched

INITS = ("uniform", "balanced")


def compare(
    X: NDArray[np.float32],
    Y: NDArray[np.int8],
    init: str,
    rounds: int,
    oracle: Naive,
    s: NDArray[np.float64] | None = None,
) -> None:
    """Same features, thresholds and votes, edges within 1e-6: to the last round."""
    bank = bank_of(X, None if s is None else np.flatnonzero(s))
    booster = Booster(
        bank, None, Y, Full(), n_rounds=rounds, weight_init=init, rng=0, example_weight=s
    )
    for number in range(1, rounds + 1):
        boosted = booster.next_round()
        (term,), (row,) = boosted.terms, boosted.rows
        want = oracle.next_round()
        chosen = (term.feature, term.value, term.votes.tolist())
        told = f"round {number}, {want.lead:.3g} ahead of the next candidate"
        assert chosen == (want.feature, want.threshold, want.votes), told
        assert row["edge"] == pytest.approx(want.edge, abs=1e-6), told
        assert row["edge_estimated"] == pytest.approx(want.edge, abs=1e-6), told
        assert term.alpha == pytest.approx(want.alpha, abs=3e-6), told
        assert row["log10_loss"] * np.log(10) == pytest.approx(want.log_loss, abs=1e-5), told


@slow_without_jit
@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("name", ["digits", "pendigits", "letter"])
def test_real_data_for_200_rounds(name: str, init: str, request: pytest.FixtureRequest) -> None:
    folder = None if name == "digits" else request.getfixturevalue("data_dir")
    X, Y = training_set(name, folder)
    compare(X, Y, init, 200, FastNaive(X, Y, init))


def training_set(name: str, folder: Path | None) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    data = load_dataset(name, data_dir=folder)
    rows, _ = data.split(0, 0)
    X = data.X[rows].reshape(len(rows), -1).astype(np.float32)
    assert (np.rint(X) == X).all()
    return X, encode(data.y[rows], data.n_classes)


def digit_table() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    from sklearn.datasets import load_digits

    data = load_digits()
    return data.data.astype(np.float32), data.target


@slow_without_jit
@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("kind", ["two classes", "several labels", "weights", "missing values"])
def test_other_problems_for_200_rounds(kind: str, init: str) -> None:
    X, y = digit_table()
    rng, s = np.random.default_rng(0), None
    if kind == "two classes":
        y = y % 2
    elif kind == "several labels":
        # Even, prime, round, none of these for 1 and 4, all of them for no digit.
        parts = [y % 2 == 0, np.isin(y, [2, 3, 5, 7]), np.isin(y, [0, 6, 8, 9])]
        y = np.stack(parts, axis=1).astype(np.int8)
    elif kind == "weights":
        s = rng.random(len(X)) * (rng.random(len(X)) < 0.7)
    else:
        X[rng.random(X.shape) < 0.2] = np.nan
        X[:, 11] = np.nan
    Y = encode(y)
    compare(X, Y, init, 200, FastNaive(X, Y, init, s), s)


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("n_labels", [1, 2, 3, 9])
def test_the_fast_oracle_is_the_plain_one(n_labels: int, init: str) -> None:
    rng = np.random.default_rng(n_labels)
    n = 25
    X = table(n, 3, top=5)
    X[rng.random(X.shape) < 0.15] = np.nan
    X[:, 2] = np.where(rng.random(n) < 0.1, np.nan, 3)
    Y = np.where(rng.random((n, n_labels)) < 0.4, 1, -1).astype(np.int8)
    s = rng.integers(0, 3, n).astype(np.float64)
    for weight in (None, s):
        plain, fast = Naive(X, Y, init, weight), FastNaive(X, Y, init, weight)
        assert plain.candidates == fast.candidates
        for _ in range(6):
            np.testing.assert_allclose(fast.edges(), plain.edges(), atol=1e-13)
            slow, quick = plain.next_round(), fast.next_round()
            assert (slow.feature, slow.threshold) == (quick.feature, quick.threshold)
            assert quick.edge == pytest.approx(slow.edge, abs=1e-12)
            if min(abs(x) for x in two_sums(plain, slow)) > 1e-12:
                assert slow.votes == quick.votes
            np.testing.assert_allclose(fast.w, plain.w, rtol=1e-10)


def two_sums(oracle: Naive, done: Any) -> list[float]:
    """Label sums of the stump just finished, under the weights after it: 0 only where they tied."""
    column = oracle.X[:, done.feature]
    phi = np.where(column >= done.threshold, 1, -1)
    return [float(x) for x in (oracle.w * oracle.Y * phi[:, None]).sum(axis=0)]


@pytest.mark.parametrize("seed", range(60 if COMPILED else 3))
def test_ties_in_rational_arithmetic(seed: int) -> None:
    """Small data are full of exact ties: first feature, lowest threshold, +1 for a sum of 0.

    The engine's weights are float32, so beyond the first round two sums of different weights that
    are equal as fractions may differ by rounding: there an equal edge is enough.
    """
    rng = np.random.default_rng(seed)
    n, n_features = int(rng.integers(2, 40)), int(rng.integers(1, 6))
    n_labels = int(rng.choice([1, 2, 3, 5]))
    X = rng.integers(0, int(rng.choice([2, 3, 6])), (n, n_features)).astype(np.float32)
    if seed % 3 == 0:
        X[rng.random(X.shape) < 0.2] = np.nan
    Y = np.where(rng.random((n, n_labels)) < 0.4, 1, -1).astype(np.int8)
    s = rng.integers(0, 3, n).astype(np.float64) if seed % 2 else np.ones(n)
    s[0] = 1
    init = INITS[seed % 5 % 2]
    oracle = ExactNaive(X, Y, init, s)
    booster = Booster(
        bank_of(X, np.flatnonzero(s)), None, Y, Full(), weight_init=init, rng=0, example_weight=s
    )
    for number in range(3):
        boosted = booster.next_round()
        (term,), (row,) = boosted.terms, boosted.rows
        feature, threshold, votes, edge = oracle.best()
        assert row["edge"] == pytest.approx(float(edge), abs=1e-6)
        chosen, sums = (term.feature, term.value), oracle.sums(term.feature, term.value)
        if number == 0 or not oracle.is_tied():
            assert chosen == (feature, threshold), f"exact edge {edge}"
        else:
            assert sum(map(abs, sums)) == edge
        clear = [abs(x) > 1e-7 or (number == 0 and init == "uniform") for x in sums]
        exact = [1 if x >= 0 else -1 for x in sums]
        votes_of_term = term.votes.tolist()
        assert [v for v, c in zip(votes_of_term, clear, strict=True) if c] == [
            v for v, c in zip(exact, clear, strict=True) if c
        ]
        if edge in (0, 1) or votes_of_term != exact or len(votes) != n_labels:
            return
        oracle.update(term.feature, term.value, votes_of_term, edge)


@pytest.mark.parametrize("pruning", [QuickBoost, AdaptivePruning])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_pruning_for_samme(n_classes: int, pruning: type[QuickBoost]) -> None:
    """The light half is of one class, which half of the features tell. No edge is far above 0."""
    n, pruned = 200, False
    y = np.concatenate([np.arange(n) % n_classes, np.zeros(n, np.int64)])
    weight = np.repeat([1.0, 0.02], n)
    for seed in (1, 13):
        noise = np.random.default_rng(seed).random((2 * n, 40))
        X = (noise < np.where(y == 0, 0.6, 0.4)[:, None]).astype(np.float32)
        X[n:, :20], X[n:, 20:] = 1.0, 0.0
        bank, Y = bank_of(X), encode(y, n_classes)
        full, quick = (
            Booster(bank, None, Y, s, n_rounds=12, example_weight=weight, objective="samme")
            for s in (Full(), pruning())
        )
        for number in range(1, 13):
            one, other = full.next_round(), quick.next_round()
            assert one.terms[0].feature == other.terms[0].feature, f"{seed}, round {number}"
            pruned |= other.rows[0]["looks_search"] != one.rows[0]["looks_search"]
    assert pruned == (n_classes == 2)


def test_its_budget() -> None:
    assert booster_of(Full()).budget == 640
    assert booster_of(Full(), budget=641).budget == 641
    with pytest.raises(SettingError, match=r"at least F \* N = 8 \* 80 = 640 looks, got 639"):
        booster_of(Full(), budget=639)
    row = booster_of(Full()).next_round().rows[0]
    assert (row["looks_search"], row["n_features"], row["n_examples"]) == (640, 8, 80)


NAMES = ("digits", "letter")


def looks_of_equal_rounds(
    X: Any, Y: Any, init: str, rounds: int = 200, pruning: Strategy | None = None
) -> list[int]:
    """Looks of each round, all of which have the stumps of `full` to the bit."""
    bank, strategies = bank_of(X), (Full(), pruning or QuickBoost())
    how: dict[str, Any] = {"n_rounds": rounds, "weight_init": init, "rng": 0}
    full, quick = (Booster(bank, None, Y, strategy, **how) for strategy in strategies)
    looks = []
    for number in range(1, rounds + 1):
        one, other = full.next_round(), quick.next_round()
        for a, b in zip(one.terms, other.terms, strict=True):
            where = f"round {number}"
            assert (a.feature, a.threshold, a.votes.tolist()) == (
                b.feature, b.threshold, b.votes.tolist()
            ), where  # fmt: skip
            assert a.alpha == b.alpha, where
        looks.append(int(other.rows[0]["looks_search"]))
    return looks


@slow_without_jit
@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("name", NAMES)
def test_its_choices_are_those_of_full(
    name: str, init: str, request: pytest.FixtureRequest
) -> None:
    folder = None if name == "digits" else request.getfixturevalue("data_dir")
    X, Y = training_set(name, folder)
    looks = looks_of_equal_rounds(X, Y, init)
    whole = X.shape[0] * X.shape[1]
    assert max(looks) <= 2 * whole
    assert sum(looks) < 1.05 * 200 * whole  # with the tries that did not pay


def other_targets(X: Any, y: Any) -> list[tuple[Any, Any]]:
    """Several labels, and missing values."""
    several = np.stack([y % 2 == 0, np.isin(y, [2, 3, 5, 7])], axis=1).astype(np.int8)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X).astype(np.float32)
    return [(X, several), (holes, y)]


@slow_without_jit
def test_other_targets() -> None:
    """Two classes, several labels, missing values."""
    X, y = digit_table()
    for data, targets in other_targets(X, y):
        looks_of_equal_rounds(data, encode(targets), "balanced", rounds=60)
    looks = looks_of_equal_rounds(X, encode(y % 2), "balanced")
    assert sum(looks[100:]) < 0.97 * 100 * X.size, "little was pruned"


@slow_without_jit
@pytest.mark.parametrize("learner", ["tree:n_leaves=5", "product:n_terms=2"])
def test_trees_and_products(learner: str) -> None:
    X, y = digit_table()
    bank, Y = bank_of(X), encode(y)
    made: list[Any] = []
    for strategy in (Full(), QuickBoost(), AdaptivePruning()):
        kind: Strategy = strategy
        made.append(stumps_of(Booster(bank, None, Y, kind, learner, n_rounds=30, rng=0), 30))
    assert made[0] == made[1] == made[2]


@slow_without_jit
def test_adaptive_pruning_makes_the_choices_of_full() -> None:
    """Ten classes, two, several labels and missing values; with less looks where few are heavy."""
    X, y = digit_table()
    for data, targets in ((X, y), *other_targets(X, y)):
        for init in INITS:
            looks_of_equal_rounds(data, encode(targets), init, 100, AdaptivePruning())
    two = encode(y % 2)
    looks, quick = (
        looks_of_equal_rounds(X, two, "balanced", 200, pruning)
        for pruning in (AdaptivePruning(), QuickBoost())
    )
    assert sum(looks) < sum(quick) < 200 * X.size


@slow_without_jit
def test_adaptive_pruning_reads_in_the_order_of_its_bounds(watched: Watched) -> None:
    """The rule in plain loops: bounds of all, then 1, 1, 2, 4, ... features in full."""
    X, y = digit_table()
    n = len(X)
    booster = Booster(bank_of(X), None, encode(y % 2), AdaptivePruning(), n_rounds=80, rng=0)
    edge, n_dropped = 0.0, []
    for _ in range(80):
        watched.clear()
        row = booster.next_round().rows[0]
        if len(watched.searches) > 1:
            searches = iter(watched.searches)
            search, W = next(searches), 1 - edge / 8
            assert (search.features, search.scheme) == (list(range(64)), "heaviest")
            best = max(W * H - (1 - W) for H in search.edges)
            upper = [W * H + 1 - W for H in search.edges]
            left = [j for _, j in sorted((-bound, j) for j, bound in enumerate(upper))]
            full = dict[int, float]()
            while len(full) < len(left) and upper[left[len(full)]] >= best - 3e-5:
                search = next(searches)
                may = [j for j in left if upper[j] >= best - 3e-5]
                assert search.features == may[len(full) : max(1, 2 * len(full))]
                assert search.size == n
                full |= dict(zip(search.features, search.edges, strict=True))
                best = max(full.values())
            near = sorted(j for j in full if full[j] >= best - 3e-5)
            assert [s.features for s in searches] == ([near] if len(near) > 1 else [])
            assert row["feature"] in near
            n_dropped.append(64 - len(full))
        edge = row["edge"]
    assert max(n_dropped) > 32


@slow_without_jit
def test_it_drops_what_the_bound_rules_out(watched: Watched) -> None:
    """The rule in plain words: search the heaviest, then the best one of all, then compare."""
    X, y = digit_table()
    n = len(X)
    booster = Booster(bank_of(X), None, encode(y % 2), QuickBoost(), n_rounds=150, rng=0)
    edge, wait, pause, tries = 0.0, 0, 0, []
    for _ in range(150):
        watched.clear()
        row = booster.next_round().rows[0]
        *before, last = watched.searches
        left = list(range(64))
        assert bool(before) == (wait == 0 and edge > 0)
        wait = max(0, wait - 1)
        if before:
            heavy, whole = before
            assert heavy.features == left
            assert (heavy.scheme, whole.size) == ("heaviest", n)
            best = int(np.argmax(heavy.edges))
            assert whole.features == [best]
            mass = 1 - edge / 12
            bounds = [mass * H + 1 - mass for H in heavy.edges]
            left = [j for j, bound in enumerate(bounds) if bound >= whole.edges[0] - 3e-5]
            assert best in left
            tries.append(row["looks_search"] < 64 * n)
            pause = pause // 2 if tries[-1] else 2 * pause + 1
            wait = 0 if tries[-1] else pause
        assert (last.features, last.size) == (left, n)
        assert row["feature"] == left[int(np.argmax(last.edges))]
        assert row["looks_search"] == sum(len(s.features) * s.size for s in watched.searches)
        edge = row["edge"]
    assert set(tries) == {True, False}


def test_the_budget_of_quickboost() -> None:
    assert booster_of(QuickBoost()).budget == 1280
    with pytest.raises(SettingError, match=r"at least F \* N = 8 \* 80 = 640 looks, got 639"):
        booster_of(QuickBoost(), budget=639)
    bank, Y = bank_of(table(60, 5)), noisy_labels(60)
    booster = Booster(bank, None, Y, QuickBoost(), n_rounds=40, budget=300, rng=0)
    assert {booster.next_round().rows[0]["looks_search"] for _ in range(40)} == {300}
