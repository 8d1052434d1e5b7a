"""The second copy of a bank, in tiles: the same bits with and without it, and when there is one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.banks import tile_layout as bank_tiles
from boostsample.banks.bank import FeatureBank
from boostsample.banks.bank_forms import make_bank
from boostsample.banks.cached_bank import cached_bank
from boostsample.experiments.commands.cli import main
from boostsample.families.columns import Columns
from boostsample.kernels.searches import tiles as kernels
from boostsample.records.feature_tiles import feature_tiles
from tests.problems import Powers, same_bits

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
pytestmark = [
    pytest.mark.skipif(not COMPILED, reason="it takes minutes under NUMBA_DISABLE_JIT"),
    pytest.mark.usefixtures("small_tiles"),
]
FORMS = ("memory", "disk")
N, SIZES = 3001, (90, 70)
TILES = 3
COPY = TILES * N * 64


@pytest.fixture
def X(rng: np.random.Generator) -> NDArray[np.float32]:
    values = rng.normal(size=(N, 3)).astype(np.float32)
    values[rng.random(N) < 0.1, 1] = np.nan
    return values


def families() -> list[Powers]:
    return [Powers(3, SIZES[0], "first"), Powers(2, SIZES[1], "second")]


def has_copy(bank: Any) -> bool:
    return bank._tiles is not None


def test_checksums_are_those_of_a_bank_without_a_copy(X: NDArray[np.float32]) -> None:
    digests = [
        make_bank(form, families(), X).digest()
        for form in ("memory", "memory:tile_bytes=0", "disk", "disk:tile_bytes=0")
    ]
    assert digests == digests[:1] * 4


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


def test_the_copy_counts_as_memory_unless_it_is_a_mapped_file(X: NDArray[np.float32]) -> None:
    sizes = {
        form: make_bank(form, families(), X).nbytes
        for form in ("memory", "memory:tile_bytes=0", "disk", "disk:tile_bytes=0")
    }
    index = 8 * sum(SIZES) + 4 * 8 * TILES
    assert sizes["memory"] - sizes["memory:tile_bytes=0"] == COPY + index
    assert sizes["disk"] - sizes["disk:tile_bytes=0"] == index


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
    monkeypatch.setattr(bank_tiles, "_free_memory", lambda: free)
    assert has_copy(build(families(), X, tile_bytes=tile_bytes)) is made


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
    expected = FeatureBank.build(families(), X, tile_bytes=0)

    def full(size: int, dtype: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(bank_tiles, "aligned", full)
    bank = FeatureBank.build(families(), X)
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
def test_free_memory_is_that_of_the_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], expected: int
) -> None:
    monkeypatch.undo()
    chosen = {"meminfo": "MemTotal: 9000 kB\nMemAvailable:   7000 kB\n", **files}
    for name, content in chosen.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(bank_tiles, "_PROC", tmp_path)
    monkeypatch.setattr(bank_tiles, "_GROUPS", tmp_path)
    assert bank_tiles._free_memory() == expected


@pytest.mark.parametrize("form", FORMS)
def test_one_signature_each(X: NDArray[np.float32], form: str) -> None:
    """Compiling in advance, building, reading of memory and of files have the same types."""
    bank_tiles._compile.__wrapped__()
    bank: Any = make_bank(form, families(), X)
    bank.compile()
    for rows in (np.arange(20), np.arange(20, dtype=np.int32)):
        assert bank.view(np.arange(160), rows).compact
    functions: list[Any] = [kernels.fill_tile, kernels.find_octets, kernels.gather_octets]
    for function in functions:
        assert len(function.signatures) == 1, function.py_func.__name__
