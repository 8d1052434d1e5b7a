"""Which families the stumps come from: counted in windows, drawn in the same colours everywhere."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.errors import DataError
from boostsample.experiments.compare import compare
from boostsample.experiments.datasets import load_dataset
from boostsample.experiments.family_plots import family_shares, shares_figure, windows
from boostsample.experiments.folder import ResultsFolder
from boostsample.experiments.plan import Plan, parse_names
from boostsample.experiments.plots import results_figure, save_picture
from boostsample.experiments.record import settings_of
from boostsample.experiments.results import Results, read_results
from boostsample.families import families_for

pytest.importorskip("matplotlib", reason="pictures need the extra 'report'")

NAMES = ("pixels", "edges", "sums")


def results(lengths: dict[str, tuple[int, ...]], names: tuple[str, ...] = NAMES) -> Results:
    """Made-up results: rounds of each repetition of each strategy, families drawn at random."""
    rng = np.random.default_rng(0)
    history = [
        {
            "strategy": strategy,
            "settings": "n=3" if strategy == "b" else "",
            "repetition": str(repetition),
            "round": str(number),
            "family": names[int(rng.integers(len(names)))],
        }
        for strategy, runs in lengths.items()
        for repetition, n_rounds in enumerate(runs)
        for number in range(1, n_rounds + 1)
    ]
    rows = [{"data": "made-up", "strategy": "a", "settings": ""}]
    families = [{"name": name, "n_features": 10 * k + 10} for k, name in enumerate(names)]
    return Results(rows, {"data_sets": [{"families": families}], "weights": "uniform"}, history)


@pytest.mark.parametrize("n_rounds", [1, 2, 7, 10, 100, 12345])
def test_windows_hold_every_round_once(n_rounds: int) -> None:
    edges = windows(n_rounds)
    assert edges[0] == 1
    assert edges[-1] == n_rounds + 1
    assert (np.diff(edges) > 0).all()
    if n_rounds > 100:
        ratios = edges[8:] / edges[7:-1]
        np.testing.assert_allclose(ratios[:-1], 10 ** (1 / 5), rtol=0.1)
        assert 10 ** (1 / 10) <= ratios[-1] <= 10 ** (3 / 10)


def test_shares_are_means_over_repetitions() -> None:
    found = results({"a": (40, 40, 7), "b": (40,)})
    shares = family_shares(found)
    assert shares.families == NAMES
    assert list(shares.shares) == ["a", "b:n=3"]
    assert shares.n_repetitions == 3
    for label, values in shares.shares.items():
        for k, (start, stop) in enumerate(zip(shares.edges[:-1], shares.edges[1:], strict=True)):
            parts = []
            for repetition in "012":
                count = Counter(
                    row["family"]
                    for row in found.history or ()
                    if row["strategy"] == label[0]
                    and row["repetition"] == repetition
                    and start <= int(row["round"]) < stop
                )
                if count:
                    parts.append([count[name] / count.total() for name in NAMES])
            np.testing.assert_allclose(values[:, k], np.mean(parts, axis=0))


def test_rounds_that_no_run_had_are_no_shares() -> None:
    shares = family_shares(results({"a": (100,), "b": (5,)}))
    values = shares.shares["b:n=3"]
    ended = shares.edges[:-1] > 5
    assert np.isnan(values[:, ended]).all()
    np.testing.assert_allclose(values[:, ~ended].sum(axis=0), 1)
    shares_figure(results({"a": (100,), "b": (5,)})).draw_without_rendering()


def test_families_have_one_colour_in_all_panels_and_the_legend() -> None:
    figure = shares_figure(results(dict.fromkeys("abcde", (30, 30))))
    panels = [axes for axes in figure.axes if axes.axison]
    assert [axes.get_title() for axes in panels] == ["a", "b\nn=3", "c", "d", "e"]
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == [
        "sums\n50 % of all features",
        "edges\n33 % of all features",
        "pixels\n17 % of all features",
    ]
    colours = [patch.get_facecolor() for patch in legend.get_patches()][::-1]
    assert len(set(colours)) == 3
    for axes in panels:
        assert [tuple(np.ravel(area.get_facecolor())) for area in axes.collections] == colours
        assert axes.get_ylim() == (0, 100)
    (top,) = panels[0].collections[-1].get_paths()
    assert np.asarray(top.vertices)[:, 1].max() == pytest.approx(100)


def test_many_families_can_be_told_apart() -> None:
    names = tuple(f"family {k}" for k in range(20))
    figure = shares_figure(results({"a": (500,)}, names))
    looks = {
        (patch.get_facecolor(), patch.get_hatch()) for patch in figure.legends[0].get_patches()
    }
    assert len(looks) == 20


def test_results_without_history_are_refused_with_the_way_out() -> None:
    found = results({"a": (3,)})
    with pytest.raises(DataError, match=r"have no history.csv; run compare again with --history"):
        shares_figure(Results(found.rows, found.settings, None))
    with pytest.raises(DataError, match=r"must have columns strategy, .* family: 'strategy'"):
        shares_figure(Results(found.rows, found.settings, [{"round": "1"}]))
    broken: list[dict[str, Any]] = [{**row, "round": "x"} for row in found.history or ()]
    with pytest.raises(DataError, match=r"must have columns .*'x'"):
        shares_figure(Results(found.rows, found.settings, broken))


def test_pictures_of_a_results_folder(tmp_path: Path) -> None:
    plan = Plan(
        strategies=parse_names("uniform-q1,laminating"), marks=(2, 20), repeats=2, history=True
    )
    comparison = compare(load_dataset("digits"), plan)
    with ResultsFolder(tmp_path / "new") as folder:
        folder.write(comparison.rows, settings_of([comparison]), comparison.history)
    found = read_results(tmp_path / "new")
    shares = family_shares(found)
    assert shares.families == tuple(family.name for family in families_for((8, 8)))
    for parts in shares.shares.values():
        np.testing.assert_allclose(parts.sum(axis=0), 1)
    left, right = results_figure(found).axes
    for axes, column in ((left, "log10_loss"), (right, "test_error")):
        assert [line.get_label() for line in axes.lines] == ["uniform-q1", "laminating"]
        for line in axes.lines:
            np.testing.assert_array_equal(line.get_xdata(), [2, 20])
            for mark, mean in zip((2, 20), np.asarray(line.get_ydata()), strict=True):
                values = [
                    row[column]
                    for row in found.rows
                    if row["strategy"] == line.get_label() and row["stumps"] == mark
                ]
                assert len(values) == 2
                assert mean == pytest.approx(np.mean(values))
    for draw in (results_figure, shares_figure):
        save_picture(draw(found), tmp_path / "x.svg")
        first = (tmp_path / "x.svg").read_bytes()
        save_picture(draw(found), tmp_path / "x.svg")
        assert (tmp_path / "x.svg").read_bytes() == first
        assert b"digits: " in first


def test_rows_that_miss_a_mark_are_refused() -> None:
    row = {"data": "d", "strategy": "a", "settings": "", "log10_loss": -1.0, "test_error": 3.0}
    rows = [{**row, "repetition": r, "stumps": mark} for r, mark in ((0, 1), (0, 2), (1, 2))]
    with pytest.raises(DataError, match="rows of a must have the same numbers of stumps"):
        results_figure(Results(rows, {}, None))
    with pytest.raises(DataError, match="must have rows, got none"):
        results_figure(Results([], {}, None))
