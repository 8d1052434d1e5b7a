"""Original files without a published hash, made small: read, and refused in another shape."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from boostsample.errors import DataError
from boostsample.experiments.data import originals
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset

NAN = np.nan
TRAIN, TEST = "isolet1+2+3+4.data", "isolet5.data"
TABLE, CHURN = "orange_small_train.data", "orange_small_train_churn.labels"
ROWS = 24


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Expect small files in the shape of the originals, and keep away from the cache folder."""
    monkeypatch.setenv("BOOSTSAMPLE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(originals, "_ISOLET_FILES", {TRAIN: (102, 4), TEST: (51, 2)})
    monkeypatch.setattr(originals, "_KDD_ROWS", ROWS)
    monkeypatch.setitem(originals.KDD_POSITIVES, "churn", 6)


def isolet_text(letters: list[int], seed: int) -> str:
    values = np.random.default_rng(seed).integers(-10000, 10001, size=(len(letters), 617)) / 10000
    return "".join(
        f"{', '.join(f'{value:.4f}' for value in row)}, {letter}.\n"
        for row, letter in zip(values.tolist(), letters, strict=True)
    )


def make_isolet(folder: Path) -> None:
    """Write 102 and 51 rows: two letters lack a row of training, one of testing."""
    letters = list(range(1, 27))
    train = isolet_text((letters * 4)[:6] + (letters * 4)[7:12] + (letters * 4)[13:], 0)
    folder.mkdir(exist_ok=True)
    (folder / f"{TRAIN}.gz").write_bytes(gzip.compress(train.encode()))
    (folder / TEST).write_text(isolet_text((letters * 2)[:12] + (letters * 2)[13:], 1))


def kdd_fields() -> list[list[str]]:
    """Return 24 rows, mostly empty; Var1 and Var191 to Var193 have values."""
    rows = [[""] * 230 for _ in range(ROWS)]
    for at, row in enumerate(rows):
        row[0] = "" if at % 3 == 0 else str(at / 2)
        row[190] = ["often", "often", "seldom", ""][at % 4]
        row[191] = f"only{at}"
        row[192] = "NA" if at < 20 else "x"
    return rows


def make_kdd(folder: Path, end: str = "\n") -> None:
    header = [f"Var{number}" for number in range(1, 231)]
    folder.mkdir(exist_ok=True)
    lines = ["\t".join(fields) + end for fields in (header, *kdd_fields())]
    (folder / TABLE).write_bytes("".join(lines).encode())
    labels = "".join(f"{'1' if at % 4 == 0 else '-1'}{end}" for at in range(ROWS))
    (folder / CHURN).write_bytes(labels.encode())


def refused(name: str, folder: Path) -> str:
    """Return the one line with which the files of a set are refused."""
    with pytest.raises(DataError) as raised:
        load_dataset(name, data_dir=folder)
    message = str(raised.value)
    assert "\n" not in message
    return message


def changed(path: Path, change: Callable[[list[str]], list[str]]) -> None:
    """Change the lines of a file."""
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(change(lines)))


def first_field(value: str, sep: str, line: int = 1) -> Callable[[list[str]], list[str]]:
    """Return a change that writes another first field into a line, counted from 0."""

    def change(lines: list[str]) -> list[str]:
        rest = lines[line].split(sep)[1:]
        return [*lines[:line], sep.join([value, *rest]), *lines[line + 1 :]]

    return change


def last_field(value: str) -> Callable[[list[str]], list[str]]:
    """Return a change that writes another last field into the first line."""
    return lambda lines: [f"{lines[0].rpartition(',')[0]}, {value}\n", *lines[1:]]


def test_isolet(tmp_path: Path) -> None:
    make_isolet(tmp_path / "isolet")
    data = load_dataset("isolet", data_dir=tmp_path)
    assert data.X.shape == (153, 617)
    assert data.X.dtype == np.float32
    assert data.classes == tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    assert [len(rows) for rows in data.split(0, 0)] == [102, 51]
    assert np.bincount(data.y).tolist() == [6] * 6 + [5] + [6] * 5 + [4] + [6] * 13
    first = (tmp_path / "isolet" / TEST).read_text().split("\n")[0].split(", ")
    assert data.X[102].tolist() == [np.float32(value) for value in first[:-1]]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda lines: lines[1:], "must have 51 lines of 618 numbers, got 50 of 618"),
        (lambda lines: [*lines[:-1], "0.5, 1.\n"], "must have lines of numbers, got "),
        (first_field("1.0001", ","), "must have values from -1 to 1, got others"),
        (lambda lines: [*lines[:-1], lines[0]], "each at most 2 times, got 51 of these, one 3"),
        (last_field("27."), "the last numbers 1 to 26, each at most 2 times, got 50 of these"),
    ],
    ids=["short", "ragged", "range", "letters", "27"],
)
def test_isolet_in_another_shape_is_refused(
    tmp_path: Path, change: Callable[[list[str]], list[str]], says: str
) -> None:
    make_isolet(tmp_path)
    changed(tmp_path / TEST, change)
    message = refused("isolet", tmp_path)
    assert message.startswith(f"{tmp_path / TEST} must have ")
    assert says in message
    assert "it is not the original file, replace it by that of https://archive.ics" in message


def churn(folder: Path) -> Dataset:
    return load_dataset("kdd2009-churn", data_dir=folder)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_kdd_has_missing_values_and_counts_of_categories(tmp_path: Path, end: str) -> None:
    make_kdd(tmp_path / "kdd2009", end)
    data = churn(tmp_path)
    assert data.X.shape == (ROWS, 230)
    assert data.classes == ("-1", "1")
    assert data.columns is not None
    assert (data.columns[0], data.columns[-1]) == ("Var1", "Var230")
    assert data.y.tolist() == [1, 0, 0, 0] * 6
    np.testing.assert_array_equal(data.X[:4, 0], [NAN, 0.5, 1, NAN])
    np.testing.assert_array_equal(data.X[:, 190], [12, 12, 6, NAN] * 6)
    np.testing.assert_array_equal(data.X[:, 191], [1] * ROWS)
    np.testing.assert_array_equal(data.X[:, 192], [20] * 20 + [4] * 4)  # NA is a category
    assert np.isnan(data.X[:, 1:190]).all()
    assert np.isnan(data.X[:, 193:]).all()
    assert data.n_train is None
    assert [len(rows) for rows in data.split(0, 0)] == [18, 6]


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        (TABLE, lambda lines: lines[1:], "the names Var1 to Var230, separated by tabs, got"),
        (TABLE, lambda lines: lines[:-1], "must have 24 lines below its header, got 23"),
        (TABLE, lambda lines: [*lines[:-1], "1\t2\n"], "fields in every line, got 2 in line 25"),
        (TABLE, first_field("taul", "\t", 3), "numbers in the columns Var1 to Var190, got in line"),
        (CHURN, lambda lines: ["-1\n", *lines[1:]], "got 24 lines, 5 of 1 and 19 of -1"),
    ],
    ids=["header", "short", "ragged", "text", "counts"],
)
def test_kdd_in_another_shape_is_refused(
    tmp_path: Path, name: str, change: Callable[[list[str]], list[str]], says: str
) -> None:
    make_kdd(tmp_path)
    changed(tmp_path / name, change)
    message = refused("kdd2009-churn", tmp_path)
    assert message.startswith(f"{tmp_path / name} must have ")
    assert says in message
    assert "it is not the original file, replace it by that of https://kdd.org/" in message
