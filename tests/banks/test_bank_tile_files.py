"""The second copy of a bank on disk, in tiles: its files, when it is used, and damage."""

from __future__ import annotations

import logging
import resource
import shutil
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.banks import bank_checksums
from boostsample.banks import tile_layout as bank_tiles
from boostsample.banks.bank import FeatureBank
from boostsample.banks.bank_checksums import DamagedBank
from boostsample.banks.cache_folder import cache_entries
from boostsample.banks.cached_bank import cached_bank
from boostsample.banks.disk import DiskBank, check_disk_bank, disk_bank_bytes
from boostsample.errors import DataError
from boostsample.families import Columns
from boostsample.records import feature_tiles as tiles_module
from boostsample.records.feature_tiles import feature_tiles
from tests.banks.test_bank_damage import flip
from tests.problems import same_bits

N, F, TILES = 1500, 160, 3
COPY = TILES * N * 64
FILES = {"bins.npy", "checksums.npy", "cuts.npy", "header.json", "n_bins.npy"}
TILE_FILES = {"tiles.npy", "tile_checksums.npy"}
ROWS = np.array([N - 1, 0, 7])


@pytest.fixture(autouse=True)
def always_read(small_tiles: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles are read whatever is faster."""
    monkeypatch.setattr(bank_tiles, "_ALONE", 0)


@pytest.fixture
def X(rng: np.random.Generator) -> NDArray[np.float32]:
    return rng.integers(0, 9, (N, F)).astype(np.float32)


def opened(X: NDArray[np.float32], **settings: Any) -> DiskBank:
    return cached_bank([Columns(range(F))], X, **settings)


def in_memory(X: NDArray[np.float32]) -> FeatureBank:
    return FeatureBank.build([Columns(range(F))], X, tile_bytes=0)


def files(bank: DiskBank) -> set[str]:
    return {path.name for path in bank.folder.iterdir()}


def has_copy(bank: FeatureBank) -> bool:
    return bank._tiles is not None


def tile_members(number: int) -> NDArray[np.int64]:
    tiles = feature_tiles((F,))
    assert tiles is not None
    return tiles.order[tiles.ends[number] : tiles.ends[number + 1]].copy()


def test_the_copy_is_listed_with_its_size(X: NDArray[np.float32]) -> None:
    bank = opened(X)
    assert files(bank) == FILES | TILE_FILES
    assert has_copy(bank)
    assert same_bits(bank, in_memory(X))
    check_disk_bank(bank.folder, all_features=True)
    for name, facts in bank_checksums.read_bank_header(bank.folder)["files"].items():
        assert facts["bytes"] == (bank.folder / name).stat().st_size
    kept = np.load(bank.folder / "tiles.npy", mmap_mode="r")
    assert kept.shape == (TILES, 64 * N)
    first = kept[1].reshape(N, 64)[:, : tile_members(1).size]
    assert (first == bank.bins[tile_members(1)].T).all()
    (entry,) = cache_entries()
    assert entry.size == sum(path.stat().st_size for path in bank.folder.iterdir())
    assert 0 < entry.size - disk_bank_bytes(F, N) - COPY < 10_000


def test_a_bank_is_found_with_or_without_a_copy(X: NDArray[np.float32]) -> None:
    made = opened(X, tile_bytes=0)
    assert files(made) == FILES  # what versions without tiles have written
    assert set(bank_checksums.read_bank_header(made.folder)["files"]) == FILES - {"header.json"}
    again = opened(X)
    assert again.folder == made.folder
    assert files(again) == FILES
    assert not has_copy(again)
    shutil.rmtree(made.folder)
    assert has_copy(opened(X))
    unused = opened(X, tile_bytes=0)
    assert unused.folder == made.folder
    assert files(unused) == FILES | TILE_FILES
    assert not has_copy(unused)
    assert has_copy(opened(X, tile_bytes=COPY))
    assert not has_copy(opened(X, tile_bytes=COPY - 1))


@pytest.mark.parametrize("change", ["memory", "order", "tiles"])
def test_a_copy_that_does_not_fit_is_not_used(
    X: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """Less memory is free than before, or the order of the features is that of another version."""
    folder = opened(X).folder
    if change == "memory":
        monkeypatch.setattr(bank_tiles, "_free_memory", lambda: 2 * COPY - 1)
    elif change == "order":
        monkeypatch.setattr(tiles_module, "_GOLDEN", 0.3)
        feature_tiles.cache_clear()
    else:
        monkeypatch.setattr(tiles_module, "_FEWEST_TILES", 4)
        feature_tiles.cache_clear()
    bank = opened(X)
    assert bank.folder == folder
    assert not has_copy(bank)
    assert (bank.take(np.arange(F), ROWS) == in_memory(X).bins[:, ROWS]).all()


def test_a_damaged_tile_is_an_error_on_its_first_use(X: NDArray[np.float32]) -> None:
    expected = in_memory(X)
    folder = opened(X).folder
    for tile in (1, 2):
        flip(folder / "tiles.npy", tile * 64 * N - COPY - 1)  # the last byte of the one before
    with pytest.raises(DamagedBank, match=r"tiles.npy is damaged at tile 0 and 1 more"):
        check_disk_bank(folder, all_features=True)
    bank = opened(X)
    good, bad = tile_members(2), tile_members(1)
    assert (bank.take(good, ROWS) == expected.bins[good][:, ROWS]).all()
    key = folder.name[:12]
    message = (
        f"feature bank {key}: tiles.npy is damaged at tile 1; remove it by "
        f"'boostsample cache clear {key}' and run again to rebuild it"
    )
    for reader in (bank, bank.reader(), bank):  # an error each time
        with pytest.raises(DataError, match=message):
            reader.view(np.concatenate([good[:3], bad[5:6]]), ROWS)
    assert (bank.bins[bad] == expected.bins[bad]).all()
    assert bank.column(int(bad[0])).tobytes() == expected.bins[bad[0]].tobytes()
    assert (opened(X, tile_bytes=0).take(bad, ROWS) == expected.bins[bad][:, ROWS]).all()


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((kind, "tiles.npy") for kind in ("truncated", "longer", "missing", "magic")),
        ("truncated", "tile_checksums.npy"),
    ],
)
def test_damaged_files_are_built_anew(
    X: NDArray[np.float32], caplog: pytest.LogCaptureFixture, kind: str, name: str
) -> None:
    path = opened(X).folder / name
    content = path.read_bytes()
    if kind == "missing":
        path.unlink()
    else:
        changed = {
            "truncated": content[:-3],
            "longer": content + b"0",
            "magic": b"\0" + content[1:],
        }
        path.write_bytes(changed[kind])
    with pytest.raises(DamagedBank, match=name):
        check_disk_bank(path.parent)
    bank = opened(X)
    assert f"cached feature bank {path.parent.name[:12]} cannot be used: " in caplog.text
    assert has_copy(bank)
    assert path.read_bytes() == content
    check_disk_bank(bank.folder, all_features=True)


def test_a_disk_that_is_full_keeps_the_bank(
    X: NDArray[np.float32], caplog: pytest.LogCaptureFixture
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Enough for the bins, the largest of the other files.
    resource.setrlimit(resource.RLIMIT_FSIZE, (F * N + 1000, hard))
    try:
        bank = opened(X)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "a feature bank is kept without tiles, so searches are slower: [Errno" in caplog.text
    assert files(bank) == FILES
    assert same_bits(bank, in_memory(X))


@pytest.mark.parametrize("free", [2 * COPY, 2 * COPY - 1])
def test_the_copy_takes_half_of_the_free_disk(
    X: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch, free: int
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    assert disk_bank_bytes(F, N) < free
    assert has_copy(opened(X)) == (free == 2 * COPY)
    shutil.rmtree(opened(X).folder)
    assert has_copy(opened(X, tile_bytes=COPY))
