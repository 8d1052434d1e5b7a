"""Kernels for another thread to run, handed over without the GIL.

A mailbox, int64 (SIZE,), has two sides: one thread puts in what to call and its arguments, another
one does it. They count what was given and what is done, each on a cache line of its own, and look
at the other's count until it changes. A thread that sleeps, or that is refused the GIL, takes 30 to
50 microseconds to wake up, as long as a small search.
"""

from __future__ import annotations

import platform
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numpy.typing import NDArray

from boostsample.jit.compiling import kernel

Box: TypeAlias = NDArray[np.int64]

#: Places of the counts, of whether a kernel failed, of what to call, and of its arguments.
_GIVEN, _DONE, _FAILED, _CALL, _ARGUMENTS = 0, 8, 9, 16, 17
SIZE = 272

#: What tells a processor that it waits in a loop, so that others may go on at its cost.
_RELAX = {"x86_64": "llvm.x86.sse2.pause", "AMD64": "llvm.x86.sse2.pause"}
_WORD, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()


def _place(context: Any, builder: Any, kind: Any, box: Any, at: Any) -> Any:
    data = context.make_array(kind)(context, builder, box).data
    return builder.gep(data, [at])


@intrinsic
def _now(typing: Any, box: Any, at: Any) -> Any:
    """box[at] as it is in memory: compilers must read it again each time."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        at = context.cast(builder, args[1], sig.args[1], types.intp)
        place = _place(context, builder, sig.args[0], args[0], at)
        return builder.load_atomic(place, "acquire", 8)

    return types.int64(box, at), codegen


@intrinsic
def _relax(typing: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        name = _RELAX.get(platform.machine())
        if name is not None:
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [])
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def _tell(typing: Any, box: Any, at: Any, value: Any) -> Any:
    """box[at] = value, for others to see after all that was written before."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        at = context.cast(builder, args[1], sig.args[1], types.intp)
        place = _place(context, builder, sig.args[0], args[0], at)
        value = context.cast(builder, args[2], sig.args[2], types.int64)
        builder.store_atomic(value, place, "release", 8)
        return context.get_dummy_value()

    return types.void(box, at, value), codegen


@intrinsic
def _pack(typing: Any, box: Any, address: Any, arguments: Any) -> Any:
    """Write to the box a function that calls the kernel at `address`, and arguments for it.

    Arrays are lent without their owners, who must outlive the call.
    """

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kinds = tuple(sig.args[2])
        packed = ir.LiteralStructType([_WORD, *map(context.get_value_type, kinds)])
        if context.get_abi_sizeof(packed) > 8 * (SIZE - _ARGUMENTS):
            raise TypingError(f"{len(kinds)} arguments do not fit into a mailbox")
        place = _place(context, builder, sig.args[0], args[0], _WORD(_ARGUMENTS))
        place = builder.bitcast(place, packed.as_pointer())
        values = [context.cast(builder, args[1], sig.args[1], types.int64)]
        for kind, value in zip(kinds, cgutils.unpack_tuple(builder, args[2]), strict=True):
            values.append(_lent(context, builder, kind, value))
        for i, value in enumerate(values):
            builder.store(value, cgutils.gep_inbounds(builder, place, 0, i))
        call = builder.ptrtoint(_caller(context, builder.module, kinds, packed), _WORD)
        builder.store(call, _place(context, builder, sig.args[0], args[0], _WORD(_CALL)))
        return context.get_dummy_value()

    return types.void(box, address, arguments), codegen


def _lent(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """An argument whose arrays have no owners."""
    if isinstance(kind, types.BaseNamedTuple):
        fields = zip(kind, cgutils.unpack_tuple(builder, value), strict=True)
        lent = [_lent(context, builder, *field) for field in fields]
        return context.make_tuple(builder, kind, lent)
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if not isinstance(kind, types.Number | types.Boolean):
        raise TypingError(f"{kind} cannot be put into a mailbox")
    return value


def _caller(context: Any, module: Any, kinds: tuple[Any, ...], packed: Any) -> Any:
    """A function of the address of such a struct that calls its first member with the others.

    It returns whether that has failed, as a number.
    """
    name = module.get_unique_name("boostsample.mailbox.caller")
    caller = ir.Function(module, ir.FunctionType(_WORD, [_BYTES]), name)
    caller.linkage = "internal"
    builder = ir.IRBuilder(caller.append_basic_block("entry"))
    place = builder.bitcast(caller.args[0], packed.as_pointer())
    address, *values = (
        builder.load(cgutils.gep_inbounds(builder, place, 0, i))
        for i in range(len(packed.elements))
    )
    convention = context.call_conv
    function = convention.get_function_type(types.none, kinds)
    callee = builder.inttoptr(address, function.as_pointer())
    status, _ = convention.call_function(builder, callee, types.none, kinds, values)
    builder.ret(builder.zext(status.is_error, _WORD))
    return caller


@intrinsic
def _run(typing: Any, box: Any, call: Any) -> Any:
    """Call what was in the box; 1 if it has failed, else 0."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = _place(context, builder, sig.args[0], args[0], _WORD(_ARGUMENTS))
        function = ir.FunctionType(_WORD, [_BYTES]).as_pointer()
        call = builder.inttoptr(args[1], function)
        return builder.call(call, [builder.bitcast(place, _BYTES)])

    return types.int64(box, types.int64), codegen


_COMPILED = not vars(config)["DISABLE_JIT"]
now: Any = _now if _COMPILED else lambda box, at: box[at]
tell: Any = _tell if _COMPILED else lambda box, at, value: box.__setitem__(at, value)
relax: Any = _relax if _COMPILED else lambda: None
#: These two are never reached where nothing is compiled.
pack: Any = _pack
run: Any = _run


@kernel
def put(box: Box, address: int, arguments: tuple[Any, ...]) -> None:
    """Have the kernel at `address`, see `boostsample.jit.compiling.entry`, called with these arguments.

    Only when what was put in before is done. The caller keeps the arrays alive until this is.
    """
    box[_FAILED] = 0
    pack(box, address, arguments)
    tell(box, _GIVEN, box[_GIVEN] + 1)


@kernel
def call_back(box: Box) -> None:
    """Have `serve` return True."""
    box[_CALL] = 0
    tell(box, _GIVEN, box[_GIVEN] + 1)


@kernel
def done(box: Box) -> None:
    """Count what `serve` returned for as done."""
    tell(box, _DONE, box[_DONE] + 1)


@kernel
def failed(box: Box) -> bool:
    """Whether the kernel that was put in last has raised an error."""
    return bool(box[_FAILED])


@kernel
def is_idle(box: Box) -> bool:
    """Whether all that was given is done."""
    return bool(now(box, _DONE) == now(box, _GIVEN))


@kernel
def serve(box: Box, looks: int) -> bool:
    """Run what is put in, until `call_back` is asked for, or nothing comes for so many looks."""
    so_far = box[_DONE]
    left = looks
    while left > 0:
        left -= 1
        if now(box, _GIVEN) != so_far:
            call = box[_CALL]
            if call == 0:
                return True
            box[_FAILED] = run(box, call)
            so_far += 1
            tell(box, _DONE, so_far)
            left = looks
        relax()
    return False


@kernel
def finished(box: Box, looks: int) -> bool:
    """Whether all that was given is done within so many looks."""
    given = box[_GIVEN]
    left = looks
    while left > 0 and now(box, _DONE) != given:
        left -= 1
        relax()
    return left > 0
