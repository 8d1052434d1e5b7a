"""Levels: exact at stumps, interpolated at looks and seconds; smoothed errors equal a loop."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from boostsample.errors import SettingError
from boostsample.experiments.cells.tasks import growth_points
from boostsample.experiments.metrics import METRICS
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plots.curves import curves_figure
from boostsample.experiments.results.run_curves import Curves, curves_of_results, parse_levels
from boostsample.experiments.tables.score_tables import result_table
from boostsample.loop.smoothed import smoothed_error
from tests.experiments.fake_results import MARKS, curve, results


def made(*rows: list[dict[str, object]]) -> Curves:
    (measured,) = curves_of_results(results(rows))
    return measured


TWO = (curve("cheap", 0), curve("cheap", 1, shift=0.2), curve("dear", 0, cost=5000))


def test_at_stumps_the_row_itself() -> None:
    measured = made(*TWO)
    rows = {row["repetition"]: row for row in TWO[0] + TWO[1] if row["stumps"] == 30}
    for metric, measure in METRICS.items():
        if metric == "auc":
            assert measured.at("auc", "stumps", 10)["cheap"] == {0: 0.9, 1: 0.9 - 0.2 / 100}
            continue
        if metric in ("smoothed-error", "loss-area") or measure.own:  # tested apart
            continue
        expected = {repetition: row[measure.column] for repetition, row in rows.items()}
        assert measured.at(metric, "stumps", 30)["cheap"] == expected


@pytest.mark.parametrize("looks", [1000, 1234, 9999.5, 30_000, 77_777, 100_000])
def test_between_rows_it_is_monotone_on_a_log_axis(looks: float) -> None:
    measured = made(*TWO)
    assert measured.at("loss", "looks", looks)["cheap"] == pytest.approx(
        {0: -math.log10(looks), 1: 0.2 - math.log10(looks)}
    )
    seconds = 0.002 * looks / 1000  # the axis of seconds is another, the runs are the same
    assert measured.at("loss", "seconds", seconds)["cheap"][0] == pytest.approx(-math.log10(looks))


def test_interpolation_stays_between_its_neighbours(rng: np.random.Generator) -> None:
    rows = curve("bumpy", 0, points=(1, 2, 4, 9, 11, 40, 100))
    for row, value in zip(rows, rng.normal(size=7), strict=True):
        row["log10_loss"] = value
    measured = made(rows)
    for before, after in itertools.pairwise(rows):
        ends = sorted((before["log10_loss"], after["log10_loss"]))
        for looks in np.geomspace(before["looks"], after["looks"], 9):
            value = measured.at("loss", "looks", float(looks))["bumpy"][0]
            assert ends[0] - 1e-12 <= value <= ends[1] + 1e-12
    for row in rows:
        assert measured.at("loss", "looks", row["looks"])["bumpy"][0] == row["log10_loss"]


@pytest.mark.parametrize("looks", [999.9, 100_000.1, 1e9])
def test_nothing_is_extrapolated(looks: float) -> None:
    assert math.isnan(made(*TWO).at("error", "looks", looks)["cheap"][0])


def test_a_run_that_ended_early() -> None:
    # Its rows behind the end repeat what it had spent: its value there is that of its last state.
    measured = made(curve("full", 0, ends=30), *TWO)
    at_end = measured.at("loss", "looks", 30_000)["full"][0]
    assert at_end == pytest.approx(-math.log10(30_000))
    assert math.isnan(measured.at("loss", "looks", 30_001)["full"][0])
    assert measured.at("loss", "stumps", 100)["full"][0] == pytest.approx(at_end)
    assert measured.levels("looks") == (10_000, 100_000)  # it has no say at 100 stumps


def test_charged_rows_before_the_first_stump_are_no_values() -> None:
    rows = curve("ucb*", 0)
    charged = curve("ucb* charged", 0, points=(10, 30, 100))
    charged[0] |= {"looks": 0, "seconds": 0.0, "log10_loss": math.nan}
    measured = made(rows, charged)
    assert math.isnan(measured.at("loss", "stumps", 10)["ucb* charged"][0])
    assert math.isnan(measured.at("loss", "looks", 10_000)["ucb* charged"][0])
    assert measured.at("loss", "looks", 50_000)["ucb* charged"][0] == pytest.approx(
        -math.log10(5e4)
    )
    assert math.isnan(measured.at("loss", "stumps", 3)["ucb* charged"][0])  # others have this row
    assert measured.levels("looks") == (10_000, 100_000)


def test_default_levels_are_what_every_run_had_spent() -> None:
    slow = curve("slow", 0)
    for row in slow:
        row["seconds"] *= 1.23456
    fast = curve("slow", 1)
    for row in fast:
        row["seconds"] *= 0.98765
    measured = made(curve("dear", 0, cost=5000), slow, fast)
    assert measured.levels("stumps") == MARKS
    assert measured.levels("looks") == (10_000, 100_000)
    assert measured.levels("seconds") == (0.0197, 0.197)  # 0.98765 of 20 ms, rounded down


@pytest.mark.parametrize(
    ("metric", "axis", "level", "message"),
    [
        ("loss", "stumps", 20, r"known at 10, 100 stumps \(nearest rows: 10 and 30\), got 20$"),
        ("auc", "looks", 5000, "auc is known at the marks only"),
        ("looks", "looks", 5000, "the same looks at equal looks"),
        ("loss", "look", 5000, "unknown axis 'look'.*'looks'"),
    ],
)
def test_what_cannot_be_had(metric: str, axis: str, level: float, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        made(*TWO).at(metric, axis, level)


def test_one_for_each_data_set() -> None:
    measured = curves_of_results(
        results([curve("a", 0, data="y"), curve("a", 0), curve("b", 0, data="y")])
    )
    assert [entry.data for entry in measured] == ["y", "made"]
    assert list(measured[0].labels) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("stumps", ("stumps", None)),
        ("stumps=100,10,100", ("stumps", (10, 100))),
        ("looks=6e6, 1_000", ("looks", (1000, 6e6))),
    ],
)
def test_levels_as_text(text: str, expected: object) -> None:
    assert parse_levels(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("looks=1,-2", "got '-2'"),
        ("seconds=inf", "got 'inf'"),
        ("stumps=1.5", "levels of stumps must be positive whole numbers .* got '1.5'"),
        ("seconds=fast", "as in seconds=10,100; got 'fast'"),
    ],
)
def test_levels_that_are_none(text: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        parse_levels(text)


POINTS = sorted(growth_points(100, 4) | {10})
LAST = 82  # the next point, 86, is beyond 5/6 of the rounds


def by_loop(errors: dict[int, float], stumps: int) -> float:
    """The definition, as a loop over all numbers of stumps."""
    if 6 * stumps / 5 > max(errors):
        return math.nan
    total, n_terms = 0.0, 0
    for t in range(1, max(errors) + 1):
        if 4 * stumps / 5 <= t <= 6 * stumps / 5 and t in errors:
            total += errors[t]
            n_terms += 1
    return total / n_terms if n_terms else math.nan


def noisy(strategy: str = "ucb", seed: int = 0, **settings: Any) -> list[dict[str, Any]]:
    rows = curve(strategy, settings.pop("repetition", 0), points=POINTS, **settings)
    rng = np.random.default_rng(seed)
    return [{**row, "test_error": float(rng.uniform(1, 50))} for row in rows]


@pytest.mark.parametrize("last", [1, 7, 100, 333])
def test_it_is_the_mean_of_the_definition(last: int) -> None:
    rng = np.random.default_rng(last)
    every = dict(enumerate(rng.uniform(0, 100, last).tolist(), start=1))
    some = {at: every[at] for at in every if at == last or rng.random() < 0.4}
    for errors in (every, some):
        for stumps in range(1, last + 3):
            expected = by_loop(errors, stumps)
            assert smoothed_error(errors, stumps) == pytest.approx(expected, nan_ok=True)
    assert smoothed_error({}, 3) is math.nan


def test_tables_at_equal_stumps_have_the_marks_where_it_is_defined_and_the_last_point() -> None:
    folder = results([noisy(repetition=k, seed=k) for k in range(2)])
    (table,) = result_table([folder], "smoothed-error")
    assert [row[0] for row in table.rows] == ["10", str(LAST)]
    (curves,) = curves_of_results(folder)
    for score in table.scores:
        runs = curves.runs()["ucb"].values()
        plain = [
            by_loop(dict(zip(run["stumps"], run["test_error"], strict=True)), int(score.level))
            for run in runs
        ]
        assert score.values == pytest.approx(tuple(plain))
    n_scored = sum(4 * LAST <= 5 * at <= 6 * LAST for at in POINTS)
    assert any(f"a mean of {n_scored};" in note for note in table.notes)
    (beyond,) = result_table([folder], "smoothed-error", levels=[100])
    assert beyond.rows == (("100", "-"),)
    with pytest.raises(SettingError, match="smoothed-error of made is known at"):
        result_table([folder], "smoothed-error", levels=[99])


@pytest.mark.parametrize("axis", ["looks", "seconds"])
def test_tables_at_equal_cost_interpolate_the_smoothed_curve(axis: str) -> None:
    folder = results([noisy(cost=1000), noisy("full", 1, cost=3000)])
    row = next(row for row in noisy() if row["stumps"] == 30 or row["stumps"] == 31)
    (table,) = result_table([folder], "smoothed-error", axis, levels=[row[axis]])
    errors = {entry["stumps"]: entry["test_error"] for entry in noisy()}
    assert table.scores[0].mean == pytest.approx(by_loop(errors, row["stumps"]))
    (default,) = result_table([folder], "smoothed-error", axis)
    assert not any(math.isnan(entry.mean) for entry in default.scores)


def test_it_does_not_depend_on_the_other_strategies_shown() -> None:
    """A run that ended early has errors where the others were scored."""
    points = [n for n in POINTS if n < 20 or n in (20, 100)]
    early = curve("full", 0, points=points, ends=20)
    early = [{**row, "test_error": 5.0 - (row["stumps"] >= 20)} for row in early]
    folder = results([noisy(), early])
    both, alone = (
        result_table([folder], "smoothed-error", levels=[20], strategies=strategies)[0]
        for strategies in (None, ["full"])
    )
    assert alone.rows[0][1] == both.rows[0][2]
    assert alone.rows[0][1] != "-"


@pytest.mark.parametrize("axis", ["stumps", "looks", "seconds"])
def test_pictures_draw_the_smoothed_curve(axis: str) -> None:
    folder = results([noisy(repetition=k, seed=k) for k in range(2)])
    figure = curves_figure([folder], axis, ("smoothed-error",))
    (axes,) = figure.axes
    assert axes.get_ylabel() == "smoothed test error in percent"
    (line,) = [drawn for drawn in axes.lines if len(np.asarray(drawn.get_xdata())) > 2]
    drawn = np.asarray(line.get_ydata(), np.float64)
    assert np.isfinite(drawn).all()
    if axis == "stumps":
        (curves,) = curves_of_results(folder)
        runs = [
            dict(zip(run["stumps"], run["test_error"], strict=True))
            for run in curves.runs()["ucb"].values()
        ]
        expected = [np.mean([by_loop(run, at) for run in runs]) for at in POINTS if at <= LAST]
        assert drawn == pytest.approx(np.array(expected))


def test_more_points_are_scored_on_request() -> None:
    points = sorted(growth_points(1000, 1))
    assert (points[0], points[-1]) == (1, 1000)
    assert all(b <= max(a + 1, 1.01 * a + 1) for a, b in itertools.pairwise(points))
    assert growth_points(1, 1) == {1}
    for wrong in (0, -1, 101, math.nan):
        with pytest.raises(SettingError, match="score_every must be a percentage from"):
            Plan(score_every=wrong)
