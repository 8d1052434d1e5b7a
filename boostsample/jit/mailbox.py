"""Hands kernels to another thread without the GIL.

A mailbox, int64 (MAILBOX_SIZE,), connects two threads: one puts in a kernel and its arguments, the
other runs it. Each counts its calls on a separate cache line and polls the other's count: waking a
thread that sleeps or waits for the GIL takes 30 to 50 microseconds, as long as a small search.
"""

from __future__ import annotations

import platform
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numpy.typing import NDArray

from boostsample.jit.compile_kernels import COMPILED, kernel

Mailbox: TypeAlias = NDArray[np.int64]

#: Places of the counts, of the failure flag, of the function to call, and of its arguments; eight
#: make a cache line.
_GIVEN, _DONE, _FAILED, _CALL, _ARGUMENTS = 0, 8, 9, 16, 17
#: Leaves 255 words for arguments: numba passes an array of d dimensions as 5 + 2 d words.
MAILBOX_SIZE = 272

#: Instructions that yield a processor's resources to its other threads in a waiting loop.
_RELAX = {"x86_64": "llvm.x86.sse2.pause", "AMD64": "llvm.x86.sse2.pause"}
_WORD, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()


def _place(context: Any, builder: Any, kind: Any, box: Any, at: Any) -> Any:
    data = context.make_array(kind)(context, builder, box).data
    return builder.gep(data, [at])


@intrinsic
def _load_acquire(typing: Any, box: Any, at: Any) -> Any:
    """box[at], read from memory each time."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        at = context.cast(builder, args[1], sig.args[1], types.intp)
        place = _place(context, builder, sig.args[0], args[0], at)
        return builder.load_atomic(place, "acquire", 8)

    return types.int64(box, at), codegen


@intrinsic
def _pause(typing: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        name = _RELAX.get(platform.machine())
        if name is not None:
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [])
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def _store_release(typing: Any, box: Any, at: Any, value: Any) -> Any:
    """box[at] = value, visible to other threads after all earlier writes."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        at = context.cast(builder, args[1], sig.args[1], types.intp)
        place = _place(context, builder, sig.args[0], args[0], at)
        value = context.cast(builder, args[2], sig.args[2], types.int64)
        builder.store_atomic(value, place, "release", 8)
        return context.get_dummy_value()

    return types.void(box, at, value), codegen


@intrinsic
def _write_call(typing: Any, box: Any, address: Any, arguments: Any) -> Any:
    """Write the arguments to the box, and a function that calls the kernel at `address` with them.

    Arrays are passed without their owners, which must outlive the call.
    """

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kinds = tuple(sig.args[2])
        packed = ir.LiteralStructType([_WORD, *map(context.get_value_type, kinds)])
        if context.get_abi_sizeof(packed) > 8 * (MAILBOX_SIZE - _ARGUMENTS):
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
    """An argument with the owners of its arrays removed."""
    if isinstance(kind, types.BaseNamedTuple):
        kinds: Any = kind
        fields = zip(kinds, cgutils.unpack_tuple(builder, value), strict=True)
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
    """A function of the address of a packed struct: calls its first member with the others.

    Returns 1 if the call failed, else 0.
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
def _make_call(typing: Any, box: Any, call: Any) -> Any:
    """Call the function in the box; 1 if it failed, else 0."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = _place(context, builder, sig.args[0], args[0], _WORD(_ARGUMENTS))
        function = ir.FunctionType(_WORD, [_BYTES]).as_pointer()
        call = builder.inttoptr(args[1], function)
        return builder.call(call, [builder.bitcast(place, _BYTES)])

    return types.int64(box, types.int64), codegen


_now: Any = _load_acquire if COMPILED else lambda box, at: box[at]
_publish: Any = _store_release if COMPILED else lambda box, at, value: box.__setitem__(at, value)
_relax: Any = _pause if COMPILED else lambda: None
_pack: Any = _write_call
_run: Any = _make_call


@kernel
def put_in_mailbox(box: Mailbox, address: int, arguments: tuple[Any, ...]) -> None:
    """Run the kernel at `address` (`jit.compile_kernels.compiled_address`) with these arguments.

    Earlier work must be done. The caller keeps the arrays alive until the kernel returns.
    """
    box[_FAILED] = 0
    _pack(box, address, arguments)
    _publish(box, _GIVEN, box[_GIVEN] + 1)


@kernel
def call_back_from_mailbox(box: Mailbox) -> None:
    """Make `serve_mailbox` return True."""
    box[_CALL] = 0
    _publish(box, _GIVEN, box[_GIVEN] + 1)


@kernel
def mark_mailbox_done(box: Mailbox) -> None:
    """Count the request that `serve_mailbox` returned for as done."""
    _publish(box, _DONE, box[_DONE] + 1)


def mailbox_failed(box: Mailbox) -> bool:
    """Whether the latest kernel raised an error."""
    return bool(box[_FAILED])


@kernel
def serve_mailbox(box: Mailbox, polls: int) -> bool:
    """Run requests; return True when called back, False after `polls` polls without a request."""
    so_far = box[_DONE]
    left = polls
    while left > 0:
        left -= 1
        if _now(box, _GIVEN) != so_far:
            call = box[_CALL]
            if call == 0:
                return True
            box[_FAILED] = _run(box, call)
            so_far += 1
            _publish(box, _DONE, so_far)
            left = polls
        _relax()
    return False


@kernel
def mailbox_finished(box: Mailbox, polls: int) -> bool:
    """Whether all requests are done within `polls` polls."""
    n_requests = _now(box, _GIVEN)
    left = polls
    while left > 0 and _now(box, _DONE) != n_requests:
        left -= 1
        _relax()
    return left > 0
