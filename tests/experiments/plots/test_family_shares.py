"""Which families the stumps come from: counted in windows, drawn in the same colours everywhere."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from boostsample.errors import DataError
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.plots.drawing.picture_files import describe
from boostsample.experiments.plots.family_shares import family_shares, shares_figure
from boostsample.experiments.results.runs import Run
from boostsample.families import families_for
from tests.experiments.small_runs import STRATEGIES, comparison

pytest.importorskip("matplotlib", reason="pictures need the extra 'report'")

NAMES = ("pixels", "edges", "sums")


def runs(lengths: dict[str, tuple[int, ...]], names: tuple[str, ...] = NAMES) -> list[Run]:
    """Made-up runs: rounds of each repetition of each strategy, families drawn at random."""
    rng = np.random.default_rng(0)
    sizes = [[name, 10 * k + 10] for k, name in enumerate(names)]
    found = []
    for label, own in lengths.items():
        variant = Variant(label, {"n": 3} if label == "b" else {})
        for repetition, n_rounds in enumerate(own):
            arrays = {
                "family": rng.integers(len(names), size=n_rounds),
                "searches": np.ones(n_rounds, np.int64),
            }
            about = {"n_rounds": n_rounds, "data": {"families": sizes}}
            found.append(
                Run(variant, repetition, 1, variant, Cell({"learner": "stump"}, about, arrays))
            )
    return found


def test_shares_are_means_over_repetitions() -> None:
    made = runs({"a": (40, 40, 7), "b": (40,)})
    shares = family_shares(made)
    assert shares.sizes == {"pixels": 10, "edges": 20, "sums": 30}
    assert list(shares.parts.values()) == pytest.approx([1 / 6, 1 / 3, 1 / 2])
    assert list(shares.shares) == ["a", "b:n=3"]
    assert shares.n_runs == (3, 1)
    for label, values in shares.shares.items():
        for k, (start, stop) in enumerate(zip(shares.edges[:-1], shares.edges[1:], strict=True)):
            parts = []
            for run in made:
                if run.variant.label == label:
                    count = Counter(run.cell.arrays["family"][start - 1 : stop - 1].tolist())
                    if count:
                        parts.append([count[one] / count.total() for one in range(3)])
            np.testing.assert_allclose(values[:, k], np.mean(parts, axis=0))


def test_rounds_that_no_run_had_are_no_shares() -> None:
    made = runs({"a": (100,), "b": (5,)})
    shares = family_shares(made)
    values = shares.shares["b:n=3"]
    ended = shares.edges[:-1] > 5
    assert np.isnan(values[:, ended]).all()
    np.testing.assert_allclose(values[:, ~ended].sum(axis=0), 1)
    shares_figure("made-up", made).draw_without_rendering()


def test_families_have_one_colour_in_all_panels_and_the_legend() -> None:
    figure = shares_figure("made-up", runs(dict.fromkeys("abcdefg", (30, 30))))
    panels = [axes for axes in figure.axes if axes.axison]
    assert [axes.get_title() for axes in panels] == ["a", "b\nn=3", *"cdefg"]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "pixels (17 % of all features)",
        "edges (33 % of all features)",
        "sums (50 % of all features)",
    ]
    colours = [patch.get_facecolor() for patch in legend.get_patches()]
    assert len(set(colours)) == 3
    for axes in panels:
        assert [tuple(np.ravel(area.get_facecolor())) for area in axes.collections] == colours
        assert axes.get_ylim() == (0, 100)
        (bar,) = axes.child_axes
        assert [patch.get_facecolor() for patch in bar.patches] == colours
        tops = [np.asarray(patch.get_verts())[:, 1].max() for patch in bar.patches]
        drawn = bar.transData.inverted().transform([(0, top) for top in tops])[:, 1]
        assert drawn == pytest.approx([100 / 6, 50, 100])
    (top,) = panels[0].collections[-1].get_paths()
    assert np.asarray(top.vertices)[:, 1].max() == pytest.approx(100)


def test_many_families_can_be_told_apart() -> None:
    names = tuple(f"family {k}" for k in range(20))
    figure = shares_figure("made-up", runs({"a": (500,)}, names))
    looks = {
        (patch.get_facecolor(), patch.get_hatch()) for patch in figure.legends[0].get_patches()
    }
    assert len(looks) == 20


def test_no_runs_are_refused() -> None:
    with pytest.raises(DataError, match="must have runs, got none"):
        shares_figure("made-up", [])


def test_shares_of_real_runs() -> None:
    found = comparison()
    shares = family_shares(found.runs)
    assert tuple(shares.shares) == STRATEGIES
    families = families_for((8, 8))
    assert shares.sizes == {family.name: family.n_features for family in families}
    for parts in shares.shares.values():
        np.testing.assert_allclose(parts.sum(axis=0), 1)
    names = [str(row["family"]) for row in _history()]
    first = shares.shares["uniform-q1"][:, 0]
    assert first[list(shares.sizes).index(names[0])] > 0
    text = describe(shares_figure("digits", found.runs))
    assert "on digits over rounds, mean of 2 repetitions: uniform-q1 ends with most" in text


def _history() -> list[dict[str, object]]:
    """Rows of the first run, from its cell."""
    cell = comparison().runs[0].cell
    names = [name for name, _ in cell.about["data"]["families"]]
    return [{"family": names[int(at)]} for at in cell.arrays["family"]]
