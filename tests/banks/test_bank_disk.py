"""Banks on disk: found again, never half built, and every damage found before it does any harm."""

from __future__ import annotations

import errno
import json
import logging
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from boostsample.banks import binning, cache_folder
from boostsample.banks import cached_bank as cached_bank_module
from boostsample.banks.bank import FeatureBank
from boostsample.banks.cache_folder import DamagedBank, banks_dir, cache_entries
from boostsample.banks.cached_bank import cached_bank, cached_bank_facts
from boostsample.banks.disk import DiskBank, check_disk_bank, disk_bank_bytes
from boostsample.errors import DataError, SettingError
from boostsample.families import Columns
from boostsample.family import pixel_major
from tests.compiled import slow_without_jit
from tests.paths import run_python
from tests.problems import Powers, asked_of, powers, same_bits

N = 120
SMALL_FILES = ("header.json", "n_bins.npy", "checksums.npy")
LARGE_FILES = ("bins.npy", "cuts.npy")


@pytest.fixture
def X(rng: np.random.Generator) -> NDArray[np.float32]:
    return rng.normal(size=(N, 3)).astype(np.float32)


def same(bank: DiskBank, other: FeatureBank) -> bool:
    """Equal to the bit, and good on disk."""
    check_disk_bank(bank.folder)
    return same_bits(bank, other)


@pytest.mark.parametrize("reference", [None, 50])
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("block_bytes", [1, 1 << 23])
def test_the_files_hold_what_memory_would(
    X: NDArray[np.float32],
    monkeypatch: pytest.MonkeyPatch,
    reference: int | None,
    n_jobs: int,
    block_bytes: int,
) -> None:
    rows = np.arange(0, N, 2)
    expected = FeatureBank.build(powers(), X, rows, reference=reference)
    monkeypatch.setattr(binning, "SMALL_BLOCK", block_bytes)
    told: list[tuple[int, int]] = []
    settings: dict[str, Any] = {"reference": reference, "n_jobs": n_jobs}
    bank = cached_bank(
        powers(), X, rows, progress=lambda *done: told.append(done), name="data", **settings
    )
    assert same(bank, expected)
    assert told[-1] == (11, 11)
    assert len(told) == (11 if block_bytes == 1 else 2)
    # To compiled kernels it is of the same type: nothing is compiled twice.
    assert numba.typeof(bank.bins) == numba.typeof(expected.bins)
    assert bank.bins.ctypes.data % 64 == 0
    assert bank.nbytes < 500
    for name in LARGE_FILES:
        assert np.load(bank.folder / name, mmap_mode="r").shape == getattr(bank, name[:4]).shape
    assert [path.name for path in banks_dir().iterdir()] == [bank.folder.name]
    sizes = sum(path.stat().st_size for path in bank.folder.iterdir())
    assert 0 < sizes - disk_bank_bytes(11, N) < 10_000


def test_it_is_found_again_and_computes_nothing(
    X: NDArray[np.float32], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    first = cached_bank(powers(), X)
    os.utime(first.folder / "header.json", (1, 1))
    made = powers()
    again = cached_bank(made, np.asfortranarray(X))
    assert again.folder == first.folder
    assert same(again, first)
    again.take(np.arange(11), np.arange(N))
    assert asked_of(made) == []
    assert again.values_computed == 0
    assert cache_entries()[0].last_used > 1
    key = first.folder.name[:12]
    assert caplog.messages == [
        f"feature bank {key} is built in {banks_dir()}",
        f"cached feature bank {key} is used",
    ]


def test_the_key_is_all_that_the_bits_depend_on(
    X: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.arange(N)
    seen = [cached_bank_facts(powers(), X, rows)]

    def is_new(facts: dict[str, Any]) -> bool:
        seen.append(facts)
        return facts not in seen[:-1]

    assert not is_new(cached_bank_facts(powers(), pixel_major(X), rows))
    changed = X.copy()
    changed[-1, -1] += 1
    for other in (changed, X.astype(np.float64), X[:, :2], X[::-1], X.view(np.int32)):
        assert is_new(cached_bank_facts(powers(), other, rows))
    assert is_new(cached_bank_facts(powers(), X, rows[1:]))
    assert is_new(cached_bank_facts(powers(), X, rows[::-1]))
    assert is_new(cached_bank_facts(powers()[::-1], X, rows))
    assert is_new(cached_bank_facts([Powers(3, 7, "first"), Powers(2, 5, "second")], X, rows))
    assert is_new(cached_bank_facts([Powers(3, 7, "another"), Powers(2, 4, "second")], X, rows))
    assert is_new(cached_bank_facts([Columns([0, 1])], X, rows))
    assert is_new(cached_bank_facts([Columns([1, 0])], X, rows))
    for module, name, value in (
        (np, "__version__", "0.0"),
        (cached_bank_module, "FORMAT", 99),
        (cached_bank_module, "_ENGINE", ("family.py",)),
        (cached_bank_module, "code_of", lambda kind: "x"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, value)
            assert is_new(cached_bank_facts(powers(), X, rows))
    assert json.loads(json.dumps(seen[0])) == seen[0]


def test_each_folder_of_code_is_a_part_of_the_key(
    X: NDArray[np.float32], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Families, binning and kernels, with what kernels are compiled from."""
    package = Path(cached_bank_module.__file__).parents[1]
    folders = ("families", "jit", "kernels")
    for name in folders:
        shutil.copytree(package / name, tmp_path / name)
    for name in ("checks.py", "family.py", "banks/binning.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(package / name, tmp_path / name)
    monkeypatch.setattr(cached_bank_module, "_PACKAGE", tmp_path)
    edited = {path.parent: path for name in folders for path in (tmp_path / name).rglob("*.py")}
    edited |= {tmp_path: tmp_path / "checks.py", tmp_path / "banks": tmp_path / "banks/binning.py"}
    assert {tmp_path / "kernels", tmp_path / "families/images"} < set(edited)
    digests = set()
    for path in (tmp_path / "checks.py", tmp_path / "family.py", *edited.values()):
        digests.add(json.dumps(cached_bank_facts([Columns([0, 1])], X, np.arange(N))))
        path.write_text(f"{path.read_text('utf-8')}#", "utf-8")
    assert len(digests) == 2 + len(edited)


def test_a_family_without_code_is_refused(X: NDArray[np.float32]) -> None:
    space: dict[str, Any] = {"Powers": Powers}
    exec("class Ghost(Powers):\n    pass", space)
    with pytest.raises(SettingError, match=r"class Ghost must be readable"):
        cached_bank([space["Ghost"](3, 4)], X)


def test_sparse_matrices_and_documents_are_told_apart() -> None:
    rows = np.arange(3)
    dense = np.array([[0, 1.0], [2, 0], [0, 0]], np.float32)
    columns = [Columns([0, 1])]
    csr, csc = scipy.sparse.csr_matrix(dense), scipy.sparse.csc_matrix(dense)
    assert cached_bank_facts(columns, csr, rows) == cached_bank_facts(columns, csc, rows)
    assert cached_bank_facts(columns, csr, rows) != cached_bank_facts(columns, 2 * csr, rows)
    texts = [np.array(t, object) for t in (["ab", "c", ""], ["a", "bc", ""], ["ab", "c", "\ud800"])]
    keys = {json.dumps(cached_bank_facts(columns, text, rows)) for text in texts}
    assert len(keys) == 3
    with pytest.raises(SettingError, match=r"numbers or texts: .* got int; use the bank in m"):
        cached_bank_facts(columns, np.array([1, "a", "b"], object), rows)


def test_an_interrupted_build_leaves_nothing(X: NDArray[np.float32]) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached_bank(powers(), X, progress=stop)
    X[17, 1] = np.inf
    with pytest.raises(
        DataError, match="feature 1 of family first has an infinite value in row 17"
    ):
        cached_bank(powers(), X)
    assert list(banks_dir().iterdir()) == []


def test_a_full_disk_is_told_and_leaves_nothing(
    X: NDArray[np.float32], full_disk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    full_disk(2000)
    with pytest.raises(DataError, match=r"cannot be kept in '.*banks': File too large; free so"):
        cached_bank(powers(), X)
    full_disk(None)
    assert list(banks_dir().iterdir()) == []

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(
            DataError, match=r"No space left on device; free some space, set BOOSTS"
        ):
            cached_bank(powers(), X)
    assert list(banks_dir().iterdir()) == []


def test_a_disk_without_room_is_told_beforehand(
    X: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=9000))
    made = powers()
    message = r"11 features of 120 examples need 0.0 GiB on disk, but '.*' has 0.0 GiB left; free "
    with pytest.raises(DataError, match=message):
        cached_bank(made, X)
    assert asked_of(made) == []


def test_a_bank_for_other_data_is_refused(X: NDArray[np.float32]) -> None:
    folder = cached_bank(powers(), X).folder
    with pytest.raises(DamagedBank, match=r"it holds \(11, 120\) bins, not \(11, 119\)"):
        DiskBank(folder, powers(), N - 1)


@slow_without_jit
@pytest.mark.skipif(sys.platform != "linux", reason="the limit is kept by Linux alone")
def test_a_bank_three_times_the_memory_left_trains(cache: Path) -> None:
    """Under a limit of the data segment, in a process of its own; the same bank as in memory."""
    from boostsample.banks.bank_forms import make_bank
    from tests.benchmarks.memory_limits import Tilted, train

    options = ["disk", "--left", "32", "--bank", "96", "--examples", "20000", "--rounds", "4"]
    done = run_python("-m", "tests.benchmarks.memory_limits", *options)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["bank_mib"] == 95
    assert told["in_memory_fails"]
    X = np.random.default_rng(0).normal(size=(20_000, 8)).astype(np.float32)
    expected = train(make_bank("memory", [Tilted(96 * 2**20 // 20_000)], X, reference=2048), 4)
    for name, result in expected.items():
        assert told[name]["features"] == result["features"]
        assert told[name]["log10_loss"] == result["log10_loss"]


def test_the_cache_folder_of_each_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    home = Path.home()
    for name in ("BOOSTSAMPLE_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for platform, expected in (
        ("linux", home / ".cache" / "boostsample"),
        ("darwin", home / "Library" / "Caches" / "boostsample"),
        ("win32", home / "AppData" / "Local" / "boostsample" / "Cache"),
    ):
        monkeypatch.setattr(cache_folder, "sys", SimpleNamespace(platform=platform))
        assert cache_folder.cache_dir() == expected
    monkeypatch.setattr(cache_folder, "sys", SimpleNamespace(platform="linux"))
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_folder.cache_dir() == Path("/x/boostsample")
    monkeypatch.setenv("BOOSTSAMPLE_CACHE_DIR", "~/y")
    assert cache_folder.cache_dir() == home / "y"
