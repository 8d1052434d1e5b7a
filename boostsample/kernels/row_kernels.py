"""Kernels on weighted rows: updates after a round, sums, rows of samples and nodes, histograms.

Layout of the rows as in `boostsample.kernels.array_layout`. Kernels with `part_size` work on parts
`first`, ..., `end - 1` of so many rows each, so that threads share the parts and sums do not depend
on their number. Labels are taken two vectors at a time, a plane, in one pass over the rows for
each, so that registers hold the sums.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from boostsample.jit import vectors as vec
from boostsample.jit.compile_kernels import inner_kernel, inner_kernel_for, kernel, kernel_for
from boostsample.jit.vectors import LANES, PREFETCHED_ROWS, on_stack, prefetch_first
from boostsample.kernels.array_layout import (
    N_BINS,
    PLANE,
    Bytes,
    Doubles,
    Floats,
    Ints,
    Rows,
    plane_layout,
    rows_at_once,
)

#: Vectors of signed weights that an update adds up in float32, before float64 takes over; masses
#: are float64 throughout, since whether an edge is 1 decides whether training ends.
_CHAIN = 8
#: An int64 variable: numba would specialise the callee on a literal.
_ZERO: Any = np.int64(0)


class UpdateFactors(NamedTuple):
    """Factors of an update.

    Attributes
    ----------
    votes : ndarray of float32, shape (P,), or (2 P,) for a stump
        Votes, 1 in the padding; of a stump -v for phi = -1, then v.
    right, wrong : float
        Factors of the weights that are classified correctly, and of the others.
    floor : ndarray of float32, shape (P,)
        Least size of a weight; 0 in the padding.
    """

    votes: Floats
    right: float
    wrong: float
    floor: Floats


class RowKernels(NamedTuple):
    """The kernels of this module, compiled for rows of one width."""

    update: Any
    update_sides: Any
    update_nodes: Any
    flip: Any
    gather: Any
    weigh: Any
    totals: Any
    label_sums: Any
    side_sums: Any
    signed_edges: Any
    histograms: Any


@functools.cache
def row_kernels(blocks: int, tail: int) -> RowKernels:
    """Kernels for rows of `blocks` full vectors and a tail of 1, 2, 4 or 0 labels."""
    width = LANES * blocks + tail
    last_at, plane, last = plane_layout(blocks, tail)
    node_plane, flip_plane, gather_plane, weigh_plane = _node_planes(plane, width)
    node_last, flip_last, gather_last, weigh_last = _node_planes(last, width)
    bin_plane, bin_last = _histograms(plane, width), _histograms(last, width)
    eight, eight_last = _eight_totals(LANES), _eight_totals(min(last, LANES))
    eight_more, has_more = _eight_totals(max(last - LANES, 1)), last > LANES
    kernel = kernel_for(blocks, tail)

    @inner_kernel_for(blocks, tail)
    def some_totals(rows: Floats, weight: Floats, low: int, high: int) -> None:
        """weight[i] = sum over l of w_il for rows low, ..., high - 1; the same bits in any part."""
        n, single = weight.size, on_stack(LANES, np.float32)
        t = low
        while t < high:
            step = int(t + LANES <= high)  # eight rows, or one of the last eight times
            so_far = vec.fill(vec.load(single, 0, LANES), np.float32(0.0))
            for at in range(0, last_at, PLANE):
                row, stride = at * n + t * PLANE, step * PLANE
                so_far = vec.add(so_far, eight(rows, row, stride))
                so_far = vec.add(so_far, eight(rows, row + LANES, stride))
            row, stride = last_at * n + t * (width - last_at), step * (width - last_at)
            so_far = vec.add(so_far, eight_last(rows, row, stride))
            if has_more:
                so_far = vec.add(so_far, eight_more(rows, row + LANES, stride))
            if step:
                vec.store(weight, t, so_far)
                t += LANES
            else:  # the additions of a row are those that it would have among eight
                vec.store(single, 0, so_far)
                weight[t] = single[0]
                t += 1

    def updating(by_sides: bool) -> Any:
        """The update by votes and two factors, or `by_sides` by `CellFactors`."""
        update_plane = _updates(plane, width, by_sides)
        update_last = _updates(last, width, by_sides)

        @kernel_for(blocks, tail, by_sides)
        def update(
            column: Bytes,
            threshold: int,
            rows: Rows,
            factors: Any,
            part_size: int,
            first: int,
            end: int,
            sums: Doubles,
            masses: Doubles,
            weight: Floats,
        ) -> None:
            """w_il *= right where v_l phi_i y_il = +1, wrong elsewhere ([BK10] Figure 1, line 4).

            By sides: w_il times the factor of its side, label and sign of y_il.

            Updates rows.values; products are rounded once. Reads column uint8 (n,). Writes sums[p]
            float64 (P,), the new sum over the part's i of w_il * y_il, and masses[p], the new sum
            of its weights; and, if it has room for them, weight float32 (n,), the new ones of the
            examples: parts fit into the cache. O(N P / 8).
            """
            n = rows.values.size // width
            for part in range(first, end):
                low, high = part * part_size, min(n, (part + 1) * part_size)
                mass = 0.0
                for at in range(0, last_at, PLANE):
                    mass += update_plane(
                        column, threshold, rows, factors, low, high, sums[part], at
                    )
                mass += update_last(
                    column, threshold, rows, factors, low, high, sums[part], last_at
                )
                masses[part] = mass
                if weight.size:
                    some_totals(rows.values, weight, low, high)

        return update

    @kernel
    def update_nodes(
        values: Floats,
        positions: Ints,
        targets: Floats,
        factors: UpdateFactors,
        part_size: int,
        first: int,
        end: int,
        sums: Doubles,
        masses: Doubles,
    ) -> None:
        """Multiply values[positions[t]] by `right` where targets[t] * votes > 0, else by `wrong`.

        Without positions, they are 0, 1, ...; without targets, these are the values themselves.
        Sums and masses of the new values as in `update`. O(n P / 8).
        """
        n = positions.size if positions.size else targets.size // width
        for part in range(first, end):
            low, high = part * part_size, min(n, (part + 1) * part_size)
            mass = 0.0
            for at in range(0, last_at, PLANE):
                mass += node_plane(values, positions, targets, factors, low, high, sums[part], at)
            mass += node_last(values, positions, targets, factors, low, high, sums[part], last_at)
            masses[part] = mass

    @kernel
    def flip(
        column: Bytes,
        threshold: int,
        rows: Rows,
        sides: Floats,
        part_size: int,
        first: int,
        end: int,
        sums: Doubles,
    ) -> None:
        """Multiply rows.values by the outputs of a stump.

        Reads sides float32 (2 P,): -v for phi = -1, then v; 1 in the padding. Writes sums[p]
        float64 (P,), the new sum of part p. O(n P / 8).
        """
        n = rows.values.size // width
        for part in range(first, end):
            low, high = part * part_size, min(n, (part + 1) * part_size)
            for at in range(0, last_at, PLANE):
                flip_plane(column, threshold, rows, sides, low, high, sums[part], at)
            flip_last(column, threshold, rows, sides, low, high, sums[part], last_at)

    @kernel
    def gather(
        source: Floats,
        positions: Ints,
        values: Floats,
        part_size: int,
        first: int,
        end: int,
        sums: Doubles,
        masses: Doubles,
    ) -> None:
        """values[t] = source[positions[t]].

        Writes values float32 (n * P,); sums and masses of the values as in `update`. O(n P / 8).
        """
        n = positions.size
        for part in range(first, end):
            low, high = part * part_size, min(n, (part + 1) * part_size)
            mass = 0.0
            for at in range(0, last_at, PLANE):
                mass += gather_plane(source, positions, values, low, high, sums[part], at)
            mass += gather_last(source, positions, values, low, high, sums[part], last_at)
            masses[part] = mass

    @kernel
    def weigh(
        rows: Floats, examples: Ints, factors: Doubles, sampled: Floats, base: Doubles
    ) -> None:
        """sampled[t] = rows[examples[t]] * factors[t]; base[l] = their sum.

        Reads rows, examples int32 (T,), factors float64 (T,). Writes sampled float32, flat (T *
        P), and base float64 (P,). O(T P / 8).
        """
        for at in range(0, last_at, PLANE):
            weigh_plane(rows, examples, factors, sampled, base, at)
        weigh_last(rows, examples, factors, sampled, base, last_at)

    @kernel
    def totals(rows: Floats, weight: Floats) -> None:
        """weight[i] = sum over l of w_il, float32 (N,); O(N P / 8)."""
        none: Any = np.int64(0)
        some_totals(rows, weight, none, weight.size)

    def summing(of_sides: bool) -> tuple[Any, Any]:
        """The sums of some rows, and of parts; or `of_sides` with those of the weights."""
        sum_plane, sum_last = _sums(plane, width, of_sides), _sums(last, width, of_sides)

        @inner_kernel_for(blocks, tail, of_sides)
        def row_sums(
            column: Bytes, threshold: int, rows: Rows, low: int, high: int, sums: Doubles
        ) -> None:
            """The sums of `label_sums` over rows low, ..., high - 1, in their order."""
            for at in range(0, last_at, PLANE):
                sum_plane(column, threshold, rows, low, high, sums, at)
            sum_last(column, threshold, rows, low, high, sums, last_at)

        @kernel_for(blocks, tail, of_sides)
        def label_sums(
            column: Bytes,
            threshold: int,
            rows: Rows,
            part_size: int,
            first: int,
            end: int,
            sums: Doubles,
        ) -> None:
            """sums[p] = the sums of phi * w_il * y_il over part p of the rows.

            Of sides, the sums of w_il and of phi * w_il come before them. Reads column uint8 (n,);
            writes sums float64 (parts, P), or (parts, 3 P). Stumps that divide the rows alike get
            the same bits. O(N P / 8).
            """
            n = rows.values.size // width
            for part in range(first, end):
                low, high = part * part_size, min(n, (part + 1) * part_size)
                row_sums(column, threshold, rows, low, high, sums[part])

        return row_sums, label_sums

    row_sums, label_sums = summing(False)

    @kernel
    def signed_edges(
        bins: Bytes,
        features: Ints,
        thresholds: Ints,
        votes: Ints,
        rows: Rows,
        sums: Doubles,
        edges: Doubles,
    ) -> None:
        """edges[q] = sum over rows and labels of votes[q, l] * phi_q * w_il * y_il.

        Reads thresholds int16 (Q,), votes int8 (Q, K); writes edges float64 (Q,). Overwrites sums
        float64 (P,). O(Q T P / 8).
        """
        none: Any = np.int64(0)  # a variable: numba would specialise row_sums on a literal
        n = rows.values.size // width
        for q in range(features.size):
            row_sums(bins[features[q]], thresholds[q], rows, none, n, sums)
            edge = 0.0
            for label in range(votes.shape[1]):
                edge += votes[q, label] * sums[label]
            edges[q] = edge

    @kernel
    def histograms(bins: Bytes, features: Ints, rows: Rows, hist: Doubles, last: Bytes) -> None:
        """hist[q, b] += the rows whose bin of feature number q is b; last[q] is their last bin.

        Reads bins uint8 (any, n), features int64 (Q,), the row of `bins` of each. Adds to hist
        float64 (Q * 256 * P,), each feature's part in the layout of 256 rows. Writes last uint8
        (Q,), at least 1. O(Q n P / 8).
        """
        for q in range(0, features.size, 2):
            other = min(q + 1, features.size - 1)
            for at in range(0, last_at, PLANE):
                bin_plane(bins, features, rows, q, other, hist, last, at)
            bin_last(bins, features, rows, q, other, hist, last, last_at)

    return RowKernels(
        updating(False),
        updating(True),
        update_nodes,
        flip,
        gather,
        weigh,
        totals,
        label_sums,
        summing(True)[1],
        signed_edges,
        histograms,
    )


@kernel
def partition(
    column: Bytes,
    threshold: int,
    start: int,
    columns: Ints,
    order: Ints,
    first: int,
    end: int,
    spare: Ints,
) -> int:
    """Move the positions order[first:end] with phi = -1 before the others; keeps their order.

    Position p is bank column columns[p], or start + p if `columns` is empty. Returns where the
    positions with phi = +1 begin. Overwrites spare int32 (end - first,). O(end - first).
    """
    left, right = np.uint64(first), np.uint64(0)  # signed ones may be negative
    for t in range(first, end):
        p = order[np.uint64(t)]
        i = np.uint64(columns[np.uint64(p)] if columns.size else start + p)
        above = np.uint64(column[i] >= threshold)
        order[left] = p  # both are written and one is kept: a branch would be mispredicted
        spare[right] = p
        right += above
        left += np.uint64(1) - above
    for t in range(right):
        order[left + np.uint64(t)] = spare[np.uint64(t)]
    return int(left)


@inner_kernel
def _factor_lanes(least: Any, right: float, wrong: float) -> Any:
    """Both factors in each lane, as float32 and what it leaves of float64; and the least weights.

    `_updated` multiplies by both halves, so that a product is rounded once.
    """
    gain, gain_low = vec.fill(least, right), vec.fill(least, right - np.float64(np.float32(right)))
    loss, loss_low = vec.fill(least, wrong), vec.fill(least, wrong - np.float64(np.float32(wrong)))
    return gain, gain_low, loss, loss_low, least


@inner_kernel
def _updated(value: Any, agree: Any, factors: Any) -> Any:
    """Weights times the right factor where `agree` is positive, else times the wrong one.

    Selects among lanes: a branch on the side of an example costs 25 to 65 % of an update.
    """
    gain, gain_low, loss, loss_low, least = factors
    low = vec.multiply(value, vec.choose(agree, gain_low, loss_low))
    return vec.at_least(vec.fused(value, vec.choose(agree, gain, loss), low), least)


@functools.cache
def _updates(size: int, width: int, by_sides: bool) -> Any:
    """The update of labels at, ..., at + size - 1, some rows at a time: whole vectors.

    By votes, opposite on the sides of a stump, and two factors; or `by_sides`, with `CellFactors`.
    """
    n_rows = rows_at_once(size)
    lanes, write_sums = n_rows * size, _written_sums(size, n_rows)
    inner = inner_kernel_for(size, width, by_sides)

    @inner
    def lanes_of(numbers: Floats, first: int, few: Floats) -> Any:
        """The numbers of a row, as often as a vector has rows."""
        for lane in range(lanes):
            few[lane] = numbers[first + lane % size]
        return vec.load(few, 0, lanes)

    if by_sides:

        @inner
        def factor_lanes(factors: Any, least: Any, few: Floats, at: int) -> Any:
            """Factors by label and side, as float32 and what that leaves; the least weights."""
            high, low = factors.high, factors.low
            return (
                lanes_of(high, 3 * width + at, few),
                lanes_of(low, 3 * width + at, few),
                lanes_of(high, width + at, few),
                lanes_of(low, width + at, few),
                lanes_of(high, 2 * width + at, few),
                lanes_of(low, 2 * width + at, few),
                lanes_of(high, at, few),
                lanes_of(low, at, few),
                least,
            )

        @inner
        def updated(value: Any, phi: Any, each: Any) -> Any:
            a, a_low, b, b_low, c, c_low, d, d_low, least = each
            high = vec.choose(value, vec.choose(phi, a, b), vec.choose(phi, c, d))
            low = vec.choose(value, vec.choose(phi, a_low, b_low), vec.choose(phi, c_low, d_low))
            return vec.at_least(vec.fused(value, high, vec.multiply(value, low)), least)

    else:

        @inner
        def factor_lanes(factors: Any, least: Any, few: Floats, at: int) -> Any:
            votes = lanes_of(factors.votes, width + at, few)
            return votes, _factor_lanes(least, factors.right, factors.wrong)

        @inner
        def updated(value: Any, phi: Any, each: Any) -> Any:
            votes, lanes_of_factors = each
            return _updated(value, vec.negated(value, vec.negated(phi, votes)), lanes_of_factors)

    @inner
    def update_rows(
        values: Floats, row: int, column: Bytes, start: int, threshold: int, each: Any
    ) -> Any:
        """Updates and returns n_rows rows of values, from number `row`; bins from `start`."""
        value = vec.load(values, row, lanes)
        value = updated(value, vec.phi(column, start, threshold, n_rows, size), each)
        vec.store(values, row, value)
        return value

    @inner
    def update_plane(
        column: Bytes,
        threshold: int,
        rows: Rows,
        factors: Any,
        low: int,
        high: int,
        sums: Doubles,
        at: int,
    ) -> float:
        values, start, examples = rows.values, rows.start, rows.examples
        first = at * (values.size // width)
        few, few_least = on_stack(lanes, np.float32), on_stack(lanes, np.float32)
        totals, bins = on_stack(lanes, np.float64), on_stack(n_rows, np.uint8)
        whole = high - (high - low) % n_rows
        least = lanes_of(factors.floor, at, few_least)
        each = factor_lanes(factors, least, few, at)
        # Rows that are left, padded to whole vectors so that their bits do not depend on the part
        # that they end; floors of 0 keep the padding from becoming a weight.
        for lane in range(lanes):
            few[lane] = 0.0
            if lane >= (high - whole) * size:
                few_least[lane] = 0.0
        for lane in range((high - whole) * size):
            few[lane] = values[first + whole * size + lane]
        none = vec.fill(least, np.float32(0.0))
        partial = vec.widen(none)
        sizes = vec.eight_lanes(partial)
        for some in range(low, whole, _CHAIN * n_rows):
            sum_of_some = none
            for t in range(some, min(some + _CHAIN * n_rows, whole), n_rows):
                row = first + t * size
                if examples.size:
                    for k in range(n_rows):
                        bins[k] = column[np.uint64(examples[np.uint64(t + k)])]
                    value = update_rows(values, row, bins, _ZERO, threshold, each)
                else:
                    value = update_rows(values, row, column, start + t, threshold, each)
                sum_of_some = vec.add(sum_of_some, value)
                sizes = vec.add(sizes, vec.eight_lanes(vec.magnitude(vec.widen(value))))
            partial = vec.add(partial, vec.widen(sum_of_some))
        for t in range(whole, high):
            bins[t - whole] = column[
                np.uint64(examples[np.uint64(t)] if examples.size else start + t)
            ]
        for k in range(high - whole, n_rows):
            bins[k] = 0
        each = factor_lanes(factors, vec.load(few_least, 0, lanes), few_least, at)
        value = update_rows(few, _ZERO, bins, _ZERO, threshold, each)
        for lane in range((high - whole) * size):
            values[first + whole * size + lane] = few[lane]
        partial = vec.add(partial, vec.widen(value))
        sizes = vec.add(sizes, vec.eight_lanes(vec.magnitude(vec.widen(value))))
        write_sums(partial, totals, sums, at)
        return float(vec.total(sizes))

    return update_plane


@functools.cache
def _node_planes(size: int, width: int) -> tuple[Any, Any, Any, Any]:
    """update_nodes, flip, gather and weigh for labels at, ..., at + size - 1."""
    inner = inner_kernel_for(size, width)

    @inner
    def update_nodes(
        values: Floats,
        positions: Ints,
        targets: Floats,
        factors: UpdateFactors,
        low: int,
        high: int,
        sums: Doubles,
        at: int,
    ) -> float:
        votes, right, wrong, floor = factors
        row, target = at * (values.size // width), at * (targets.size // width)
        vote, lanes = (
            vec.load(votes, at, size),
            _factor_lanes(vec.load(floor, at, size), right, wrong),
        )
        partial = vec.widen(vec.fill(vote, np.float32(0.0)))
        sizes = partial
        for t in range(low, high):
            place = np.int64(positions[np.uint64(t)]) if positions.size else np.int64(t)
            if positions.size:
                soon = np.int64(positions[min(t + PREFETCHED_ROWS, high - 1)])
                prefetch_first(values, row + soon * size)
            value = vec.load(values, row + place * size, size)
            signs = vec.load(targets, target + t * size, size) if targets.size else value
            value = _updated(value, vec.multiply(signs, vote), lanes)
            vec.store(values, row + place * size, value)
            partial = vec.add(partial, vec.widen(value))
            sizes = vec.add(sizes, vec.magnitude(vec.widen(value)))
        vec.store(sums, at, partial)
        return float(vec.row_total(sizes))

    @inner
    def flip(
        column: Bytes,
        threshold: int,
        rows: Rows,
        sides: Floats,
        low: int,
        high: int,
        sums: Doubles,
        at: int,
    ) -> None:
        values, start, examples = rows.values, rows.start, rows.examples
        row = at * (values.size // width)
        partial = vec.widen(vec.fill(vec.load(values, row, size), np.float32(0.0)))
        for t in range(low, high):
            i = np.uint64(examples[np.uint64(t)] if examples.size else start + t)
            side = np.int64(column[i] >= threshold) * width + at
            value = vec.load(values, row + t * size, size)
            value = vec.multiply(value, vec.load(sides, side, size))
            vec.store(values, row + t * size, value)
            partial = vec.add(partial, vec.widen(value))
        vec.store(sums, at, partial)

    @inner
    def gather(
        source: Floats,
        positions: Ints,
        values: Floats,
        low: int,
        high: int,
        sums: Doubles,
        at: int,
    ) -> float:
        row, to = at * (source.size // width), at * positions.size
        partial = vec.widen(vec.fill(vec.load(source, row, size), np.float32(0.0)))
        sizes = partial
        for t in range(low, high):
            soon = np.int64(positions[min(t + PREFETCHED_ROWS, high - 1)])
            prefetch_first(source, row + soon * size)
            value = vec.load(source, row + np.int64(positions[t]) * size, size)
            vec.store(values, to + t * size, value)
            partial = vec.add(partial, vec.widen(value))
            sizes = vec.add(sizes, vec.magnitude(vec.widen(value)))
        vec.store(sums, at, partial)
        return float(vec.row_total(sizes))

    @inner
    def weigh(
        rows: Floats, examples: Ints, factors: Doubles, sampled: Floats, base: Doubles, at: int
    ) -> None:
        row, to = at * (rows.size // width), at * examples.size
        partial = vec.widen(vec.fill(vec.load(rows, row, size), np.float32(0.0)))
        for t in range(examples.size):
            soon = row + np.int64(examples[min(t + PREFETCHED_ROWS, examples.size - 1)]) * size
            prefetch_first(rows, soon)
            # A row may lie on two cache lines.
            prefetch_first(rows, soon + size - 1)
            value = vec.load(rows, row + np.int64(examples[t]) * size, size)
            value = vec.multiply(value, vec.fill(value, np.float32(factors[t])))
            vec.store(sampled, to + t * size, value)
            partial = vec.add(partial, vec.widen(value))
        vec.store(base, at, partial)

    return update_nodes, flip, gather, weigh


@functools.cache
def _eight_totals(lanes: int) -> Any:
    """The sums of the magnitudes of eight vectors, `stride` numbers apart, as one vector."""

    @inner_kernel_for(lanes)
    def eight_totals(rows: Floats, first: int, stride: int) -> Any:
        if lanes == LANES:
            for row in range(8):
                prefetch_first(rows, first + (PREFETCHED_ROWS + row) * stride)
        a = vec.magnitude(vec.load(rows, first, lanes))
        b = vec.magnitude(vec.load(rows, first + stride, lanes))
        c = vec.magnitude(vec.load(rows, first + 2 * stride, lanes))
        d = vec.magnitude(vec.load(rows, first + 3 * stride, lanes))
        e = vec.magnitude(vec.load(rows, first + 4 * stride, lanes))
        f = vec.magnitude(vec.load(rows, first + 5 * stride, lanes))
        g = vec.magnitude(vec.load(rows, first + 6 * stride, lanes))
        h = vec.magnitude(vec.load(rows, first + 7 * stride, lanes))
        low = vec.paired(vec.paired(a, b, 8), vec.paired(c, d, 8), 4)
        return vec.paired(low, vec.paired(vec.paired(e, f, 8), vec.paired(g, h, 8), 4), 2)

    return eight_totals


@functools.cache
def _written_sums(size: int, n_rows: int) -> Any:
    """sums[at + l] = the sum over the rows of a vector of their label l."""

    @inner_kernel_for(size, n_rows)
    def write_sums(several: Any, totals: Doubles, sums: Doubles, at: int) -> None:
        vec.store(totals, 0, several)
        for label in range(size):
            sums[at + label] = 0.0
        for lane in range(n_rows * size):
            sums[at + lane % size] += totals[lane]

    return write_sums


@functools.cache
def _sums(size: int, width: int, of_sides: bool) -> Any:
    """Sums of labels at, ..., at + size - 1: phi times the signed weights.

    Or `of_sides` of the weights, of phi times them, and of phi times the signed ones.
    """
    # Rows narrower than a vector share one.
    n_rows = rows_at_once(size) if size < LANES else 1
    lanes, write_sums = n_rows * size, _written_sums(size, n_rows)
    signed_at = 2 * width if of_sides else 0

    @inner_kernel_for(size, width, of_sides)
    def sum_plane(
        column: Bytes, threshold: int, rows: Rows, low: int, high: int, sums: Doubles, at: int
    ) -> None:
        values, start, examples = rows.values, rows.start, rows.examples
        row, totals = at * (values.size // width), on_stack(lanes, np.float64)
        bins = on_stack(n_rows, np.uint8)
        side = on_stack(N_BINS, np.float32)  # phi of each bin: avoids mispredicted branches
        for b in range(N_BINS if n_rows == 1 else 0):
            side[b] = 1.0 if b >= threshold else -1.0
        for lane in range(lanes):
            totals[lane] = 0.0
        signed = vec.load(totals, 0, lanes)
        weights = by_side = signed
        whole = high - (high - low) % n_rows
        for t in range(low, whole, n_rows):
            value = vec.load(values, row + t * size, lanes)
            if n_rows == 1:
                if size >= LANES:  # memory keeps pace with narrower rows
                    prefetch_first(values, row + (t + PREFETCHED_ROWS) * size)
                i = np.uint64(examples[np.uint64(t)] if examples.size else start + t)
                phi = vec.fill(value, side[column[i]])
            elif examples.size:
                for k in range(n_rows):
                    bins[k] = column[np.uint64(examples[np.uint64(t + k)])]
                phi = vec.phi(bins, _ZERO, threshold, n_rows, size)
            else:
                phi = vec.phi(column, start + t, threshold, n_rows, size)
            if of_sides:  # with three sums, fused operations are faster: the same bits
                wide, wide_phi = vec.widen(value), vec.widen(phi)
                weight = vec.magnitude(wide)
                weights = vec.add(weights, weight)
                by_side = vec.fused(weight, wide_phi, by_side)
                signed = vec.fused(wide, wide_phi, signed)
            else:
                signed = vec.add(signed, vec.widen(vec.multiply(value, phi)))
        if of_sides:
            write_sums(weights, totals, sums, at)
            write_sums(by_side, totals, sums, width + at)
        write_sums(signed, totals, sums, signed_at + at)
        for t in range(whole, high):
            i = np.uint64(examples[np.uint64(t)] if examples.size else start + t)
            phi_of = 1.0 if column[i] >= threshold else -1.0
            for label in range(at, at + size):
                weight_of = np.float64(values[row + t * size + label - at])
                sums[signed_at + label] += phi_of * weight_of
                if of_sides:
                    sums[label] += abs(weight_of)
                    sums[width + label] += phi_of * abs(weight_of)

    return sum_plane


@functools.cache
def _histograms(size: int, width: int) -> Any:
    """Histograms of labels at, ..., at + size - 1."""

    @inner_kernel_for(size, width)
    def bin_plane(
        bins: Bytes,
        features: Ints,
        rows: Rows,
        q: int,
        other: int,
        hist: Doubles,
        last: Bytes,
        at: int,
    ) -> None:
        """Add all rows to the histograms of features number q and `other`, once if they are one.

        Two at a time hide that successive rows add to the same bin.
        """
        top: Any = np.int64(1)
        other_top: Any = np.int64(1)
        values, start, examples = rows.values, rows.start, rows.examples
        n = values.size // width
        step, row = N_BINS * width, at * n
        column, other_column = bins[features[q]], bins[features[other]]
        h, other_h = q * step + at * N_BINS, other * step + at * N_BINS
        for t in range(n):
            i = np.uint64(examples[np.uint64(t)] if examples.size else start + t)
            b, other_b = np.int64(column[i]), np.int64(other_column[i])
            top, other_top = max(top, b), max(other_top, other_b)
            if size >= LANES:
                prefetch_first(values, row + (t + PREFETCHED_ROWS) * size)
            value = vec.widen(vec.load(values, row + t * size, size))
            vec.add_into(hist, h + b * size, value)
            if other > q:
                vec.add_into(hist, other_h + other_b * size, value)
        last[q], last[other] = top, other_top

    return bin_plane
