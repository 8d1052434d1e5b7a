"""How often each feature is chosen: counted by strategy and repetition, a panel a data set."""

from __future__ import annotations

import numpy as np
import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.plots.drawing.picture_files import describe
from boostsample.experiments.plots.feature_shares import (
    MOST_FEATURES,
    feature_shares,
    features_figure,
)
from boostsample.experiments.results.runs import Run
from tests.experiments.small_runs import STRATEGIES, comparison

pytest.importorskip("matplotlib", reason="pictures need the extra 'report'")


def runs(
    lengths: dict[str, tuple[int, ...]], n_features: int = 7, learner: str = "stump"
) -> list[Run]:
    """Made-up runs of one or two searches a round, whose features are drawn at random."""
    rng = np.random.default_rng(0)
    found = []
    for label, own in lengths.items():
        for repetition, n_rounds in enumerate(own):
            searches = rng.integers(1, 3, size=n_rounds)
            features = rng.integers(n_features, size=searches.sum()).astype(np.uint8)
            about = {"n_rounds": n_rounds, "data": {"families": [["a", 3], ["b", n_features - 3]]}}
            cell = Cell({"learner": learner}, about, {"feature": features, "searches": searches})
            found.append(Run(Variant(label, {}), repetition, 1, Variant(label, {}), cell))
    return found


@pytest.mark.parametrize("rounds", [None, 1, 5, 40])
def test_shares_equal_a_naive_count(rounds: int | None) -> None:
    made = runs({"a": (40, 40, 3), "b": (40,)})
    shares = feature_shares("made-up", made, rounds)
    assert list(shares) == ["a", "b"]
    assert [len(one) for one in shares.values()] == [3, 1]
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
    both = {"one": runs({"a": (30, 30), "b": (30, 30)}), "two": runs({"b": (9,)}, n_features=5)}
    figure = features_figure(both)
    first, second = figure.axes
    assert (first.get_title(), second.get_title()) == ("one", "two")
    assert [len(np.asarray(line.get_xdata())) for line in first.lines] == [7, 7, 2]
    drawn = [np.asarray(line.get_ydata(), np.float64) for line in (*first.lines, *second.lines)]
    means = [values.mean(axis=0) for values in feature_shares("one", both["one"]).values()]
    np.testing.assert_allclose(drawn[:2], 100 * np.array(means))
    assert drawn[2] == pytest.approx([100 / 7, 100 / 7])
    assert drawn[3].sum() == pytest.approx(100)
    assert second.lines[0].get_color() == first.lines[1].get_color()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]
    assert "30 rounds, mean of 1 to 2 repetitions" in describe(figure)
    assert first.get_ylabel() == "percent of the stumps"
    trees = features_figure({"one": runs({"a": (30,)}, learner="tree:n_leaves=4")})
    assert trees.axes[0].get_ylabel() == "percent of the stumps of all searches"


def test_what_cannot_be_drawn_is_refused() -> None:
    wide = {"wide": runs({"a": (4,)}, MOST_FEATURES + 1)}
    with pytest.raises(SettingError, match="at most 50 features, but wide has 51; draw families"):
        features_figure(wide)
    features_figure({"most": runs({"a": (4,)}, MOST_FEATURES)})
    with pytest.raises(SettingError, match="stumps must be an integer between 1 and 4, got 5"):
        features_figure({"made-up": runs({"a": (4, 2)})}, 5)
    with pytest.raises(DataError, match="needs runs, got none"):
        features_figure({})


def test_shares_of_real_runs() -> None:
    found = comparison("chess(d=16,n=60)").runs
    shares = feature_shares("chess", found)
    assert tuple(shares) == STRATEGIES
    for values in shares.values():
        assert values.shape == (2, 16)
        np.testing.assert_allclose(values.sum(axis=1), 1)
