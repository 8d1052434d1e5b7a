"""E[G*] is what enumeration says, predictions are the planner's; tables, pictures, command."""

from __future__ import annotations

import csv
import itertools
import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.contour import QuadContourSet
from numpy.typing import NDArray

from boostsample.errors import SettingError
from boostsample.experiments.calibration import edge_study
from boostsample.experiments.calibration.edge_study import (
    EdgeMeasurer,
    EdgeStudy,
    calibrate,
    candidate_pairs,
    predict_edge,
)
from boostsample.experiments.calibration.study_tables import (
    FIGURE_2_COSTS,
    FIGURE_2_VARIANCES,
    calibration_budget_table,
    calibration_figure,
    figure_2,
    figure_2_optimum,
    write_calibration_rows,
)
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.run.comparison import compare
from boostsample.experiments.tables.tables import Table
from boostsample.files.atomic import check_writable_file
from boostsample.loop.booster import Booster
from boostsample.planning.expected_edge import (
    expected_edge,
    expected_edge_curve,
    gaussian_expected_edge,
)
from boostsample.registry import make_strategy
from tests import naive
from tests.experiments.conftest import CommandLine
from tests.experiments.small_runs import easy
from tests.problems import bank_of, noisy_labels, table

COLUMNS = (
    *("data", "strategy", "settings", "round", "kind", "n_features", "n_examples"),
    *("edge", "edge_error", "edge_estimated", "edge_predicted", "repeats"),
)


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(260, 24)).astype(np.float32)
    y = np.digitize(X[:, :4].sum(axis=1) + rng.normal(size=260), [-1.0, 1.0]).astype(np.int64)
    return Dataset("thirds", X, y, ("a", "b", "c"), n_train=200)


def plan_of(strategy: str, *marks: int, **settings: Any) -> Plan:
    settings = {"budget": "4N", "repeats": 1, **settings}
    return Plan(strategies=(Variant.parse(strategy),), marks=marks, **settings)


@pytest.fixture(scope="module")
def study(data: Dataset) -> EdgeStudy:
    return calibrate(data, plan_of("mas-naive", 3, 12), repeats=40)


# ------------------------------------------------------------------------------------- the twin


def naive_stump(
    run: naive.Naive, column: NDArray[Any], cuts: list[float], w: NDArray[Any]
) -> tuple[float, float]:
    """H under the weights w, and the lowest of the thresholds that have it."""
    edges = [naive.edge_of(naive.label_sums(column.tolist(), cut, w, run.Y)) for cut in cuts]
    best = max(edges)
    return best, next(cut for cut, e in zip(cuts, edges, strict=True) if e > best - 1e-9)


def enumerated(run: naive.Naive, n_examples: int, n_features: int) -> tuple[float, float]:
    """E[G*] and E[H*]: all samples with their probabilities, all features in all orders."""
    n, d = run.X.shape
    cuts = [naive.thresholds_of(run.X[:, j].tolist()) for j in range(d)]
    example_weight = run.w.sum(axis=1)
    exact = n_examples >= n
    expected = np.zeros(2)
    for sample in [()] if exact else itertools.product(range(n), repeat=n_examples):
        counts = np.bincount(sample, minlength=n) if sample else n * example_weight
        drawn = (counts / counts.sum() / example_weight)[:, None] * run.w
        chance = 1.0 if exact else float(np.prod(example_weight[list(sample)]))
        stumps = [naive_stump(run, run.X[:, j], cuts[j], drawn) for j in range(d)]
        true = [
            naive.edge_of(naive.label_sums(run.X[:, j].tolist(), stumps[j][1], run.w, run.Y))
            for j in range(d)
        ]
        orders = list(itertools.permutations(range(d), n_features))
        for order in orders:
            highest = max(stumps[j][0] for j in order)
            winner = next(j for j in order if stumps[j][0] > highest - 1e-9)
            expected += chance / len(orders) * np.array([true[winner], stumps[winner][0]])
    return float(expected[0]), float(expected[1])


@pytest.mark.parametrize("init", ["uniform", "balanced"])
@pytest.mark.parametrize("n_labels", [1, 3])
def test_edges_are_those_of_enumeration(n_labels: int, init: str) -> None:
    X, Y = table(6, 4, top=5, seed=3), noisy_labels(6, n_labels, seed=5)
    bank, rows = bank_of(X), np.arange(6)
    booster = Booster(bank, None, Y, make_strategy("uniform-naive", n_features=1), weight_init=init,
                      budget=6, rng=2)  # fmt: skip
    twin = naive.Naive(X, Y, init)
    for _ in range(2):
        (term,) = booster.next_round().terms
        twin.finish(term.feature, term.value)
    measurer = EdgeMeasurer(bank, rows, Y, init, "iid")
    measurer.restore(booster.state())
    columns = {6: (1, 2, 4), 2: (1, 2, 3), 1: (2,)}
    rng = np.random.default_rng(8)
    repeats = 4000
    edges = np.array([measurer.measure(columns, rng) for _ in range(repeats)])
    assert edges.shape == (repeats, 7, 2)
    places = [(t, q) for t, sizes in columns.items() for q in sizes]
    for at, (t, q) in enumerate(places):
        expected = np.array(enumerated(twin, t, q))
        error = edges[:, at].std(axis=0) / math.sqrt(repeats)
        np.testing.assert_array_less(np.abs(edges[:, at].mean(axis=0) - expected), 4 * error + 1e-6)
    every = edges[:, places.index((6, 4))]  # all features on all examples leave nothing to chance
    np.testing.assert_allclose(every, max(twin.edges()), rtol=1e-6)


def test_noise_is_what_tells_features_apart() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 1000)
    agrees = np.array([rng.permutation(1000) < 800 for _ in range(80)]).reshape(40, 2000)
    X = (np.where(agrees, y, -y) > 0).T.astype(np.float32)  # G = 0.6, independent given the label
    Y = y[:, None].astype(np.int8)
    measurer = EdgeMeasurer(bank_of(X), np.arange(2000), Y, "uniform", "iid")
    noise = [measurer.noise(40, 250, rng) for _ in range(60)]
    bias, variance = np.mean(noise, axis=0)
    assert variance == pytest.approx(1 - 0.6**2, rel=0.05)
    assert abs(bias) < 0.005
    copies = EdgeMeasurer(bank_of(X[:, [0] * 12]), np.arange(2000), Y, "uniform", "iid")
    bias, variance = copies.noise(12, 250, rng)
    assert abs(bias) > 1e-4
    assert variance < 1e-12


# ------------------------------------------------------------------------------------- the grid


@pytest.mark.parametrize("n_features", [1, 2, 7, 500, 10**6])
@pytest.mark.parametrize("n_examples", [1, 10, 999, 10**7])
@pytest.mark.parametrize("budget", [1, 7, 5_000, 10**8, 10**12])
def test_the_grid_is_within_the_budget(n_features: int, n_examples: int, budget: int) -> None:
    columns = candidate_pairs(n_features, n_examples, budget)
    sizes = sorted({q for column in columns.values() for q in column})
    assert 1 <= len(sizes) <= 16
    assert sizes[0] == 1
    most = min(n_features, budget)
    assert sizes[-1] <= most
    ratio = max((b / a for a, b in itertools.pairwise(sizes)), default=2.0)
    assert most / sizes[-1] <= max(ratio, 2.5)
    assert list(columns) == sorted(columns, reverse=True)
    for t, column in columns.items():
        assert 1 <= t <= n_examples
        assert column == tuple(q for q in sizes if q * t <= budget)
    along = {(q, min(n_examples, budget // q)) for q in sizes}
    assert along <= {(q, t) for t, column in columns.items() for q in column}
    exact = budget // n_examples
    if exact:
        assert min(exact, n_features) in columns[n_examples]


# ---------------------------------------------------------------------------------- the whole


def choice_of(calibration: EdgeStudy, mark: int) -> dict[str, Any]:
    (choice,) = (choice for choice in calibration.choices if choice["round"] == mark)
    return choice


def test_rows_are_flat_and_complete(study: EdgeStudy, data: Dataset) -> None:
    assert {tuple(row) for row in study.rows} == {COLUMNS}
    assert len({tuple(choice) for choice in study.choices}) == 1
    assert [choice["round"] for choice in study.choices] == [3, 12]
    columns = candidate_pairs(24, 200, 800)
    for mark in (3, 12):
        rows = [row for row in study.rows if row["round"] == mark]
        places = [(row["n_features"], row["n_examples"]) for row in rows if row["kind"] == "grid"]
        assert places == [(q, t) for t, sizes in columns.items() for q in sizes]
        assert [row["kind"] for row in rows[len(places) :]] == ["strategy"]
        best = max(rows[:-1], key=lambda row: row["edge"])
        choice = choice_of(study, mark)
        assert (choice["best_features"], choice["best_examples"]) == (
            best["n_features"],
            best["n_examples"],
        )
        assert choice["best_edge"] == pytest.approx(best["edge"], abs=5 * best["edge_error"])
        assert choice["share"] == rows[-1]["edge"] / choice["best_edge"]
    shares = [(choice["share"], choice["share_error"]) for choice in study.choices]
    mean, error = study.mean_share
    assert mean == pytest.approx((shares[0][0] + shares[1][0]) / 2)
    assert error == pytest.approx(math.sqrt(shares[0][1] ** 2 + shares[1][1] ** 2) / 2)
    assert study.notes == ()
    assert study.n_examples == 200
    assert study.budget == 800


@pytest.mark.parametrize("strategy", ["mas-naive", "mas-q1", "laminating"])
def test_the_run_is_that_of_compare(data: Dataset, strategy: str) -> None:
    plan = plan_of(strategy, 2, 9, seed=3)
    calibration = calibrate(data, plan, repeats=3)
    history = compare(data, plan_of(strategy, 2, 9, seed=3, history=True)).history
    for mark in (2, 9):
        row, choice = history[mark - 1], choice_of(calibration, mark)
        assert row["round"] == mark
        for name, history_name in [
            ("edge", "edge"),
            ("edge_estimated", "edge_estimated"),
            ("edge_predicted", "expected_edge"),
            ("n_features", "n_features" if strategy == "laminating" else "planned_features"),
            ("n_examples", "n_examples" if strategy == "laminating" else "planned_examples"),
        ]:
            assert choice[name] == row.get(history_name)


def test_more_rounds_and_repeats_change_nothing(study: EdgeStudy, data: Dataset) -> None:
    alone = calibrate(data, plan_of("mas-naive", 12), repeats=40)
    assert alone.choices == study.choices[1:]
    assert alone.rows == [row for row in study.rows if row["round"] == 12]
    longer = calibrate(data, plan_of("mas-naive", 12), repeats=60)
    assert longer.choices[0]["edge"] == alone.choices[0]["edge"]
    assert longer.rows[0]["edge"] != alone.rows[0]["edge"]


def test_predictions_are_the_planner_s(study: EdgeStudy) -> None:
    for mark, model in study.models.items():
        for row in (row for row in study.rows if row["round"] == mark and row["kind"] == "grid"):
            t = math.inf if row["n_examples"] >= 200 else row["n_examples"]
            assert row["edge_predicted"] == expected_edge(model, row["n_features"], t)
        choice = choice_of(study, mark)
        again = predict_edge(model, choice["n_features"], choice["n_examples"], 200)
        assert again == pytest.approx(choice["edge_predicted"], rel=1e-6)
    assert set(study.models) == {3, 12}


def test_a_replayed_search_is_worth_its_point(data: Dataset) -> None:
    strategy = "uniform-naive:n_features=8"
    calibration = calibrate(data, plan_of(strategy, 4), repeats=200)
    (choice,) = calibration.choices
    assert (choice["n_features"], choice["n_examples"]) == (8, 100)
    (point,) = (r for r in calibration.rows if (r["n_features"], r["n_examples"], r["kind"])
               == (8, 100, "grid"))  # fmt: skip
    error = math.hypot(point["edge_error"], choice["edge_expected_error"])
    assert choice["edge_expected"] == pytest.approx(point["edge"], abs=4 * error)
    assert error < 0.01
    assert choice["edge_predicted"] is None
    assert calibration.models == {}
    assert {row["edge_predicted"] for row in calibration.rows} == {None}


def test_beliefs_about_families_are_read_too() -> None:
    digits, families = load_dataset("digits"), (Variant("identity"), Variant("haar"))
    single = calibrate(digits, plan_of("mas-1q", 3, budget="1N", families=families), repeats=2)
    assert single.choices[0]["families"] in ("identity", "haar")
    several = calibrate(digits, plan_of("mas-q1", 3, budget="1N", families=families), repeats=2)
    names = several.choices[0]["families"].split(", ")
    assert sum(int(name.split()[-1]) for name in names) == several.choices[0]["n_features"]
    assert several.models[3].n_components == 2


# ------------------------------------------------------------------------------------ failures


def test_a_run_that_ends_early_says_so() -> None:
    study = calibrate(easy(), plan_of("full", 1, 3, 7, budget=None), repeats=2)
    assert [choice["round"] for choice in study.choices] == [1]
    (note,) = study.notes
    assert "full: training ended in round 1" in note
    assert "no round 3, 7 to calibrate" in note
    with pytest.raises(SettingError, match=r"no round 2 to calibrate; name earlier rounds"):
        calibrate(easy(), plan_of("full", 2, budget=None), repeats=2)


def test_a_run_has_one_repetition(data: Dataset) -> None:
    with pytest.raises(SettingError, match="one repetition, got mas-naive and repeats=3"):
        calibrate(data, plan_of("mas-naive", 1, repeats=3), repeats=2)


def test_of_a_tree_the_root_is_measured(data: Dataset) -> None:
    plan = plan_of("uniform-q1", 2, learner="tree:n_leaves=3", history=True)
    calibration = calibrate(data, plan, repeats=2)
    rows = [row for row in compare(data, plan).history if row["round"] == 2]
    assert len(rows) > 1
    assert calibration.choices[0]["edge"] == rows[0]["edge"]


CHESS = "chess(d=4,n=120)"
QUICK = ["calibrate", "--data", CHESS, "--rounds", "2,6", "--repeats", "3", "--budget", "2N"]
#: E[max of Q N(0,1)], tabulated: Harter 1961, Biometrika 48.
MAXIMA = {2: 0.56419, 5: 1.16296, 10: 1.53875, 100: 2.50759}


@pytest.fixture(scope="module")
def calibration() -> EdgeStudy:
    plan = Plan(strategies=(Variant("mas-naive"),), marks=(3, 8, 20), repeats=1, budget="3N")
    return calibrate(load_dataset("diagonal(d=12,n=200)"), plan, repeats=20)


def column(table: Table, name: str) -> list[str]:
    return [row[table.header.index(name)] for row in table.rows]


# -------------------------------------------------------------------------------------- tables


def test_the_budget_table_marks_choice_and_best(calibration: EdgeStudy) -> None:
    for choice in calibration.choices:
        table = calibration_budget_table(calibration, choice)
        assert column(table, "").count("chosen") == 1
        assert column(table, "").count("best") == 1
        at = {name: row for row in table.rows if (name := row[-1])}
        assert at["chosen"][:2] == (f"{choice['n_features']:,}", f"{choice['n_examples']:,}")
        assert at["chosen"][2].startswith(f"{choice['edge_expected']:.4f} (")
        assert at["best"][:2] == (f"{choice['best_features']:,}", f"{choice['best_examples']:,}")
        for q, t, edge, _, predicted, off, mark in table.rows:
            if mark != "best":
                assert int(t) == min(calibration.n_examples, calibration.budget // int(q))
            measured = float(edge.split()[0])
            assert int(off) == pytest.approx(100 * (float(predicted) / measured - 1), abs=0.6)


def test_rows_are_written_as_they_are(calibration: EdgeStudy, tmp_path: Path) -> None:
    path = check_writable_file(tmp_path / "rows.csv", ".csv", "rows")
    write_calibration_rows(calibration, path)
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == tuple(calibration.rows[0])
    assert [float(row["edge"]) for row in rows] == [row["edge"] for row in calibration.rows]


# ------------------------------------------------------------------------------------ pictures


def test_panels_show_what_was_measured(calibration: EdgeStudy) -> None:
    figure = calibration_figure(calibration)
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in panels] == ["round 3", "round 8", "round 20"]
    for axes, choice in zip(panels, calibration.choices, strict=True):
        lines = {str(line.get_label()): line for line in axes.lines}
        rows = {
            row["n_features"]: row["edge"]
            for row in calibration.rows
            if (row["round"], row["kind"]) == (choice["round"], "grid")
            and row["n_examples"]
            == min(calibration.n_examples, calibration.budget // row["n_features"])
        }
        np.testing.assert_array_equal(lines["measured"].get_xdata(), sorted(rows))
        np.testing.assert_array_equal(
            lines["measured"].get_ydata(), [rows[q] for q in sorted(rows)]
        )
        curve = expected_edge_curve(
            calibration.models[choice["round"]], 12, calibration.n_examples, calibration.budget
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
