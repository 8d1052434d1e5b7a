"""Draws of T examples that are not in proportion to their weights: those of other libraries.

Factors count up to a constant. Edges on such a sample are divided by the weight that it stands for,
the sum of factor_i w_i over its rows, so that they lie between -1 and 1: ratios of two sums, biased
by the order of 1 / T, of a variance that [DF11] eq. 7 does not bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.kernels.array_layout import Doubles, Floats
from boostsample.rows.proportional_draws import (
    DrawnSample,
    NestedSample,
    nested_distinct,
    pivotal,
)


def draw_mvs(norm: Floats, ends: Doubles, size: int, rng: np.random.Generator) -> DrawnSample:
    """Exactly T different examples, pi_i = min(1, r_i / mu), r_i = sqrt(norm_i^2 + lambda): O(N).

    Minimal variance sampling (Ibragimov and Gusev 2019), norm_i^2 = sum over l of w_il^2. lambda is
    the squared mean norm, as CatBoost's for its first tree; for later ones it takes the mean leaf
    value of the last tree, which a draw does not know. CatBoost includes each example by itself
    (Poisson sampling), so that their number varies; here it is T, with the same pi_i.
    """
    examples, inclusion, _ = pivotal(_regularised(norm, ends), size, rng)
    return DrawnSample(examples, 1.0 / inclusion)


def nested_mvs(
    norm: Floats, ends: Doubles, sizes: Sequence[int], rng: np.random.Generator
) -> Iterator[NestedSample]:
    """Nested samples, each as of `draw_mvs`."""
    return nested_distinct(_regularised(norm, ends), ends, sizes, rng)


def _regularised(norm: Floats, ends: Doubles) -> Floats:
    """sqrt(norm_i^2 + lambda): float32 (N,)."""
    mean = np.float32(ends[-1] / norm.size)
    root: Floats = np.sqrt(norm * norm + mean * mean)
    return root


def draw_goss(norm: Floats, ends: Doubles, size: int, rng: np.random.Generator) -> DrawnSample:
    """The examples of largest norms, and uniform ones of the rest with a larger factor: O(N).

    Gradient-based one-side sampling as in LightGBM, which ranks by sum over l of |gradient *
    Hessian|: both are w_il for the exponential loss, so that ranks are those of the norms. Of T
    examples, a N = floor(2 T / 3) are the top ones, b N the others, as with LightGBM's defaults a =
    0.2 and b = 0.1; the others have the factor (N - a N) / (b N).
    """
    n_top = 2 * size // 3
    factors = np.zeros(norm.size)
    top = largest(norm, n_top)
    factors[top] = -1.0
    rest = np.flatnonzero(factors == 0.0)
    others = rng.choice(rest, size=size - n_top, replace=False, shuffle=False)
    factors[top], factors[others] = 1.0, rest.size / others.size
    examples = np.flatnonzero(factors)
    return DrawnSample(examples.astype(np.int32), factors[examples])


def draw_uniform(weight: Floats, ends: Doubles, size: int, rng: np.random.Generator) -> DrawnSample:
    """T different examples, all equally likely, with their own weights: O(T).

    The subsample of stochastic gradient boosting (Friedman 2002).
    """
    examples = rng.choice(weight.size, size=size, replace=False, shuffle=False)
    examples.sort()
    return DrawnSample(examples.astype(np.int32), np.ones(size))


def nested_uniform(
    weight: Floats, ends: Doubles, sizes: Sequence[int], rng: np.random.Generator
) -> Iterator[NestedSample]:
    """Nested samples, each as of `draw_uniform`."""
    return _prefixes(rng.choice(weight.size, size=sizes[-1], replace=False), sizes)


def draw_heaviest(
    weight: Floats, ends: Doubles, size: int, rng: np.random.Generator
) -> DrawnSample:
    """The T heaviest examples, the first ones of a tie, with their own weights: O(N).

    Nothing is random. What QuickBoost and weight trimming read.
    """
    return DrawnSample(largest(weight, size), np.ones(size))


def nested_heaviest(
    weight: Floats, ends: Doubles, sizes: Sequence[int], rng: np.random.Generator
) -> Iterator[NestedSample]:
    """Nested samples, each as of `draw_heaviest`."""
    heavy = largest(weight, sizes[-1])
    return _prefixes(heavy[np.argsort(-weight[heavy], kind="stable")], sizes)


def largest(values: Floats, n: int) -> NDArray[np.int32]:
    """Positions of the n largest of values (N,), ascending, the first ones of a tie; O(N)."""
    if n == 0:
        return np.empty(0, np.int32)
    least = np.partition(values, values.size - n)[values.size - n]
    taken = values > least
    more = n - np.count_nonzero(taken)
    taken[np.flatnonzero(values == least)[:more]] = True
    return np.flatnonzero(taken).astype(np.int32)


def _prefixes(order: NDArray[np.integer[Any]], sizes: Sequence[int]) -> Iterator[NestedSample]:
    """The first rows of an order, with factors 1."""
    examples, factors, known = order.astype(np.int32), np.ones(order.size), 0
    for size in sizes:
        examples[known:size].sort()
        yield NestedSample(DrawnSample(examples[:size], factors[:size]), 1.0, known)
        known = size
