"""Distributions of margins: cumulated, averaged, trimmed to where something happens."""

from __future__ import annotations

import numpy as np
import pytest

from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.plots.drawing.picture_files import describe
from boostsample.experiments.plots.margins import margin_marks, margin_shares, margins_figure
from boostsample.experiments.results.runs import Run
from tests.experiments.small_runs import comparison

pytest.importorskip("matplotlib", reason="pictures need the extra 'report'")


def run(margins: dict[int, tuple[list[int], list[int]]], n_rounds: int, name: str = "a") -> Run:
    counts = np.array([margins[mark] for mark in margins]).swapaxes(0, 1)
    arrays = {"marks": np.array(list(margins)), "margins": counts}
    variant = Variant(name)
    return Run(variant, 0, 1, variant, Cell({"learner": "stump"}, {"n_rounds": n_rounds}, arrays))


WHOLE = run({2: ([1, 1, 1, 1], [2, 0, 0, 2]), 9: ([0, 0, 4, 0], [1, 0, 1, 2])}, 9)
ENDED = run({2: ([4, 0, 0, 0], [4, 0, 0, 0]), 5: ([0, 0, 0, 4], [0, 4, 0, 0])}, 5)


def test_shares_are_means_and_runs_that_ended_keep_their_last() -> None:
    np.testing.assert_allclose(
        margin_shares([WHOLE, ENDED], 2), [[0, 0.625, 0.75, 0.875, 1], [0, 0.75, 0.75, 0.75, 1]]
    )
    np.testing.assert_allclose(
        margin_shares([WHOLE, ENDED], 9), [[0, 0, 0, 0.5, 1], [0, 0.125, 0.625, 0.75, 1]]
    )
    assert np.isnan(margin_shares([WHOLE], 3)).all()
    assert margin_marks([WHOLE, ENDED]) == [2, 9]
    assert margin_marks([ENDED]) == [2, 5]


def test_every_mark_has_two_lines_in_every_panel() -> None:
    runs = comparison().runs
    figure = margins_figure("digits", runs)
    panels = [axes for axes in figure.axes if axes.axison]
    assert len(panels) == 3
    names = ["2 stumps, training", "2 stumps, test", "20 stumps, training", "20 stumps, test"]
    for axes in panels:
        lines = {str(line.get_label()): line for line in axes.lines}
        assert [name for name in lines if "stumps" in name] == names
        assert axes.get_xlim() == panels[0].get_xlim()
        for line in lines.values():
            assert (np.diff(np.asarray(line.get_ydata(), np.float64)) >= 0).all()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == names
    counts = runs[0].cell.arrays["margins"]
    assert counts.shape[2] == 200
    below = [run.cell.arrays["margins"][1, -1, :100].sum() for run in runs[:2]]
    want = 100 * np.mean(below) / counts[1, -1].sum()
    assert f"below zero at the end: uniform-q1 {want:.2f}" in describe(figure)


def test_the_lines_end_where_the_margins_do() -> None:
    figure = margins_figure("made", [WHOLE])
    training = next(
        line for line in figure.axes[0].lines if line.get_label() == "9 stumps, training"
    )
    assert np.asarray(training.get_ydata()).tolist() == [0, 100]
    assert np.asarray(training.get_xdata()).tolist() == [0, 0.5]


def test_no_more_marks_than_can_be_told_apart() -> None:
    margins = {mark: ([1, 1, 1, 1], [1, 1, 1, 1]) for mark in range(1, 9)}
    texts = margins_figure("made", [run(margins, 8)]).legends[0].get_texts()
    assert [text.get_text() for text in texts][::2] == [
        f"{k} stumps, training" for k in range(4, 9)
    ]
    texts = margins_figure("made", [run(margins, 8)], marks=(2,)).legends[0].get_texts()
    assert [text.get_text() for text in texts] == ["2 stumps, training", "2 stumps, test"]
