"""Stump search: per-label histograms of the signed weights, and the sweep over their thresholds.

Layouts. `bins` (F, n) uint8, feature-major; bin 0 holds missing values. `rows` float32, flat (T *
P): for each example the signed label weights w_il * y_il, padded with zeros from K to the P = 8
blocks + tail labels of whole vectors. They stand in planes of two vectors, 16 labels: the plane of
labels at, ..., at + 15 begins at number T * at, the last one may be narrower. `examples` int32
gives the bank column of each row; empty means columns start, start + 1, ... A stump (feature,
threshold b) is phi = +1 where bin >= b, else -1. A histogram has a plane for each plane of a row,
with 8, 16 or the tail's few numbers a bin, so that no vector of it crosses a cache line.

Cost: one look, that is a load, an addition and a store of each vector of a row, for each feature
and row, and about 256 more steps a vector and feature for the sweep.
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
#: A number like others: for a constant in a call numba compiles once more what is called.
ZERO: Any = np.int64(0)
#: Rows that are fetched from memory one by one; of more the processor itself sees what comes next.
FEW = 3000


def histogram_size(blocks: int, tail: int) -> int:
    """Numbers a histogram takes: 256 bins of whole pairs of vectors unless one holds a row.

    And a cache line: at a distance of whole pages histograms wait for each other where features
    share a bin. A load is told from earlier stores by the last twelve bits of its address.
    """
    width, pair = LANES * blocks + tail, 2 * LANES
    return N_BINS * (width if blocks + (tail > 0) == 1 else pair * -(-width // pair)) + pair


class _Pair(NamedTuple):
    """What searches one or two vectors of a row, compiled for their lanes."""

    fill_in: Any
    flush: Any
    top_bin: Any
    sweep: Any
    add_below: Any


def _fill(lanes: int, more: int, width: int, step: int, some: bool) -> tuple[Any, Any, Any]:
    """Histograms of one, two, five features, for the labels of `_pair`.

    Of `some` rows, named by `examples`, or of successive ones of the bank.
    `place` int64 (4,): first row, end, bank column of row 0, `at`. Histograms are `step` apart.
    """
    second, rest, stride = more > 0, max(more, 1), lanes + (lanes if more else 0)
    size = lanes + more
    kernel = kernel_for(lanes, more, width, some)

    @kernel
    def fill_one(
        bins: Bytes, features: Ints, q: int, examples: Ints, rows: Floats, place: Ints, hist: Floats
    ) -> None:
        column = bins[features[q]]
        start, at = place[2], place[3]
        h, row = at * N_BINS, at * (rows.size // width)
        for t in range(place[0], place[1]):
            i = np.int64(examples[t]) if some else start + t
            h0 = h + np.int64(column[i]) * stride
            add_into(hist, h0, load(rows, row + t * size, lanes))
            if second:
                add_into(hist, h0 + lanes, load(rows, row + t * size + lanes, rest))

    @kernel
    def fill_two(
        bins: Bytes, features: Ints, q: int, examples: Ints, rows: Floats, place: Ints, hist: Floats
    ) -> None:
        column0, column1 = bins[features[q]], bins[features[q + 1]]
        start, at = place[2], place[3]
        h, row = at * N_BINS, at * (rows.size // width)
        for t in range(place[0], place[1]):
            i = np.int64(examples[t]) if some else start + t
            h0 = h + np.int64(column0[i]) * stride
            h1 = h + np.int64(column1[i]) * stride + step
            value = load(rows, row + t * size, lanes)
            add_into(hist, h0, value)
            add_into(hist, h1, value)
            if second:
                last = load(rows, row + t * size + lanes, rest)
                add_into(hist, h0 + lanes, last)
                add_into(hist, h1 + lanes, last)

    @kernel
    def fill_group(
        bins: Bytes, features: Ints, q: int, examples: Ints, rows: Floats, place: Ints, hist: Floats
    ) -> None:
        column0, column1 = bins[features[q]], bins[features[q + 1]]
        column2, column3 = bins[features[q + 2]], bins[features[q + 3]]
        column4 = bins[features[q + 4]]
        start, at = place[2], place[3]
        h, row = at * N_BINS, at * (rows.size // width)
        for t in range(place[0], place[1]):
            i = np.int64(examples[t]) if some else start + t
            h0 = h + np.int64(column0[i]) * stride
            h1 = h + np.int64(column1[i]) * stride + step
            h2 = h + np.int64(column2[i]) * stride + 2 * step
            h3 = h + np.int64(column3[i]) * stride + 3 * step
            h4 = h + np.int64(column4[i]) * stride + 4 * step
            value = load(rows, row + t * size, lanes)
            add_into(hist, h0, value)
            add_into(hist, h1, value)
            add_into(hist, h2, value)
            add_into(hist, h3, value)
            add_into(hist, h4, value)
            if second:
                last = load(rows, row + t * size + lanes, rest)
                add_into(hist, h0 + lanes, last)
                add_into(hist, h1 + lanes, last)
                add_into(hist, h2 + lanes, last)
                add_into(hist, h3 + lanes, last)
                add_into(hist, h4 + lanes, last)

    return fill_one, fill_two, fill_group


@functools.cache
def _pair(lanes: int, more: int, width: int, step: int) -> _Pair:
    """Labels at, ..., at + lanes - 1 of rows of `width`, and the `more` (or 0) ones after them."""
    second, rest, stride = more > 0, max(more, 1), lanes + (lanes if more else 0)
    kernel = kernel_for(lanes, more, width)

    @kernel
    def sweep(
        hist: Floats,
        sums: Doubles,
        fresh: bool,
        highest: int,
        base: Doubles,
        at: int,
        edges: Doubles,
        ahead: Bytes,
        examples: Ints,
    ) -> None:
        """Add these labels' part to edges[b] of thresholds 1, ..., highest; at = 0 starts them.

        A bin's sum is that of `hist`, and of `sums` too unless it is `fresh` and holds nothing.
        Meanwhile the bytes of `ahead` that these `examples` will need are brought near: of a few
        examples each is a cache miss, and the sweep has no use for the memory.
        """
        whole, whole2 = load(base, at, lanes), load(base, at + lanes if second else at, rest)
        below, below2 = fill(whole, 0.0), fill(whole2, 0.0)
        twice, twice2 = fill(whole, -2.0), fill(whole2, -2.0)
        share = 0 if at else -(-examples.size // highest)
        for b in range(highest):
            h = at * N_BINS + b * stride
            below = add(below, widen(load(hist, h, lanes)))
            if not fresh:
                below = add(below, load(sums, h, lanes))
            edge = total(magnitude(add(whole, multiply(twice, below))))
            if second:
                below2 = add(below2, widen(load(hist, h + lanes, rest)))
                if not fresh:
                    below2 = add(below2, load(sums, h + lanes, rest))
                edge += total(magnitude(add(whole2, multiply(twice2, below2))))
            edges[b + 1] = edge + edges[b + 1] if at else edge
            for t in range(b * share, min((b + 1) * share, examples.size)):
                prefetch(ahead, examples[t])

    @kernel
    def add_below(
        hist: Floats, sums: Doubles, fresh: bool, threshold: int, at: int, found: Doubles
    ) -> None:
        """Write to `found` the labels' sums over the bins below `threshold`, bits as in `sweep`."""
        below = fill(load(found, at, lanes), 0.0)
        below2 = fill(load(found, at, rest), 0.0)
        for b in range(threshold):
            h = at * N_BINS + b * stride
            below = add(below, widen(load(hist, h, lanes)))
            if not fresh:
                below = add(below, load(sums, h, lanes))
            if second:
                below2 = add(below2, widen(load(hist, h + lanes, rest)))
                if not fresh:
                    below2 = add(below2, load(sums, h + lanes, rest))
        store(found, at, below)
        if second:
            store(found, at + lanes, below2)

    @kernel
    def flush(hist: Floats, sums: Doubles, most: int, at: int) -> None:
        """Move the first `most` bins of a float32 histogram to its float64 sums."""
        for h in range(at * N_BINS, at * N_BINS + most * stride, stride):
            value = load(hist, h, lanes)
            add_into(sums, h, widen(value))
            store(hist, h, fill(value, np.float32(0.0)))
            if second:
                few = load(hist, h + lanes, rest)
                add_into(sums, h + lanes, widen(few))
                store(hist, h + lanes, fill(few, np.float32(0.0)))

    @kernel
    def top_bin(hist: Floats, sums: Doubles, fresh: bool, b: int, at: int, least: int) -> int:
        """The highest bin down from b whose sums are not all 0, or `least`."""
        while b > least:
            h = at * N_BINS + b * stride
            if not is_zero(load(hist, h, lanes)) or not (fresh or is_zero(load(sums, h, lanes))):
                return b
            if second:
                h += lanes
                if not is_zero(load(hist, h, rest)) or not (fresh or is_zero(load(sums, h, rest))):
                    return b
            b -= 1
        return least

    all_one, all_two, all_group = _fill(lanes, more, width, step, False)
    some_one, some_two, some_group = _fill(lanes, more, width, step, True)

    @kernel
    def fill_in(
        bins: Bytes,
        features: Ints,
        q: int,
        group: int,
        examples: Ints,
        rows: Floats,
        place: Ints,
        hist: Floats,
    ) -> None:
        """Add rows to the histograms of `group` features from q on; `place` as in `_fill`."""
        if examples.size:
            if group == GROUP:
                some_group(bins, features, q, examples, rows, place, hist)
            elif group == 2:
                some_two(bins, features, q, examples, rows, place, hist)
            else:
                some_one(bins, features, q, examples, rows, place, hist)
        elif group == GROUP:
            all_group(bins, features, q, examples, rows, place, hist)
        elif group == 2:
            all_two(bins, features, q, examples, rows, place, hist)
        else:
            all_one(bins, features, q, examples, rows, place, hist)

    return _Pair(fill_in, flush, top_bin, sweep, add_below)


@functools.cache
def search_kernel(blocks: int, tail: int) -> Any:
    """`search` for rows of `blocks` full vectors and a tail of 1, 2, 4 or 0 labels."""
    width = LANES * blocks + tail
    size = histogram_size(blocks, tail)
    n_pairs, single = divmod(blocks, 2)
    rest_at = ZERO + 2 * LANES * n_pairs
    has_rest = width > rest_at
    rest = _pair(LANES, tail, width, size) if single else _pair(max(tail, 1), 0, width, size)
    # A kernel that is not needed is never called, but numba has to know it.
    pair = _pair(LANES, LANES, width, size) if n_pairs else rest
    fill_in, flush, top_bin, sweep, add_below = pair
    fill_rest, flush_rest, top_rest_bin, sweep_rest, add_rest_below = rest if has_rest else pair
    kernel = kernel_for(blocks, tail)

    @kernel
    def top(hist: Floats, sums: Doubles, fresh: bool, b: int, least: int) -> int:
        """The highest bin down from b whose sums are not all 0, or `least`."""
        for at in range(0, rest_at, 2 * LANES):
            least = top_bin(hist, sums, fresh, b, at, least)
        return top_rest_bin(hist, sums, fresh, b, rest_at, least) if has_rest else least

    @kernel
    def last_bin(
        column: Bytes,
        start: int,
        examples: Ints,
        n: int,
        hist: Floats,
        sums: Doubles,
        fresh: bool,
        most: int,
    ) -> int:
        """The last bin that holds a row, at least 1.

        Read off the histogram; a bin whose weights cancel to 0 looks empty there, which matters
        with missing values only: without them it has the edge of the constant stump, b = 1.
        """
        if top(hist, sums, fresh, ZERO, ZERO - 1) < 0:
            return top(hist, sums, fresh, most - 1, ZERO + 1)
        highest = 1
        for t in range(n):
            b: Any = np.int64(column[examples[t] if examples.size else start + t])
            highest = b if b > highest else highest
        return highest

    @kernel
    def search(
        bins: Bytes,
        features: Ints,
        n_bins: Ints,
        start: int,
        examples: Ints,
        rows: Floats,
        base: Doubles,
        scale: float,
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
        (Q,), examples int32, rows float32 (T * P), base float64 (P,), their sum. Edges within `tie`
        of the best are as good: the lowest threshold wins, none above the last bin in use: that is
        the constant stump. hist float32, zero before and after, takes `rows_a_bin` rows a bin, then
        they move to sums float64, each GROUP * histogram_size. Writes thresholds int64 (Q,), votes
        int8 (Q, K), edges float64 (Q,), times `scale` and at most 1. O(Q T P / 8).
        """
        room, place = np.empty(N_BINS + width, np.float64), np.empty(4, np.int64)
        scratch, below = room[:N_BINS], room[N_BINS:]
        n_features, n = features.size, rows.size // width
        soon = examples[: examples.size if n <= FEW else 0]
        q = ZERO
        while q < n_features:
            left = n_features - q
            group = GROUP if left >= GROUP else (2 if left >= 2 else 1)
            most = ZERO + 2
            for g in range(group):
                most = max(most, np.int64(n_bins[q + g]))
            chunk = rows_a_bin * most
            fresh = bool(n <= chunk)
            for h in range(0 if fresh else group * size):
                sums[h] = 0.0
            for first in range(0, n, chunk):
                place[0], place[1], place[2] = first, min(n, first + chunk), start
                for at in range(0, rest_at, 2 * LANES):
                    place[3] = at
                    fill_in(bins, features, q, group, examples, rows, place, hist)
                if has_rest:
                    place[3] = rest_at
                    fill_rest(bins, features, q, group, examples, rows, place, hist)
                for g in range(group if place[1] < n else 0):
                    now, mine = hist[g * size : (g + 1) * size], sums[g * size : (g + 1) * size]
                    for at in range(0, rest_at, 2 * LANES):
                        flush(now, mine, most, at)
                    if has_rest:
                        flush_rest(now, mine, most, rest_at)
            for g in range(group):
                now, mine = hist[g * size : (g + 1) * size], sums[g * size : (g + 1) * size]
                column = bins[features[q + g]]
                highest = last_bin(column, start, examples, n, now, mine, fresh, most)
                ahead = bins[features[min(q + group + g, n_features - 1)]]
                for at in range(0, rest_at, 2 * LANES):
                    sweep(now, mine, fresh, highest, base, at, scratch, ahead, soon)
                if has_rest:
                    sweep_rest(now, mine, fresh, highest, base, rest_at, scratch, ahead, soon)
                most_edge = scratch[1]
                for b in range(2, highest + 1):
                    most_edge = scratch[b] if scratch[b] > most_edge else most_edge
                best = 1
                while scratch[best] < most_edge - tie:
                    best += 1
                for at in range(0, rest_at, 2 * LANES):
                    add_below(now, mine, fresh, best, at, below)
                if has_rest:
                    add_rest_below(now, mine, fresh, best, rest_at, below)
                thresholds[q + g] = best
                edges[q + g] = min(scratch[best] * scale, 1.0)
                for label in range(votes.shape[1]):
                    votes[q + g, label] = 1 if base[label] - 2.0 * below[label] >= 0.0 else -1
                for h in range(size):
                    now[h] = 0.0
            q += group

    return search
