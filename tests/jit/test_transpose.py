"""Transposition of bytes, compiled or its twin, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from boostsample.jit.vectors import transpose_bytes
from tests.compiled import called

transpose = called(transpose_bytes)


@pytest.mark.parametrize("stride", [8, 9, 64])
@pytest.mark.parametrize("to", [0, 3])
@pytest.mark.parametrize("first", [0, 5])
def test_columns_become_rows(first: int, to: int, stride: int, rng: np.random.Generator) -> None:
    source = rng.integers(0, 256, 500).astype(np.uint8)
    starts = rng.integers(0, source.size - 8 - first + 1, 8)  # at any address
    starts[:3] = 0, source.size - 8 - first, 0  # the ends, and one twice
    target = np.full(to + 7 * stride + 8, 77, np.uint8)
    transpose(source, starts, first, target, to, stride)
    expected = [77] * target.size  # all other bytes are left as they are
    for t in range(8):
        for k in range(8):
            expected[to + k * stride + t] = int(source[starts[t] + first + k])
    assert target.tolist() == expected
