"""Different members of families, drawn as NumPy draws them: Floyd's algorithm on the same numbers.

NumPy's own functions check their arguments for longer than ten draws take. The numbers come from
the generator's own function, which `numpy.random.BitGenerator.ctypes` gives as an address.
"""

from __future__ import annotations

import ctypes
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import config
from numba.extending import intrinsic
from numpy.typing import NDArray

from boostsample.jit.compiling import allocating_kernel

__all__ = ["draw_different"]

Ints: TypeAlias = NDArray[np.int64]

#: The largest number of 32 bits.
FULL = 2**32 - 1


@intrinsic
def _bits(typing: Any, function: Any, state: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(64)])
        call = builder.inttoptr(args[0], kind.as_pointer())
        return builder.zext(builder.call(call, [args[1]]), ir.IntType(64))

    return types.int64(types.int64, types.int64), codegen


def _bits_twin(function: int, state: int) -> int:
    return int(ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)(function)(state))


#: bits(function, state): the next 32 random bits, from the function at one address, called with
#: another.
bits: Any = _bits if not vars(config)["DISABLE_JIT"] else _bits_twin


@allocating_kernel
def draw_different(
    function: int, state: int, sizes: Ints, counts: Ints, first: Ints, members: Ints
) -> None:
    """counts[k] different numbers below sizes[k], each plus first[k], one family after another.

    `function` and `state` are addresses: of a generator's next_uint32, and of what it changes.
    sizes, counts, first: int64 (K,) read, 0 <= counts[k] < sizes[k] < 2^31; members: int64
    (sum of counts,) written. The j-th number of a family is uniform in 0, ..., j, for each j from
    sizes[k] - counts[k] on; where it came before, j stands for it (Floyd). Uniform numbers are
    those of Lemire (Fast random integer generation in an interval, 2019). O(sum of counts + max of
    sizes).
    """
    most = 0
    for k in range(sizes.size):
        most = max(most, sizes[k])
    taken = np.zeros(most, np.bool_)
    end = 0
    for k in range(sizes.size):
        begin, end = end, end + counts[k]
        for i in range(begin, end):
            j = sizes[k] - end + i
            product = bits(function, state) * (j + 1)
            while product & FULL <= j and product & FULL < (FULL - j) % (j + 1):
                product = bits(function, state) * (j + 1)
            number = product >> 32
            number = j if taken[number] else number
            taken[number] = True
            members[i] = number
        for i in range(begin, end):
            taken[members[i]] = False
            members[i] += first[k]
