"""Stump search against its naive twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.jit.vectors import LANES
from boostsample.kernels.array_layout import N_BINS, Rows, found_room, lay_out_rows, row_layout
from boostsample.kernels.search import _FEW, _NEAR, _SPARSE, search_kernel, search_room
from tests import naive
from tests.compiled import COMPILED

LABELS = (1, 2, 3, 5, 8, 10, 16, 17, 26, 100)

#: Small, so that histograms are moved to the sums several times.
ROWS_A_BIN = 2
#: Edges are 1 at most: the sums of these weights are made small, and no digit of them is lost.
SCALE = 2.0**-20


def padded(weights: NDArray[Any]) -> NDArray[np.float32]:
    """Rows for the kernels, each padded with zeros to whole vectors."""
    blocks, tail = row_layout(weights.shape[1])
    return lay_out_rows(weights, LANES * blocks + tail)


def run_search(
    bins: NDArray[np.uint8],
    features: NDArray[np.int64],
    weights: NDArray[np.float32],
    n_bins: int = N_BINS,
    start: int = 0,
    examples: NDArray[np.int32] | None = None,
    tie: float = 0.0,
    rows_a_bin: int = ROWS_A_BIN,
    rough: bool = False,
    two_sided: bool = False,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Thresholds, votes and edges; `two_sided` votes are those above, then those below."""
    n_labels = weights.shape[1]
    blocks, tail = row_layout(n_labels)
    rows, q, width = padded(weights), features.size, LANES * blocks + tail
    room = search_room(n_labels)
    room.sums[:], room.work[:], room.rough[:] = 9.0, np.nan, np.nan  # stale on purpose
    found = found_room(q, n_labels, two_sided)
    base = np.pad(weights.astype(np.float64).sum(axis=0), (0, width - n_labels))
    named = np.empty(0, np.int32) if examples is None else examples
    search_kernel(blocks, tail)(
        bins,
        features,
        np.full(q, n_bins, np.int16),
        Rows(start, named, rows, base, SCALE),
        tie,
        rows_a_bin,
        rough,
        room,
        found,
    )
    assert not room.hist.any()  # as the next search expects it
    assert np.signbit(room.hist).all()
    of_rows = bins[:, examples] if examples is not None else bins[:, start : start + len(weights)]
    for feature, b, divides in zip(features, found.thresholds, found.divides, strict=True):
        assert divides == naive.divides(of_rows[feature].tolist(), b)
    votes = np.hstack([found.votes, found.below]) if two_sided else found.votes
    return found.thresholds, votes, found.edges / SCALE


def check_search(bins: NDArray[np.uint8], weights: NDArray[np.float32], **how: Any) -> None:
    """Every feature against the plain loops; near ties may go either way, by rounding only."""
    for two_sided in (False, True):
        check_sides(bins, weights, two_sided, **how)


def check_sides(
    bins: NDArray[np.uint8], weights: NDArray[np.float32], two_sided: bool, **how: Any
) -> None:
    features = np.arange(len(bins))
    thresholds, votes, edges = run_search(bins, features, weights, two_sided=two_sided, **how)
    columns = np.arange(len(weights)) + how.get("start", 0)
    columns = how.get("examples", columns)
    close = 1e-6 * float(np.abs(weights.astype(np.float64)).sum()) + 1e-37
    for q in features:
        column = bins[q, columns].tolist()
        n_bins = how.get("n_bins", N_BINS)
        best, _, edge, all_edges = naive.search(column, weights, n_bins, two_sided)
        assert edges[q] == pytest.approx(edge, abs=close)
        assert all_edges[thresholds[q] - 1] == pytest.approx(edge, abs=close)
        if sorted(all_edges)[-1] - sorted([*all_edges, -9])[-2] > 4 * close:
            assert thresholds[q] == best
        b = int(thresholds[q])
        sums = np.array(naive.bin_sums(column, b, weights))
        if two_sided:
            sides = [naive.side_sums(column, b, weights, above) for above in (True, False)]
            sums = np.concatenate(sides)
        clear = np.abs(sums) > close
        np.testing.assert_array_equal(votes[q][clear], np.where(sums >= 0, 1, -1)[clear])
        assert set(votes[q].tolist()) <= {-1, 1}


@pytest.mark.parametrize("n_labels", LABELS)
def test_search_on_random_rows(n_labels: int) -> None:
    rng = np.random.default_rng(n_labels)
    n = 40 if COMPILED else 8
    weights = (rng.normal(size=(n, n_labels)) / (n * n_labels)).astype(np.float32)
    for n_features in (1, 2, 3, 4, 5, 8, 11):  # groups of five, of two, and one left over
        check_search(rng.integers(0, 6, (n_features, n)).astype(np.uint8), weights)


@pytest.mark.parametrize("n_labels", [1, 3, 16, 17])
def test_search_on_extreme_rows(n_labels: int) -> None:
    rng = np.random.default_rng(n_labels)
    weights = rng.normal(size=(12, n_labels)).astype(np.float32)
    constant = np.full((1, 12), 3, np.uint8)
    missing = np.zeros((1, 12), np.uint8)
    ends = rng.choice([0, 1, 255], (3, 12)).astype(np.uint8)
    for bins in (constant, missing, ends, np.concatenate([constant, ends, missing])):
        check_search(bins, weights)
        check_search(bins, np.abs(weights))
        check_search(bins, weights * np.float32(1e-30))
        check_search(bins[:, :1].copy(), weights[:1])  # one example
    spread = 10.0 ** rng.uniform(-30, 0, weights.shape)
    check_search(ends, np.copysign(spread, weights).astype(np.float32))
    check_search(ends, np.zeros((12, n_labels), np.float32))


@pytest.mark.parametrize("n_labels", [1, 3, 17])
def test_search_reads_the_examples_that_are_named(n_labels: int) -> None:
    rng = np.random.default_rng(0)
    bins = rng.integers(0, 5, (5, 30)).astype(np.uint8)
    weights = rng.normal(size=(9, n_labels)).astype(np.float32)
    check_search(bins, weights, start=13)
    check_search(bins, weights, examples=rng.permutation(30)[:9].astype(np.int32))
    check_search(bins, weights, examples=np.full(9, 29, np.int32))


@pytest.mark.parametrize("n_labels", [1, 3, 10, 17])
@pytest.mark.parametrize("rough", [False, True])
@pytest.mark.parametrize("two_sided", [False, True])
def test_skipping_empty_bins_changes_no_bit(n_labels: int, rough: bool, two_sided: bool) -> None:
    rng = np.random.default_rng(n_labels)
    n = _SPARSE if COMPILED else 10
    for least in (0, 1, 200):  # with missing values, without, and far from the first bin
        bins = rng.integers(least, N_BINS, (13, n)).astype(np.uint8)
        bins[::3] = least + bins[::3] % 20
        weights = rng.normal(size=(n, n_labels)).astype(np.float32)
        how: dict[str, Any] = {"rows_a_bin": _SPARSE + 1, "rough": rough, "two_sided": two_sided}
        few = run_search(bins, np.arange(13), weights, **how)
        again = np.concatenate([bins, bins[:, :1].repeat(_SPARSE, axis=1)], axis=1)
        nothing = np.zeros((_SPARSE, n_labels), np.float32)
        many = run_search(again, np.arange(13), np.concatenate([weights, nothing]), **how)
        for one, other in zip(few, many, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n", [_FEW, _FEW + 1, _NEAR, _NEAR + 1] if COMPILED else [40])
def test_rows_are_searched_alike_however_their_bins_are_fetched(n: int) -> None:
    rng = np.random.default_rng(n)
    bins = rng.integers(0, 255, (13, 2 * n)).astype(np.uint8)
    weights = rng.normal(size=(n, 17)).astype(np.float32)
    examples = np.sort(rng.permutation(2 * n)[:n]).astype(np.int32)
    features = rng.permutation(13)
    named = run_search(bins, features, weights, examples=examples)
    moved = run_search(np.ascontiguousarray(bins[:, examples]), features, weights)
    for one, other in zip(named, moved, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("rows_a_bin", [1, 64])
@pytest.mark.parametrize("n_labels", [1, 3, 10, 17])
def test_the_last_bin_in_use_can_be_the_best_cut(n_labels: int, rows_a_bin: int) -> None:
    rng = np.random.default_rng(n_labels)
    for highest in (*range(1, 27), 247, 248, 249, 255):
        column = np.append(np.arange(highest), [highest] * 5).astype(np.uint8)
        votes = rng.choice([-1, 1], n_labels)
        sides = np.where(column == highest, 1, -1)
        weights = (sides[:, None] * votes / column.size).astype(np.float32)
        thresholds, found, edges = run_search(
            column[None], np.zeros(1, np.int64), weights, rows_a_bin=rows_a_bin
        )
        assert thresholds.tolist() == [highest]
        assert found.tolist() == [votes.tolist()]
        assert edges[0] == pytest.approx(n_labels, rel=1e-6)


@pytest.mark.parametrize("n_labels", LABELS)
def test_sweeps_in_float32(n_labels: int) -> None:
    rng = np.random.default_rng(n_labels)
    how: dict[str, Any] = {"rough": True, "rows_a_bin": 64}
    n = 300 if COMPILED else 8
    weights = (rng.normal(size=(n, n_labels)) / (n * n_labels)).astype(np.float32)
    for n_features in (1, 2, 5, 8):
        check_search(rng.integers(0, 40, (n_features, n)).astype(np.uint8), weights, **how)
    examples = rng.permutation(2 * n)[:n].astype(np.int32)
    check_search(
        rng.choice([0, 1, 3, 255], (7, 2 * n)).astype(np.uint8), weights, examples=examples, **how
    )
    few = weights[:12] * np.float32(n)
    for bins in (np.full((1, 12), 3), np.zeros((1, 12)), rng.choice([0, 1, 255], (3, 12))):
        for signed in (few, np.abs(few), few * np.float32(1e-30), few[:1], 0 * few):
            check_search(bins[:, : len(signed)].astype(np.uint8), signed, **how)


@pytest.mark.parametrize("n_labels", [1, 3, 17])
@pytest.mark.parametrize("rough", [False, True])
def test_ties_go_to_the_lowest_threshold(n_labels: int, rough: bool) -> None:
    # Whole numbers, so that no sum rounds: thresholds 1 .. 3 and 4 .. 6 cut alike.
    bins = np.array([[3, 3, 6, 6], [0, 0, 6, 6], [2, 3, 4, 5]], np.uint8)
    weights = np.ones((4, n_labels), np.float32)
    weights[2:] = -1
    how: dict[str, Any] = {"rough": rough, "rows_a_bin": 64}
    thresholds, votes, edges = run_search(bins, np.arange(3), weights, **how)
    np.testing.assert_array_equal(thresholds, [4, 1, 4])
    np.testing.assert_array_equal(edges, 4 * n_labels)
    np.testing.assert_array_equal(votes, -1)
    thresholds, votes, _ = run_search(bins, np.arange(3), np.zeros((4, n_labels), np.float32))
    np.testing.assert_array_equal(thresholds, [4, 1, 3])  # everything ties: the lowest that divides
    np.testing.assert_array_equal(votes, 1)  # a sum of 0 votes +1
    bins = np.array([[1, 2, 3, 4]], np.uint8)
    weights = np.array([[-1.0], [-0.001], [1.0], [1.0]], np.float32)  # best cut: 3, then 2
    for tie, want in ((0.0, 3), (0.0019, 3), (0.0021, 2), (3.0, 2)):
        assert run_search(bins, np.arange(1), weights, tie=tie, **how)[0][0] == want


@pytest.mark.parametrize("n_labels", [1, 2, 17])
@pytest.mark.parametrize("rough", [False, True])
@pytest.mark.parametrize("two_sided", [False, True])
def test_of_equal_edges_a_cut_that_divides_wins(
    n_labels: int, rough: bool, two_sided: bool
) -> None:
    rng = np.random.default_rng(n_labels)
    how: dict[str, Any] = {"rough": rough, "rows_a_bin": 64, "two_sided": two_sided}
    for trial in range(50 if COMPILED else 5):
        n, least, most = int(rng.integers(1, 70)), int(rng.integers(0, 3)), rng.integers(3, 9)
        bins = rng.integers(least, most, (3, n)).astype(np.uint8) * rng.choice([1, 30])
        weights = rng.choice([-1, 1], (n, n_labels))  # whole numbers: no sum rounds
        weights[:] = weights[:, : (n_labels, 1)[trial % 2]]
        thresholds, votes, _ = run_search(bins, np.arange(3), weights.astype(np.float32), **how)
        for q in range(3):
            want = naive.search(bins[q].tolist(), weights, N_BINS, two_sided)
            assert (thresholds[q], votes[q].tolist()) == want[:2], bins[q]


def test_edges_are_at_most_one() -> None:
    weights = np.full((4, 3), 2 / 3 / SCALE, np.float32)
    _, _, edges = run_search(np.zeros((1, 4), np.uint8), np.arange(1), weights)
    assert edges.tolist() == [1 / SCALE]


@pytest.mark.parametrize("rows_a_bin", [1, 2, 64])
def test_long_sums_keep_their_digits(rows_a_bin: int) -> None:
    """Equal float32 terms would all round alike: a plain float32 sum of them drifts by 1e-5."""
    n = 60_000 if COMPILED else 300
    bins = np.random.default_rng(0).integers(1, 3, (5, n)).astype(np.uint8)
    weights = np.full((n, 1), 1 / (3 * n), np.float32)
    _, _, edges = run_search(bins, np.arange(5), weights, n_bins=3, rows_a_bin=rows_a_bin)
    np.testing.assert_allclose(edges, weights.astype(np.float64).sum(), rtol=1e-7)


@pytest.mark.parametrize("rows_a_bin", [1, 2, 3, 64])
def test_search_adds_up_every_row_whatever_the_chunks(rows_a_bin: int) -> None:
    rng = np.random.default_rng(3)
    n = 300 if COMPILED else 30
    weights = rng.normal(size=(n, 3)).astype(np.float32)
    bins = np.minimum(rng.geometric(0.4, (6, n)), 4).astype(np.uint8)  # skewed, as pixels are
    check_search(bins, weights, n_bins=5, rows_a_bin=rows_a_bin)
