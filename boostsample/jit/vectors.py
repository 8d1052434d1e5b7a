"""Fixed-width SIMD vectors for kernels: one lane for each label.

numba cannot prove that a histogram and the weights do not overlap, so that a plain loop over the
labels stays scalar and takes five times as long. A vector has 1, 2, 4, 8 or 16 lanes, constant at
compile time, of float32 (weights) or float64 (sums over all examples). The order of every operation
is fixed, so that the bits are the same on every processor. Under NUMBA_DISABLE_JIT=1 a vector is a
NumPy array and each operation is its twin, below or in `vector_twins`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, register_model

from boostsample.jit import vector_twins as twins
from boostsample.jit.compile_kernels import COMPILED

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


def _lane(vector: Vector) -> Any:
    return types.float32 if vector.bits == 32 else types.float64


def _shuffled(builder: Any, one: Any, other: Any, lanes: list[int]) -> Any:
    """The given lanes of both vectors."""
    places = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
    return builder.shuffle_vector(one, other, places)


def _broadcast(builder: Any, scalar: Any, vector: Vector) -> Any:
    empty = ir.Constant(_llvm(vector), ir.Undefined)
    one = builder.insert_element(empty, scalar, ir.Constant(ir.IntType(32), 0))
    return _shuffled(builder, one, empty, [0] * vector.lanes)


def _address(context: Any, builder: Any, sig: Any, args: Any, vector: Vector) -> Any:
    array = context.make_array(sig.args[0])(context, builder, args[0])
    start = context.cast(builder, args[1], sig.args[1], types.intp)
    return builder.bitcast(builder.gep(array.data, [start]), _llvm(vector).as_pointer())


def _called(builder: Any, name: str, vector: Vector, *values: Any) -> Any:
    """LLVM's intrinsic `name` of vectors of one type."""
    kind = ir.FunctionType(_llvm(vector), [_llvm(vector)] * len(values))
    name = f"llvm.{name}.v{vector.lanes}f{vector.bits}"
    return builder.call(builder.module.declare_intrinsic(name, (), kind), values)


@intrinsic(prefer_literal=True)
def _load(typing: Any, array: Any, start: Any, lanes: Any) -> Any:
    if not isinstance(lanes, types.IntegerLiteral):
        return None
    vector = Vector(lanes.literal_value, array.dtype.bitwidth)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address = _address(context, builder, sig, args, vector)
        return builder.load(address, align=vector.bits // 8)

    return vector(array, start, lanes), codegen


def _storing(add: bool) -> Any:
    @intrinsic
    def _store(typing: Any, array: Any, start: Any, vector: Any) -> Any:
        if array.dtype.bitwidth != vector.bits:  # it would write past the end
            how = "added to" if add else "stored in"
            raise TypingError(f"a vector of {vector.bits} bits a lane cannot be {how} {array}")

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            address, value = _address(context, builder, sig, args, vector), args[2]
            if add:
                value = builder.fadd(builder.load(address, align=vector.bits // 8), value)
            builder.store(value, address, align=vector.bits // 8)
            return context.get_dummy_value()

        return types.void(array, start, vector), codegen

    return _store


def _of_one(result: Callable[[Vector], Any]) -> Callable[[Callable[..., Any]], Any]:
    """An intrinsic of one vector, from a function of (builder, its type, its value)."""

    def made(build: Callable[..., Any]) -> Any:
        @intrinsic
        def operation(typing: Any, a: Any) -> Any:
            def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
                return build(builder, a, *args)

            return result(a)(a), codegen

        return operation

    return made


def _of_two(build: Callable[..., Any]) -> Any:
    """An intrinsic of two vectors of one type, from a function of (builder, type, values)."""

    @intrinsic
    def operation(typing: Any, a: Any, b: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return build(builder, a, *args)

        return a(a, b), codegen

    return operation


_add = _of_two(lambda builder, vector, a, b: builder.fadd(a, b))
_multiply = _of_two(lambda builder, vector, a, b: builder.fmul(a, b))
_magnitude = _of_one(lambda a: a)(lambda builder, *a: _called(builder, "fabs", *a))


@_of_two
def _at_least(builder: Any, vector: Vector, a: Any, floor: Any) -> Any:
    size = _called(builder, "fabs", vector, a)
    larger = builder.select(builder.fcmp_ordered(">", size, floor), size, floor)
    return _called(builder, "copysign", vector, larger, a)


@_of_one(lambda a: types.boolean)
def _is_minus_zero(builder: Any, vector: Vector, a: Any) -> Any:
    lane = ir.IntType(vector.bits)
    whole = ir.VectorType(lane, vector.lanes)
    signs = ir.Constant(whole, [ir.Constant(lane, 1 << (vector.bits - 1))] * vector.lanes)
    lanes, bits = builder.icmp_unsigned("!=", builder.bitcast(a, whole), signs), vector.lanes
    flags = builder.bitcast(lanes, ir.IntType(bits))
    return builder.icmp_unsigned("==", flags, ir.Constant(ir.IntType(bits), 0))


@intrinsic
def _as_wide(typing: Any, a: Any, like: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return args[0] if a.bits == like.bits else builder.fpext(args[0], _llvm(like))

    return Vector(a.lanes, like.bits)(a, like), codegen


@_of_one(lambda a: Vector(a.lanes, 64))
def _widen(builder: Any, vector: Vector, a: Any) -> Any:
    return builder.fpext(a, _llvm(Vector(vector.lanes, 64)))


@_of_one(_lane)
def _total(builder: Any, vector: Vector, a: Any) -> Any:
    lanes = vector.lanes
    while lanes > 1:  # a fixed tree: the upper half is added to the lower half
        lanes //= 2
        empty = ir.Constant(a.type, ir.Undefined)
        low = _shuffled(builder, a, empty, list(range(lanes)))
        a = builder.fadd(low, _shuffled(builder, a, empty, list(range(lanes, 2 * lanes))))
    return builder.extract_element(a, ir.Constant(ir.IntType(32), 0))


@_of_one(lambda a: a)
def _running(builder: Any, vector: Vector, a: Any) -> Any:
    zeros, distance = _constant(vector, 0.0), 1
    while distance < vector.lanes:
        lanes = [i - distance if i >= distance else vector.lanes for i in range(vector.lanes)]
        a = builder.fadd(a, _shuffled(builder, a, zeros, lanes))
        distance *= 2
    return a


@intrinsic
def _fused(typing: Any, a: Any, b: Any, c: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _called(builder, "fma", a, *args)

    return a(a, b, c), codegen


@intrinsic
def _fill(typing: Any, like: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _broadcast(builder, context.cast(builder, args[1], value, _lane(like)), like)

    return like(like, value), codegen


@intrinsic
def _choose(typing: Any, condition: Any, positive: Any, other: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        above = builder.fcmp_ordered(">", args[0], _constant(condition, 0.0))
        return builder.select(above, args[1], args[2])

    return positive(condition, positive, other), codegen


def _folded(builder: Any, one: Any, other: Any, size: int) -> Any:
    """`vec_paired` of two LLVM vectors."""
    every, half = list(range(2 * one.type.count)), size // 2
    if one.type.count < LANES:
        return _shuffled(builder, one, other, every)
    low = _shuffled(builder, one, other, [i for i in every if i % size < half])
    return builder.fadd(low, _shuffled(builder, one, other, [i for i in every if i % size >= half]))


@intrinsic(prefer_literal=True)
def _paired(typing: Any, a: Any, b: Any, size: Any) -> Any:
    result = a if a.lanes == LANES else Vector(2 * a.lanes, a.bits)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _folded(builder, args[0], args[1], size.literal_value)

    return result(a, b, size), codegen


def _either(
    builder: Any, condition: Any, one: Callable[[], list[Any]], other: Callable[[], list[Any]]
) -> list[Any]:
    """The LLVM values of `one` if the condition holds, else those of `other`."""
    with builder.if_else(condition) as (then, otherwise):
        with then:
            ones, ends = one(), builder.basic_block
        with otherwise:
            others, other_ends = other(), builder.basic_block
    both = []
    for values in zip(ones, others, strict=True):
        both.append(builder.phi(values[0].type))
        both[-1].add_incoming(values[0], ends)
        both[-1].add_incoming(values[1], other_ends)
    return both


@intrinsic(prefer_literal=True)
def _eight_edges(
    typing: Any,
    hist: Any,
    sums: Any,
    fresh: Any,
    at: Any,
    stride: Any,
    whole: Any,
    below: Any,
    two_sided: Any,
) -> Any:
    kind, narrow = _llvm(below), _llvm(Vector(below.lanes, 32))
    widens = below.bits > 32

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        def bin_of(array: int, b: int, vector: Any) -> Any:
            data = context.make_array(sig.args[array])(context, builder, args[array]).data
            start = context.cast(builder, args[3], sig.args[3], types.intp)
            place = builder.add(start, ir.Constant(start.type, b * stride.literal_value))
            address = builder.bitcast(builder.gep(data, [place]), vector.as_pointer())
            return builder.load(address, align=sig.args[array].dtype.bitwidth // 8)

        def edges(with_sums: bool, with_floor: bool) -> list[Any]:
            value, sizes, size = args[6], [], below.lanes
            floor = _called(builder, "fabs", below, args[5])
            for b in range(LANES):
                weights = bin_of(0, b, narrow)
                value = builder.fadd(value, builder.fpext(weights, kind) if widens else weights)
                if with_sums:
                    value = builder.fadd(value, bin_of(1, b, kind))
                # Rounded once, as is the sum: the product is exact.
                above = _called(builder, "fma", below, _constant(below, -2.0), value, args[5])
                edge = _called(builder, "fabs", below, above)
                if with_floor:
                    edge = builder.select(builder.fcmp_ordered(">", edge, floor), edge, floor)
                sizes.append(edge)
            while len(sizes) > 1:
                folds = sizes[0].type.count == LANES
                sizes = [
                    _folded(builder, *two, size)
                    for two in zip(sizes[::2], sizes[1::2], strict=True)
                ]
                size = size // 2 if folds else size
            return [sizes[0], value]

        def of_sides(with_floor: bool) -> list[Any]:
            if not widens:  # there are no sums
                return edges(False, with_floor)
            fresh = lambda: edges(False, with_floor), lambda: edges(True, with_floor)
            return _either(builder, args[2], *fresh)

        both = _either(builder, args[7], lambda: of_sides(True), lambda: of_sides(False))
        return context.make_tuple(builder, sig.return_type, both)

    pair = types.Tuple((Vector(LANES, below.bits), below))
    return pair(hist, sums, fresh, at, stride, whole, below, two_sided), codegen


def _counting(comparison: str) -> Any:
    @intrinsic
    def _count(typing: Any, a: Any, limit: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            most = _broadcast(builder, context.cast(builder, args[1], limit, _lane(a)), a)
            lanes = builder.fcmp_ordered(comparison, args[0], most)
            bits = builder.bitcast(lanes, ir.IntType(a.lanes))
            return builder.ctpop(builder.zext(bits, ir.IntType(64)))

        return types.int64(a, limit), codegen

    return _count


#: vec_load(array, start, lanes): `lanes` numbers of the flat `array`, from `start`.
vec_load: Any = _load if COMPILED else lambda array, at, lanes: array[at : at + lanes].copy()
#: vec_store(array, start, vector): array[start:] = vector.
vec_store: Any = _storing(add=False) if COMPILED else twins.store_twin
#: vec_add_into(array, start, vector): array[start:] += vector.
vec_add_into: Any = _storing(add=True) if COMPILED else twins.add_into_twin
#: vec_add(a, b), vec_multiply(a, b): lane by lane.
vec_add: Any = _add if COMPILED else lambda a, b: a + b
vec_multiply: Any = _multiply if COMPILED else lambda a, b: a * b
#: vec_fused(a, b, c): a * b + c of float32 lanes, rounded once.
vec_fused: Any = _fused if COMPILED else twins.fused_twin
#: vec_fill(like, value): every lane is `value`.
vec_fill: Any = _fill if COMPILED else lambda like, value: np.full_like(like, value)
#: vec_magnitude(a): absolute values.
vec_magnitude: Any = _magnitude if COMPILED else np.abs
#: vec_at_least(a, floor): magnitudes raised to `floor`, signs kept.
vec_at_least: Any = (
    _at_least if COMPILED else lambda a, floor: np.copysign(np.maximum(np.abs(a), floor), a)
)
#: vec_choose(condition, positive, other): `positive` in the lanes where condition > 0, or `other`.
vec_choose: Any = _choose if COMPILED else lambda c, yes, no: np.where(c > 0, yes, no)
#: vec_is_minus_zero(a): whether every lane is -0.0.
vec_is_minus_zero: Any = (
    _is_minus_zero if COMPILED else lambda a: bool(np.all((a == 0) & np.signbit(a)))
)
#: vec_widen(a): float32 lanes as float64.
vec_widen: Any = _widen if COMPILED else lambda a: a.astype(np.float64)
#: vec_as_wide(a, like): float32 lanes as those of `like`, which may be float64.
vec_as_wide: Any = _as_wide if COMPILED else lambda a, like: a.astype(like.dtype)
#: vec_total(a): the sum of the lanes, halves added to halves.
vec_total: Any = _total if COMPILED else twins.total_twin
#: vec_paired(a, b, size): the lanes of both; if they are more than LANES, the halves of each group
#: of `size` lanes are added. Steps of size 8, 4, 2 turn eight vectors into one of their totals.
vec_paired: Any = _paired if COMPILED else twins.paired_twin
#: vec_running(a): each lane plus all before it, in the order of doubling distances.
vec_running: Any = _running if COMPILED else twins.running_twin
#: vec_eight_edges(hist, sums, fresh, at, stride, whole, below, two_sided): adds eight bins of
#: `hist`, `stride` apart from number `at`, and of `sums` unless `fresh`, to `below` one after
#: another. Returns the totals of |whole - 2 below| after each of them, or of |whole| where that is
#: larger if `two_sided`; and `below` after the last. `whole` and `below` are float64, or float32
#: without `sums`.
vec_eight_edges: Any = _eight_edges if COMPILED else twins.eight_edges_twin
#: vec_count_up_to(a, limit), vec_count_below(a, limit): number of lanes at most, or below, `limit`.
vec_count_up_to: Any = (
    _counting("<=") if COMPILED else lambda a, limit: int(np.sum(a <= a.dtype.type(limit)))
)
vec_count_below: Any = (
    _counting("<") if COMPILED else lambda a, limit: int(np.sum(a < a.dtype.type(limit)))
)
