"""Memory of kernels: prefetches, and small arrays on the stack.

Each `np.empty` takes numba a tenth of a second to compile and counts references at every call.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from boostsample.jit.compile_kernels import COMPILED

#: Rows ahead that kernels prefetch: it saves a third of a search of 2,000,000 rows.
PREFETCHED_ROWS = 64
_CACHE_LINE = 64
_MOST = 1024


def _prefetching(locality: int) -> Any:
    @intrinsic
    def _prefetch(typing: Any, array: Any, start: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            data = context.make_array(sig.args[0])(context, builder, args[0]).data
            at = builder.gep(data, [context.cast(builder, args[1], sig.args[1], types.intp)])
            byte = builder.bitcast(at, ir.IntType(8).as_pointer())
            word = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [byte.type, word, word, word])
            function = builder.module.declare_intrinsic("llvm.prefetch", (byte.type,), kind)
            # To read, how near, and of data, as LLVM numbers them.
            options = (ir.Constant(word, number) for number in (0, locality, 1))
            builder.call(function, [byte, *options])
            return context.get_dummy_value()

        return types.void(array, start), codegen

    return _prefetch if COMPILED else lambda array, start: None


@intrinsic(prefer_literal=True)
def _on_stack(typing: Any, size: Any, dtype: Any) -> Any:
    if not isinstance(size, types.IntegerLiteral) or size.literal_value > _MOST:
        return None
    array = types.Array(dtype.dtype, 1, "C")

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        item = context.get_data_type(array.dtype)
        with builder.goto_entry_block():  # once, even if the call is in a loop
            room = builder.alloca(ir.ArrayType(item, size.literal_value))
            room.align = _CACHE_LINE
        made = context.make_array(array)(context, builder)
        length, step = (
            context.get_constant(types.intp, number)
            for number in (size.literal_value, context.get_abi_sizeof(item))
        )
        populate_array(
            made,
            data=builder.bitcast(room, item.as_pointer()),
            shape=[length],
            strides=[step],
            itemsize=step,
            meminfo=None,
        )
        return made._getvalue()

    return array(size, dtype), codegen


#: prefetch(array, start): fetch array[start] into the second-level cache. prefetch_first: into
#: the first, which allows few requests at a time; histograms need them. A place past the end is
#: harmless.
prefetch = _prefetching(2)
prefetch_first = _prefetching(3)
#: on_stack(size, dtype): a flat array of up to 1024 numbers, not initialised; `size` is a constant
#: at compile time. Never return it: it ends with the function.
on_stack: Any = _on_stack if COMPILED else np.empty
