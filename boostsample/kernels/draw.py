"""Draws of examples in proportion to their weights, and the weighted rows that a draw stands for.

The example weights are `weight` float32 (N,). `ends` float64 holds their cumulated sums at the
ends of blocks of BLOCK examples: formed once a round in O(N), it lets a draw of T examples cost
O(T log N) however often it is repeated. Random numbers come in as arrays.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample._jit import kernel

Ints: TypeAlias = NDArray[np.integer[Any]]
Floats: TypeAlias = NDArray[np.float32]
Doubles: TypeAlias = NDArray[np.float64]


BLOCK = 16


@kernel
def cumulate(weight: Floats, ends: Doubles) -> None:
    """ends[j] = sum of the weights of the first (j + 1) * BLOCK examples; O(N)."""
    n = weight.size
    so_far = 0.0
    for j in range(ends.size):
        within = 0.0
        for i in range(j * BLOCK, min(n, (j + 1) * BLOCK)):
            within += np.float64(weight[i])
        so_far += within
        ends[j] = so_far


@kernel
def pick(
    weight: Floats, ends: Doubles, gaps: Doubles, scale: float, examples: Ints, factors: Doubles
) -> int:
    """The examples at T ascending targets in the cumulated weights, and their share of the hits.

    Reads gaps float64 (at least T,): target t is `scale` times the sum of the first t + 1 gaps, in
    [0, ends[-1]). Writes examples int32 (T,), ascending and without repeats, and factors float64
    (T,): hits / (T w_i). Returns how many are in use. A target beyond the last end, which rounding
    can cause, hits the last example. O(T (BLOCK + log N)).
    """
    n, n_blocks, n_targets = weight.size, ends.size, examples.size
    within = np.empty(BLOCK, np.float64)  # cumulated weights inside the block
    block, cumulated, first = 0, -1, 0
    used, last, hits, target = 0, -1, 0.0, 0.0
    for t in range(n_targets):
        target += gaps[t] * scale
        if target >= ends[block] and block < n_blocks - 1:
            block = _block_of(ends, block, target)
        if block != cumulated:
            cumulated, first = block, block * BLOCK
            so_far = ends[block - 1] if block > 0 else 0.0
            for i in range(BLOCK):
                if first + i < n:
                    so_far += np.float64(weight[first + i])
                within[i] = so_far
        place = 0  # the ends in the block up to the target, found in four steps without branches
        half = BLOCK // 2
        while half:
            place += half if within[place + half - 1] <= target else 0
            half //= 2
        chosen = first + place if first + place < n else n - 1
        fresh = chosen != last
        used += fresh
        hits = 1.0 if fresh else hits + 1.0
        examples[used - 1] = chosen
        factors[used - 1] = hits
        last = chosen
    for u in range(used):
        factors[u] /= n_targets * np.float64(weight[examples[u]])
    return used


@kernel
def _block_of(ends: Doubles, block: int, target: float) -> int:
    """The first block from `block` on that ends beyond the target: gallop, then halve."""
    low, step, most = block, 1, ends.size - 1  # ends[low] <= target
    while low + step < most and ends[low + step] <= target:
        low += step
        step *= 2
    high = min(low + step, most)
    while high - low > 1:
        middle = (low + high) // 2
        if ends[middle] <= target:
            low = middle
        else:
            high = middle
    return high


@kernel
def pivotal(
    weight: Floats, size: int, uniforms: Doubles, examples: Ints, inclusion: Doubles
) -> int:
    """Ordered pivotal sampling of exactly `size` different examples, pi_i = min(1, w_i / c).

    Neighbours in the order of the rows fight for their inclusion probabilities until all but one
    are 0 or 1 (Deville and Tille 1998); its variance stays within that of draws with replacement
    in any order of the rows (Chauvet 2017). Reads uniforms float64 (N,). Writes examples int32
    (size,), ascending, and inclusion float64 (size,), their pi_i. Needs 0 < size < the number of
    examples with weight. O(N) a pass.
    """
    n = weight.size
    mass, certain = 0.0, 0
    for i in range(n):
        mass += np.float64(weight[i])
    level = mass / size  # the c of pi_i = min(1, w_i / c)
    while True:
        heavy, light = 0, 0.0
        for i in range(n):
            if weight[i] > 0.0 and np.float64(weight[i]) >= level:
                heavy += 1
            else:
                light += np.float64(weight[i])
        if heavy == certain or heavy >= size:
            break
        certain = heavy
        level = light / (size - heavy)
    used = 0
    fighter, chance = -1, 0.0
    for i in range(n):
        w = np.float64(weight[i])
        if w == 0.0:
            continue
        if w >= level:
            if used < size:
                used = _insert(examples, inclusion, used, i, 1.0)
            continue
        mine = w / level
        if fighter < 0:
            fighter, chance = i, mine
            continue
        both = chance + mine
        if both < 1.0:
            if uniforms[i] * both >= chance:
                fighter = i
            chance = both
        else:
            winner, loser = i, fighter
            if uniforms[i] * (2.0 - both) < 1.0 - mine:
                winner, loser = fighter, i
            if used < size:
                pi = np.float64(weight[winner]) / level
                used = _insert(examples, inclusion, used, winner, pi)
            fighter, chance = loser, both - 1.0
    if used < size and fighter >= 0:
        used = _insert(examples, inclusion, used, fighter, np.float64(weight[fighter]) / level)
    return used


@kernel
def _insert(examples: Ints, inclusion: Doubles, used: int, example: int, pi: float) -> int:
    """Append an example, keeping ascending order; a fighter can be older than the last winner."""
    at = used
    while at > 0 and examples[at - 1] > example:
        examples[at] = examples[at - 1]
        inclusion[at] = inclusion[at - 1]
        at -= 1
    examples[at] = example
    inclusion[at] = pi
    return used + 1
