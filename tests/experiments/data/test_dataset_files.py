"""A user's own files and their options, good and bad."""

from __future__ import annotations

import bz2
import gzip
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.data import dataset_files
from boostsample.experiments.data.class_labels import parse_labels
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset

NAN = np.nan
X = np.array([[0, 1], [2, 3], [4, 5], [6, 7]], dtype=np.float64)
Y = np.array([3, 1, 3, 1])


def csv(tmp_path: Path, text: str, name: str = "mine.csv", **options: Any) -> Dataset:
    path = tmp_path / name
    data = text.encode("utf-8")
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return load_dataset(path, **options)


def npz(tmp_path: Path, **arrays: Any) -> Dataset:
    np.savez(tmp_path / "mine.npz", **arrays)
    return load_dataset(tmp_path / "mine.npz")


def refused(error: type[Exception], says: str, call: Any, *args: Any, **options: Any) -> None:
    with pytest.raises(error) as raised:
        call(*args, **options)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


# ---------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("values", "codes", "classes"),
    [
        (["10", "9", "10"], [1, 0, 1], ("9", "10")),
        (["10", "9", "x"], [0, 1, 2], ("10", "9", "x")),
        ([1.0, -1.0, 1.0], [1, 0, 1], ("-1", "1")),
        (["1", "1.0", " 2 "], [0, 0, 1], ("1", "2")),
        (["b", "a", " b"], [1, 0, 1], ("a", "b")),
        ([True, False], [1, 0], ("False", "True")),
        (["1_0", "10"], [1, 0], ("10", "1_0")),
        (["9007199254740993", "9007199254740992"], [1, 0], None),
        (["été", "zoo", "B"], [2, 1, 0], ("B", "zoo", "été")),
    ],
)
def test_labels_are_numbered_by_number_or_name(
    values: list[object], codes: list[int], classes: tuple[str, ...] | None
) -> None:
    found, names = parse_labels(values, "here")
    assert found.tolist() == codes
    assert found.dtype == np.int64
    if classes is not None:
        assert names == classes


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (["a", "", "b"], "here must have a label in every row, got '' in data row 2"),
        (["a", "b", "NA"], "got 'NA' in data row 3"),
        ([0.0, NAN], "here must have a label in every row, but contains NaN in data row 2"),
        ([0.0, 1.5], "here must hold whole numbers or text, got 1.5"),
        ([0.0, np.inf], "here must hold whole numbers or text, got inf"),
    ],
)
def test_bad_labels(values: list[object], says: str) -> None:
    refused(DataError, says, parse_labels, values, "here")


# ------------------------------------------------------------------------------------------- csv


def test_csv_with_a_header_and_missing_values(tmp_path: Path) -> None:
    text = "width, height,kind\n1,2,b\n,NA,a\n nan ,-3.5e1,b\nnull,?,a\n4,n/a,b\n"
    data = csv(tmp_path, text)
    assert data.name == "mine"
    assert data.columns == ("width", "height")
    assert data.classes == ("a", "b")
    assert data.y.tolist() == [1, 0, 1, 0, 1]
    expected = [[1, 2], [NAN, NAN], [NAN, -35], [NAN, NAN], [4, NAN]]
    assert np.array_equal(data.X, np.array(expected, dtype=np.float32), equal_nan=True)
    assert data.X.dtype == np.float32
    assert data.n_train is None


@pytest.mark.parametrize(
    ("text", "options", "rows", "labels", "columns"),
    [
        ("1,2,0\n3,4,1\n", {}, [[1, 2], [3, 4]], [0, 1], None),
        ("1,2,0\n3,4,1\n", {"label": 0}, [[2, 0], [4, 1]], [0, 1], None),
        ("1,2,0\n3,4,1\n", {"label": "1"}, [[1, 0], [3, 1]], [0, 1], None),
        ("5,6,7\n1,2,0\n3,4,1\n", {"header": True}, [[1, 2], [3, 4]], [0, 1], ("5", "6")),
        ("a,1,2\nb,3,4\n", {"label": 0}, [[1, 2], [3, 4]], [0, 1], None),
        ("y,u,v\na,1,2\nb,3,4\n", {"label": "y"}, [[1, 2], [3, 4]], [0, 1], ("u", "v")),
        ("1,y,v\n1,a,2\n3,b,4\n", {"label": "y"}, [[1, 2], [3, 4]], [0, 1], ("1", "v")),
        (",u,y\n0.5,1,a\n1,2,b\n", {}, [[0.5, 1], [1, 2]], [0, 1], ("column 0", "u")),
        ("1;2;a\n3;4;b\n", {}, [[1, 2], [3, 4]], [0, 1], None),
        ("1|2|a\n3|4|b\n", {"delimiter": "|"}, [[1, 2], [3, 4]], [0, 1], None),
        ("1\t2\ta\n3\t4\tb\n", {}, [[1, 2], [3, 4]], [0, 1], None),
        ('"1","2","a, b"\n\n"3","4","c"\n', {}, [[1, 2], [3, 4]], [0, 1], None),
        ("\ufeff1,2,a\r\n3,4,b\r\n", {}, [[1, 2], [3, 4]], [0, 1], None),
    ],
)
def test_csv_as_people_write_it(
    tmp_path: Path,
    text: str,
    options: dict[str, Any],
    rows: list[list[float]],
    labels: list[int],
    columns: tuple[str, ...] | None,
) -> None:
    for name in ("mine.csv", "mine.csv.gz"):
        data = csv(tmp_path, text, name, **options)
        assert data.name == "mine"
        assert data.X.tolist() == rows
        assert data.y.tolist() == labels
        assert data.columns == columns


def test_tsv_and_files_with_another_suffix(tmp_path: Path) -> None:
    data = csv(tmp_path, "u, v\ty\n1\ta\n2\tb\n", "mine.tsv")
    assert data.columns == ("u, v",)
    assert csv(tmp_path, "1,a\n2,b\n", "mine.data", kind="csv").classes == ("a", "b")


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("", {}, "must have at least one line of data, got none"),
        ("u,y\n", {}, "must have at least one line of data, got none"),
        ("1\n2\n", {}, "at least two columns, a feature and the label, got 1"),
        ("1,2,a\n3,b\n", {}, "line 2: every line must have 3 fields like the first, got 2"),
        ("u,v,y\n1,2,a\n\n3,x,b\n", {}, "line 4, column 'v' must be a number or missing, got 'x'"),
        ("1,2,a\n3,1_0,b\n", {}, "line 2, column 1 must be a number or missing, got '1_0'"),
        ("a,1,2\nb,x,4\n", {"label": 0}, "line 2, column 1 must be a number or missing, got 'x'"),
        ("u,v,y\n1,2,a\n3,4,\n", {}, "the label column must have a label in every row, got ''"),
        ("u,v,y\n1,2,1\n3,4,NaN\n", {}, "in every row, got 'NaN' in data row 2"),
        ("1,2,0.5\n3,4,1\n", {}, "the label column must hold whole numbers or text, got 0.5"),
        ("u,v,y\n1,inf,a\n3,4,b\n", {}, "line 2, column 'v' must lie within +-3.4e38"),
        ("1,2,a\n3,1e39,b\n", {}, "line 2, column 1 must lie within +-3.4e38 (float32), got 1e+39"),
        ("1,2,a\n3,4,a\n", {}, "mine: there must be at least two different classes, got 'a';"),
        ("1,2,a\n1,2,b\n", {}, "mine: some feature must differ"),
        ("u,u,y\n1,2,a\n3,4,b\n", {}, "mine: columns must be different names"),
        ("1,2,\x00\n", {}, r"two different classes, got '\x00'"),
    ],
)
def test_bad_csv_is_one_clear_line(
    tmp_path: Path, text: str, options: dict[str, Any], says: str
) -> None:
    refused(DataError, says, csv, tmp_path, text, **options)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"label": "w"}, "label must be a column of"),
        ({"label": "w"}, "got 'w'; columns: u, v, y"),
        ({"label": "y", "header": False}, "got 'y'; the file has no header"),
        ({"label": 3}, "a position from -3 to 2 for"),
        ({"label": -4}, "got -4"),
        ({"delimiter": ""}, "delimiter must be text, got ''"),
        ({"delimiter": "||"}, "delimiter must be one character, or tab or space, got '||'"),
        (
            {"labels": 1},
            "unknown option of csv files 'labels' (did you mean 'label'?); known: kind",
        ),
        ({"multilabel": True}, "unknown option of csv files 'multilabel'"),
        ({"kind": "excel"}, "unknown kind of data file 'excel'; known: csv, parquet, npz, svm"),
    ],
)
def test_bad_options_are_one_clear_line(tmp_path: Path, options: dict[str, Any], says: str) -> None:
    refused(SettingError, says, csv, tmp_path, "u,v,y\n1,2,a\n3,4,b\n", **options)


def test_damaged_csv(tmp_path: Path) -> None:
    good = gzip.compress(b"".join(b"%d,%d,a\n" % (i, i * i) for i in range(2000)))
    for name, content in (
        ("cut.csv.gz", good[:-100]),
        ("latin.csv", b"1,2,caf\xe9\n3,4,b\n"),
        ("huge.csv", b'1,2,"' + b"x" * 200_000 + b'"\n'),
    ):
        (tmp_path / name).write_bytes(content)
        refused(DataError, f"{name} cannot be read, it is damaged", load_dataset, tmp_path / name)


# ------------------------------------------------------------------------------------- any file


def test_a_file_must_exist_and_have_a_known_format(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.csv")
    refused(
        DataError, f"{missing!r} must be an existing file; there is none", load_dataset, missing
    )
    other = tmp_path / "mine.xls"
    other.write_text("1,2,a\n")
    refused(SettingError, "cannot tell the format of", load_dataset, other)
    refused(SettingError, "give kind=, one of csv, parquet, npz, svmlight", load_dataset, other)


def test_a_path_is_never_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chess").write_text("1,a\n2,b\n")
    assert load_dataset("./chess", kind="csv").X.shape == (2, 1)
    assert load_dataset(Path("chess"), kind="csv").X.shape == (2, 1)
    assert load_dataset("chess").X.shape == (1000, 10)


# ------------------------------------------------------------------------------------------- npz


def test_npz_table(tmp_path: Path) -> None:
    data = npz(tmp_path, X=X.astype(int), y=Y, columns=np.array(["u", "v"]))
    assert data.X.tolist() == X.tolist()
    assert data.X.dtype == np.float32
    assert data.y.tolist() == [1, 0, 1, 0]
    assert data.classes == ("1", "3")
    assert data.columns == ("u", "v")
    assert data.n_train is None


def test_npz_images_keep_uint8(tmp_path: Path) -> None:
    images = np.arange(24).reshape(4, 2, 3)
    for dtype, kept in ((np.uint8, np.uint8), (np.int64, np.float32), (np.float64, np.float32)):
        data = npz(tmp_path, X=images.astype(dtype), y=np.array(["a", "b", "a", "b"]))
        assert data.image_shape == (2, 3)
        assert data.X.dtype == kept
        assert data.X.tolist() == images.tolist()
        assert data.classes == ("a", "b")
    colour = npz(tmp_path, X=np.asfortranarray(np.arange(48).reshape(4, 2, 2, 3)), y=Y)
    assert colour.image_shape == (2, 2, 3)
    assert colour.X.flags.c_contiguous


def test_npz_with_its_own_cut(tmp_path: Path) -> None:
    data = npz(tmp_path, X_test=X[:1], y_test=[1], X_train=X[1:], y_train=Y[1:])
    assert data.n_train == 3
    assert data.X.tolist() == [*X[1:].tolist(), X[0].tolist()]
    assert data.y.tolist() == [0, 1, 0, 0]


def test_npz_multilabel(tmp_path: Path) -> None:
    y = np.array([[1, 0, 0], [0, 0, 0], [1, 1, 1], [0, 1, 0]])
    data = npz(tmp_path, X=X, y=y)
    assert data.y.dtype == np.int8
    assert data.y.tolist() == y.tolist()
    assert data.classes == ("0", "1", "2")


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        (
            {"X": X},
            "must hold the arrays X and y, or X_train, y_train, X_test and y_test (and colu",
        ),
        ({"X": X, "y": Y, "weights": Y}, "got X, weights, y"),
        ({}, "got none"),
        ({"X": X, "y": Y[:3]}, "mine: y must be int64 of shape (4,)"),
        ({"X": X[:, 0], "y": Y}, "got float32 of shape (4,)"),
        ({"X": X[:0], "y": Y[:0]}, "mine: X must have rows and features, got shape (0, 2)"),
        ({"X": X + 1j, "y": Y}, "X must hold real numbers, got dtype complex128"),
        ({"X": X.astype(str), "y": Y}, "X must hold real numbers, got dtype <U"),
        ({"X": X * 1e39, "y": Y}, "within +-3.4e38 (float32), got 1e+39 at (0, 1)"),
        ({"X": X.astype(object), "y": Y}, "Object arrays cannot be loaded"),
        (
            {"X": np.where(X == 3, np.inf, X), "y": Y},
            "mine: values must be finite or NaN (missing)",
        ),
        (
            {"X": X, "y": np.array([0, 1, NAN, 1])},
            "y must have a label in every row, but contains NaN",
        ),
        ({"X": X, "y": np.array([0.5, 1, 0, 1])}, "y must hold whole numbers or text, got 0.5"),
        ({"X": X, "y": Y[:, None]}, "or (n, K) of 0 and 1 with n >= 1 and K >= 2"),
        ({"X": X, "y": np.zeros((0, 7))}, "with n >= 1 and K >= 2 for several labels a row, got"),
        ({"X": X, "y": np.full((4, 2), 2)}, "got int64 of shape (4, 2)"),
        ({"X": X, "y": np.full((4, 2), "1")}, "got <U1 of shape (4, 2)"),
        ({"X": X, "y": Y + 1j}, "y must hold numbers or text, got dtype complex128"),
        ({"X": X, "y": Y, "columns": [1, 2]}, "columns must hold names (text), got dtype int64"),
        ({"X": X, "y": Y, "columns": ["a"]}, "columns must be different names, one for each"),
        (
            {"X_train": X, "y_train": Y, "X_test": X[:, :1], "y_test": Y},
            "X_train and X_test must agree in all but the number of rows, got shapes (4, 2) and",
        ),
        (
            {"X_train": X[:3], "y_train": Y[:2], "X_test": X[:1], "y_test": Y[:2]},
            "X_train and y_train must have equally many rows, got 3 and 2",
        ),
        ({"X_train": X, "y_train": Y, "X_test": X[:0], "y_test": Y[:0]}, "n_train must be between"),
    ],
)
def test_bad_npz_is_one_clear_line(tmp_path: Path, arrays: dict[str, Any], says: str) -> None:
    refused(DataError, says, npz, tmp_path, **arrays)


def test_damaged_npz(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, X=np.random.default_rng(1).random((50, 4)), y=np.arange(50) % 2)
    good = buffer.getvalue()
    single = io.BytesIO()
    np.save(single, X)
    for content, says in (
        (good[: len(good) // 2], "cannot be read, it is damaged or in another format"),
        (good[:200] + bytes([good[200] ^ 255]) + good[201:], "cannot be read, it is damaged"),
        (b"", "cannot be read, it is damaged"),
        (b"1,2,a\n", "cannot be read, it is damaged"),
        (pickle.dumps({"X": X}), "cannot be read, it is damaged"),
        (single.getvalue(), "must be an .npz archive, got a single array"),
    ):
        path = tmp_path / "mine.npz"
        path.write_bytes(content)
        refused(DataError, f"{path} {says}", load_dataset, path)


# -------------------------------------------------------------------------------------- svmlight

SVM = "1 1:0.5 3:2\n-1 2:1\n+1 3:nan # comment\n"


def test_svmlight(tmp_path: Path) -> None:
    raw = SVM.encode()
    cases: list[tuple[str, bytes, dict[str, Any]]] = [
        ("mine.svm", raw, {}),
        ("mine.libsvm.gz", gzip.compress(raw), {}),
        ("mine.bz2", bz2.compress(raw), {"kind": "svmlight"}),
    ]
    for name, content, options in cases:
        (tmp_path / name).write_bytes(content)
        data = load_dataset(tmp_path / name, **options)
        expected = np.array([[0.5, 0, 2], [0, 1, 0], [0, 0, NAN]], dtype=np.float32)
        assert np.array_equal(data.X, expected, equal_nan=True)
        assert data.X.dtype == np.float32
        assert data.y.tolist() == [1, 0, 1]
        assert data.classes == ("-1", "1")
        assert data.name == "mine"


def test_svmlight_multilabel(tmp_path: Path) -> None:
    path = tmp_path / "mine.svmlight"
    path.write_text("2,10 1:1\n 1:2\n10 1:3 2:1\n")
    data = load_dataset(path, multilabel=True)
    assert data.y.tolist() == [[1, 1], [0, 0], [0, 1]]
    assert data.y.dtype == np.int8
    assert data.classes == ("2", "10")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "mine: X must have rows and features"),
        ("1 1:1\n-1 x:1\n", "cannot be read, it is damaged or in another format"),
        ("1,2,a\n3,4,b\n", "cannot be read, it is damaged or in another format"),
        ("0.5 1:1\n1 1:2\n", "the labels must hold whole numbers or text, got 0.5"),
        ("nan 1:1\n1 1:2\n", "the labels must have a label in every row, but contains NaN"),
        ("1 1:1\n0 1:inf\n", "mine: values must be finite or NaN (missing), got inf in row 1"),
        ("1 1:1\n1 1:2\n", "mine: there must be at least two different classes, got '1'; add"),
    ],
)
def test_bad_svmlight_is_one_clear_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "mine.svm"
    path.write_text(text)
    refused(DataError, says, load_dataset, path)


def test_svmlight_too_wide_for_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.svm"
    path.write_text("1 1:1\n-1 1000000:1\n")
    monkeypatch.setattr(dataset_files, "machine_memory", lambda: 7e6)
    says = "a dense table must fit into memory, 0.0 GiB, but 2 x 1000000 values need 0.0 GiB"
    refused(DataError, says, load_dataset, path)
    monkeypatch.setattr(dataset_files, "machine_memory", lambda: 9e6)
    assert load_dataset(path).X.shape == (2, 1000000)
