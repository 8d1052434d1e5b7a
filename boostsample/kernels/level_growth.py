"""Growth of an oblivious tree in one call: all leaves of a level are divided by one cut."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.jit.compile_kernels import inner_kernel, kernel
from boostsample.kernels.array_layout import N_BINS, PLANE, Bytes, Doubles, Floats, Ints, Rows
from boostsample.kernels.draw import (
    DRAW_BLOCK,
    cumulate_for_draw,
    draw_features,
    draw_pivotal,
    inclusion_level,
)

#: Added to the weight of a leaf, in units of the weight of all examples, where its fit is judged.
RIDGE = 1e-3
#: A level must raise the fit by more than this, in the same units.
LEAST_GAIN = 1e-9
#: Leaves of a number whose bits say which have rows in a bin.
WORD = 64


class LevelRoom(NamedTuple):
    """Work space for n examples, K labels, D levels and samples of T examples of Q features.

    `weight` float32 (n,), `ends` float64 of `draw.cumulate_for_draw`, `taken` uint8 (n + 1,).
    `features` int64 (Q,): all features, or room for those that are drawn. Of the sample `examples`
    int32 and `shares` float64 (T + 1,), `leaf` and `columns` int64 (T + 1,), `sampled` float32
    ((T + 1) K,). `histogram` float32 (256 L 2 K,), where L = 2^(D - 1), holds label sums and
    weights by bin and leaf, `filled` uint64 (256 L / 64,) a bit for each leaf with rows in a bin;
    `below` and `whole` float64 (2 L, K, 2) hold those of leaves, `fits` float64 (2 L, K) the fit of
    both parts of a leaf.
    """

    weight: Floats
    ends: Doubles
    taken: Bytes
    features: Ints
    examples: NDArray[np.int32]
    shares: Doubles
    leaf: Ints
    columns: Ints
    sampled: Floats
    histogram: Floats
    filled: NDArray[np.uint64]
    below: Doubles
    whole: Doubles
    fits: Doubles


class GrownLevels(NamedTuple):
    """The levels of a tree, D at most, and its 2^D leaves.

    Attributes
    ----------
    n_levels : ndarray of int64, shape (1,)
        Number of levels.
    feature, threshold, sampled : ndarray of int64, shape (D,)
        Cut of each level, and examples of its search.
    estimated : ndarray of float64, shape (D,)
        Edge of the tree down to the level, on the sample of its search.
    code : ndarray of int64, shape (n,)
        Leaf of each example: bit by bit, the root first, whether it is at the threshold or above.
    order : ndarray of int32, shape (n,)
        The examples in the order of their leaves.
    first : ndarray of int64, shape (2^D + 1,)
        Where the examples of a leaf begin in `order`.
    sums, masses : ndarray of float64, shape (2^D, K)
        Label sums and weights of the leaves, in units of the weight of all examples.
    """

    n_levels: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.int64]
    sampled: NDArray[np.int64]
    estimated: Doubles
    code: NDArray[np.int64]
    order: NDArray[np.int32]
    first: NDArray[np.int64]
    sums: Doubles
    masses: Doubles


@inner_kernel
def fit_of(total: float, mass: float) -> float:
    """By how much the mean of a leaf fits its labels: S^2 / (M + ridge)."""
    return total * total / (mass + RIDGE)


@inner_kernel
def value_at(values: Floats, n: int, width: int, row: int, label: int) -> Any:
    """The signed weight of a label of a row, in the layout of `array_layout`."""
    plane = label - label % PLANE
    lanes = min(PLANE, width - plane)
    return values[plane * n + row * lanes + label - plane]


@kernel
def grow_levels(
    bins: Bytes,
    n_bins: Ints,
    run: Rows,
    run_mass: float,
    width: int,
    sample_size: int,
    seeds: Ints,
    room: LevelRoom,
    levels: GrownLevels,
) -> None:
    """Grow the levels of a tree, the cut of each from a sample of different examples.

    A cut maximises the sum over leaves and labels of S^2 / (M + ridge), where S is the label sum
    and M the weight: the fall of the squared error if each leaf predicts its mean labels. Of equal
    cuts it is the first feature's lowest.

    Reads bins uint8 (F, n), n_bins int16 (F,), the rows of the run and their mass, and seeds int64
    (D, 1) of the draws of examples, or (D, 2) if Q features are drawn before. Writes `levels`.
    O(Q (T K + 2^D K 256) + N) for each level.
    """
    n, n_labels = run.values.size // width, levels.sums.shape[1]
    n_features, step = n_bins.size, 2 * n_labels
    values, code = run.values, levels.code
    for i in range(n):
        code[i] = 0
        weight = np.float32(0.0)
        for label in range(n_labels):
            weight += abs(value_at(values, n, width, i, label))
        room.weight[i] = weight
    ends = room.ends[: -(-n // DRAW_BLOCK)]
    cumulate_for_draw(room.weight, ends)
    inclusion = inclusion_level(room.weight, sample_size)
    n_leaves, n_levels = 1, 0
    nothing: Any = np.uint64(0)
    one: Any = np.uint64(1)
    for level in range(seeds.shape[0]):
        # Draw
        if seeds.shape[1] > 1:
            draw_features(seeds[level, 0], n_features, room.features)
        seed = seeds[level, seeds.shape[1] - 1]
        used = draw_pivotal(room.weight, inclusion, seed, room.taken, room.examples, room.shares)
        whole = room.whole
        for leaf in range(n_leaves):
            for label in range(n_labels):
                whole[leaf, label, 0] = whole[leaf, label, 1] = 0.0
        for t in range(used):
            i = room.examples[t]
            factor = np.float32(1.0 / (room.shares[t] * ends[ends.size - 1]))
            leaf = code[i]
            room.leaf[t] = leaf
            room.columns[t] = run.examples[i] if run.examples.size else run.start + i
            for label in range(n_labels):
                value = value_at(values, n, width, i, label) * factor
                room.sampled[t * n_labels + label] = value
                whole[leaf, label, 0] += value
                whole[leaf, label, 1] += abs(value)
        before = 0.0
        for leaf in range(n_leaves):
            for label in range(n_labels):
                before += fit_of(whole[leaf, label, 0], whole[leaf, label, 1])

        # Search
        n_words = -(-n_leaves // WORD)
        best = before + LEAST_GAIN
        feature: Any = room.features[0]
        threshold, improves, below, fits = 1, False, room.below, room.fits
        for candidate in room.features:
            highest = n_bins[candidate]
            histogram = room.histogram[: highest * n_leaves * step]
            for at in range(histogram.size):
                histogram[at] = 0.0
            column = bins[candidate]
            filled = room.filled[: highest * n_words]
            for at in range(filled.size):
                filled[at] = nothing
            for t in range(used):
                bin_of_row, leaf = np.int64(column[room.columns[t]]), room.leaf[t]
                filled[bin_of_row * n_words + leaf // WORD] |= one << np.uint64(leaf % WORD)
                at = (bin_of_row * n_leaves + leaf) * step
                for label in range(n_labels):
                    value = room.sampled[t * n_labels + label]
                    histogram[at + 2 * label] += value
                    histogram[at + 2 * label + 1] += abs(value)
            for leaf in range(n_leaves):
                for label in range(n_labels):
                    below[leaf, label, 0] = below[leaf, label, 1] = 0.0
                    fits[leaf, label] = fit_of(whole[leaf, label, 0], whole[leaf, label, 1])
            fit = before
            for b in range(highest - 1):
                for word in range(n_words):
                    bits, leaf = filled[b * n_words + word], WORD * word - 1
                    while bits != nothing:
                        rest, leaf = bits & one, leaf + 1
                        bits >>= one
                        if rest == nothing:
                            continue
                        at = (b * n_leaves + leaf) * step
                        for label in range(n_labels):
                            low, both = below[leaf, label], whole[leaf, label]
                            low[0] += histogram[at + 2 * label]
                            low[1] += histogram[at + 2 * label + 1]
                            parts = fit_of(low[0], low[1])
                            parts += fit_of(both[0] - low[0], both[1] - low[1])
                            fit += parts - fits[leaf, label]
                            fits[leaf, label] = parts
                if fit > best:
                    best, feature, threshold, improves = fit, candidate, b + 1, True
        if not improves and level:
            break

        # Divide
        column, n_levels = bins[feature], level + 1
        for i in range(n):
            at = run.examples[i] if run.examples.size else run.start + i
            code[i] = 2 * code[i] + (column[at] >= threshold)
        n_leaves *= 2
        for leaf in range(n_leaves):
            for label in range(n_labels):
                below[leaf, label, 0] = 0.0
        for t in range(used):
            leaf = code[room.examples[t]]
            for label in range(n_labels):
                below[leaf, label, 0] += room.sampled[t * n_labels + label]
        edge = 0.0
        for leaf in range(n_leaves):
            for label in range(n_labels):
                edge += abs(below[leaf, label, 0])
        levels.feature[level], levels.threshold[level] = feature, threshold
        levels.sampled[level], levels.estimated[level] = used, min(edge, 1.0)

    # Leaves, on all examples
    levels.n_levels[0] = n_levels
    first = levels.first[: n_leaves + 1]
    first[:] = 0
    for i in range(n):
        first[code[i] + 1] += 1
    for leaf in range(n_leaves):
        first[leaf + 1] += first[leaf]
    for i in range(n):
        leaf = code[i]
        levels.order[first[leaf]] = i
        first[leaf] += 1
    for leaf in range(n_leaves, 0, -1):
        first[leaf] = first[leaf - 1]
    first[0] = 0
    for leaf in range(n_leaves):
        for label in range(n_labels):
            total = of_all = 0.0
            for at in range(first[leaf], first[leaf + 1]):
                signed = np.float64(value_at(values, n, width, levels.order[at], label))
                total += signed
                of_all += abs(signed)
            levels.sums[leaf, label] = total / run_mass
            levels.masses[leaf, label] = of_all / run_mass


def level_room(
    n: int, n_labels: int, n_levels: int, sample_size: int, n_features: int
) -> LevelRoom:
    """Room for trees of so many levels."""
    n_leaves, size = 1 << n_levels, sample_size + 1
    return LevelRoom(
        weight=np.empty(n, np.float32),
        ends=np.empty(-(-n // DRAW_BLOCK)),
        taken=np.empty(n + 1, np.uint8),
        features=np.arange(n_features),
        examples=np.empty(size, np.int32),
        shares=np.empty(size),
        leaf=np.empty(size, np.int64),
        columns=np.empty(size, np.int64),
        sampled=np.empty(size * n_labels, np.float32),
        histogram=np.empty(N_BINS * n_leaves * n_labels, np.float32),
        filled=np.empty(N_BINS * -(-n_leaves // WORD), np.uint64),
        below=np.empty((n_leaves, n_labels, 2)),
        whole=np.empty((n_leaves, n_labels, 2)),
        fits=np.empty((n_leaves, n_labels)),
    )


def grown_levels(n_labels: int, n_levels: int, n: int, order: NDArray[np.int32]) -> GrownLevels:
    """Room for the levels of a tree; `order` int32 (n,) is written in place."""
    n_leaves = 1 << n_levels
    return GrownLevels(
        n_levels=np.zeros(1, np.int64),
        feature=np.empty(n_levels, np.int64),
        threshold=np.empty(n_levels, np.int64),
        sampled=np.empty(n_levels, np.int64),
        estimated=np.empty(n_levels),
        code=np.empty(n, np.int64),
        order=order,
        first=np.empty(n_leaves + 1, np.int64),
        sums=np.empty((n_leaves, n_labels)),
        masses=np.empty((n_leaves, n_labels)),
    )
