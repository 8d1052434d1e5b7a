"""Scores of models from stumps, trees or tables, and how their log loss changes with temperature.

The logits of a row are its scores times 2 / T, less their largest, plus the c for which the sum of
their sigma is 1; see `boostsample.classifier.prediction.probabilities`.
"""

from __future__ import annotations

import math

import numpy as np

from boostsample.jit.compile_kernels import inner_kernel, kernel
from boostsample.kernels.array_layout import Bytes, Doubles, Floats, Ints

ROWS = 64
"""Rows of a block: the values of 1,000 features take 256 KB."""


@kernel
def add_scores(
    sides: Bytes,
    ends: Ints,
    parents: Ints,
    children: Ints,
    votes: Doubles,
    alphas: Doubles,
    reached: Bytes,
    output: Doubles,
    scores: Doubles,
) -> None:
    """scores[i, l] += alpha o_l(x_i) of each round, one after another.

    Reads sides uint8 (terms, n), 1 where phi = +1; ends int64 (rounds,), the end of each round's
    terms; parents int64 (terms,), positions in all terms, and children int64 (terms, 3): the side
    that a term decides for as 0 or 1, or 2 for factors and roots, and its children for phi = -1 and
    +1, or -1; votes float64 (terms, 2, K) for phi = -1 and +1. Writes scores float64 (n, K).
    Overwrites reached uint8 (terms,) and output float64 (K,).
    O(n terms K) at most.
    """
    n, n_labels = scores.shape
    first = 0
    for r in range(ends.size):
        for i in range(n):
            for label in range(n_labels):
                output[label] = alphas[r]
            for t in range(first, ends[r]):
                parent, side = parents[t], children[t, 0]
                reached[t] = t == first or (
                    reached[parent] and (side == 2 or sides[parent, i] == side)
                )
                half = sides[t, i]
                if reached[t] and children[t, 1 + half] < 0:
                    for label in range(n_labels):
                        output[label] *= votes[t, half, label]
            for label in range(n_labels):
                scores[i, label] += output[label]
        first = ends[r]


@kernel
def add_stump_scores(sides: Bytes, voted: Doubles, room: Doubles, scores: Doubles) -> None:
    """scores[i, l] += the sum of phi_t(x_i) voted[t, l] over the stumps, in their order.

    Reads sides uint8 (terms, n), 1 where phi = +1, and voted float64 (terms, K), alpha times the
    votes. Writes scores float64 (n, K). Overwrites room float64 (K + 1, `ROWS`).
    O(n terms K); rows in blocks that fit the cache.
    """
    n, n_labels = scores.shape
    signs = room[n_labels]
    for start in range(0, n, ROWS):
        used = min(ROWS, n - start)
        room[:n_labels] = 0.0
        for t in range(voted.shape[0]):
            for i in range(used):
                signs[i] = 1.0 if sides[t, start + i] else -1.0
            for label in range(n_labels):
                for i in range(used):
                    room[label, i] += signs[i] * voted[t, label]
        for i in range(used):
            for label in range(n_labels):
                scores[start + i, label] += room[label, i]


@kernel
def add_tree_scores(
    values: Floats,
    columns: Ints,
    thresholds: Floats,
    roots: Ints,
    children: Ints,
    voted: Doubles,
    scores: Doubles,
) -> None:
    """scores[i, l] += alpha o_l(x_i) of each tree, one after another, from feature values.

    Reads values float32 (n, q), NaN for missing; columns int64 (terms,), the column of each term;
    thresholds float32 (terms,); roots int64 (trees,); children int64 (terms, 3) as `add_scores`
    does; voted float64 (terms, 2, K), alpha times the votes. Writes scores float64 (n, K).
    O(n trees (depth + K)); rows in blocks that fit the cache.
    """
    n, n_labels = scores.shape
    for start in range(0, n, ROWS):
        stop = min(start + ROWS, n)
        for r in range(roots.size):
            for i in range(start, stop):
                t = roots[r]
                half = 1 if values[i, columns[t]] >= thresholds[t] else 0
                while children[t, 1 + half] >= 0:
                    t = children[t, 1 + half]
                    half = 1 if values[i, columns[t]] >= thresholds[t] else 0
                for label in range(n_labels):
                    scores[i, label] += voted[t, half, label]


@kernel
def add_bin_scores(
    bins: Bytes,
    columns: Ints,
    thresholds: Ints,
    children: Ints,
    voted: Doubles,
    rows: Ints,
    scores: Doubles,
) -> None:
    """scores[i, l] += alpha o_l of a tree for row i, whose bins are those of an example.

    Reads bins uint8 (any, any); columns and thresholds int64 (terms,), the row of `bins` and the
    least bin of phi = +1 of each term; children int64 (terms, 2) for phi = -1 and +1, or -1; voted
    float64 (terms, 2, K), alpha times the votes; rows int64 (n,), the column of `bins` of each row.
    Writes scores float64 (n, K). O(n (depth + K)).
    """
    for i in range(rows.size):
        t, row = 0, rows[i]
        half = 1 if bins[columns[0], row] >= thresholds[0] else 0
        while children[t, half] >= 0:
            t = children[t, half]
            half = 1 if bins[columns[t], row] >= thresholds[t] else 0
        for label in range(scores.shape[1]):
            scores[i, label] += voted[t, half, label]


@kernel
def add_table_scores(
    values: Floats, ends: Ints, cuts: Floats, tables: Doubles, scores: Doubles
) -> None:
    """scores[i, l] += tables[row, l] for each feature, row by the cuts at or below its value.

    Reads values float32 (q, n), NaN for missing; ends int64 (q,), the end of each feature's cuts;
    cuts float32, ascending for each feature; tables float64 (cuts + q, K): for each feature the row
    of no cut, which is that of NaN too, then one for each cut. Writes scores float64 (n, K).
    O(n q (log(cuts) + K)).
    """
    n, n_labels = scores.shape
    first = 0
    for j in range(ends.size):
        for i in range(n):
            value = values[j, i]
            low, high = first, ends[j]
            while low < high:
                middle = (low + high) // 2
                if value >= cuts[middle]:
                    low = middle + 1
                else:
                    high = middle
            for label in range(n_labels):
                scores[i, label] += tables[low + j, label]
        first = ends[j]


#: Rows summed at a time; a constant, so that bits do not depend on the number of threads.
PART = 512
#: Relative tolerance of c, and the most Newton steps: 2 to 5 are needed.
_NEAR, _STEPS = 1e-6, 60
#: Exponents below are taken as this one: near exp(-745) numbers are denormal, which are slow.
_LEAST = -700.0
_TINY = float(np.finfo(np.float64).tiny)


@inner_kernel
def _exp_below(x: float) -> float:
    """exp(x) for x of at most 0, to 1e-9 of it; 0 and more are 0. A processor takes eight at once.

    The 4,096th power of exp(x / 4,096), whose series is short.
    """
    x = max(min(x, 0.0), _LEAST) / 4096.0
    power = 1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0 * (1.0 + x / 7.0)))
    power = 1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * power))
    for _ in range(12):
        power *= power
    return power


@kernel
def temperature_slopes(
    scores: Doubles,
    targets: Doubles,
    factor: float,
    first: int,
    end: int,
    shifts: Doubles,
    ratios: Doubles,
    slopes: Doubles,
) -> None:
    """slopes[p] = the derivative of the log loss of part p by the logarithm of the temperature.

    Reads scores and targets float64 (n, K), K >= 2, and factor, 2 / T. `shifts` float64 (n,) has
    the c of each row of the last call, or NaN: Newton's method begins there. Overwrites ratios
    float64 (n, K). Parts first, ..., end - 1 have PART rows each. O(n K).

    With the other labels' sum of sigma(below_l + c) and the largest label's sigma(c), it solves
    log(sum) = log sigma(-c), whose slopes lie between 1/2 and 2 at any distance of the scores.
    """
    n, n_labels = scores.shape
    for part in range(first, end):
        slopes[part] = 0.0
        for i in range(part * PART, min(n, (part + 1) * PART)):
            score, ratio = scores[i], ratios[i]
            top = 0
            for label in range(1, n_labels):
                if score[label] > score[top]:
                    top = label
            largest, next_one = score[top], -np.inf
            for label in range(n_labels):
                if label != top:
                    next_one = max(next_one, score[label])
            second = (next_one - largest) * factor
            for label in range(n_labels):
                ratio[label] = _exp_below((score[label] - next_one) * factor)
            ratio[top] = 0.0
            # c if all labels had the largest score, and c of the two largest ones alone.
            low, high = -math.log(n_labels - 1.0), -0.5 * second
            shift = shifts[i]
            if not low < shift < high:
                shift = high
            for _ in range(_STEPS):
                # sigma(at) = ratio exp(second + c) / (1 + ratio exp(second + c)), second + c <= 0
                odds = math.exp(second + shift)
                total = more = 0.0
                for label in range(n_labels):
                    rest = 1.0 / (1.0 + ratio[label] * odds)
                    total += ratio[label] * rest
                    more += ratio[label] * rest * rest
                small = math.exp(-abs(shift))
                of_top = (1.0 if shift > 0.0 else small) / (1.0 + small)
                excess = second + shift + math.log(total) + max(shift, 0.0) + math.log1p(small)
                if excess <= 0.0:
                    low = shift
                if excess >= 0.0:
                    high = shift
                following = shift - excess / (more / total + of_top)
                if not low <= following <= high:
                    following = 0.5 * (low + high)
                done = abs(following - shift) <= _NEAR * (1.0 + abs(shift))
                shift = following
                if done:
                    break
            shifts[i] = shift
            odds, small = math.exp(second + shift), math.exp(-abs(shift))
            rest = (small if shift > 0.0 else 1.0) / (1.0 + small)
            mean, mass = 0.0, rest * (1.0 - rest)
            for label in range(n_labels):
                other = 1.0 / (1.0 + ratio[label] * odds)
                v = ratio[label] * odds * other * other
                ratio[label] = other
                mean += v * ((score[label] - largest) * factor)
                mass += v
            ratio[top] = rest
            mean /= max(mass, _TINY)
            for label in range(n_labels):
                below = (score[label] - largest) * factor
                slopes[part] += targets[i, label] * ratio[label] * (below - mean)
