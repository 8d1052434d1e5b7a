"""How many of T draws fall to each shard, so that edges over all shards stay unbiased.

With shares p_m of the weight, a shard makes T_m draws, E[T_m] = E_m. Its rows estimate its part of
the edge by any scheme, and count T_m / E_m times: the expectation is that of all examples.

- Independent draws: T_m is multinomial, E_m = T p_m, which is exactly a draw from all examples.
- Other schemes: T_m is T p_m rounded down or up, by pivotal sampling of the parts below 1 (Deville
  and Tille 1998), whose variance is at most the multinomial one (Chauvet 2017). With a scheme of
  variance at most (1 - G^2) / T in each shard, [DF11] eq. 7 holds for all of them together.
- Draws of different examples: the same, but E_m is at most the examples of the shard; the others
  take what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.rows.sampling_schemes import LOGISTIC_SCHEMES


class Allocation(NamedTuple):
    """Sizes of nested samples in the shards, int64 (S, M), and units float64 (S, M).

    A row of shard m in sample s counts units[s, m] times: 1 / p_m, in units of T draws, or, of
    different examples, T_m / E_m.
    """

    sizes: NDArray[np.int64]
    units: NDArray[np.float64]


def samples_are_joined(scheme: str) -> bool:
    """Whether a nested sample of the scheme begins with the rows of the sample before."""
    return scheme != "distinct"


def allocate(
    sizes: Sequence[int],
    shares: NDArray[np.float64],
    counts: Sequence[int] | NDArray[np.int64],
    scheme: str,
    rng: np.random.Generator,
) -> Allocation:
    """Allocate nested samples of ascending sizes; shares p_m sum to 1, counts are examples."""
    so_far, before = np.zeros(shares.size, np.int64), 0
    expected_before = np.zeros(shares.size)
    counted, units = [], []
    for size in sizes:
        more = size - before
        if scheme == "iid" or scheme in LOGISTIC_SCHEMES:
            so_far = so_far + rng.multinomial(more, shares)
            units.append(_inverse(shares))
        elif samples_are_joined(scheme):
            so_far = so_far + pivotal_sizes(more * shares, rng)
            units.append(_inverse(shares))
        else:
            expected = expected_sizes(size, shares, counts)
            so_far = so_far + pivotal_sizes(np.maximum(expected - expected_before, 0.0), rng)
            expected_before = expected
            units.append(so_far * _inverse(expected))
        counted.append(so_far)
        before = size
    return Allocation(np.array(counted), np.array(units))


def _inverse(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / x, and 0 for x = 0: a shard without weight draws nothing."""
    return np.divide(1.0, numbers, out=np.zeros(numbers.size), where=numbers > 0)


def expected_sizes(
    size: int, shares: NDArray[np.float64], counts: Sequence[int] | NDArray[np.int64]
) -> NDArray[np.float64]:
    """E_m = min(n_m, c p_m), c such that they sum to `size`: float64 (M,)."""
    most = np.asarray(counts, float)
    full = np.zeros(shares.size, np.bool_)
    while True:
        left, free = size - most[full].sum(), shares[~full].sum()
        expected = np.where(full, most, shares * (left / free if free > 0 else 0.0))
        over = ~full & (expected > most)
        if not over.any():
            return expected
        full |= over


def pivotal_sizes(expected: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Whole numbers of these expectations, each rounded down or up; the sum is kept: int64 (M,)."""
    sizes = np.floor(expected).astype(np.int64)
    uniforms = rng.random(expected.size)
    fighter, chance = -1, 0.0
    for m, part in enumerate((expected - sizes).tolist()):
        both = chance + part
        if both <= 0.0:
            continue
        if both < 1.0:  # one of both loses
            if uniforms[m] * both >= chance:
                fighter = m
            chance = both
        elif uniforms[m] * (2.0 - both) < 1.0 - part:  # the fighter wins, this one keeps the rest
            sizes[fighter] += 1
            fighter, chance = m, both - 1.0
        else:
            sizes[m] += 1
            chance = both - 1.0
    if chance > 0.5:
        sizes[fighter] += 1
    return sizes
