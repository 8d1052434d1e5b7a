"""Damaged banks, and banks that several build, read or mend at once: all is well in the end."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from boostsample.banks import cache as bank_cache
from boostsample.banks import cache_folder
from boostsample.banks import disk as bank_disk
from boostsample.banks.bank import FeatureBank
from boostsample.banks.cache import cached_bank
from boostsample.banks.cache_folder import DamagedBank, banks_dir, cached_banks
from boostsample.banks.disk import DiskBank, check_files
from boostsample.errors import DataError
from tests.paths import ROOT
from tests.problems import Powers, asked_of, powers, same_bits

N = 120
SMALL_FILES = ("header.json", "n_bins.npy", "checksums.npy")
LARGE_FILES = ("bins.npy", "cuts.npy")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOOSTSAMPLE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def X(rng: np.random.Generator) -> NDArray[np.float32]:
    return rng.normal(size=(N, 3)).astype(np.float32)


def same(bank: DiskBank, other: FeatureBank) -> bool:
    """Equal to the bit, and good on disk."""
    check_files(bank.folder, all_features=True)
    return same_bits(bank, other)


def flip(path: Path, at: int) -> None:
    """Change one bit of a file; `at` counts from the end if negative."""
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


def damaged(name: str, folder: Path) -> None:
    """One kind of damage."""
    kind, _, file = name.partition(" ")
    path = folder / file
    if kind == "missing":
        path.unlink()
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "truncated":
        path.write_bytes(path.read_bytes()[:-3])
    elif kind == "longer":
        path.write_bytes(path.read_bytes() + b"\0")
    elif kind == "flipped":
        flip(path, 200 if file == "header.json" else -1)
    elif kind == "type":  # of the values in the file
        path.write_bytes(path.read_bytes().replace(b"'descr': '|u1'", b"'descr': '|i1'"))
    elif kind == "edited":
        content = path.read_bytes()
        path.write_bytes(content.replace(b'"name": "first"', b'"name": "other"'))
        assert path.read_bytes() != content
    elif kind == "magic":
        flip(path, 1)
    elif kind == "json":
        path.write_bytes(b'{"key": 3}')
    elif kind == "list":
        path.write_bytes(b"[]")
    elif kind == "format":
        facts = cache_folder.read_header(folder)
        path.unlink()
        cache_folder.write_header(folder, {**facts, "format": 99})
    elif kind == "folder":
        shutil.rmtree(path)
        path.mkdir()


DAMAGE = [
    *(f"{kind} {file}" for kind in ("missing", "empty") for file in (*SMALL_FILES, *LARGE_FILES)),
    *(f"{kind} {file}" for kind in ("truncated", "longer") for file in (*SMALL_FILES, *LARGE_FILES)
      if (kind, file) != ("longer", "header.json")),
    *(f"flipped {file}" for file in SMALL_FILES),
    *(f"magic {file}" for file in (*SMALL_FILES, *LARGE_FILES)),
    "edited header.json",
    "type bins.npy", "json header.json", "list header.json", "format header.json", "folder ",
]  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_bank_is_built_anew_with_a_message(
    X: NDArray[np.float32], caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    first = cached_bank(powers(), X)
    folder = first.folder
    del first
    damaged(kind, folder)
    with pytest.raises(DamagedBank):
        check_files(folder)
    made = powers()
    bank = cached_bank(made, X)
    assert same(bank, FeatureBank.build(powers(), X))
    assert bank.folder == folder
    assert sorted(feature for features in asked_of(made) for feature in features) == sorted(
        [*range(7), *range(4)]
    )
    assert caplog.messages[0].startswith(f"cached feature bank {folder.name[:12]} cannot be used: ")
    if kind in ("truncated bins.npy", "longer n_bins.npy", "empty cuts.npy"):
        assert " bytes, not " in caplog.messages[0]
    assert [path.name for path in banks_dir().iterdir()] == [folder.name]


def test_a_bank_under_a_foreign_name_is_built_anew(
    X: NDArray[np.float32], caplog: pytest.LogCaptureFixture
) -> None:
    mine, other = cached_bank(powers(), X), cached_bank(powers(), -X)
    assert mine.folder != other.folder
    shutil.rmtree(mine.folder)
    other.folder.rename(mine.folder)
    assert same(cached_bank(powers(), X), FeatureBank.build(powers(), X))
    assert f"it is the bank {other.folder.name[:12]} under another name" in caplog.text


@pytest.mark.parametrize("file", LARGE_FILES)
def test_a_damaged_feature_is_mended_when_it_is_looked_at(
    X: NDArray[np.float32], caplog: pytest.LogCaptureFixture, file: str
) -> None:
    expected = FeatureBank.build(powers(), X)
    folder = cached_bank(powers(), X).folder
    width = N if file == "bins.npy" else 254 * 4
    for feature in (4, 9):
        flip(folder / file, -(11 - feature) * width + width // 8)
    with pytest.raises(DamagedBank, match=f"{file} is damaged at feature 4 and 1 more"):
        check_files(folder, all_features=True)
    made = powers()
    bank = cached_bank(made, X)
    array, right = getattr(bank, file[:4]), getattr(expected, file[:4])
    bank.view(np.array([3, 5, 10]))
    assert asked_of(made) == []
    assert (array[4] != right[4]).any()
    if file == "bins.npy":
        assert (bank.view(np.array([4, 3, 4])).bins[4] == right[4]).all()
    else:
        assert bank.threshold(4, 2) == expected.threshold(4, 2)
    assert (array[9] != right[9]).any()  # not looked at yet
    assert asked_of(made) == [[4]]
    assert bank.values_computed == N
    assert caplog.messages == [
        f"feature bank {folder.name[:12]}: {file} is damaged at feature 4; it is computed anew"
    ]
    bank.column(9)
    assert same(bank, expected)
    bank.column(4)
    assert asked_of(made) == [[4], [2]]  # each once
    assert same(cached_bank(powers(), X), expected)


class Fickle(Powers):
    """A family that breaks its promise to compute the same again."""

    shift = 0.0

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        return super().compute(X, features) + np.float32(self.shift)


def test_what_cannot_be_mended_is_an_error(
    X: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = cached_bank([Fickle(3, 5)], X).folder
    flip(folder / "bins.npy", -1)
    monkeypatch.setattr(Fickle, "shift", 1.0)
    bank = cached_bank([Fickle(3, 5)], X)
    with pytest.raises(DataError, match="damaged at feature 4, and cannot be mended: its family"):
        bank.column(4)
    monkeypatch.setattr(Fickle, "shift", 0.0)

    def full(*arguments: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(bank_disk._Files, "write", full)
    with pytest.raises(DataError, match="cannot be written: Read-only file system; 'boostsample"):
        bank.column(4)
    monkeypatch.undo()
    assert bank.column(4).size == N  # as soon as it can be


def test_threads_mend_a_feature_once(
    X: NDArray[np.float32], caplog: pytest.LogCaptureFixture
) -> None:
    folder = cached_bank(powers(), X).folder
    flip(folder / "bins.npy", -1)
    bank = cached_bank(powers(), X)
    gate = threading.Barrier(4)

    def read() -> None:
        gate.wait()
        bank.column(10)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(caplog.messages) == 1
    assert bank.values_computed == N
    assert same(bank, FeatureBank.build(powers(), X))


def at_once(*calls: Callable[[], None]) -> None:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("before", ["nothing", "damaged"])
def test_builders_at_once_do_not_hurt_each_other(X: NDArray[np.float32], before: str) -> None:
    """Each is half way when the others are; one of them is the last to finish."""
    if before == "damaged":
        damaged("truncated bins.npy", cached_bank(powers(), X).folder)
    at_work: list[Path] = []
    gate = threading.Barrier(3, lambda: at_work.extend(banks_dir().glob(".building-*")))
    banks: list[DiskBank] = []

    def build() -> None:
        def meet(done: int, total: int) -> None:
            if done == 7:
                gate.wait(300)

        banks.append(cached_bank(powers(), X, progress=meet))

    at_once(build, build, build)
    expected = FeatureBank.build(powers(), X)
    assert len(banks) == len(at_work) == 3
    assert all(same(bank, expected) for bank in banks)
    assert [path.name for path in banks_dir().iterdir()] == [banks[0].folder.name]


def test_a_builder_replaces_a_damaged_bank_that_came_meanwhile(X: NDArray[np.float32]) -> None:
    folder = cached_bank(powers(), X).folder
    kept = folder.with_name("kept")
    folder.rename(kept)

    def spoil(done: int, total: int) -> None:
        if not folder.exists():
            shutil.copytree(kept, folder)
            damaged("truncated bins.npy", folder)

    bank = cached_bank(powers(), X, progress=spoil)
    assert same(bank, FeatureBank.build(powers(), X))


def test_a_bank_that_is_removed_at_once_is_built_again(
    X: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by another process that took it for the damaged one it had looked at before."""
    put_in_place, removals = bank_cache._put_in_place, [1, 1, 0]

    def put_and_lose(scratch: Path, place: Path) -> None:
        put_in_place(scratch, place)
        if removals.pop(0):
            cache_folder.remove(place)

    monkeypatch.setattr(bank_cache, "_put_in_place", put_and_lose)
    assert same(cached_bank(powers(), X), FeatureBank.build(powers(), X))
    removals[:] = [1, 1, 1]
    with pytest.raises(DataError, match="was built 3 times, but each time removed or damaged"):
        cached_bank(powers(), -X)


def test_processes_at_once_do_not_hurt_each_other(X: NDArray[np.float32], cache: Path) -> None:
    code = (
        "import numpy as np\n"
        "from boostsample.banks.cache import cached_bank\n"
        "from boostsample.families import Columns\n"
        "X = np.arange(300_000, dtype=np.float32).reshape(-1, 100) % 977\n"
        "print(cached_bank([Columns(range(100))], X).bins.sum())\n"
    )
    command = [sys.executable, "-c", code]
    options: dict[str, Any] = {"cwd": ROOT, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **options) for _ in range(2)]
    printed = {process.communicate()[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0]
    assert len(printed) == 1
    (bank,) = cached_banks()
    check_files(bank.folder, all_features=True)
    assert [path.name for path in banks_dir().iterdir()] == [bank.key]
