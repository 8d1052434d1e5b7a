"""Plans, strategies and grids are read and checked before anything is computed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan import prepared as prepared_module
from boostsample.experiments.plan.grid import (
    combined_grid,
    grid_entries,
    read_grid_file,
    shipped_grids,
)
from boostsample.experiments.plan.plan import DataSource, Plan, parse_marks
from boostsample.experiments.plan.prepared import Prepared, prepare, prepare_all
from boostsample.experiments.plan.variants import Variant, drawn_variant, parse_names
from boostsample.experiments.results.plan_file import plan_record
from boostsample.experiments.results.read_folder import read_results
from boostsample.names import Alternatives
from boostsample.registry import STRATEGIES, make_strategy
from tests.experiments.conftest import CommandLine


@pytest.mark.parametrize(
    ("text", "settings", "label"),
    [
        ("full", {}, "full"),
        (" a : x = 1 ", {"x": 1}, "a:x=1"),
        ("a:y=none:x=True", {"x": True, "y": None}, "a:x=True:y=None"),
        ("a:x=0.1 | 1|2", {"x": Alternatives((0.1, 1, 2))}, "a:x=0.1|1|2"),
    ],
)
def test_names_carry_settings(text: str, settings: dict[str, Any], label: str) -> None:
    variant = Variant.parse(text)
    assert (variant.settings, variant.label) == (settings, label)
    assert Variant.parse(variant.label) == variant


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("a,,b", "separated by single commas"),
        ("a:b", "must be written as name:setting=value, got 'a:b'"),
        ("a:x=1:x=2", "x must be given once"),
        (["a", "b,a"], "'a' twice"),
        ("a:x=1,a:x=1.0", "must be given once, got 'a:x=1' and 'a:x=1.0', which are equal"),
        ("a:x=2:y=1e3,b,a:y=1000:x=2", "got 'a:x=2:y=1000.0' and 'a:x=2:y=1000', which are equal"),
    ],
)
def test_names_that_cannot_be_read(texts: str | list[str], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        parse_names(texts)


def test_names_with_other_values_are_other_names() -> None:
    parse_names("a,a:x=1,a:x=true,a:x=2,a:y=1,b:x=1,a:x=one")


@pytest.mark.parametrize("text", ["", "1,", "ten", "1.5"])
def test_marks_that_cannot_be_read(text: str) -> None:
    with pytest.raises(SettingError, match="rounds must be whole numbers separated by commas"):
        parse_marks(text)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"marks": ()}, "at least one number of stumps"),
        ({"marks": (0, 1)}, "each of the rounds must be an integer at least 1, got 0"),
        ({"marks": (2, 2)}, "rounds must rise and differ, got 2, 2"),
        ({"repeats": 0}, "repeats must be an integer at least 1, got 0"),
        ({"seed": -1}, "seed must be an integer at least 0, got -1"),
        ({"n_jobs": 0}, "jobs must be 1 or more, or -1 for all cores, got 0"),
        ({"weights": "unifrom"}, "unknown initial weights 'unifrom' .* known: uniform, balanced"),
        ({"strategies": parse_names("laminate")}, "unknown strategy 'laminate' .*known: full, "),
        ({"strategies": parse_names("laminating:q=1")}, "'q'.*known: n_features, new_samples"),
        *(
            ({"budget": budget}, f"budget must be a whole number .* as in 10N, got '{budget}'")
            for budget in ("", "0", "0.0N", "-3", "1.5", "10M", "N", "ten", "1e6")
        ),
        ({"budget": 10**30}, "budget must be at most 1,152,921,504,606,846,976 looks, got 1000"),
    ],
)
def test_settings_out_of_range(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Plan(**settings)


@pytest.mark.parametrize(
    ("budget", "looks"), [(None, None), (7, 7), ("1_000", 1000), ("10N", 600), ("0.05N", 3)]
)
def test_budgets_in_looks_and_in_multiples_of_the_examples(
    budget: str | int | None, looks: int | None
) -> None:
    assert Plan(budget=budget).looks(60) == looks


def test_streams_differ_by_each_part_of_their_name_and_by_nothing_else() -> None:
    base = Variant("a", {"x": 1, "y": 2})
    streams = [
        base.stream("data", 0, 0),
        base.stream("other", 0, 0),
        base.stream("data", 1, 0),
        base.stream("data", 0, 1),
        Variant("b", base.settings).stream("data", 0, 0),
        Variant("a", {"x": 1}).stream("data", 0, 0),
    ]
    assert len({stream.entropy for stream in streams}) == len(streams)
    turned = Variant("a", {"y": 2, "x": 1}).stream("data", 0, 0)
    assert turned.entropy == streams[0].entropy


def test_a_stream_is_the_same_on_any_machine() -> None:
    assert Variant("full").stream("digits", 0, 0).entropy == 50606694733173272002410741383393135263


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load_dataset("chess(d=4,n=80)")


@pytest.fixture(scope="module")
def images() -> Dataset:
    X = np.random.default_rng(5).integers(0, 9, (40, 6, 6)).astype(np.uint8)
    return Dataset("dots", X, np.arange(40) % 3, ("a", "b", "c"))


def test_full_is_left_out_of_a_budget_that_it_does_not_fit(data: Dataset) -> None:
    prepared = prepare(data, Plan(budget=239, repeats=1))
    assert "full" not in [variant.name for variant in prepared.variants]
    (note,) = prepared.notes
    assert "full is left out" in note
    assert "F * N = 4 * 60 = 240 looks, more than the budget of 239" in note
    enough = prepare(data, Plan(budget=240, repeats=1))
    assert "full" in [variant.name for variant in enough.variants]
    assert enough.notes == ()


@pytest.mark.parametrize(("name", "least"), [("full", 240), ("quickboost", 480)])
def test_a_yardstick_that_is_named_has_what_it_needs(data: Dataset, name: str, least: int) -> None:
    plan = Plan(strategies=parse_names(f"{name},uniform-naive"), budget=60, repeats=1)
    prepared = prepare(data, plan)
    assert [prepared.budget(variant, 0) for variant in prepared.variants] == [least, 60]
    whole = prepare(data, replace(plan, budget=300))
    assert [whole.budget(variant, 0) for variant in whole.variants] == [300, 300]


def test_full_is_left_out_of_long_comparisons_unless_it_is_named(
    data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared_module, "_YARDSTICK_LIMIT", 1000)
    prepared = prepare(data, Plan())
    assert "full" not in [variant.name for variant in prepared.variants]
    assert "name it in --strategies" in prepared.notes[0]
    named = prepare(data, Plan(strategies=parse_names("full")))
    assert [variant.name for variant in named.variants] == ["full"]


@pytest.mark.parametrize(
    ("strategy", "budget", "message"),
    [
        (
            "laminating:n_features=2",
            1,
            "laminating from 2 features costs at least 2 looks, but the budget is 1",
        ),
        (
            "uniform-q1:n_features=4",
            3,
            "'uniform-q1:n_features=4': .* the budget of 3 looks",
        ),
    ],
)
def test_strategies_check_their_settings_before_anything_is_computed(
    data: Dataset, strategy: str, budget: int | None, message: str
) -> None:
    plan = Plan(strategies=parse_names(strategy), budget=budget)
    with pytest.raises(SettingError, match=message):
        prepare(data, plan)


def test_families_by_name_and_with_settings(images: Dataset) -> None:
    plan = Plan(families=parse_names("patches:n_members=3:seed=9,identity"))
    prepared = prepare(images, plan)
    assert [(f.name, f.n_features) for f in prepared.families] == [("patches", 3), ("identity", 36)]
    assert prepared.families[0].settings()["seed"] == 9
    assert prepared.n_features == 39
    assert [info.first for info in prepared.pool(0).families] == [0, 3]


@pytest.mark.parametrize(
    ("families", "message"),
    [
        ("haa", "unknown family of dots 'haa' .*; known: identity, gradient, fourier, "),
        ("columns", "family 'columns' does not fit dots: .*; give the setting that it needs, or"),
        ("patches:n=3", "unknown setting of family 'patches' 'n'.*known: n_members"),
    ],
)
def test_families_that_there_are_not(images: Dataset, families: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        prepare(images, Plan(families=parse_names(families)))


def test_drawn_families_follow_the_seed(images: Dataset) -> None:
    families = [prepare(images, Plan(seed=seed)).families for seed in (0, 0, 1)]
    assert families[0] == families[1]
    assert families[0] != families[2]


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="this system does not tell its memory")
def test_features_that_memory_cannot_hold(images: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", lambda name: 10)
    with pytest.raises(DataError, match=r"dots: the bins .* features of 40 examples .*--families"):
        prepare(images, Plan())


BANDITS = ("ucb", "ucbv", "exp3p", "epsilon-greedy", "explore-then-commit", "hedge")


def plan_of(strategies: str, **settings: Any) -> Plan:
    usual: dict[str, Any] = {"marks": (5,), "repeats": 1, "tune": True}
    return Plan(strategies=parse_names(strategies), **{**usual, **settings})


def grid_of(text: str) -> list[str]:
    return [tried.settings_text for tried in Variant.parse(text).tuned().trained]


@pytest.mark.parametrize("name", STRATEGIES)
def test_bandits_have_a_grid_of_their_own_and_others_none(name: str) -> None:
    variant = Variant(name).tuned()
    if name not in BANDITS:
        assert variant == Variant(name)
        return
    assert 15 <= len(variant.grid) <= 25
    assert len({tried.settings_text for tried in variant.grid}) == len(variant.grid)
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


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        (
            "epsilon-greedy:epsilon=0.05|0.5|1",
            {"tune": False},
            "epsilon=0.05|0.5|1 are alternatives.*add --tune, or give one",
        ),
        (
            "ucb,ucb:exploration=2",
            {"tune": False},
            "'ucb' and 'ucb:exploration=2', which are equal",
        ),
        ("ucb:exploration=1||2", {}, "separated by single bars as in exploration=1|10"),
        ("ucb:exploration=1|2|1", {}, "alternatives must differ, got 1 twice in 1|2|1"),
        ("ucb:exploration=1|2,ucb:exploration=3|4", {}, "'ucb*' twice; alternatives of one"),
        ("ucb:reward_scale=1,ucb:reward_scale=1.0", {}, "'ucb*:reward_scale=1.0', which are equal"),
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
    return [
        dict(tried.settings) for tried in drawn_variant(Variant.parse(text).tuned(), n, seed).grid
    ]


def test_numbers_are_drawn_from_the_range_and_others_from_the_values() -> None:
    text = "epsilon-greedy:epsilon=0.01|1:reward_scale=1|1000:arms=family|feature:n_features=2"
    samples = draws(text, 200)
    epsilons = [float(str(sample["epsilon"])) for sample in samples]
    assert all(0.01 <= drawn <= 1 and float(f"{drawn:.3g}") == drawn for drawn in epsilons)
    assert 0.4 < sum(drawn < 0.1 for drawn in epsilons) / 200 < 0.6  # half of a log-uniform range
    assert len(set(epsilons)) > 100
    scales = [sample["reward_scale"] for sample in samples]
    assert all(isinstance(scale, int) and 1 <= scale <= 1000 for scale in scales)
    assert {sample["arms"] for sample in samples} == {"family", "feature"}
    assert {sample["n_features"] for sample in samples} == {2}


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
    assert len(combined_grid(None, {"draws": 4, "strategies": alternatives}).variants[0].grid)


ENTRIES = """
title = "Two of them"
data = ["chess(d=3,n=60)", { name = "diagonal(d=5,n=60)", families = ["columns"] }]
strategies = [
  "laminating",
  { name = "uniform-naive", n_features = [1, 2] },
  { name = "ucb", exploration = 0.5, reward_scale = 30.0, pulls = "Q.1" },
]
rounds = [2, 4]
repeats = 2
budget = "9N"
weight_init = "uniform"
learner = "stump"
learning_rate = 0.5
smoothing = 1
max_seconds = 60
max_looks = 1_000_000
seed = 5
bank = "memory:reference=30"
history = true
"""


def read(text: str) -> Plan:
    Path("grid.toml").write_text(text, "utf-8")
    return combined_grid(read_grid_file("grid.toml"), {})


def test_every_entry_is_read() -> None:
    grid = read(ENTRIES)
    two = Variant("uniform-naive", {"n_features": Alternatives((1, 2))}).tuned()
    bandit = Variant("ucb", {"exploration": 0.5, "reward_scale": 30.0, "pulls": "Q.1"})
    assert grid == Plan(
        data=(
            DataSource("chess(d=3,n=60)"),
            DataSource("diagonal(d=5,n=60)", (Variant("columns"),)),
        ),
        title="Two of them",
        strategies=(Variant("laminating"), two, bandit),
        marks=(2, 4),
        repeats=2,
        budget="9N",
        weights="uniform",
        learning_rate=0.5,
        smoothing=1,
        max_seconds=60,
        max_looks=1_000_000,
        seed=5,
        bank=Variant("memory", {"reference": 30}),
        history=True,
    )
    assert [variant.label for variant in grid.variants][1] == "uniform-naive*"


def test_the_same_budget_as_number_and_as_text_is_no_contradiction() -> None:
    Path("grid.toml").write_text("budget = 1000\n", encoding="utf-8")
    grid = combined_grid(read_grid_file("grid.toml"), {"budget": "1000"})
    assert grid.budget == "1000"
    with pytest.raises(SettingError, match="the grid has another budget than this option"):
        combined_grid(read_grid_file("grid.toml"), {"budget": "1000N"})


@pytest.mark.parametrize(
    ("entry", "option"),
    [
        ('learner = "tree:n_leaves=4:min_leaf=2"', {"learner": "tree:min_leaf=2:n_leaves=4"}),
        ('objective = ["mh", "real-mh"]', {"objective": ("mh", " real-mh")}),
        ('budget = ["1N", "10.0N"]', {"budget": ("1N", "10N")}),
    ],
)
def test_another_spelling_of_an_entry_is_no_contradiction(
    entry: str, option: dict[str, Any]
) -> None:
    Path("grid.toml").write_text(entry, encoding="utf-8")
    grid = read_grid_file("grid.toml")
    assert combined_grid(grid, option) == combined_grid(grid, {})


def test_what_a_file_does_not_say_has_the_defaults_of_the_options() -> None:
    assert read("") == Plan() == combined_grid(None, {})


@pytest.mark.parametrize(
    ("entry", "tuned"),
    [
        ('"ucb:exploration=1|2:reward_scale=3"', 2),
        ('{ name = "ucb", tune = true }', 24),
        ('{ name = "ucb", exploration = [1, 2] }', 12),
    ],
)
def test_a_strategy_is_tuned_when_the_file_says_so(entry: str, tuned: int) -> None:
    (variant,) = read(f"strategies = [{entry}]").variants
    assert len(variant.trained) == tuned


def test_tune_is_for_all_that_have_a_grid() -> None:
    plan = read('tune = true\nstrategies = ["ucb", "laminating"]')
    assert [len(variant.trained) for variant in plan.variants] == [24, 1]


WRONG = {
    "unknown": ("budgt = 3", r"budgt: unknown entry 'budgt' \(did you mean 'budget'"),
    "rounds": ("rounds = [10, 5]", "rounds: rounds must rise and differ, got 10, 5"),
    "one round": ("rounds = 10", r"rounds: rounds must be an array of whole numbers as in \[10"),
    "repeats": ("repeats = 0", "repeats: repeats must be an integer at least 1, got 0"),
    "looks": (
        "max_looks = 1.5",
        "max_looks: max_looks must be a whole number as in 1e9, got 1.5",
    ),
    "no cost": ("max_cost = 0", "max_cost: max_cost must be above 0 and finite, got 0"),
    "our metric": ('metrics = "error"', "metrics: metrics of a comparison must be functions of"),
    "no looks": ("max_looks = 0", "max_looks: max_looks must be an integer at least 1, got 0"),
    "seconds": ("max_seconds = 0", "max_seconds: max_seconds must be above 0 and finite, got 0"),
    "flag": ("history = 1", "history: history must be true or false, got 1"),
    "weight_init": ('weight_init = "even"', "weight_init: unknown initial weights 'even'"),
    "strategy": (
        'strategies = ["full", "laminat"]',
        r"strategies\[2\]: unknown strategy 'laminat'",
    ),
    "kind of setting": (
        'strategies = [{ name = "ucb", exploration = { a = 1 } }]',
        r"strategies\[1\]: exploration must be a number, text, true or false, or an array",
    ),
    "one alternative": (
        'strategies = [{ name = "ucb", exploration = [1] }]',
        r"exploration must be one value, or an array of two or more alternatives, got \[1\]",
    ),
    "twice": (
        'strategies = ["full", "full"]',
        r"strategies\[2\]: each name must be given once, got 'full'",
    ),
    "no array": ("data = 3", "data: data must be an array with at least one entry, got 3"),
    "data twice": ('data = ["digits", "digits"]', r"data\[2\]: each data set must be given once"),
    "data entry": ('data = [{ name = "a", x = 1 }]', r"data\[1\]: unknown entry of a data set 'x'"),
    "data option": (
        'data = [{ path = "x.csv", lable = "y" }]',
        r"data\[1\]: unknown entry of a data set 'lable' \(did you mean 'label'\?\); known: path",
    ),
    "syntax": ("\nrounds == 1", r"must be TOML in UTF-8: .*line 2"),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_error_is_told_with_its_place(case: str) -> None:
    text, message = WRONG[case]
    with pytest.raises(SettingError, match=message) as caught:
        read(text)
    assert str(caught.value).startswith("the grid 'grid.toml'")


def test_all_errors_are_told_at_once() -> None:
    texts = [
        WRONG[case][0] for case in ("unknown", "rounds", "repeats", "weight_init", "data twice")
    ]
    strategies = 'strategies = ["full", "laminat", { name = "ucb", explore = 1 }, "full"]'
    with pytest.raises(SettingError) as caught:
        read("\n".join([*texts, strategies]))
    message = str(caught.value)
    assert message.startswith("the grid 'grid.toml' has 8 errors: (1) budgt: unknown entry 'budgt'")
    for number, place in enumerate(
        ("budgt", "rounds", "repeats", "weight_init", "data[2]"), start=1
    ):
        assert f"({number}) {place}: " in message
    for number in (2, 3, 4):
        assert f"({number + 4}) strategies[{number}]: " in message


def test_a_grid_that_there_is_not() -> None:
    with pytest.raises(SettingError, match=r"unknown grid 'df11'; known: bk10-.*or the path of"):
        read_grid_file("df11")


@pytest.mark.parametrize("name", shipped_grids())
def test_the_grids_of_the_papers_are_sound(name: str) -> None:
    grid = combined_grid(read_grid_file(name), {})
    assert grid.marks == (10, 100, 1000, 10000)
    assert grid.title
    if name == "df11-mnist-noise":
        noises = [variant.strategy().noise for variant in grid.variants]
        assert noises == ["paper", "deconvolved"]
    elif name == "df11-on-demand":
        assert (grid.bank.name, grid.max_seconds, grid.weights) == ("lazy", 30, "uniform")
        assert {"uniform-naive", "mas-q1", "laminating"} <= {v.label for v in grid.variants}
    elif name.startswith("df11"):
        names = [variant.label for variant in grid.variants]
        assert names == [
            "uniform-naive", "uniform-1q", "uniform-q1", "ucb*", "exp3p*", "epsilon-greedy*",
            "mas-naive", "mas-1q", "mas-q1", "laminating",
        ]  # fmt: skip
        assert {len(variant.trained) for variant in grid.variants} == {1, 10}
        assert (grid.repeats, grid.budget, grid.weights) == (10, "10N", "uniform")
    else:
        prepared = prepare_all(grid)
        assert [one.data.name for one in prepared] == [
            "diagonal(d=10,J=4,q=0.1,n=1334)",
            "chess(d=10,J=3,L=3,n=1334)",
        ]


def test_options_must_not_contradict_a_file(cli: CommandLine) -> None:
    Path("grid.toml").write_text(ENTRIES, "utf-8")
    line = cli.refused("compare --grid grid.toml --repeats 3 --seed 6")
    for part in ("has 2 errors: (1) --repeats: the grid has another repeats", "; (2) --seed: "):
        assert part in line
    assert [path.name for path in Path().iterdir()] == ["grid.toml"]


def test_a_file_and_options_that_complete_it_make_a_run(cli: CommandLine) -> None:
    text = ENTRIES.replace("repeats = 2\n", "").replace("history = true\n", "")
    Path("grid.toml").write_text(text, "utf-8")
    command = "compare --grid grid.toml --repeats 1 --seed 5 --results new"
    out = cli(command)
    names = ["chess(d=3,J=3,L=3,n=60)", "diagonal(d=5,J=4,q=0.1,n=60)"]
    for name in names:
        assert f"{name}: 45 training and 15 test examples" in out
    found = read_results("new")
    assert [row["data"] for row in found.rows] == [name for name in names for _ in range(2 + 4 + 2)]
    settings = json.loads(Path("new/plan.json").read_text())
    assert settings["command"] == ["boostsample", *command.split()]
    assert settings["data_sets"][1]["strategies"][0]["budget"] == [405]


def test_tables_and_texts_of_files_say_the_same() -> None:
    Path("x.csv").write_text("ID,y,u\nr0,a,1\nr1,b,2\nr2,a,3\nr3,b,4\n", "utf-8")
    text = DataSource("x.csv", None, {"label": "y", "drop": ["ID"]})
    assert DataSource.parse("x.csv:label=y:drop=ID") == text
    tables = [
        '{ path = "x.csv", label = "y", drop = ["ID"] }',
        '{ name = "x.csv", label = "y", drop = "ID" }',
        '"x.csv:label=y:drop=ID"',
        '{ path = "x.csv:label=y", name = "other", drop = 0 }',
    ]
    for table in tables[:3]:
        assert read(f"data = [{table}]").data == (text,)
    both = f'data = [{tables[0]}, {tables[3]}]\nstrategies = ["uniform-naive"]'
    one, other = [prepared.data for prepared in prepare_all(read(both))]
    assert (one.name, other.name) == ("x", "other")
    assert one.columns == other.columns == ("u",)
    with pytest.raises(SettingError, match=r"got 'x' twice; .* as in x\.csv:name=other"):
        prepare_all(read(both.replace('name = "other", ', "")))


def test_errors_of_several_data_sets_are_told_at_once(cli: CommandLine) -> None:
    text = 'data = ["digit", "chess(d=0)", "chess(d=3,n=60)"]\nstrategies = ["laminating"]\n'
    Path("grid.toml").write_text(f'{text}budget = "0.01N"', "utf-8")
    line = cli.refused("compare --grid grid.toml")
    assert "has 3 errors: (1) digit: unknown data set 'digit'" in line
    assert "(2) chess(d=0): " in line
    assert "(3) chess(d=3,n=60): budget must be at least 1 look, got 0.01N" in line


GRIDS = {
    "defaults": 'data = ["chess(d=3,n=60)"]',
    "draws": """\
        data = ["chess(d=3,n=60)"]
        strategies = ["full", { name = "ucb", n_features = 2, exploration = 1, tune = true }]
        draws = 3
        """,
    "everything": """\
        title = "A \\"title\\" with \\\\ and ü"
        data = ["digits", { name = "chess(d=3,n=60)", families = ["columns"] }]
        strategies = [
          "uniform-naive:n_features=none",
          { name = "laminating", scheme = "distinct", n_features = 2 },
          { name = "ucb", reward_scale = [30, 1], exploration = [2, 0.02, 1e-05] },
          { name = "epsilon-greedy", epsilon = 0.1, tune = true },
        ]
        families = ["haar", "patches:n_members=9:min_side=1"]
        rounds = [1, 2]
        repeats = 2
        budget = "7.5N"
        weight_init = "uniform"
        learning_rate = 0.25
        smoothing = 1
        max_seconds = 2.5
        max_looks = 1000
        max_cost = 0.5
        seed = 3
        bank = "lazy:reference=64"
        history = true
        """,
}


def written(entries: dict[str, Any], folder: Path) -> Path:
    path = folder / "plan.json"
    path.write_text(json.dumps({"entries": entries}))
    return path


def read_prepared(text: str, folder: Path) -> tuple[Plan, list[Prepared]]:
    path = folder / "grid.toml"
    path.write_text(text, encoding="utf-8")
    grid = combined_grid(read_grid_file(path), {})
    return grid, prepare_all(grid)


@pytest.mark.parametrize("name", GRIDS)
def test_the_file_asks_for_the_same_cells(name: str, tmp_path: Path) -> None:
    grid, prepared = read_prepared(GRIDS[name], tmp_path)
    entries = grid_entries(grid, prepared)
    again = combined_grid(read_grid_file(written(entries, tmp_path)), {})
    prepared_again = prepare_all(again)
    assert again.title == grid.title
    assert plan_record(prepared_again) == plan_record(prepared)
    assert grid_entries(again, prepared_again) == entries
    assert entries.keys() >= {"data", "strategies", "rounds", "repeats", "learner", "seed"}
    assert entries["weight_init"] == grid.weights
    of_run = {"learning_rate": 0.25, "smoothing": 1.0, "max_seconds": 2.5, "max_looks": 1000}
    of_run["max_cost"] = 0.5
    given = {key: entries[key] for key in of_run if key in entries}
    assert given == (of_run if name == "everything" else {})


def test_the_path_of_own_data_is_written_as_it_was_given(tmp_path: Path) -> None:
    grid, prepared = read_prepared(GRIDS["defaults"], tmp_path)
    own = replace(grid, data=(DataSource("../some where/mine.csv.gz"),))
    mine = replace(prepared[0], data=replace(prepared[0].data, name="mine"))
    assert grid_entries(own, [mine])["data"] == ["../some where/mine.csv.gz"]
    options = {"label": "y", "drop": ["ID", 2], "header": True, "name": "mine"}
    own = replace(grid, data=(DataSource("mine.csv", None, options),))
    entries = grid_entries(own, [mine])
    assert entries["data"] == [{"path": "mine.csv", **options}]
    assert combined_grid(read_grid_file(written(entries, tmp_path)), {}).data == own.data
