"""Reads the user's own data from ``.npz``, CSV and svmlight files.

Text among the features, a missing label, a row of another length, an infinite value or a damaged
file raises a DataError that names the place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError, unknown
from boostsample.experiments.common.files import readable_file
from boostsample.experiments.common.machine import machine_memory
from boostsample.experiments.data.csv_file import read_csv
from boostsample.experiments.data.dataset import DataContent
from boostsample.experiments.data.parse_labels import parse_labels

__all__ = ["is_dataset_file", "read_npz", "read_svmlight", "read_dataset_file"]

_SUFFIXES = {
    ".npz": "npz",
    ".csv": "csv",
    ".tsv": "csv",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".svm": "svmlight",
}


def is_dataset_file(path: Path) -> bool:
    """Return whether `read_dataset_file` recognises the suffix (before any ``.gz``)."""
    return _suffix(path) in _SUFFIXES


def _suffix(path: Path) -> str:
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def read_dataset_file(path: Path, *, file_format: str | None = None, **options: Any) -> DataContent:
    """Read a file in the format of its suffix, or in `file_format`: npz, csv or svmlight.

    Suffixes are ``.npz``; ``.csv``, ``.tsv``; ``.svmlight``, ``.libsvm``, ``.svm``; text also with
    ``.gz``. `options` are those of `read_npz`, `read_csv` or `read_svmlight`; an unknown one raises
    SettingError.
    """
    if file_format is None:
        if not is_dataset_file(path):
            raise SettingError(
                f"cannot tell the format of {path} from its suffix, known: {', '.join(_SUFFIXES)}; "
                f"give file_format=, one of {', '.join(_READERS)}"
            )
        file_format = _SUFFIXES[_suffix(path)]
    if file_format not in _READERS:
        raise unknown("data format", file_format, _READERS)
    reader = _READERS[file_format]
    known = [name for name in inspect.signature(reader).parameters if name != "path"]
    for option in options:
        if option not in known:
            raise unknown(f"option of {file_format} files", option, ["file_format", *known])
    if not path.is_file():
        raise DataError(f"data file {str(path)!r} must be an existing file; there is none")
    return reader(path, **options)


def _to_float32(values: NDArray[Any], where: str) -> NDArray[np.float32]:
    """Convert numbers to float32; raise DataError if one is out of its range."""
    if values.dtype.kind not in "buif":
        raise DataError(f"{where} must hold real numbers, got dtype {values.dtype}")
    with np.errstate(over="ignore"):
        result = np.ascontiguousarray(values, dtype=np.float32)
    for place in np.argwhere(np.isinf(result) & np.isfinite(values))[:1].tolist():
        raise DataError(
            f"{where} must hold values within +-3.4e38 (float32), got {values[tuple(place)]} at "
            f"{tuple(place)}; rescale them"
        )
    return result


def read_npz(path: Path) -> DataContent:
    """Read a NumPy archive: ``X, y``, or ``X_train, y_train, X_test, y_test`` for a fixed split.

    ``X`` is (n, d), or (n, h, w) or (n, h, w, c) for images (uint8 stays uint8, anything else
    becomes float32); ``y`` has n labels, or is (n, K) of 0 and 1 for several labels a row; the
    optional ``columns`` names the d columns. Pickled objects are not loaded.
    """
    # Opened here because np.load leaves the file of a damaged archive open.
    with readable_file(path), path.open("rb") as stream:
        archive = np.load(stream, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise DataError(f"{path} must be an .npz archive, got a single array; use numpy.savez")
        arrays: dict[str, NDArray[Any]] = {key: archive[key] for key in archive.files}
    named = arrays.pop("columns", None)
    if named is not None and named.dtype.kind != "U":
        raise DataError(f"{path}: columns must hold names (text), got dtype {named.dtype}")
    columns = None if named is None else tuple(named.ravel().tolist())
    keys = set(arrays)
    if keys == {"X", "y"}:
        X, y, n_train = arrays["X"], arrays["y"], None
    elif keys == {"X_train", "y_train", "X_test", "y_test"}:
        for kind in "Xy":
            train, test = arrays[f"{kind}_train"], arrays[f"{kind}_test"]
            if train.ndim == 0 or train.shape[1:] != test.shape[1:]:
                raise DataError(
                    f"{path}: {kind}_train and {kind}_test must agree in all but the number of "
                    f"rows, got shapes {train.shape} and {test.shape}"
                )
        X, y = (np.concatenate([arrays[f"{one}_train"], arrays[f"{one}_test"]]) for one in "Xy")
        n_train = len(arrays["X_train"])
        if len(arrays["y_train"]) != n_train:
            raise DataError(
                f"{path}: X_train and y_train must have equally many rows, got {n_train} and "
                f"{len(arrays['y_train'])}"
            )
    else:
        raise DataError(
            f"{path} must hold the arrays X and y, or X_train, y_train, X_test and y_test (and "
            f"columns, if named), got {', '.join(sorted(keys)) or 'none'}"
        )
    image = X.ndim > 2 and X.dtype == np.uint8
    features = np.ascontiguousarray(X) if image else _to_float32(X, f"{path}: X")
    return DataContent(features, *_npz_labels(y, path), columns, n_train)


def _npz_labels(
    y: NDArray[Any], path: Path
) -> tuple[NDArray[np.int64] | NDArray[np.int8], tuple[str, ...]]:
    if y.dtype.kind not in "buifU":
        raise DataError(f"{path}: y must hold numbers or text, got dtype {y.dtype}")
    if y.ndim == 1:
        return parse_labels(y.tolist(), f"{path}: y")
    if y.ndim != 2 or y.shape[1] < 2 or y.dtype.kind == "U" or not np.isin(y, (0, 1)).all():
        raise DataError(
            f"{path}: y must be n labels, or (n, K) of 0 and 1 with K >= 2 for several labels a "
            f"row, got {y.dtype} of shape {y.shape}"
        )
    return y.astype(np.int8), tuple(str(label) for label in range(y.shape[1]))


def read_svmlight(path: Path, *, multilabel: bool = False) -> DataContent:
    """Read a svmlight/libsvm text (plain, ``.gz`` or ``.bz2``) into a dense table.

    Features absent from a line are 0, not missing. With `multilabel`, commas separate the labels of
    a line, and y is (n, K) of 0 and 1.
    """
    from sklearn.datasets import load_svmlight_file

    with readable_file(path):
        sparse, labels = load_svmlight_file(str(path), dtype=np.float32, multilabel=multilabel)
    n_bytes, memory = 4 * sparse.shape[0] * sparse.shape[1], machine_memory()
    if n_bytes > memory:
        raise DataError(
            f"{path}: a dense table must fit into memory, {memory / 2**30:.1f} GiB, but "
            f"{sparse.shape[0]} x {sparse.shape[1]} values need {n_bytes / 2**30:.1f} GiB; select "
            "features first"
        )
    X = sparse.toarray(order="C")
    if not multilabel:
        return DataContent(X, *parse_labels(labels.tolist(), f"{path}: the labels"), None, None)
    codes, classes = parse_labels([one for row in labels for one in row], f"{path}: the labels")
    y = np.zeros((len(labels), len(classes)), dtype=np.int8)
    y[np.repeat(np.arange(len(labels)), [len(row) for row in labels]), codes] = 1
    return DataContent(X, y, classes, None, None)


_READERS: dict[str, Callable[..., DataContent]] = {
    "npz": read_npz,
    "csv": read_csv,
    "svmlight": read_svmlight,
}
