"""Some rows of a matrix of bytes, transposed, by blocks of 8 x 8 bytes in registers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.jit.compile_kernels import inner_kernel, kernel

# Three rounds transpose 8 x 8 bytes: words of distance 1 exchange every second byte, of distance 2
# every second pair, of distance 4 their halves.
_BYTES = np.uint64(0x00FF00FF00FF00FF)
_PAIRS = np.uint64(0x0000FFFF0000FFFF)
_FOURS = np.uint64(0x00000000FFFFFFFF)
_EIGHT: Any = np.uint64(8)
_SIXTEEN: Any = np.uint64(16)
_HALF: Any = np.uint64(32)


@inner_kernel
def _exchanged(a: Any, b: Any, shift: Any, mask: Any) -> Any:
    """Two words after exchanging the upper parts of a with the lower parts of b."""
    x = ((a >> shift) ^ b) & mask
    return a ^ (x << shift), b ^ x


@kernel
def take_transposed(words: NDArray[np.uint64], rows: NDArray[Any], out: NDArray[np.uint64]) -> None:
    """Rows of a matrix of bytes as columns, on little-endian machines.

    words: (n, p), read: rows of 8 p bytes. rows: (T,), T >= 1, read. out: (8 p, ceil(T / 8)),
    written: row j holds byte j of the rows; beyond T, that of the last one. O(p T).
    """
    last = rows.size - 1
    for t in range(out.shape[1]):
        row0, row1 = words[rows[min(8 * t, last)]], words[rows[min(8 * t + 1, last)]]
        row2, row3 = words[rows[min(8 * t + 2, last)]], words[rows[min(8 * t + 3, last)]]
        row4, row5 = words[rows[min(8 * t + 4, last)]], words[rows[min(8 * t + 5, last)]]
        row6, row7 = words[rows[min(8 * t + 6, last)]], words[rows[min(8 * t + 7, last)]]
        for j in range(words.shape[1]):
            a0, a1 = _exchanged(row0[j], row1[j], _EIGHT, _BYTES)
            a2, a3 = _exchanged(row2[j], row3[j], _EIGHT, _BYTES)
            a4, a5 = _exchanged(row4[j], row5[j], _EIGHT, _BYTES)
            a6, a7 = _exchanged(row6[j], row7[j], _EIGHT, _BYTES)
            a0, a2 = _exchanged(a0, a2, _SIXTEEN, _PAIRS)
            a1, a3 = _exchanged(a1, a3, _SIXTEEN, _PAIRS)
            a4, a6 = _exchanged(a4, a6, _SIXTEEN, _PAIRS)
            a5, a7 = _exchanged(a5, a7, _SIXTEEN, _PAIRS)
            out[8 * j, t], out[8 * j + 4, t] = _exchanged(a0, a4, _HALF, _FOURS)
            out[8 * j + 1, t], out[8 * j + 5, t] = _exchanged(a1, a5, _HALF, _FOURS)
            out[8 * j + 2, t], out[8 * j + 6, t] = _exchanged(a2, a6, _HALF, _FOURS)
            out[8 * j + 3, t], out[8 * j + 7, t] = _exchanged(a3, a7, _HALF, _FOURS)
