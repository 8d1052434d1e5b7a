"""Tables and pictures show what was measured, Figure 2 is the closed form; the command."""

from __future__ import annotations

import csv
import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.contour import QuadContourSet

from boostsample.experiments.calibration import edge_study
from boostsample.experiments.calibration.edge_study import EdgeStudy, calibrate
from boostsample.experiments.calibration.study_tables import (
    FIGURE_2_COSTS,
    FIGURE_2_VARIANCES,
    calibration_budget_table,
    calibration_figure,
    figure_2,
    figure_2_optimum,
    write_calibration_rows,
)
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.tables.tables import Table
from boostsample.files.atomic import check_writable_file
from boostsample.planning.expected_edge import expected_edge_curve, gaussian_expected_edge
from tests.experiments.conftest import CommandLine

DATA = "chess(d=4,n=120)"
QUICK = ["calibrate", "--data", DATA, "--rounds", "2,6", "--repeats", "3", "--budget", "2N"]
#: E[max of Q N(0,1)], tabulated: Harter 1961, Biometrika 48.
MAXIMA = {2: 0.56419, 5: 1.16296, 10: 1.53875, 100: 2.50759}


@pytest.fixture(scope="module")
def study() -> EdgeStudy:
    plan = Plan(strategies=(Variant("mas-naive"),), marks=(3, 8, 20), repeats=1, budget="3N")
    return calibrate(load_dataset("diagonal(d=12,n=200)"), plan, repeats=20)


def column(table: Table, name: str) -> list[str]:
    return [row[table.header.index(name)] for row in table.rows]


# -------------------------------------------------------------------------------------- tables


def test_the_budget_table_marks_choice_and_best(study: EdgeStudy) -> None:
    for choice in study.choices:
        table = calibration_budget_table(study, choice)
        assert column(table, "").count("chosen") == 1
        assert column(table, "").count("best") == 1
        at = {name: row for row in table.rows if (name := row[-1])}
        assert at["chosen"][:2] == (f"{choice['n_features']:,}", f"{choice['n_examples']:,}")
        assert at["chosen"][2].startswith(f"{choice['edge_expected']:.4f} (")
        assert at["best"][:2] == (f"{choice['best_features']:,}", f"{choice['best_examples']:,}")
        for q, t, edge, _, predicted, off, mark in table.rows:
            if mark != "best":
                assert int(t) == min(study.n_examples, study.budget // int(q))
            measured = float(edge.split()[0])
            assert int(off) == pytest.approx(100 * (float(predicted) / measured - 1), abs=0.6)


def test_rows_are_written_as_they_are(study: EdgeStudy, tmp_path: Path) -> None:
    path = check_writable_file(tmp_path / "rows.csv", ".csv", "rows")
    write_calibration_rows(study, path)
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == tuple(study.rows[0])
    assert [float(row["edge"]) for row in rows] == [row["edge"] for row in study.rows]


# ------------------------------------------------------------------------------------ pictures


def test_panels_show_what_was_measured(study: EdgeStudy) -> None:
    figure = calibration_figure(study)
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in panels] == ["round 3", "round 8", "round 20"]
    for axes, choice in zip(panels, study.choices, strict=True):
        lines = {str(line.get_label()): line for line in axes.lines}
        rows = {
            row["n_features"]: row["edge"]
            for row in study.rows
            if (row["round"], row["kind"]) == (choice["round"], "grid")
            and row["n_examples"] == min(study.n_examples, study.budget // row["n_features"])
        }
        np.testing.assert_array_equal(lines["measured"].get_xdata(), sorted(rows))
        np.testing.assert_array_equal(
            lines["measured"].get_ydata(), [rows[q] for q in sorted(rows)]
        )
        curve = expected_edge_curve(
            study.models[choice["round"]], 12, study.n_examples, study.budget
        )
        np.testing.assert_array_equal(lines["predicted"].get_ydata(), curve.edges)


def test_figure_2_is_the_closed_form() -> None:
    panels = figure_2().axes
    surfaces = [axes for axes in panels if axes.get_title().startswith("E[G*], ")]
    for axes, variance in zip(surfaces, FIGURE_2_VARIANCES, strict=True):
        drawn: Any = next(each for each in axes.collections if isinstance(each, QuadContourSet))
        highest = gaussian_expected_edge(10_000, 100_000, variance)
        assert drawn.zmin == pytest.approx(0.0, abs=1e-12)
        assert drawn.zmax == pytest.approx(highest)
    rights = [axes for axes in panels if "fixed costs" in axes.get_title()]
    assert len(rights) == len(FIGURE_2_VARIANCES)
    for axes, variance in zip(rights, FIGURE_2_VARIANCES, strict=True):
        curves = [line for line in axes.lines if str(line.get_label()).startswith("T Q")]
        for line, cost in zip(curves, FIGURE_2_COSTS, strict=True):
            assert line.get_label() == f"T Q = {cost:,}"
            points = dict(np.asarray(line.get_xydata()).tolist())
            for q in MAXIMA.keys() & points:  # [DF11] eq. 17 for N(0, 1), rescaled
                sigma = math.sqrt(q / cost / variance)
                expected = math.sqrt(variance) * MAXIMA[q] / math.sqrt(sigma**2 + 1)
                assert points[q] == pytest.approx(expected, rel=1e-5)
            assert {2, 5, 10} <= set(points)
            assert max(points) == min(cost, 10_000)


@pytest.mark.parametrize("variance", FIGURE_2_VARIANCES)
@pytest.mark.parametrize("cost", [1, 2, 7, 200, 1_000])
def test_the_optimum_is_the_best_of_all(variance: float, cost: int) -> None:
    edges = [gaussian_expected_edge(q, cost / q, variance) for q in range(1, cost + 1)]
    best, edge = figure_2_optimum(variance, cost)
    assert (best, edge) == (int(np.argmax(edges)) + 1, max(edges))


# ------------------------------------------------------------------------------------- command


def words_of(path: str) -> str:
    return "".join(ET.fromstring(Path(path).read_bytes()).itertext())


def test_the_command_prints_and_writes(cli: CommandLine) -> None:
    out = cli(*QUICK, "--plot", "c.svg", "--csv", "c.csv")
    assert "boostsample: measuring round 6" in cli.err
    for text in (
        ": 90 training examples, 4 features (columns 4), balanced initial weights; 3 searches a",
        "round 2, E[G*] within the budget",
        "round 6, along the budget of 180 looks",
        "mas-naive: its choice in this run",
        "share of the best point, mean over rounds: ",
        "rows: c.csv\nplot: c.svg\n",
    ):
        assert text in out
    for word in ("round 2", "round 6", "measured", "best point", "mas-naive"):
        assert word in words_of("c.svg")
    assert Path("c.csv").read_text().count("\n") > 10
    cli(*QUICK, "--plot", "d.svg", "--quiet")
    assert cli.err == ""
    assert Path("d.svg").read_bytes() == Path("c.svg").read_bytes()


def test_figure_2_runs_nothing(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_study, "calibrate", lambda *_, **__: pytest.fail("it ran"))
    assert "plot: f.svg" in cli("calibrate --figure2 f.svg")
    for word in ("G ~ N(0, 10⁻²)", "G ~ N(0, 10⁻⁴)", "T Q = 100,000", "Δ ~ N(0, 1/T)"):
        assert word in words_of("f.svg")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("--strategy mas-naive:noise=paper|deconvolved", "alternatives"),
        ("--repeats 1", "repeats must be an integer at least 2, got 1"),
        ("--scheme even", "unknown scheme 'even'"),
        ("--plot x.gif", "must end in one of .svg, .png, .pdf, got 'x.gif'"),
        ("--csv x.txt", "must end in .csv, got 'x.txt'"),
        ("--figure2 x.gif", "must end in one of .svg"),
        (
            "--figure2 g.svg --data digits --budget 3N",
            "--figure2 is drawn from a formula and runs nothing, but --data, --budget is for",
        ),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(cli: CommandLine, args: str, message: str) -> None:
    assert message in cli.refused(f"calibrate {args}")
    assert list(Path().iterdir()) == []
