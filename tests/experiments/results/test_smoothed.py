"""Smoothed errors: equal to a plain loop, in tables, pictures and at equal looks."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from boostsample.errors import SettingError
from boostsample.experiments.cells.tasks import growth_points
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plots.curves import curves_figure
from boostsample.experiments.results.curves import curves_of_results
from boostsample.experiments.tables.score_tables import result_table
from boostsample.loop.smoothed import smoothed_error
from tests.experiments.fake_results import curve, results

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
        runs = curves.runs["ucb"].values()
        plain = [by_loop({row["stumps"]: row["test_error"] for row in run}, int(score.level))
                 for run in runs]  # fmt: skip
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
    errors = {one["stumps"]: one["test_error"] for one in noisy()}
    assert table.scores[0].mean == pytest.approx(by_loop(errors, row["stumps"]))
    (default,) = result_table([folder], "smoothed-error", axis)
    assert not any(math.isnan(one.mean) for one in default.scores)


def test_it_does_not_depend_on_the_other_strategies_shown() -> None:
    """A run that ended early has errors where the others were scored."""
    points = [one for one in POINTS if one < 20 or one in (20, 100)]
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
    (line,) = [one for one in axes.lines if len(np.asarray(one.get_xdata())) > 2]
    drawn = np.asarray(line.get_ydata(), np.float64)
    assert np.isfinite(drawn).all()
    if axis == "stumps":
        (curves,) = curves_of_results(folder)
        runs = [{row["stumps"]: row["test_error"] for row in run}
                for run in curves.runs["ucb"].values()]  # fmt: skip
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
