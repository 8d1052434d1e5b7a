"""Draws of examples in proportion to their weights.

The example weights are `weight` float32 (N,). `ends` float64 holds their cumulated sums at the
ends of blocks of DRAW_BLOCK examples: formed once a round in O(N), it makes each draw of T examples
cost O(T log N). Random numbers are arguments.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from boostsample.jit import vectors as vec
from boostsample.jit.compile_kernels import COMPILED, inner_kernel, kernel
from boostsample.jit.vectors import LANES, on_stack
from boostsample.kernels.array_layout import Bytes, Doubles, Floats, Ints

#: An int64 variable.
_NONE: Any = np.int64(0)
#: Examples of a block: their running sums are one vector of 16 lanes, in which a comparison without
#: branches finds the example of a target.
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
    used: int = _pick(weight, ends, gaps, scale, examples, factors)
    for u in range(used):
        factors[u] /= examples.size * np.float64(weight[np.uint64(examples[u])])
    return used


@kernel
def pick_nested(
    weight: Floats,
    ends: Doubles,
    more: Ints,
    gaps: Doubles,
    scales: Doubles,
    examples: Ints,
    factors: Doubles,
    used: Ints,
) -> None:
    """Several picks as of `pick_by_weight`, one after another.

    Reads more int64 (S,), the targets of each pick, of sum T; scales float64 (S,); gaps float64, at
    least T + (S - 1) extra, of which each pick takes its targets' and `extra` more, all alike.
    Writes examples int32 (T,), ascending in each pick, factors float64 (T,), hits / w_i, and used
    int64 (S,), the examples in use after each pick.
    """
    extra = (gaps.size - examples.size) // more.size
    at, gap = 0, 0
    for s in range(more.size):
        picked = examples[at : at + more[s]]
        first, at = at, at + _pick(weight, ends, gaps[gap:], scales[s], picked, factors[at:])
        gap += more[s] + extra
        used[s] = at
        for u in range(first, at):
            factors[u] /= np.float64(weight[np.uint64(examples[u])])


@inner_kernel
def _pick(
    weight: Floats, ends: Doubles, gaps: Doubles, scale: float, examples: Ints, factors: Doubles
) -> int:
    """`pick_by_weight` with the hits as factors."""
    n, n_blocks, n_targets = weight.size, ends.size, examples.size
    few = on_stack(DRAW_BLOCK, np.float32)  # weights of a last block that is not full
    for j in range(DRAW_BLOCK):
        i = (n_blocks - 1) * DRAW_BLOCK + j
        few[j] = weight[i] if i < n else np.float32(0.0)
    block: Any = np.int64(-1)  # of the type that _block_of returns
    first, start, end, most = 0, 0.0, 0.0, 0
    within = vec.running(vec.load(few, 0, DRAW_BLOCK))
    used, last, hits, target = 0, -1, 0.0, 0.0
    for t in range(n_targets):
        # Targets ascend, so that the block stays in registers until one lies beyond it.
        target += gaps[t] * scale
        if target >= end and block < n_blocks - 1:
            block = _block_of(ends, block + 1, target)
            first, end = block * DRAW_BLOCK, ends[block]
            start = ends[block - 1] if block > 0 else 0.0
            whole = first + DRAW_BLOCK <= n
            within = vec.running(
                vec.load(weight, first, DRAW_BLOCK) if whole else vec.load(few, 0, DRAW_BLOCK)
            )
            most = min(first + DRAW_BLOCK, n) - 1
        chosen = min(first + vec.count_up_to(within, target - start), most)  # never the padding
        fresh = chosen != last
        used += fresh
        hits = 1.0 if fresh else hits + 1.0
        # Written for each target, and again for a repeat: a branch would be mispredicted.
        place = np.uint64(used - 1)
        examples[place], factors[place] = chosen, hits
        last = chosen
    return used


@inner_kernel
def _block_of(ends: Doubles, block: int, target: float) -> int:
    """The first block from `block` on that ends beyond the target, or the last one."""
    last = ends.size - 1
    if block + 8 > last:
        while block < last and ends[block] <= target:
            block += 1
        return block
    # Targets ascend: with many of them, the block is one of the next eight.
    near: int = vec.count_up_to(vec.load(ends, block, 8), target)
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
def inclusion_level(weight: Floats, size: int) -> float:
    """The c for which the sum of min(1, w_i / c) is `size`; O(N / 8) a pass, few passes.

    Reads weight float32 (N,). With no more than `size` examples with weight, a c at or below all
    their weights.
    """
    mass, certain = _lighter(weight, np.float32(np.inf))[0], 0
    level = mass / size
    while True:
        light, n_light = _lighter(weight, np.float32(level))
        n_heavy = weight.size - n_light
        if n_heavy <= certain or n_heavy >= size or light == 0.0:  # fewer: rounding
            return level
        # Heavy examples weigh `level` or more, so that the next level is no higher and heavy
        # examples stay heavy: their number grows until the level is right.
        certain = n_heavy
        level = light / (size - n_heavy)


@inner_kernel
def _lighter(weight: Floats, level: Any) -> tuple[float, int]:
    """Sum and number of the weights below a level."""
    whole = weight.size - weight.size % DRAW_BLOCK
    first = on_stack(DRAW_BLOCK, np.float32)
    for j in range(DRAW_BLOCK):
        first[j] = 0.0
    none = vec.load(first, 0, DRAW_BLOCK)
    minus_level = vec.fill(none, -level)
    sums, n_light = vec.widen(none), 0
    for i in range(0, whole, DRAW_BLOCK):
        weights = vec.load(weight, i, DRAW_BLOCK)
        # The sign of a rounded difference is exact, as is the comparison of `count_below`.
        light = vec.choose(vec.add(weights, minus_level), none, weights)
        sums = vec.add(sums, vec.widen(light))
        n_light += vec.count_below(weights, level)
    total = vec.total(sums)
    for i in range(whole, weight.size):
        if weight[i] < level:
            total += np.float64(weight[i])
            n_light += 1
    return total, n_light


@inner_kernel
def _splitmix(state: Any) -> tuple[Any, float]:
    """The next state of SplitMix64 (Steele, Lea and Flood 2014), and its number in [0, 1)."""
    state += np.uint64(0x9E3779B97F4A7C15)
    word = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    # The upper 53 bits, as many as a float64 holds.
    return state, np.float64(np.int64((word ^ (word >> np.uint64(31))) >> np.uint64(11))) * 2.0**-53


def _splitmix_twin(state: Any) -> tuple[Any, float]:
    with np.errstate(over="ignore"):
        return _splitmix(state)


#: Without compilation, NumPy warns where products of uint64 numbers wrap.
_next_uniform: Any = _splitmix if COMPILED else _splitmix_twin


@kernel
def draw_features(seed: int, n_features: int, features: Ints) -> None:
    """Different features of 0, ..., F - 1, ascending, each subset as likely as any other; O(F).

    Writes features int64 (Q,), Q of at most F; random numbers are a hash of `seed`. Feature f is
    taken with the probability of those still missing among those still to come (Knuth 1969, 3.4.2).
    """
    state = np.uint64(seed)
    used: Any = np.int64(0)
    for f in range(n_features):
        state, uniform = _next_uniform(state)
        if uniform * (n_features - f) < features.size - used:
            features[used] = f
            used += 1


@kernel
def draw_node_features(
    seed: int,
    n_features: int,
    again: Ints,
    pool: Ints,
    ends: Doubles,
    marks: Bytes,
    features: Ints,
) -> int:
    """Features of 0, ..., F - 1 as `records.NodeFeatures` says; returns how many. O(Q).

    Reads again and pool int64, ends float64. Writes features int64 (Q,), Q below the number that
    they are drawn from, in the order of the draws; fewer of a pool with repeats. Random numbers are
    a hash of `seed`. marks uint8 (F,) is 0 before and after.
    """
    state, used = np.uint64(seed), _NONE
    for _ in range(features.size if again.size else 0):
        if used == features.size // 2:
            break
        state, uniform = _next_uniform(state)
        # P(t sqrt(u) < s) = (s / t)^2.
        feature = again[np.int64(again.size * np.sqrt(uniform))]
        if not marks[feature]:
            features[used], marks[feature] = feature, 1
            used += 1
    n_draws = _NONE + features.size - used
    if not ends.size:
        # About log M draws for each of M features find all of them.
        n_draws += 100 * (pool.size if pool.size else n_features)
    while used < features.size and n_draws > 0:
        n_draws -= 1
        state, uniform = _next_uniform(state)
        if ends.size:
            at = min(np.searchsorted(ends, uniform * ends[ends.size - 1]), ends.size - 1)
            feature = pool[at]
        elif pool.size:
            feature = pool[np.int64(uniform * pool.size)]
        else:
            feature = np.int64(uniform * n_features)
        if not marks[feature]:
            features[used], marks[feature] = feature, 1
            used += 1
    for q in range(used):
        marks[features[q]] = 0
    return int(used)


@kernel
def draw_pivotal(
    weight: Floats, level: float, seed: int, taken: Bytes, examples: Ints, inclusion: Doubles
) -> int:
    """Ordered pivotal sampling of different examples, pi_i = min(1, w_i / level).

    Neighbouring rows fight for their inclusion probabilities until all but one are 0 or 1 (Deville
    and Tille 1998). The variance is at most that of draws with replacement, in any order of the
    rows (Chauvet 2017). Reads weight float32 (N,); random numbers are a hash of `seed` and the row.
    Overwrites taken uint8 (N + 1,). Writes examples int32 (T + 1,), ascending, and inclusion
    float64 (T + 1,), their pi_i. Returns T, the sum of the pi_i. Branch-free; O(N).
    """
    n, scale = weight.size, 1.0 / level
    for i in range(n + 1):
        taken[i] = 0
    fighter: Any = np.int64(n)
    chance = 0.0
    state = np.uint64(seed)
    for i in range(n):
        share = np.float64(weight[i]) * scale
        certain = np.int64(share >= 1.0)
        challenge = share * (1.0 - certain)  # an example that is certain does not fight
        state, uniform = _next_uniform(state)
        both = chance + challenge
        takes = np.int64(both >= 1.0)  # one of both is taken, the other one keeps the rest
        joins = np.int64(uniform * both >= chance)  # wins what both have, if less than 1
        stays = np.int64(uniform * (2.0 - both) < 1.0 - challenge)  # loses to the fighter
        # The index of the example taken, or n: conditions are factors, so that nothing branches.
        out = n + takes * (i + stays * (fighter - i) - n)
        taken[np.uint64(out + certain * (i - out))] = 1
        fighter += (takes * stays + (1 - takes) * joins) * (i - fighter)
        left = both - 1.0
        chance = both if left < 0.0 else left
    # The pi_i sum to T: what the last fighter has is 0 or 1, up to rounding.
    if chance > 0.5:
        taken[fighter] = 1
    used: Any = np.int64(0)
    for i in range(n):
        # As in `_pick`, written for each row: the next one overwrites a row that is not taken.
        place = np.uint64(used)
        examples[place] = i
        inclusion[place] = min(np.float64(weight[i]) * scale, 1.0)
        used += np.int64(taken[i])
    return int(used)


#: Weights that the first guess of a level is made from, about.
GUESSED_FROM = 8192
#: Buckets of keys in which the largest one of a sample is looked for. Keys of candidates are nearly
#: uniform below the largest, so that a bucket holds few, unless some examples are much heavier.
_N_BUCKETS = 512
#: Keys of a bucket that are sorted; more are divided among buckets again.
_FEW_KEYS = 64
#: Larger keys are not told from each other: times a weight, they are float32.
_MOST_KEY = 1e38


class OrderRoom(NamedTuple):
    """Work space of a draw by order.

    `some` float32 (at most N,) for weights that levels are guessed from; `examples` int32 and
    `keys` and `held` float64 (any,) for candidates: more than the examples drawn, by eight at
    least.
    """

    some: Floats
    examples: Ints
    keys: Doubles
    held: Doubles


def order_room(n_examples: int, size: int) -> OrderRoom:
    """Work space for draws of up to `size` of N examples."""
    # More candidates than `draw_by_order` aims at; with too many it lowers its largest key.
    most = int(1.6 * size + 8.0 * size**0.5) + 64
    guess = np.empty(min(n_examples, GUESSED_FROM), np.float32)
    return OrderRoom(guess, np.empty(most, np.int32), np.empty(most), np.empty(most))


@kernel
def draw_by_order(
    weight: Floats, size: int, seed: int, room: OrderRoom, examples: Ints, factors: Doubles
) -> int:
    """The `size` examples of smallest keys u_i / w_i: priority sampling.

    With the next key tau, the factors are max(1, 1 / (tau w_i)) (Duffield, Lund and Thorup 2007,
    section 2). u_i are those of `vec.uniforms`. Reads weight float32 (N,), N > size; examples
    without weight are not drawn. Returns how many are, `size` unless fewer have weight.
    Writes examples int32 (size,), ascending, factors float64 (size,), their keys to the first of
    room.keys, and tau to the next one. O(N), most of it hashes.
    """
    # Aim at more candidates than are drawn: four standard deviations of their number, and 12 % as
    # the level is guessed from some of the weights. Another pass is then rare.
    step = weight.size // room.some.size
    for k in range(room.some.size):
        room.some[k] = weight[k * step]
    about = 1.12 * size + 4.0 * np.sqrt(np.float64(size))
    share = int(about * room.some.size / weight.size)
    largest = 1.0 / inclusion_level(room.some, max(1, share))
    too_small, too_large, step_up = 0.0, np.inf, 1.5
    n = _candidates(weight, largest, seed, room)
    # `_candidates` stops counting LANES before the end of the room: then some were lost.
    while n <= size or n >= room.examples.size - LANES:
        if n > size:
            too_large = largest
        elif largest >= _MOST_KEY:  # no more examples have weight
            break
        else:
            too_small = largest
        if too_large == np.inf:
            largest = min(largest * step_up, _MOST_KEY)
            step_up *= step_up
        else:
            # Halves the interval of the logarithm; 0 has none.
            largest = np.sqrt(max(too_small, too_large * 1e-9) * too_large)
        n = _candidates(weight, largest, seed, room)
    for t in range(n):
        room.keys[t] = _key(weight, seed, room.examples[t])
    last = nth_key(room.keys, room.held, n, size, largest) if n > size else np.inf
    n_smaller: Any = np.int64(0)
    for t in range(n):
        n_smaller += room.keys[t] < last
    ties, used = size - n_smaller, _NONE  # those of the last key, the first of them
    for t in range(n):
        key = room.keys[t]
        room.examples[used], room.keys[used] = room.examples[t], key
        tied = np.int64(key == last) * np.int64(ties > 0)
        ties -= tied
        used += np.int64(key < last) + tied
    for t in range(used):
        i = np.int64(room.examples[t])
        examples[t] = i
        factors[t] = max(1.0, 1.0 / (last * np.float64(weight[i])))
    room.keys[used] = last
    return int(used)


@inner_kernel
def _candidates(weight: Floats, largest: float, seed: int, room: OrderRoom) -> int:
    """Write the examples of keys below about `largest`, if there is room; how many there are."""
    examples, most = room.examples, room.examples.size - LANES
    n, n_used = weight.size, _NONE
    few = on_stack(LANES, np.float32)
    for k in range(LANES):
        few[k] = 0.0
    limits = vec.fill(vec.load(few, 0, LANES), np.float32(largest))
    whole = n - n % LANES
    for k in range(n - whole):
        few[k] = weight[whole + k]
    for i in range(0, n, LANES):
        weights = vec.load(weight, i, LANES) if i < whole else vec.load(few, 0, LANES)
        # u < w largest for u / w < largest: no division, and no candidate without weight.
        taken = vec.bits_below(vec.uniforms(i, seed, LANES), vec.multiply(weights, limits))
        n_used = min(n_used + vec.store_set_bits(examples, n_used, i, taken), most)
    return int(n_used)


@inner_kernel
def _key(weight: Floats, seed: int, i: Any) -> float:
    uniform = on_stack(1, np.float32)
    vec.store(uniform, 0, vec.uniforms(np.int64(i), seed, 1))
    return np.float64(uniform[0]) / np.float64(weight[i])


@inner_kernel
def nth_key(keys: Doubles, held: Doubles, n: int, number: int, largest: float) -> float:
    """The key that `number` of the first n keys are smaller than; all are at most about `largest`.

    Overwrites held float64 (n,).
    """
    counts, before, low, high = on_stack(_N_BUCKETS, np.int64), _NONE, 0.0, largest
    source, n_held = keys, _NONE + n
    while True:
        scale = _N_BUCKETS / (high - low)
        for b in range(_N_BUCKETS):
            counts[b] = 0
        for t in range(n_held):
            counts[min(np.int64((source[t] - low) * scale), _N_BUCKETS - 1)] += 1
        bucket = 0
        while before + counts[bucket] <= number:
            before += counts[bucket]
            bucket += 1
        searched, n_held, least, most = n_held, _NONE, np.inf, 0.0
        for t in range(searched):
            key = source[t]
            if min(np.int64((key - low) * scale), _N_BUCKETS - 1) == bucket:
                least, most = min(least, key), max(most, key)
                held[n_held] = key
                n_held += 1
        if least == most:
            return least
        if n_held <= _FEW_KEYS:
            break
        # Heavy examples have keys that are all near 0: buckets of their range divide them.
        source, low, high = held, least, most
    for t in range(1, n_held):
        key, at = held[t], t
        while at > 0 and held[at - 1] > key:
            held[at] = held[at - 1]
            at -= 1
        held[at] = key
    return float(held[number - before])
