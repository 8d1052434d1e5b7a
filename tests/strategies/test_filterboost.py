"""FilterBoost: how many examples and features it searches, and its setting."""

from __future__ import annotations

import math
from typing import Any

import pytest

from boostsample.errors import SettingError
from boostsample.loop.booster import Booster
from boostsample.strategies import FilterBoost
from tests.problems import bank_of, booster_of, noisy_labels, rows_of, table


def sizes(strategy: FilterBoost, n_features: int, **settings: Any) -> list[tuple[int, int]]:
    """Q and T of five rounds on 80 examples."""
    bank, Y = bank_of(table(80, n_features)), noisy_labels(80)
    booster = Booster(bank, None, Y, strategy, n_rounds=5, rng=0, **settings)
    return [(row["n_features"], row["n_examples"]) for row in rows_of(booster, 5)]


def test_examples_grow_with_the_log_of_the_round() -> None:
    grown = [math.ceil(20 * math.log(t + 3)) for t in range(1, 6)]
    assert grown == [28, 33, 36, 39, 42]
    assert sizes(FilterBoost(20), 8) == [(8, T) for T in grown]


def test_the_budget_limits_features_first_and_then_examples() -> None:
    assert sizes(FilterBoost(20), 40) == [(28, 28), (24, 33), (22, 36), (20, 39), (19, 42)]
    assert sizes(FilterBoost(20), 40, budget=350) == [(12, 28), (10, 33)] + [(10, 35)] * 3
    assert sizes(FilterBoost(), 40) == [(10, 80)] * 5
    assert sizes(FilterBoost(), 40, budget=3) == [(3, 1)] * 5


@pytest.mark.parametrize("value", [0, -1, math.inf, "many"])
def test_bad_factors(value: Any) -> None:
    with pytest.raises(SettingError, match="examples_factor must be"):
        booster_of(FilterBoost(value))
