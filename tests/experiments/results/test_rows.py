"""Rows of results: columns, curves, data frames, values and costs; tuning keeps the best."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.cells.tasks import curve_points
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.variants import Variant, parse_names
from boostsample.experiments.plots.curves import curves_figure
from boostsample.experiments.results.joined import joined_results
from boostsample.experiments.results.read_folder import Results, read_results
from boostsample.experiments.results.run_curves import curves_of_results
from boostsample.experiments.results.runs import (
    RESULT_COLUMNS,
    RESULT_SCHEMA,
    TABLE_COLUMNS,
    TABLE_SCHEMA,
    Run,
)
from boostsample.experiments.results.write_folder import ResultsFolder
from boostsample.experiments.run.comparison import compare
from boostsample.experiments.tables.comparison_tables import looks_table, tuning_table
from boostsample.experiments.tables.formats import to_text
from boostsample.experiments.tables.score_tables import plain_table
from boostsample.experiments.tables.tables import Table
from boostsample.families import families_for
from boostsample.history import markdown_table
from boostsample.records import family_infos
from boostsample.step import Step
from boostsample.strategy import Strategy, Stump
from tests.experiments import small_runs
from tests.experiments.small_runs import (
    check_row,
    easy,
    looks_of,
    run_by_hand,
    thirds,
    timeless_rows,
    with_strategy,
)
from tests.paths import ROOT

TUNED = "epsilon-greedy:arms=feature:n_features=2:pulls=2:epsilon=0.05|0.5|1:reward_scale=1"
MARKS = (2, 50, 100)


@pytest.fixture(scope="module")
def comparison() -> Results:
    data = small_runs.thirds(150, 7, seed=12, noise=1.0, n_train=100)
    names = ["uniform-naive:n_features=2", "mas-naive", TUNED]
    return compare(data, strategies=names, rounds=MARKS, repeats=2, tune=True, history=True)


def curve(comparison: Results, label: str, repetition: int = 0) -> list[dict[str, Any]]:
    return [
        row
        for row in comparison.curves
        if row["strategy"] == label and row["repetition"] == repetition
    ]


def test_rows_at_the_marks_are_the_result_rows(comparison: Results) -> None:
    assert all(tuple(row) == TABLE_COLUMNS for row in comparison.curves)
    names = ("data", "strategy", "repetition", "stumps")
    found = {tuple(row[n] for n in names): row for row in comparison.curves}
    assert len(found) == len(comparison.curves)  # no point twice
    for row in comparison.rows:
        mine = found[tuple(row[n] for n in names)]
        assert repr(row) == repr({column: mine[column] for column in RESULT_COLUMNS})


@pytest.mark.parametrize("label", ["uniform-naive", "mas-naive"])
def test_a_curve_sums_up_the_history(comparison: Results, label: str) -> None:
    rows = curve(comparison, label)
    history = [r for r in comparison.history if (r["strategy"], r["repetition"]) == (label, 0)]
    assert [row["stumps"] for row in rows] == sorted({*curve_points(100), *MARKS})
    for row in rows:
        past = history[: row["stumps"]]
        assert row["looks"] == sum(r["looks_search"] + r["looks_modelling"] for r in past)
        assert row["log10_loss"] == past[-1]["log10_loss"]
        assert row["features"] == pytest.approx(np.mean([r["n_features"] for r in past]))
        assert row["examples"] == pytest.approx(np.mean([r["n_examples"] for r in past]))
        assert row["seconds"] == pytest.approx(sum(r["seconds"] for r in past), abs=1e-4)
        assert math.isnan(row["auc"]) == (row["stumps"] not in MARKS)


def test_a_charged_curve_pays_for_all_runs(comparison: Results) -> None:
    label = next(row["strategy"] for row in comparison.rows if row["strategy"].endswith("charged"))
    plain = {row["stumps"]: row for row in curve(comparison, label.removesuffix(" charged"))}
    rows = curve(comparison, label)
    assert [row["stumps"] for row in rows] == sorted({row["stumps"] for row in rows})
    assert len(rows) > len(MARKS)
    for row in rows:
        own = row["stumps"] // 3
        if own == 0:
            assert math.isnan(row["log10_loss"])
            assert row["looks"] == 0
        else:
            assert row["log10_loss"] == plain[own]["log10_loss"]
            assert row["looks"] == 3 * plain[own]["looks"]  # each run costs as much
            assert row["seconds"] > plain[own]["seconds"]


@pytest.mark.parametrize(
    ("rows", "schema", "columns"),
    [("rows", RESULT_SCHEMA, RESULT_COLUMNS), ("curves", TABLE_SCHEMA, TABLE_COLUMNS)],
)
def test_rows_have_the_columns_and_types_of_the_schema(
    rows: str, schema: tuple[tuple[str, type, str], ...], columns: tuple[str, ...]
) -> None:
    for row in getattr(small_runs.comparison(), rows):
        assert tuple(row) == columns
        assert [type(value) for value in row.values()] == [kind for _, kind, _ in schema]


def test_the_documentation_has_a_line_for_each_column() -> None:
    table = markdown_table(TABLE_SCHEMA)
    assert table in (ROOT / "docs" / "columns.md").read_text("utf-8")
    lines = table.splitlines()
    assert len(lines) == 2 + len(TABLE_SCHEMA)
    for line, (name, kind, meaning) in zip(lines[2:], TABLE_SCHEMA, strict=True):
        assert line == f"| `{name}` | {kind.__name__} | {meaning} |"


ROWS = [
    {"data": "chess", "strategy": "full", "settings": "", "stumps": 2, "log10_loss": -0.5},
    {"data": "chess", "strategy": "full", "settings": "", "stumps": 4, "log10_loss": -0.75},
]
HISTORY = [{"data": "1", "round": "1", "edge": "0.25", "arm": "", "stopped": ""}]


def results(history: Any = None) -> Results:
    return Results({"rounds": [2, 4]}, pd.DataFrame(ROWS), history or [])


def test_results_become_a_data_frame() -> None:
    frame = results().to_frame()
    assert frame.to_dict("records") == ROWS
    assert frame["stumps"].dtype.kind == "i"


def test_texts_of_history_rows_become_numbers() -> None:
    frame = results(HISTORY).to_frame("history")
    assert frame["edge"].tolist() == [0.25]
    assert frame["round"].dtype.kind == "i"
    assert frame["arm"].isna().all()
    assert frame["data"].tolist() == ["1"]  # a name


@pytest.mark.parametrize("as_written", [str, lambda value: value])
def test_truth_values_of_history_rows_are_those_of_the_notes(as_written: Any) -> None:
    rows = [{"round": 1, "good": True, "rare": True}, {"round": 0, "good": False, "rare": False}]
    missing = {"rare": ""} if as_written is str else {}  # a folder has text in all columns
    history = [{name: as_written(value) for name, value in row.items()} for row in rows]
    frame = results([*history, {"round": as_written(1), "good": as_written(False)} | missing])
    frame = frame.to_frame("history")
    assert frame["round"].dtype.kind == "i"
    assert frame["good"].dtype == bool
    assert frame["good"].tolist() == [True, False, False]
    assert frame["rare"].dtype == "boolean"
    assert frame["rare"].mean() == 0.5
    assert frame[frame["rare"]].index.tolist() == [0]


def test_tables_that_are_not_there_are_refused() -> None:
    with pytest.raises(DataError, match=r"must hold history .* --history"):
        results().to_frame("history")
    with pytest.raises(SettingError, match="unknown table 'row'"):
        results().to_frame("row")


def test_tables_are_shown_in_notebooks() -> None:
    plain = Table("a < b", ("strategy", "ms"), (("full", "1.5"),))
    assert "<caption>a &lt; b</caption>" in plain._repr_html_()
    assert "<td>1.5</td>" in plain._repr_html_()
    flags = (("", "best"),)
    scores = Table("loss", ("stumps", "full"), (("10", "-1"),), flags, ("two < three",))
    shown = scores._repr_html_()
    assert '<th scope="row">10</th><td class="best"><strong>-1</strong></td>' in shown
    assert "<p>bold: best of its row; =: not told apart from the best</p>" in shown
    assert "<p>note: two &lt; three</p>" in shown


# ------------------------------------------------------------------------ values computed and costs


def on_digits(form: str) -> Results:
    names: dict[str, Any] = {
        "strategies": ["uniform-naive", "laminating"],
        "families": ["identity", "patches"],
    }
    return compare("digits", **names, rounds=[3, 10], repeats=1, bank=form, history=True)


def test_the_column_adds_up_the_history() -> None:
    done = on_digits("lazy")
    (curves,) = curves_of_results(done)
    for label in ("uniform-naive", "laminating"):
        of_run = [row["values_computed"] for row in done.history if row["strategy"] == label]
        at = curves.at("values_computed", "stumps", 10)[label][0]
        assert at == sum(of_run) == np.cumsum(of_run)[9] > 0
        level = float(np.cumsum(of_run)[2])
        assert curves.at("loss", "values_computed", level)[label][0] == pytest.approx(
            curves.at("loss", "stumps", 3)[label][0]
        )
    assert len(curves.levels("values_computed")) == 2
    table = looks_table(done)
    assert table.header[-2:] == ("values computed", "ms")
    mean = sum(row["values_computed"] for row in done.history if row["strategy"] == "laminating")
    assert table.rows[1][-2] == f"{mean / 10:,.0f}"


def test_costs_add_up_the_history_in_nominal_seconds() -> None:
    done = on_digits("memory")
    (curves,) = curves_of_results(done)
    for label in ("uniform-naive", "laminating"):
        of_run = [row["cost"] for row in done.history if row["strategy"] == label]
        assert curves.at("cost", "stumps", 10)[label][0] == pytest.approx(1e-6 * sum(of_run))
        level = 1e-6 * sum(of_run[:3])
        assert curves.at("loss", "cost", level)[label][0] == pytest.approx(
            curves.at("loss", "stumps", 3)[label][0]
        )
    table = replace(curves, table=curves.table.assign(cost=0.0))
    with pytest.raises(DataError, match="of a version without costs"):
        table.at("loss", "cost", 1.0)


def test_a_bank_in_memory_computes_none_while_training() -> None:
    done = on_digits("memory")
    (curves,) = curves_of_results(done)
    assert curves.at("values_computed", "stumps", 3)["laminating"][0] == 0
    assert "values computed" not in looks_table(done).header
    with pytest.raises(DataError, match="the runs on digits have computed no feature values"):
        curves.at("loss", "values_computed", 1e6)


def test_strategies_see_what_a_value_costs() -> None:
    families = families_for((8, 8, 3))
    on_demand = family_infos(families, on_demand=True)
    assert [info.cost for info in on_demand] == [family.cost for family in families]
    assert min(info.cost for info in on_demand) > 0
    assert {info.cost for info in family_infos(families)} == {0.0}
    costs = {info.name: info.cost for info in on_demand}
    assert costs["identity"] < costs["hog"] < costs["hog-opponent"]


SETTINGS = [f"arms=feature:epsilon={e}:n_features=2:pulls=2:reward_scale=1" for e in (0.05, 0.5, 1)]
LABEL = "epsilon-greedy*:arms=feature:n_features=2:pulls=2:reward_scale=1"
FEW_MARKS = (2, 4, 12)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return thirds(150, 7, seed=11, noise=0.3, n_train=100)


@pytest.fixture(scope="module")
def tuned_results(data: Dataset) -> Results:
    return compare(data, plan_of(f"uniform-naive:n_features=2,{TUNED}", history=True))


def plan_of(strategies: str, **settings: Any) -> Plan:
    usual: dict[str, Any] = {"marks": FEW_MARKS, "repeats": 2, "tune": True, "weights": "uniform"}
    return Plan(strategies=parse_names(strategies), **{**usual, **settings})


def notes_of(tuned_results: Results) -> list[str]:
    notes: list[str] = tuned_results.settings["data_sets"][0]["notes"]
    return notes


def test_rows_are_those_of_the_best_of_plain_loops(data: Dataset, tuned_results: Results) -> None:
    for repetition in range(2):
        runs = [
            run_by_hand(data, variant, 12, repetition=repetition, seed=0, weights="uniform")
            for variant in (Variant.parse(f"epsilon-greedy:{text}") for text in SETTINGS)
        ]
        finals = [history[-1]["log10_loss"] for history, _ in runs]
        assert len(set(finals)) == 3
        best = finals.index(min(finals))
        ours = [
            row
            for row in tuned_results.rows
            if "*" in row["strategy"] and row["repetition"] == repetition
        ]
        columns = ((LABEL, 1, runs[best : best + 1]), (f"{LABEL} charged", 3, runs))
        wanted = [(mark, *column) for column in columns for mark in FEW_MARKS]
        for row, (mark, label, share, paid) in zip(ours, wanted, strict=True):
            check_row(
                row,
                data,
                data.split(repetition, 0)[1],
                runs[best],
                mark // share,
                strategy=label,
                settings=SETTINGS[best],
                weight_init="uniform",
                repetition=repetition,
                stumps=mark,
                looks=sum(looks_of(history[: mark // share]) for history, _ in paid),
            )
        assert [math.isnan(row["log10_loss"]) for row in ours] == [False] * 3 + [True, False, False]


def loss_of(run: Run) -> list[float]:
    losses: list[float] = run.cell.loss.tolist()
    return losses


def test_test_data_choose_nothing(data: Dataset, tuned_results: Results) -> None:
    y = data.y.copy()
    y[100:] = y[100:][::-1]
    other = compare(Dataset(data.name, data.X, y, data.classes, n_train=100), plan_of(TUNED))
    for tuned_run, before in zip(other.runs, tuned_results.runs[2:], strict=True):
        assert (loss_of(tuned_run), tuned_run.trained) == (loss_of(before), before.trained)
    assert [r["test_error"] for r in other.rows] != [
        r["test_error"] for r in tuned_results.rows[6:]
    ]


class Same(Strategy):
    """Searches the same feature whatever its settings, after a while."""

    def __init__(self, x: int = 1, wait: float = 0.0) -> None:
        self.x = x
        self.wait = wait

    def choose(self, step: Step) -> Stump:
        time.sleep(self.wait)
        return step.search([step.round % 3], step.draw(step.n_examples)).best()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("same:x=5|3|4", "x=5"),
        ("same:wait=0.01|0", "wait=0.01"),  # the second ends first
    ],
)
@pytest.mark.parametrize("n_jobs", [1, 4])
def test_the_first_setting_wins_a_tie(
    data: Dataset, monkeypatch: pytest.MonkeyPatch, text: str, kept: str, n_jobs: int
) -> None:
    with_strategy(monkeypatch, "same", Same)
    (tuned_run,) = compare(data, plan_of(text, repeats=1, n_jobs=n_jobs)).runs
    assert tuned_run.tuning is not None
    assert len(set(tuned_run.tuning.losses)) == 1
    assert tuned_run.trained.settings_text == kept


def test_training_that_ends_early_charges_what_it_took() -> None:
    plan = plan_of("uniform-1q:n_features=none|1", marks=(1, 3, 30), repeats=1)
    tuned_results = compare(easy(), plan)
    tuned, charged = tuned_results.rows[:3], tuned_results.rows[3:]
    assert {row["looks"] for row in tuned} == {30}
    assert [row["looks"] for row in charged] == [0, 60, 60]
    assert {row["log10_loss"] for row in charged[1:]} == {tuned[0]["log10_loss"]}
    assert "uniform-1q*: training ended early" in notes_of(tuned_results)[-1]
    curves_figure(joined_results([tuned_results]))


def test_tables_have_both_columns_and_the_choice(tuned_results: Results) -> None:
    loss = plain_table(tuned_results, "loss")
    assert loss.header == ("stumps", "uniform-naive:n_features=2", LABEL, f"{LABEL} charged")
    assert loss.rows[0][-1] == "-"
    assert "-" not in [cell for row in loss.rows[1:] for cell in row]
    looks = {row[0]: row[1:-1] for row in looks_table(tuned_results).rows}
    assert looks[LABEL] == ("1,000", "200", "0", "100")
    assert looks[f"{LABEL} charged"] == ("3,000", "600", "0", "300")
    table = tuning_table(tuned_results)
    assert table is not None
    kept = [tuned_run.trained.settings_text for tuned_run in tuned_results.runs[2:]]
    assert {row[2]: row[3] for row in table.rows} == {s: str(kept.count(s)) for s in kept}
    assert {row[:2] for row in table.rows} == {(LABEL, "3")}
    assert "after 12 stumps, in 2 repetitions" in to_text(table)
    (note,) = notes_of(tuned_results)
    assert f"3 for {LABEL}" in note
    assert "smallest training loss after 12 stumps" in note


def test_the_folder_records_grid_choice_and_every_final_loss(
    tuned_results: Results, tmp_path: Path
) -> None:
    with ResultsFolder(tmp_path / "new") as folder:
        folder.write(tuned_results)
    saved = read_results(tmp_path / "new")
    assert timeless_rows(saved.rows) == timeless_rows(tuned_results.rows)
    _, tuned = saved.settings["data_sets"][0]["strategies"]
    assert (tuned["strategy"], tuned["grid"]) == (LABEL, SETTINGS)
    for search, tuned_run in zip(tuned["tuning"], tuned_results.runs[2:], strict=True):
        best = search["final_log10_loss"].index(min(search["final_log10_loss"]))
        assert search["kept"] == SETTINGS[best] == tuned_run.trained.settings_text
        assert search["final_log10_loss"][best] == tuned_run.final_loss
        assert search["looks"] == 3 * tuned_run.total.looks
    assert saved.settings["data_sets"][0]["notes"] == notes_of(tuned_results)
