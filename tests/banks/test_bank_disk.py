"""Banks on disk: found again, never half built, and every damage found before it does any harm."""

from __future__ import annotations

import errno
import json
import logging
import os
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from boostsample.banks import bank_forms, binning, cache_folder
from boostsample.banks.bank import FeatureBank
from boostsample.banks.bank_forms import cached_bank, cached_bank_facts
from boostsample.banks.cache_folder import DamagedBank, banks_dir, cache_entries, remove_from_cache
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
        (bank_forms, "FORMAT", 99),
        (bank_forms, "_ENGINE", ("family.py",)),
        (bank_forms, "code_of", lambda kind: "x"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, value)
            assert is_new(cached_bank_facts(powers(), X, rows))
    assert json.loads(json.dumps(seen[0])) == seen[0]


def test_each_folder_of_code_is_a_part_of_the_key(
    X: NDArray[np.float32], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Families, binning and kernels, with what kernels are compiled from."""
    package = Path(bank_forms.__file__).parents[1]
    folders = ("families", "jit", "kernels")
    for name in folders:
        shutil.copytree(package / name, tmp_path / name)
    for name in ("checks.py", "family.py", "banks/binning.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(package / name, tmp_path / name)
    monkeypatch.setattr(bank_forms, "_PACKAGE", tmp_path)
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
