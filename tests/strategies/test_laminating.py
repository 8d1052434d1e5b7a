"""Laminating: its stages, its cost, and the halving."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from boostsample.errors import SettingError
from boostsample.loop.booster import Booster
from boostsample.step import Step
from boostsample.strategies import Laminating
from boostsample.strategies.laminating import laminating_stages
from boostsample.strategy import Sample, Stumps
from tests.problems import bank_of, booster_of, noisy_labels, table


@pytest.mark.parametrize("n_features", [1, 2, 3, 31, 32, 100, 16_000, 10**6])
@pytest.mark.parametrize("n_examples", [2, 3, 17, 1000, 60_000])
@pytest.mark.parametrize("factor", [0.1, 1, 10, 100, 1000])
def test_default_stages(n_features: int, n_examples: int, factor: float) -> None:
    """Half the features, twice the examples, within the budget, from the default budget 10 N on.

    Below it a budget may be too small for one look a feature.
    """
    budget = int(factor * n_examples)
    try:
        plan = laminating_stages(None, n_examples, n_features, budget)
    except SettingError:
        assert budget < 10 * n_examples
        return
    assert sum(q * t for q, t in plan) <= budget
    q0 = plan[0][0]
    assert q0 <= n_features
    assert q0 & (q0 - 1) == 0
    assert plan[-1][0] == (2 if q0 > 1 else 1)
    for (q, t), (next_q, next_t) in itertools.pairwise(plan):
        assert next_q * 2 == q
        assert next_t == min(2 * t, n_examples)
    assert all(1 <= t <= n_examples for _, t in plan)


def test_the_default_at_the_size_of_the_paper() -> None:
    plan = laminating_stages(None, 60_000, 16_000, 600_000)
    spent = sum(q * t for q, t in plan)
    assert plan[-1][1] <= 60_000
    assert plan[0][1] >= 50
    assert 0.95 * 600_000 < spent <= 600_000  # log2(Q0) Q0 T0 = T Q ([DF11] 5)


def test_given_stages() -> None:
    assert [tuple(s) for s in laminating_stages(8, 1000, 100, 2400)] == [
        (8, 100),
        (4, 200),
        (2, 400),
    ]
    assert [tuple(s) for s in laminating_stages(8, 150, 100, 2400)] == [
        (8, 100),
        (4, 150),
        (2, 150),
    ]
    assert [tuple(s) for s in laminating_stages(2, 150, 100, 20)] == [(2, 10)]


@pytest.mark.parametrize("value", [0, 1, 3, 12, -2, 2.5, "8", True, np.nan])
def test_bad_numbers_of_features(value: Any) -> None:
    with pytest.raises(SettingError, match="n_features must be"):
        booster_of(Laminating(n_features=value))


def test_settings_that_do_not_fit_are_refused_at_the_start() -> None:
    with pytest.raises(SettingError, match="costs at least 24 looks, but the budget is 23"):
        booster_of(Laminating(n_features=8), budget=23)
    with pytest.raises(SettingError, match="unknown scheme 'iidd'"):
        booster_of(Laminating(scheme="iidd"))
    with pytest.raises(SettingError, match="16"):  # there are 8: nothing is silently clamped
        booster_of(Laminating(n_features=16))


@pytest.mark.parametrize("scheme", ["iid", "stratified", "distinct"])
def test_each_stage_keeps_the_better_half(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nested samples, survivors searched anew, the best one returned."""
    draws: list[tuple[list[int], str]] = []
    searches: list[tuple[list[int], Stumps]] = []
    draw, search = Step.draw_nested, Step.search

    def watched_draw(step: Step, sizes: Sequence[int], scheme: str = "iid") -> list[Sample]:
        draws.append((list(sizes), scheme))
        return draw(step, sizes, scheme)

    def watched_search(step: Step, features: Any, sample: Sample) -> Stumps:
        searches.append((list(features), search(step, features, sample)))
        return searches[-1][1]

    monkeypatch.setattr(Step, "draw_nested", watched_draw)
    monkeypatch.setattr(Step, "search", watched_search)
    bank = bank_of(table(100, 40, seed=3))
    strategy = Laminating(16, scheme)
    booster = Booster(bank, None, noisy_labels(100), strategy, n_rounds=5, budget=1600, rng=0)
    for _ in range(5):
        draws.clear()
        searches.clear()
        row = booster.next_round().rows[0]
        assert draws == [([25, 50, 100, 100], scheme)]
        assert [len(features) for features, _ in searches] == [16, 8, 4, 2]
        assert len(set(searches[0][0])) == 16
        for (_, stumps), (survivors, _) in itertools.pairwise(searches):
            order = np.argsort(-stumps.edge, kind="stable")
            assert survivors == stumps.feature[order][: len(survivors)].tolist()
        assert row["feature"] == searches[-1][1].best().feature
        assert row["looks_search"] == 16 * 25 + 8 * 50 + 4 * 100 + 2 * 100


def test_a_single_feature() -> None:
    booster = Booster(bank_of(table(30, 1)), None, noisy_labels(30), Laminating(), rng=0)
    row = booster.next_round().rows[0]
    assert (row["n_features"], row["n_examples"]) == (1, 30)
