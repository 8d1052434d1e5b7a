"""PLINK files: as PLINK and bed-reader read them, by names and alleles, or refused in words."""

from __future__ import annotations

import os
import pickle
import shutil
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import bed_reader
import numpy as np
import pandas as pd
import pytest

from boostsample import BoostSampleClassifier, DataError
from boostsample.errors import BoostSampleError, SettingError
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
    expected = recoded("study.raw").to_numpy(np.float32)[5:][rows]
    np.testing.assert_array_equal(values(aligned), expected[:, ::-1])
    again = aligned.aligned(study.column_names)
    np.testing.assert_array_equal(values(again), expected)
    np.testing.assert_array_equal(values(again.aligned(part.column_names)), values(part)[rows])


def test_files_are_read_in_threads_and_after_pickling() -> None:
    table = read_plink(STUDY, labels=False).table
    again = pickle.loads(pickle.dumps(table))
    columns = np.arange(table.shape[1])
    with ThreadPoolExecutor(4) as pool:
        for codes in pool.map(lambda _: again.codes_at(columns), range(40)):
            np.testing.assert_array_equal(codes, table.codes_at(columns))


# ---------------------------------------------------------------------------------- phenotypes


def labels_of(path: Path, **settings: Any) -> Any:
    with warnings.catch_warnings(action="ignore"):
        data = read_plink(path, **settings)
    assert data.labels is not None
    assert len(data.sample_ids) == len(data.labels) == data.table.shape[0] == 9 - data.n_left_out
    return dict(zip(data.sample_ids.tolist(), data.labels.tolist(), strict=True))


def test_people_without_a_phenotype_are_left_out_and_counted() -> None:
    with pytest.warns(RuntimeWarning, match=r"2 of 9 people are left out because .*study\.fam is"):
        data = read_plink(STUDY)
    assert data.n_left_out == 2
    assert data.labels is not None
    assert data.labels.tolist() == [1, 2, 2, 1, 2, 1, 2]
    assert data.labels.dtype == np.int64
    assert data.sample_ids.tolist() == ["I0", "I1", "I2", "I3", "I5", "I6", "I8"]
    np.testing.assert_array_equal(
        values(data.table), recoded("study.raw").to_numpy(np.float32)[IS_KNOWN]
    )


@pytest.mark.parametrize(
    ("text", "settings", "expected"),
    [
        ("F0 I1 1\nF0 I0 2\n", {}, {"I0": 2, "I1": 1}),
        ("\ufeffFID IID p\nF0 I0 2\nF0 I1 1\n", {"phenotype_name": "p"}, {"I0": 2, "I1": 1}),
        ("F0 I0 1e999\nF0 I1 1\nF1 I2 2\n", {"missing": "1e999"}, {"I1": 1, "I2": 2}),
        ("#FID\tIID\tp\r\nF0\tI1\t1\r\nF0\tI0\t2", {}, {"I0": 2, "I1": 1}),
        (" \n FID IID a b\n\n F0  I1 1 x\nF0 I0 NA y \n", {"phenotype_name": "a"}, {"I1": 1}),
        ("FID IID a b\nF0 I1 1 x\nF0 I0 2 y y\n".replace(" y y", " é"), {"phenotype_name": "b"},
         {"I0": "é", "I1": "x"}),
        ("F0 I1 1 x\nF0 I0 2 y\n", {"phenotype_name": "2"}, {"I0": "y", "I1": "x"}),
        ("IID a\nI3b 1\nI7 2\nI9 2\n", {}, {"I3b": 1, "I7": 2}),
        ("F0 I0 -9.00\nF0 I1 1.0\nF1 I2 2e0\nF1 I3 0\nF2 I3b NaN\n", {}, {"I1": 1, "I2": 2}),
        ("F0 I0 0\nF0 I1 1\nF1 I2 3\nF2 I5 -9\n", {}, {"I0": 0, "I1": 1, "I2": 3}),
        ("F0 I0 0\nF0 I1 1\nF1 I2 -9\n", {"missing": "-9"}, {"I0": 0, "I1": 1}),
        ("F0 I0 sick\nF0 I1 NONE\nF1 I2 .\nF1 I3 well\n", {}, {"I0": "sick", "I3": "well"}),
    ],
)  # fmt: skip
def test_phenotypes_are_joined_by_ids(
    text: str, settings: dict[str, Any], expected: dict[str, Any], copy: Path
) -> None:
    path = copy.with_suffix(".pheno")
    path.write_bytes(text.encode())
    assert labels_of(copy, phenotype=path, **settings) == expected


def test_a_file_of_phenotypes_gives_the_classes_that_plink_reads(copy: Path) -> None:
    """`plink1.9 --bfile study --pheno FILE --make-bed`, as in the README of the files."""
    fam = pd.read_csv(FILES / "joined.fam", sep=" ", header=None)
    known = fam[fam[5] > 0]
    labels = labels_of(copy, phenotype=FILES / "study.pheno", phenotype_name="second")
    assert labels == dict(zip(known[1], known[5], strict=True))


@pytest.mark.parametrize(
    ("text", "settings", "message"),
    [
        ("F0 I0 0\nF0 I1 1\n", {}, r"got 0 and 1, and PLINK reads 0 as missing; missing="),
        ("F0 I0 1.5\nF0 I1 1\n", {}, r"got the measurement '1\.5'"),
        ("F0 I0 sick\nF0 I1 1\n", {}, r"numbers or words as classes, got '1' and 'sick'"),
        ("F0 I0 NA\n", {}, r"must be known for some people, got none"),
        ("X I0 1\n", {}, r"got none: FID and IID of the first line are 'X I0', and 'F0 I0' in"),
        ("F0 I0 1\nF0 I0 2\n", {}, r"FID and IID must be distinct, got 'F0 I0' 2 times"),
        ("F0 I0 1\nF0 I1\n", {}, r"must have 3 columns \(FID, IID, 1\).* got 2 in line 2"),
        ("FID IID y\nF0 I0 1\nF0 I1\n", {}, r"\(FID, IID, y\).* got 2 in line 3"),
        ("F0 I0\nF0 I1\n", {}, r"must have the columns FID, IID and a phenotype.* got 2 in its"),
        ("F0,I0,1\n", {}, r"separated by spaces or tabs, got 1 in its first line"),
        ("FID IID a b\nF0 I0 1 2\n", {}, r"must choose one of the 2 phenotypes .* known: a, b"),
        ("FID a b\nF0 I0 1\n", {}, "must have the column IID after FID, got 'FID a b'"),
        ("FID IID a\nF0 I0 1\n", {"phenotype_name": "A"}, r"unknown phenotype of .*known: a"),
        ("FID IID a a\nF0 I0 1 1\n", {"phenotype_name": "a"}, r"distinct names .* 'a' twice"),
        ("FID IID a\n", {}, "must have at least one line below its header"),
        ("", {}, "must have at least one line, got none"),
        ("F0 I0 1\rF0 I1 2\r", {}, "lines that end in LF or CRLF, got the byte 0x0d"),
        ("F0 I0 \0\n", {}, "lines that end in LF or CRLF, got the byte 0x00"),
        ("F0 \udcff 1\n", {}, "must be text in UTF-8"),
    ],
)  # fmt: skip
def test_other_phenotypes_are_refused(
    text: str, settings: dict[str, Any], message: str, copy: Path
) -> None:
    path = copy.with_suffix(".pheno")
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(BoostSampleError, match=message):
        labels_of(copy, phenotype=path, **settings)


def test_settings_that_would_be_ignored_are_refused() -> None:
    with pytest.raises(SettingError, match="labels must be True to read a phenotype, got False"):
        read_plink(STUDY, phenotype=FILES / "study.pheno", labels=False)
    with pytest.raises(SettingError, match="must choose a column of the file phenotype="):
        read_plink(STUDY, phenotype_name="a")


# ------------------------------------------------------------------------------------- refusals


def replaced(old: str, new: str) -> Any:
    return lambda content: content.replace(old.encode(), new.encode(errors="surrogateescape"), 1)


@pytest.mark.parametrize(
    ("suffix", "change", "message"),
    [
        ("bed", lambda content: b"", "must begin with the bytes 6c 1b 01 .* got nothing"),
        ("bed", lambda content: b"\x6c\x1b\x02" + content[3:], "got 6c 1b 02; it is damaged"),
        ("bed", lambda content: content[:-1], r"33 bytes, 3 and 3 for each of 10 .* got 32"),
        ("bed", lambda content: content + b"\0", "got 34; it is cut, or"),
        ("bed", lambda content: content[:-1] + b"\x04", "got more for variant 'mt1_C'"),
        ("fam", replaced("F4 I8 0 0 1 2\n", ""), "must have 23 bytes"),
        ("fam", replaced("I8", "I3"), None),
        ("fam", replaced("F4 I8", "F3 I7"), "IID must be distinct, got 'F3 I7' 2 times; correct"),
        ("fam", replaced("F4 I8 0 0 1 2\n", "F4 I8 0 0 1"), r"have 6 columns .* got 5 in line 9"),
        ("fam", replaced("F0 I0", "F0\t\t I0"), None),
        ("fam", lambda content: content[:-1], None),
        ("fam", lambda content: b"\n" + content.replace(b"\n", b"\r\n\r\n"), None),
        ("fam", lambda content: b"", "must have at least one line"),
        ("bim", replaced("1\t", "\udcff\t"), "must be text in UTF-8"),
        ("bim", replaced("rs1", '"rs1'), None),
        ("bim", lambda content: content.replace(b"\t", b"  ").rstrip(), None),
        ("bim", replaced("rs5", "rs1"), None),
        ("bim", replaced("rs1", "x1"), None),
        ("bim", replaced("rs2\t0\t2000\tT", "rs1\t0\t2000\tG"), "got 'rs1_G' 2 times; plink2"),
        ("bim", replaced("\t2000", "\t-2000"), "number of at least 0, got '-2000' for 'rs2'"),
        ("bim", replaced("\t2000", "\t2e3"), "whole number of at least 0, got '2e3' for 'rs2'"),
        ("bim", replaced("T\tC", "T\tT"), "alleles .* must differ, got 'T' twice for 'rs2'"),
        ("bim", replaced("1\trs1", "1\trs1\trs1"), r"6 columns \(chromosome, .* got 7 in line 1"),
        ("bim", lambda content: content[content.find(b"\n") + 1 :], "3 for each of 9 variants"),
    ],
)  # fmt: skip
def test_files_that_do_not_fit_are_refused(
    suffix: str, change: Any, message: str | None, copy: Path
) -> None:
    path = copy.with_suffix(f".{suffix}")
    path.write_bytes(change(path.read_bytes()))
    if message is None:
        table = read_plink(copy, labels=False).table
        np.testing.assert_array_equal(values(table), recoded("study.raw").to_numpy(np.float32))
    else:
        with pytest.raises(DataError, match=message):
            values(read_plink(copy, labels=False).table)


def test_what_is_no_file_is_refused(copy: Path) -> None:
    for suffix in ("bim", "fam", "bed"):
        copy.with_suffix(f".{suffix}").unlink()
        with pytest.raises(DataError, match=rf"x\.{suffix} must be an existing file"):
            read_plink(copy)
        os.mkfifo(copy.with_suffix(f".{suffix}"))
        with pytest.raises(DataError, match=rf"x\.{suffix} must be an existing file"):
            read_plink(copy)
        copy.with_suffix(f".{suffix}").unlink()
        shutil.copy(STUDY.with_suffix(f".{suffix}"), copy.with_suffix(f".{suffix}"))


def test_files_by_person_are_refused_with_the_way_out() -> None:
    with pytest.raises(DataError, match=r"got them by people .* plink1\.9 --make-bed writes it"):
        read_plink(FILES / "by_person.bed", labels=False)


def test_a_file_that_changes_is_refused(copy: Path) -> None:
    table = read_plink(copy, labels=False).table
    content = copy.read_bytes()
    for changed in (content[:-1], content + b"\0", content):
        copy.write_bytes(changed)
        os.utime(copy, ns=(1, 1))
        with pytest.raises(DataError, match="must not change while it is in use"):
            values(table)
    copy.unlink()
    with pytest.raises(DataError, match=r"x\.bed cannot be read: No such file"):
        values(table)


def test_variants_that_are_missing_or_have_other_alleles_are_refused(copy: Path) -> None:
    path = copy.with_suffix(".bim")
    lines = path.read_text()
    table = read_plink(copy, labels=False).table
    for names, message in [
        (["rs1_G", "y1_A", "y2_A"], r"the 3 variants .* but 2 are missing: 'y1_A', 'y2_A'; take"),
        (["rs1_C", "y1_A"], r"1 are missing: 'y1_A' and 1 have other .*: 'rs1_C' \(here G and A\)"),
        (["mono_A"], r"1 have other alleles: 'mono_A' \(here 0 and G\)"),
        ([f"y{k}_A" for k in range(7)], r"7 are missing: 'y0_A', .*'y4_A', \.\.\.; take"),
    ]:
        with pytest.raises(DataError, match=message):
            table.aligned(names)
    assert values(table.aligned(["mono_G"]))[1:4].ravel().tolist() == [2, 2, 2]

    aligned = table.aligned(["y1_A", "rs1_A", "rs1_G"], needed=np.array([1, 2]))
    assert aligned.columns_at(np.array([1, 2]))[:, :2].tolist() == [[1, 2], [1, 0]]
    with pytest.raises(DataError, match="must have the column 'y1_A' to read it"):
        values(aligned)

    path.write_text(lines.replace("rs2\t0\t2000\tT\tC", "rs1\t0\t2000\tT\tA"))  # three alleles
    table = read_plink(copy, labels=False).table
    assert values(table.aligned(["rs1_T", "rs1_G"]))[:2].tolist() == [[1, 1], [2, 0]]
    with pytest.raises(DataError, match=r"1 have other alleles: 'rs1_A' "):
        table.aligned(["rs1_A"])
    path.write_text(lines.replace("rs7\t0\t77\tC\tG", "rs7\t0\t77\tC\t0"))
    with pytest.raises(DataError, match=r"1 have other alleles: 'rs7_0' \(here C and 0\)"):
        read_plink(copy, labels=False).table.aligned(["rs7_0"])


@pytest.mark.parametrize("n_people", [7, 8])
def test_a_line_too_many_is_told_from_a_person(n_people: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(n_people)
    path = tmp_path / "x.bed"
    bed_reader.to_bed(
        path,
        rng.choice(np.array([0, 1, 2], np.int8), (n_people, 200)),
        properties={"allele_1": ["A"] * 200, "allele_2": ["C"] * 200},
    )
    read_plink(path, labels=False)
    with path.with_suffix(".fam").open("a") as stream:
        stream.write("F X 0 0 0 0\n")
    if n_people == 7:
        with pytest.warns(RuntimeWarning, match="F X, has two A1 at all 200 variants compared"):
            read_plink(path, labels=False)
    else:
        with pytest.raises(DataError, match="must have 603 bytes"):
            read_plink(path, labels=False)


# --------------------------------------------------------------------------------------- models


def test_a_model_predicts_alike_for_a_file_that_counts_other_alleles(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    counts = rng.choice(np.array([0, 1, 2, -127], np.int8), (80, 60), p=[0.4, 0.3, 0.2, 0.1])
    is_case = counts[:, 3] + counts[:, 20] > 1
    people = {"iid": [f"I{k}" for k in range(80)], "pheno": [str(1 + c) for c in is_case.tolist()]}
    bed_reader.to_bed(
        tmp_path / "x.bed",
        counts,
        properties={**people, "allele_1": ["A"] * 60, "allele_2": ["C"] * 60},
    )
    data = read_plink(tmp_path / "x.bed")
    assert data.labels is not None
    model = BoostSampleClassifier(n_rounds=4, random_state=0).fit(data.table, data.labels)
    assert model.classes_.tolist() == [1, 2]
    assert model.score(data.table, data.labels) > 0.9

    X = np.where(counts < 0, np.nan, counts).astype(np.float32)
    of_array = BoostSampleClassifier(n_rounds=4, random_state=0).fit(X, data.labels)
    scores = of_array.decision_function(X)
    np.testing.assert_array_equal(model.decision_function(data.table), scores)

    used = {row["feature"] for row in model.history_}
    order = rng.permutation([k for k in range(60) if k in used or k % 2])
    swapped = order % 3 > 0
    other = np.where(swapped & (counts[:, order] >= 0), 2 - counts[:, order], counts[:, order])
    alleles = np.where(swapped, "C", "A"), np.where(swapped, "A", "C")
    bed_reader.to_bed(
        tmp_path / "y.bed",
        other[:33].astype(np.int8),
        properties={
            "sid": [f"sid{k + 1}" for k in order.tolist()],
            "allele_1": alleles[0],
            "allele_2": alleles[1],
        },
    )
    table = read_plink(tmp_path / "y.bed", labels=False).table
    np.testing.assert_array_equal(model.decision_function(table), scores[:33])
    bed_reader.to_bed(tmp_path / "y.bed", counts[:, :1].copy(), properties={"allele_1": ["G"]})
    with pytest.raises(DataError, match=r"must have the 60 variants that were learned, but"):
        model.predict(read_plink(tmp_path / "y.bed", labels=False).table)
