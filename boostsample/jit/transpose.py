"""Transposition of 8 x 8 bytes in one vector."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from boostsample.jit.compile_kernels import COMPILED

_SIDE = 8


@intrinsic
def _transpose(
    typing: Any, source: Any, starts: Any, first: Any, target: Any, to: Any, stride: Any
) -> Any:
    word, byte = ir.IntType(64), ir.IntType(8)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        def data(at: int) -> Any:
            return context.make_array(sig.args[at])(context, builder, args[at]).data

        def index(at: int) -> Any:
            return context.cast(builder, args[at], sig.args[at], types.int64)

        def words(base: Any, place: Any) -> Any:
            return builder.bitcast(builder.gep(base, [place]), word.as_pointer())

        source_data, starts_data, target_data = data(0), data(1), data(3)
        rows = ir.Constant(ir.VectorType(word, _SIDE), ir.Undefined)
        for t in range(_SIDE):
            start = builder.load(builder.gep(starts_data, [ir.Constant(word, t)]))
            place = builder.add(start, index(2))
            row = builder.load(words(source_data, place), align=1)
            rows = builder.insert_element(rows, row, ir.Constant(ir.IntType(32), t))
        every = range(_SIDE)
        lanes = [_SIDE * t + k for k in every for t in every]
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
        flat = builder.bitcast(rows, ir.VectorType(byte, len(lanes)))
        flat = builder.shuffle_vector(flat, flat, mask)
        columns = builder.bitcast(flat, rows.type)
        for k in range(_SIDE):
            column = builder.extract_element(columns, ir.Constant(ir.IntType(32), k))
            place = builder.add(index(4), builder.mul(index(5), ir.Constant(word, k)))
            builder.store(column, words(target_data, place), align=1)
        return context.get_dummy_value()

    return types.void(source, starts, first, target, to, stride), codegen


def _transpose_twin(
    source: Any, starts: Any, first: int, target: Any, to: int, stride: int
) -> None:
    for t in range(_SIDE):
        start = int(starts[t]) + int(first)
        target[to + t : to + t + _SIDE * stride : stride] = source[start : start + _SIDE]


#: transpose_bytes(source, starts, first, target, to, stride): target[to + k * stride + t] =
#: source[starts[t] + first + k] for t and k below 8; flat arrays of bytes, `starts` int64 (8,).
transpose_bytes: Any = _transpose if COMPILED else _transpose_twin
