"""The layout of a picture: size, fonts, resolution, title, and what is left out."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import numpy as np
import pytest

from boostsample.errors import SettingError
from boostsample.experiments.plots.curves import curves_figure
from boostsample.experiments.plots.drawing.figures import draw_band, error_axis
from boostsample.experiments.plots.drawing.layout import (
    Layout,
    parse_parts,
    parse_size,
    using_layout,
)
from boostsample.experiments.plots.drawing.picture_files import check_picture, picture_bytes
from boostsample.experiments.results.read_folder import Results
from tests.experiments import fake_results

Figure = pytest.importorskip("matplotlib.figure", reason="pictures need 'report'").Figure


def made(*names: str) -> Results:
    """Results of strategies with two repetitions."""
    return fake_results.results(
        [
            fake_results.curve(name, repetition, shift=0.2 * repetition + at)
            for at, name in enumerate(names)
            for repetition in (0, 1)
        ]
    )


@pytest.mark.parametrize("text", ["", "3.3x", "x2", "3x2x1", "wide", "nanx2", "infx2"])
def test_texts_that_are_no_size(text: str) -> None:
    with pytest.raises(SettingError, match=r"size must be width and height .* got "):
        parse_size(text)


def test_values_out_of_range_are_refused() -> None:
    with pytest.raises(SettingError, match=r"between 1 and 100 inches .* got 3x0.5"):
        parse_size("3x0.5")
    with pytest.raises(SettingError, match="unknown part of a picture 'titel'"):
        parse_parts("titel")
    with pytest.raises(SettingError, match="font-size must be between 4 and 40 points, got 3"):
        Layout(font_size=3)
    with pytest.raises(SettingError, match="dpi must be between 30 and 2400, got 5"):
        Layout(dpi=5)
    with pytest.raises(SettingError, match="exclude each other"):
        Layout(title="x", without=("title",))


def test_a_picture_has_the_size_fonts_and_resolution_asked_for() -> None:
    with using_layout(Layout(size=(3.3, 2.4), dpi=100, without=("legend",))):
        figure = curves_figure([made("a", "b")], metrics=("loss",))
        content = picture_bytes(figure, "png")
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    assert (width, height) == (330, 240)
    assert figure.axes[0].xaxis.label.get_fontsize() == 8
    assert not figure.legends
    with using_layout(Layout(size=(3.3, None), font_size=7)):
        narrow = curves_figure([made("a", "b")])
    first, second = (axes.get_position() for axes in narrow.axes)
    assert first.x0 == second.x0  # one below the other
    assert narrow.axes[0].xaxis.label.get_fontsize() == 7
    assert curves_figure([made("a")]).get_figwidth() == 10


def test_parts_are_left_out_and_the_title_is_replaced() -> None:
    with using_layout(Layout(title="Ours is best", without=("labels",))):
        figure = curves_figure([made("a", "b")])
    assert figure.get_suptitle() == "Ours is best"
    assert {axes.get_xlabel() + axes.get_ylabel() for axes in figure.axes} == {""}
    assert len(figure.legends) == 1
    with using_layout(Layout(without=("title",))):
        assert curves_figure([made("a")]).get_suptitle() == ""


def test_texts_that_leave_no_room_are_an_error() -> None:
    with (
        using_layout(Layout(size=(1.0, 1.0), font_size=20)),
        pytest.raises(SettingError, match=r"no room for its axes in 1 x 1 inches; give a larger"),
    ):
        picture_bytes(curves_figure([made("a", "b", "c")]), "png")


def test_resolution_is_for_pixels(tmp_path: Path) -> None:
    with using_layout(Layout(dpi=300)):
        check_picture(tmp_path / "x.png")
        with pytest.raises(SettingError, match=r"--dpi is for .png files, got 300 for '.*x.pdf'"):
            check_picture(tmp_path / "x.pdf")


def test_fonts_in_pdf_files_are_truetype() -> None:
    content = picture_bytes(curves_figure([made("a")]), "pdf")
    streams = re.findall(rb"stream\r?\n(.*?)endstream", content, re.DOTALL)
    packed = b"".join(zlib.decompress(one) for one in streams if one[:1] == b"x")
    text = content + packed
    assert b"/Subtype /CIDFontType2" in text or b"/Subtype /TrueType" in text
    assert b"/Subtype /Type3" not in text


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([[9.0, 2.0], [8.0, 1.9]], "log"),
        ([[9.0, 2.0], [8.0, 0.1]], "linear"),  # the band reaches below zero
        ([[9.0, 0.0], [8.0, 0.0]], "linear"),
    ],
)
def test_log_axes_have_no_band_below_zero(values: list[list[float]], scale: str) -> None:
    axes = Figure().subplots()
    draw_band(axes, np.array([1.0, 2.0]), np.array(values), 0, "a")
    error_axis(axes)
    assert axes.get_yscale() == scale
    low, high = sorted(np.mean(values, axis=0))
    assert 0 <= axes.get_ylim()[0] <= low < high <= axes.get_ylim()[1]
