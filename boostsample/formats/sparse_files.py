"""Reads sparse tables from svmlight and SciPy ``.npz`` files; they are never made dense.

Both functions return SciPy arrays in CSR format with float32 values, sorted indices, no repeats, no
stored zeros, and int32 indices where these suffice. Column j is the column of index j in the file;
values that are not stored are 0, stored NaN is missing.
"""

from __future__ import annotations

import bz2
import gzip
import math
import os
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import columns_merged_by_float32, warn_of_merged_columns
from boostsample.errors import DataError
from boostsample.files.atomic import readable_file

MOST_COLUMNS = 2**26
"""Most columns of a sparse file; a larger index is taken for damage."""
MATRIX_PARTS = frozenset({"format", "shape", "data", "_is_array"})
"""Arrays of `scipy.sparse.save_npz` beside those of its formats."""

_INDICES = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "coo": ("row", "col"),
    "dia": ("offsets",),
}
"""Arrays of each format beside ``data``; coo arrays may have ``coords`` instead."""
_CHUNK = 2**22


class SvmlightContent(NamedTuple):
    """X, csr_array of float32 (n, d); labels of the rows, as of scikit-learn, and their queries."""

    X: Any
    labels: Any
    groups: NDArray[np.int64] | None


def read_svmlight(
    path: str | os.PathLike[str], *, multilabel: bool = False, n_columns: int | None = None
) -> SvmlightContent:
    """The table of a svmlight/libsvm text, plain, ``.gz`` or ``.bz2``.

    Indices are never shifted, as in LightGBM and XGBoost: column 17 has the values of ``17:``. A
    file that counts from 1 has an empty column 0. (`sklearn.datasets.load_svmlight_file` decides
    this for each file; with ``zero_based=True`` it agrees.) Comments are skipped.

    Parameters
    ----------
    path : str or path
    multilabel : bool, default False
        Whether commas separate any number of labels of a line.
    n_columns : int, optional
        d, at least 1 + the largest index, which is the default.

    Returns
    -------
    X : csr_array of float32, shape (n, d)
    labels : ndarray of float64 (n,), or a list of n tuples
    groups : ndarray of int64 (n,), or None
        The numbers of ``qid:``, in any order; None if no line has one.

    Raises
    ------
    DataError
        If the file cannot be read, a line is wrong, which is named by its number, there is no row,
        or there are more columns than `n_columns`.

    Notes
    -----
    Cost: 9 million values of a file of 230 MB take 3 s, and 26 bytes of memory each.
    """
    from sklearn.datasets import load_svmlight_file

    file = Path(path)
    try:
        with readable_file(file):
            X, labels, groups = load_svmlight_file(
                str(file),
                dtype=np.float64,
                multilabel=multilabel,
                zero_based=True,
                query_id=True,
            )
    except DataError as error:
        fault = _wrong_line(file, multilabel)
        if not fault:
            raise
        raise DataError(f"{file}, {fault}") from error
    if not X.shape[0]:
        raise DataError(f"{file} must have at least one row, got none")
    if groups.size not in (0, X.shape[0]):
        raise DataError(
            f"{file} must have qid: in every line or in none, got {groups.size:,} in "
            f"{X.shape[0]:,} lines; add the others, or remove all"
        )
    width = int(X.shape[1])
    if n_columns is not None and width > n_columns:
        raise DataError(
            f"{file} must have indices below {n_columns:,}, the number of columns, got "
            f"{width - 1:,}; leave out features that were not in the training file"
        )
    n_columns = width if n_columns is None else n_columns
    _check_shape((X.shape[0], n_columns), file, has_every_row=True)
    return SvmlightContent(
        _rows("csr", (X.data, X.indices, X.indptr), X.shape, n_columns, file),
        labels,
        groups if groups.size else None,
    )


def _wrong_line(file: Path, multilabel: bool) -> str:
    """The number and the fault of the first wrong line of a svmlight text; empty without any."""
    openers: Mapping[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
    with (
        suppress(OSError, EOFError, zlib.error),
        openers.get(file.suffix, open)(file, "rb") as stream,
    ):
        for number, line in enumerate(stream, 1):
            fault = _fault_of_line(line, multilabel)
            if fault:
                return f"line {number:,}: {fault}"
    return ""


def _fault_of_line(line: bytes, multilabel: bool) -> str:
    """What is wrong with a line; empty if nothing is."""
    features = line.partition(b"#")[0].split()
    if features and not (multilabel and b":" in features[0]):
        label = features.pop(0)
        if not all(map(_is_number, label.split(b",") if multilabel else [label])):
            return f"its label must be a number, got {_text(label)}"
    if features and features[0].startswith(b"qid:"):
        query = features.pop(0).removeprefix(b"qid:")
        if not query.removeprefix(b"-").isdigit() or not -(2**63) <= int(query) < 2**63:
            return f"qid: must have a whole number, got {_text(query)}"
    before = -1
    for feature in features:
        index, _, value = feature.partition(b":")
        if not index.isdigit() or not _is_number(value):
            return f"features must be INDEX:NUMBER with an index from 0 on, got {_text(feature)}"
        if not before < int(index[:20]) < MOST_COLUMNS:
            return (
                f"indices must ascend and be below {MOST_COLUMNS:,}, got {_text(index)}"
                + f" after {before:,}" * (before >= 0)
            )
        before = int(index[:20])
    return ""


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _text(content: bytes) -> str:
    return f"{content.decode('utf-8', 'backslashreplace')!r:.60}"


def read_npz_arrays(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """The arrays of an ``.npz`` file of any origin by name; pickled objects are never loaded.

    DataError if the file cannot be read, or an array is not of the size that the archive declares;
    no memory is taken beyond that.
    """
    file = Path(path)
    arrays: dict[str, NDArray[Any]] = {}
    with readable_file(file):
        with file.open("rb") as stream:
            if stream.read(6) == b"\x93NUMPY":
                raise DataError(
                    f"{file} must be an .npz archive, got a single array; use numpy.savez"
                )
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                if name == member.filename or name in arrays:
                    raise DataError(
                        f"{file}: {name!r:.60} must be an array that occurs once, got another file"
                    )
                arrays[name] = _array(archive, member, file)
    return arrays


def read_sparse_parts(arrays: Mapping[str, NDArray[Any]], path: Path) -> Any:
    """The table of the arrays of `scipy.sparse.save_npz`: csr_array of float32 (n, d).

    Takes all formats of SciPy: csr, csc, coo, bsr and dia. DataError if an array is missing or of
    another type, or if indices do not lie within the shape. Cost: a pass over the stored values for
    each conversion; at most 40 bytes for each of them.
    """
    from scipy import sparse

    kind = arrays.get("format")
    is_text = kind is not None and kind.shape == () and kind.dtype.kind in "SU"
    name: Any = kind.item() if kind is not None and is_text else None
    name = name.decode("latin-1") if isinstance(name, bytes) else name
    if name not in _INDICES:
        raise DataError(
            f"{path}: the format must be one of {', '.join(_INDICES)}, got {name!r:.40}"
        )
    shape = _integers(arrays, "shape", path)
    if shape.size != 2:
        raise DataError(f"{path}: a table must have rows and columns, got shape {shape.tolist()}")
    n, d = shape.tolist()
    _check_shape((n, d), path, has_every_row=name == "csr")
    data = arrays.get("data")
    axes = {"dia": 2, "bsr": 3}.get(name, 1)
    if data is None or data.dtype.kind not in "buif" or data.ndim != axes:
        got = "none" if data is None else f"{data.dtype} of shape {data.shape}"
        raise DataError(f"{path}: data must be real numbers of {axes} axes, got {got}")
    if data.dtype.kind == "f" and data.itemsize not in (4, 8):  # SciPy computes with no others
        data = data.astype(np.float32 if data.itemsize < 4 else np.float64)
    names = ("coords",) if name == "coo" and "coords" in arrays else _INDICES[name]
    parts = [_integers(arrays, part, path, 2 if part == "coords" else 1) for part in names]
    if name == "coo":
        row, column = (
            parts[0] if len(parts) == 1 and parts[0].shape[0] == 2 else (*parts, *parts)[:2]
        )
        for index, end, what in ((row, n, "row"), (column, d, "column")):
            _check_indices(index, end, data.shape[0], what, path)
        return _rows("coo", (data, (row, column)), (n, d), d, path)
    if name == "dia":
        (offsets,) = parts
        _check_indices(offsets + n, n + d, data.shape[0], "diagonal", path)
        if np.unique(offsets).size < offsets.size or data.shape[1] > max(n + d, 1):
            raise DataError(f"{path}: diagonals must differ, and have at most {n + d:,} values")
        diagonals = sparse.dia_array((data, offsets), (n, d)).tocoo()
        return _rows("coo", (diagonals.data, (diagonals.row, diagonals.col)), (n, d), d, path)
    indices, indptr = parts
    block = data.shape[1:] if name == "bsr" else (1, 1)
    if 0 in block or n % block[0] or d % block[1]:
        raise DataError(f"{path}: blocks of shape {block} must divide the shape {(n, d)}")
    n_major, n_minor = (d, n) if name == "csc" else (n // block[0], d // block[1])
    is_ascending = indptr.size == n_major + 1 and bool((np.diff(indptr) >= 0).all())
    if not is_ascending or indptr[0] != 0 or indptr[-1] != data.shape[0]:
        raise DataError(
            f"{path}: indptr must ascend from 0 to the {data.shape[0]:,} stored values, with "
            f"{n_major + 1:,} places; save the matrix again, after its method prune()"
        )
    _check_indices(indices, n_minor, data.shape[0], "row" if name == "csc" else "column", path)
    return _rows(name, (data, indices, indptr), (n, d), d, path)


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> NDArray[Any]:
    """The array of an .npy file in an archive, whose header must fit the size of the file."""
    where = f"{path}: the array {member.filename!r:.60}"
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise DataError(f"{where} is in another format")
        read = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, is_fortran, dtype = read(stream)
        if dtype.hasobject:
            raise DataError(f"{where} must hold numbers or text: Object arrays cannot be loaded")
        size = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or stream.tell() + size != member.file_size:
            raise DataError(f"{where} must have the size of its shape {shape}; the file is damaged")
        content = np.empty(size, np.uint8)  # the system provides pages as they are filled
        at = 0
        while at < size:
            part = stream.read(min(_CHUNK, size - at))
            if not part:
                raise DataError(f"{where} ends after {at:,} of {size:,} bytes")
            content[at : at + len(part)] = np.frombuffer(part, np.uint8)
            at += len(part)
        if stream.read(1):
            raise DataError(f"{where} goes on after its {size:,} bytes")
    if not dtype.itemsize:
        return np.zeros(shape, dtype)
    return content.view(dtype).reshape(shape, order="F" if is_fortran else "C")


def _integers(
    arrays: Mapping[str, NDArray[Any]], name: str, path: Path, axes: int = 1
) -> NDArray[np.int64]:
    array = arrays.get(name)
    if array is None or array.dtype.kind not in "iu" or array.ndim != axes:
        got = "none" if array is None else f"{array.dtype} of shape {array.shape}"
        raise DataError(f"{path}: {name} must be whole numbers of {axes} axes, got {got}")
    if array.size and not -(2**62) < int(array.min()) <= int(array.max()) < 2**62:
        raise DataError(f"{path}: {name} must lie within 62 bits; the file is damaged")
    return array.astype(np.int64)


def _check_indices(
    index: NDArray[np.int64], end: int, n_values: int, what: str, path: Path
) -> None:
    if index.size != n_values:
        raise DataError(
            f"{path}: there must be a {what} for each of {n_values:,} values, got {index.size:,}"
        )
    if index.size and not 0 <= int(index.min()) <= int(index.max()) < end:
        raise DataError(
            f"{path}: the index of each {what} must be from 0 to {end - 1:,}, got "
            f"{int(index.min()):,} to {int(index.max()):,}; the file is damaged"
        )


def _check_shape(shape: tuple[int, int], path: Path, *, has_every_row: bool) -> None:
    """DataError if a file without anything for each row or column declares very many."""
    most = 2**31 - 1 if has_every_row else MOST_COLUMNS
    if not (1 <= shape[0] <= most and 1 <= shape[1] <= MOST_COLUMNS):
        raise DataError(
            f"{path}: a table must have from 1 to {most:,} rows and {MOST_COLUMNS:,} columns, got "
            f"shape {shape}; select or hash the columns of wider ones"
        )


def _rows(name: str, parts: Any, shape: tuple[int, int], n_columns: int, path: Path) -> Any:
    """A checked matrix as canonical csr_array of float32; warns of columns that float32 merges."""
    from scipy import sparse

    X = getattr(sparse, f"{name}_array")(parts, shape)
    dtype = X.dtype
    if name != "csr":
        X = X.tocsr()
    X.sum_duplicates()
    X.eliminate_zeros()
    narrow = np.int32 if max(X.nnz, n_columns, X.shape[0]) < 2**31 else np.int64
    if dtype.itemsize >= 4 and dtype != np.float32:
        by_column = X.tocsc()
        merged = columns_merged_by_float32(by_column)
        warn_of_merged_columns([f"{path}: column {at}" for at in merged])
    with np.errstate(over="ignore"):  # infinite values are refused with their place later
        data = X.data.astype(np.float32)
    indices = X.indices.astype(narrow), X.indptr.astype(narrow)
    return sparse.csr_array((data, *indices), shape=(X.shape[0], n_columns))
