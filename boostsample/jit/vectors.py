"""Fixed-width vectors that kernels hold in registers: one lane for each label.

numba cannot prove that a histogram and the weights do not overlap, so a plain loop over the
labels stays scalar and costs about five times as much. A vector has 1, 2, 4, 8 or 16 lanes, a
compile-time constant, of float32 (weights) or float64 (sums over all examples). Every operation
has one fixed order, so the bits are the same on every processor. Under NUMBA_DISABLE_JIT=1 a
vector is a NumPy array and each operation is its twin, below or in `vector_twins`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import config
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, register_model

from boostsample.jit import vector_twins as twins

#: Labels in one full vector.
LANES = twins.LANES


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


def _folded(builder: Any, one: Any, other: Any, size: int) -> Any:
    """What `paired` says, of two LLVM vectors."""

    def lanes(chosen: list[int]) -> Any:
        places = ir.Constant(ir.VectorType(ir.IntType(32), len(chosen)), chosen)
        return builder.shuffle_vector(one, other, places)

    every, half = list(range(2 * one.type.count)), size // 2
    if one.type.count < LANES:
        return lanes(every)
    low = lanes([i for i in every if i % size < half])
    return builder.fadd(low, lanes([i for i in every if i % size >= half]))


@intrinsic(prefer_literal=True)
def _paired(typing: Any, a: Any, b: Any, size: Any) -> Any:
    result = a if a.lanes == LANES else Vector(2 * a.lanes, a.bits)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _folded(builder, args[0], args[1], size.literal_value)

    return result(a, b, size), codegen


@intrinsic(prefer_literal=True)
def _eight_edges(
    typing: Any, hist: Any, sums: Any, fresh: Any, at: Any, stride: Any, whole: Any, below: Any
) -> Any:
    kind, narrow = _llvm(below), _llvm(Vector(below.lanes, 32))

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        def bin_of(array: int, b: int, vector: Any) -> Any:
            data = context.make_array(sig.args[array])(context, builder, args[array]).data
            start = context.cast(builder, args[3], sig.args[3], types.intp)
            place = builder.add(start, ir.Constant(start.type, b * stride.literal_value))
            address = builder.bitcast(builder.gep(data, [place]), vector.as_pointer())
            return builder.load(address, align=sig.args[array].dtype.bitwidth // 8)

        def edges(with_sums: bool) -> tuple[Any, Any]:
            value, sizes, size = args[6], [], below.lanes
            for b in range(LANES):
                value = builder.fadd(value, builder.fpext(bin_of(0, b, narrow), kind))
                if with_sums:
                    value = builder.fadd(value, bin_of(1, b, kind))
                part = builder.fmul(_constant(below, -2.0), value)
                sizes.append(_fabs(builder, builder.fadd(args[5], part), below))
            while len(sizes) > 1:
                folds = sizes[0].type.count == LANES
                sizes = [
                    _folded(builder, *two, size)
                    for two in zip(sizes[::2], sizes[1::2], strict=True)
                ]
                size = size // 2 if folds else size
            return sizes[0], value

        with builder.if_else(args[2]) as (then, otherwise):
            with then:
                plain, ends = edges(False), builder.basic_block
            with otherwise:
                summed, other_ends = edges(True), builder.basic_block
        both = []
        for one, other in zip(plain, summed, strict=True):
            both.append(builder.phi(one.type))
            both[-1].add_incoming(one, ends)
            both[-1].add_incoming(other, other_ends)
        return context.make_tuple(builder, sig.return_type, both)

    pair = types.Tuple((Vector(LANES, 64), below))
    return pair(hist, sums, fresh, at, stride, whole, below), codegen


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


def _counting(comparison: str) -> Any:
    @intrinsic
    def _count(typing: Any, a: Any, limit: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            lane = types.float32 if a.bits == 32 else types.float64
            most = _broadcast(builder, context.cast(builder, args[1], limit, lane), a)
            lanes = builder.fcmp_ordered(comparison, args[0], most)
            bits = builder.bitcast(lanes, ir.IntType(a.lanes))
            return builder.ctpop(builder.zext(bits, ir.IntType(64)))

        return types.int64(a, limit), codegen

    return _count


_COMPILED = not vars(config)["DISABLE_JIT"]

#: load(array, start, lanes): `lanes` numbers of the flat `array` from `start` on.
load: Any = _load if _COMPILED else lambda array, start, lanes: array[start : start + lanes].copy()
#: store(array, start, vector): write them back.
store: Any = _store if _COMPILED else twins.store
#: add_into(array, start, vector): array[start:] += vector.
add_into: Any = _add_into if _COMPILED else twins.add_into
#: prefetch(array, start): have array[start] brought into the second cache, to be read soon; the
#: first one, for `prefetch_first`, has few requests under way at a time, which histograms need.
#: prefetch_to_write takes it out of other cores' caches, too. Past the end is harmless.
prefetch: Any = _prefetching(0, 2) if _COMPILED else lambda array, start: None
prefetch_first: Any = _prefetching(0, 3) if _COMPILED else lambda array, start: None
prefetch_to_write: Any = _prefetching(1, 3) if _COMPILED else lambda array, start: None
#: add(a, b), multiply(a, b): lane by lane.
add: Any = _add if _COMPILED else lambda a, b: a + b
multiply: Any = _multiply if _COMPILED else lambda a, b: a * b
#: fused(a, b, c): a * b + c of float32 lanes, rounded once.
fused: Any = _fused if _COMPILED else twins.fused
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
total: Any = _total if _COMPILED else twins.total
#: paired(a, b, size): the lanes of both, and where these are too many, groups of `size` in them, as
#: halves added to halves. Eight vectors become one of their totals: size 8, 4, 2 in three steps.
paired: Any = _paired if _COMPILED else twins.paired
#: running(a): each lane plus all before it, in the order of doubling distances.
running: Any = _running if _COMPILED else twins.running
#: eight_edges(hist, sums, fresh, at, stride, whole, below): eight bins, `stride` apart from number
#: `at` of `hist` on, and unless `fresh` of `sums`, are added to `below` one after another; the
#: totals of |whole - 2 below| after each of them, and `below` after the last.
eight_edges: Any = _eight_edges if _COMPILED else twins.eight_edges
#: count_up_to(a, limit), count_below(a, limit): how many lanes are at most, or below, `limit`.
count_up_to: Any = (
    _counting("<=") if _COMPILED else lambda a, limit: int(np.sum(a <= a.dtype.type(limit)))
)
count_below: Any = (
    _counting("<") if _COMPILED else lambda a, limit: int(np.sum(a < a.dtype.type(limit)))
)
