"""Folders and setups in one table: labels, tables and pictures by an axis, areas under curves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from boostsample.errors import SettingError
from boostsample.experiments.plots.curves import axis_figure
from boostsample.experiments.results.joined import joined_results
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.run_curves import curves_of_data, loss_area
from boostsample.experiments.results.significance import ranking, told_apart
from boostsample.experiments.results.titles import label_of, learner_label
from boostsample.experiments.run.comparison import compare
from boostsample.experiments.tables import score_tables
from boostsample.experiments.tables.latex import to_latex
from boostsample.experiments.tables.renamed import renamed_results, renamed_tables
from boostsample.experiments.tables.score_tables import chosen_strategies, result_table
from tests.experiments.fake_results import curve, results

TREE = "tree:n_leaves=8"


def folder(learner: str, **facts: Any) -> Results:
    """Two strategies; trees lose 1 more of log10 loss than stumps."""
    shift = 0.0 if learner == "stump" else -1.0
    curves = [
        [{**row, "learner": learner} for row in curve(name, repetition, shift=shift)]
        for name in ("full", "laminating")
        for repetition in (0, 1)
    ]
    return results(curves, **facts)


def test_one_learner_leaves_results_as_they_are() -> None:
    one = folder("stump")
    assert joined_results([one]) == [one]


def test_two_learners_make_one_table_whose_labels_name_them() -> None:
    (table,) = result_table(joined_results([folder("stump"), folder(TREE)]), "loss")
    names = ("full", "laminating")
    assert table.header == (
        "rounds",
        *(f"{name} ({learner})" for learner in ("stump", TREE) for name in names),
    )
    assert table.title.startswith("made: ")
    assert [row[0] for row in table.rows] == ["10", "100"]


@pytest.mark.parametrize(
    ("learner", "unit", "title"),
    [("stump", "stumps", "made: log10"), (TREE, "rounds", f"made, learner {TREE}: log10 loss")],
)
def test_a_folder_of_trees_counts_rounds_and_names_the_learner(
    learner: str, unit: str, title: str
) -> None:
    one = folder(learner)
    (table,) = result_table([one], "loss")
    assert table.header[0] == unit
    assert table.title.startswith(title)
    assert table.transposed().header[1] == f"10 {unit}"


def test_step_sizes_make_other_learners() -> None:
    small = learner_label({"learner": "stump", "learning_rate": 0.1, "smoothing": 0.01})
    assert small == "stump:learning_rate=0.1:smoothing=0.01"
    (table,) = result_table(joined_results([folder("stump"), folder(small)]), "loss")
    assert table.header[:2] == ("stumps", "full (stump)")
    assert table.header[-1] == f"laminating ({small})"
    (table,) = result_table([folder(small)], "loss")
    assert table.title.startswith(f"made, learner {small}: log10 loss")


def test_the_same_learner_twice_is_refused() -> None:
    with pytest.raises(SettingError, match="the data set 'made' is in two of the results folders"):
        joined_results([folder("stump"), folder(TREE), folder(TREE)])


def test_another_seed_is_refused() -> None:
    with pytest.raises(SettingError, match="must have the same seed"):
        joined_results([folder("stump"), folder(TREE, seed=7)])


@pytest.mark.parametrize("key", ["sha256", "families", "n_train"])
def test_other_examples_are_refused(key: str) -> None:
    with pytest.raises(SettingError, match="must have the same "):
        joined_results([folder("stump"), folder(TREE, facts={key: [61]})])


def test_strategies_are_chosen_with_and_without_their_learner() -> None:
    labels = dict.fromkeys(
        label_of(row) for one in joined_results([folder("stump"), folder(TREE)]) for row in one.rows
    )
    both = ("full (stump)", f"full ({TREE})")
    assert chosen_strategies(["full"], labels) == both
    assert chosen_strategies([both[1]], labels) == both[1:]


# --------------------------------------------------------------------------------------------- axes


BUDGETS = ("10N", "3N", "1N")
SAME: dict[str, Any] = {"seed": 0}


def budgets(**more: float) -> list[Results]:
    """Two strategies at three budgets; a tenth of the budget costs 1 of log10 loss.

    `more` are further ones, and how much worse they are than the first.
    """
    folders = []
    for shift, budget in enumerate(BUDGETS):
        curves = [
            [{**row, "budget": budget} for row in curve(name, repetition, shift=shift + worse)]
            for name, worse in {"full": 0.0, "ucb": 0.5, **more}.items()
            for repetition in (0, 1)
        ]
        folders.append(results(curves, budget=budget, **SAME))
    return joined_results(folders)


def test_rows_are_an_axis_and_columns_the_strategies() -> None:
    (table,) = result_table(budgets(), "loss", rows="budget")
    assert table.header == ("budget", "full", "ucb")
    assert table.title == "made: log10 loss after 100 stumps, mean (std) of 2 repetitions"
    values = [float(row[1].split()[0]) for row in table.rows]
    assert [row[0] for row in table.rows] == list(BUDGETS)
    assert values == [-5.0, -4.0, -3.0]
    assert [flags[1] for flags in table.flags] == ["best"] * 3
    assert table.transposed().header == ("strategy", *(f"{budget} budget" for budget in BUDGETS))
    assert {score.strategy for score in table.scores} == {
        f"{name} (budget={budget})" for name in ("full", "ucb") for budget in BUDGETS
    }


@pytest.mark.parametrize("rows", ["budget", "strategy"])
def test_latex_has_the_same_rows(rows: str) -> None:
    (table,) = result_table(budgets(), "loss", rows=rows)
    body = to_latex(table).partition("midrule")[2].splitlines()[1 : 1 + len(table.rows)]
    assert [line.partition(" & ")[0] for line in body] == [row[0] for row in table.rows]
    assert [line.count("$-$") for line in body] == [len(row) - 1 for row in table.rows]
    turned = to_latex(table.transposed()).partition("midrule")[2]
    assert turned.count("$-$") == 6


def test_a_strategy_is_renamed_in_all_setups() -> None:
    names = {"full": "All", "ucb (budget=3N)": "Three"}
    (table,) = renamed_tables(result_table(budgets(), "loss"), names)
    assert table.header[1:] == (
        *("All (budget=10N)", "ucb (budget=10N)", "All (budget=3N)", "Three"),
        *("All (budget=1N)", "ucb (budget=1N)"),
    )
    (by_budget,) = renamed_tables(result_table(budgets(), "loss", rows="budget"), {"full": "All"})
    assert by_budget.header == ("budget", "All", "ucb")
    assert "All (budget=1N)" in {score.strategy for score in by_budget.scores}
    (renamed,) = renamed_results(budgets(), names)
    labels = dict.fromkeys(renamed.table["strategy"])
    assert list(labels) == list(table.header[1:])
    (curves,) = curves_of_data([renamed]).values()
    assert {part["strategy"] for part in curves.parts.values()} == {"All", "ucb"}
    with pytest.raises(SettingError, match="would give two strategies the name 'ucb'"):
        renamed_tables(result_table(budgets(), "loss"), {"full": "ucb"})


def test_runs_in_several_setups_are_one_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """Holm's correction is that without the repeated lines."""
    compared: list[set[str]] = []

    def seen(values: Any, **settings: Any) -> Any:
        compared.append(set(values))
        return told_apart(values, **settings)

    monkeypatch.setattr(score_tables, "told_apart", seen)
    names, values = ["full", "uniform-naive"], ["1N", "2N", "3N"]
    several = compare("digits", strategies=names, budget=values, rounds=[2, 5])
    (joined,) = joined_results([several])
    (table,) = result_table([joined], "loss")
    full = [f"full (budget={budget})" for budget in ("1N", "2N", "3N")]
    assert set(ranking([joined]).labels) == {*table.header[1:]} - set(full[1:])
    assert all(len(labels) == 4 and labels.intersection(full) == {full[0]} for labels in compared)
    p_values = {score.strategy: score.p_value for score in table.scores if score.level == 5}
    flags = dict(zip(table.header, table.flags[-1], strict=True))
    assert flags[full[0]] == "best"
    assert [(flags[label], p_values[label]) for label in full[1:]] == [("tied", 1.0)] * 2
    (by_name, *_) = result_table([joined], "loss", rows="strategy")
    assert by_name.flags[0] == ("", "best", "tied", "tied")


def test_rows_are_strategies_and_columns_the_axis() -> None:
    first, last = result_table(budgets(), "loss", levels=(10, 100), rows="strategy")
    assert first.header == ("strategy", *(f"budget={budget}" for budget in BUDGETS))
    assert [row[0] for row in last.rows] == ["full", "ucb"]
    assert "after 10 stumps" in first.title
    assert "after 100 stumps" in last.title
    with pytest.raises(SettingError, match="unknown axis of these results 'learner'; known: stra"):
        result_table(budgets(), "loss", rows="learner")


def test_a_charged_strategy_is_a_column_beside_the_tuned_one() -> None:
    joined = budgets(**{"ucb*": 0.5, "ucb* charged": 0.75})
    (table,) = result_table(joined, "loss", rows="budget")
    assert table.header == ("budget", "full", "ucb", "ucb*", "ucb* charged")
    (renamed,) = renamed_tables([table], {"ucb*": "Ours"})
    assert renamed.header == ("budget", "full", "ucb", "Ours", "Ours charged")
    (table,) = result_table(joined, "loss", rows="strategy")
    columns = [f"budget={budget}{charged}" for budget in BUDGETS for charged in ("", " charged")]
    assert set(table.header) == {"strategy", *columns}
    assert [row[0] for row in table.rows] == ["full", "ucb", "ucb*"]
    alone = [curve(name, r) for name in ("ucb*", "ucb* charged") for r in (0, 1)]
    (table,) = result_table([results(alone)], "loss", rows="strategy")
    assert table.header == ("strategy", "stumps", "stumps charged")


def test_pictures_against_an_axis_have_a_line_for_each_strategy() -> None:
    figure = axis_figure(budgets(), "budget", ["loss"])
    (axes,) = figure.axes
    lines = {str(line.get_label()): line for line in axes.lines}
    assert list(lines) == ["full", "ucb"]
    np.testing.assert_allclose(np.asarray(lines["full"].get_xdata(), float), [1, 3, 10])
    np.testing.assert_allclose(np.asarray(lines["full"].get_ydata(), float), [-3, -4, -5])
    assert axes.get_xlabel() == "budget in multiples of N"
    looks = axis_figure(budgets(), "budget", ["loss"], "looks", [10_000.0])
    (axes,) = looks.axes
    np.testing.assert_allclose(np.asarray(axes.lines[0].get_ydata(), float), [-2, -3, -4])
    with pytest.raises(SettingError, match=r"unknown axis 'learner'.*known: stumps, looks, .*budg"):
        axis_figure(budgets(), "learner", ["loss"])
    with pytest.raises(SettingError, match="shows one level, got 2"):
        axis_figure(budgets(), "budget", ["loss"], "stumps", [10, 100])


def test_pictures_against_an_axis_leave_out_means_of_some_runs_as_tables_do() -> None:
    """The third run of `full` at 1N, and of `ucb` at both budgets, ends at 10,000 looks."""
    short = {("full", "1N"), ("ucb", "1N"), ("ucb", "3N")}
    setups = []
    for budget in ("1N", "3N"):
        runs = [
            curve(name, run, ends=10 if run == 2 and (name, budget) in short else 100)
            for name in ("full", "ucb")
            for run in range(3)
        ]
        setups.append(results([[{**row, "budget": budget} for row in run] for run in runs]))
        setups[-1].settings["budget"] = budget
    joined = joined_results(setups)
    (axes,) = axis_figure(joined, "budget", ["loss"], "looks", [50_000.0]).axes
    lines = {str(line.get_label()): line for line in axes.lines}
    np.testing.assert_allclose(np.asarray(lines["full"].get_xdata(), float), [3])
    assert list(lines) == ["full", "ucb"]
    assert np.asarray(lines["ucb"].get_xdata()).size == 0
    (table,) = result_table(joined, "loss", "looks", [50_000.0], rows="budget")
    assert [row[1:] for row in table.rows] == [("-", "-"), ("-4.70 (0.00)", "-")]
    with pytest.raises(
        SettingError, match=r"no strategy on made has a value at 1e\+09 looks in al"
    ):
        axis_figure(joined, "budget", ["error"], "looks", [1e9])


@pytest.mark.parametrize(("start", "level"), [(1.0, 40.0), (2.0, 40.0), (0.5, 7.0), (1.0, 1.5)])
def test_the_area_is_that_of_a_fine_sum(start: float, level: float) -> None:
    x, loss = np.array([2.0, 3.0, 10.0, 50.0, 50.0]), np.array([-0.1, -0.4, -1.0, -2.0, -2.0])
    u = np.linspace(math.log(start), math.log(level), 2_000_001)
    middle = (u[1:] + u[:-1]) / 2
    fine = np.where(middle < math.log(2.0), 0.0, np.interp(middle, np.log(x[:4]), loss[:4]))
    assert loss_area(x, loss, start, level) == pytest.approx(fine.mean(), abs=1e-5)


def test_areas_outside_a_run_are_unknown() -> None:
    x, loss = np.array([2.0, 3.0]), np.array([-0.1, -0.4])
    assert math.isnan(loss_area(x, loss, 1.0, 3.1))
    assert math.isnan(loss_area(x, loss, 1.0, 1.0))


def test_areas_are_a_metric_of_tables_and_ranks() -> None:
    (curves,) = curves_of_data(budgets()).values()
    # log10 loss falls from -3 to -5 linearly in the logarithm of the looks
    values = curves.at("loss-area", "looks", 100_000)["full (budget=10N)"]
    assert values == pytest.approx({0: -4.0, 1: -4.0})
    values = curves.at("loss-area", "stumps", 100)["ucb (budget=3N)"]
    assert values == pytest.approx({0: -2.5, 1: -2.5})
    (table,) = result_table(budgets(), "loss-area", "seconds", rows="budget")
    assert [row[1].split()[0] for row in table.rows] == ["-4.00", "-3.00", "-2.00"]
    for axis in ("stumps", "looks", "seconds"):
        order = ranking(budgets(), "loss-area", axis=axis)
        assert order.labels[0] == "full (budget=10N)"
        assert order.labels[-1] == "ucb (budget=1N)"
