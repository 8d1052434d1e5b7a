"""Genotypes of two bits, four in a byte, as one byte each.

Layout: `packed` (q, ceil(n / 4)) uint8, one row per variant; the first person is in the lowest two
bits of the first byte. Each variant uses one of t tables.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.jit.compile_kernels import kernel

_Bytes: TypeAlias = NDArray[np.uint8]


@kernel
def unpack_genotypes(packed: _Bytes, tables: _Bytes, used: _Bytes, codes: _Bytes) -> None:
    """Codes of all n people for each of q variants, about 0.2 ns each.

    packed: (q, ceil(n / 4)), read. tables: (t, 256, 4), read: the codes of the genotypes of a byte.
    used: (q,), read: the table of each variant. codes: (q, n), written.
    """
    n = codes.shape[1]
    for j in range(codes.shape[0]):
        row, table, out = packed[j], tables[used[j]], codes[j]
        for i in range(n // 4):
            byte = row[i]
            for k in range(4):
                out[4 * i + k] = table[byte, k]
        for i in range(n // 4 * 4, n):
            out[i] = table[row[i // 4], i % 4]


@kernel
def unpack_people(
    packed: _Bytes, people: NDArray[np.int64], tables: _Bytes, used: _Bytes, codes: _Bytes
) -> None:
    """Codes of p people for each of q variants, about 0.5 ns each.

    packed: (q, ceil(n / 4)), read. people: (p,), read, in any order. tables: (t, 256, 4), read: the
    codes of the genotypes of a byte. used: (q,), read: the table of each variant. codes: (q, p),
    written.
    """
    for j in range(codes.shape[0]):
        row, table, out = packed[j], tables[used[j]], codes[j]
        for i in range(people.size):
            person = people[i]
            out[i] = table[row[person >> 2], person & 3]
