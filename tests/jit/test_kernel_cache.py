"""The cache of compiled kernels: its keys, and files that are damaged or cannot be used."""

from __future__ import annotations

import ast
import errno
import importlib
import logging
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core import caching, config
from numba.core.dispatcher import Dispatcher

from boostsample.jit import compile_kernels as _jit
from boostsample.kernels.array_layout import row_layout
from tests.compiled import COMPILED
from tests.damages import payload
from tests.jit.damages import DAMAGES, damage_files, run_damaged
from tests.paths import ROOT

only_compiled = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")

KEYS = [("int64", ("x86", "cpu", "+avx"), "f"), ("float64", ("x86", "cpu", "+avx"), "f"), ("g",)]


def stored(folder: Path) -> tuple[_jit._Files, list[Path]]:
    """Three files with the data that their keys name."""
    files = _jit._Files(str(folder), "module.f-12.py311")
    for key in KEYS:
        files.save(key, ("code of", key))
    return files, [files.path(key) for key in KEYS]


def assert_misses_are_mended(files: _jit._Files, whole: dict[Path, bytes]) -> None:
    """Files that are not what was stored are misses, and the next save overwrites them."""
    for key in KEYS:
        path = files.path(key)
        is_whole = path.is_file() and path.read_bytes() == whole[path]
        data = files.load(key)
        assert data == (("code of", key) if is_whole else None)
        if path.is_dir() and not path.is_symlink():
            with pytest.raises(IsADirectoryError):
                files.save(key, ("code of", key))
            continue
        files.save(key, ("code of", key))
        assert files.load(key) == ("code of", key)


@settings(max_examples=200, deadline=None)
@given(kind=st.sampled_from(sorted(DAMAGES)), seed=st.integers(0, 2**32))
def test_a_damaged_file_is_a_miss(
    tmp_path_factory: pytest.TempPathFactory, kind: str, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("kernels")
    files, paths = stored(folder)
    whole = {path: path.read_bytes() for path in paths}
    rng = np.random.default_rng(seed)
    marker = folder / "unpickled"
    damage_files(paths[: int(rng.integers(1, 3))], paths, rng, marker, kinds=[kind])
    assert_misses_are_mended(files, whole)
    assert not marker.exists()
    shutil.rmtree(folder)


def test_what_is_unpickled_has_the_checksum(tmp_path: Path) -> None:
    files, (path, other, _) = stored(tmp_path)
    marker = tmp_path / "unpickled"
    path.write_bytes(payload(marker))
    assert files.load(KEYS[0]) is None
    path.write_bytes(other.read_bytes()[:32] + payload(marker))
    assert files.load(KEYS[0]) is None
    assert not marker.exists()


@pytest.mark.parametrize(
    "error", [PermissionError(errno.EACCES, "denied"), OSError(errno.EIO, "disk"), MemoryError()]
)
def test_a_file_that_cannot_be_read_is_a_miss(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, _ = stored(tmp_path)

    def fail(path: Path) -> bytes:
        raise error

    monkeypatch.setattr(Path, "read_bytes", fail)
    assert files.load(KEYS[0]) is None


def test_another_stamp_is_a_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, _ = stored(tmp_path)
    monkeypatch.setattr(_jit, "_stamp", lambda: b"another")
    assert files.load(KEYS[0]) is None
    files.save(KEYS[0], "new code")
    assert files.load(KEYS[0]) == "new code"
    assert sorted(tmp_path.iterdir()) == sorted(map(files.path, KEYS)), "old code stays beside it"


def test_files_written_at_once_are_whole(tmp_path: Path) -> None:
    files, _ = stored(tmp_path)
    codes = [bytes([number]) * 100_000 for number in range(3)]
    files.save(KEYS[0], codes[0])
    done = threading.Event()

    def save(code: bytes) -> None:
        while not done.is_set():
            files.save(KEYS[0], code)

    threads = [threading.Thread(target=save, args=(code,)) for code in codes]
    for thread in threads:
        thread.start()
    loaded = [files.load(KEYS[0]) for _ in range(300)]
    done.set()
    for thread in threads:
        thread.join()
    assert all(code in codes for code in loaded)
    assert len(list(tmp_path.iterdir())) == len(KEYS)


@only_compiled
def test_damaged_files_end_no_run_and_change_no_result() -> None:
    """`python -m tests.jit.damages` is the long version."""
    n_files, _ = run_damaged(4, "small", np.random.default_rng(0))
    assert n_files >= 4


# ------------------------------------------------------------------------------ kernels and files


@pytest.fixture
def caching_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Kernels of this file are cached in an empty folder, and nothing has been said yet."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(_jit, "_covered", lambda: {Path(__file__)})
    monkeypatch.setattr(_jit, "_not_kept", [])
    monkeypatch.setattr(config, "CACHE_DIR", str(folder))
    return folder


def plus_one(value: float) -> float:
    return value + 1


def minus_one(value: float) -> float:
    return value - 1


def compiled_anew(function: Callable[[float], float] = plus_one) -> bool:
    """Call a kernel as a new process does; whether it was compiled."""
    kernel: Any = _jit.kernel(function)
    assert kernel(2.5) == function(2.5)
    return bool(sum(kernel.stats.cache_misses.values()))


def cache_file(folder: Path) -> Path:
    (path,) = folder.rglob("*.nbc")
    return path


@only_compiled
def test_kernels_of_other_files_are_not_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stamp does not cover them: an edited function would run its old code."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    assert compiled_anew()
    assert compiled_anew()
    assert list(tmp_path.iterdir()) == []


@only_compiled
def test_a_kernel_with_a_damaged_file_is_compiled_and_kept(caching_here: Path) -> None:
    assert compiled_anew()
    assert not compiled_anew()
    path = cache_file(caching_here)
    whole = path.read_bytes()
    for content in (b"", whole[:-1], whole[:100] + b"\x00" + whole[101:] + b"\x00", b"{}"):
        path.write_bytes(content)
        assert compiled_anew()
        assert not compiled_anew()
    assert _jit._not_kept == []


@only_compiled
@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EACCES])
def test_code_that_cannot_be_written_is_reported_once(
    fault: int,
    caching_here: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(path: str, other: str) -> None:
        raise OSError(fault, os.strerror(fault))

    monkeypatch.setattr(os, "replace", fail)
    assert compiled_anew()
    assert compiled_anew(minus_one)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    message = record.getMessage()
    assert f"'{caching_here}" in message
    assert message.startswith("compiled kernels are not kept, each process compiles them again: ")
    assert message.endswith(
        f"': {os.strerror(fault)}; make room there, or set NUMBA_CACHE_DIR to a folder that can be "
        "written"
    )
    assert [path for path in caching_here.rglob("*") if path.is_file()] == []


@only_compiled
def test_without_a_folder_kernels_are_compiled_and_it_is_reported_once(
    monkeypatch: pytest.MonkeyPatch, caching_here: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(self: Any) -> None:
        raise PermissionError(errno.EACCES, "denied")

    monkeypatch.setattr(caching._CacheLocator, "ensure_cache_path", fail)
    assert compiled_anew()
    assert compiled_anew(minus_one)
    (record,) = caplog.records
    beside = Path(__file__).with_name("__pycache__")
    assert f"neither '{beside}' nor the user's cache folder can be written" in record.getMessage()
    assert "NUMBA_CACHE_DIR" in record.getMessage()


PACKAGE = ROOT / "boostsample"
FOLDERS = sorted(
    {
        path.parent.relative_to(PACKAGE)
        for room in ("jit", "kernels")
        for path in (PACKAGE / room).rglob("*.py")
    }
)


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
    assert len(factories()) == 6
    for factory in factories():
        takes_classes = "classes" in factory.__wrapped__.__code__.co_varnames
        of_classes = [(*width, True) for width in widths if takes_classes]
        for width in [*widths, *of_classes]:
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
