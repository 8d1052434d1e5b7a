"""The second copy of a bank, in tiles: when there is one, its files, and damage."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.banks import cache_folder
from boostsample.banks import tile_layout as bank_tiles
from boostsample.banks.bank import FeatureBank
from boostsample.banks.bank_forms import cached_bank, make_bank
from boostsample.banks.cache_folder import DamagedBank, cache_entries
from boostsample.banks.disk import DiskBank, check_disk_bank, disk_bank_bytes
from boostsample.errors import DataError
from boostsample.experiments.commands.cli import main
from boostsample.families import Columns
from boostsample.kernels import tiles as kernels
from boostsample.records import feature_tiles as tiles_module
from boostsample.records.feature_tiles import feature_tiles
from tests.banks.test_bank_disk import flip
from tests.compiled import slow_without_jit
from tests.problems import same_bits

N, F, TILES = 1500, 160, 3
COPY = TILES * N * 64
FILES = {"bins.npy", "checksums.npy", "cuts.npy", "header.json", "n_bins.npy"}
TILE_FILES = {"tiles.npy", "tile_checksums.npy"}
ROWS = np.array([N - 1, 0, 7])


@pytest.fixture(autouse=True)
def always_read(small_tiles: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles are read whatever is faster."""
    monkeypatch.setattr(bank_tiles, "TILE_LINE", 0)


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
    check_disk_bank(bank.folder)
    for name, facts in cache_folder.read_bank_header(bank.folder)["files"].items():
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
    assert set(cache_folder.read_bank_header(made.folder)["files"]) == FILES - {"header.json"}
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
        monkeypatch.setattr(bank_tiles, "free_memory", lambda: 2 * COPY - 1)
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
        check_disk_bank(folder)
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
    check_disk_bank(bank.folder)


def test_a_disk_that_is_full_keeps_the_bank(
    X: NDArray[np.float32], full_disk: Any, caplog: pytest.LogCaptureFixture
) -> None:
    full_disk(F * N + 1000)  # enough for the bins, the largest of the other files
    bank = opened(X)
    full_disk(None)
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


def test_a_results_folder_and_its_cells_do_not_depend_on_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["compare", "--data", "chess(d=3,n=60)", "--rounds", "2", "--repeats", "1"]
    command += ["--strategies", "laminating", "--quiet", "--results", "one"]
    assert main(command) == 0
    before = {path: path.read_bytes() for path in Path("one").rglob("*") if path.is_file()}
    assert main([*command, "--bank", "memory:tile_bytes=0"]) == 0
    assert {path: path.read_bytes() for path in before} == before
    assert len(list(Path("one").rglob("*.npz"))) == 1
    assert main([*command[:-1], "two", "--bank", "memory:tile_bytes=0"]) == 0
    plan = Path("two/plan.json")
    assert json.loads(plan.read_text())["entries"]["bank"] == "memory:tile_bytes=0"
    assert main(["compare", "--grid", str(plan), "--results", "one"]) == 0
    assert len(list(Path("one").rglob("*.npz"))) == 1


@pytest.mark.parametrize(
    ("tile_bytes", "free", "made"),
    [
        (None, 2 * COPY, True),
        (None, 2 * COPY - 1, False),
        (COPY, 0, True),
        (COPY - 1, 10 * COPY, False),
        (0, 10 * COPY, False),
    ],
)
@pytest.mark.parametrize("build", [FeatureBank.build, cached_bank])
def test_the_copy_takes_no_more_than_allowed(
    X: NDArray[np.float32],
    monkeypatch: pytest.MonkeyPatch,
    build: Any,
    tile_bytes: int | None,
    free: int,
    made: bool,
) -> None:
    monkeypatch.setattr(bank_tiles, "free_memory", lambda: free)
    assert has_copy(build([Columns(range(F))], X, tile_bytes=tile_bytes)) is made


def test_small_banks_have_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    feature_tiles.cache_clear()
    most = 64 * 64 * 16_384
    one, fewer = [Columns(range(n), n_columns=n) for n in (4033, 4032)]
    two = [Columns(range(n), str(n), n_columns=4000) for n in (4000, 33)]
    tiles = bank_tiles.tiles_within([one], 16_384, most)
    assert tiles is not None
    assert bank_tiles.tile_copy_bytes(tiles, 16_384) == most
    assert bank_tiles.tiles_within([one], 16_384, most - 1) is None
    assert bank_tiles.tiles_within([fewer], 16_384, most) is None
    assert bank_tiles.tiles_within(two, 16_383, most) is None


def test_without_memory_a_bank_has_no_copy(
    X: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = FeatureBank.build([Columns(range(F))], X, tile_bytes=0)

    def full(size: int, dtype: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(bank_tiles, "aligned", full)
    bank = FeatureBank.build([Columns(range(F))], X)
    assert not has_copy(bank)
    assert same_bits(bank, expected)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 7000 * 1024),
        ({"memory.max": "max\n", "memory.stat": "anon 5\n"}, 7000 * 1024),
        ({"memory.max": "5000\n", "memory.stat": "file 9\nanon 2000\n"}, 3000),
        ({"memory.max": "5000\n", "memory.stat": "anon 6000\n"}, 0),
        ({"memory.max": "5000\n"}, 7000 * 1024),
        (
            {"memory/memory.limit_in_bytes": "5000\n", "memory/memory.stat": "rss 1\ntotal_rss 9"},
            4991,
        ),
    ],
)
def testfree_memory_is_that_of_the_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], expected: int
) -> None:
    monkeypatch.undo()
    chosen = {"meminfo": "MemTotal: 9000 kB\nMemAvailable:   7000 kB\n", **files}
    for name, content in chosen.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(bank_tiles, "_PROC", tmp_path)
    monkeypatch.setattr(bank_tiles, "_GROUPS", tmp_path)
    assert bank_tiles.free_memory() == expected


@slow_without_jit
@pytest.mark.parametrize("form", ["memory", "disk"])
def test_one_signature_each(X: NDArray[np.float32], form: str) -> None:
    """Compiling in advance, building, reading of memory and of files have the same types."""
    bank_tiles._compile.__wrapped__()
    bank: Any = make_bank(form, [Columns(range(F))], X)
    bank.compile()
    for rows in (np.arange(20), np.arange(20, dtype=np.int32)):
        assert bank.view(np.arange(F), rows).compact
    functions: list[Any] = [kernels.fill_tile, kernels.find_octets, kernels.gather_octets]
    for function in functions:
        assert len(function.signatures) == 1, function.py_func.__name__
