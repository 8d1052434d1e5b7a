"""PLINK files: as PLINK and bed-reader read them, by names and alleles, or refused in words."""

from __future__ import annotations

import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import bed_reader
import numpy as np
import pandas as pd
import pytest

from boostsample.formats.plink import PlinkTable, read_plink

FILES = Path(__file__).with_name("files")
STUDY, PART = FILES / "study.bed", FILES / "part.bed"
IS_KNOWN = np.array([True, True, True, True, False, True, True, False, True])


def recoded(name: str) -> pd.DataFrame:
    """What plink1.9 --recode A has written."""
    return pd.read_csv(FILES / name, sep=" ").iloc[:, 6:]


def values(table: PlinkTable) -> Any:
    return table.columns_at(np.arange(table.shape[1])).T


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for suffix in ("bed", "bim", "fam"):
        shutil.copy(STUDY.with_suffix(f".{suffix}"), tmp_path / f"x.{suffix}")
    return tmp_path / "x.bed"


@pytest.mark.parametrize("name", ["study", "part"])
def test_genotypes_and_names_are_those_of_plink_and_of_bed_reader(name: str) -> None:
    data = read_plink(FILES / name, labels=False)
    raw = recoded(f"{name}.raw")
    with bed_reader.open_bed(FILES / f"{name}.bed") as bed:
        np.testing.assert_array_equal(values(data.table), bed.read(dtype="float32"))
        assert data.sample_ids.tolist() == bed.iid.tolist()
        assert data.family_ids.tolist() == bed.fid.tolist()
    aligned = data.table.aligned(list(raw.columns))
    np.testing.assert_array_equal(values(aligned), raw.to_numpy(np.float32))
    assert name == "part" or list(raw.columns) == data.table.column_names


def test_plink_2_and_its_dots_give_the_same_table() -> None:
    first, second = (read_plink(FILES / name, labels=False) for name in ("study", "by_plink2.bed"))
    assert first.table.column_names == second.table.column_names
    np.testing.assert_array_equal(values(first.table), values(second.table))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 1021])
def test_any_number_of_people_and_any_columns(n: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(n)
    counts = rng.choice(np.array([0, 1, 2, -127], np.int8), (n, 300))
    bed_reader.to_bed(tmp_path / "x.bed", counts)
    frame = pd.read_csv(tmp_path / "x.bim", sep="\t", header=None)
    frame[4], frame[5] = "A", "C"
    frame.to_csv(tmp_path / "x.bim", sep="\t", header=False, index=False)
    table = read_plink(tmp_path / "x.bed", labels=False).table
    expected = np.where(counts < 0, 0, counts + 1).T
    for columns in (np.arange(300), rng.permutation(300)[:77], np.array([299, 0, 0, 1, 2, 17])):
        for rows in (np.arange(n), rng.permutation(n)[: n // 2 + 1]):
            codes = table[rows].codes_at(columns)
            assert codes.dtype == np.uint8
            np.testing.assert_array_equal(codes, expected[columns][:, rows])


def test_other_tables_are_aligned_by_variant_and_allele() -> None:
    study, part = (read_plink(path, labels=False).table for path in (STUDY, PART))
    assert study.column_names is not None
    assert "rs5_C" in study.column_names
    assert part.column_names is not None
    assert "rs5_T" in part.column_names
    names = study.column_names[::-1]
    rows = np.array([3, 1])
    aligned = part.aligned(names)[rows]
    assert aligned.column_names == names
    np.testing.assert_array_equal(
        values(aligned), recoded("study.raw").to_numpy(np.float32)[5:][rows][:, ::-1]
    )
    np.testing.assert_array_equal(values(aligned.aligned(part.column_names)), values(part)[rows])


def test_files_are_read_in_threads_and_after_pickling() -> None:
    table = read_plink(STUDY, labels=False).table
    again = pickle.loads(pickle.dumps(table))
    columns = np.arange(table.shape[1])
    with ThreadPoolExecutor(4) as pool:
        for codes in pool.map(lambda _: again.codes_at(columns), range(40)):
            np.testing.assert_array_equal(codes, table.codes_at(columns))
