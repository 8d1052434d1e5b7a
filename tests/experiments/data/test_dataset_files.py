"""A user's own files and their options, good and bad."""

from __future__ import annotations

import bz2
import gzip
import io
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from boostsample.errors import DataError, SettingError
from boostsample.experiments.commands.cli import main
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.data.table_reader import split_data_text
from boostsample.experiments.results.read_folder import read_results
from tests.experiments.small_runs import prepared, refused
from tests.paths import ROOT

NAN = np.nan
X = np.array([[0, 1], [2, 3], [4, 5], [6, 7]], dtype=np.float64)
Y = np.array([3, 1, 3, 1])


@pytest.fixture(autouse=True)
def _with_a_file() -> None:
    Path("x.csv").write_text("ID,target,u,v\nr0,a,1,2\nr1,b,3,4\nr2,a,5,6\nr3,b,7,8\n", "utf-8")


def npz(tmp_path: Path, **arrays: Any) -> Dataset:
    np.savez(tmp_path / "mine.npz", **arrays)
    return load_dataset(tmp_path / "mine.npz")


def test_a_file_must_exist_and_have_a_known_format() -> None:
    refused(DataError, "'no.csv' must be an existing file; there is none", load_dataset, "no.csv")
    Path("mine.xls").write_text("1,2,a\n")
    for says in ("cannot tell the format of", "give kind=, one of csv, parquet, npz, svmlight, pl"):
        refused(SettingError, says, load_dataset, Path("mine.xls"))


def test_a_path_is_never_a_name() -> None:
    Path("chess").write_text("1,a\n2,b\n")
    assert load_dataset("./chess", kind="csv").X.shape == (2, 1)
    assert load_dataset(Path("chess"), kind="csv").X.shape == (2, 1)
    assert load_dataset("chess").X.shape == (1000, 10)


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
            "must hold labels, the array y; add it by numpy.savez, or name a file of labels, an",
        ),
        ({"X": X, "y": Y, "weights": Y}, "got X, weights, y"),
        (
            {"weights": Y},
            "must hold the arrays X and y, or X_train, y_train, X_test and y_test (and colu",
        ),
        ({"X": X, "y": Y[:3]}, "mine: y must be int64 of shape (4,)"),
        ({"X": X + 1j, "y": Y}, "X must hold real numbers, got dtype complex128"),
        ({"X": X * 1e39, "y": Y}, "or NaN (missing), got inf in row 0, column 1; replace it"),
        ({"X": X.astype(object), "y": Y}, "Object arrays cannot be loaded"),
        ({"X": X, "y": np.array([0.5, 1, 0, 1])}, "y must hold whole numbers or text, got 0.5"),
        ({"X": X, "y": Y[:, None]}, "or (n, K) of 0 and 1 with n >= 1 and K >= 2"),
        ({"X": X, "y": Y + 1j}, "y must hold numbers or text, got dtype complex128"),
        ({"X": X, "y": Y, "columns": [1, 2]}, "columns must hold names (text), got dtype int64"),
        (
            {"X_train": X, "y_train": Y, "X_test": X[:, :1], "y_test": Y},
            "X_train and X_test must agree in all but the number of rows, got shapes (4, 2) and",
        ),
        (
            {"X_train": X[:3], "y_train": Y[:2], "X_test": X[:1], "y_test": Y[:2]},
            "X_train and y_train must have equally many rows, got 3 and 2",
        ),
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
        (single.getvalue(), "must be an .npz archive, got a single array"),
    ):
        path = tmp_path / "mine.npz"
        path.write_bytes(content)
        refused(DataError, f"{path} {says}", load_dataset, path)


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
        expected = np.array([[0, 0.5, 0, 2], [0, 0, 1, 0], [0, 0, 0, NAN]], dtype=np.float32)
        assert (data.X.format, data.X.dtype, data.X.nnz) == ("csc", np.float32, 4)
        np.testing.assert_array_equal(data.X.toarray(), expected)
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
        ("1 1:1\n-1 x:1\n", "line 2: features must be INDEX:NUMBER with an index from 0 on, got"),
        ("0.5 1:1\n1 1:2\n", "the labels must hold whole numbers or text, got 0.5"),
        ("1 1:1\n0 1:inf\n", "mine: values must be finite or NaN (missing), got inf in row 1"),
    ],
)
def test_bad_svmlight_is_one_clear_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "mine.svm"
    path.write_text(text)
    refused(DataError, says, load_dataset, path)


def digest(data: Dataset) -> str:
    return prepared(data, "uniform-naive", marks=(2,), repeats=1).data.digest


def test_sparse_files_of_one_matrix_are_one_data_set(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 3, (40, 6)) * (rng.random((40, 6)) < 0.3)
    y = np.where(np.arange(40) % 3, "yes", "no")
    names = np.array(list("abcdef"))
    saved = sparse.csr_array(table)
    sparse.save_npz("x.npz", saved)
    np.save("y.npy", y)
    Path("y.txt").write_text("\n".join(y) + "\n", "utf-8")
    parts = {name: getattr(saved, name) for name in ("data", "indices", "indptr")}
    np.savez("all.npz", format="csr", shape=saved.shape, **parts, y=y, columns=names)
    np.savez("dense.npz", X=table, y=y, columns=names)
    one, *others = [
        load_dataset(text)
        for text in ("x.npz:label=y.npy", "x.npz:label=y.txt", "all.npz", "dense.npz")
    ]
    assert (one.is_sparse, one.columns, one.classes) == (True, None, ("no", "yes"))
    for data in others:
        np.testing.assert_array_equal(one.X.toarray(), getattr(data.X, "toarray", lambda: table)())
        assert data.y.tolist() == one.y.tolist()
        assert data.columns == (None if data.name == "x" else tuple(names.tolist()))
        assert data.split(0, 3)[1].tolist() == one.split(0, 3)[1].tolist()
        if data.is_sparse:
            assert digest(data) == digest(one)
    other = sparse.csr_array((saved.data, saved.indices[::-1].copy(), saved.indptr), saved.shape)
    sparse.save_npz("x.npz", other)
    changed = load_dataset("x.npz:label=y.npy")
    assert digest(changed) != digest(one)


@pytest.mark.parametrize(
    ("X", "says"),
    [
        ([[0, 1], [0, np.inf]], "got inf in row 1, column 1; replace it"),
        ([[0, 2], [0, 2]], "some feature must differ between the training rows, but all 2 are"),
        ([[0, 0], [0, 0]], "some feature must differ between the training rows, but all 2 are"),
        ([[NAN, 0], [NAN, 0]], "some feature must differ between the training rows, but all 2"),
    ],
)
def test_sparse_data_that_cannot_be_learned_from(X: Any, says: str) -> None:
    matrix = sparse.csc_array(np.array(X, np.float32))
    refused(DataError, says, Dataset, "x", matrix, np.array([0, 1]), ("a", "b"))
    refused(DataError, "in CSC format", Dataset, "x", matrix.tocsr(), np.array([0, 1]), ("a", "b"))
    good = sparse.csc_array(np.array([[0, NAN], [0, 0]], np.float32))
    assert Dataset("x", good, np.array([0, 1]), ("a", "b")).n_examples == 2


@pytest.mark.parametrize(
    ("text", "shape", "classes"),
    [
        ("study.bed", (7, 10), ("1", "2")),
        ("study.bed:pheno={}/study.pheno:label=second", (4, 10), ("1", "2")),
        ("csc.h5ad:label=kind", (30, 14), ("B cell", "T cell", "naïve")),
        ("csr.h5ad:label=kind:layer=messy", (30, 14), ("B cell", "T cell", "naïve")),
        ("dense.h5ad:label=is_t", (30, 14), ("False", "True")),
    ],
)
def test_variants_and_genes(text: str, shape: Any, classes: tuple[str, ...]) -> None:
    folder = ROOT / "tests" / "formats" / "files"
    with warnings.catch_warnings(action="ignore"):  # people without a phenotype
        data = load_dataset(f"{folder}/{text.format(folder)}")
        again = load_dataset(f"{folder}/{text.format(folder)}")
    assert (data.X.shape, data.classes) == (shape, classes)
    assert data.columns is not None
    assert len(set(data.columns)) == shape[1]
    assert digest(data) == digest(again)
    if not data.is_sparse:
        assert digest(replace(data, X=data.X[::-1])) != digest(data)


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("x.npz", DataError, "x.npz must hold labels, the array y; add it by numpy.savez, or name"),
        ("x.npz:label=no.npy", DataError, "the file of labels 'no.npy' must exist; there is none"),
        ("x.npz:label=two.txt", DataError, "two.txt must have a label for each of 4 rows, got 2"),
        (
            "x.npz:label=x.npz",
            DataError,
            "x.npz cannot be read, it is damaged or in another format",
        ),
        ("both.npz:label=two.txt", SettingError, "both.npz has the labels y; leave out the label"),
    ],
)
def test_wrong_labels_of_matrices(text: str, error: type[Exception], says: str) -> None:
    sparse.save_npz("x.npz", sparse.csr_array(X))
    np.savez("both.npz", X=X, y=Y)
    Path("two.txt").write_text("a\nb\n")
    refused(error, says, load_dataset, text)


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("x.csv", "x.csv", {}),
        ("x.csv:label=target:drop=ID", "x.csv", {"label": "target", "drop": "ID"}),
        ("C:/x.csv:label=a:b", "C:/x.csv", {"label": "a:b"}),
        ("x.csv:delimiter=::label=0", "x.csv", {"delimiter": ":", "label": "0"}),
        ("chess(d=4,n=100)", "chess(d=4,n=100)", {}),
    ],
)
def test_options_follow_a_path(text: str, name: str, options: dict[str, str]) -> None:
    assert split_data_text(text) == (name, options)


@pytest.mark.parametrize(
    ("text", "options", "columns"),
    [
        ("x.csv:label=target:drop=ID", {}, ("u", "v")),
        ("x.csv", {"label": "target", "drop": ["ID"]}, ("u", "v")),
        ("x.csv:label=1:drop=0,u:header=true", {}, ("v",)),
    ],
)
def test_text_and_arguments_say_the_same(
    text: str, options: dict[str, Any], columns: tuple[str, ...]
) -> None:
    data = load_dataset(text, **options)
    assert data.columns == columns
    assert data.classes == ("a", "b")
    assert data.X[:, -1].tolist() == ([1, 3, 5, 7] if columns == ("u",) else [2, 4, 6, 8])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x.csv:lable=target", "unknown option of csv files 'lable' (did you mean 'label'?)"),
        ("x.csv:label=", "label must be the name or the position of a column, got ''"),
        ("x.csv:label=u:label=v", "x.csv: label must be given once, got it twice"),
        ("x.csv:drop=ID,", "drop must be columns by name or position, as in ID,date, got 'ID,'"),
        ("x.csv:header=perhaps", "header must be true or false, got 'perhaps'"),
        ("x.csv:name=", "name must be text, got ''"),
        ("x.csv.gz.gz", "unknown data set"),
    ],
)
def test_wrong_options_are_one_clear_line(text: str, says: str) -> None:
    refused(SettingError, says, load_dataset, text)


def test_the_same_rows_have_the_same_split_and_streams_under_any_name() -> None:
    y = np.arange(80) % 2
    table = np.column_stack([np.arange(80.0), y])
    for name in ("one.csv", "two.tsv"):
        np.savetxt(name, table, delimiter="\t" if name == "two.tsv" else ",")
    np.savez("three.npz", X=table[:, :1], y=y)
    texts = ("one.csv", "two.tsv", "three.npz", "one.csv:name=four")
    one, *others = [load_dataset(text) for text in texts]
    assert [data.name for data in (one, *others)] == ["one", "two", "three", "four"]
    for data in others:
        assert data.split(1, 2)[1].tolist() == one.split(1, 2)[1].tolist()
        assert data.seeded_by == one.seeded_by
    # Recorded once: the draw must not change between versions and machines.
    assert one.split(0, 0)[1][:6].tolist() == [4, 6, 10, 11, 15, 17]


def test_named_sets_are_seeded_by_their_names() -> None:
    data = load_dataset("chess(d=3,n=60)")
    assert data.seeded_by == data.name == "chess(d=3,J=3,L=3,n=60)"
    assert load_dataset("chess:d=3:n=60").name == data.name
    again = Dataset(data.name, data.X, data.y, data.classes)
    assert again.split(0, 0)[1].tolist() == data.split(0, 0)[1].tolist()


def test_commands_and_grids_take_options_and_names_do_not_matter() -> None:
    u = np.random.default_rng(0).random((60, 2)).round(3)
    lines = [f"r{i},{'ab'[a > b]},{a},{b}" for i, (a, b) in enumerate(u.tolist())]
    for name in ("one.csv", "two.csv"):
        Path(name).write_text("\n".join(["ID,target,u,v", *lines]), "utf-8")
    Path("grid.toml").write_text(
        'data = [{ path = "two.csv", label = "target", drop = ["ID"] }]', "utf-8"
    )
    few = ["--rounds", "2", "--repeats", "2", "--strategies", "uniform-naive:n_features=1"]
    rows = []
    for folder, args in (
        ("first", ["--data", "one.csv:label=target:drop=ID"]),
        ("second", ["--grid", "grid.toml"]),
        ("third", ["--grid", "second/plan.json"]),
    ):
        assert main(["compare", *args, *few, "--results", folder]) == 0
        rows.append([{**row, "data": "", "seconds": 0} for row in read_results(folder).rows])
    assert rows[0] == rows[1] == rows[2]
