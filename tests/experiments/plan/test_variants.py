"""Names with settings become grids or draws; what cannot run is refused before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from boostsample.errors import SettingError
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.grid import combined_grid
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import prepare
from boostsample.experiments.plan.variants import Variant, drawn_variant, parse_names
from boostsample.registry import STRATEGIES, make_strategy

BANDITS = ("ucb", "ucbv", "exp3p", "epsilon-greedy", "explore-then-commit", "hedge")


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load_dataset("chess(d=4,n=80)")


def plan_of(strategies: str, **settings: Any) -> Plan:
    usual: dict[str, Any] = {"marks": (5,), "repeats": 1, "tune": True}
    return Plan(strategies=parse_names(strategies), **{**usual, **settings})


def grid_of(text: str) -> list[str]:
    return [one.settings_text for one in Variant.parse(text).tuned().trained]


def test_alternatives_are_read_and_written_alike() -> None:
    variant = Variant.parse("ucb:exploration=0.1 | 1|2:arms=family")
    assert variant.label == "ucb:arms=family:exploration=0.1|1|2"
    assert Variant.parse(variant.label) == variant


@pytest.mark.parametrize("name", STRATEGIES)
def test_bandits_have_a_grid_of_their_own_and_others_none(name: str) -> None:
    variant = Variant(name).tuned()
    if name not in BANDITS:
        assert variant == Variant(name)
        return
    assert 15 <= len(variant.grid) <= 25
    assert len({one.settings_text for one in variant.grid}) == len(variant.grid)
    axes = make_strategy(name).tuning_grid()
    assert "reward_scale" in axes
    assert len(axes) == 2
    for values in axes.values():
        assert sorted(values) == list(values)
        assert max(values) >= 10 * min(values)
    assert variant.label == f"{name}*"


@pytest.mark.parametrize("name", BANDITS)
def test_every_setting_of_a_default_grid_can_start(data: Dataset, name: str) -> None:
    assert len(prepare(data, plan_of(name)).variants[0].grid) > 1


def test_what_the_user_gives_takes_the_place_of_the_default() -> None:
    scales = make_strategy("ucb").tuning_grid()["reward_scale"]
    assert grid_of("ucb:exploration=7") == [f"exploration=7:reward_scale={s}" for s in scales]
    assert grid_of("ucb:exploration=7|8:reward_scale=5:pulls=2") == [
        "exploration=7:pulls=2:reward_scale=5",
        "exploration=8:pulls=2:reward_scale=5",
    ]
    assert grid_of("laminating:n_features=16|none") == ["n_features=16", "n_features=None"]


def test_the_first_setting_varies_slowest() -> None:
    assert grid_of("laminating:scheme=iid|distinct:n_features=8|4") == [
        "n_features=8:scheme=iid",
        "n_features=4:scheme=iid",
        "n_features=8:scheme=distinct",
        "n_features=4:scheme=distinct",
    ]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("ucb:arms=feature", "ucb*:arms=feature"),
        ("ucb:arms=feature:exploration=1|2", "ucb*:arms=feature"),
        ("ucb:exploration=2:reward_scale=9", "ucb:exploration=2:reward_scale=9"),
        ("uniform-naive:n_features=2|3", "uniform-naive*"),
    ],
)
def test_a_label_has_a_star_and_what_all_settings_share(text: str, label: str) -> None:
    variant = Variant.parse(text).tuned()
    assert variant.label == label
    assert variant.tuned() == variant


def test_epsilon_greedy_tunes_the_schedule_that_it_has() -> None:
    assert all("epsilon=" in one for one in grid_of("epsilon-greedy"))
    decreasing = grid_of("epsilon-greedy:schedule=decreasing")
    assert all(one.startswith("c=") and "epsilon=" not in one for one in decreasing)


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        (
            "epsilon-greedy:epsilon=0.05|0.5|1",
            {"tune": False},
            "epsilon=0.05|0.5|1 are alternatives.*add --tune, or give one",
        ),
        ("ucb:exploration=1||2", {}, "separated by single bars as in exploration=1|10"),
        ("ucb:exploration=1|2|1", {}, "alternatives must differ, got 1 twice in 1|2|1"),
        ("ucb:exploration=1|2,ucb:exploration=3|4", {}, "'ucb*' twice; alternatives of one"),
    ],
)
def test_grids_that_make_no_plan(text: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message.replace("|", r"\|").replace("*'", r"\*'")):
        plan_of(text, **settings)


def test_families_take_no_alternatives(data: Dataset) -> None:
    plan = plan_of("ucb", families=parse_names("columns:seed=1|2"))
    with pytest.raises(SettingError, match=r"seed=1\|2 are alternatives, which only strategies"):
        prepare(data, plan)


def test_nothing_to_tune_is_told(data: Dataset) -> None:
    (note,) = prepare(data, plan_of("uniform-naive,full")).notes
    assert "nothing was tuned" in note
    assert "uniform-naive:SETTING=VALUE|VALUE" in note
    assert prepare(data, plan_of("uniform-naive,ucb")).notes == ()


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
