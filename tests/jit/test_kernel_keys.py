"""What the keys of cached kernels cover: every file that a compiled function can reach."""

from __future__ import annotations

import ast
import importlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from boostsample.jit import compile_kernels as _jit
from boostsample.kernels.array_layout import row_layout
from tests.compiled import COMPILED
from tests.paths import ROOT

PACKAGE = ROOT / "boostsample"
FOLDERS = sorted(
    {
        path.parent.relative_to(PACKAGE)
        for room in ("jit", "kernels")
        for path in (PACKAGE / room).rglob("*.py")
    }
)
only_compiled = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the folders of kernel files."""
    for room in _jit._ROOMS:
        shutil.copytree(PACKAGE / room, tmp_path / room, ignore=shutil.ignore_patterns("__*__"))
    return tmp_path


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_an_edited_file_is_another_stamp(package: Path, folder: Path) -> None:
    before = _jit.stamp_of(package)
    edited = max((package / folder).glob("*.py"))
    text = edited.read_text("utf-8")
    edited.write_text(f"{text}#", "utf-8")
    assert _jit.stamp_of(package) != before
    edited.write_text(text, "utf-8")
    assert _jit.stamp_of(package) == before


@pytest.mark.parametrize("library", [numba, llvmlite, np])
def test_another_compiler_is_another_stamp(
    library: Any, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _jit.stamp_of(package)
    monkeypatch.setattr(library, "__version__", "0.0.1")
    assert _jit.stamp_of(package) != before


def imported_names(path: Path) -> Iterator[tuple[str, str]]:
    """The modules that a file imports, with the names that it takes from them."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((str(node.module), alias.name) for alias in node.names)


def test_kernel_files_import_no_other_files() -> None:
    """A constant of another file would be compiled into kernels and be no part of the key."""
    outside = set()
    for path in _jit.kernel_files(PACKAGE):
        for module, name in imported_names(path):
            top, _, rest = module.partition(".")
            if top == "boostsample" and rest.partition(".")[0] not in _jit._ROOMS:
                outside.add((path.relative_to(PACKAGE).as_posix(), module, name))
    assert outside == {  # names that no compiled function uses
        ("jit/compile_kernels.py", "boostsample.errors", "os_fault"),
        ("jit/compile_kernels.py", "boostsample.files.atomic", "atomic_file"),
        ("jit/__init__.py", "boostsample.errors", "SettingError"),
    }


def test_other_files_compile_nothing_that_is_cached() -> None:
    decorators = {name for name in vars(_jit) if re.search(r"(^|_)kernel(_for)?$", name)}
    covered, compiling = set(_jit.kernel_files(PACKAGE)), set()
    for folder in ("boostsample", "strategies", "families", "experiments", "benchmarks"):
        for path in set((ROOT / folder).rglob("*.py")) - covered:
            if re.search("numba|compile_kernels", path.read_text("utf-8")):
                for module, name in imported_names(path):
                    if module.partition(".")[0] == "numba" or name in decorators:
                        compiling.add(path.relative_to(ROOT).as_posix())
    assert compiling == {"benchmarks/bounds.py"}
    assert "cache=" not in (ROOT / "benchmarks/bounds.py").read_text("utf-8")


def kernel_modules() -> list[Any]:
    names = [path.relative_to(ROOT).with_suffix("") for path in _jit.kernel_files(PACKAGE)]
    return [importlib.import_module(".".join(name.parts)) for name in names]


def reached(value: Any) -> Iterator[Any]:
    """The kernels in a value, and those in their closures."""
    if isinstance(value, Dispatcher):
        yield value
        value = tuple(cell.cell_contents for cell in value.py_func.__closure__ or ())
    if isinstance(value, tuple):
        for part in value:
            yield from reached(part)


def factories() -> list[Any]:
    """The functions that make kernels for a width of rows."""
    functions: list[Any] = [
        value
        for module in kernel_modules()
        for value in vars(module).values()
        if callable(value)
        and getattr(value, "__module__", "") == module.__name__
        and hasattr(value, "cache_info")
    ]
    return [f for f in functions if f.__wrapped__.__code__.co_varnames[:2] == ("blocks", "tail")]


@only_compiled
def test_every_compiled_function_is_covered() -> None:
    plain = [part for module in kernel_modules() for part in reached(tuple(vars(module).values()))]
    made = [part for factory in factories() for part in reached(factory(1, 2))]
    kernels = [kernel for kernel in plain + made if kernel.__module__.startswith("boostsample.")]
    assert len({kernel.py_func.__qualname__ for kernel in kernels}) > 40
    for kernel in kernels:
        assert Path(kernel.py_func.__code__.co_filename) in _jit.kernel_files(PACKAGE)
        assert isinstance(kernel._cache, _jit._KernelCache), kernel


@only_compiled
def test_a_name_has_the_constants_of_its_closure() -> None:
    """Kernels of one name would share a file, and the symbol by which numba links them."""
    constants: dict[tuple[str, str], set[str]] = {}
    widths = {row_layout(n_labels) for n_labels in range(1, 70)}
    assert len(factories()) == 2
    for factory in factories():
        for width in widths:
            for kernel in reached(factory(*width)):
                function = kernel.py_func
                cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
                values = {
                    name: cell.cell_contents
                    for name, cell in cells
                    if not isinstance(cell.cell_contents, Dispatcher)
                }
                name = function.__module__, function.__qualname__
                constants.setdefault(name, set()).add(repr(sorted(values.items())))
    assert len(constants) > 100
    assert {name: found for name, found in constants.items() if len(found) > 1} == {}
