"""Kernels on weighted rows against plain loops, for rows of one and of several vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.jit.vectors import LANES
from boostsample.kernels import tiles
from boostsample.kernels.array_layout import N_BINS, Rows, lay_out_rows, matrix_of_rows, row_layout
from boostsample.kernels.row_kernels import RowKernels, UpdateFactors, partition, row_kernels
from boostsample.kernels.scores import add_bin_scores, add_scores
from tests import naive
from tests.compiled import COMPILED

#: Examples whose sums are formed at a time: small, so that there are several parts.
PART = 7
LABELS = (1, 2, 3, 5, 8, 10, 16, 17, 20, 26, 40)
WIDTHS = (1, 2, 3, 10, 17, 26)
EVERY = np.empty(0, np.int32)
THREE: Any = np.int16(3)


def width_of(n_labels: int) -> int:
    blocks, tail = row_layout(n_labels)
    return LANES * blocks + tail


def kernels_for(n_labels: int) -> RowKernels:
    return row_kernels(*row_layout(n_labels))


def laid_out(matrix: Any) -> NDArray[np.float32]:
    return lay_out_rows(matrix, width_of(matrix.shape[1]))


def padded(values: Any, fill: float) -> NDArray[np.float32]:
    """Rows (n, K) with the padding of the kernels, one after another."""
    rows = np.full((len(values), width_of(len(values[0]))), fill, np.float32)
    rows[:, : len(values[0])] = values
    return rows.ravel()


def sides_of(votes: NDArray[Any]) -> NDArray[np.float32]:
    """Outputs of a stump below and above its threshold."""
    return padded([-votes, votes], 1.0)


def sums_for(n: int, n_labels: int) -> tuple[Any, Any]:
    """Room for the sums and masses of the parts of n rows, filled with other numbers."""
    return np.full((-(-n // PART), width_of(n_labels)), 9.0), np.full(-(-n // PART), 9.0)


def rows_of(signed: Any, start: int = 0, examples: NDArray[np.int32] = EVERY) -> Rows:
    return Rows(start, examples, laid_out(signed), np.zeros(width_of(signed.shape[1])), 1.0)


@pytest.mark.parametrize("columns", [False, True])
def test_partition(columns: bool) -> None:
    rng = np.random.default_rng(41)
    column = rng.integers(0, 9, 60).astype(np.uint8)
    order = rng.permutation(40).astype(np.int32)
    at = rng.permutation(60)[:40].astype(np.int32) if columns else EVERY
    start, first, end = 0 if columns else 11, 5, 33
    bins = [int(column[at[p] if columns else start + p]) for p in order[first:end].tolist()]
    below = [p for p, b in zip(order[first:end].tolist(), bins, strict=True) if b < 3]
    above = [p for p, b in zip(order[first:end].tolist(), bins, strict=True) if b >= 3]
    want = [*order[:first].tolist(), *below, *above, *order[end:].tolist()]
    middle = partition(column, THREE, start, at, order, first, end, np.zeros(40, np.int32))
    assert middle == first + len(below)
    assert order.tolist() == want


# ---------------------------------------------------------------------------------------- updates


def naive_update(
    signed: NDArray[np.float32],
    phi: NDArray[np.int64],
    votes: NDArray[np.int64],
    right: float,
    wrong: float,
    floor: np.float32,
) -> NDArray[np.float32]:
    """w_il *= right where v_l phi_i y_il = +1, wrong elsewhere, and no smaller than the floor."""
    new = np.zeros_like(signed)
    for i in range(signed.shape[0]):
        for label in range(signed.shape[1]):
            w = signed[i, label]
            agrees = votes[label] * phi[i] * w > 0
            size = np.float32(abs(float(w)) * (right if agrees else wrong))  # rounded once
            new[i, label] = np.copysign(max(size, floor), w)
    return new


def check_update(
    signed: NDArray[np.float32],
    column: NDArray[np.uint8],
    threshold: int = 3,
    start: int = 0,
    examples: NDArray[np.int32] = EVERY,
    floor: float = 1e-30,
) -> None:
    n, n_labels = signed.shape
    votes = np.random.default_rng(n_labels).choice([-1, 1], n_labels)
    right, wrong, kernels = 0.7, 1.9, kernels_for(n_labels)
    rows, (sums, masses) = rows_of(signed, start, examples), sums_for(n, n_labels)
    floors = padded(np.full((1, n_labels), floor), 0.0)
    factors = UpdateFactors(sides_of(votes), right, wrong, floors)
    of_update = np.full(n, 9, np.float32)
    parts = PART, 0, len(sums)
    kernels.update(column, np.int16(threshold), rows, factors, *parts, sums, masses, of_update)
    at = examples if examples.size else np.arange(start, start + n)
    phi = np.where(column[at] >= threshold, 1, -1)
    want = naive_update(signed, phi, votes, right, wrong, np.float32(floor))
    updated = matrix_of_rows(rows.values, n, width_of(n_labels))
    usual = np.abs(want) >= 1e-30  # the floor of real runs; below it the last step is uncertain
    np.testing.assert_array_equal(updated[:, :n_labels][usual], want[usual])  # to the bit
    np.testing.assert_allclose(updated[:, :n_labels], want, rtol=2.0**-23, atol=3e-45)
    np.testing.assert_array_equal(updated[:, n_labels:], 0.0)
    wide = want.astype(np.float64)
    weight = np.full(n, 9, np.float32)
    kernels.totals(rows.values, weight)
    np.testing.assert_allclose(weight, np.abs(wide).sum(axis=1), rtol=1e-5)
    np.testing.assert_array_equal(of_update, weight)
    rounding = 8 * 2.0**-24  # of float32 sums of eight vectors
    away = np.abs(sums.sum(axis=0)[:n_labels] - wide.sum(axis=0))
    assert np.all(away <= rounding * np.abs(wide).sum(axis=0))
    np.testing.assert_array_equal(sums[:, n_labels:], 0.0)
    assert masses.sum() == pytest.approx(float(np.abs(wide).sum()), rel=1e-12)


@pytest.mark.parametrize("n_labels", LABELS)
def test_update(n_labels: int) -> None:
    rng = np.random.default_rng(n_labels)
    n = 30 if COMPILED else 6
    signed = (rng.normal(size=(n, n_labels)) / (n * n_labels)).astype(np.float32)
    column = rng.integers(0, 6, n + 9).astype(np.uint8)
    check_update(signed, column)
    check_update(signed, column, start=9)
    check_update(signed, column, examples=rng.permutation(n + 9)[:n].astype(np.int32))
    check_update(signed, column, threshold=1)
    check_update(signed, column, threshold=255)
    check_update(signed[:1], column)


@pytest.mark.parametrize("n_labels", [1, 2, 3, 10, 17])
@pytest.mark.parametrize("part_size", [1, 3, 4, 6, 8, 9, 33, 40, 300])
def test_whole_numbers_are_summed_exactly(part_size: int, n_labels: int) -> None:
    rng = np.random.default_rng(part_size)
    n = 300 if COMPILED else 70
    signed = rng.integers(1, 1000, (n, n_labels)) * rng.choice([-1, 1], (n, n_labels))
    column = rng.integers(0, 6, n).astype(np.uint8)
    rows, n_parts, width = rows_of(signed), -(-n // part_size), width_of(n_labels)
    sums, masses = np.full((n_parts, width), 9.0), np.full(n_parts, 9.0)
    votes = rng.choice([-1, 1], n_labels)
    factors = UpdateFactors(sides_of(votes), 2.0, 4.0, padded(np.ones((1, n_labels)), 0.0))
    parts, no_weight = (part_size, 0, n_parts), np.empty(0, np.float32)
    kernels = kernels_for(n_labels)
    kernels.update(column, THREE, rows, factors, *parts, sums, masses, no_weight)
    agrees = signed * votes * np.where(column >= 3, 1, -1)[:, None] > 0
    want = signed * np.where(agrees, 2, 4)
    np.testing.assert_array_equal(matrix_of_rows(rows.values, n, n_labels), want)
    for part in range(n_parts):
        of_part = want[part * part_size : (part + 1) * part_size]
        np.testing.assert_array_equal(sums[part, :n_labels], of_part.sum(axis=0))
        assert masses[part] == np.abs(of_part).sum()


@pytest.mark.parametrize("n_labels", [1, 3, 17])
def test_update_holds_small_weights_at_the_floor(n_labels: int) -> None:
    rng = np.random.default_rng(0)
    shape = 20, n_labels
    signed = np.copysign(10.0 ** rng.uniform(-44, 0, shape), rng.normal(size=shape))
    signed[0] = -0.0  # an underflow at the start keeps its side
    signed[1] = 0.0
    column = rng.integers(0, 6, 20).astype(np.uint8)
    check_update(signed.astype(np.float32), column, floor=1e-30)
    check_update(signed[2:].astype(np.float32), column, floor=0.0)


@pytest.mark.parametrize("K", WIDTHS)
@pytest.mark.parametrize("targets", [False, True])
def test_update_of_nodes(K: int, targets: bool) -> None:
    rng = np.random.default_rng(40 + K)
    source = rng.normal(size=(40, K)).astype(np.float32)
    positions = rng.permutation(40)[:18].astype(np.int32)
    other = source[positions] * rng.choice([-1.0, 1.0], (18, K)).astype(np.float32)
    votes = rng.choice([-1.0, 1.0], K)
    values, (sums, masses) = laid_out(source), sums_for(18, K)
    factors = UpdateFactors(padded([votes], 1.0), 0.7, 1.9, padded([np.full(K, 1e-30)], 0.0))
    signs = laid_out(other) if targets else np.empty(0, np.float32)
    update = kernels_for(K).update_nodes
    update(values, positions, signs, factors, PART, 0, len(sums), sums, masses)
    agree = (other if targets else source[positions]) * votes > 0
    want = source.astype(np.float64)
    want[positions] *= np.where(agree, 0.7, 1.9)
    np.testing.assert_allclose(values, laid_out(want.astype(np.float32)), rtol=1.3e-7)
    np.testing.assert_allclose(sums.sum(axis=0)[:K], want[positions].sum(axis=0), atol=1e-5)
    assert masses.sum() == pytest.approx(np.abs(want[positions]).sum(), rel=1e-6)


@pytest.mark.parametrize("K", WIDTHS)
def test_flip(K: int) -> None:
    rng = np.random.default_rng(30 + K)
    values = rng.normal(size=(30, K)).astype(np.float32)
    column, votes = rng.integers(0, 9, 60).astype(np.uint8), rng.choice([-1.0, 1.0], K)
    at = rng.permutation(60)[:30].astype(np.int32)
    rows, (sums, _) = rows_of(values, 0, at), sums_for(30, K)
    kernels_for(K).flip(column, THREE, rows, sides_of(votes), PART, 0, len(sums), sums)
    phi = np.where(column[at] >= 3, 1.0, -1.0)
    want = (values * phi[:, None] * votes).astype(np.float32)
    np.testing.assert_array_equal(rows.values, laid_out(want))
    np.testing.assert_allclose(sums.sum(axis=0)[:K], want.sum(axis=0, dtype=float), atol=1e-9)


# ----------------------------------------------------------------------- rows of nodes and samples


@pytest.mark.parametrize("K", WIDTHS)
def test_gather(K: int) -> None:
    rng = np.random.default_rng(50 + K)
    source = rng.normal(size=(50, K)).astype(np.float32)
    positions = rng.permutation(50)[:20].astype(np.int32)
    values, (sums, masses) = np.full(20 * width_of(K), np.nan, np.float32), sums_for(20, K)
    gather = kernels_for(K).gather
    gather(laid_out(source), positions, values, PART, 0, len(sums), sums, masses)
    np.testing.assert_array_equal(values, laid_out(source[positions]))
    for part in range(len(sums)):
        wide = source[positions][part * PART : (part + 1) * PART].astype(np.float64)
        np.testing.assert_allclose(sums[part, :K], wide.sum(axis=0), rtol=1e-12, atol=1e-12)
        assert masses[part] == pytest.approx(np.abs(wide).sum(), rel=1e-12)


@pytest.mark.parametrize("n_labels", LABELS)
def test_weigh(n_labels: int) -> None:
    rng = np.random.default_rng(n_labels)
    signed = rng.normal(size=(30, n_labels)).astype(np.float32)
    for positions in (range(30), [29], [3, 3, 0, 11]):
        examples = np.array(positions, np.int32)
        factors = rng.uniform(0.1, 1e6, examples.size)
        sampled = np.full(examples.size * width_of(n_labels), 9, np.float32)
        base = np.full(width_of(n_labels), 9.0)
        kernels_for(n_labels).weigh(laid_out(signed), examples, factors, sampled, base)
        want = np.zeros((examples.size, n_labels), np.float32)
        for t, i in enumerate(positions):
            for label in range(n_labels):
                want[t, label] = signed[i, label] * np.float32(factors[t])
        np.testing.assert_array_equal(sampled, laid_out(want))
        total = padded([want.sum(axis=0, dtype=np.float64)], 0.0)
        np.testing.assert_allclose(base, total, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n_labels", LABELS)
def test_totals_are_those_of_one_row_at_a_time(n_labels: int) -> None:
    rng = np.random.default_rng(n_labels)

    def weights_of(signed: NDArray[np.float32]) -> list[float]:
        weight = np.full(len(signed), 9, np.float32)
        kernels_for(n_labels).totals(laid_out(signed), weight)
        listed: list[float] = weight.tolist()
        return listed

    for n in (1, 7, 8, 9, 20):
        size = 10.0 ** rng.uniform(-9, 0, (n, 1))
        signed = (size * rng.normal(size=(n, n_labels))).astype(np.float32)
        one_by_one = [weights_of(row[None])[0] for row in signed]
        assert weights_of(signed) == one_by_one
        np.testing.assert_allclose(one_by_one, np.abs(signed).sum(axis=1), rtol=1e-5)


# ---------------------------------------------------------------------------- edges and histograms


@pytest.mark.parametrize("n_labels", LABELS)
def test_label_sums_and_signed_edges(n_labels: int) -> None:
    rng = np.random.default_rng(n_labels)
    kernels = kernels_for(n_labels)
    bins = rng.integers(0, 6, (5, 40)).astype(np.uint8)
    for start, examples in ((0, EVERY), (7, EVERY), (0, rng.integers(0, 40, 12, np.int32))):
        n = examples.size or 25
        weights = rng.normal(size=(n, n_labels)).astype(np.float32)
        columns = examples if examples.size else np.arange(start, start + n)
        features, thresholds = np.array([3, 0, 3]), np.array([2, 1, 255], np.int16)
        votes = rng.choice([-1, 1], (3, n_labels)).astype(np.int8)
        edges, work = np.empty(3), np.full(width_of(n_labels), np.nan)
        rows = rows_of(weights, start, examples)
        kernels.signed_edges(bins, features, thresholds, votes, rows, work, edges)
        for q in range(3):
            column, (sums, _) = bins[features[q]], sums_for(n, n_labels)
            kernels.label_sums(column, thresholds[q], rows, PART, 0, len(sums), sums)
            for part in range(len(sums)):
                stretch = slice(part * PART, (part + 1) * PART)
                used = column[columns[stretch]].tolist()
                few = naive.bin_sums(used, int(thresholds[q]), weights[stretch])
                np.testing.assert_allclose(sums[part, :n_labels], few, rtol=1e-13, atol=1e-14)
            np.testing.assert_array_equal(sums[:, n_labels:], 0.0)
            want = naive.bin_sums(column[columns].tolist(), int(thresholds[q]), weights)
            assert edges[q] == pytest.approx(float(votes[q] @ np.array(want)), abs=1e-9)


def histograms(bins: Any, features: Any, signed: Any, start: int, examples: Any) -> Any:
    """The sums by bin: float64 (Q, 256, K)."""
    K, last = signed.shape[1], np.zeros(features.size, np.uint8)
    hist = np.zeros(features.size * N_BINS * width_of(K))
    kernels_for(K).histograms(bins, features, rows_of(signed, start, examples), hist, last)
    used = examples if examples.size else np.arange(start, start + signed.shape[0])
    assert last.tolist() == [bins[f][used].max(initial=1) for f in features.tolist()]
    wide: Any = hist
    return [matrix_of_rows(sums, N_BINS, K) for sums in wide.reshape(features.size, -1)]


def naive_histograms(bins: Any, features: Any, signed: Any, columns: Any) -> Any:
    hist = np.zeros((len(features), N_BINS, signed.shape[1]))
    for q, feature in enumerate(features.tolist()):
        for t, column in enumerate(columns):
            for label in range(signed.shape[1]):
                hist[q, bins[feature, column], label] += float(signed[t, label])
    return hist


@pytest.mark.parametrize("top", [256, 3, 1])
@pytest.mark.parametrize("n_features", [1, 2, 5])
@pytest.mark.parametrize("K", WIDTHS)
def test_histograms(K: int, n_features: int, top: int) -> None:
    rng = np.random.default_rng(K)
    bins = rng.integers(0, top, (7, 60)).astype(np.uint8)
    features = rng.integers(0, 7, n_features)  # repeats, too
    signed = rng.normal(size=(41, K)).astype(np.float32)
    want = naive_histograms(bins, features, signed, range(9, 50))
    np.testing.assert_allclose(histograms(bins, features, signed, 9, EVERY), want, atol=1e-12)
    examples = rng.permutation(60)[:41].astype(np.int32)
    want = naive_histograms(bins, features, signed, examples.tolist())
    np.testing.assert_allclose(histograms(bins, features, signed, 0, examples), want, atol=1e-12)
    nothing = np.empty((0, K), np.float32)
    assert not np.any(histograms(bins, features, nothing, 0, EVERY))


def test_scores_of_a_tree_and_a_product() -> None:
    """Round 0: a root with a tree below on its side +1. Round 1: a product of two."""
    rng = np.random.default_rng(0)
    n, K = 25, 3
    sides = rng.integers(0, 2, (4, n)).astype(np.uint8)
    votes = rng.choice([-1.0, 1.0], (4, 2, K))
    parents = np.array([0, 0, 2, 2])
    children = np.array([[2, -1, 1], [1, -1, -1], [2, -1, -1], [2, -1, -1]])
    alphas, scores = np.array([0.5, 0.25]), np.zeros((n, K))
    room = np.zeros(4, np.uint8), np.zeros(K)
    add_scores(sides, np.array([2, 4]), parents, children, votes, alphas, *room, scores)
    for i in range(n):
        tree = votes[1, sides[1, i]] if sides[0, i] else votes[0, 0]
        product = votes[2, sides[2, i]] * votes[3, sides[3, i]]
        np.testing.assert_allclose(scores[i], 0.5 * tree + 0.25 * product)


@pytest.mark.parametrize("K", [1, 3])
def test_scores_of_a_tree_on_bins(K: int) -> None:
    """A root with a tree below on its side +1, which has one below on its side -1."""
    rng = np.random.default_rng(K)
    bins, rows = rng.integers(0, 6, (5, 40)).astype(np.uint8), rng.permutation(40)[:25]
    columns, thresholds = np.array([4, 0, 4]), np.array([2, 3, 5])
    children = np.array([[-1, 1], [2, -1], [-1, -1]])
    voted, scores = rng.normal(size=(3, 2, K)), np.ones((25, K))
    add_bin_scores(bins, columns, thresholds, children, voted, rows, scores)
    for row, row_scores in zip(rows, scores, strict=True):
        root, second, third = (bins[columns, row] >= thresholds).astype(int)
        leaf = voted[0, 0]
        if root:
            leaf = voted[1, 1] if second else voted[2, third]
        np.testing.assert_array_equal(row_scores, 1.0 + leaf)


STALE = 77


def naive_tile(bins: NDArray[np.uint8], features: NDArray[np.int64]) -> list[list[int]]:
    """The bins of each example in the order of the features, then zeros."""
    return [
        [int(bins[feature, i]) for feature in features] + [0] * (64 - features.size)
        for i in range(bins.shape[1])
    ]


def naive_octets(places: NDArray[np.int64]) -> tuple[list[int], int, list[int]]:
    """The octets in use, how many tiles have them, and the row of each feature."""
    octets = sorted({int(place) // 8 for place in places})
    at = [8 * octets.index(int(place) // 8) + int(place) % 8 for place in places]
    return octets, len({octet // 8 for octet in octets}), at


def filled(bins: NDArray[np.uint8], features: NDArray[np.int64]) -> NDArray[np.uint8]:
    n = bins.shape[1]
    tile = np.full(64 * n, STALE, np.uint8)
    tiles.fill_tile(bins.reshape(-1), n, features, tile)
    return tile


def gathered(
    copy: NDArray[np.uint8], n: int, octets: NDArray[np.int64], examples: NDArray[np.int32]
) -> NDArray[np.uint8]:
    stride = tiles.gathered_stride(examples.size)
    out = np.full(8 * octets.size * stride, STALE, np.uint8)
    tiles.gather_octets(copy, n, octets, examples, stride, out)
    return out.reshape(8 * octets.size, stride)[:, : examples.size]


@pytest.mark.parametrize("n", [1, 7, 8, 9, 63, 64, 65, 130])
@pytest.mark.parametrize("size", [1, 7, 8, 63, 64])
def test_a_tile_holds_the_bins_of_its_features(n: int, size: int, rng: np.random.Generator) -> None:
    bins = rng.integers(0, 256, (70, n)).astype(np.uint8)
    features = rng.permutation(70)[:size]
    assert filled(bins, features).reshape(n, 64).tolist() == naive_tile(bins, features)


@pytest.mark.parametrize("size", [1, 2, 30, 200, 1000])
@pytest.mark.parametrize("n_tiles", [1, 2, 9])
def test_octets_are_those_of_the_features(
    size: int, n_tiles: int, rng: np.random.Generator
) -> None:
    places = rng.integers(0, 64 * n_tiles, size)  # some more than once
    slots = np.full(8 * n_tiles, -5, np.int32)
    octets, at = np.empty((2, size), np.int64)
    used, used_tiles = tiles.find_octets(places, np.sort(places), slots, octets, at)
    assert (octets[:used].tolist(), used_tiles, at.tolist()) == naive_octets(places)


@pytest.mark.parametrize("n", [1, 9, 100])
@pytest.mark.parametrize("size", [1, 7, 8, 31, 33, 48, 85])
def test_gathered_octets_are_the_bins_of_the_examples(
    n: int, size: int, rng: np.random.Generator
) -> None:
    copy = rng.integers(0, 256, (5, n, 64)).astype(np.uint8)
    examples = rng.integers(0, n, size).astype(np.int32)
    for octets in ([0], [39], [3, 4, 8], [0, 1, 2, 3, 4, 5, 6, 7], [7, 8, 31, 38, 39]):
        got = gathered(copy.reshape(-1), n, np.array(octets), examples)
        for s, octet in enumerate(octets):
            for k in range(8):
                want = [copy[octet // 8, i, octet % 8 * 8 + k] for i in examples]
                assert got[8 * s + k].tolist() == want
