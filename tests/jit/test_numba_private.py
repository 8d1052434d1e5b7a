"""The private parts of numba and llvmlite that this package uses still have the shape it expects.

A failure here means that the installed numba is newer than the bound in `pyproject.toml`, or that
the bound is raised: adapt the module that is named beside the part.
"""

from __future__ import annotations

import inspect
import os
import pickle
from types import SimpleNamespace
from typing import Any, cast

import numba
import numpy as np
import pytest
from llvmlite import ir
from numba import _dispatcher, types
from numba.core import (
    base,
    caching,
    callconv,
    cgutils,
    config,
    dispatcher,
    event,
    options,
    registry,
    serialize,
)
from numba.extending import models
from numba.np import arrayobj

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

#: Object, attribute, the parameters that we pass or override, and the module that uses it.
PARTS: list[tuple[Any, str, tuple[str, ...], str]] = [
    (_dispatcher, "compute_fingerprint", (), "jit.compile_kernels"),
    (caching.FunctionCache, "__init__", ("self", "py_func"), "jit.compile_kernels"),
    (caching.FunctionCache, "_index_key", ("self", "sig", "codegen"), "jit.compile_kernels"),
    (caching.FunctionCache, "save_overload", ("self", "sig", "data"), "jit.compile_kernels"),
    (caching.FunctionCache, "disable", ("self",), "jit.compile_kernels"),
    (caching.FunctionCache, "_impl_class", (), "jit.compile_kernels"),
    (caching.CompileResultCacheImpl, "_locator_classes", (), "jit.compile_kernels"),
    (caching.CompileResultCacheImpl, "filename_base", (), "jit.compile_kernels"),
    (caching.UserProvidedCacheLocator, "from_function", (), "jit.compile_kernels"),
    (caching.InTreeCacheLocator, "from_function", (), "jit.compile_kernels"),
    (caching.UserWideCacheLocator, "from_function", (), "jit.compile_kernels"),
    (caching.NullCache, "save_overload", ("self", "sig", "cres"), "jit.compile_kernels"),
    (serialize, "dumps", ("obj",), "jit.compile_kernels"),
    (dispatcher.Dispatcher, "compile", ("self", "sig"), "jit.compile_kernels"),
    (registry.CPUDispatcher, "__call__", (), "jit.compile_kernels"),
    (options.DefaultOptions, "_nrt", (), "jit.compile_kernels"),
    (options.DefaultOptions, "no_cfunc_wrapper", (), "jit.compile_kernels"),
    (options.DefaultOptions, "no_cpython_wrapper", (), "jit.compile_kernels"),
    (event, "register", ("kind", "listener"), "jit.compile_kernels"),
    (event.Listener, "on_start", ("self", "event"), "jit.compile_kernels"),
    (event.Listener, "on_end", ("self", "event"), "jit.compile_kernels"),
    (config, "DISABLE_JIT", (), "jit.compile_kernels"),
    (
        arrayobj,
        "populate_array",
        ("array", "data", "shape", "strides", "itemsize", "meminfo"),
        "jit.stack",
    ),
    (models.PrimitiveModel, "__init__", ("self", "dmm", "fe_type", "be_type"), "jit.vectors"),
    (base.BaseContext, "make_array", (), "jit.vectors"),
    (base.BaseContext, "make_tuple", ("self", "builder", "typ", "values"), "threads.mailbox"),
    (base.BaseContext, "cast", ("self", "builder", "val", "fromty", "toty"), "jit.vectors"),
    (base.BaseContext, "get_abi_sizeof", ("self", "ty"), "threads.mailbox"),
    (
        callconv.CPUCallConv,
        "get_function_type",
        ("self", "restype", "argtypes"),
        "threads.mailbox",
    ),
    (
        callconv.CPUCallConv,
        "call_function",
        ("self", "builder", "callee", "resty", "argtys", "args"),
        "threads.mailbox",
    ),
    (cgutils, "unpack_tuple", ("builder", "tup"), "threads.mailbox"),
    (cgutils, "get_or_insert_function", ("module", "fnty", "name"), "threads.mailbox"),
    (cgutils, "gep_inbounds", ("builder", "ptr"), "threads.mailbox"),
    (cgutils, "get_null_value", ("ltype",), "threads.mailbox"),
    (types, "BaseNamedTuple", (), "threads.mailbox"),
    (ir.IRBuilder, "load_atomic", ("self", "ptr", "ordering", "align"), "threads.mailbox"),
    (
        ir.IRBuilder,
        "store_atomic",
        ("self", "value", "ptr", "ordering", "align"),
        "threads.mailbox",
    ),
    (ir.IRBuilder, "goto_entry_block", (), "jit.stack"),
    (ir.Module, "declare_intrinsic", ("self", "intrinsic", "tys", "fnty"), "jit.vectors"),
    (ir.Module, "get_unique_name", ("self", "name"), "threads.mailbox"),
]


@pytest.mark.parametrize(("owner", "name", "parameters", "user"), PARTS)
def test_a_private_part_has_its_shape(
    owner: Any, name: str, parameters: tuple[str, ...], user: str
) -> None:
    about = f"{owner.__name__}.{name}, used by boostsample.{user}, in numba {numba.__version__}"
    assert hasattr(owner, name), f"there is no {about}"
    if parameters:
        found = tuple(inspect.signature(getattr(owner, name)).parameters)
        assert found[: len(parameters)] == parameters, f"other parameters of {about}: {found}"


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_compiled_functions_have_the_private_parts() -> None:
    """Attributes of instances, which a class does not show."""
    seen: list[Any] = []

    class Listener(event.Listener):  # type: ignore[misc]  # numba ships no annotations
        def on_start(self, event: Any) -> None:
            seen.append(event.data["dispatcher"])

        def on_end(self, event: Any) -> None:
            pass

    how: dict[str, Any] = {"_nrt": False, "no_cfunc_wrapper": True}
    nothing: Any = numba.njit(**how)(lambda values: None)
    with event.install_listener("numba:compile", Listener()):
        nothing(np.zeros(1))
    assert seen == [nothing]
    assert nothing._cache.cache_path is None
    assert issubclass(type(nothing), registry.CPUDispatcher)
    (compiled,) = nothing.overloads.values()
    assert compiled.signature.return_type == types.none
    assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name) > 0
    fingerprint = _dispatcher.compute_fingerprint
    assert fingerprint((np.zeros(1), 1)) == fingerprint((np.zeros(2), 2))
    assert fingerprint((np.zeros(1), 1)) != fingerprint((np.zeros(1, np.float32), 1))
    cache = caching.FunctionCache(test_compiled_functions_have_the_private_parts)
    assert isinstance(cache._cache_path, str)
    assert isinstance(cache._impl.filename_base, str)
    assert cache._py_func is test_compiled_functions_have_the_private_parts
    assert pickle.loads(serialize.dumps((1, 2))) == (1, 2)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_a_cache_loads_and_saves_by_key() -> None:
    """What numba calls of `_cache_file`, and what it makes of None."""
    calls: list[tuple[Any, ...]] = []
    file = SimpleNamespace(
        load=lambda key: calls.append(("load", key)),
        save=lambda key, data: calls.append(("save", key, bool(serialize.dumps(data)))),
    )
    nothing: Any = numba.njit(_nothing)
    nothing._cache = cache = cast(Any, caching.FunctionCache(_nothing))
    cache._cache_file = file
    cache._index_key = lambda sig, codegen: str(sig)
    nothing(1.0)
    assert calls == [("load", "(float64,)"), ("save", "(float64,)", True)]


def _nothing(value: float) -> None:
    pass
