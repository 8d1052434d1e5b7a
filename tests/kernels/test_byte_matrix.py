"""Transposed rows of bytes, against NumPy."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from boostsample.banks.binning import block_order
from boostsample.kernels.images import take_transposed


@pytest.mark.skipif(sys.byteorder != "little", reason="the kernel is for little-endian machines")
@pytest.mark.parametrize("n_rows", [1, 7, 8, 9, 40])
@pytest.mark.parametrize("n_words", [1, 3])
def test_take_transposed(rng: np.random.Generator, n_rows: int, n_words: int) -> None:
    matrix = rng.integers(0, 256, (20, 8 * n_words)).astype(np.uint8)
    rows = rng.integers(0, 20, n_rows)
    out = np.zeros((8 * n_words, -(-n_rows // 8) + 1), np.uint64)
    take_transposed(matrix.view(np.uint64), rows, out[:, :-1])
    want = matrix[rows].T
    assert (out.view(np.uint8)[:, :n_rows] == want).all()
    assert (out[:, -1] == 0).all()


@pytest.mark.parametrize("shape", [(4, 4), (2, 4, 3), (3, 3)])
def test_rows_in_the_order_of_families(rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    X = rng.integers(0, 256, (50, *shape)).astype(np.uint8)
    rows = rng.integers(0, 50, 13).astype(np.int32)
    for images in (X, X.astype(np.float32), np.asfortranarray(X)):
        for some in (rows, rows[:0]):
            turned = block_order(images, 0, some)
            assert (turned == images[some]).all()
            assert turned.dtype == images.dtype
            if some.size:
                assert turned.strides[0] == images.itemsize
