"""Stump search: per-label histograms of the signed weights, and the sweep over their thresholds.

Layouts. `bins` (F, n) uint8, feature-major; bin 0 holds missing values. `rows` float32, flat (T *
P): for each example the signed label weights w_il * y_il, padded with zeros from K to P = lanes *
blocks labels. `examples` int32 gives the bank column of each row; empty means columns start,
start + 1, ... A stump (feature, threshold b) is phi = +1 where bin >= b, else -1.

Cost: one look, that is one vector load, add and store a block, for each feature and row, and
about 600 more vector steps a feature for the sweep.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample._jit import kernel_for
from boostsample.kernels.vectors import add, fill, load, magnitude, multiply, store, total, widen

Bytes: TypeAlias = NDArray[np.uint8]
Ints: TypeAlias = NDArray[np.integer[Any]]
Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]


N_BINS = 256
#: Features whose histograms are filled in one pass over the rows.
GROUP = 4


class SearchKernels(NamedTuple):
    """The kernels of this module, compiled for one number of lanes and blocks."""

    search: Any
    label_sums: Any
    signed_edges: Any


@functools.cache
def search_kernels(lanes: int, blocks: int) -> SearchKernels:
    """Kernels for rows of `lanes * blocks` labels, lanes one of 1, 2, 4, 8, 16."""
    width = lanes * blocks
    kernel = kernel_for(lanes, blocks)

    @kernel
    def fill_one(
        column: Bytes, start: int, examples: Ints, rows: Floats, first: int, end: int, hist: Floats
    ) -> None:
        for t in range(first, end):
            i = examples[t] if examples.size else start + t
            h = np.int64(column[i]) * width
            for k in range(blocks):
                at = h + k * lanes
                value = load(rows, t * width + k * lanes, lanes)
                store(hist, at, add(load(hist, at, lanes), value))

    @kernel
    def fill_group(
        bins: Bytes,
        features: Ints,
        q: int,
        start: int,
        examples: Ints,
        rows: Floats,
        first: int,
        end: int,
        hist: Floats,
    ) -> None:
        column0 = bins[features[q]]
        column1 = bins[features[q + 1]]
        column2 = bins[features[q + 2]]
        column3 = bins[features[q + 3]]
        step = N_BINS * width
        for t in range(first, end):
            i = examples[t] if examples.size else start + t
            h0 = np.int64(column0[i]) * width
            h1 = np.int64(column1[i]) * width + step
            h2 = np.int64(column2[i]) * width + 2 * step
            h3 = np.int64(column3[i]) * width + 3 * step
            for k in range(blocks):
                at = k * lanes
                value = load(rows, t * width + at, lanes)
                store(hist, h0 + at, add(load(hist, h0 + at, lanes), value))
                store(hist, h1 + at, add(load(hist, h1 + at, lanes), value))
                store(hist, h2 + at, add(load(hist, h2 + at, lanes), value))
                store(hist, h3 + at, add(load(hist, h3 + at, lanes), value))

    @kernel
    def flush(hist: Floats, sums: Doubles, size: int) -> None:
        """Move the first `size` entries of a float32 histogram to its float64 sums."""
        for at in range(0, size, lanes):
            value = load(hist, at, lanes)
            store(sums, at, add(load(sums, at, lanes), widen(value)))
            store(hist, at, fill(value, np.float32(0.0)))

    @kernel
    def last_bin(column: Bytes, start: int, examples: Ints, n: int, sums: Doubles) -> int:
        """The last bin that holds a row, at least 1: no candidate lies above it.

        Read off the histogram; a bin whose weights cancel to 0 looks empty there, which matters
        with missing values only: without them it has the edge of the constant stump, b = 1.
        """
        for at in range(width):
            if sums[at] != 0.0:
                last = 1
                for t in range(n):
                    i = examples[t] if examples.size else start + t
                    last = max(last, int(column[i]))
                return last
        at = sums.size - 1
        while at > width and sums[at] == 0.0:
            at -= 1
        return max(at // width, 1)

    @kernel
    def sweep(sums: Doubles, last: int, base: Doubles, tie: float, edges: Doubles) -> int:
        """Best threshold of one histogram; edges[b] becomes that of threshold b.

        Thresholds run up to the last bin in use: a higher one would have the edge of the constant
        stump. Edges within `tie` of each other are equal up to rounding: the lowest threshold wins.
        """
        for k in range(blocks):
            constant = load(base, k * lanes, lanes)
            below = load(sums, k * lanes, lanes)
            minus_two = fill(below, -2.0)
            for b in range(1, last + 1):
                edge = total(magnitude(add(constant, multiply(minus_two, below))))
                edges[b] = edge if k == 0 else edges[b] + edge
                below = add(below, load(sums, b * width + k * lanes, lanes))
        best = 1
        for b in range(2, last + 1):
            if edges[b] > edges[best] + tie:
                best = b
        return best

    @kernel
    def search(
        bins: Bytes,
        features: Ints,
        n_bins: Ints,
        start: int,
        examples: Ints,
        rows: Floats,
        base: Doubles,
        tie: float,
        rows_a_bin: int,
        hist: Floats,
        sums: Doubles,
        thresholds: Ints,
        votes: Ints,
        edges: Doubles,
    ) -> None:
        """Best threshold, votes and edge of each feature on the given rows.

        Reads bins uint8 (any, n), features int64 (Q,), the row of `bins` of each, n_bins int16
        (Q,), examples int32, rows float32 (T * P), base float64 (P,), the sum of the rows, and the
        difference below which edges are tied. Histograms are float32 for `rows_a_bin` rows a bin on
        average, then moved to float64 sums. Uses hist float32 and sums float64 (GROUP * 256 * P).
        Writes thresholds int16 (Q,), votes int8 (Q, K), edges float64 (Q,). O(Q T P / lanes).
        """
        scratch = np.empty(N_BINS, np.float64)
        n_features, n = features.size, rows.size // width
        step = N_BINS * width
        q = 0
        while q < n_features:
            group = GROUP if n_features - q >= GROUP else 1
            most = 2
            for g in range(group):
                most = max(most, int(n_bins[q + g]))
            used = most * width
            chunk = rows_a_bin * most
            for g in range(group):
                hist[g * step : g * step + used] = np.float32(0.0)
                sums[g * step : g * step + used] = 0.0
            for first in range(0, n, chunk):
                end = min(n, first + chunk)
                if group == GROUP:
                    fill_group(bins, features, q, start, examples, rows, first, end, hist)
                else:
                    fill_one(bins[features[q]], start, examples, rows, first, end, hist)
                for g in range(group):
                    flush(hist[g * step :], sums[g * step :], used)
            for g in range(group):
                mine = sums[g * step : g * step + used]
                last = last_bin(bins[features[q + g]], start, examples, n, mine)
                best = sweep(mine, last, base, tie, scratch)
                thresholds[q + g] = best
                edges[q + g] = scratch[best]
                for label in range(votes.shape[1]):
                    below = 0.0
                    for b in range(best):
                        below += mine[b * width + label]
                    votes[q + g, label] = 1 if base[label] - 2.0 * below >= 0.0 else -1
            q += group

    @kernel
    def label_sums(
        column: Bytes, threshold: int, start: int, examples: Ints, rows: Floats, sums: Doubles
    ) -> None:
        """Write the sum over the rows of phi * w_il * y_il, in float64, in the order of the rows.

        Reads column uint8 (n,), rows float32 (T * P); writes sums float64 (P,). Two stumps that
        cut the rows alike get the same bits, whatever their features. O(T P / lanes).
        """
        n = rows.size // width
        for k in range(blocks):
            inside = fill(load(rows, 0, lanes), np.float32(1.0))
            outside = fill(inside, np.float32(-1.0))
            partial = widen(fill(inside, np.float32(0.0)))
            for t in range(n):
                i = examples[t] if examples.size else start + t
                phi = inside if column[i] >= threshold else outside
                value = load(rows, t * width + k * lanes, lanes)
                partial = add(partial, widen(multiply(phi, value)))
            store(sums, k * lanes, partial)

    @kernel
    def signed_edges(
        bins: Bytes,
        features: Ints,
        thresholds: Ints,
        votes: Ints,
        start: int,
        examples: Ints,
        rows: Floats,
        edges: Doubles,
    ) -> None:
        """edges[q] = sum over rows and labels of votes[q, l] * phi_q * w_il * y_il.

        Reads thresholds int16 (Q,), votes int8 (Q, K); writes edges float64 (Q,). O(Q T P / lanes).
        """
        sums = np.empty(width, np.float64)
        for q in range(features.size):
            label_sums(bins[features[q]], thresholds[q], start, examples, rows, sums)
            edge = 0.0
            for label in range(votes.shape[1]):
                edge += votes[q, label] * sums[label]
            edges[q] = edge

    return SearchKernels(search, label_sums, signed_edges)
