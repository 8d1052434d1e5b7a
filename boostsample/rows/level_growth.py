"""Oblivious trees that are grown in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank, FeatureBank
from boostsample.jit.compile_kernels import compiled_address
from boostsample.kernels.level_growth import GrownLevels, grow_levels, grown_levels, level_room
from boostsample.rows.protocol import Searches
from boostsample.rows.weights import SignedWeights


class ObliviousGrowth:
    """Grows oblivious trees on the features of a bank in memory: implements `LevelGrowth`.

    `order` is int32 (N,) to write.
    """

    def __init__(
        self,
        bank: FeatureBank,
        weights: SignedWeights,
        searches: Searches,
        order: NDArray[np.int32],
    ) -> None:
        n, n_labels, n_features = weights.n_examples, weights.n_labels, int(bank.n_features)
        bins, at, *_ = bank.view(np.arange(n_features))
        self._bank, self._weights = bank, weights
        self._reads = bins, bank.n_bins[at]
        self._draws = 1 if searches.n_features == n_features else 2
        self._n_levels = searches.n_levels
        most = min(searches.budget // searches.n_features, int(searches.part * n))
        self._sample_size = max(1, most)
        size = n, n_labels, searches.n_levels, self._sample_size, searches.n_features
        self._room = level_room(*size)
        self._levels = grown_levels(n_labels, searches.n_levels, n, order)
        # Compiles the kernel without a call, so that seconds of rounds are those of their work.
        compiled_address(grow_levels, self._arguments(np.random.default_rng(0)))

    def _arguments(self, rng: np.random.Generator) -> tuple[Any, ...]:
        rows = self._weights.exact(), self._weights.mass, self._weights.width
        seeds = rng.integers(1 << 63, size=(self._n_levels, self._draws))
        return (*self._reads, *rows, self._sample_size, seeds, self._room, self._levels)

    @property
    def n_searched(self) -> int:
        """As of `LevelGrowth`."""
        return int(self._room.features.size)

    def grow(self, rng: np.random.Generator) -> GrownLevels:
        """As of `LevelGrowth`."""
        grow_levels(*self._arguments(rng))
        return self._levels

    def raw_thresholds(
        self, features: NDArray[np.int64], thresholds: NDArray[np.int64]
    ) -> list[float]:
        """As of `LevelGrowth`."""
        return raw_thresholds(self._bank, features, thresholds)


def raw_thresholds(
    bank: Bank, features: NDArray[np.int64], thresholds: NDArray[np.int64]
) -> list[float]:
    """Raw thresholds of stumps on the features of a bank in memory."""
    # Threshold 1 reads a wrong cut, which is replaced.
    values = bank.cuts_of(features)[np.arange(features.size), thresholds - 2]
    values[thresholds == 1] = -np.inf
    numbers: list[float] = values.tolist()
    return numbers
