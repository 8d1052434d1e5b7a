"""Pictures are drawn of what was measured, checked beforehand and written whole."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.variants import parse_names
from boostsample.experiments.plots.curves import comparison_figure
from boostsample.experiments.plots.drawing.figures import (
    STYLE,
    draw_band,
    legend_below,
    strategy_panels,
)
from boostsample.experiments.plots.drawing.picture_files import (
    check_picture,
    describe,
    picture_bytes,
    save_picture,
)
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.run.compare import compare

mpl = pytest.importorskip("matplotlib", reason="pictures need the extra 'report'")
Figure = pytest.importorskip("matplotlib.figure").Figure


@pytest.fixture(scope="module")
def comparison() -> Results:
    plan = Plan(strategies=parse_names("full,laminating"), marks=(5, 20), repeats=2)
    return compare(load_dataset("diagonal(d=4,n=100)"), plan)


@pytest.mark.parametrize("marks", [(1,), (3,), (2, 30)])
def test_runs_that_end_early_or_make_no_error(marks: tuple[int, ...]) -> None:
    X = np.random.default_rng(0).random((40, 2)).astype(np.float32)
    easy = Dataset("$easy_{$", X, (X[:, 0] >= 0.5).astype(np.int64), ("a", "b"))
    plan = Plan(strategies=parse_names("uniform-naive:n_features=1"), marks=marks, repeats=3)
    figure = comparison_figure(compare(easy, plan))
    figure.draw_without_rendering()
    assert len(figure.axes) == 2


def test_a_picture_is_described_and_its_paths_are_short(comparison: Results) -> None:
    figure = comparison_figure(comparison)
    text = describe(figure)
    assert text.startswith(
        f"Curves of loss and test error on {comparison.rows[0]['data']} against stumps, mean "
        "of 2 repetitions, bands: one standard deviation to each side; balanced weights. After 20 "
        "stumps on"
    )
    for kind in ("svg", "png", "pdf"):
        content = picture_bytes(comparison_figure(comparison), kind)
        assert content == picture_bytes(comparison_figure(comparison), kind)
    root = ET.fromstring(picture_bytes(figure))
    assert text in "".join(root.itertext())
    paths = [one.get("d", "") for one in root.iter("{http://www.w3.org/2000/svg}path")]
    assert len(paths) > 10
    assert not re.search(r"\.\d{3}", " ".join(paths))
    assert re.search(r"\.\d{2}\b", " ".join(paths))


def test_legends_fit_below_their_figure() -> None:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.0, 4.0), layout="constrained")
        axes = figure.subplots()
        for number in range(10):
            draw_band(axes, np.arange(3), np.ones((2, 3)), number, f"a-long-strategy:n={number:9}")
        legend_below(figure, [axes])
        figure.draw_without_rendering()
        box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1
    assert len(figure.legends[0].get_texts()) == 10


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
    assert left[0] is next(iter(panels.values()))
    assert panels["s0:setting=0"].get_title() == "s0\nsetting=0"


@pytest.mark.parametrize(
    ("name", "start"), [("a.svg", b"<?xml"), ("b.PNG", b"\x89PNG"), ("c.pdf", b"%PDF")]
)
def test_a_picture_is_written_whole(
    comparison: Results, tmp_path: Path, name: str, start: bytes
) -> None:
    path = check_picture(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    save_picture(comparison_figure(comparison), path)
    content = path.read_bytes()
    assert content.startswith(start)
    save_picture(comparison_figure(comparison), path)
    assert path.read_bytes() == content
    assert [found.name for found in tmp_path.iterdir()] == [name]
    if name.endswith("svg"):
        text = "".join(ET.fromstring(content).itertext())
        assert "laminating" in text
        assert "stumps" in text


@pytest.mark.parametrize("name", ["x", "x.gif", "x.svg.bak"])
def test_other_kinds_of_pictures(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingError, match=r"must end in one of .svg, .png, .pdf, got '.*x"):
        check_picture(tmp_path / name)


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written: No such file or directory; name"):
        check_picture(tmp_path / "no" / "x.svg")
    (tmp_path / "d.svg").mkdir()
    with pytest.raises(DataError, match=r"cannot be written: .*folder"):
        check_picture(tmp_path / "d.svg")
