"""Log axes have three or more named ticks, in one style of numbers."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pictures need the extra 'report'")

from matplotlib.figure import Figure

from boostsample.experiments.plots.drawing.log_ticks import (
    LogTicks,
    name_ticks,
)


def names(low: float, high: float, width: float = 4.0) -> list[str]:
    """The names of the ticks of a horizontal axis, left to right."""
    figure = Figure(figsize=(width, 2.0))
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    name_ticks(axes.xaxis)
    figure.draw_without_rendering()
    return [one.get_text() for one in axes.get_xticklabels()]


def test_there_are_always_three_ticks_and_never_a_crowd() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        low = 10 ** rng.uniform(-5, 8)
        high = low * 10 ** rng.uniform(0.02, 9)
        for room in (1, 4, 9, 30):
            found = LogTicks().places(low, high, room)
            assert 3 <= len(found) <= 9
            assert np.diff(found).min() > 0
            assert low * 0.999 <= found[0]
            assert found[-1] <= high * 1.001


@pytest.mark.parametrize(
    ("low", "high", "want"),
    [
        (1, 10_000, "1 10 100 1,000 10,000"),
        (100_000, 2e9, "10⁵ 10⁶ 10⁷ 10⁸ 10⁹"),
        (0.9, 60, "1 2 5 10 20 50"),
        (3, 9.5, "3 4 5 6 7 8 9"),
        (4.2, 4.9, "4.2 4.4 4.6 4.8"),
        (2e6, 3e7, "2×10⁶ 5×10⁶ 10⁷ 2×10⁷"),
    ],
)
def test_names_of_an_axis(low: float, high: float, want: str) -> None:
    assert " ".join(names(low, high, 6.0)) == want


def test_a_narrow_axis_has_fewer_names() -> None:
    assert 3 <= len(names(1, 60, 1.5)) < len(names(1, 60, 6.0))
