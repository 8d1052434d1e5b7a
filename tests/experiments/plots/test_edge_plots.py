"""Edges as they were expected, estimated and are: the means of the very searches."""

from __future__ import annotations

import numpy as np
import pytest

from boostsample.errors import DataError
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.plots.drawing.picture_files import describe
from boostsample.experiments.plots.edges import edges_figure, mean_edges
from boostsample.experiments.results.runs import Run
from tests.experiments.small_runs import STRATEGIES, comparison

pytest.importorskip("matplotlib", reason="pictures need the extra 'report'")


def run(edges: list[float], excess: float, expected: list[float] | None = None) -> Run:
    arrays = {
        "edge": np.array(edges),
        "excess": np.full(len(edges), excess, np.float16),
        "searches": np.ones(len(edges), np.int64),
    }
    if expected is not None:
        arrays["expected_edge"] = np.array(expected, np.float16)
    variant = Variant("made")
    return Run(variant, 0, 1, variant, Cell({"learner": "stump"}, {"n_rounds": len(edges)}, arrays))


def test_means_of_edges() -> None:
    runs = [run([0.5, 0.25, 0.125], 0.25, [np.nan, 0.5, 0.75]), run([0.25, 0.25], 0.0)]
    found = mean_edges(runs, np.array([1, 2, 4]))
    np.testing.assert_allclose(found["edge"], [[0.5, 0.1875], [0.25, 0.25]])
    np.testing.assert_allclose(found["estimated"], [[0.75, 0.4375], [0.25, 0.25]])
    np.testing.assert_allclose(found["expected"], [[np.nan, 0.625], [np.nan, np.nan]])
    assert "expected" not in mean_edges(runs[1:], np.array([1, 2, 4]))


def test_only_strategies_that_expect_an_edge_have_that_line() -> None:
    figure = edges_figure("digits", comparison().runs)
    panels = [axes for axes in figure.axes if axes.axison]
    assert len(panels) == len(STRATEGIES)
    assert [axes.get_title() for axes in panels][-1] == "laminating\nn_features=16"
    drawn = [[str(line.get_label()).split()[0] for line in axes.lines] for axes in panels]
    assert drawn == [["true", "estimated"], ["true", "estimated", "edge"], ["true", "estimated"]]
    assert len({axes.get_ylim() for axes in panels}) == 1
    assert panels[0].get_yscale() == "log"
    assert len(figure.legends[0].get_texts()) == 3
    true, estimated = (np.asarray(line.get_ydata()) for line in panels[0].lines)
    np.testing.assert_allclose(true, estimated, rtol=1e-3)  # all examples: nothing is estimated
    assert "uniform-q1 1.00" in describe(figure)


def test_an_estimate_that_is_too_high_is_told() -> None:
    figure = edges_figure("made", [run([0.5, 0.25], 0.25)])
    assert "in the last rounds: made 2.00." in describe(figure)


def test_edges_of_zero_are_drawn() -> None:
    figure = edges_figure("made", [run([0.5, 0.0], 0.0)])
    assert figure.axes[0].get_yscale() == "linear"
    figure.draw_without_rendering()
    with pytest.raises(DataError, match="must have runs"):
        edges_figure("made", [])
