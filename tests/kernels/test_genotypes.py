from __future__ import annotations

import numpy as np
import pytest

from boostsample.kernels.genotypes import unpack_genotypes


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 31])
def test_bytes_are_unpacked_from_the_lowest_bits(n: int) -> None:
    rng = np.random.default_rng(n)
    packed = rng.integers(0, 256, (6, -(-n // 4)), np.uint8)
    table = np.array([[byte >> 2 * k & 3 for k in range(4)] for byte in range(256)], np.uint8)
    codes = np.full((6, n), 99, np.uint8)
    unpack_genotypes(packed, table, codes)
    for j in range(6):
        bits = "".join(f"{byte:08b}"[::-1] for byte in packed[j].tolist())
        assert codes[j].tolist() == [int(bits[2 * i : 2 * i + 2][::-1], 2) for i in range(n)]
