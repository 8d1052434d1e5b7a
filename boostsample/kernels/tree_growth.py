"""Growth of a whole tree in one call: draws, searches, splits and label sums of all its nodes.

It does what `boostsample.learners.tree.Tree` does by single searches, to the same bits: each node
is a two-sided search of all features, or of some drawn at random, on a sample of different
examples, and the leaf whose split gains most is split next. Between two small nodes, calls from
Python take longer than the work.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.jit.compile_kernels import inner_kernel, kernel_for
from boostsample.jit.vectors import LANES, on_stack
from boostsample.kernels.array_layout import Bytes, Doubles, Floats, Ints, Rows, SearchOutput
from boostsample.kernels.cell_kernels import cell_kernels
from boostsample.kernels.draw import (
    DRAW_BLOCK,
    cumulate_for_draw,
    draw_features,
    draw_node_features,
    draw_pivotal,
    inclusion_level,
)
from boostsample.kernels.row_kernels import UpdateFactors, partition, row_kernels
from boostsample.kernels.search import SearchRoom, search_kernel

#: Label sums of halves are (whole -+ output) / 2. Sums below this part of the whole have lost most
#: digits by cancellation, and are formed again from the rows.
CANCELLED = 1e-9
#: A split must raise the edge by more than this.
LEAST_GAIN = 1e-9
#: Leaves whose weights agree up to this share, the rounding of their sums, are not searched.
PURE = 1e-12
#: Most numbers of `exact_sum`, and most labels of `row_total`.
MOST_SUMMED = 128


class GrowthPlan(NamedTuple):
    """What is the same for all trees of a run.

    Attributes
    ----------
    n_leaves : int
        Most leaves of a tree, at least 2.
    budget, least_budget : int
        Looks of a search of all examples, and the least of a search of some.
    n_features : int
        Most features of a search.
    part : float
        Most of the examples of a node that are drawn.
    few : int
        Most rows of a sample whose sweeps are in float32.
    rows_a_bin : int
        Rows a bin that a float32 histogram sums.
    rough_tie : float
        Edges of sweeps in float32 that are this close are equal.
    part_size : int
        Examples summed at a time.
    """

    n_leaves: int
    budget: int
    least_budget: int
    n_features: int
    part: float
    few: int
    rows_a_bin: int
    rough_tie: float
    part_size: int


class GrowthRoom(NamedTuple):
    """Work space for n examples and P labels: the rows of a node, and of its sample.

    `order` int32 (n,) begins as 0, 1, ... and ends in the order of the leaves; `spare`, `columns`
    int32 (n,). `values` float32 (n P,), `weight` float32 (n,), `ends` float64 of
    `draw.cumulate_for_draw`. `part_sums` float64 (parts, P), `part_masses` float64 (parts,),
    `part_sides` float64 (parts, 3 P), or with less room unless the growth reads masses.
    `taken` uint8 (n + 1,). `features` int64 and `n_bins` int16 (Q,) of a search of Q features: all
    features, or room for those that are drawn; `marks` uint8 (F,) of zeros, if they are drawn by
    `draw.draw_node_features`. `examples` int32 and `shares` float64 (T + 1,),
    `sampled` float32 (T P,) for samples of T rows; `base` and `sums` float64 (P,).
    """

    order: Ints
    spare: Ints
    columns: NDArray[np.int32]
    values: Floats
    weight: Floats
    ends: Doubles
    part_sums: Doubles
    part_masses: Doubles
    part_sides: Doubles
    taken: Bytes
    features: Ints
    n_bins: Ints
    marks: Bytes
    examples: NDArray[np.int32]
    shares: Doubles
    sampled: Floats
    base: Doubles
    sums: Doubles


class DrawnFrom(NamedTuple):
    """What the features of nodes are drawn from, as of `records.NodeFeatures`; empty for others."""

    again: Ints
    pool: Ints
    ends: Doubles


class GrownNodes(NamedTuple):
    """The nodes of a tree of L leaves, 2 L - 1 rows; the root is the first one.

    Attributes
    ----------
    counts : ndarray of int64, shape (2,)
        Numbers of nodes and of searches.
    first, end : ndarray of int64
        The examples of a node: a stretch of the order.
    below : ndarray of int64
        The node of the examples below the threshold, before that of the others; -1 for a leaf.
    search : ndarray of int64
        Number of its search, -1 if it was not searched.
    feature, threshold, searched, sampled : ndarray of int64
        Stump, number of features and looks a feature of its search.
    estimated, edge, gain : ndarray of float64
        Edge on the sample and on all examples of the node, and gain of the split.
    leaf_edge : ndarray of float64
        Edge of the node as a leaf, in units of the weight of all examples.
    share : ndarray of float64
        Weight when it was searched, in the same units.
    sums, masses : ndarray of float64, shape (2 L - 1, K)
        Label sums and weights, in the same units; of the root, weights are not set.
    wholes, halves : ndarray of float64, shape (2 L - 1, K)
        Label sums when it was searched, and those of the output of its stump, in units of its
        weight.
    sides : ndarray of float64, shape (2 L - 1, 2, K)
        Weights of the labels on both sides of its stump, likewise; with `masses`, this has no row
        unless the growth reads masses.
    """

    counts: NDArray[np.int64]
    first: NDArray[np.int64]
    end: NDArray[np.int64]
    below: NDArray[np.int64]
    search: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.int64]
    searched: NDArray[np.int64]
    sampled: NDArray[np.int64]
    estimated: Doubles
    edge: Doubles
    gain: Doubles
    leaf_edge: Doubles
    share: Doubles
    sums: Doubles
    wholes: Doubles
    halves: Doubles
    masses: Doubles
    sides: Doubles


def nodes_room(n_leaves: int, n_labels: int, reads_masses: bool) -> GrownNodes:
    """Room for the nodes of a tree."""
    n = 2 * n_leaves - 1
    n_masses = n if reads_masses else 0
    whole: list[Any] = [np.empty(n, np.int64) for _ in range(8)]
    numbers: list[Any] = [np.empty(n) for _ in range(5)]
    of_labels: list[Any] = [np.empty((n, n_labels)) for _ in range(3)]
    of_labels += [np.empty((n_masses, n_labels)), np.empty((n_masses, 2, n_labels))]
    return GrownNodes(np.zeros(2, np.int64), *whole, *numbers, *of_labels)


@inner_kernel
def row_total(numbers: Doubles) -> float:
    """The sum of up to 128 numbers in the order of `np.add.reduce`, for the bits of `Tree`."""
    n = numbers.size
    total = 0.0
    if n < LANES:
        for i in range(n):
            total += numbers[i]
        return total
    lanes = on_stack(8, np.float64)
    for i in range(8):
        lanes[i] = numbers[i]
    whole = n - n % 8
    for at in range(8, whole, 8):
        for i in range(8):
            lanes[i] += numbers[at + i]
    total = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + (
        (lanes[4] + lanes[5]) + (lanes[6] + lanes[7])
    )
    for i in range(whole, n):
        total += numbers[i]
    return float(total)


@inner_kernel
def exact_sum(numbers: Doubles) -> float:
    """The sum of up to 128 positive numbers, rounded once, as `math.fsum` (Shewchuk 1997)."""
    if numbers.size == 1:
        return float(numbers[0])
    # Ascending numbers without common bits, whose exact sum is that of the numbers so far.
    partials = on_stack(MOST_SUMMED, np.float64)
    n_partials = 0
    for x in numbers:
        n_low = 0
        for j in range(n_partials):
            y = partials[j]
            if abs(x) < abs(y):
                x, y = y, x
            high = x + y
            low = y - (high - x)  # the rounding error of x + y, exact since abs(x) >= abs(y)
            if low != 0.0:
                partials[n_low] = low
                n_low += 1
            x = high
        partials[n_low] = x
        n_partials = n_low + 1
    if n_partials == 0:
        return 0.0
    at = n_partials - 1
    high, low = partials[at], 0.0
    while at > 0:
        x = high
        at -= 1
        y = partials[at]
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            break
    # Half-way cases round to even by what is left.
    if at > 0 and (low > 0.0) == (partials[at - 1] > 0.0):
        y = low * 2.0
        x = high + y
        if y == x - high:
            high = x
    return float(high)


class GrowthKernels(NamedTuple):
    """The kernels of this module, compiled for rows of one width."""

    grow: Any
    update_parts: Any


@functools.cache
def growth_kernels(blocks: int, tail: int, masses: bool = False) -> GrowthKernels:
    """`grow` and `update_parts` for rows of `blocks` full vectors and a tail.

    With `masses`, the nodes have the weights of their labels.
    """
    width = LANES * blocks + tail
    of_rows, search = row_kernels(blocks, tail), search_kernel(blocks, tail)
    of_cells = cell_kernels(blocks, tail)
    label_masses = of_cells.label_masses
    gather, totals, weigh = of_rows.gather, of_rows.totals, of_rows.weigh
    update_nodes = of_rows.update_nodes
    finish = of_rows.side_sums if masses else of_rows.label_sums
    kernel = kernel_for(blocks, tail, masses)

    @kernel
    def grow(
        bins: Bytes,
        n_bins: Ints,
        run: Rows,
        run_mass: float,
        plan: GrowthPlan,
        seeds: Ints,
        drawn: DrawnFrom,
        room: GrowthRoom,
        search_room: SearchRoom,
        stumps: SearchOutput,
        nodes: GrownNodes,
    ) -> None:
        """Grow a tree best first; from a root that was searched, if nodes.counts[1] is 1.

        Reads bins uint8 (F, n), n_bins int16 (F,), the rows of the run and their mass, and seeds
        int64 (2 L - 3, 1) of the draws of examples, or (2 L - 3, 2) if up to Q features are drawn
        before. Writes `nodes`; `stumps` has room for Q features. O(Q T P / 8) for each node, T the
        rows of its sample.
        """
        n_all, n_labels, n_features = run.values.size // width, nodes.sums.shape[1], n_bins.size
        none: Any = np.int64(0)
        n_known = n_searches = nodes.counts[1]
        n_nodes, n_leaves, fresh = 1, 1, n_known
        nodes.first[0], nodes.end[0] = 0, n_all
        nodes.below[0], nodes.search[0] = -1, n_known - 1
        work = on_stack(MOST_SUMMED, np.float64)[:n_labels]
        features, of_features = room.features, room.n_bins
        for q in range(features.size if seeds.shape[1] == 1 else 0):
            of_features[q] = n_bins[features[q]]
        below_known = above_known = True
        while True:
            for node in range(fresh, n_nodes):
                first, end = nodes.first[node], nodes.end[node]
                n = end - first
                sums = nodes.sums[node]
                values, start, columns, mass = run.values, run.start, run.examples, run_mass
                node_sums, n_parts = run.base, -(-n // plan.part_size)
                if node == 0:
                    for label in range(n_labels):
                        sums[label] = node_sums[label] / mass
                else:
                    known = below_known if node == fresh else above_known
                    # A leaf of one example, which cannot be split, needs its row for sums that are
                    # not known only.
                    if n < n_all and (n >= 2 or (n == 1 and not known)):
                        positions = room.order[first:end]
                        values, columns = room.values[: n * width], room.columns[:n]
                        for t in range(n):
                            p = positions[t]
                            columns[t] = run.examples[p] if run.examples.size else run.start + p
                        start = none
                        part_sums = room.part_sums[:n_parts]
                        part_masses = room.part_masses[:n_parts]
                        gather(
                            run.values,
                            positions,
                            values,
                            plan.part_size,
                            none,
                            n_parts,
                            part_sums,
                            part_masses,
                        )
                        mass, node_sums = exact_sum(part_masses), room.sums
                        for label in range(n_labels):
                            total = 0.0
                            for part in range(n_parts):
                                total += part_sums[part, label]
                            node_sums[label] = total
                    if n == 0 or not known:
                        for label in range(n_labels):
                            sums[label] = node_sums[label] / run_mass if n else 0.0
                    if masses and not known:
                        label_masses(values[: n * width], nodes.masses[node])
                        for label in range(n_labels):
                            nodes.masses[node, label] /= run_mass
                    for label in range(n_labels):
                        work[label] = abs(sums[label])
                    nodes.leaf_edge[node] = row_total(work)
                    may_divide = n >= 2 and nodes.leaf_edge[node] < (1.0 - PURE) * (mass / run_mass)
                    # No search: its split could not be made. The label sums of the leaf are needed
                    # all the same.
                    if n_leaves >= plan.n_leaves or not may_divide:
                        continue

                # Draw
                of_search = seeds[n_searches - n_known]
                seed = of_search[of_search.size - 1]
                if of_search.size > 1:
                    if room.marks.size:
                        n_drawn = draw_node_features(
                            of_search[0],
                            n_features,
                            drawn.again,
                            drawn.pool,
                            drawn.ends,
                            room.marks,
                            room.features,
                        )
                        features, of_features = room.features[:n_drawn], room.n_bins[:n_drawn]
                    else:
                        draw_features(of_search[0], n_features, features)
                    for q in range(features.size):
                        of_features[q] = n_bins[features[q]]
                # budget * n // n_all, whose product may exceed int64
                size = plan.budget // n_all * n + plan.budget % n_all * n // n_all
                size = max(size, min(plan.budget, plan.least_budget))
                size = max(min(size // plan.n_features, int(plan.part * n)), 1)
                weight, ends = room.weight[:n], room.ends[: -(-n // DRAW_BLOCK)]
                totals(values, weight)
                cumulate_for_draw(weight, ends)
                level = inclusion_level(weight, size)
                examples, shares = room.examples[: size + 1], room.shares[: size + 1]
                taken = room.taken[: n + 1]
                used = draw_pivotal(weight, level, seed, taken, examples, shares)
                examples, shares = examples[:used], shares[:used]
                for t in range(used):
                    shares[t] = 1.0 / (shares[t] * ends[ends.size - 1])
                sampled = room.sampled[: used * width]
                weigh(values, examples, shares, sampled, room.base)
                for t in range(used):
                    at = examples[t]
                    examples[t] = columns[at] if columns.size else start + at

                # Search
                rough = bool(used <= plan.few)
                # As of `BinSearch.tie`, and its precision for a sample.
                tie = 1e-9 + 1e-7 / np.sqrt(np.float64(used * n_labels))
                tie += plan.rough_tie * rough
                rows = Rows(none, examples, sampled, room.base, 1.0)
                precision = plan.rows_a_bin, rough
                search(bins, features, of_features, rows, tie, *precision, search_room, stumps)
                best = 0
                for q in range(features.size):
                    if stumps.edges[q] > stumps.edges[best]:
                        best = q
                # As of `Stumps.best`: of equal edges, the first stump that divides its rows.
                if not stumps.divides[best]:
                    for q in range(best, features.size):
                        if stumps.divides[q] and stumps.edges[q] == stumps.edges[best]:
                            best = q
                            break
                threshold = stumps.thresholds[best]

                # Finish on all examples of the node
                rows = Rows(start, columns, values, node_sums, 1.0)
                of_parts = room.part_sides[:n_parts] if masses else room.part_sums[:n_parts]
                finish(
                    bins[features[best]],
                    np.int16(threshold),
                    rows,
                    plan.part_size,
                    none,
                    n_parts,
                    of_parts,
                )
                share = mass / run_mass
                nodes.share[node] = share
                halves, wholes = nodes.halves[node], nodes.wholes[node]
                for label in range(n_labels):
                    total = of_label = of_phi = 0.0
                    for part in range(n_parts):
                        total += of_parts[part, label + 2 * width if masses else label]
                        if masses:
                            of_label += of_parts[part, label]
                            of_phi += of_parts[part, label + width]
                    halves[label], wholes[label] = total / mass, node_sums[label] / mass
                    work[label] = max(abs(halves[label]), abs(wholes[label]))
                    if masses:
                        of_label, of_phi = of_label / mass, of_phi / mass
                        # Rounding can take a weight below 0.
                        nodes.sides[node, 0, label] = max(0.5 * (of_label - of_phi), 0.0)
                        nodes.sides[node, 1, label] = max(0.5 * (of_label + of_phi), 0.0)
                nodes.edge[node] = min(row_total(work), 1.0)
                for label in range(n_labels):
                    whole, half = wholes[label] * share, halves[label] * share
                    work[label] = max(abs(half) - abs(whole), 0.0)
                nodes.gain[node] = row_total(work)
                nodes.feature[node], nodes.threshold[node] = features[best], threshold
                nodes.estimated[node], nodes.sampled[node] = stumps.edges[best], size
                nodes.searched[node] = features.size
                nodes.search[node] = n_searches
                n_searches += 1

            # Split
            best, gain = -1, LEAST_GAIN
            for node in range(n_nodes):
                # The root is split whatever it gains: a tree of one leaf is no base classifier.
                searched = nodes.search[node] >= 0 and nodes.below[node] < 0
                if searched and (nodes.gain[node] > gain or node == 0):
                    best, gain = node, nodes.gain[node]
            if best < 0 or n_leaves >= plan.n_leaves:
                break
            first, end = nodes.first[best], nodes.end[best]
            cut: Any = np.int16(nodes.threshold[best])
            place = run.start, run.examples, room.order, first, end, room.spare
            middle = partition(bins[nodes.feature[best]], cut, *place)
            # The halves are neighbours: `below` names the first, and the sums of both follow.
            fresh, n_nodes = n_nodes, n_nodes + 2
            nodes.below[best] = fresh
            n_leaves += 1
            for side in range(2):
                half = fresh + side
                nodes.first[half] = middle if side else first
                nodes.end[half] = end if side else middle
                nodes.below[half] = nodes.search[half] = -1
                known, share = True, nodes.share[best]
                for label in range(n_labels):
                    whole = nodes.wholes[best, label] * share
                    output = nodes.halves[best, label] * share
                    if masses:
                        nodes.masses[half, label] = nodes.sides[best, side, label] * share
                    of_half = 0.5 * (whole + (output if side else -output))
                    known = known and abs(of_half) >= CANCELLED * abs(whole)
                    nodes.sums[half, label] = of_half
                if side:
                    above_known = known
                else:
                    below_known = known
        nodes.counts[0], nodes.counts[1] = n_nodes, n_searches

    @kernel
    def update_parts(
        values: Floats,
        order: Ints,
        parts: Ints,
        votes: Floats,
        factors: UpdateFactors,
        first: int,
        end: int,
        sums: Doubles,
        masses: Doubles,
    ) -> None:
        """Update the examples of parts first, ..., end - 1 by the votes of their leaves.

        Reads order int32 (N,), parts int64 (M, 3): leaf, and first and end position in `order`;
        votes float32 (leaves P,). Writes sums float64 (M, P) and masses (M,) of the new values, as
        `row_kernels.update_nodes`. O(N P / 8).
        """
        none: Any = np.int64(0)
        for part in range(first, end):
            leaf, low, high = parts[part, 0], parts[part, 1], parts[part, 2]
            of_leaf = votes[leaf * width : (leaf + 1) * width]
            of_votes = UpdateFactors(of_leaf, factors.right, factors.wrong, factors.floor)
            update_nodes(
                values,
                order[low:high],
                values[:0],
                of_votes,
                high - low,
                none,
                none + 1,
                sums[part : part + 1],
                masses[part : part + 1],
            )

    return GrowthKernels(grow, update_parts)
