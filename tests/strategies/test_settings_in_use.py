"""Strategies report the values of their settings that a run uses."""

from __future__ import annotations

import pytest

from boostsample.experiments.plan.prepared import pool_of_families
from boostsample.registry import STRATEGIES, make_strategy

POOL = pool_of_families([("a", 600), ("b", 300), ("c", 100)], 5000)
BUDGET = 50_000


@pytest.mark.parametrize("name", STRATEGIES)
def test_they_are_all_settings_and_none_is_none(name: str) -> None:
    strategy = make_strategy(name)
    in_use = strategy.settings_in_use(POOL, BUDGET, 100)
    assert set(in_use) == set(strategy.get_params())
    assert None not in in_use.values()
    for key, value in strategy.get_params().items():
        assert value in (None, in_use[key]), key


def test_values_that_depend_on_the_data() -> None:
    naive = make_strategy("uniform-naive")
    assert naive.settings_in_use(POOL, BUDGET, 100) == {"n_features": 10, "scheme": "iid"}
    assert naive.settings_in_use(POOL, 3 * BUDGET, 100) == {"n_features": 30, "scheme": "iid"}
    assert make_strategy("ucb").settings_in_use(POOL, BUDGET, 100)["n_features"] == 10
    laminating = make_strategy("laminating")
    assert laminating.settings_in_use(POOL, BUDGET, 100) == {"n_features": 128, "scheme": "iid"}
    theory = make_strategy("exp3p", mixing="theory").settings_in_use(POOL, BUDGET, 100)
    assert 0 < theory["mixing"] < 1
    assert theory["bonus"] == 0.3
