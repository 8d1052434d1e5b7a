"""Pictures are drawn of what was measured, checked beforehand and written whole."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from boostsample.errors import SettingError
from boostsample.experiments.plots.curves import curves_figure
from boostsample.experiments.plots.drawing import (
    STYLE,
    Layout,
    check_picture,
    decade_ticks,
    describe,
    draw_band,
    error_axis,
    parse_parts,
    parse_size,
    picture_bytes,
    save_picture,
    strategy_panels,
    using_layout,
)
from boostsample.experiments.plots.log_ticks import LogTicks
from boostsample.experiments.results.joined import joined_results
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.run.comparison import compare
from tests.experiments import fake_results


@pytest.fixture(scope="module")
def comparison() -> Results:
    strategies = ["full", "laminating"]
    done = compare("diagonal(d=4,n=100)", strategies=strategies, rounds=[5, 20], repeats=2)
    return joined_results([done])[0]


def test_a_picture_is_described_and_its_paths_are_short(comparison: Results) -> None:
    figure = curves_figure([comparison])
    text = describe(figure)
    assert text.startswith(
        f"Curves of loss and test error on {comparison.rows[0]['data']} against stumps, mean "
        "of 2 repetitions, bands: one standard deviation to each side; balanced weights. After 20 "
        "stumps on"
    )
    for kind in ("svg", "png", "pdf"):
        content = picture_bytes(curves_figure([comparison]), kind)
        assert content == picture_bytes(curves_figure([comparison]), kind)
    root = ET.fromstring(picture_bytes(figure))
    assert text in "".join(root.itertext())
    paths = [one.get("d", "") for one in root.iter("{http://www.w3.org/2000/svg}path")]
    assert len(paths) > 10
    assert not re.search(r"\.\d{3}", " ".join(paths))


@pytest.mark.parametrize("n", range(1, 13))
def test_panels_leave_little_empty(n: int) -> None:
    with mpl.rc_context(STYLE):
        labels = [f"s{k}:setting={k}" for k in range(n)]
        figure, panels = strategy_panels(labels, "round", "edge")
    assert list(panels) == labels
    left = [axes for axes in panels.values() if axes.get_ylabel() == "edge"]
    named = [k for k, axes in enumerate(panels.values()) if axes.get_xlabel() == "round"]
    columns = n // len(left) + (n % len(left) > 0)
    assert named == list(range(max(0, n - columns), n))  # the lowest of each column
    assert len(figure.axes) - n <= 1


@pytest.mark.parametrize(
    ("name", "start"), [("a.svg", b"<?xml"), ("b.PNG", b"\x89PNG"), ("c.pdf", b"%PDF")]
)
def test_a_picture_is_written_whole(
    comparison: Results, tmp_path: Path, name: str, start: bytes
) -> None:
    path = check_picture(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    save_picture(curves_figure([comparison]), path)
    content = path.read_bytes()
    assert content.startswith(start)
    save_picture(curves_figure([comparison]), path)
    assert path.read_bytes() == content
    assert [found.name for found in tmp_path.iterdir()] == [name]
    if name.endswith("svg"):
        text = "".join(ET.fromstring(content).itertext())
        assert "laminating" in text
        assert "stumps" in text


def made(*names: str) -> Results:
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


def names(low: float, high: float, width: float = 4.0) -> list[str]:
    """The names of the ticks of a horizontal axis, left to right."""
    figure = Figure(figsize=(width, 2.0))
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    decade_ticks(axes.xaxis)
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
