"""How kernels are compiled: without the GIL, cached on disk where that is possible.

Who waits for that is told so, once, by the logger `boostsample`.

Four traps of numba's cache shape this file. A cached kernel is only compared with the file that it
stands in, so a change of something it calls in *another* file would go unnoticed: here every
kernel is stamped with the contents of all kernel files. Closures are hashed, though other kernels
in them have a new identity in each process: here they have names of their own. numba refuses to
*import* a cached kernel where no cache folder can be written: here it is then compiled anew in each
process. And two processes that save at the same time may give two kernels one file, or lead to one
that holds what was there before: here each file says what it holds.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba._dispatcher import compute_fingerprint
from numba.core import caching, event, types
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher

__all__ = [
    "allocating_inner",
    "allocating_kernel",
    "entry",
    "inner",
    "inner_for",
    "kernel",
    "kernel_for",
]

F = TypeVar("F", bound=Callable[..., object])

#: Folders whose files a cached kernel is compiled from.
_ROOMS = ("jit", "kernels", "threads")

_log = logging.getLogger("boostsample")
#: Seconds of compiling after which a user should know what takes so long.
_LONG = 2.0


@functools.cache
def _stamp() -> bytes:
    """A digest of every kernel file: what a cached kernel was compiled from."""
    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    for path in sorted(path for room in _ROOMS for path in (package / room).glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.digest()


class _Waiting(event.Listener):  # type: ignore[misc]  # numba ships no annotations
    """Adds up the seconds that kernels take to compile, those that others call within theirs."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._started: list[float] = []
        self._seconds = 0.0

    def on_start(self, event: Any) -> None:
        if _is_ours(event):
            self._started.append(self._clock())

    def on_end(self, event: Any) -> None:
        if not _is_ours(event):
            return
        seconds = self._clock() - self._started.pop()
        if not self._started:
            kept = bool(event.data["dispatcher"]._cache.cache_path)
            before = self._seconds
            self._seconds += seconds
            if before < _LONG <= self._seconds:
                _log.warning(
                    "compiling kernels for this machine, which takes 5 to 15 seconds%s",
                    ", once"
                    if kept
                    else " in every process: no folder can be written to keep them, "
                    "set NUMBA_CACHE_DIR to one that can",
                )


def _is_ours(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith("boostsample.")


_waiting = _Waiting()
event.register("numba:compile", _waiting)


class _Stamped:
    def get_source_stamp(self) -> bytes:
        return _stamp()


class _Provided(_Stamped, caching.UserProvidedCacheLocator):  # type: ignore[misc]  # untyped numba
    """In NUMBA_CACHE_DIR."""


class _Beside(_Stamped, caching.InTreeCacheLocator):  # type: ignore[misc]  # untyped numba
    """Beside the kernel's file."""


class _OfUser(_Stamped, caching.UserWideCacheLocator):  # type: ignore[misc]  # untyped numba
    """In the user's cache folder."""


class _Code(caching.CompileResultCacheImpl):  # type: ignore[misc]  # untyped numba
    _locator_classes = (_Provided, _Beside, _OfUser)


class _Files(caching.IndexDataCacheFile):  # type: ignore[misc]  # untyped numba
    """Files that say what they hold: of two processes each may have named the same one."""

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (self._source_stamp, key, data))

    def load(self, key: Any) -> Any:
        found = super().load(key)
        return found[2] if found is not None and found[:2] == (self._source_stamp, key) else None


class _KernelCache(caching.FunctionCache):  # type: ignore[misc]  # untyped numba
    _impl_class = _Code

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, _stamp())

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        # The stamp covers the code, and the name the sizes of a closure; numba's key would hash the
        # closure, in which other kernels have a new identity in each process. The signature is text
        # because an index that names a class cannot be read once the class is gone.
        return (str(sig), codegen.magic_tuple(), self._py_func.__qualname__)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError:  # a full disk costs the cache, not the run
            self.disable()


def kernel(function: F) -> F:
    """Compile `function` on its first call; plain Python when NUMBA_DISABLE_JIT=1.

    It makes and returns no arrays, nor calls a kernel that does, but for those on the stack
    (`boostsample.jit.stack`). Nothing counts references then, which would take time to compile,
    and more at every call: of an array that is made nevertheless, nobody would know when it can go.
    A closure has to go through `kernel_for`, which names it by what it was made for.
    """
    return _compiled(_no_closure(function), by_python=True)


def allocating_kernel(function: F) -> F:
    """`kernel` for what makes arrays of sizes that are not known before."""
    return _compiled(_no_closure(function), by_python=True, allocates=True)


def inner(function: F) -> F:
    """`kernel` for what only other kernels call, which is compiled sooner."""
    return _compiled(_no_closure(function), by_python=False)


def allocating_inner(function: F) -> F:
    """`inner` for what makes arrays, or returns them; to be called by kernels that allocate."""
    return _compiled(_no_closure(function), by_python=False, allocates=True)


def kernel_for(*sizes: int) -> Callable[[F], F]:
    """`kernel` for functions that are made anew for each of several sizes.

    They get names of their own: numba links cached code by name, and the same name for two sizes,
    compiled in two processes, would call the wrong one.
    """
    return lambda function: _compiled(_named(function, sizes), by_python=True)


def inner_for(*sizes: int) -> Callable[[F], F]:
    """`kernel_for` for what only other kernels call."""
    return lambda function: _compiled(_named(function, sizes), by_python=False)


def _no_closure(function: F) -> F:
    if function.__closure__ is not None:
        raise TypeError(f"{function.__qualname__} is a closure; compile it with kernel_for(sizes)")
    return function


def _named(function: F, sizes: tuple[int, ...]) -> F:
    for name in ("__name__", "__qualname__"):
        setattr(function, name, "_".join([getattr(function, name), *map(str, sizes)]))
    return function


def _compiled(function: F, *, by_python: bool, allocates: bool = False) -> F:
    how: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "no_cfunc_wrapper": True,  # for callers in C, of which there are none
        "no_cpython_wrapper": not by_python,
        "_nrt": allocates,
    }
    compiled: Any = numba.njit(**how)(function)
    if compiled is not function:
        if not by_python:
            compiled.__class__ = _Inner
        try:
            compiled._cache = _KernelCache(function)
        except RuntimeError as error:
            if "cannot cache function" not in str(error):
                raise
    return cast(F, compiled)


class _Inner(CPUDispatcher):  # type: ignore[misc]  # untyped numba
    """What kernels call and Python cannot: it would jump to address 0."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self.__name__} can be called by other kernels only")


_entries: dict[tuple[Any, bytes], int] = {}


def entry(function: Callable[..., object], arguments: tuple[Any, ...]) -> int:
    """The address of a kernel's machine code for arguments such as these, compiled if need be.

    It is called by numba's convention. 0 where `function` is not a kernel.
    """
    if not isinstance(function, Dispatcher):
        return 0
    key = function, compute_fingerprint(arguments)
    if key not in _entries:
        kinds = tuple(map(numba.typeof, arguments))
        function.compile(kinds)
        compiled = function.overloads[kinds]
        if compiled.signature.return_type != types.none:
            raise TypeError(f"{function.__name__} must return None to be called from elsewhere")
        _entries[key] = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    return _entries[key]
