"""Archives unpack to no more than their size allows, whatever they declare."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boostsample import BoostSampleClassifier, DataError
from boostsample.experiments.cells.cell_file import DamagedCell, read_cell_file
from boostsample.files import archive
from boostsample.files.archive import archive_bytes, archive_entries, most_unpacked
from boostsample.loop.run_file import read_checkpoint


def packed(size: int, declared: int | None = None) -> bytes:
    """An archive of zeros, which may declare another size than it has."""
    stream = io.BytesIO()
    np.savez_compressed(stream, zeros=np.zeros(size, np.uint8))
    content = stream.getvalue()
    if declared is not None:
        true = (size + 128).to_bytes(4, "little")
        assert content.count(true) >= 1
        content = content.replace(true, declared.to_bytes(4, "little"))
    return content


def read_model(path: Path) -> Any:
    return BoostSampleClassifier.load(path)


def read_cell(path: Path) -> Any:
    return read_cell_file(path, "key")


@pytest.mark.parametrize("read", [read_checkpoint, read_cell, read_model])
def test_files_that_unpack_to_too_much_are_refused_before_they_are_unpacked(
    read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "_ALWAYS", 1000)
    monkeypatch.setattr(archive, "_TIMES", 2)
    monkeypatch.setattr("boostsample.classifier.file.MOST_BYTES", 5000)
    path = tmp_path / "file.npz"
    path.write_bytes(packed(2**22))
    most = 5000 if read is read_model else most_unpacked(path.stat().st_size)
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=f"at most {most:,} bytes, got 4,194,432 unpacked") as e:
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
    assert isinstance(e.value, DamagedCell) or str(path) in str(e.value)


@pytest.mark.parametrize("read", [read_checkpoint, read_cell, read_model])
@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no /dev/zero")
def test_a_file_without_an_end_is_not_read(read: Any) -> None:
    with pytest.raises(DataError):
        read(Path("/dev/zero"))


def test_no_entry_is_unpacked_beyond_the_size_that_it_declares() -> None:
    content = packed(2**24, declared=5000)
    tracemalloc.start()
    try:
        with pytest.raises((DataError, zipfile.BadZipFile)):
            archive_entries(content)
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()


def test_nothing_is_written_that_would_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as the votes of very many classes in very many rounds, nearly all of them -1."""
    monkeypatch.setattr(archive, "_ALWAYS", 1000)
    zeros = np.zeros(2**18)
    content = archive_bytes({"zeros": zeros})
    np.testing.assert_array_equal(archive_entries(content)["zeros"], zeros)
    assert len(content) > zeros.nbytes


@given(st.integers(0, 5000), st.integers(0, 3), st.integers(0, 2**31))
def test_what_is_written_is_read(size: int, n_entries: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    entries = {f"e{at}": rng.integers(0, 2 + at, size) for at in range(n_entries)}
    content = archive_bytes(entries)
    read = archive_entries(content)
    assert read.keys() == entries.keys()
    for name, values in entries.items():
        np.testing.assert_array_equal(read[name], values)
    total = sum(file.file_size for file in zipfile.ZipFile(io.BytesIO(content)).infolist())
    archive_entries(content, total)
    with pytest.raises(DataError, match="bytes, got"):
        archive_entries(content, total - 1)
