"""Fixed-width SIMD vectors for kernels, one lane for each label; prefetches; arrays on the stack.

numba cannot prove that a histogram and the weights do not overlap, so that a plain loop over the
labels stays scalar and takes five times as long. The order of every operation is fixed, so that the
bits are the same on every processor.

A vector has `lanes` numbers, constant at compile time, of float32 (weights) or float64 (sums over
all examples): 1, 2, 4 or 8; or more, which are LLVM's vectors of eight lanes, of sixteen where they
are more than that, and one of the rest. Under NUMBA_DISABLE_JIT=1 a vector is a NumPy array and
each operation is its twin below.

Small arrays lie on the stack: each `np.empty` takes numba a tenth of a second to compile and counts
references at every call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, register_model
from numba.np.arrayobj import populate_array

from boostsample.jit.compile_kernels import COMPILED

#: Labels in one full vector.
LANES = 8
_WORD, _BYTE, _PLACE = ir.IntType(64), ir.IntType(8), ir.IntType(32)


class Vector(types.Type):  # type: ignore[misc]  # numba ships no annotations
    """numba's type of a vector: `lanes` numbers of `bits` bits each."""

    def __init__(self, lanes: int, bits: int) -> None:
        self.lanes = lanes
        self.bits = bits
        # One row as two vectors of eight lanes, several as vectors of sixteen: with AVX-512 an
        # update takes three quarters of its time in vectors of eight.
        most = LANES if lanes <= 2 * LANES else 2 * LANES
        self.parts = [min(most, lanes - first) for first in range(0, lanes, most)]
        super().__init__(name=f"Vector({lanes}, {bits})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):  # type: ignore[misc]  # numba ships no annotations
    def __init__(self, dmm: Any, fe_type: Vector) -> None:
        kinds = [_llvm(lanes, fe_type.bits) for lanes in fe_type.parts]
        super().__init__(dmm, fe_type, kinds[0] if len(kinds) == 1 else ir.LiteralStructType(kinds))


def _llvm(lanes: int, bits: int) -> ir.VectorType:
    return ir.VectorType(ir.FloatType() if bits == 32 else ir.DoubleType(), lanes)


def _parts(builder: Any, value: Any) -> list[Any]:
    """LLVM's vectors of a vector."""
    return (
        [value] if isinstance(value.type, ir.VectorType) else cgutils.unpack_tuple(builder, value)
    )


def _whole(builder: Any, parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else cgutils.pack_struct(builder, parts)


def _joined(builder: Any, value: Any) -> Any:
    """A vector of 1, 2, 4, 8 or 16 lanes as one of LLVM's."""
    parts = _parts(builder, value)
    if len(parts) == 1:
        return parts[0]
    return _shuffled(builder, parts[0], parts[1], list(range(2 * LANES)))


def _constant(like: ir.VectorType, value: float) -> ir.Constant:
    return ir.Constant(like, [ir.Constant(like.element, value)] * like.count)


def _lane(vector: Vector) -> Any:
    return types.float32 if vector.bits == 32 else types.float64


def _shuffled(builder: Any, left: Any, right: Any, lanes: list[int]) -> Any:
    return builder.shuffle_vector(
        left, right, ir.Constant(ir.VectorType(_PLACE, len(lanes)), lanes)
    )


def _broadcast(builder: Any, scalar: Any, kind: ir.VectorType) -> Any:
    empty = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(empty, scalar, ir.Constant(_PLACE, 0))
    return _shuffled(builder, first, empty, [0] * kind.count)


def _called(builder: Any, name: str, *values: Any) -> Any:
    """LLVM's intrinsic `name` of vectors of one type."""
    kind = values[0].type
    bits = 32 if isinstance(kind.element, ir.FloatType) else 64
    function = ir.FunctionType(kind, [kind] * len(values))
    name = f"llvm.{name}.v{kind.count}f{bits}"
    return builder.call(builder.module.declare_intrinsic(name, (), function), values)


def _lanewise(
    n: int, build: Callable[..., Any], result: Callable[..., Any] = lambda *vectors: vectors[-1]
) -> Any:
    """An operation on n vectors: `build` makes each part of the result from theirs."""

    def operation(*vectors: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            parts = zip(*(_parts(builder, vector) for vector in args), strict=True)
            return _whole(builder, [build(builder, *values) for values in parts])

        return result(*vectors)(*vectors), codegen

    # numba takes no intrinsics with *args.
    fixed: Any = (
        lambda typing, a: operation(a),
        lambda typing, a, b: operation(a, b),
        lambda typing, a, b, c: operation(a, b, c),
    )
    return intrinsic(fixed[n - 1])


def _of_all_lanes(result: Callable[[Vector], Any]) -> Callable[[Callable[..., Any]], Any]:
    """An operation of one vector of 1, 2, 4, 8 or 16 lanes, as `build` makes it."""

    def made(build: Callable[..., Any]) -> Any:
        @intrinsic
        def operation(typing: Any, a: Any) -> Any:
            def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
                return build(builder, _joined(builder, args[0]))

            return result(a)(a), codegen

        return operation

    return made


def _places(context: Any, builder: Any, sig: Any, args: Any, vector: Vector) -> list[Any]:
    """The addresses of a vector's parts in array args[0] from number args[1]."""
    array = context.make_array(sig.args[0])(context, builder, args[0])
    start = context.cast(builder, args[1], sig.args[1], types.intp)
    places = []
    for first, lanes in zip(_firsts(vector), vector.parts, strict=True):
        at = builder.add(start, ir.Constant(start.type, first)) if first else start
        kind = _llvm(lanes, vector.bits).as_pointer()
        places.append(builder.bitcast(builder.gep(array.data, [at]), kind))
    return places


def _firsts(vector: Vector) -> list[int]:
    return [sum(vector.parts[:number]) for number in range(len(vector.parts))]


@intrinsic(prefer_literal=True)
def _load(typing: Any, array: Any, start: Any, lanes: Any) -> Any:
    if not isinstance(lanes, types.IntegerLiteral):
        return None
    vector = Vector(lanes.literal_value, array.dtype.bitwidth)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        # The alignment of a number: rows of a tail, and parts of arrays, begin anywhere.
        places = _places(context, builder, sig, args, vector)
        return _whole(builder, [builder.load(place, align=vector.bits // 8) for place in places])

    return vector(array, start, lanes), codegen


def _storing(add: bool) -> Any:
    @intrinsic
    def _store(typing: Any, array: Any, start: Any, vector: Any) -> Any:
        if array.dtype.bitwidth != vector.bits:  # it would write past the end
            how = "added to" if add else "stored in"
            raise TypingError(f"a vector of {vector.bits} bits a lane cannot be {how} {array}")

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            places = _places(context, builder, sig, args, vector)
            for place, value in zip(places, _parts(builder, args[2]), strict=True):
                if add:
                    value = builder.fadd(builder.load(place, align=vector.bits // 8), value)
                builder.store(value, place, align=vector.bits // 8)
            return context.get_dummy_value()

        return types.void(array, start, vector), codegen

    return _store


def _raised(builder: Any, a: Any, floor: Any) -> Any:
    size = _called(builder, "fabs", a)
    larger = builder.select(builder.fcmp_ordered(">", size, floor), size, floor)
    return _called(builder, "copysign", larger, a)


def _bits(builder: Any, a: Any) -> Any:
    return builder.bitcast(a, ir.VectorType(_PLACE, a.type.count))


def _negated(builder: Any, a: Any, signs: Any) -> Any:
    minus = _bits(builder, _constant(a.type, -0.0))  # the sign bit alone
    negative = builder.and_(_bits(builder, signs), minus)
    return builder.bitcast(builder.xor(_bits(builder, a), negative), a.type)


def _chosen(builder: Any, signs: Any, positive: Any, negative: Any) -> Any:
    bits = _bits(builder, signs)
    below = builder.icmp_signed("<", bits, ir.Constant(bits.type, None))
    return builder.select(below, negative, positive)


def _as_double(builder: Any, a: Any, *like: Any) -> Any:
    if like and a.type == like[0].type:
        return a
    return builder.fpext(a, ir.VectorType(ir.DoubleType(), a.type.count))


@intrinsic
def _fill(typing: Any, like: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lane = context.cast(builder, args[1], value, _lane(like))
        parts = [_broadcast(builder, lane, _llvm(lanes, like.bits)) for lanes in like.parts]
        return _whole(builder, parts)

    return like(like, value), codegen


@_of_all_lanes(lambda a: types.boolean)
def _is_minus_zero(builder: Any, a: Any) -> Any:
    lane = ir.IntType(32 if isinstance(a.type.element, ir.FloatType) else 64)
    whole, flags = ir.VectorType(lane, a.type.count), ir.IntType(a.type.count)
    signs = ir.Constant(whole, [ir.Constant(lane, 1 << (lane.width - 1))] * whole.count)
    others = builder.icmp_unsigned("!=", builder.bitcast(a, whole), signs)
    return builder.icmp_unsigned("==", builder.bitcast(others, flags), ir.Constant(flags, 0))


def _tree_total(builder: Any, a: Any) -> Any:
    lanes = a.type.count
    while lanes > 1:  # a fixed tree: the upper half is added to the lower half
        lanes //= 2
        empty = ir.Constant(a.type, ir.Undefined)
        low = _shuffled(builder, a, empty, list(range(lanes)))
        a = builder.fadd(low, _shuffled(builder, a, empty, list(range(lanes, 2 * lanes))))
    return builder.extract_element(a, ir.Constant(_PLACE, 0))


_total = _of_all_lanes(_lane)(_tree_total)


@intrinsic
def _row_total(typing: Any, a: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        first, *rest = [_tree_total(builder, part) for part in _parts(builder, args[0])]
        return builder.fadd(first, *rest) if rest else first

    return _lane(a)(a), codegen


@intrinsic(prefer_literal=True)
def _phi(typing: Any, column: Any, start: Any, threshold: Any, n_rows: Any, size: Any) -> Any:
    rows, labels = n_rows.literal_value, size.literal_value
    vector = Vector(rows * labels, 32)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        place = builder.gep(data, [context.cast(builder, args[1], sig.args[1], types.intp)])
        kind = ir.VectorType(_BYTE, rows)
        # All bins of the rows in one load, compared at once, and spread over the lanes of their
        # rows.
        bins = builder.load(builder.bitcast(place, kind.as_pointer()), align=1)
        least = context.cast(builder, args[2], sig.args[2], types.uint8)
        above = builder.icmp_unsigned(">=", bins, _broadcast(builder, least, kind))
        each = ir.VectorType(ir.FloatType(), rows)
        phi = builder.select(above, _constant(each, 1.0), _constant(each, -1.0))
        places = [lane // labels for lane in range(rows * labels)]
        parts = zip(_firsts(vector), vector.parts, strict=True)
        return _whole(
            builder, [_shuffled(builder, phi, phi, places[at : at + n]) for at, n in parts]
        )

    return vector(column, start, threshold, n_rows, size), codegen


@intrinsic
def _eight_lanes(typing: Any, a: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        parts = []
        for part in _parts(builder, args[0]):
            for first in range(0, part.type.count, LANES):
                lanes = list(range(first, first + LANES))
                parts.append(_shuffled(builder, part, part, lanes))
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=False)
            odd = parts[-1:] if len(parts) % 2 else []
            parts = [builder.fadd(*pair) for pair in pairs] + odd
        return parts[0]

    return Vector(LANES, a.bits)(a), codegen


#: Multipliers and shifts of a 32-bit hash (lowbias32 of Wellons), without the first shift.
_HASH = ((16, 0x7FEB352D), (15, 0x846CA68B))


@intrinsic(prefer_literal=True)
def _uniforms(typing: Any, first: Any, seed: Any, lanes: Any) -> Any:
    n = lanes.literal_value

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = ir.VectorType(_PLACE, n)

        def every(value: int) -> Any:
            return ir.Constant(kind, [ir.Constant(_PLACE, value)] * n)

        start, key = (
            context.cast(builder, arg, of, types.int64)
            for arg, of in zip(args[:2], sig.args[:2], strict=True)
        )
        low, high = key, builder.lshr(key, ir.Constant(_WORD, 32))
        at, times, plus = (
            _broadcast(builder, builder.trunc(x, _PLACE), kind) for x in (start, low, high)
        )
        x = builder.add(at, ir.Constant(kind, [ir.Constant(_PLACE, k) for k in range(n)]))
        # An odd factor permutes the 32-bit numbers.
        x = builder.add(builder.mul(x, builder.or_(times, every(1))), plus)
        for shift, factor in _HASH:
            x = builder.mul(builder.xor(x, builder.lshr(x, every(shift))), every(factor))
        x = builder.lshr(builder.xor(x, builder.lshr(x, every(16))), every(1))
        # 31 bits, so that the signed conversion will do: there is no vector instruction for
        # unsigned numbers before AVX-512. With a half added, a number is never 0.
        u = builder.sitofp(x, ir.VectorType(ir.FloatType(), n))
        half = builder.fadd(u, _constant(u.type, 0.5))
        return builder.fmul(half, _constant(u.type, 2.0**-31))

    return Vector(n, 32)(first, seed, lanes), codegen


@intrinsic
def _bits_below(typing: Any, a: Any, limit: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        below = builder.fcmp_ordered("<", *(_joined(builder, value) for value in args))
        return builder.zext(builder.bitcast(below, ir.IntType(a.lanes)), _WORD)

    return types.int64(a, limit), codegen


#: The numbers of the bits of each byte that are set, ascending, and 0 for the others.
_SET_BITS = [
    ([k for k in range(LANES) if byte >> k & 1] + [0] * LANES)[:LANES] for byte in range(256)
]


@intrinsic
def _store_set_bits(typing: Any, array: Any, start: Any, first: Any, bits: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        row = ir.VectorType(_BYTE, LANES)
        rows = [ir.Constant(row, [ir.Constant(_BYTE, k) for k in bits]) for bits in _SET_BITS]
        table = cgutils.global_constant(
            builder, "set_bits", ir.Constant(ir.ArrayType(row, len(rows)), rows)
        )
        at, number, byte = (
            context.cast(builder, arg, of, types.int64)
            for arg, of in zip(args[1:], sig.args[1:], strict=True)
        )
        places = builder.load(builder.gep(table, [ir.Constant(_WORD, 0), byte]), align=LANES)
        wide = ir.VectorType(_PLACE, LANES)
        base = _broadcast(builder, builder.trunc(number, _PLACE), wide)
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        address = builder.bitcast(builder.gep(data, [at]), wide.as_pointer())
        builder.store(builder.add(builder.zext(places, wide), base), address, align=4)
        return builder.ctpop(byte)

    return types.int64(array, start, first, bits), codegen


@_of_all_lanes(lambda a: a)
def _running(builder: Any, a: Any) -> Any:
    zeros, n, distance = _constant(a.type, 0.0), a.type.count, 1
    while distance < n:
        lanes = [i - distance if i >= distance else n for i in range(n)]
        a = builder.fadd(a, _shuffled(builder, a, zeros, lanes))
        distance *= 2
    if n <= LANES:
        return a
    halves = list(range(LANES)), list(range(LANES, n))
    return _whole(builder, [_shuffled(builder, a, zeros, half) for half in halves])


def _counting(comparison: str) -> Any:
    @intrinsic
    def _count(typing: Any, a: Any, limit: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            value = _joined(builder, args[0])
            most = context.cast(builder, args[1], limit, _lane(a))
            lanes = builder.fcmp_ordered(comparison, value, _broadcast(builder, most, value.type))
            bits = builder.bitcast(lanes, ir.IntType(a.lanes))
            return builder.ctpop(builder.zext(bits, _WORD))

        return types.int64(a, limit), codegen

    return _count


def _folded(builder: Any, left: Any, right: Any, size: int) -> Any:
    """`paired` of two LLVM vectors."""
    every, half = list(range(2 * left.type.count)), size // 2
    if left.type.count < LANES:
        return _shuffled(builder, left, right, every)
    low = _shuffled(builder, left, right, [i for i in every if i % size < half])
    return builder.fadd(
        low, _shuffled(builder, left, right, [i for i in every if i % size >= half])
    )


@intrinsic(prefer_literal=True)
def _paired(typing: Any, a: Any, b: Any, size: Any) -> Any:
    result = a if a.lanes == LANES else Vector(2 * a.lanes, a.bits)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _folded(builder, args[0], args[1], size.literal_value)

    return result(a, b, size), codegen


def _either(
    builder: Any, condition: Any, first: Callable[[], list[Any]], second: Callable[[], list[Any]]
) -> list[Any]:
    """The LLVM values of `first` if the condition holds, else those of `second`."""
    with builder.if_else(condition) as (then, otherwise):
        with then:
            values, end = first(), builder.basic_block
        with otherwise:
            others, other_end = second(), builder.basic_block
    merged = []
    for value, other in zip(values, others, strict=True):
        merged.append(builder.phi(value.type))
        merged[-1].add_incoming(value, end)
        merged[-1].add_incoming(other, other_end)
    return merged


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
    widens = below.bits > 32

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        def bin_of(array: int, place: int, kind: Any) -> Any:
            data = context.make_array(sig.args[array])(context, builder, args[array]).data
            start = context.cast(builder, args[3], sig.args[3], types.intp)
            place = builder.add(start, ir.Constant(start.type, place))
            address = builder.bitcast(builder.gep(data, [place]), kind.as_pointer())
            return builder.load(address, align=sig.args[array].dtype.bitwidth // 8)

        def edges_of(number: int, with_sums: bool, with_floor: bool) -> list[Any]:
            """The edges of one part of the labels, and their sums below."""
            whole, so_far = (_parts(builder, value)[number] for value in args[5:7])
            kind, narrow = so_far.type, _llvm(so_far.type.count, 32)
            sizes, size, floor = [], kind.count, _called(builder, "fabs", whole)
            for b in range(LANES):
                place = b * stride.literal_value + LANES * number
                weights = bin_of(0, place, narrow)
                so_far = builder.fadd(so_far, builder.fpext(weights, kind) if widens else weights)
                if with_sums:
                    so_far = builder.fadd(so_far, bin_of(1, place, kind))
                # Rounded once, as is the sum: the product is exact.
                above = _called(builder, "fma", _constant(kind, -2.0), so_far, whole)
                edge = _called(builder, "fabs", above)
                if with_floor:
                    edge = builder.select(builder.fcmp_ordered(">", edge, floor), edge, floor)
                sizes.append(edge)
            while len(sizes) > 1:
                folds = sizes[0].type.count == LANES
                pairs = zip(sizes[::2], sizes[1::2], strict=True)
                sizes = [_folded(builder, *pair, size) for pair in pairs]
                size = size // 2 if folds else size
            return [sizes[0], so_far]

        def edges(with_sums: bool, with_floor: bool) -> list[Any]:
            parts = [edges_of(at, with_sums, with_floor) for at in range(len(below.parts))]
            total = parts[0][0] if len(parts) == 1 else builder.fadd(parts[0][0], parts[1][0])
            return [total, *(end for _, end in parts)]

        def of_sides(with_floor: bool) -> list[Any]:
            if not widens:  # there are no sums
                return edges(False, with_floor)
            fresh = lambda: edges(False, with_floor), lambda: edges(True, with_floor)
            return _either(builder, args[2], *fresh)

        total, *ends = _either(builder, args[7], lambda: of_sides(True), lambda: of_sides(False))
        return context.make_tuple(builder, sig.return_type, [total, _whole(builder, ends)])

    pair = types.Tuple((Vector(LANES, below.bits), below))
    return pair(hist, sums, fresh, at, stride, whole, below, two_sided), codegen


@intrinsic
def _transpose(
    typing: Any, source: Any, starts: Any, first: Any, target: Any, to: Any, stride: Any
) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        def data(at: int) -> Any:
            return context.make_array(sig.args[at])(context, builder, args[at]).data

        def index(at: int) -> Any:
            return context.cast(builder, args[at], sig.args[at], types.int64)

        def words(base: Any, place: Any) -> Any:
            return builder.bitcast(builder.gep(base, [place]), _WORD.as_pointer())

        source_data, starts_data, target_data = data(0), data(1), data(3)
        rows = ir.Constant(ir.VectorType(_WORD, 8), ir.Undefined)
        for t in range(8):
            start = builder.load(builder.gep(starts_data, [ir.Constant(_WORD, t)]))
            place = builder.add(start, index(2))
            row = builder.load(words(source_data, place), align=1)
            rows = builder.insert_element(rows, row, ir.Constant(_PLACE, t))
        flat = builder.bitcast(rows, ir.VectorType(_BYTE, 64))
        flat = _shuffled(builder, flat, flat, [8 * t + k for k in range(8) for t in range(8)])
        columns = builder.bitcast(flat, rows.type)
        for k in range(8):
            column = builder.extract_element(columns, ir.Constant(_PLACE, k))
            place = builder.add(index(4), builder.mul(index(5), ir.Constant(_WORD, k)))
            builder.store(column, words(target_data, place), align=1)
        return context.get_dummy_value()

    return types.void(source, starts, first, target, to, stride), codegen


def _store_twin(array: Any, start: int, vector: Any) -> None:
    array[start : start + vector.size] = vector


def _add_into_twin(array: Any, start: int, vector: Any) -> None:
    array[start : start + vector.size] += vector


def _fused_twin(a: Any, b: Any, c: Any) -> Any:
    wide = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    return wide.astype(a.dtype)


def _total_twin(a: Any) -> Any:
    while a.size > 1:
        a = a[: a.size // 2] + a[a.size // 2 :]
    return a[0]


def _row_total_twin(a: Any) -> Any:
    first = _total_twin(a[:LANES])
    return first + _total_twin(a[LANES:]) if a.size > LANES else first


def _phi_twin(column: Any, start: int, threshold: int, n_rows: int, size: int) -> Any:
    above = column[start : start + n_rows] >= threshold
    return np.repeat(np.where(above, np.float32(1.0), np.float32(-1.0)), size)


def _eight_lanes_twin(a: Any) -> Any:
    parts = list(a.reshape(-1, LANES))
    while len(parts) > 1:
        odd = parts[-1:] if len(parts) % 2 else []
        parts = [x + y for x, y in zip(parts[::2], parts[1::2], strict=False)] + odd
    return parts[0]


def _uniforms_twin(first: int, seed: int, lanes: int) -> Any:
    key = int(seed)
    times, plus = np.uint32(key & 0xFFFFFFFF | 1), np.uint32(key >> 32 & 0xFFFFFFFF)
    x = np.arange(lanes, dtype=np.uint32) + np.uint32(first)
    x = x * times + plus
    for shift, factor in _HASH:
        x = (x ^ (x >> np.uint32(shift))) * np.uint32(factor)
    x = (x ^ (x >> np.uint32(16))) >> np.uint32(1)
    return (x.astype(np.float32) + np.float32(0.5)) * np.float32(2.0**-31)


def _bits_below_twin(a: Any, limit: Any) -> int:
    return int(np.packbits(a < limit, bitorder="little").view(np.uint8)[0])


def _store_set_bits_twin(array: Any, start: int, first: int, bits: int) -> int:
    array[start : start + LANES] = first + np.array(_SET_BITS[bits])
    return bin(bits).count("1")


def _running_twin(a: Any) -> Any:
    distance = 1
    while distance < a.size:
        a = a + np.concatenate([np.zeros(distance, a.dtype), a[:-distance]])
        distance *= 2
    return a


def _paired_twin(a: Any, b: Any, size: int) -> Any:
    both = np.concatenate([a, b])
    if a.size < LANES:
        return both
    halves = both.reshape(-1, 2, size // 2)
    return (halves[:, 0] + halves[:, 1]).ravel()


def _eight_edges_twin(
    hist: Any, sums: Any, fresh: bool, at: int, stride: int, whole: Any, below: Any, two_sided: bool
) -> Any:
    edges = []
    for start in range(at, at + LANES * stride, stride):
        below = below + hist[start : start + below.size].astype(below.dtype)
        below = below if fresh else below + sums[start : start + below.size]
        sizes = np.abs(whole - below.dtype.type(2.0) * below)
        edges.append(_row_total_twin(np.maximum(sizes, np.abs(whole)) if two_sided else sizes))
    return np.array(edges), below


def _transpose_twin(
    source: Any, starts: Any, first: int, target: Any, to: int, stride: int
) -> None:
    for t in range(8):
        start = int(starts[t]) + int(first)
        target[to + t : to + t + 8 * stride : stride] = source[start : start + 8]


def _either_way(compiled: Any, twin: Any) -> Any:
    return compiled if COMPILED else twin


#: load(array, start, lanes): `lanes` numbers of the flat `array`, from `start`.
load = _either_way(_load, lambda array, at, lanes: array[at : at + lanes].copy())
#: store(array, start, vector): array[start:] = vector.
store = _either_way(_storing(add=False), _store_twin)
#: add_into(array, start, vector): array[start:] += vector.
add_into = _either_way(_storing(add=True), _add_into_twin)
#: add(a, b), multiply(a, b): lane by lane.
add = _either_way(_lanewise(2, lambda builder, a, b: builder.fadd(a, b)), lambda a, b: a + b)
multiply = _either_way(_lanewise(2, lambda builder, a, b: builder.fmul(a, b)), lambda a, b: a * b)
#: fused(a, b, c): a * b + c, rounded once; uncompiled, float64 lanes are rounded twice.
fused = _either_way(_lanewise(3, lambda builder, *abc: _called(builder, "fma", *abc)), _fused_twin)
#: fill(like, value): every lane is `value`.
fill = _either_way(_fill, lambda like, value: np.full_like(like, value))
#: magnitude(a): absolute values.
magnitude = _either_way(_lanewise(1, lambda builder, a: _called(builder, "fabs", a)), np.abs)
#: at_least(a, floor): magnitudes raised to `floor`, signs kept.
at_least = _either_way(
    _lanewise(2, _raised), lambda a, floor: np.copysign(np.maximum(np.abs(a), floor), a)
)
#: negated(a, signs): float32 lanes of `a`, negated where `signs` is negative or -0.0.
negated = _either_way(_lanewise(2, _negated), lambda a, signs: np.where(np.signbit(signs), -a, a))
#: choose(signs, positive, negative): of float32 lanes, those of `negative` where `signs` is
#: negative or -0.0, else those of `positive`.
choose = _either_way(_lanewise(3, _chosen), lambda signs, a, b: np.where(np.signbit(signs), b, a))
#: is_minus_zero(a): whether every lane is -0.0.
is_minus_zero = _either_way(_is_minus_zero, lambda a: bool(np.all((a == 0) & np.signbit(a))))
#: widen(a): float32 lanes as float64.
widen = _either_way(
    _lanewise(1, _as_double, lambda a: Vector(a.lanes, 64)), lambda a: a.astype(np.float64)
)
#: as_wide(a, like): float32 lanes as those of `like`, which may be float64.
as_wide = _either_way(_lanewise(2, _as_double), lambda a, like: a.astype(like.dtype))
#: total(a): the sum of the lanes, halves added to halves.
total = _either_way(_total, _total_twin)
#: row_total(a): the totals of the first eight lanes and of the rest, added.
row_total = _either_way(_row_total, _row_total_twin)
#: phi(column, start, threshold, n_rows, size): of bins start, ..., start + n_rows - 1 of a column,
#: 1.0 where the bin is at least the threshold, else -1.0, each in `size` lanes.
phi = _either_way(_phi, _phi_twin)
#: eight_lanes(a): the eighths of a vector of whole eights, added in pairs.
eight_lanes = _either_way(_eight_lanes, _eight_lanes_twin)
#: uniforms(first, seed, lanes): numbers first, first + 1, ... of the stream of random numbers of a
#: 64-bit seed, float32 in (0, 1]: a hash of the number.
uniforms = _either_way(_uniforms, _uniforms_twin)
#: bits_below(a, limit): bit k is whether lane k of `a` is below that of `limit`; at most 8 lanes.
bits_below = _either_way(_bits_below, _bits_below_twin)
#: store_set_bits(array, start, first, bits): the numbers of the bits of a byte that are set, plus
#: `first`, into an array of int32 from `start`; returns how many. Overwrites eight numbers.
store_set_bits = _either_way(_store_set_bits, _store_set_bits_twin)
#: paired(a, b, size): the lanes of both; if they are more than LANES, the halves of each group of
#: `size` lanes are added. Steps of size 8, 4, 2 turn eight vectors into one of their totals.
paired = _either_way(_paired, _paired_twin)
#: running(a): each lane plus all before it, in the order of doubling distances.
running = _either_way(_running, _running_twin)
#: eight_edges(hist, sums, fresh, at, stride, whole, below, two_sided): adds eight bins of `hist`,
#: `stride` apart from number `at`, and of `sums` unless `fresh`, to `below` one after another.
#: Returns the row totals of |whole - 2 below| after each of them, or of |whole| where that is
#: larger if `two_sided`; and `below` after the last. `whole` and `below` are float64, or float32
#: without `sums`.
eight_edges = _either_way(_eight_edges, _eight_edges_twin)
#: count_up_to(a, limit), count_below(a, limit): number of lanes at most, or below, `limit`.
count_up_to = _either_way(_counting("<="), lambda a, limit: int(np.sum(a <= a.dtype.type(limit))))
count_below = _either_way(_counting("<"), lambda a, limit: int(np.sum(a < a.dtype.type(limit))))
#: transpose_bytes(source, starts, first, target, to, stride): target[to + k * stride + t] =
#: source[starts[t] + first + k] for t and k below 8; flat arrays of bytes, `starts` int64 (8,).
transpose_bytes = _either_way(_transpose, _transpose_twin)


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
