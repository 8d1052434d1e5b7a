"""Pictures over rounds: means of the very searches, counts of families and features, margins."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.plots.drawing import describe
from boostsample.experiments.plots.run_figures import (
    MOST_FEATURES,
    RUN_FIGURES,
    edges_figure,
    family_shares,
    feature_shares,
    features_figure,
    margin_marks,
    margin_shares,
    margins_figure,
    mean_edges,
    mean_sampling_figure,
    round_windows,
    sampling_figure,
    shares_figure,
    window_means,
    window_middles,
)
from boostsample.experiments.results.run_curves import curves_of_results
from boostsample.experiments.results.runs import Run
from tests.experiments.small_runs import STRATEGIES, comparison


def made_run(
    arrays: dict[str, Any],
    n_rounds: int,
    label: str = "a",
    repetition: int = 0,
    families: Any = (),
    learner: str = "stump",
) -> Run:
    """A run with these arrays; one search a round unless they say otherwise."""
    variant = Variant(label, {"n": 3} if label == "b" else {})
    about = {"n_rounds": n_rounds, "data": {"families": list(families)}}
    searches = {"searches": np.ones(n_rounds, np.int64)}
    cell = Cell({"learner": learner}, about, searches | arrays)
    return Run(variant, repetition, 1, variant, cell)


@pytest.mark.parametrize("name", RUN_FIGURES)
def test_no_runs_are_refused(name: str) -> None:
    with pytest.raises(DataError, match="must have runs, got none"):
        RUN_FIGURES[name]("made-up", [])


# ------------------------------------------------------------------------------------- windows


@pytest.mark.parametrize("n_rounds", [1, 2, 7, 10, 100, 12345])
@pytest.mark.parametrize("per_decade", [5, 10])
def test_windows_hold_every_round_once(n_rounds: int, per_decade: int) -> None:
    edges = round_windows(n_rounds, per_decade)
    assert edges[0] == 1
    assert edges[-1] == n_rounds + 1
    assert (np.diff(edges) > 0).all()
    middle = window_middles(edges)
    assert ((edges[:-1] <= middle) & (middle < edges[1:])).all()
    if n_rounds > 100:
        late = edges[edges > 60]
        ratios = late[1:] / late[:-1]
        np.testing.assert_allclose(ratios[:-1], 10 ** (1 / per_decade), rtol=0.1)
        assert 10 ** (0.45 / per_decade) <= ratios[-1] <= 10 ** (1.55 / per_decade)


def test_means_of_windows() -> None:
    cell = comparison().runs[0].cell
    edges = np.array([1, 2, 5, 21, 40])
    values = np.arange(1.0, 21.0)
    values[1] = np.nan  # a search without a value
    np.testing.assert_allclose(window_means(cell, values, edges), [1, 3.5, 12.5, np.nan])
    several = made_run({"searches": np.array([3, 1])}, 2).cell  # each search counts
    means = window_means(several, np.array([1, 2, 3, 10]), np.array([1, 2, 3]))
    assert means.tolist() == [2, 10]


# ------------------------------------------------------------------------------------ sampling


def test_q_and_t_are_those_of_the_history() -> None:
    runs = comparison().runs
    figure = sampling_figure("digits", runs)
    edges = round_windows(20, 10)
    for axes, column in zip(figure.axes, ("n_features", "n_examples"), strict=True):
        assert [line.get_label() for line in axes.lines] == list(STRATEGIES)
        assert axes.get_yscale() == "log"
        for number, line in enumerate(axes.lines):
            values = [run.cell.arrays[column] for run in runs[2 * number : 2 * number + 2]]
            want = [
                np.mean([repeat[start - 1 : stop - 1].mean() for repeat in values])
                for start, stop in pairwise(edges.tolist())
            ]
            np.testing.assert_allclose(np.asarray(line.get_ydata(), np.float64), want)


def test_without_cells_the_means_so_far_are_drawn() -> None:
    results = comparison()
    figure = mean_sampling_figure(*curves_of_results(results))
    for axes, column in zip(figure.axes, ("features", "examples"), strict=True):
        assert [line.get_label() for line in axes.lines] == list(STRATEGIES)
        ends = [row[column] for row in results.curves if row["stumps"] == 20][2:4]
        assert np.asarray(axes.lines[1].get_ydata())[-1] == pytest.approx(np.mean(ends))
    assert "means over all searches so far" in figure.get_suptitle()


# ------------------------------------------------------------------------------------ families

NAMES = ("pixels", "edges", "sums")


def runs_of_families(lengths: dict[str, tuple[int, ...]]) -> list[Run]:
    """Made-up runs: rounds of each repetition of each strategy, families drawn at random."""
    rng = np.random.default_rng(0)
    sizes = [[name, 10 * k + 10] for k, name in enumerate(NAMES)]
    return [
        made_run({"family": rng.integers(len(NAMES), size=n)}, n, label, repetition, sizes)
        for label, rounds in lengths.items()
        for repetition, n in enumerate(rounds)
    ]


def test_shares_are_means_over_repetitions() -> None:
    made = runs_of_families({"a": (40, 40, 7), "b": (40,)})
    shares = family_shares(made)
    assert shares.sizes == {"pixels": 10, "edges": 20, "sums": 30}
    assert list(shares.parts.values()) == pytest.approx([1 / 6, 1 / 3, 1 / 2])
    assert list(shares.shares) == ["a", "b:n=3"]
    assert shares.n_runs == (3, 1)
    for label, values in shares.shares.items():
        for k, (start, stop) in enumerate(pairwise(shares.edges)):
            parts = []
            for run in made:
                if run.variant.label == label:
                    count = Counter(run.cell.arrays["family"][start - 1 : stop - 1].tolist())
                    if count:
                        parts.append([count[family] / count.total() for family in range(3)])
            np.testing.assert_allclose(values[:, k], np.mean(parts, axis=0))


def test_families_have_one_colour_in_all_panels_and_the_legend() -> None:
    figure = shares_figure("made-up", runs_of_families(dict.fromkeys("abcdefg", (30, 30))))
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
        (bar,) = axes.child_axes
        assert [patch.get_facecolor() for patch in bar.patches] == colours


# ------------------------------------------------------------------------------------ features


def runs_of_features(lengths: dict[str, tuple[int, ...]], n_features: int = 7) -> list[Run]:
    """Made-up runs of one or two searches a round, whose features are drawn at random."""
    rng = np.random.default_rng(0)
    families = [["a", 3], ["b", n_features - 3]]
    runs = []
    for label, rounds in lengths.items():
        for repetition, n_rounds in enumerate(rounds):
            searches = rng.integers(1, 3, size=n_rounds)
            features = rng.integers(n_features, size=searches.sum()).astype(np.uint8)
            arrays = {"feature": features, "searches": searches}
            runs.append(made_run(arrays, n_rounds, label, repetition, families))
    return runs


@pytest.mark.parametrize("rounds", [None, 1, 5, 40])
def test_shares_equal_a_naive_count(rounds: int | None) -> None:
    made = runs_of_features({"a": (40, 40, 3), "c": (40,)})
    shares = feature_shares("made-up", made, rounds)
    assert [len(values) for values in shares.values()] == [3, 1]
    for run in made:
        chosen = []
        at = 0
        for number, n_searches in enumerate(run.cell.arrays["searches"].tolist()):
            if rounds is None or number < rounds:
                chosen += run.cell.arrays["feature"][at : at + n_searches].tolist()
            at += n_searches
        naive = [chosen.count(feature) / len(chosen) for feature in range(7)]
        assert shares[run.variant.label][run.repetition].tolist() == naive


def test_each_data_set_has_a_panel_and_each_strategy_a_line() -> None:
    both = {
        "one": runs_of_features({"a": (30, 30), "c": (30, 30)}),
        "two": runs_of_features({"c": (9,)}, n_features=5),
    }
    figure = features_figure(both)
    first, second = figure.axes
    assert (first.get_title(), second.get_title()) == ("one", "two")
    drawn = [np.asarray(line.get_ydata(), np.float64) for line in (*first.lines, *second.lines)]
    means = [values.mean(axis=0) for values in feature_shares("one", both["one"]).values()]
    np.testing.assert_allclose(drawn[:2], 100 * np.array(means))
    assert second.lines[0].get_color() == first.lines[1].get_color()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "c"]
    assert first.get_ylabel() == "percent of the stumps"


def test_features_that_cannot_be_drawn_are_refused() -> None:
    wide = {"wide": runs_of_features({"a": (4,)}, MOST_FEATURES + 1)}
    with pytest.raises(SettingError, match="at most 50 features, but wide has 51; draw families"):
        features_figure(wide)
    features_figure({"most": runs_of_features({"a": (4,)}, MOST_FEATURES)})
    with pytest.raises(SettingError, match="stumps must be an integer between 1 and 4, got 5"):
        features_figure({"made-up": runs_of_features({"a": (4, 2)})}, 5)
    with pytest.raises(DataError, match="needs runs, got none"):
        features_figure({})


# --------------------------------------------------------------------------------------- edges


def run_of_edges(edges: list[float], excess: float, expected: list[float] | None = None) -> Run:
    arrays = {"edge": np.array(edges), "excess": np.full(len(edges), excess, np.float16)}
    if expected is not None:
        arrays["expected_edge"] = np.array(expected, np.float16)
    return made_run(arrays, len(edges), "made")


def test_means_of_edges() -> None:
    runs = [
        run_of_edges([0.5, 0.25, 0.125], 0.25, [np.nan, 0.5, 0.75]),
        run_of_edges([0.25, 0.25], 0.0),
    ]
    means = mean_edges(runs, np.array([1, 2, 4]))
    np.testing.assert_allclose(means["edge"], [[0.5, 0.1875], [0.25, 0.25]])
    np.testing.assert_allclose(means["estimated"], [[0.75, 0.4375], [0.25, 0.25]])
    np.testing.assert_allclose(means["expected"], [[np.nan, 0.625], [np.nan, np.nan]])
    assert "expected" not in mean_edges(runs[1:], np.array([1, 2, 4]))


def test_only_strategies_that_expect_an_edge_have_that_line() -> None:
    figure = edges_figure("digits", comparison().runs)
    panels = [axes for axes in figure.axes if axes.axison]
    assert len(panels) == len(STRATEGIES)
    drawn = [[str(line.get_label()).split()[0] for line in axes.lines] for axes in panels]
    assert drawn == [["true", "estimated"], ["true", "estimated", "edge"], ["true", "estimated"]]
    true, estimated = (np.asarray(line.get_ydata()) for line in panels[0].lines)
    np.testing.assert_allclose(true, estimated, rtol=1e-3)  # all examples: nothing is estimated
    assert "uniform-q1 1.00" in describe(figure)


def test_edges_of_zero_are_drawn() -> None:
    figure = edges_figure("made", [run_of_edges([0.5, 0.0], 0.0)])
    assert figure.axes[0].get_yscale() == "linear"
    figure.draw_without_rendering()


# ------------------------------------------------------------------------------------- margins


def run_of_margins(margins: dict[int, tuple[list[int], list[int]]], n_rounds: int) -> Run:
    counts = np.array([margins[mark] for mark in margins]).swapaxes(0, 1)
    return made_run({"marks": np.array(list(margins)), "margins": counts}, n_rounds)


WHOLE = run_of_margins({2: ([1, 1, 1, 1], [2, 0, 0, 2]), 9: ([0, 0, 4, 0], [1, 0, 1, 2])}, 9)
ENDED = run_of_margins({2: ([4, 0, 0, 0], [4, 0, 0, 0]), 5: ([0, 0, 0, 4], [0, 4, 0, 0])}, 5)


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


def test_no_more_marks_than_can_be_told_apart() -> None:
    run = run_of_margins({mark: ([1, 1, 1, 1], [1, 1, 1, 1]) for mark in range(1, 9)}, 8)
    texts = margins_figure("made", [run]).legends[0].get_texts()
    assert [text.get_text() for text in texts][::2] == [
        f"{k} stumps, training" for k in range(4, 9)
    ]
