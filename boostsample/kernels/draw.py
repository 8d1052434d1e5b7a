"""Draws of examples in proportion to their weights.

The example weights are `weight` float32 (N,). `ends` float64 holds their cumulated sums at the
ends of blocks of DRAW_BLOCK examples: formed once a round in O(N), it makes each draw of T examples
cost O(T log N). Random numbers are arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from boostsample.jit.compile_kernels import inner_kernel, kernel
from boostsample.jit.stack import on_stack
from boostsample.jit.vectors import vec_count_up_to, vec_load, vec_running
from boostsample.kernels.array_layout import Doubles, Floats, Ints

DRAW_BLOCK = 16


@kernel
def cumulate_for_draw(weight: Floats, ends: Doubles) -> None:
    """ends[j] = sum of the weights of the first (j + 1) * DRAW_BLOCK examples; O(N)."""
    so_far, n_whole = 0.0, weight.size // DRAW_BLOCK
    for j in range(n_whole):  # a constant length halves the time
        within = 0.0
        for i in range(DRAW_BLOCK):
            within += np.float64(weight[j * DRAW_BLOCK + i])
        so_far += within
        ends[j] = so_far
    if n_whole < ends.size:
        within = 0.0
        for i in range(n_whole * DRAW_BLOCK, weight.size):
            within += np.float64(weight[i])
        ends[n_whole] = so_far + within


@kernel
def pick_by_weight(
    weight: Floats, ends: Doubles, gaps: Doubles, scale: float, examples: Ints, factors: Doubles
) -> int:
    """The examples at T ascending targets in the cumulated weights, and their share of the hits.

    Reads gaps float64 (at least T,): target t is `scale` times the sum of the first t + 1 gaps, in
    [0, ends[-1]). Writes examples int32 (T,), ascending and without repeats, and factors float64
    (T,): hits / (T w_i). Returns how many are in use. Inside a block weights are cumulated in
    float32; rounding can place a target beyond an end: it hits the last example before it.
    O(T (DRAW_BLOCK / 8 + log N)).
    """
    n, n_blocks, n_targets = weight.size, ends.size, examples.size
    few = on_stack(DRAW_BLOCK, np.float32)  # weights of a last block that is not full
    for j in range(DRAW_BLOCK):
        i = (n_blocks - 1) * DRAW_BLOCK + j
        few[j] = weight[i] if i < n else np.float32(0.0)
    block: Any = np.int64(-1)  # of the type that _block_of returns
    first, start, end, most = 0, 0.0, 0.0, 0
    within = vec_running(vec_load(few, 0, DRAW_BLOCK))
    used, last, hits, target = 0, -1, 0.0, 0.0
    for t in range(n_targets):
        target += gaps[t] * scale
        if target >= end and block < n_blocks - 1:
            block = _block_of(ends, block + 1, target)
            first, end = block * DRAW_BLOCK, ends[block]
            start = ends[block - 1] if block > 0 else 0.0
            whole = first + DRAW_BLOCK <= n
            within = vec_running(
                vec_load(weight, first, DRAW_BLOCK) if whole else vec_load(few, 0, DRAW_BLOCK)
            )
            most = min(first + DRAW_BLOCK, n) - 1
        chosen = min(first + vec_count_up_to(within, target - start), most)
        fresh = chosen != last
        used += fresh
        hits = 1.0 if fresh else hits + 1.0
        place = np.uint64(used - 1)
        examples[place], factors[place] = chosen, hits
        last = chosen
    for u in range(used):
        factors[u] /= n_targets * np.float64(weight[np.uint64(examples[u])])
    return used


@inner_kernel
def _block_of(ends: Doubles, block: int, target: float) -> int:
    """The first block from `block` on that ends beyond the target, or the last one."""
    last = ends.size - 1
    if block + 8 > last:
        while block < last and ends[block] <= target:
            block += 1
        return block
    near: int = vec_count_up_to(vec_load(ends, block, 8), target)
    if near < 8:
        return block + near
    low, step = block + 7, 1  # ends[low] <= target: gallop, then halve
    while low + step < last and ends[low + step] <= target:
        low += step
        step *= 2
    high = min(low + step, last)
    while high - low > 1:
        middle = (low + high) // 2
        if ends[middle] <= target:
            low = middle
        else:
            high = middle
    return high


@kernel
def draw_pivotal(
    weight: Floats, size: int, uniforms: Doubles, examples: Ints, inclusion: Doubles
) -> int:
    """Ordered pivotal sampling of exactly `size` different examples, pi_i = min(1, w_i / c).

    Neighbouring rows fight for their inclusion probabilities until all but one are 0 or 1 (Deville
    and Tille 1998). The variance is at most that of draws with replacement, in any order of the
    rows (Chauvet 2017). Reads uniforms float64 (N,). Writes examples int32
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


@inner_kernel
def _insert(examples: Ints, inclusion: Doubles, used: int, example: int, pi: float) -> int:
    """Insert an example in ascending order; a fighter can precede the last winner."""
    at = used
    while at > 0 and examples[at - 1] > example:
        examples[at] = examples[at - 1]
        inclusion[at] = inclusion[at - 1]
        at -= 1
    examples[at] = example
    inclusion[at] = pi
    return used + 1
