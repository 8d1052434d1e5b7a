"""Axes of grids: several budgets, learners, weights, banks and steps in one comparison."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from boostsample.errors import SettingError
from boostsample.experiments.cells.training import TrainingSplit
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.plan.grid import combined_grid, grid_entries, read_grid_file
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import prepare_all, prepare_setups
from boostsample.experiments.plan.variants import Variant, parse_names
from boostsample.experiments.report.html_report import _budgets, facts_of_comparison
from boostsample.experiments.results.joined import joined_results
from boostsample.experiments.results.plan_file import finished_record, plan_record
from boostsample.experiments.results.read_folder import make_results, read_results
from boostsample.experiments.results.titles import budgets_of
from boostsample.experiments.run import comparison
from boostsample.experiments.run.comparison import compare, tasks_by_bank
from boostsample.experiments.tables.comparison_tables import looks_table
from boostsample.experiments.tables.score_tables import result_table
from boostsample.experiments.tables.tables import Table
from boostsample.loop.budgets import round_budget
from tests.experiments.conftest import CommandLine
from tests.experiments.small_runs import thirds, timeless

TWO = parse_names("full,laminating")
SMALL: dict[str, Any] = {"strategies": TWO, "marks": (2, 5), "repeats": 2}
AXES: dict[str, tuple[Any, ...]] = {
    "budget": ("1N", "3N"),
    "learner": ("stump", "tree:n_leaves=3"),
    "weights": ("uniform", "balanced"),
    "learning_rate": (0.5, 1.0),
    "smoothing": (0.0, 1.0),
    "objective": ("mh", "real-mh"),
    "bank": (Variant("memory"), Variant("lazy")),
}


@pytest.fixture(scope="module")
def data() -> Dataset:
    return thirds(120, 5, n_train=90)


def test_setups_are_the_product_and_the_budget_varies_fastest() -> None:
    plan = Plan(axes={"budget": ("1N", "3N"), "learner": ("stump", "tree:n_leaves=3")})
    assert [(setup.learner, setup.budget) for setup in plan.setups] == [
        (learner, budget) for learner in ("stump", "tree:n_leaves=3") for budget in ("1N", "3N")
    ]
    assert Plan().setups == (Plan(),)


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"rounds": (1, 2)}, "unknown axis 'rounds'.*known: learner, objective"),
        ({"learning_rate": (1, 1.0)}, "values of learning_rate must differ, got 1 twice"),
        ({"budget": ("10N", "1N", "10.0N")}, "budget must differ, got 10N and 10.0N, which are eq"),
        ({"budget": (200, "2_00")}, "values of budget must differ, got 200 and 2_00, which are eq"),
        (
            {"learner": ("tree:min_weight=0", "tree:min_weight=0.0")},
            "values of learner must differ, got tree:min_weight=0 and tree:min_weight=0.0, which",
        ),
        (
            {"objective": ("mh", " mh")},
            "values of objective must differ, got mh and  mh, which are",
        ),
        ({"learner": ("tree", "tree:min_leaf=1.0")}, "got tree and tree:min_leaf=1.0, which are"),
        (
            {"bank": (Variant("lazy", {"reference": 64}), Variant("lazy", {"reference": 64.0}))},
            "values of bank must differ, got lazy:reference=64 and lazy:reference=64.0, which are",
        ),
        ({"budget": ()}, "budget must have at least one value, got none"),
        ({"budget": ("1N", "ten")}, "budget must be a whole number .* got 'ten'"),
    ],
)
def test_wrong_axes(axes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Plan(axes=axes)


@pytest.mark.parametrize("axis", AXES)
def test_each_setup_has_the_rows_of_a_comparison_of_its_own(data: Dataset, axis: str) -> None:
    results = compare(data, Plan(**SMALL, axes={axis: AXES[axis]}))
    assert len(results.setups) == 2
    for value, setup in zip(AXES[axis], results.setups, strict=True):
        alone = compare(data, Plan(**SMALL, **{axis: value}))
        assert timeless(setup) == timeless(alone)
        shared = alone.settings.keys() - {"format", "created", "cells"}
        assert {k: v for k, v in setup.settings.items() if k in shared - {"data_sets"}} == {
            k: alone.settings[k] for k in shared - {"data_sets"}
        }


def test_a_yardstick_is_in_each_budget_and_is_trained_once(data: Dataset) -> None:
    plan = Plan(marks=(2, 5), repeats=2, axes={"budget": ("1N", "3N")})
    prepared = prepare_setups(data, plan)
    assert all("full" in [v.name for v in setup.variants] for setup in prepared)
    ((_, tasks),) = tasks_by_bank(prepared)
    assert [task.variant.name for task in tasks].count("full") == plan.repeats
    assert [task.variant.name for task in tasks].count("laminating") == 2 * plan.repeats


def test_setups_share_the_bank_of_a_split(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Mock(wraps=TrainingSplit)
    monkeypatch.setattr(comparison, "TrainingSplit", made)
    compare(data, Plan(**SMALL, axes={"budget": ("1N", "3N"), "learning_rate": (0.5, 1.0)}))
    assert made.call_count == 1  # the split is fixed
    compare(data, Plan(**SMALL, axes={"bank": AXES["bank"], "budget": ("1N", "3N")}))
    assert made.call_count == 3


def test_budgets_that_vary_by_round_are_named_and_keep_the_total(data: Dataset) -> None:
    """Four features on 90 examples: `full` needs 450 looks, more than the budgets of 2 N."""
    plan = Plan(**SMALL, axes={"budget": ("2N", "2N:growing", "2N:shrinking")})
    prepared = prepare_setups(data, plan)
    kinds = {
        task.key: task.facts.get("budget_kind")
        for _, tasks in tasks_by_bank(prepared)
        for task in tasks
        if task.variant.name == "laminating"
    }
    assert sorted(map(str, kinds.values())) == sorted(["None", "growing", "shrinking"] * 2)
    results = compare(data, plan)
    runs = [run for run in results.runs if run.variant.name == "laminating"]
    for run in runs:
        course = [
            round_budget(180, run.cell.facts.get("budget_kind", "equal"), t, 5) for t in range(1, 6)
        ]
        looks = run.cell.arrays["looks_search"]
        assert all(0.9 * most <= spent <= most for spent, most in zip(looks, course, strict=True))
    (joined,) = joined_results([results])
    notes = joined.settings_of(joined.names[0])["notes"]
    assert (
        "budget 2N:growing: budgets grow from 1 N to 3 N over the rounds; the total is that of 2 N"
        in notes
    )
    (table,) = result_table([joined], "loss", rows="budget")
    assert [row[0] for row in table.rows] == ["2N", "2N:growing", "2N:shrinking"]
    assert any(
        note.endswith(
            ": full (budget=2N), full (budget=2N:growing), full (budget=2N:shrinking) 5 N"
        )
        for note in table.notes
    )
    column = looks_table(joined).rows
    assert [row[1] for row in column if "laminating" in row[0]] == [
        "180",
        "180 growing",
        "180 shrinking",
    ]


def test_a_budget_that_varies_is_never_an_equal_one(data: Dataset) -> None:
    results = compare(
        data, Plan(**{**SMALL, "strategies": parse_names("laminating")}, budget="2N:growing")
    )
    facts = results.settings_of(results.names[0])
    assert budgets_of(facts) == {"2 N:growing": ["laminating"]}
    assert _budgets([results]) == (
        "a budget of looks (budget 2N:growing: budgets grow from 1 N to 3 N over the rounds; the "
        "total is that of 2 N)"
    )
    (data_sets, *_) = facts_of_comparison([results], [results])
    assert isinstance(data_sets, Table)
    assert data_sets.rows[0][-1] == "180 looks a search on average, growing"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": "2N:growing", "marks": (1,)}, "at least 2 looks and 2 rounds, got 2 and 1"),
        ({"budget": "2N:growing", "tune": True}, "at equal budgets, got 2N:growing and a tuning"),
    ],
)
def test_budgets_that_cannot_vary(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Plan(**{"strategies": parse_names("ucb"), **settings})


def test_a_strategy_that_needs_its_budget_in_each_round_is_refused(data: Dataset) -> None:
    plan = Plan(strategies=parse_names("adaptive-pruning"), marks=(2, 5), budget="6N:growing")
    with pytest.raises(SettingError, match=r"'adaptive-pruning' needs a budget .* got 270"):
        prepare_setups(data, plan)


def test_more_rounds_of_a_budget_that_varies_are_trained_anew(
    tmp_path: Path, data: Dataset
) -> None:
    plan = Plan(strategies=parse_names("laminating"), marks=(2, 3, 5), budget="2N:growing")
    compare(data, replace(plan, marks=(2, 3)), results=tmp_path / "F")
    grown, straight = compare(data, plan, results=tmp_path / "F"), compare(data, plan)
    assert timeless(grown) == timeless(straight)
    assert "its budgets depend on the number of rounds planned" in str(grown.runs[0].cell.about)


def test_banks_that_are_the_same_are_refused(data: Dataset) -> None:
    plan = Plan(**SMALL, axes={"bank": (Variant("auto"), Variant("memory"))})
    with pytest.raises(SettingError, match="the banks auto, memory must differ, but auto is memo"):
        prepare_setups(data, plan)


def test_a_grid_file_has_arrays_and_is_written_as_it_was(tmp_path: Path) -> None:
    text = """
data = "chess(d=3,n=60)"
rounds = [2, 4]
budget = ["1N", "3N"]
weight_init = ["uniform", "balanced"]
learning_rate = [0.5, 1]
bank = ["memory", "lazy:reference=20"]
objective = ["mh"]
"""
    (tmp_path / "grid.toml").write_text(text, "utf-8")
    plan = combined_grid(read_grid_file(tmp_path / "grid.toml"), {})
    assert plan.axes.keys() == {"learning_rate", "weights", "bank", "budget"}
    prepared = prepare_all(plan)
    entries = grid_entries(plan, prepared)
    (tmp_path / "again.json").write_text(json.dumps({"entries": entries}))
    again = combined_grid(read_grid_file(tmp_path / "again.json"), {})
    assert plan_record(prepare_all(again)) == plan_record(prepared)
    with pytest.raises(SettingError, match="the grid has another budget than this option"):
        combined_grid(read_grid_file(tmp_path / "grid.toml"), {"budget": ("1N",)})


COMMAND = "compare --data chess(d=3,n=60) --strategies full,laminating --rounds 2,5 --quiet "


def test_a_folder_grows_along_axes_and_separate_folders_join(cli: CommandLine) -> None:
    cli(COMMAND + "--budget 1N --results F")
    cells = set(Path("F/cells").iterdir())
    cli(COMMAND + "--budget 1N,3N --results F")
    assert cells < set(Path("F/cells").iterdir())
    refused = cli.refused(COMMAND + "--budget 3N,10N --results F")
    assert "budget was 1N, 3N, is 3N, 10N" in refused
    cli(COMMAND + "--budget 3N --results G")
    cli(COMMAND + "--budget 1N --results H")
    assert cli("table F") == cli("table H G")
    assert "full (budget=3N)" in cli("table F")
    for command in ("plot H G -o joined.svg", "plot F -o one.svg", "report F -o F.html"):
        cli(command)
    assert "several budgets of looks" in Path("F.html").read_text("utf-8")
    (Path("F/table.csv")).unlink()
    cli(COMMAND + "--budget 1N,3N --results F")
    again = read_results("F")
    assert again.table["budget"].unique().tolist() == ["1N", "3N"]


def test_tables_name_strategies_with_another_budget(data: Dataset) -> None:
    (table,) = result_table([compare(data, Plan(**SMALL))], "loss")
    assert "budgets of a search differ: full 5 N; laminating 10 N looks" in table.notes
    results = joined_results([compare(data, Plan(**SMALL, axes={"budget": ("1N", "3N")}))])
    (table,) = result_table(results, "loss")
    assert (
        "looks of a search that do not follow the budget: full (budget=1N), full (budget=3N) 5 N"
        in table.notes
    )


def test_an_incomplete_folder_has_the_rows_of_its_cells(data: Dataset) -> None:
    prepared = prepare_setups(data, Plan(**SMALL, axes={"budget": ("1N", "3N")}))
    results = make_results(plan_record(prepared), lambda name: None)
    assert results.missing == 8
    assert sum(setup.missing for setup in results.setups) == 8


def test_budgets_of_an_incomplete_folder_are_those_of_all_repetitions(data: Dataset) -> None:
    """Repetition 0 of one strategy and both of the other are missing: no N stands for another."""
    plan = Plan(**SMALL, budget="3N")
    whole = compare(data, plan)
    (of_data,) = whole.settings["data_sets"]
    sizes = {**of_data, "n_train": [90, 60]}
    for strategy in sizes["strategies"]:
        strategy["budget"] = [270, 180]
    (run,) = (r for r in whole.runs if (r.variant.name, r.repetition) == ("laminating", 1))
    record = finished_record({**whole.settings, "data_sets": [sizes]}, [replace(run, budget=180)])
    assert budgets_of(record["data_sets"][0]) == {"3 N": ["full", "laminating"]}


@pytest.mark.parametrize(("metric", "n_notes"), [("loss", 1), ("error", 0)])
def test_losses_of_different_objectives_are_not_for_comparison(
    data: Dataset, metric: str, n_notes: int
) -> None:
    results = compare(data, Plan(**SMALL, axes={"objective": ("mh", "samme")}))
    (table,) = result_table(joined_results([results]), metric)
    assert sum("objectives have different losses" in note for note in table.notes) == n_notes


def test_a_report_names_objectives_and_says_that_budgets_differ(cli: CommandLine) -> None:
    axes = ("--objective", "mh,real-mh", "--budget", "1N,2N")
    of_run = ("--data", "chess", "--strategies", "uniform-naive", "--rounds", "2", "--repeats", "2")
    cli("compare", *of_run, *axes, "--results", "folder", "--quiet")
    cli("report folder -o page.html")
    text = " ".join(Path("page.html").read_text("utf-8").split())
    assert "for boosting with stump and stump:objective=real-mh, compared at several" in text
    assert "may spend the same number of looks on a search, unless budgets differ" in text
