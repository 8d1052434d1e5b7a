"""Prefetches: what a kernel will read soon is fetched into a cache."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from boostsample.jit.compile_kernels import COMPILED

#: Rows ahead that kernels prefetch.
PREFETCHED_ROWS = 64


def _prefetching(*how: int) -> Any:
    @intrinsic
    def _prefetch(typing: Any, array: Any, start: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            data = context.make_array(sig.args[0])(context, builder, args[0]).data
            at = builder.gep(data, [context.cast(builder, args[1], sig.args[1], types.intp)])
            byte = builder.bitcast(at, ir.IntType(8).as_pointer())
            word = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [byte.type, word, word, word])
            function = builder.module.declare_intrinsic("llvm.prefetch", (byte.type,), kind)
            builder.call(function, [byte, *(ir.Constant(word, number) for number in (*how, 1))])
            return context.get_dummy_value()

        return types.void(array, start), codegen

    return _prefetch


#: prefetch(array, start): fetch array[start] into the second-level cache. prefetch_first: into the
#: first, which allows few requests at a time; histograms need them. prefetch_to_write: also remove
#: it from other cores' caches. A place past the end is harmless.
prefetch: Any = _prefetching(0, 2) if COMPILED else lambda array, start: None
prefetch_first: Any = _prefetching(0, 3) if COMPILED else lambda array, start: None
prefetch_to_write: Any = _prefetching(1, 3) if COMPILED else lambda array, start: None
