"""Curves of results on shared axes: interpolated within their range, banded, described."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.plots.curves import curves_figure
from boostsample.experiments.plots.drawing import describe, picture_bytes
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.run_curves import curves_of_data, shared_curve
from boostsample.experiments.results.runs import table_frame
from tests.experiments import fake_results, small_runs


def made(**shifts: float) -> Results:
    """Made-up results: a strategy each, two repetitions that differ by 0.2 and by their costs."""
    return fake_results.results(
        [
            fake_results.curve(name, repetition, shift=shift + 0.2 * repetition, cost=cost)
            for name, shift in shifts.items()
            for repetition, cost in ((0, 1000), (1, 2000))
        ],
        weights="uniform",
    )


def lines(axes: Any) -> dict[str, tuple[Any, Any]]:
    return {line.get_label(): (line.get_xdata(), line.get_ydata()) for line in axes.lines}


def test_curves_against_stumps_pass_through_the_rows() -> None:
    found = small_runs.results()
    left, right = curves_figure([found]).axes
    for axes, column in ((left, "log10_loss"), (right, "test_error")):
        assert list(lines(axes)) == list(small_runs.STRATEGIES)
        for label, (x, y) in lines(axes).items():
            assert np.diff(x).min() > 0
            for stumps, mean in zip(x, y, strict=True):
                values = [
                    row[column]
                    for row in found.curves
                    if label.startswith(row["strategy"]) and row["stumps"] == round(stumps)
                ]
                assert len(values) == 2
                assert mean == pytest.approx(np.mean(values))
    assert left.get_xlim() == (1, 20)


@pytest.mark.parametrize("against", ["looks", "seconds"])
def test_curves_against_looks_lie_within_what_all_repetitions_have(against: str) -> None:
    (axes,) = curves_figure([made(a=0.0)], against, ("loss",)).axes
    x, y = lines(axes)["a"]
    if against == "looks":
        assert (x[0], x[-1]) == pytest.approx((2000, 100_000))
        np.testing.assert_allclose(y, 0.1 - np.log10(x))  # shifts 0 and 0.2
    else:
        assert (x[0], x[-1]) == pytest.approx((0.002, 0.2))
    band = np.asarray(axes.collections[0].get_paths()[0].vertices)
    if against == "looks":
        ends = band[np.isclose(band[:, 0], x[-1]), 1]
        spread = np.std([0, 0.2], ddof=1)
        assert (ends.min(), ends.max()) == pytest.approx((y[-1] - spread, y[-1] + spread))


def test_a_run_that_ended_keeps_its_last_state() -> None:
    runs = [fake_results.curve("a", 0), fake_results.curve("a", 1, ends=10)]
    frames = list(map(table_frame, runs))
    x, values = shared_curve(frames, "log10_loss")
    assert x.tolist() == [1, 3, 10, 30, 100]
    np.testing.assert_allclose(values, [[row["log10_loss"] for row in run] for run in runs])
    x, values = shared_curve(frames, "log10_loss", "looks")
    assert x[-1] == pytest.approx(10_000)
    assert values[1][-1] == runs[1][-1]["log10_loss"]


def test_runs_that_share_no_range_have_no_curve_but_a_name() -> None:
    rows = [fake_results.curve("a", 0, cost=1), fake_results.curve("a", 1, cost=10_000)]
    found = fake_results.results([*rows, fake_results.curve("b", 0)])
    figure = curves_figure([found], "looks")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]
    assert len(lines(figure.axes[0])["a"][0]) == 0


def test_the_search_is_charged() -> None:
    curves = [
        fake_results.curve(name, r, shift=shift)
        for name, shift in (("ucb*", 0.0), ("ucb* charged", 1.0), ("full", 2.0))
        for r in (0, 1)
    ]
    found = fake_results.results(curves)
    alone = curves_figure([found], "looks", charged=False)
    assert list(lines(alone.axes[0])) == ["ucb*", "full"]
    figure = curves_figure([found], "looks")
    assert list(lines(figure.axes[0])) == ["ucb*", "ucb* charged", "full"]
    plain, charged, full = figure.axes[0].lines
    assert plain.get_color() == charged.get_color() != full.get_color()
    assert "tuned, without the cost of the search" in figure.get_suptitle()
    assert "tuned" not in curves_figure([found]).get_suptitle()


def test_ten_strategies_can_be_told_apart_without_colours() -> None:
    found = made(**{f"s{k}": float(k) for k in range(10)})
    drawn = curves_figure([found]).axes[0].lines
    assert len({str(line.get_marker()) for line in drawn}) == 10
    assert len({(line.get_color(), str(line.get_linestyle())) for line in drawn}) == 10


def test_each_data_set_has_its_row_of_panels_and_strategies_keep_their_looks() -> None:
    first = fake_results.results([fake_results.curve("a", 0), fake_results.curve("b", 0)])
    second = fake_results.results([fake_results.curve("b", 0, data="other")])
    figure = curves_figure([first, second])
    assert [axes.get_title() for axes in figure.axes] == ["made", "made", "other", "other"]
    assert figure.axes[0].lines[1].get_color() == figure.axes[2].lines[0].get_color()
    assert len(figure.legends) == 1
    with pytest.raises(SettingError, match="the data set 'made' is in two of the results folders"):
        curves_figure([first, first])


def test_the_sentence_says_who_is_best() -> None:
    figure = curves_figure([made(a=0.0, b=-1.0)])
    text = describe(figure)
    # log10 loss: -1 + 0.1 - log10 of 1000 and of 2000 looks a stump, after 100
    want = -1 + 0.1 - 5 - math.log10(2) / 2
    assert f"the lowest mean log10 loss is {want:.2f}, of b" in text
    assert f"the lowest mean test error is {100 + 10 * want:.2f} percent, of b" in text
    assert "After 100 stumps on made" in text
    assert "lowest mean log10 loss" in picture_bytes(figure).decode()


def test_metrics_of_classes_are_drawn_and_described() -> None:
    figure = curves_figure([made(a=0.0, b=-1.0)], metrics=("f1", "log-loss"))
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "macro F1",
        "log loss of the test examples",
    ]
    assert "the highest mean macro F1 is 0.30, of b" in str(figure.get_label())


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(DataError, match="must have rows, got none"):
        curves_of_data([Results({"rounds": []}, table_frame([]))])
    with pytest.raises(SettingError, match=r"unknown axis 'look' \(did you mean 'looks'"):
        curves_figure([made(a=0.0)], "look")
    with pytest.raises(SettingError, match="unknown metric 'auc'"):
        curves_figure([made(a=0.0)], metrics=("auc",))
    with pytest.raises(DataError, match="on made have computed no feature values"):
        curves_figure([made(a=0.0)], "values_computed")
    without = made(a=0.0)
    without.table["regret"] = math.nan
    with pytest.raises(DataError, match="on made have no regret; run boostsample compare with --r"):
        curves_figure([without], metrics=("regret",))


def test_infinite_values_of_a_metric_of_the_user_are_not_drawn() -> None:
    """Repetition 0 has an infinite value at 10 stumps; strategy b has no other."""
    result = made(a=0.0, b=0.0)
    table = result.table
    first = (table["strategy"] == "a") & (table["repetition"] == 0) & (table["stumps"] == 10)
    table.loc[first | (table["strategy"] == "b"), "f1"] = math.inf
    figure = curves_figure([result], metrics=("f1",))
    drawn = lines(figure.axes[0])
    assert list(drawn["a"][0]) == [1, 3, 30, 100]
    assert list(drawn["b"][0]) == []
    assert picture_bytes(figure)
    (curves,) = curves_of_data([result]).values()
    values = curves.at("f1", "looks", 50_000.0)
    assert values["b"] == {0: math.inf, 1: math.inf}
    assert values["a"][0] == pytest.approx(4.7 / 20, abs=0.02)
    curves_figure([result], "looks", metrics=("f1",))
