"""Random search: ranges, seeds, and what is written and refused."""

from __future__ import annotations

import pytest

from boostsample.errors import SettingError
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.grid import Grid, combined_grid, grid_entries
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import prepare
from boostsample.experiments.plan.random_search import drawn_variant
from boostsample.experiments.plan.variants import Variant, parse_names


def draws(text: str, n: int, seed: int = 0) -> list[dict[str, object]]:
    return [dict(one.settings) for one in drawn_variant(Variant.parse(text).tuned(), n, seed).grid]


def test_numbers_are_drawn_from_the_range_and_others_from_the_values() -> None:
    text = "epsilon-greedy:epsilon=0.01|1:reward_scale=1|1000:arms=family|feature:n_features=2"
    found = draws(text, 200)
    epsilons = [float(str(one["epsilon"])) for one in found]
    assert all(0.01 <= one <= 1 and float(f"{one:.3g}") == one for one in epsilons)
    assert 0.4 < sum(one < 0.1 for one in epsilons) / 200 < 0.6  # half of a log-uniform range
    assert len(set(epsilons)) > 100
    scales = [one["reward_scale"] for one in found]
    assert all(isinstance(one, int) and 1 <= one <= 1000 for one in scales)
    assert {one["arms"] for one in found} == {"family", "feature"}
    assert {one["n_features"] for one in found} == {2}


def test_a_range_with_zero_is_drawn_uniformly() -> None:
    values = [float(str(one["epsilon"])) for one in draws("epsilon-greedy:epsilon=0.0|1.0", 200)]
    assert 0.4 < sum(one < 0.5 for one in values) / 200 < 0.6


def test_draws_follow_from_the_seed_and_extend_each_other() -> None:
    assert draws("ucb", 5) == draws("ucb", 9)[:5]
    assert draws("ucb", 5) != draws("ucb", 5, seed=1)
    assert draws("ucb:reward_scale=1|30:exploration=0.1|2", 5) == draws(
        "ucb:exploration=2|0.1:reward_scale=30|1", 5
    )


def test_draws_differ_and_end_with_the_combinations() -> None:
    assert len(draws("ucb:exploration=0.1:reward_scale=1|3", 50)) == 3
    assert drawn_variant(Variant("full"), 5, 0) == Variant("full")


def test_the_plan_trains_the_draws() -> None:
    plan = Plan(strategies=parse_names("full,ucb"), tune=True, draws=4, seed=3)
    full, ucb = plan.variants
    assert not full.grid
    assert ucb == drawn_variant(Variant("ucb").tuned(), 4, 3)
    assert ucb.label == "ucb*"
    with pytest.raises(SettingError, match="draws must be an integer at least 2, got 1"):
        Plan(draws=1)


def test_draws_without_tuning_are_refused() -> None:
    with pytest.raises(SettingError, match="draws are settings to tune with, got 4 and no tuning"):
        combined_grid(None, {"draws": 4})
    alternatives = (Variant.parse("ucb:exploration=0.1|1").tuned(),)
    assert len(combined_grid(None, {"draws": 4, "strategies": alternatives}).plan.variants[0].grid)


def test_the_grid_that_is_written_makes_the_same_draws() -> None:
    plan = Plan(strategies=parse_names("ucb:n_features=2"), tune=True, draws=3)
    found = grid_entries(Grid(plan=plan), [prepare(load_dataset("chess(d=3,n=60)"), plan)])
    assert found["draws"] == 3
    (entry,) = found["strategies"]
    assert len(entry["exploration"]) * len(entry["reward_scale"]) == 24
