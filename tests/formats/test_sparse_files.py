"""svmlight and SciPy .npz files, written by scikit-learn and SciPy, good and bad."""

from __future__ import annotations

import bz2
import gzip
import io
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from boostsample.errors import DataError
from boostsample.formats.sparse_files import (
    MOST_COLUMNS,
    read_npz_arrays,
    read_sparse_parts,
    read_svmlight,
)
from tests.damages import damaged


def matrix(dtype: Any = np.float64) -> Any:
    """A table (12, 8) of a dtype with empty rows and columns; both sides are even for blocks."""
    rng = np.random.default_rng(0)
    table = (rng.integers(-3, 4, (12, 8)) * (rng.random((12, 8)) < 0.4)).astype(dtype)
    table[3], table[:, 7] = 0, 0
    return table


def read(path: Path) -> Any:
    return read_sparse_parts(read_npz_arrays(path), path)


def check_canonical(X: Any, table: Any) -> None:
    assert (X.format, X.dtype, X.indices.dtype, X.indptr.dtype) == (
        "csr",
        np.float32,
        np.int32,
        np.int32,
    )
    assert X.has_canonical_format
    assert X.nnz == np.count_nonzero(table)
    np.testing.assert_array_equal(X.toarray(), table.astype(np.float32))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
@pytest.mark.parametrize("zero_based", [True, False])
def test_columns_of_svmlight_are_those_of_the_file(
    tmp_path: Path, pack: Any, zero_based: bool
) -> None:
    buffer, y = io.BytesIO(), np.arange(12) % 3
    options: Any = {"zero_based": zero_based, "comment": "made here", "query_id": y}
    dump_svmlight_file(matrix(), y, buffer, **options)
    ending = {bytes: "", gzip.compress: ".gz", bz2.compress: ".bz2"}[pack]
    path = tmp_path / f"x.svm{ending}"
    path.write_bytes(pack(buffer.getvalue()))
    X, labels, groups = read_svmlight(path, n_columns=10)
    table = np.zeros((12, 10))
    table[:, 1 - zero_based : 9 - zero_based] = matrix()
    check_canonical(X, table)
    assert labels.tolist() == y.tolist()
    assert groups is not None
    assert groups.tolist() == y.tolist()
    assert read_svmlight(path).X.shape == (12, 8 - zero_based)


def test_values_of_svmlight_that_are_not_stored_are_zero(tmp_path: Path) -> None:
    path = tmp_path / "x.svm"
    path.write_text("# no row\n1 qid:3 1:0 4:-0.0 5:nan # a comment 7:1\n\n2,3 qid:-1\n")
    with pytest.raises(DataError, match="line 4: its label must be a number, got '2,3'"):
        read_svmlight(path)
    X, labels, groups = read_svmlight(path, multilabel=True)
    assert (X.nnz, X.indices.tolist(), np.isnan(X.data).tolist()) == (1, [5], [True])
    assert labels == [(1,), (2, 3)]
    assert groups is not None
    assert groups.tolist() == [3, -1]


@pytest.mark.parametrize(
    ("text", "n_columns", "says"),
    [
        ("# x\n\n1 3:1 2:1\n", None, "line 3: indices must ascend and be below 67,108,864, got"),
        (
            "1 3:1 3:1\n",
            None,
            "line 1: indices must ascend and be below 67,108,864, got '3' aft",
        ),
        ("1 1:1\n1 -1:1\n", None, "line 2: features must be INDEX:NUMBER with an index from 0 on"),
        ("1 qid:1 1:1:1 # x\n", None, "line 1: features must be INDEX:NUMBER with an index from 0"),
        ("1 qid:a 1:1\n", None, "line 1: qid: must have a whole number, got 'a'"),
        ("1 qid:1 1:1\n1 qid:1.5 1:1\n", None, "line 2: qid: must have a whole number"),
        ("1 qid:1 1:1\n1 2:1\n", None, "must have qid: in every line or in none, got 1 in 2 lines"),
        ("1 0:1\n1 1\n", None, "from 0 on, got '1'"),
        ("1 0:1\n1 1:x\n", None, "line 2: features must be INDEX:NUMBER"),
        ("1 0:1\nyes 1:1\n", None, "line 2: its label must be a number, got 'yes'"),
        ("", None, "must have at least one row, got none"),
        ("1 1:1\n1 7:1\n", 7, "must have indices below 7, the number of columns, got 7; leave out"),
        (f"1 {MOST_COLUMNS}:1\n", None, "67,108,864 columns, got shape (1, 67108865)"),
        (
            "1 99999999999:1\n",
            None,
            "line 1: indices must ascend and be below 67,108,864, got '99",
        ),
    ],
)
def test_wrong_svmlight_is_refused(
    tmp_path: Path, text: str, n_columns: int | None, says: str
) -> None:
    (tmp_path / "x.svm").write_text(text)
    with gzip.open(tmp_path / "x.svm.gz", "wb") as stream:
        stream.write(text.encode())
    for name in ("x.svm", "x.svm.gz"):
        with pytest.raises(DataError, match=re.escape(says)) as caught:
            read_svmlight(tmp_path / name, n_columns=n_columns)
        assert str(caught.value).startswith(str(tmp_path / name))


@pytest.mark.parametrize("name", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, bool])
def test_matrices_of_scipy(tmp_path: Path, name: str, kind: str, dtype: Any) -> None:
    saved = getattr(sparse, f"{name}_{kind}")(matrix(dtype))
    for packed in (False, True):
        sparse.save_npz(tmp_path / "x.npz", saved, compressed=packed)
        check_canonical(read(tmp_path / "x.npz"), matrix(dtype))
    arrays = read_npz_arrays(tmp_path / "x.npz")
    for part in {"indices", "indptr", "row", "col", "coords", "offsets"} & arrays.keys():
        arrays[part] = arrays[part].astype(np.int64 if kind == "array" else np.int16)
    if dtype == np.float64:
        arrays["data"] = arrays["data"].astype(np.float16 if kind == "array" else np.longdouble)
    check_canonical(read_sparse_parts(arrays, Path("x.npz")), matrix(dtype))


def test_repeats_are_added_and_stored_zeros_left_out(tmp_path: Path) -> None:
    values = np.array([1, 2, 0, np.nan, 5.0])
    coo = sparse.coo_array((values, ([0, 0, 1, 2, 2], [3, 3, 1, 0, 1])), shape=(3, 4))
    sparse.save_npz(tmp_path / "x.npz", coo)
    X = read(tmp_path / "x.npz")
    assert (X.nnz, X.indices.tolist(), X.data.tolist()[::2]) == (3, [3, 0, 1], [3, 5])
    csr = sparse.csr_array((values, [3, 3, 1, 1, 0], [0, 2, 3, 5]), shape=(3, 4))
    sparse.save_npz(tmp_path / "x.npz", csr)
    assert read(tmp_path / "x.npz").toarray().tolist()[0] == [0, 0, 0, 3]


def test_columns_that_float32_merges_are_named(tmp_path: Path) -> None:
    table = matrix()
    table[:, 2] = 1e9 + np.arange(12)
    table[0, 5], table[1:, 5] = 1e-60, 0
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_array(table))
    with pytest.warns(RuntimeWarning, match=r"in 2 of them .*column 2'.*column 5'"):
        read(tmp_path / "x.npz")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sparse.save_npz(tmp_path / "x.npz", sparse.csr_array(table.astype(np.float32)))
        read(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        ("csr", {"format": np.array("lil")}, "the format must be one of csr, csc, bsr, coo, dia"),
        ("csr", {"format": np.array([1, 2])}, "the format must be one of"),
        ("csr", {"shape": np.array([12])}, "must have rows and columns, got shape [12]"),
        ("csr", {"shape": np.array([12, 5])}, "of each column must be from 0 to 4, got 0 to 6"),
        ("csr", {"shape": np.array([13, 8])}, "from 0 to the 24 stored values, with 14 places"),
        ("csr", {"shape": np.array([12, 10**12])}, "67,108,864 columns, got shape (12, 1000000000"),
        ("csc", {"shape": np.array([10**12, 8])}, "67,108,864 rows and"),
        ("csr", {"shape": np.array([2**31, 8])}, "from 1 to 2,147,483,647 rows"),
        ("csr", {"shape": np.array([0, 8])}, "from 1 to"),
        ("csr", {"shape": np.array([12.0, 8])}, "shape must be whole numbers of 1 axes, got flo"),
        ("csr", {"data": np.ones(24, complex)}, "data must be real numbers of 1 axes, got compl"),
        ("csr", {"data": np.ones(23)}, "must ascend from 0 to the 23 stored values"),
        ("csr", {"indices": None}, "indices must be whole numbers of 1 axes, got none"),
        ("csr", {"indices": np.full(24, -1)}, "from 0 to 7, got -1 to -1; the file is damaged"),
        ("csr", {"indices": np.full(24, 2**63, np.uint64)}, "within 62 bits"),
        ("csr", {"indptr": np.arange(13)[::-1]}, "indptr must ascend"),
        ("csc", {"indices": np.full(24, 12)}, "of each row must be from 0 to 11"),
        ("coo", {"row": np.arange(5)}, "a row for each of 24 values, got 5"),
        ("coo", {"col": np.full(24, 8)}, "of each column must be from 0 to 7"),
        ("bsr", {"shape": np.array([11, 8])}, "must divide the shape (11, 8)"),
        ("dia", {"offsets": np.full(2, 1)}, "a diagonal for each of"),
        ("dia", {"offsets": np.full(17, 1)}, "diagonals must differ"),
    ],
)  # fmt: skip
def test_wrong_matrices_are_refused(
    tmp_path: Path, name: str, changes: dict[str, Any], says: str
) -> None:
    path = tmp_path / "x.npz"
    saved: Any = {"csr": matrix(), "bsr": sparse.bsr_array(matrix(), blocksize=(2, 2))}
    sparse.save_npz(path, getattr(sparse, f"{name}_array")(saved.get(name, matrix())))
    arrays = {**read_npz_arrays(path), **changes}
    if "row" in changes or "col" in changes:
        row, col = arrays.pop("coords", (arrays.get("row"), arrays.get("col")))
        arrays = {"row": row, "col": col, **arrays, **changes}
    with pytest.raises(DataError, match=re.escape(says)):
        read_sparse_parts({key: value for key, value in arrays.items() if value is not None}, path)


def lying(arrays: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """The arrays of a matrix, one of them with other values, in another order, or cut."""
    name = str(rng.choice(sorted(arrays)))
    array = arrays[name].copy()
    if array.ndim == 0 or not array.size:
        return {key: value for key, value in arrays.items() if key != name}
    flat, way = array.reshape(-1), int(rng.integers(4))
    if way == 0:
        changed = rng.choice([-1, 0, 1, 7, 8, 12, 100, 2**31, 2**40, -(2**63)])
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            flat[rng.integers(flat.size)] = np.array(changed).astype(array.dtype)
    elif way == 1:
        flat[:] = rng.permutation(flat)
    elif way == 2:
        array = array[: rng.integers(0, len(array) + 1)]
    else:
        array = array.astype(rng.choice(["i1", "u8", "f4", "U3"]))
    return {**arrays, name: array}


def test_damaged_and_lying_matrices_are_refused_or_whole(tmp_path: Path) -> None:
    """Those that are read have the values of the file, or are a table of the shape in the file."""
    rng, path, refused = np.random.default_rng(0), tmp_path / "x.npz", 0
    for at in range(400):
        name = ("csr", "csc", "coo", "bsr", "dia")[at % 5]
        good = getattr(sparse, f"{name}_array")(matrix())
        sparse.save_npz(path, good, compressed=bool(rng.integers(2)))
        content, is_damage = path.read_bytes(), bool(rng.integers(2))
        if is_damage:
            path.write_bytes(damaged(content, content, rng))
        else:
            np.savez(path, **lying(read_npz_arrays(path), rng))
        try:
            with warnings.catch_warnings(action="ignore"):
                X = read(path)
        except DataError:
            refused += 1
            continue
        if is_damage:
            np.testing.assert_array_equal(X.toarray(), matrix())
        else:
            X.check_format(full_check=True)
            assert X.shape == tuple(np.load(path)["shape"].tolist())
            assert max(X.data.nbytes, X.indices.nbytes, X.indptr.nbytes) < 10**9
    assert 200 < refused < 400
