"""Grids are read from TOML, completed by options, and refused with all their errors at once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from boostsample.errors import SettingError
from boostsample.experiments.plan.grid import (
    combined_grid,
    grid_entries,
    read_grid_file,
    shipped_grids,
)
from boostsample.experiments.plan.plan import DataSource, Plan
from boostsample.experiments.plan.prepared import Prepared, prepare_all
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.results.plan_file import plan_record
from boostsample.experiments.results.read_folder import read_results
from boostsample.names import Alternatives
from tests.experiments.conftest import CommandLine

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
