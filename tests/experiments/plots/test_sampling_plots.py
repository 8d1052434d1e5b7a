"""Q and T over rounds: means in windows that hold every search once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from boostsample.errors import DataError
from boostsample.experiments.plots.drawing.picture_files import describe
from boostsample.experiments.plots.drawing.windows import (
    round_windows,
    window_means,
    window_middles,
)
from boostsample.experiments.plots.sampling import (
    mean_sampling_figure,
    sampling_figure,
)
from tests.experiments.small_runs import STRATEGIES, comparison

pytest.importorskip("matplotlib", reason="pictures need the extra 'report'")


@pytest.mark.parametrize("n_rounds", [1, 2, 7, 10, 100, 12345])
@pytest.mark.parametrize("per_decade", [5, 10])
def test_windows_hold_every_round_once(n_rounds: int, per_decade: int) -> None:
    edges = round_windows(n_rounds, per_decade)
    assert edges[0] == 1
    assert edges[-1] == n_rounds + 1
    assert (np.diff(edges) > 0).all()
    if n_rounds > 100:
        late = edges[edges > 60]
        ratios = late[1:] / late[:-1]
        np.testing.assert_allclose(ratios[:-1], 10 ** (1 / per_decade), rtol=0.1)
        assert 10 ** (0.45 / per_decade) <= ratios[-1] <= 10 ** (1.55 / per_decade)


def test_windows_are_drawn_between_their_ends() -> None:
    edges = round_windows(1000)
    middle = window_middles(edges)
    assert (edges[:-1] <= middle).all()
    assert (middle < edges[1:]).all()


def test_means_of_windows() -> None:
    cell = comparison().runs[0].cell
    edges = np.array([1, 2, 5, 21, 40])
    values = np.arange(1.0, 21.0)
    values[1] = np.nan  # a search without a value
    np.testing.assert_allclose(window_means(cell, values, edges), [1, 3.5, 12.5, np.nan])


def test_several_searches_a_round_count_each() -> None:
    found = comparison().runs[0].cell
    cell = type(found)({}, {"n_rounds": 2}, {"searches": np.array([3, 1])})
    means = window_means(cell, np.array([1, 2, 3, 10]), np.array([1, 2, 3]))
    assert means.tolist() == [2, 10]


def test_q_and_t_are_those_of_the_history() -> None:
    runs = comparison().runs
    figure = sampling_figure("digits", runs)
    edges = round_windows(20, 10)
    for axes, column in zip(figure.axes, ("n_features", "n_examples"), strict=True):
        assert [line.get_label() for line in axes.lines] == list(STRATEGIES)
        assert axes.get_yscale() == "log"
        for number, line in enumerate(axes.lines):
            own = [run.cell.arrays[column] for run in runs[2 * number : 2 * number + 2]]
            want = [
                np.mean([one[start - 1 : stop - 1].mean() for one in own])
                for start, stop in pairwise(edges.tolist())
            ]
            np.testing.assert_allclose(np.asarray(line.get_ydata(), np.float64), want)
    mas, low_high = figure.axes[1].lines[1], figure.axes[1].collections[1]
    band = np.asarray(low_high.get_paths()[0].vertices)
    assert band[:, 1].min() >= min(run.cell.arrays["n_examples"].min() for run in runs)
    assert band[:, 1].min() <= np.asarray(mas.get_ydata()).min()
    n_examples = np.mean([run.cell.arrays["n_examples"][-1] for run in runs[:2]])
    assert f"uniform-q1 ends at Q 10 and T {n_examples:,.0f}" in describe(figure)


def test_without_cells_the_means_so_far_are_drawn() -> None:
    found = comparison()
    figure = mean_sampling_figure("digits", found.curves)
    for axes, column in zip(figure.axes, ("features", "examples"), strict=True):
        assert [line.get_label() for line in axes.lines] == list(STRATEGIES)
        ends = [row[column] for row in found.curves if row["stumps"] == 20][2:4]
        assert np.asarray(axes.lines[1].get_ydata())[-1] == pytest.approx(np.mean(ends))
    assert "means over all searches so far" in figure.get_suptitle()
    with pytest.raises(DataError, match="the curves of mnist, but there are none"):
        mean_sampling_figure("mnist", found.curves)
    with pytest.raises(DataError, match="must have runs"):
        sampling_figure("digits", [])
