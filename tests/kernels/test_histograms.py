"""Histograms against plain loops, for rows of one and of several vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostsample.jit.vectors import LANES
from boostsample.kernels.array_layout import N_BINS, Rows, lay_out_rows, matrix_of_rows, row_layout
from boostsample.kernels.row_kernels import row_kernels

WIDTHS = (1, 2, 3, 10, 17, 26)


def histograms(bins: Any, features: Any, signed: Any, start: int, examples: Any) -> Any:
    """The sums by bin: float64 (Q, 256, K)."""
    K, blocks_and_tail = signed.shape[1], row_layout(signed.shape[1])
    width = LANES * blocks_and_tail[0] + blocks_and_tail[1]
    values = lay_out_rows(signed, width)
    hist: Any = np.zeros(features.size * N_BINS * width)
    rows = Rows(start, examples, values, np.zeros(width), 1.0)
    last = np.zeros(features.size, np.uint8)
    row_kernels(*blocks_and_tail).histograms(bins, features, rows, hist, last)
    used = np.arange(start, start + signed.shape[0]) if examples.size == 0 else examples
    assert last.tolist() == [bins[f][used].max(initial=1) for f in features.tolist()]
    return [matrix_of_rows(one, N_BINS, K) for one in hist.reshape(features.size, -1)]


def naive_histograms(bins: Any, features: Any, signed: Any, columns: Any) -> Any:
    found = np.zeros((len(features), N_BINS, signed.shape[1]))
    for q, feature in enumerate(features.tolist()):
        for t, column in enumerate(columns):
            for label in range(signed.shape[1]):
                found[q, bins[feature, column], label] += float(signed[t, label])
    return found


@pytest.mark.parametrize("top", [256, 3, 1])
@pytest.mark.parametrize("n_features", [1, 2, 5])
@pytest.mark.parametrize("K", WIDTHS)
def test_sums_by_bin(K: int, n_features: int, top: int) -> None:
    rng = np.random.default_rng(K)
    bins = rng.integers(0, top, (7, 60)).astype(np.uint8)
    features = rng.integers(0, 7, n_features)  # repeats, too
    signed = rng.normal(size=(41, K)).astype(np.float32)
    nothing = np.empty(0, np.int32)
    want = naive_histograms(bins, features, signed, range(9, 50))
    np.testing.assert_allclose(histograms(bins, features, signed, 9, nothing), want, atol=1e-12)
    examples = rng.permutation(60)[:41].astype(np.int32)
    want = naive_histograms(bins, features, signed, examples.tolist())
    np.testing.assert_allclose(histograms(bins, features, signed, 0, examples), want, atol=1e-12)


def test_no_rows() -> None:
    bins, nothing = np.ones((1, 4), np.uint8), np.empty((0, 3), np.float32)
    found = histograms(bins, np.zeros(1, np.int64), nothing, 0, np.empty(0, np.int32))
    assert not np.any(found)
