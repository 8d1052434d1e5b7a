"""Expectation-maximisation (EM) of Gaussian mixtures in one dimension, fast enough for each round.

A model is one (3, J) float64 array: row 0 the proportions, row 1 the means, row 2 the variances. A
component of proportion 0 is unused; its mean and variance are never read.

Known noise: each value may be G + D, D ~ N(0, v) with v known; the mixture of G is fitted. With
one v for all values the M step has the closed form max(variance - v, floor), applied in every
iteration, and responsibilities use the noisy density. With one v for each value it has none; the M
step is that of extreme deconvolution (Bovy, Hogg, Roweis, Annals of Applied Statistics 5, 2011) in
one dimension, which converges more slowly if s^2 is far below v.

More than MAX_MIXTURE_GROUPS values are first put into groups of neighbours (mean, spread, weight).
A group shares its responsibilities, which maximises a lower bound of the likelihood (Verbeek,
Nunnink, Vlassis, Accelerated EM-based clustering of large data sets, 2006); the last iterations use
all values.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from boostsample.jit.compile_kernels import (
    allocating_inner_kernel,
    allocating_kernel,
    inner_kernel,
    kernel,
)
from boostsample.jit.vectors import on_stack

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

LANES = 8  # arrays are padded to a multiple of this; sums run in as many independent lanes
_N_SUMS = 3 * LANES
_N_MOMENTS = 2 * LANES
MAX_MIXTURE_GROUPS = 128
_N_STARTS = 7
FIRST_TRIAL = 6  # iterations that every start gets
_SECOND_TRIAL = 50  # at most that many more for the best _N_FINALISTS
_N_FINALISTS = 5
CHECK_EVERY = 5  # iterations between computations of the likelihood, a logarithm for each value
_LOG_TWO_PI = 1.8378770664093453
_EMPTY = 1e-9  # a component with a smaller share becomes unused


@inner_kernel
def _first_at_least(values: Array, least: float) -> int:
    """np.searchsorted(values, least), without its half second of compilation."""
    low, high = 0, values.size
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@inner_kernel
def _largest(values: Array) -> int:
    """values.argmax(), without its quarter second of compilation; a NaN is the largest."""
    best = 0
    for i in range(1, values.size):
        if values[i] > values[best] or (values[i] != values[i] and values[best] == values[best]):
            best = i
    return best


@inner_kernel
def _exp_minus(x: float) -> float:
    """exp(-x), 0 <= x <= 41, as exp(-x/1024)^1024: vectorises in loops; relative error 6e-9."""
    y = x * -0.0009765625
    e = 1.0 + y * (1.0 + y * (0.5 + y * (1 / 6 + y * (1 / 24 + y * (1 / 120)))))
    for _ in range(10):
        e *= e
    return e


@inner_kernel
def _expect(data: Array, each: bool, model: Array, work: Array) -> None:
    """E step. O(J n).

    data: (4, n) read, mean, spread (variance), weight and noise of each group; each: whether noises
    differ; model: (3, J) read; work: (J + 2, n) written: each component's density divided by the
    largest, the logarithm of the largest, the sum of the first J rows.
    """
    n_components = model.shape[1]
    values, spread = data[0], data[1]
    peak, total = work[-2], work[-1]
    for i in range(values.size):
        peak[i], total[i] = -1e300, 0.0
    for j in range(n_components):
        if model[0, j] > 0.0:
            row, mean = work[j], model[1, j]
            constant = math.log(model[0, j]) - 0.5 * _LOG_TWO_PI
            if not each:
                variance = model[2, j] + data[3, 0]
                constant -= 0.5 * math.log(variance)
                half_precision = 0.5 / variance
                for i in range(values.size):
                    d = values[i] - mean
                    row[i] = constant - (d * d + spread[i]) * half_precision
                    peak[i] = max(peak[i], row[i])
            else:
                for i in range(values.size):
                    variance = model[2, j] + data[3, i]
                    d = values[i] - mean
                    square = (d * d + spread[i]) / variance
                    row[i] = constant - 0.5 * (math.log(variance) + square)
                    peak[i] = max(peak[i], row[i])
    for j in range(n_components):
        if model[0, j] > 0.0:
            row = work[j]
            for i in range(values.size):
                # exp(-40) is below the rounding of a sum with the largest, 1.
                row[i] = _exp_minus(min(peak[i] - row[i], 40.0))
                total[i] += row[i]


@inner_kernel
def _mean_log_likelihood(data: Array, work: Array) -> float:
    """Weighted mean of log density, after `_expect`. O(n)."""
    peak, total = work[-2], work[-1]
    result = weight = 0.0
    for i in range(peak.size):
        if data[2, i] > 0.0:
            weight += data[2, i]
            result += data[2, i] * (peak[i] + math.log(total[i]))
    return result / weight


@inner_kernel
def _maximise(data: Array, each: bool, floor: float, work: Array, model: Array) -> None:
    """M step, after `_expect`; n is a multiple of LANES. O(J n).

    Moments are about the old mean, against cancellation if means are far from 0.
    """
    values, spread, scale = data[0], data[1], work[-1]
    lanes = on_stack(_N_SUMS, np.float64)
    for i in range(values.size):
        scale[i] = data[2, i] / scale[i]
    whole = 0.0
    for j in range(model.shape[1]):
        if model[0, j] > 0.0:
            row = work[j]
            mean, old = model[1, j], model[2, j]
            lanes[:] = 0.0
            for start in range(0, values.size, LANES):
                for k in range(LANES):
                    i = start + k
                    share = row[i] * scale[i]
                    d = values[i] - mean
                    extra = spread[i]
                    if each:  # posterior mean and variance of G - mean, given the value
                        gain = old / (old + data[3, i])
                        d *= gain
                        extra = gain * data[3, i]
                    lanes[k] += share
                    lanes[LANES + k] += share * d
                    lanes[2 * LANES + k] += share * (d * d + extra)
            mass = lanes[:LANES].sum()
            shift = lanes[LANES : 2 * LANES].sum() / mass
            variance = lanes[2 * LANES :].sum() / mass - shift * shift
            if not each:
                variance -= data[3, 0]
            model[0, j] = mass
            model[1, j] = mean + shift
            model[2, j] = max(variance, floor)
            whole += mass
    for j in range(model.shape[1]):
        # A component that fades out would divide by its mass, about 0, in the next step.
        model[0, j] = model[0, j] / whole if model[0, j] > _EMPTY * whole else 0.0


@inner_kernel
def _iterate(
    data: Array,
    each: bool,
    floor: float,
    tolerance: float,
    check_every: int,
    n_iterations: int,
    work: Array,
    model: Array,
) -> tuple[float, int]:
    """At most `n_iterations` EM steps on `model`, in place; returns mean log-likelihood and steps.

    Stops when `check_every` steps together gain less than check_every * tolerance.
    """
    before = -1e300
    for step in range(n_iterations):
        _expect(data, each, model, work)
        if step % check_every == 0:
            now = _mean_log_likelihood(data, work)
            if now - before < check_every * tolerance:
                return now, step
            before = now
        _maximise(data, each, floor, work, model)
    _expect(data, each, model, work)
    return _mean_log_likelihood(data, work), n_iterations


@inner_kernel
def _cut_by_shares(sums: Array, ratio: float, cuts: Ints) -> None:
    """Cut sorted groups into parts of weights near 1 : ratio : ratio^2 and so on.

    sums: (3, n + 1) read, running sums of weight, weight times value, weight times square; cuts:
    (parts + 1,), both ends read, the others written, strictly increasing.
    """
    n, n_parts = sums.shape[1] - 1, cuts.size - 1
    whole = 0.0
    for j in range(n_parts):
        whole += ratio**j
    goal = 0.0
    for j in range(1, n_parts):
        goal += ratio ** (j - 1) / whole * sums[0, n]
        k = _first_at_least(sums[0], goal)
        if goal - sums[0, k - 1] < sums[0, min(k, n)] - goal:
            k -= 1
        cuts[j] = min(max(k, cuts[j - 1] + 1), n - (n_parts - j))


@inner_kernel
def _mean_between(sums: Array, first: int, last: int) -> float:
    return float((sums[1, last] - sums[1, first]) / (sums[0, last] - sums[0, first]))


@inner_kernel
def _move_cuts(values: Array, sums: Array, cuts: Ints) -> None:
    """Lloyd's k-means on sorted groups, in place: moves cuts midway between adjacent means."""
    for _ in range(30):
        moved = False
        left = _mean_between(sums, cuts[0], cuts[1])
        for j in range(1, cuts.size - 1):
            right = _mean_between(sums, cuts[j], cuts[j + 1])
            k = _first_at_least(values, 0.5 * (left + right))
            k = min(max(k, cuts[j - 1] + 1), cuts[j + 1] - 1)
            moved = moved or k != cuts[j]
            cuts[j] = k
            left = right
        if not moved:
            return


@allocating_inner_kernel
def _start(kind: int, data: Array, floor: float, model: Array) -> None:
    """Write the deterministic start number `kind` into `model`: data cut into intervals.

    0: k-means from equal shares; 1: k-means from shares that fall threefold from each interval to
    the next higher one, since boosting's edges have a long upper tail; 2: k-means from rising
    shares; 3, 4, 5: these shares themselves; 6: the widest gaps. data: (4, n) sorted.
    """
    n = data.shape[1]
    sums = np.empty((3, n + 1))
    sums[0, 0] = sums[1, 0] = sums[2, 0] = 0.0
    for i in range(n):
        sums[0, i + 1] = sums[0, i] + data[2, i]
        sums[1, i + 1] = sums[1, i] + data[2, i] * data[0, i]
        square = data[0, i] ** 2 + data[1, i] - data[3, i]
        sums[2, i + 1] = sums[2, i] + data[2, i] * square
    n_parts = min(model.shape[1], n)
    cuts = np.empty(n_parts + 1, np.int64)
    cuts[0], cuts[n_parts] = 0, n
    if kind == 6:
        gaps = np.empty(n)
        for i in range(n):
            gaps[i] = data[0, i] - data[0, i - 1] if i > 0 else -1.0
        for _ in range(n_parts - 1):
            gaps[_largest(gaps)] = -2.0  # marked as a cut
        n_cuts = 0
        for i in range(n):
            if gaps[i] == -2.0:
                n_cuts += 1
                cuts[n_cuts] = i
    else:
        # Kinds 0 and 3 have equal shares, 1 and 4 fall by 1 / 3, 2 and 5 rise by 3.
        _cut_by_shares(sums, 1.0 if kind % 3 == 0 else 3.0 ** (2 * (kind % 3) - 3), cuts)
    if kind < 3:
        _move_cuts(data[0], sums, cuts)
    for j in range(n_parts, model.shape[1]):
        model[0, j], model[2, j] = 0.0, floor
        model[1, j] = _mean_between(sums, 0, n)
    for j in range(n_parts):
        mass = sums[0, cuts[j + 1]] - sums[0, cuts[j]]
        mean = _mean_between(sums, cuts[j], cuts[j + 1])
        square = (sums[2, cuts[j + 1]] - sums[2, cuts[j]]) / mass
        model[0, j] = mass / sums[0, n]
        model[1, j] = mean
        model[2, j] = max(square - mean * mean, floor)


@inner_kernel
def _group(raw: Array, data: Array) -> None:
    """Group sorted values, raw (4, N) of spread 0 and equal noise, into the columns of data (4, n).

    Cuts are at ranks N (1 - cos(pi g / n)) / 2: groups in both tails, which decide e(Q,T) and may
    hold small components, have few values. O(N).
    """
    n_groups = data.shape[1]
    last = 0
    for g in range(n_groups):
        first = last
        rank = int(0.5 * raw.shape[1] * (1.0 - math.cos(math.pi * (g + 1) / n_groups)) + 0.5)
        last = min(max(rank, first + 1), raw.shape[1] - (n_groups - 1 - g))
        mass = mean = square = 0.0
        for i in range(first, last):
            d = raw[0, i] - raw[0, first]
            mass += raw[2, i]
            mean += raw[2, i] * d
            square += raw[2, i] * d * d
        mean /= mass
        data[0, g] = raw[0, first] + mean
        data[1, g] = max(square / mass - mean * mean, 0.0)
        data[2, g] = mass
        data[3, g] = raw[3, first]


@allocating_inner_kernel
def _padded(data: Array) -> Array:
    """A copy of (4, n) data, padded to a multiple of LANES by its first column with weight 0."""
    n = data.shape[1]
    result = np.empty((data.shape[0], (n + LANES - 1) // LANES * LANES))
    for r in range(data.shape[0]):
        for i in range(result.shape[1]):
            result[r, i] = data[r, i] if i < n else (0.0 if r == 2 else data[r, 0])
    return result


@allocating_kernel
def fit_mixture_segments(
    data: Array,
    each: bool,
    first: Ints,
    floor: float,
    tolerance: float,
    n_iterations: int,
    models: Array,
    fits: Array,
) -> None:
    """Fit one mixture to each segment of values. O(J n) an iteration.

    All starts compete over FIRST_TRIAL steps, the best _N_FINALISTS over at most _SECOND_TRIAL
    more; J = 1 has one start.

    data: (4, n) read: values, sorted within each segment, zeros, positive weights, variances of the
    noise; each: whether these differ; first: (S + 1,) read, the ends of the segments, none empty;
    floor: least variance; tolerance: stop below this gain of mean log-likelihood per iteration;
    models: (S, 3, J) written; fits: (S, 2) written, mean log-likelihood and iterations of the best.
    """
    n_components = models.shape[2]
    for s in range(first.size - 1):
        model, begin = models[s], first[s]
        n = first[s + 1] - begin
        origin = data[0, begin]  # against cancellation in running sums
        raw = np.empty((4, n))
        for r in range(4):
            for i in range(n):
                raw[r, i] = data[r, begin + i] - (origin if r == 0 else 0.0)
        few = raw
        if n > MAX_MIXTURE_GROUPS and not each:
            few = np.empty((4, MAX_MIXTURE_GROUPS))
            _group(raw, few)
        padded = _padded(few)
        work = np.empty((n_components + 2, padded.shape[1]))
        n_tried = 1 if n_components == 1 else _N_STARTS
        tried = np.empty((n_tried, 3, n_components))
        score, waiting = np.empty(n_tried), np.empty(n_tried)
        best = n_steps = 0
        # One call of _iterate for all stages: numba compiles each call separately.
        for stage in range(4):
            if stage == 0:
                n_runs, check_every, limit = n_tried, FIRST_TRIAL, FIRST_TRIAL
            elif stage == 1:
                n_runs = _N_FINALISTS if n_tried > 1 else 0
                check_every, limit = CHECK_EVERY, _SECOND_TRIAL
            elif stage == 2:
                n_runs, check_every, limit = 1, CHECK_EVERY, n_iterations
            elif few.shape[1] == n:
                break
            else:
                n_runs, check_every, limit = 1, 2, n_iterations
                padded = _padded(raw)
                work = np.empty((n_components + 2, padded.shape[1]))
            for kind in range(n_tried):
                waiting[kind] = score[kind]
            for run in range(n_runs):
                kind = run if stage == 0 else _largest(waiting)
                waiting[kind] = -np.inf
                if stage == 0:
                    _start(kind, few, floor, tried[kind])
                score[kind], steps = _iterate(
                    padded, each, floor, tolerance, check_every, limit, work, tried[kind]
                )
                n_steps += steps if stage > 1 else 0
                best = kind
        for j in range(n_components):
            model[0, j], model[2, j] = tried[best, 0, j], tried[best, 2, j]
            model[1, j] = tried[best, 1, j] + origin
        fits[s, 0], fits[s, 1] = score[best], n_steps


@inner_kernel
def _mean_log_density(values: Array, mean: float, variance: float) -> float:
    result = 0.0
    constant = -0.5 * _LOG_TWO_PI - 0.5 * math.log(variance)
    half_precision = 0.5 / variance
    for i in range(values.size):
        d = values[i] - mean
        result += constant - d * d * half_precision
    return result / values.size


@inner_kernel
def _moments(values: Array, floor: float, mean: float) -> tuple[float, float]:
    """M step: mean and variance of values (n,), moments about the old mean. O(n)."""
    lanes = on_stack(_N_MOMENTS, np.float64)  # sums over every LANES-th value
    for k in range(_N_MOMENTS):
        lanes[k] = 0.0
    for i in range(values.size):
        k = i % LANES
        d = values[i] - mean
        lanes[k] += d
        lanes[LANES + k] += d * d
    shift = lanes[:LANES].sum() / values.size
    return mean + shift, max(lanes[LANES:].sum() / values.size - shift * shift, floor)


@kernel
def fit_single_rows(
    rows: Array,
    floor: float,
    tolerance: float,
    n_iterations: int,
    values: Array,
    models: Array,
    fits: Array,
) -> bool:
    """Fit one Gaussian to each row. O(n) an iteration; returns False for values not finite.

    The bits of `fit_mixture_segments` with one component and no noise, in a third of the time, and
    a fifth of its compilation: strategies that model each family by one Gaussian need no other
    kernel. Every value has responsibility 1, so an M step is a mean and a variance about the old
    mean; steps after the first only correct rounding.

    rows: (S, n) read, n <= MAX_MIXTURE_GROUPS; floor, tolerance, n_iterations: as in
    `fit_mixture_segments`; values: (n,) overwritten; models: (S, 3, 1), fits: (S, 2) written.
    """
    for s in range(rows.shape[0]):
        for i in range(values.size):  # sort by insertion
            value, at = rows[s, i], i
            if not math.isfinite(value):
                return False
            while at > 0 and values[at - 1] > value:
                values[at] = values[at - 1]
                at -= 1
            values[at] = value
        origin = values[0]  # against cancellation in running sums
        mean = square = 0.0
        for i in range(values.size):
            values[i] -= origin
            mean += values[i]
            square += values[i] * values[i]
        mean /= values.size
        variance = max(square / values.size - mean * mean, floor)
        for _ in range(FIRST_TRIAL):
            mean, variance = _moments(values, floor, mean)
        before, n_steps = -1e300, 0
        while n_steps < n_iterations:
            if n_steps % CHECK_EVERY == 0:
                now = _mean_log_density(values, mean, variance)
                if now - before < CHECK_EVERY * tolerance:
                    break
                before = now
            mean, variance = _moments(values, floor, mean)
            n_steps += 1
        models[s, 0, 0], models[s, 1, 0], models[s, 2, 0] = 1.0, mean + origin, variance
        fits[s, 0], fits[s, 1] = _mean_log_density(values, mean, variance), n_steps
    return True
