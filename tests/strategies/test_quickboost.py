"""QuickBoost makes the choices of `full`, drops features by its bound, and reads less."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostsample.errors import SettingError
from boostsample.labels import encode
from boostsample.loop.booster import Booster
from boostsample.strategies import Full, QuickBoost
from boostsample.strategy import Strategy
from tests.compiled import slow_without_jit
from tests.problems import bank_of, booster_of, noisy_labels, stumps_of, table
from tests.strategies.test_full import INITS, digit_table, training_set
from tests.strategies.watch import Watched

NAMES = ("digits", "letter")


def boosters(X: Any, Y: Any, init: str, rounds: int) -> list[Booster]:
    """Full and QuickBoost on the same bank."""
    bank, strategies = bank_of(X), (Full(), QuickBoost())
    return [Booster(bank, None, Y, s, n_rounds=rounds, weight_init=init, rng=0) for s in strategies]


def looks_of_equal_rounds(X: Any, Y: Any, init: str, rounds: int = 200) -> list[int]:
    """Looks of each round, all of which have the stumps of `full` to the bit."""
    full, quick = boosters(X, Y, init, rounds)
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


@slow_without_jit
def test_other_targets() -> None:
    """Two classes, several labels, missing values."""
    X, y = digit_table()
    several = np.stack([y % 2 == 0, np.isin(y, [2, 3, 5, 7])], axis=1).astype(np.int8)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    for data, targets in ((X, several), (holes.astype(np.float32), y)):
        looks_of_equal_rounds(data, encode(targets), "balanced", rounds=60)
    looks = looks_of_equal_rounds(X, encode(y % 2), "balanced")
    assert sum(looks[100:]) < 0.97 * 100 * X.size, "little was pruned"


@slow_without_jit
@pytest.mark.parametrize("learner", ["tree:n_leaves=5", "product:n_terms=2"])
def test_trees_and_products(learner: str) -> None:
    X, y = digit_table()
    bank, Y = bank_of(X), encode(y)
    made: list[Any] = []
    for strategy in (Full(), QuickBoost()):
        kind: Strategy = strategy
        made.append(stumps_of(Booster(bank, None, Y, kind, learner, n_rounds=30, rng=0), 30))
    assert made[0] == made[1]


@slow_without_jit
def test_it_drops_what_the_bound_rules_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule in plain words: search the heaviest, then the best one of all, then compare."""
    X, y = digit_table()
    watched, n = Watched(monkeypatch), len(X)
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


def test_its_budget() -> None:
    assert booster_of(QuickBoost()).budget == 1280
    with pytest.raises(SettingError, match=r"at least F \* N = 8 \* 80 = 640 looks, got 639"):
        booster_of(QuickBoost(), budget=639)
    bank, Y = bank_of(table(60, 5)), noisy_labels(60)
    booster = Booster(bank, None, Y, QuickBoost(), n_rounds=40, budget=300, rng=0)
    assert {booster.next_round().rows[0]["looks_search"] for _ in range(40)} == {300}
