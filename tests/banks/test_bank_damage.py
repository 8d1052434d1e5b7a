"""Damaged banks on disk, and several builders of one bank."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.banks import cache_folder
from boostsample.banks.bank import FeatureBank
from boostsample.banks.cache_folder import DamagedBank, banks_dir, remove_from_cache
from boostsample.banks.cached_bank import cached_bank
from boostsample.banks.disk import DiskBank, check_disk_bank
from boostsample.errors import DataError
from tests.banks.test_bank_disk import LARGE_FILES, SMALL_FILES, N, X, same
from tests.problems import asked_of, powers

__all__ = ["X"]  # a fixture


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
        facts = cache_folder.read_bank_header(folder)
        path.unlink()
        cache_folder.write_bank_header(folder, {**facts, "format": 99})
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
        check_disk_bank(folder)
    made = powers()
    bank = cached_bank(made, X)
    assert same(bank, FeatureBank.build(powers(), X))
    assert bank.folder == folder
    assert sorted(feature for features in asked_of(made) for feature in features) == sorted(
        [*range(7), *range(4)]
    )
    start = f"cached feature bank {folder.name[:12]} cannot be used: "
    (said,) = (message for message in caplog.messages if message.startswith(start))
    if kind in ("truncated bins.npy", "longer n_bins.npy", "empty cuts.npy"):
        assert " bytes, not " in said
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
def test_a_damaged_feature_is_an_error_on_its_first_use(X: NDArray[np.float32], file: str) -> None:
    expected = FeatureBank.build(powers(), X)
    folder = cached_bank(powers(), X).folder
    width = N if file == "bins.npy" else 254 * 4
    for feature in (4, 9):
        flip(folder / file, -(11 - feature) * width + width // 8)
    with pytest.raises(DamagedBank, match=f"{file} is damaged at feature 4 and 1 more"):
        check_disk_bank(folder)
    bank = cached_bank(powers(), X)
    assert (bank.take(np.array([3, 5, 10]), np.arange(N)) == expected.bins[[3, 5, 10]]).all()
    key = folder.name[:12]
    message = (
        f"feature bank {key}: {file} is damaged at feature {{}}; remove it by "
        f"'boostsample cache clear {key}' and run again to rebuild it"
    )
    for _ in range(2):  # an error each time
        with pytest.raises(DataError, match=message.format(4)):
            bank.view(np.array([3, 4, 4]))
    with pytest.raises(DataError, match=message.format(4)):
        bank.threshold(4, 2)
    with pytest.raises(DataError, match=message.format(9)):
        bank.column(9)
    remove_from_cache(folder)
    assert same(cached_bank(powers(), X), expected)


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


def test_a_damaged_bank_that_came_meanwhile_is_an_error(X: NDArray[np.float32]) -> None:
    folder = cached_bank(powers(), X).folder
    kept = folder.with_name("kept")
    folder.rename(kept)

    def spoil(done: int, total: int) -> None:
        if not folder.exists():
            shutil.copytree(kept, folder)
            damaged("truncated bins.npy", folder)

    with pytest.raises(DataError, match=r"be used: bins.npy has .* bytes, not .*; run again"):
        cached_bank(powers(), X, progress=spoil)
    assert same(cached_bank(powers(), X), FeatureBank.build(powers(), X))
