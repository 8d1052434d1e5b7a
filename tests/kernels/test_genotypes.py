from __future__ import annotations

import numpy as np
import pytest

from boostsample.kernels.genotypes import unpack_genotypes, unpack_people


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 31])
def test_bytes_are_unpacked_from_the_lowest_bits(n: int) -> None:
    rng = np.random.default_rng(n)
    packed = rng.integers(0, 256, (6, -(-n // 4)), np.uint8)
    bits = [[byte >> 2 * k & 3 for k in range(4)] for byte in range(256)]
    tables = np.array([bits, bits], np.uint8)
    tables[1] += 10
    used = np.array([0, 1, 1, 0, 1, 0], np.uint8)
    codes = np.full((6, n), 99, np.uint8)
    unpack_genotypes(packed, tables, used, codes)
    for j in range(6):
        digits = "".join(f"{byte:08b}"[::-1] for byte in packed[j].tolist())
        expected = [int(digits[2 * i : 2 * i + 2][::-1], 2) + 10 * used[j] for i in range(n)]
        assert codes[j].tolist() == expected
    people = rng.integers(0, n, 2 * n + 1)
    selected = np.full((6, people.size), 99, np.uint8)
    unpack_people(packed, people, tables, used, selected)
    assert selected.tolist() == codes[:, people].tolist()
