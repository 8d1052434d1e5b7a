"""Small arrays on the stack, for kernels that allocate no memory.

Each `np.empty` takes numba a tenth of a second to compile and counts references at every call. An
array on the stack exists until its function returns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from boostsample.jit.compile_kernels import COMPILED

_CACHE_LINE = 64
_MOST = 1024


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


#: on_stack(size, dtype): a flat array of up to 1024 numbers, not initialised; `size` is a constant
#: at compile time. Never return it: it ends with the function.
on_stack: Any = _on_stack if COMPILED else np.empty
