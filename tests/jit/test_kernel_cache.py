"""The cache of compiled kernels: files that are damaged, cannot be read or cannot be written."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core import caching, config

from boostsample.jit import compile_kernels as _jit
from tests.compiled import COMPILED
from tests.jit.damages import DAMAGES, damage_files, run_damaged
from tests.stress.file_damage import payload

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
