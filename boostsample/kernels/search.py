"""Stump search: per-label histograms of the signed weights, and the sweep over their thresholds.

Layouts. `bins` (F, n) uint8, feature-major; bin 0 holds missing values. `rows` float32, flat (T *
P): for each example the signed label weights w_il * y_il, padded with zeros from K to the P = 8
blocks + tail labels of whole vectors. `examples` int32 gives the bank column of each row; empty
means columns start, start + 1, ... A stump (feature, threshold b) is phi = +1 where bin >= b, else
-1. A histogram has `stride` >= P numbers a bin, so that no vector of it crosses a cache line.

Cost: one look, that is a load, an addition and a store of each vector of a row, for each feature
and row, and about 600 more vector steps a feature for the sweep.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample._jit import kernel_for
from boostsample.kernels.vectors import (
    LANES,
    add,
    add_into,
    fill,
    is_zero,
    load,
    magnitude,
    multiply,
    prefetch,
    store,
    total,
    widen,
)

Bytes: TypeAlias = NDArray[np.uint8]
Ints: TypeAlias = NDArray[np.integer[Any]]
Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]


N_BINS = 256
#: Features whose histograms are filled in one pass over the rows. Successive rows often fall into
#: the same bin and must wait for each other's sums; five features at a time hide that.
GROUP = 5


class SearchKernels(NamedTuple):
    """The kernels of this module, compiled for rows of one width."""

    search: Any
    label_sums: Any
    signed_edges: Any


def stride_of(blocks: int, tail: int) -> int:
    """Numbers that a histogram keeps a bin: those of a row, in full vectors if it has any."""
    return LANES * (blocks + (tail > 0)) if blocks else tail


@functools.cache
def search_kernels(blocks: int, tail: int) -> SearchKernels:
    """Kernels for rows of `blocks` full vectors and a tail of 1, 2, 4 or 0 labels."""
    width = LANES * blocks + tail
    stride = stride_of(blocks, tail)
    lanes = LANES if blocks else tail  # of the vectors that a histogram is made of
    has_tail, last = tail > 0, max(tail, 1)
    at_tail = LANES * blocks
    kernel = kernel_for(blocks, tail)

    @kernel
    def fill_one(
        column: Bytes, start: int, examples: Ints, rows: Floats, first: int, end: int, hist: Floats
    ) -> None:
        for t in range(first, end):
            i = examples[t] if examples.size else start + t
            h = np.int64(column[i]) * stride
            for k in range(blocks):
                add_into(hist, h + k * LANES, load(rows, t * width + k * LANES, LANES))
            if has_tail:
                add_into(hist, h + at_tail, load(rows, t * width + at_tail, last))

    @kernel
    def fill_two(
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
        column0, column1 = bins[features[q]], bins[features[q + 1]]
        for t in range(first, end):
            i = examples[t] if examples.size else start + t
            h0 = np.int64(column0[i]) * stride
            h1 = np.int64(column1[i]) * stride + N_BINS * stride
            for k in range(blocks):
                at = k * LANES
                value = load(rows, t * width + at, LANES)
                add_into(hist, h0 + at, value)
                add_into(hist, h1 + at, value)
            if has_tail:
                rest = load(rows, t * width + at_tail, last)
                add_into(hist, h0 + at_tail, rest)
                add_into(hist, h1 + at_tail, rest)

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
        column0, column1 = bins[features[q]], bins[features[q + 1]]
        column2, column3 = bins[features[q + 2]], bins[features[q + 3]]
        column4 = bins[features[q + 4]]
        step = N_BINS * stride
        final = features.size - 1
        next0, next1 = bins[features[min(q + 5, final)]], bins[features[min(q + 6, final)]]
        next2, next3 = bins[features[min(q + 7, final)]], bins[features[min(q + 8, final)]]
        next4 = bins[features[min(q + 9, final)]]
        for t in range(first, end):
            i = examples[t] if examples.size else start + t
            if (
                examples.size
            ):  # few rows of many: each byte is a cache miss, the next ones meanwhile
                prefetch(next0, i)
                prefetch(next1, i)
                prefetch(next2, i)
                prefetch(next3, i)
                prefetch(next4, i)
            h0 = np.int64(column0[i]) * stride
            h1 = np.int64(column1[i]) * stride + step
            h2 = np.int64(column2[i]) * stride + 2 * step
            h3 = np.int64(column3[i]) * stride + 3 * step
            h4 = np.int64(column4[i]) * stride + 4 * step
            for k in range(blocks):
                at = k * LANES
                value = load(rows, t * width + at, LANES)
                add_into(hist, h0 + at, value)
                add_into(hist, h1 + at, value)
                add_into(hist, h2 + at, value)
                add_into(hist, h3 + at, value)
                add_into(hist, h4 + at, value)
            if has_tail:
                rest = load(rows, t * width + at_tail, last)
                add_into(hist, h0 + at_tail, rest)
                add_into(hist, h1 + at_tail, rest)
                add_into(hist, h2 + at_tail, rest)
                add_into(hist, h3 + at_tail, rest)
                add_into(hist, h4 + at_tail, rest)

    @kernel
    def flush(hist: Floats, sums: Doubles, size: int) -> None:
        """Move the first `size` entries of a float32 histogram to its float64 sums."""
        for at in range(0, size, lanes):
            value = load(hist, at, lanes)
            add_into(sums, at, widen(value))
            store(hist, at, fill(value, np.float32(0.0)))

    @kernel
    def cumulate(hist: Floats, sums: Doubles, last_used: int, fresh: bool) -> None:
        """sums[b] becomes the sum over the bins up to b; what is still in `hist` is moved there.

        With `fresh`, `sums` holds nothing yet.
        """
        for k in range(0, stride, lanes):
            below = widen(fill(load(hist, k, lanes), np.float32(0.0)))
            for at in range(k, (last_used + 1) * stride, stride):
                value = load(hist, at, lanes)
                store(hist, at, fill(value, np.float32(0.0)))
                below = add(below, widen(value))
                if not fresh:
                    below = add(below, load(sums, at, lanes))
                store(sums, at, below)

    @kernel
    def last_bin(
        column: Bytes, start: int, examples: Ints, n: int, hist: Floats, sums: Doubles, fresh: bool
    ) -> int:
        """The last bin that holds a row, at least 1: no candidate lies above it.

        Read off the histogram; a bin whose weights cancel to 0 looks empty there, which matters
        with missing values only: without them it has the edge of the constant stump, b = 1.
        """
        for at in range(width):
            if hist[at] != 0.0 or (not fresh and sums[at] != 0.0):
                highest = 1
                for t in range(n):
                    i = examples[t] if examples.size else start + t
                    highest = max(highest, int(column[i]))
                return highest
        b = sums.size // stride - 1
        while b > 1:
            for k in range(0, stride, lanes):
                at = b * stride + k
                if not is_zero(load(hist, at, lanes)):
                    return b
                if not fresh and not is_zero(load(sums, at, lanes)):
                    return b
            b -= 1
        return 1

    @kernel
    def sweep(sums: Doubles, last_used: int, base: Doubles, tie: float, edges: Doubles) -> int:
        """Best threshold of one cumulated histogram; edges[b] becomes that of threshold b.

        Thresholds run up to the last bin in use: a higher one would have the edge of the constant
        stump. Edges within `tie` of each other are equal up to rounding: the lowest threshold wins.
        """
        for b in range(1, last_used + 1):
            at = (b - 1) * stride
            edge = 0.0
            if blocks:
                below = load(sums, at, LANES)
                minus_two = fill(below, -2.0)
                sizes = magnitude(add(load(base, 0, LANES), multiply(minus_two, below)))
                for k in range(LANES, at_tail, LANES):
                    below = load(sums, at + k, LANES)
                    sizes = add(
                        sizes, magnitude(add(load(base, k, LANES), multiply(minus_two, below)))
                    )
                edge = total(sizes)
            if has_tail:
                under = load(sums, at + at_tail, last)
                both = add(load(base, at_tail, last), multiply(fill(under, -2.0), under))
                edge += total(magnitude(both))
            edges[b] = edge
        best = 1
        for b in range(2, last_used + 1):
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
        average, then moved to float64 sums. Uses hist float32, zero before and after, and sums
        float64, each (GROUP * 256 * stride). Writes thresholds int16 (Q,), votes int8 (Q, K), edges
        float64 (Q,). O(Q T P / 8).
        """
        scratch = np.empty(N_BINS, np.float64)
        n_features, n = features.size, rows.size // width
        step = N_BINS * stride
        q = 0
        while q < n_features:
            left = n_features - q
            group = GROUP if left >= GROUP else (2 if left >= 2 else 1)
            most = 2
            for g in range(group):
                most = max(most, int(n_bins[q + g]))
            chunk = rows_a_bin * most
            fresh = n <= chunk
            for g in range(group):
                if not fresh:
                    sums[g * step : g * step + most * stride] = 0.0
            for first in range(0, n, chunk):
                end = min(n, first + chunk)
                if group == GROUP:
                    fill_group(bins, features, q, start, examples, rows, first, end, hist)
                elif group == 2:
                    fill_two(bins, features, q, start, examples, rows, first, end, hist)
                else:
                    fill_one(bins[features[q]], start, examples, rows, first, end, hist)
                if end < n:
                    for g in range(group):
                        flush(hist[g * step :], sums[g * step :], most * stride)
            for g in range(group):
                room = 0 if fresh else g * step  # one that stays near serves all, where it can
                mine = sums[room : room + most * stride]
                now = hist[g * step : g * step + most * stride]
                highest = last_bin(bins[features[q + g]], start, examples, n, now, mine, fresh)
                cumulate(now, mine, highest, fresh)
                best = sweep(mine, highest, base, tie, scratch)
                thresholds[q + g] = best
                edges[q + g] = scratch[best]
                at = (best - 1) * stride
                for label in range(votes.shape[1]):
                    above = base[label] - 2.0 * mine[at + label]
                    votes[q + g, label] = 1 if above >= 0.0 else -1
            q += group

    @kernel
    def label_sums(
        column: Bytes, threshold: int, start: int, examples: Ints, rows: Floats, sums: Doubles
    ) -> None:
        """Write the sum over the rows of phi * w_il * y_il, in float64, in the order of the rows.

        Reads column uint8 (n,), rows float32 (T * P); writes sums float64 (P,). Two stumps that
        cut the rows alike get the same bits, whatever their features. O(T P / 8).
        """
        n = rows.size // width
        for k in range(blocks):
            inside = fill(load(rows, 0, LANES), np.float32(1.0))
            outside = fill(inside, np.float32(-1.0))
            partial = widen(fill(inside, np.float32(0.0)))
            for t in range(n):
                i = examples[t] if examples.size else start + t
                phi = inside if column[i] >= threshold else outside
                value = load(rows, t * width + k * LANES, LANES)
                partial = add(partial, widen(multiply(phi, value)))
            store(sums, k * LANES, partial)
        if has_tail:
            plus = fill(load(rows, 0, last), np.float32(1.0))
            minus = fill(plus, np.float32(-1.0))
            so_far = widen(fill(plus, np.float32(0.0)))
            for t in range(n):
                i = examples[t] if examples.size else start + t
                sign = plus if column[i] >= threshold else minus
                rest = load(rows, t * width + at_tail, last)
                so_far = add(so_far, widen(multiply(sign, rest)))
            store(sums, at_tail, so_far)

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

        Reads thresholds int16 (Q,), votes int8 (Q, K); writes edges float64 (Q,). O(Q T P / 8).
        """
        sums = np.empty(width, np.float64)
        for q in range(features.size):
            label_sums(bins[features[q]], thresholds[q], start, examples, rows, sums)
            edge = 0.0
            for label in range(votes.shape[1]):
                edge += votes[q, label] * sums[label]
            edges[q] = edge

    return SearchKernels(search, label_sums, signed_edges)
