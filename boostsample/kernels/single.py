"""EM of one Gaussian: what `kernels.mixture` does with one component, to the bit, in a third.

Compiled in a fifth of the time, too, and for a strategy that models families by one Gaussian each
nothing else is needed. Every value's responsibility is 1 then, so that an M step is a mean and a
variance, about the old mean; all steps after the first one only round.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from boostsample.jit.compiling import inner, kernel
from boostsample.jit.stack import on_stack

__all__ = ["fit_rows", "fit_single"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

# As in `kernels.mixture`.
LANES = 8
N_SUMS = 3 * LANES
FIRST_TRIAL = 6
CHECK_EVERY = 5
LOG_TWO_PI = 1.8378770664093453


@inner
def _log_likelihood(data: Array, origin: float, each: bool, mean: float, variance: float) -> float:
    """Weighted mean of the log density of data (4, n), values less `origin`. O(n)."""
    result = weight = 0.0
    whole = variance + data[3, 0]
    constant = -0.5 * LOG_TWO_PI - 0.5 * math.log(whole)
    half_precision = 0.5 / whole
    for i in range(data.shape[1]):
        d = data[0, i] - origin - mean
        if each:
            whole = variance + data[3, i]
            density = -0.5 * LOG_TWO_PI - 0.5 * (math.log(whole) + (d * d + data[1, i]) / whole)
        else:
            density = constant - (d * d + data[1, i]) * half_precision
        weight += data[2, i]
        result += data[2, i] * density
    return result / weight


@inner
def _maximise(
    data: Array, origin: float, each: bool, floor: float, mean: float, variance: float
) -> tuple[float, float]:
    """The M step: mean and variance. O(n)."""
    lanes = on_stack(N_SUMS, np.float64)  # over every LANES-th value
    for k in range(N_SUMS):
        lanes[k] = 0.0
    for i in range(data.shape[1]):
        k = i % LANES
        d = data[0, i] - origin - mean
        extra = data[1, i]
        if each:  # what is left of d and its variance in G, given the value
            gain = variance / (variance + data[3, i])
            d *= gain
            extra = gain * data[3, i]
        lanes[k] += data[2, i]
        lanes[LANES + k] += data[2, i] * d
        lanes[2 * LANES + k] += data[2, i] * (d * d + extra)
    mass = lanes[:LANES].sum()
    shift = lanes[LANES : 2 * LANES].sum() / mass
    found = lanes[2 * LANES :].sum() / mass - shift * shift
    return mean + shift, max(found if each else found - data[3, 0], floor)


@inner
def _fit(
    data: Array,
    each: bool,
    floor: float,
    tolerance: float,
    n_iterations: int,
    model: Array,
    fit: Array,
) -> None:
    """Fit one Gaussian to data (4, n). model: (3, 1), fit: (2,) written. O(n) an iteration."""
    origin = data[0, 0]  # against cancellation in running sums
    mass = mean = square = 0.0
    for i in range(data.shape[1]):
        value = data[0, i] - origin
        mass += data[2, i]
        mean += data[2, i] * value
        square += data[2, i] * (value * value + data[1, i] - data[3, i])
    mean /= mass
    variance = max(square / mass - mean * mean, floor)
    for _ in range(FIRST_TRIAL):
        mean, variance = _maximise(data, origin, each, floor, mean, variance)
    before, n_steps = -1e300, 0
    while n_steps < n_iterations:
        if n_steps % CHECK_EVERY == 0:
            now = _log_likelihood(data, origin, each, mean, variance)
            if now - before < CHECK_EVERY * tolerance:
                break
            before = now
        mean, variance = _maximise(data, origin, each, floor, mean, variance)
        n_steps += 1
    model[0, 0], model[1, 0], model[2, 0] = 1.0, mean + origin, variance
    fit[0], fit[1] = _log_likelihood(data, origin, each, mean, variance), n_steps


@kernel
def fit_single(
    data: Array,
    each: bool,
    first: Ints,
    floor: float,
    tolerance: float,
    n_iterations: int,
    models: Array,
    fits: Array,
) -> None:
    """Fit one Gaussian to each segment of values; arguments are those of `mixture.fit_segments`.

    Of at most `mixture.MAX_GROUPS` values a segment, which that would put into groups. models:
    (S, 3, 1) and fits: (S, 2) written. O(n) an iteration.
    """
    for s in range(first.size - 1):
        mine = data[:, first[s] : first[s + 1]]
        _fit(mine, each, floor, tolerance, n_iterations, models[s], fits[s])


@kernel
def fit_rows(
    values: Array,
    floor: float,
    tolerance: float,
    n_iterations: int,
    data: Array,
    models: Array,
    fits: Array,
) -> bool:
    """`fit_single` for the rows of (S, n) values, in any order, of weight 1 and without noise.

    data: (4, n) overwritten. Returns whether all values were finite; nothing is of use otherwise.
    """
    for i in range(values.shape[1]):
        data[1, i], data[2, i], data[3, i] = 0.0, 1.0, 0.0
    for s in range(values.shape[0]):
        for i in range(values.shape[1]):
            value, at = values[s, i], i
            if not math.isfinite(value):
                return False
            while at > 0 and data[0, at - 1] > value:
                data[0, at] = data[0, at - 1]
                at -= 1
            data[0, at] = value
        _fit(data, False, floor, tolerance, n_iterations, models[s], fits[s])
    return True
