"""The naive products and trees, held to cases computed by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.learner import EDGE_GAP
from tests.learners.naive_learners import NaiveBooster, NaiveRound, best_stump
from tests.naive import search

#: XOR of two features at (0, 0), (0, 1), (1, 0), (1, 1), with bins 1 and 2.
XOR = np.array([[1, 1, 2, 2], [1, 2, 1, 2]], np.uint8)
XOR_Y = np.array([[1], [-1], [-1], [1]])
#: Signed: .4, -.3, -.2, .1. The constant has edge 0, feature 0 .2, feature 1 .4, all negative.
XOR_WEIGHTS = np.array([[0.4], [0.3], [0.2], [0.1]])


def xor(learner: str, size: int) -> NaiveBooster:
    return NaiveBooster(XOR, np.array([3, 3]), XOR_Y, learner, size, XOR_WEIGHTS)


def stumps(done: NaiveRound) -> list[Any]:
    return [(s.feature, s.threshold, int(s.votes[0]), s.edge) for s in done.searches]


def random_problem(seed: int) -> tuple[NDArray[np.uint8], NDArray[Any], NDArray[Any]]:
    """Bins (3, 40), of which some are missing, their number, and targets (40, 4)."""
    rng = np.random.default_rng(seed)
    n_bins = np.array([7, 2, 4])
    bins = (rng.random((3, 40)) * n_bins[:, None]).astype(np.uint8)
    bins[np.arange(3), :3] = n_bins[:, None] - 1  # the last bin is in use
    return bins, n_bins, rng.normal(size=(40, 4))


def test_xor_as_a_stump() -> None:
    done = xor("stump", 1).next_round()
    assert stumps(done) == [(1, 2, -1, pytest.approx(0.4))]
    assert done.gamma == pytest.approx(0.4)
    assert done.alpha == pytest.approx(0.5 * math.log(1.4 / 0.6))


def test_xor_as_a_product_of_two_terms_has_edge_1() -> None:
    booster = xor("product", 2)
    done = booster.next_round()
    # The targets of search 1 are s times -phi of feature 1: .4, .3, -.2, -.1.
    assert stumps(done) == [
        (1, 2, -1, pytest.approx(0.4)),
        (0, 2, -1, pytest.approx(1.0)),
        (1, 2, -1, pytest.approx(1.0)),  # the first term again: no gain
    ]
    assert [s.in_model for s in done.searches] == [True, True, False]
    assert done.gamma == pytest.approx(1.0)
    assert done.alpha == pytest.approx(0.5 * math.log((2 - EDGE_GAP) / EDGE_GAP))
    assert done.o[:, 0].tolist() == [1, -1, -1, 1]
    assert booster.ended
    with pytest.raises(ValueError, match="edge of 1"):
        booster.next_round()


def test_a_product_of_one_term_is_a_stump_and_a_search_in_vain() -> None:
    done = xor("product", 1).next_round()
    assert stumps(done) == [(1, 2, -1, pytest.approx(0.4))] * 2
    assert done.gamma == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("n_leaves", "gamma", "o", "searched"),
    [
        # Leaves of feature 1: {.4, -.2} votes +1, {-.3, .1} votes -1.
        (2, 0.4, [1, -1, 1, -1], [(-1, 0)]),
        # Splits by feature 0 gain .4 and .2; the first one is taken.
        (3, 0.8, [1, -1, -1, -1], [(-1, 0), (0, -1), (0, 1)]),
        # The new leaves have one example each: they are not searched.
        (4, 1.0, [1, -1, -1, 1], [(-1, 0), (0, -1), (0, 1)]),
        (9, 1.0, [1, -1, -1, 1], [(-1, 0), (0, -1), (0, 1)]),
    ],
)
def test_xor_as_a_tree(
    n_leaves: int, gamma: float, o: list[int], searched: list[tuple[int, int]]
) -> None:
    done = xor("tree", n_leaves).next_round()
    assert done.gamma == pytest.approx(gamma)
    assert done.o[:, 0].tolist() == o
    assert [(s.parent, s.side) for s in done.searches] == searched
    if n_leaves > 2:
        # -.4 - .2 of a weight of .6; -.3 - .1 of .4.
        assert stumps(done)[1:] == [(0, 2, -1, pytest.approx(1)), (0, 2, 1, pytest.approx(1))]
        assert [s.gain for s in done.searches[1:]] == pytest.approx([0.4, 0.2])
        assert [s.n_examples for s in done.searches] == [4, 2, 2]
        assert [s.in_model for s in done.searches] == [True, True, n_leaves > 3]


def test_a_pure_leaf_is_not_searched() -> None:
    bins = np.array([[1, 1, 2, 2, 2], [1, 2, 1, 2, 2]], np.uint8)
    Y = np.array([[1], [1], [-1], [1], [1]])
    weights = np.array([0.3, 0.3, 0.2, 0.1, 0.1])[:, None]
    # Feature 0 and the constant have edge .6 - (-.2 + .2) and .6: the cut that divides wins.
    assert best_stump(bins, np.array([3, 3]), weights * Y).threshold == 2
    weights = np.array([0.25, 0.25, 0.3, 0.1, 0.1])[:, None]
    done = NaiveBooster(bins, np.array([3, 3]), Y, "tree", 4, weights).next_round()
    # Feature 0 has edge .6. Its low leaf, .25 and .25, is pure; the high one is split by feature 1.
    assert [(s.feature, s.threshold, s.parent, s.side) for s in done.searches] == [
        (0, 2, -1, 0),
        (1, 2, 0, 1),
    ]
    assert done.gamma == pytest.approx(1.0)


def test_balanced_xor_begins_with_an_edge_of_0() -> None:
    """All candidates have edge 0: the first that divides goes first."""
    for learner in ("product", "tree"):
        booster = NaiveBooster(XOR, np.array([3, 3]), XOR_Y, learner, 4, np.ones((4, 1)))
        done = booster.next_round()
        assert stumps(done)[0] == (0, 2, 1, 0.0)
        assert len(done.searches) == 3
        assert done.gamma == pytest.approx(1.0)
        assert done.o[:, 0].tolist() == [1, -1, -1, 1]


def test_two_sides_have_votes_of_their_own() -> None:
    bins = np.array([[1, 2, 3]], np.uint8)
    targets = np.array([[0.3, 0.1], [0.1, -0.1], [0.0, -0.4]])
    # Of b = 1, 2, 3. Opposite votes: .4 + .4, (.3 - .1) + (.1 + .5), (.4 - 0) + (0 + .4).
    opposite = best_stump(bins, np.array([4]), targets)
    assert opposite.threshold == 2
    assert opposite.edge == pytest.approx(0.8)
    # Votes of their own: .4 + .4, (.3 + .1) + (.1 + .5), (.4 + 0) + (0 + .4).
    two = best_stump(bins, np.array([4]), targets, two_sided=True)
    assert two.threshold == 2
    assert two.edge == pytest.approx(1.0)
    targets = np.array([[0.5, 0.1], [0.2, -0.3], [0.3, 0.3]])
    # Opposite votes: 1 + .1, 0 + .1, (.7 - .3) + (.2 + .3); their own: 1 + .1, 1 + .1, 1 + .5.
    opposite = best_stump(bins, np.array([4]), targets)
    assert (opposite.threshold, opposite.divides) == (1, False)
    assert opposite.edge == pytest.approx(1.1 / 1.7)
    two = best_stump(bins, np.array([4]), targets, two_sided=True)
    assert (two.threshold, two.divides) == (3, True)
    assert two.edge == pytest.approx(1.5 / 1.7)


def test_a_constant_column_is_the_constant_stump() -> None:
    bins = np.array([[1, 1, 1, 1]], np.uint8)
    targets = np.array([[0.4, -0.1], [-0.1, -0.1], [0.1, 0.1], [0.1, -0.1]])
    stump = best_stump(bins, np.array([2]), targets)
    assert (stump.feature, stump.threshold, stump.votes.tolist()) == (0, 1, [1, -1])
    assert stump.edge == pytest.approx(0.7 / 1.1)


def test_missing_values_are_below_every_threshold() -> None:
    bins = np.array([[0, 0, 1, 2]], np.uint8)
    Y = np.array([[1], [1], [-1], [-1]])
    booster = NaiveBooster(bins, np.array([3]), Y, "tree", 2, np.ones((4, 1)))
    done = booster.next_round()
    assert stumps(done) == [(0, 1, -1, pytest.approx(1.0))]
    assert done.outputs(np.array([[0, 1, 2]], np.uint8))[:, 0].tolist() == [1, -1, -1]


def test_ties_go_to_the_first_feature() -> None:
    """Features 0 and 1 cut alike, mirrored; feature 2 has another cut of the same edge."""
    bins = np.array([[1, 1, 3, 3], [2, 2, 1, 1], [1, 1, 1, 1]], np.uint8)
    targets = np.array([[0.3], [0.3], [0.2], [0.2]])
    stump = best_stump(bins, np.array([4, 3, 2]), targets)
    assert (stump.feature, stump.threshold) == (0, 1)  # the constant
    targets = np.array([[0.3, 0.2], [0.3, 0.2], [-0.2, 0.1], [-0.2, 0.1]])
    stump = best_stump(bins, np.array([4, 3, 2]), targets)
    assert (stump.feature, stump.threshold) == (0, 2)
    chosen = best_stump(bins, np.array([4, 3, 2]), targets, chosen=(1, 2))
    assert (chosen.feature, chosen.threshold) == (1, 2)
    assert chosen.votes.tolist() == [1, 1]
    assert stump.votes.tolist() == [-1, -1]
    refused = best_stump(bins, np.array([4, 3, 2]), targets, chosen=(2, 1))
    assert (refused.feature, refused.threshold) == (0, 2)


def test_a_label_sum_of_0_votes_plus_whatever_its_rounding() -> None:
    assert -0.1 - 0.2 + 0.3 < 0
    targets = np.array([[-0.1], [-0.2], [0.3]])
    stump = best_stump(np.array([[1, 1, 1]], np.uint8), np.array([2]), targets)
    assert stump.votes.tolist() == [1]
    assert stump.least_sum == pytest.approx(0, abs=1e-15)


def test_only_stumps_of_nearly_the_same_edge_are_followed() -> None:
    bins = np.vstack([XOR, XOR[1]])
    booster = NaiveBooster(bins, np.array([3, 3, 3]), XOR_Y, "product", 2, XOR_WEIGHTS)
    done = booster.next_round([(2, 2), (1, 2)])
    assert [s[:2] for s in stumps(done)] == [(2, 2), (0, 2), (1, 2)]


@pytest.mark.parametrize("seed", range(5))
def test_the_search_is_the_plain_loop(seed: int) -> None:
    bins, n_bins, targets = random_problem(seed)
    plain = [search(bins[j].tolist(), targets, int(n_bins[j])) for j in range(3)]
    best = max(range(3), key=lambda j: plain[j][2])
    stump = best_stump(bins, n_bins, targets)
    assert (stump.feature, stump.threshold) == (best, plain[best][0])
    assert stump.votes.tolist() == plain[best][1]
    assert stump.edge == pytest.approx(plain[best][2] / np.abs(targets).sum())


@pytest.mark.parametrize(("learner", "size"), [("stump", 1), ("product", 3), ("tree", 5)])
def test_edges_weights_and_outputs_of_some_rounds(learner: str, size: int) -> None:
    bins, n_bins, targets = random_problem(9)
    Y = np.where(targets > 0, 1, -1)
    booster = NaiveBooster(bins, n_bins, Y, learner, size, np.ones(Y.shape))
    loss = 1.0
    for _ in range(10):
        w = booster.w
        done = booster.next_round()
        assert (done.outputs(bins) == done.o).all()
        assert done.gamma == pytest.approx((w * Y * done.o).sum())
        loss *= math.sqrt(1 - done.gamma**2)
        in_model = [s for s in done.searches if s.in_model]
        if done.tree is None:
            assert done.gamma == pytest.approx(max(s.edge for s in done.searches))
            assert len(in_model) <= size
        else:
            gains = sum(s.gain for s in in_model) + np.abs((w * Y).sum(axis=0)).sum()
            assert done.gamma == pytest.approx(gains)
            assert len(in_model) <= size - 1
    assert loss == pytest.approx(np.exp(-Y * booster.scores).mean())
    assert booster.log10_loss == pytest.approx(math.log10(loss))
