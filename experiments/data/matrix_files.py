"""Reads files of one matrix: ``.npz``, svmlight, PLINK and AnnData (docs/data.md).

Sparse matrices stay sparse, and tables by columns stay in their files. A file that is damaged,
lacks labels or has other arrays raises a DataError that names the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError
from boostsample.experiments.data.table_reader import label_values, number_classes
from boostsample.files.atomic import readable_file
from boostsample.formats.sparse_files import (
    MATRIX_PARTS,
    read_npz_arrays,
    read_sparse_parts,
    read_svmlight,
)

MATRIX_SUFFIXES = {
    ".npz": "npz",
    **{
        f"{suffix}{packed}": "svmlight"
        for suffix in (".svmlight", ".libsvm", ".svm")
        for packed in ("", ".gz", ".bz2")
    },
    ".bed": "plink",
    ".h5ad": "h5ad",
}
MATRIX_OPTIONS = {
    "npz": ("label",),
    "svmlight": ("multilabel",),
    "plink": ("pheno", "label", "missing"),
    "h5ad": ("label", "layer", "gene_names", "drop_unlabelled"),
}
"""Options of each kind of files."""

_SPLIT = ("X_train", "y_train", "X_test", "y_test")
_SPARSE_PARTS = MATRIX_PARTS | {"indices", "indptr", "row", "col", "coords", "offsets"}


class MatrixFile(NamedTuple):
    """The content of a file of one matrix.

    X is an array (n, ...) of float32 or uint8, a SciPy matrix (n, d) of float32 in CSR or CSC
    format, or a `ColumnTable`; y has class values (n,), or int8 (n, K) with the names of the K
    labels in `labels`, or is None; groups are the queries (n,) of the rows, if the file has them.
    """

    X: Any
    y: NDArray[Any] | None
    columns: tuple[str, ...] | None = None
    n_train: int | None = None
    labels: tuple[str, ...] = ()
    groups: NDArray[np.int64] | None = None


def read_matrix_file(
    kind: str,
    path: Path,
    *,
    needs_labels: bool = True,
    n_columns: int | None = None,
    **options: Any,
) -> MatrixFile:
    """Read a file of one of the kinds of `MATRIX_OPTIONS`.

    `options` are those of the kind. With `n_columns`, a svmlight file has that many, and no larger
    index. DataError if a file lacks labels that are needed; without need, those of PLINK and
    AnnData files are not read.
    """
    if kind == "svmlight":
        return _read_svmlight(path, n_columns, **options)
    readers: dict[str, Callable[..., MatrixFile]]
    readers = {"npz": _read_npz, "plink": _read_plink, "h5ad": _read_h5ad}
    return readers[kind](path, needs_labels, **options)


_PLINK_OPTIONS = {
    "phenotype_name": "--target (or :label=)",
    "the file phenotype=": "a file of phenotypes, named by :pheno=",
    "phenotype=": ":pheno=",
    ", or read without classes by labels=False": "",
    "missing=['-9', 'NA']": ":missing=-9,NA",
}
"""Arguments of `read_plink` in its errors, and their names on the command line."""


def _read_plink(
    path: Path,
    needs_labels: bool,
    *,
    pheno: str | None = None,
    label: str | int | None = None,
    missing: Sequence[str | int] | None = None,
) -> MatrixFile:
    from boostsample.formats.plink import read_plink

    if not needs_labels and pheno is None and label is None:
        table = read_plink(path, labels=False).table
        return MatrixFile(table, None, tuple(table.column_names or ()))
    try:
        data = read_plink(
            path,
            phenotype=None if pheno is None else Path(pheno).expanduser(),
            phenotype_name=None if label is None else str(label),
            missing=None if missing is None else [*map(str, missing)],
        )
    except (DataError, SettingError) as error:
        text = str(error)
        for name, option in _PLINK_OPTIONS.items():
            text = text.replace(name, option)
        raise type(error)(text) from error
    return MatrixFile(data.table, data.labels, tuple(data.table.column_names or ()))


def _read_h5ad(
    path: Path,
    needs_labels: bool,
    *,
    label: str | int | None = None,
    **options: Any,
) -> MatrixFile:
    from boostsample.formats.h5ad import read_h5ad

    if label is None and needs_labels:
        raise SettingError(
            f"{path} needs the column of obs with the labels; add :label=COLUMN (--target COLUMN "
            "of boostsample fit)"
        )
    data = read_h5ad(path, None if label is None else str(label), **options)
    return MatrixFile(data.X, data.y, tuple(data.gene_names))


def _read_svmlight(path: Path, n_columns: int | None, *, multilabel: bool = False) -> MatrixFile:
    X, labels, groups = read_svmlight(path, multilabel=multilabel, n_columns=n_columns)
    where = f"{path}: the labels"
    if not multilabel:
        return MatrixFile(X, _whole(label_values(labels.tolist(), where)), groups=groups)
    flat = label_values([label for row in labels for label in row], where)
    codes, names = number_classes(flat, where)
    y = np.zeros((len(labels), len(names)), np.int8)
    y[np.repeat(np.arange(len(labels)), [len(row) for row in labels]), codes] = 1
    return MatrixFile(X, y, labels=names, groups=groups)


def _read_npz(path: Path, needs_labels: bool, *, label: str | int | None = None) -> MatrixFile:
    """Read ``X, y``, or ``X_train, y_train, X_test, y_test``, or the parts of a SciPy matrix.

    `label` is the path of a file of labels, for archives without ``y``.
    """
    arrays = read_npz_arrays(path)
    named = arrays.pop("columns", None)
    if named is not None and named.dtype.kind != "U":
        raise DataError(f"{path}: columns must hold names (text), got dtype {named.dtype}")
    columns = None if named is None else tuple(named.ravel().tolist())
    y, n_train = arrays.pop("y", None), None
    if label is not None and y is not None:
        raise SettingError(f"{path} has the labels y; leave out the label file {str(label)!r}")
    if not {"format", "shape", "data"} - arrays.keys() and not arrays.keys() - _SPARSE_PARTS:
        X = read_sparse_parts(arrays, path)
    elif y is None and arrays.keys() == set(_SPLIT):
        X, y, n_train = _joined_split(arrays, path)
    elif arrays.keys() == {"X"}:
        X = _dense(arrays["X"], path)
    else:
        listed: list[str] = sorted([*arrays, *([] if y is None else ["y"])])
        raise DataError(
            f"{path} must hold the arrays X and y, or X_train, y_train, X_test and y_test (and "
            f"columns, if named), or a matrix of scipy.sparse.save_npz, got "
            f"{', '.join(listed) or 'none'}"
        )
    if label is not None:
        y = _read_labels(Path(str(label)).expanduser())
    if y is None:
        if needs_labels:
            raise DataError(
                f"{path} must hold labels, the array y; add it by numpy.savez, or name a file of "
                "labels, an .npy array or a text with a label in each line, by label= (--target of "
                "boostsample fit)"
            )
        return MatrixFile(X, None, columns)
    where = f"{path}: y" if label is None else str(label)
    values, labels = _npz_labels(y, where)
    n = X.shape[0]
    if label is not None and values.shape[0] != n:
        raise DataError(f"{where} must have a label for each of {n:,} rows, got {len(values):,}")
    return MatrixFile(X, values, columns, n_train, labels)


def _joined_split(arrays: Mapping[str, NDArray[Any]], path: Path) -> tuple[Any, Any, int]:
    for kind in "Xy":
        train, test = arrays[f"{kind}_train"], arrays[f"{kind}_test"]
        if train.ndim == 0 or train.shape[1:] != test.shape[1:]:
            raise DataError(
                f"{path}: {kind}_train and {kind}_test must agree in all but the number of "
                f"rows, got shapes {train.shape} and {test.shape}"
            )
    X, y = (np.concatenate([arrays[f"{kind}_train"], arrays[f"{kind}_test"]]) for kind in "Xy")
    n_train = len(arrays["X_train"])
    if len(arrays["y_train"]) != n_train:
        raise DataError(
            f"{path}: X_train and y_train must have equally many rows, got {n_train} and "
            f"{len(arrays['y_train'])}"
        )
    return _dense(X, path), y, n_train


def _dense(X: NDArray[Any], path: Path) -> NDArray[np.uint8] | NDArray[np.float32]:
    if X.ndim > 2 and X.dtype == np.uint8:
        return np.ascontiguousarray(X)
    if X.dtype.kind not in "buif":
        raise DataError(f"{path}: X must hold real numbers, got dtype {X.dtype}")
    with np.errstate(over="ignore"):  # infinite values are refused later
        return np.ascontiguousarray(X, dtype=np.float32)


def _read_labels(path: Path) -> NDArray[Any]:
    """The labels in a file: an array in ``.npy``, else a text with a label in each line."""
    if not path.is_file():
        raise DataError(f"the file of labels {str(path)!r} must exist; there is none")
    with readable_file(path):
        if path.suffix.lower() == ".npy":
            return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
        text = path.read_text("utf-8-sig")  # with \n for all line ends
        return np.array(text.removesuffix("\n").split("\n"))


def _npz_labels(y: NDArray[Any], where: str) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Class values (n,), or int8 (n, K) with the names of K labels."""
    if y.dtype.kind not in "buifU":
        raise DataError(f"{where} must hold numbers or text, got dtype {y.dtype}")
    if y.ndim == 1:
        return _whole(label_values(y.tolist(), where)), ()
    labelled = y.ndim == 2 and y.shape[0] > 0 and y.shape[1] >= 2 and y.dtype.kind != "U"
    if not labelled or not np.isin(y, (0, 1)).all():
        raise DataError(
            f"{where} must be n labels, or (n, K) of 0 and 1 with n >= 1 and K >= 2 for several "
            f"labels a row, got {y.dtype} of shape {y.shape}"
        )
    return y.astype(np.int8), tuple(str(label) for label in range(y.shape[1]))


def _whole(values: NDArray[Any]) -> NDArray[Any]:
    """Class values, floats as the whole numbers that they are."""
    return values.astype(np.int64) if values.dtype.kind == "f" else values
