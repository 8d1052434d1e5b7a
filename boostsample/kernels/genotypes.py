"""Genotypes of two bits, four in a byte, as one byte each.

Layout: `packed` (q, ceil(n / 4)) uint8, one row per variant; the first person is in the lowest two
bits of the first byte.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.jit.compile_kernels import kernel

_Bytes: TypeAlias = NDArray[np.uint8]


@kernel
def unpack_genotypes(packed: _Bytes, table: _Bytes, codes: _Bytes) -> None:
    """Codes of n people for each of q variants, about 0.2 ns each.

    packed: (q, ceil(n / 4)), read. table: (256, 4), read: the codes of the genotypes of a byte.
    codes: (q, n), written.
    """
    n = codes.shape[1]
    for j in range(codes.shape[0]):
        row, out = packed[j], codes[j]
        for i in range(n // 4):
            byte = row[i]
            for k in range(4):
                out[4 * i + k] = table[byte, k]
        for i in range(n // 4 * 4, n):
            out[i] = table[row[i // 4], i % 4]
