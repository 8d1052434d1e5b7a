"""Fixed-width vectors that kernels hold in registers: one lane for each label.

numba cannot prove that a histogram and the weights do not overlap, so a plain loop over the
labels stays scalar and costs about five times as much. A vector has 1, 2, 4, 8 or 16 lanes, a
compile-time constant, of float32 (weights) or float64 (sums over all examples). Every operation
has one fixed order, so the bits are the same on every processor. Under NUMBA_DISABLE_JIT=1 a
vector is a NumPy array and each operation is its one-line twin below.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import config
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, register_model

#: Labels in one full vector.
LANES = 8


class Vector(types.Type):  # type: ignore[misc]  # numba ships no annotations
    """numba's type of a vector: `lanes` numbers of `bits` bits each."""

    def __init__(self, lanes: int, bits: int) -> None:
        self.lanes = lanes
        self.bits = bits
        super().__init__(name=f"Vector({lanes}, {bits})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):  # type: ignore[misc]  # numba ships no annotations
    def __init__(self, dmm: Any, fe_type: Vector) -> None:
        super().__init__(dmm, fe_type, _llvm(fe_type))


def _llvm(vector: Vector) -> ir.VectorType:
    return ir.VectorType(ir.FloatType() if vector.bits == 32 else ir.DoubleType(), vector.lanes)


def _constant(vector: Vector, value: float) -> ir.Constant:
    lane = _llvm(vector).element
    return ir.Constant(_llvm(vector), [ir.Constant(lane, value)] * vector.lanes)


def _broadcast(builder: Any, scalar: Any, vector: Vector) -> Any:
    one = builder.insert_element(
        ir.Constant(_llvm(vector), ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0)
    )
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), vector.lanes), [0] * vector.lanes)
    return builder.shuffle_vector(one, ir.Constant(_llvm(vector), ir.Undefined), lanes)


def _address(context: Any, builder: Any, sig: Any, args: Any, vector: Vector) -> Any:
    array = context.make_array(sig.args[0])(context, builder, args[0])
    start = context.cast(builder, args[1], sig.args[1], types.intp)
    return builder.bitcast(builder.gep(array.data, [start]), _llvm(vector).as_pointer())


def _vector_of(array: Any, lanes: Any) -> Vector | None:
    if not isinstance(lanes, types.IntegerLiteral):
        return None
    return Vector(lanes.literal_value, array.dtype.bitwidth)


def _fabs(builder: Any, value: Any, vector: Vector) -> Any:
    name = f"llvm.fabs.v{vector.lanes}f{vector.bits}"
    return builder.call(
        builder.module.declare_intrinsic(name, (), ir.FunctionType(_llvm(vector), [_llvm(vector)])),
        [value],
    )


@intrinsic(prefer_literal=True)
def _load(typing: Any, array: Any, start: Any, lanes: Any) -> Any:
    vector = _vector_of(array, lanes)
    if vector is None:
        return None

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address = _address(context, builder, sig, args, vector)
        return builder.load(address, align=vector.bits // 8)

    return vector(array, start, lanes), codegen


@intrinsic
def _store(typing: Any, array: Any, start: Any, vector: Any) -> Any:
    if array.dtype.bitwidth != vector.bits:  # it would write past the end
        raise TypingError(f"a vector of {vector.bits} bits a lane cannot be stored in {array}")

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address = _address(context, builder, sig, args, vector)
        builder.store(args[2], address, align=vector.bits // 8)
        return context.get_dummy_value()

    return types.void(array, start, vector), codegen


@intrinsic
def _add_into(typing: Any, array: Any, start: Any, vector: Any) -> Any:
    if array.dtype.bitwidth != vector.bits:
        raise TypingError(f"a vector of {vector.bits} bits a lane cannot be added to {array}")

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address = _address(context, builder, sig, args, vector)
        before = builder.load(address, align=vector.bits // 8)
        builder.store(builder.fadd(before, args[2]), address, align=vector.bits // 8)
        return context.get_dummy_value()

    return types.void(array, start, vector), codegen


@intrinsic
def _prefetch(typing: Any, array: Any, start: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        at = builder.gep(data, [context.cast(builder, args[1], sig.args[1], types.intp)])
        byte = builder.bitcast(at, ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte.type, word, word, word])
        function = builder.module.declare_intrinsic("llvm.prefetch", (byte.type,), kind)
        builder.call(function, [byte, *(ir.Constant(word, i) for i in (0, 2, 1))])
        return context.get_dummy_value()

    return types.void(array, start), codegen


@intrinsic
def _add(typing: Any, a: Any, b: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.fadd(args[0], args[1])

    return a(a, b), codegen


@intrinsic
def _multiply(typing: Any, a: Any, b: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.fmul(args[0], args[1])

    return a(a, b), codegen


@intrinsic
def _fused(typing: Any, a: Any, b: Any, c: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = _llvm(a)
        name = f"llvm.fma.v{a.lanes}f{a.bits}"
        function = ir.FunctionType(kind, [kind, kind, kind])
        return builder.call(builder.module.declare_intrinsic(name, (), function), list(args))

    return a(a, b, c), codegen


@intrinsic
def _fill(typing: Any, like: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lane = types.float32 if like.bits == 32 else types.float64
        return _broadcast(builder, context.cast(builder, args[1], value, lane), like)

    return like(like, value), codegen


@intrinsic
def _magnitude(typing: Any, a: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _fabs(builder, args[0], a)

    return a(a), codegen


@intrinsic
def _at_least(typing: Any, a: Any, floor: Any) -> Any:
    """Magnitude raised to `floor` lane by lane, sign of `a` kept."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        size = _fabs(builder, args[0], a)
        larger = builder.select(builder.fcmp_ordered(">", size, args[1]), size, args[1])
        name = f"llvm.copysign.v{a.lanes}f{a.bits}"
        kind = ir.FunctionType(_llvm(a), [_llvm(a), _llvm(a)])
        return builder.call(builder.module.declare_intrinsic(name, (), kind), [larger, args[0]])

    return a(a, floor), codegen


@intrinsic
def _choose(typing: Any, condition: Any, positive: Any, other: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        above = builder.fcmp_ordered(">", args[0], _constant(condition, 0.0))
        return builder.select(above, args[1], args[2])

    return positive(condition, positive, other), codegen


@intrinsic
def _is_zero(typing: Any, a: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lanes = builder.fcmp_unordered("!=", args[0], _constant(a, 0.0))
        bits = ir.IntType(a.lanes)
        return builder.icmp_unsigned("==", builder.bitcast(lanes, bits), ir.Constant(bits, 0))

    return types.boolean(a), codegen


@intrinsic
def _widen(typing: Any, a: Any) -> Any:
    wide = Vector(a.lanes, 64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.fpext(args[0], _llvm(wide))

    return wide(a), codegen


@intrinsic
def _total(typing: Any, a: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        value, lanes = args[0], a.lanes
        while lanes > 1:  # a fixed tree: the upper half onto the lower half
            lanes //= 2
            index = ir.VectorType(ir.IntType(32), lanes)
            undefined = ir.Constant(value.type, ir.Undefined)
            low = ir.Constant(index, list(range(lanes)))
            high = ir.Constant(index, list(range(lanes, 2 * lanes)))
            value = builder.fadd(
                builder.shuffle_vector(value, undefined, low),
                builder.shuffle_vector(value, undefined, high),
            )
        return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

    scalar = types.float32 if a.bits == 32 else types.float64
    return scalar(a), codegen


@intrinsic(prefer_literal=True)
def _paired(typing: Any, a: Any, b: Any, size: Any) -> Any:
    folds = a.lanes == LANES
    result = a if folds else Vector(2 * a.lanes, a.bits)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        def lanes(chosen: list[int]) -> Any:
            places = ir.Constant(ir.VectorType(ir.IntType(32), len(chosen)), chosen)
            return builder.shuffle_vector(args[0], args[1], places)

        every, half = range(2 * a.lanes), size.literal_value // 2
        if not folds:
            return lanes(list(every))
        low = lanes([i for i in every if i % (2 * half) < half])
        return builder.fadd(low, lanes([i for i in every if i % (2 * half) >= half]))

    return result(a, b, size), codegen


@intrinsic
def _running(typing: Any, a: Any) -> Any:
    """Each lane plus all before it, by doubling distances."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        value, zeros = args[0], ir.Constant(_llvm(a), [0.0] * a.lanes)
        distance = 1
        while distance < a.lanes:
            lanes = [i - distance if i >= distance else a.lanes for i in range(a.lanes)]
            places = ir.Constant(ir.VectorType(ir.IntType(32), a.lanes), lanes)
            value = builder.fadd(value, builder.shuffle_vector(value, zeros, places))
            distance *= 2
        return value

    return a(a), codegen


@intrinsic
def _count_up_to(typing: Any, a: Any, limit: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lane = types.float32 if a.bits == 32 else types.float64
        most = _broadcast(builder, context.cast(builder, args[1], limit, lane), a)
        bits = builder.bitcast(builder.fcmp_ordered("<=", args[0], most), ir.IntType(a.lanes))
        return builder.ctpop(builder.zext(bits, ir.IntType(64)))

    return types.int64(a, limit), codegen


def _running_twin(a: Any) -> Any:
    distance = 1
    while distance < a.size:
        a = a + np.concatenate([np.zeros(distance, a.dtype), a[:-distance]])
        distance *= 2
    return a


def _total_twin(a: Any) -> Any:
    while a.size > 1:
        a = a[: a.size // 2] + a[a.size // 2 :]
    return a[0]


def _paired_twin(a: Any, b: Any, size: int) -> Any:
    both = np.concatenate([a, b])
    if a.size < LANES:
        return both
    halves = both.reshape(-1, 2, size // 2)
    return (halves[:, 0] + halves[:, 1]).ravel()


def _fused_twin(a: Any, b: Any, c: Any) -> Any:
    wide = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    return wide.astype(a.dtype)


def _add_into_twin(array: Any, start: int, vector: Any) -> None:
    array[start : start + vector.size] += vector


def _store_twin(array: Any, start: int, vector: Any) -> None:
    array[start : start + vector.size] = vector


_COMPILED = not vars(config)["DISABLE_JIT"]

#: load(array, start, lanes): `lanes` numbers of the flat `array` from `start` on.
load: Any = _load if _COMPILED else lambda array, start, lanes: array[start : start + lanes].copy()
#: store(array, start, vector): write them back.
store: Any = _store if _COMPILED else _store_twin
#: add_into(array, start, vector): array[start:] += vector.
add_into: Any = _add_into if _COMPILED else _add_into_twin
#: prefetch(array, start): have array[start] brought into the second cache, to be read soon; the
#: first one has few requests under way at a time, which histograms need.
prefetch: Any = _prefetch if _COMPILED else lambda array, start: None
#: add(a, b), multiply(a, b): lane by lane.
add: Any = _add if _COMPILED else lambda a, b: a + b
multiply: Any = _multiply if _COMPILED else lambda a, b: a * b
#: fused(a, b, c): a * b + c of float32 lanes, rounded once.
fused: Any = _fused if _COMPILED else _fused_twin
#: fill(like, value): every lane is `value`.
fill: Any = _fill if _COMPILED else lambda like, value: np.full_like(like, value)
#: magnitude(a): absolute values.
magnitude: Any = _magnitude if _COMPILED else np.abs
#: at_least(a, floor): magnitudes raised to `floor`, signs kept.
at_least: Any = (
    _at_least if _COMPILED else lambda a, floor: np.copysign(np.maximum(np.abs(a), floor), a)
)
#: choose(condition, positive, other): `positive` in the lanes where condition > 0, else `other`.
choose: Any = _choose if _COMPILED else lambda c, positive, other: np.where(c > 0, positive, other)
#: is_zero(a): whether every lane is 0.
is_zero: Any = _is_zero if _COMPILED else lambda a: not a.any()
#: widen(a): float32 lanes as float64.
widen: Any = _widen if _COMPILED else lambda a: a.astype(np.float64)
#: total(a): the sum of the lanes, halves added to halves.
total: Any = _total if _COMPILED else _total_twin
#: paired(a, b, size): the lanes of both, and where these are too many, groups of `size` in them, as
#: halves added to halves. Eight vectors become one of their totals: size 8, 4, 2 in three steps.
paired: Any = _paired if _COMPILED else _paired_twin
#: running(a): each lane plus all before it, in the order of doubling distances.
running: Any = _running if _COMPILED else _running_twin
#: count_up_to(a, limit): how many lanes are at most `limit`.
count_up_to: Any = (
    _count_up_to if _COMPILED else lambda a, limit: int(np.sum(a <= a.dtype.type(limit)))
)
