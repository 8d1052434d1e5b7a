"""Compiles kernels with numba: without the GIL, cached on disk where possible.

The logger `boostsample` warns once when compiling takes long, and once when compiled kernels cannot
be kept. numba's cache has five traps:

- It compares a cached kernel with its own file only, not with the files of its callees. Here the
  contents of all kernel files are part of the key, and functions of other files are not cached.
- It hashes closures, but other kernels in them have a new identity in each process. Here closures
  have distinct names instead.
- It refuses to *import* a cached kernel if no cache folder is writable. Here each process then
  compiles the kernel again.
- Two processes that save at the same time can give two kernels one file. Here the key names it.
- It unpickles and executes whatever a file holds. Here a file has a checksum; one that is damaged,
  unreadable or of another key is compiled again and overwritten.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import logging
import pickle  # noqa: TID251 - numba's format; the checksum of a file is compared first
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite
import numba
import numpy as np
from numba._dispatcher import compute_fingerprint
from numba.core import caching, config, event, serialize, types
from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher

from boostsample.errors import os_fault
from boostsample.files.atomic import atomic_file

F = TypeVar("F", bound=Callable[..., object])

#: Whether kernels are compiled: not under NUMBA_DISABLE_JIT=1.
COMPILED = not vars(config)["DISABLE_JIT"]
#: Folders of kernel files, with all folders below them.
_ROOMS = ("jit", "kernels")
_PACKAGE = Path(__file__).parents[1]
#: Seconds of compiling before the warning.
_LONG = 2.0
_CHECKSUM_SIZE = hashlib.sha256().digest_size
_log = logging.getLogger("boostsample")
_not_kept: list[str] = []


def kernel_files(package: Path = _PACKAGE) -> list[Path]:
    """The files that compiled functions come from, with the constants that they use."""
    paths = (path for room in _ROOMS for path in (package / room).rglob("*.py"))
    return sorted(path for path in paths if path.is_file())


def stamp_of(package: Path) -> bytes:
    """A digest of every kernel file and of the compiler: other code has another stamp."""
    versions = (numba.__version__, llvmlite.__version__, np.__version__)
    digest = hashlib.sha256(repr(versions).encode())
    for path in kernel_files(package):
        content = path.read_bytes()
        name = path.relative_to(package).as_posix()
        digest.update(f"\n{len(content)} {name}\n".encode() + content)
    return digest.digest()


@functools.cache
def _stamp() -> bytes:
    return stamp_of(_PACKAGE)


@functools.cache
def _covered() -> frozenset[Path]:
    return frozenset(kernel_files())


def _warn_not_kept(why: str) -> None:
    """Warn once in a process."""
    if not _not_kept:
        _log.warning(
            "compiled kernels are not kept, each process compiles them again: %s; make room there, "
            "or set NUMBA_CACHE_DIR to a folder that can be written",
            why,
        )
    _not_kept.append(why)


class _Waiting(event.Listener):  # type: ignore[misc]  # numba ships no annotations
    """Adds up the seconds of compiling; time within another kernel's compilation counts once.

    Garbage waits for the end of a compilation: most of numba's objects live that long, and looking
    through them again and again is an eighth of the seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._started: list[float] = []
        self._seconds = 0.0
        self._collects = False

    def on_start(self, event: Any) -> None:
        if not _is_ours(event):
            return
        if not self._started:
            self._collects = gc.isenabled()
            gc.disable()
        self._started.append(self._clock())

    def on_end(self, event: Any) -> None:
        if not _is_ours(event):
            return
        seconds = self._clock() - self._started.pop()
        if self._started:
            return
        if self._collects:
            gc.enable()
        before, self._seconds = self._seconds, self._seconds + seconds
        if before < _LONG <= self._seconds:
            is_cached = event.data["dispatcher"]._cache.cache_path and not _not_kept
            _log.warning(
                "compiling kernels for this machine, which takes 5 to 15 seconds%s",
                ", once" if is_cached else "",
            )


def _is_ours(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith("boostsample.")


event.register("numba:compile", _Waiting())


class _Code(caching.CompileResultCacheImpl):  # type: ignore[misc]  # untyped numba
    #: In NUMBA_CACHE_DIR, beside the kernel's file, in the user's cache folder.
    _locator_classes = (
        caching.UserProvidedCacheLocator,
        caching.InTreeCacheLocator,
        caching.UserWideCacheLocator,
    )


class _Files:
    """Files of a kernel: each has one key, and a checksum before its content."""

    def __init__(self, folder: str, name: str) -> None:
        self._folder = Path(folder)
        self._name = name

    def path(self, key: Any) -> Path:
        """The file of a key: the code of an older stamp is overwritten."""
        digest = hashlib.sha256(repr(key).encode()).hexdigest()
        return self._folder / f"{self._name}.{digest[:16]}.nbc"

    def _checksum(self, key: Any, content: bytes) -> bytes:
        digest = hashlib.sha256(_stamp() + repr(key).encode() + b"\n")
        digest.update(content)
        return digest.digest()

    def save(self, key: Any, data: Any) -> None:
        content = serialize.dumps(data)
        with atomic_file(self.path(key), sync=False) as stream:  # the checksum is enough
            stream.write(self._checksum(key, content) + content)

    def load(self, key: Any) -> Any:
        """The data of a key; None without a file of that key that is whole."""
        path = self.path(key)
        try:
            if not path.is_file():  # a pipe would block
                return None
            stored = path.read_bytes()
        except (OSError, MemoryError):
            return None
        checksum, content = stored[:_CHECKSUM_SIZE], stored[_CHECKSUM_SIZE:]
        return pickle.loads(content) if checksum == self._checksum(key, content) else None


class _KernelCache(caching.FunctionCache):  # type: ignore[misc]  # untyped numba
    _impl_class = _Code

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        # The stamp covers the code, and the name the sizes of a closure; numba's key would hash the
        # closure, in which other kernels have a new identity in each process.
        return (str(sig), codegen.magic_tuple(), self._py_func.__qualname__)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:  # a full disk disables the cache, not the run
            self.disable()
            _warn_not_kept(f"'{error.filename2 or self._cache_path}': {os_fault(error)}")


class _NoCache(caching.NullCache):  # type: ignore[misc]  # untyped numba
    """The cache of a kernel for which no folder can be written."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._beside = Path(function.__code__.co_filename).with_name("__pycache__")

    def save_overload(self, sig: Any, cres: Any) -> None:
        _warn_not_kept(f"neither '{self._beside}' nor the user's cache folder can be written")


def kernel(function: F) -> F:
    """Compile `function` on its first call; plain Python under NUMBA_DISABLE_JIT=1.

    The function must make and return no arrays, and call no kernel that does, except arrays on the
    stack (`boostsample.jit.vectors`): compiled without reference counts, which cost time to compile
    and at every call, it would never free them. Use `kernel_for` for closures.
    """
    return _compiled(function, ())


def allocating_kernel(function: F) -> F:
    """`kernel` for functions that make or return arrays."""
    return _compiled(function, (), allocates=True)


def inner_kernel(function: F) -> F:
    """`kernel` for functions that only kernels call; compiles faster."""
    return _compiled(function, (), inner=True)


def allocating_inner_kernel(function: F) -> F:
    """`inner_kernel` for functions that make or return arrays; for allocating kernels only."""
    return _compiled(function, (), inner=True, allocates=True)


def kernel_for(*sizes: int) -> Callable[[F], F]:
    """`kernel` for closures, compiled once for each tuple of sizes.

    The sizes become part of the name: numba links cached code by name, so that one name for two
    sizes, compiled in two processes, would call the wrong one.
    """
    return lambda function: _compiled(function, sizes)


def inner_kernel_for(*sizes: int) -> Callable[[F], F]:
    """`kernel_for` for functions that only kernels call."""
    return lambda function: _compiled(function, sizes, inner=True)


def _compiled(
    function: F, sizes: tuple[int, ...], *, inner: bool = False, allocates: bool = False
) -> F:
    if function.__closure__ is not None and not sizes:
        raise TypeError(f"{function.__qualname__} is a closure; compile it with kernel_for(sizes)")
    for name in ("__name__", "__qualname__"):
        setattr(function, name, "_".join([getattr(function, name), *map(str, sizes)]))
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "no_cfunc_wrapper": True,  # nothing calls kernels from C
        "no_cpython_wrapper": inner,
        "_nrt": allocates,
    }
    compiled: Any = numba.njit(**options)(function)
    if COMPILED:
        if inner:
            compiled.__class__ = _Inner
        if Path(function.__code__.co_filename) in _covered():
            compiled._cache = _cache_for(function)
    return cast(F, compiled)


def _cache_for(function: Callable[..., object]) -> Any:
    try:
        return _KernelCache(function)
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
        return _NoCache(function)


class _Inner(CPUDispatcher):  # type: ignore[misc]  # untyped numba
    """A kernel that Python cannot call: without a wrapper it would jump to address 0."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self.__name__} can be called by other kernels only")


_entries: dict[tuple[Any, bytes], int] = {}


def compiled_address(function: Callable[..., object], arguments: tuple[Any, ...]) -> int:
    """Address of a kernel's machine code for such arguments, for numba's calling convention.

    Compiles the kernel if necessary. Returns 0 if `function` is not a kernel.
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
