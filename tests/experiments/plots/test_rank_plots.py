"""Critical-difference diagrams: ranks, groups that are not told apart, what is left out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from boostsample.errors import SettingError
from boostsample.experiments.plots.drawing import describe
from boostsample.experiments.plots.ranks import rank_bars, ranks_figure
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.significance import critical_difference, ranking
from tests.experiments import fake_results


def results(data: str, *shifts: float, **settings: float) -> Results:
    """Strategies a, b, ... with these losses, the lowest being the best; `settings` by name."""
    named = {**dict(zip("abcdefgh", shifts, strict=False)), **settings}
    return fake_results.results(
        [
            fake_results.curve(name, repetition, shift=shift + 0.01 * repetition, data=data)
            for name, shift in named.items()
            for repetition in (0, 1)
        ]
    )


MANY = [results(f"d{k}", 0.1, 0.2, 0.3, 0.4) for k in range(12)]


def test_strategies_are_ranked_on_each_data_set() -> None:
    found = ranking([results("x", 1, 2, 3), results("y", 3, 1, 2), results("z", 2, 1, 3)])
    assert found.labels == ("b", "a", "c")
    np.testing.assert_allclose(found.ranks, [4 / 3, 2, 8 / 3])
    assert found.data == ("x", "y", "z")
    assert found.stumps == {"x": 100, "y": 100, "z": 100}
    assert found.scores.shape == (3, 3)
    np.testing.assert_allclose(found.scores[0], [2.005 - 5, 1.005 - 5, 3.005 - 5])


def test_the_mark_and_the_metric_may_be_chosen() -> None:
    first, second = results("x", 1, 2), results("y", 1, 2)
    for result in (first, second):
        result.table.loc[result.table["stumps"] == 10, "test_error"] *= -1
    assert ranking([first, second], "error").labels == ("a", "b")
    assert ranking([first, second], "error", 10).labels == ("b", "a")
    assert ranking([first, second], "loss", 10).labels == ("a", "b")
    assert ranking([first, second], "f1").labels == ("a", "b")  # higher is better
    with pytest.raises(SettingError, match=r"known at .*10, 100 stumps"):
        ranking([first, second], stumps=11)
    with pytest.raises(SettingError, match="equal stumps, got 10 at equal looks; leave one"):
        ranking([first, second], stumps=10, axis="looks")


def test_what_is_not_in_every_data_set_is_left_out_and_said() -> None:
    first = results("x", 1, 2, 3, extra=9, **{"ucb*": 4, "ucb* charged": 0})
    others = [results(name, 1, 2, 3, **{"ucb*": 4, "ucb* charged": 0}) for name in "yz"]
    found = ranking([first, *others])
    assert found.labels == ("a", "b", "c", "ucb*")
    assert found.left_out == ("extra",)
    text = ranks_figure([first, *others]).get_supxlabel()
    assert "Left out, as not in every data set: extra." in text


def test_means_of_fewer_repetitions_are_said() -> None:
    folders = [results(name, 1, 2, 3) for name in "xy"]
    runs = [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("c", 1)]
    fewer = fake_results.results([fake_results.curve(*run, data="z") for run in runs])
    assert ranking([*folders, results("z", 1, 2, 3)]).fewer == ()
    assert ranking([*folders, fewer]).fewer == ("b",)
    text = ranks_figure([*folders, fewer]).get_supxlabel()
    assert "Means of fewer repetitions than others: b." in text
    assert "repetitions" not in ranks_figure(MANY).get_supxlabel()


@pytest.mark.parametrize(("n", "least"), [(2, 4), (3, 3), (8, 3)])
def test_a_diagram_needs_as_many_data_sets_as_can_show_a_difference(n: int, least: int) -> None:
    """The difference is below the largest one of mean ranks, and is not with one set less."""
    assert critical_difference(n, least) < n - 1 <= critical_difference(n, least - 1)
    found = [results(f"d{k}", *range(n)) for k in range(least)]
    assert f"{least} data sets" in describe(ranks_figure(found))
    message = f"of {n} strategies needs {least} data sets or more, got {least - 1} .*give more"
    with pytest.raises(SettingError, match=message):
        ranks_figure(found[:-1])


def test_bars_join_what_is_not_told_apart_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        ranks = np.sort(rng.uniform(1, 8, 8))
        difference = rng.uniform(0.3, 4)
        groups = rank_bars(ranks, difference)
        joined = {
            pair
            for first, last in groups
            for pair in itertools.combinations(range(first, last + 1), 2)
        }
        assert joined == {
            (i, j)
            for i, j in itertools.combinations(range(8), 2)
            if ranks[j] - ranks[i] < difference
        }
        for one, other in itertools.permutations(groups, 2):
            assert not (other[0] <= one[0] and one[1] <= other[1])


def test_the_diagram_shows_ranks_bars_and_the_difference() -> None:
    figure = ranks_figure(MANY)
    (axes,) = figure.axes
    texts = [text.get_text() for text in axes.texts]
    difference = critical_difference(4, 12)
    assert f"CD = {difference:.2f}" in texts
    assert {"a  1.00", "b  2.00", "4.00  d", "3.00  c"} <= set(texts)
    thick = [line for line in axes.lines if line.get_linewidth() == 4]
    assert len(thick) == 3  # neighbours only
    text = describe(figure)
    assert "a 1.00, b 2.00, c 3.00, d 4.00" in text
    assert "Not told apart: a to b; b to c; c to d." in text
