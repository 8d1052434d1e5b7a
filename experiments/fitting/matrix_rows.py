"""Rows of files of one matrix, such as svmlight, for the commands that fit and use models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_known
from boostsample.column_table import ColumnTable
from boostsample.errors import DataError, SettingError
from boostsample.experiments.data.matrix_files import (
    MATRIX_OPTIONS,
    MATRIX_SUFFIXES,
    MatrixFile,
    read_matrix_file,
)
from boostsample.experiments.data.table_reader import (
    check_file_option,
    file_suffix,
    split_data_text,
)
from boostsample.families.columns import sparse_columns
from boostsample.models.importances import feature_columns


def is_matrix(path: str | Path) -> bool:
    """Whether a file, of a path that may end in options, is one of a matrix."""
    return _kind(path)[0] is not None


def check_target(path: str | Path | None, target: str | None) -> None:
    """SettingError if a table has no target, or a file that holds its labels has one."""
    if path is None:
        return
    kind, file, written = _kind(path)
    if kind is None and target is None:
        raise SettingError(f"{file} needs the column of the classes; add --target COLUMN")
    if kind == "h5ad" and target is None and "label" not in written:
        raise SettingError(f"{file} needs the column of obs with the labels; add --target COLUMN")
    if kind == "svmlight" and target is not None:
        raise SettingError(f"{file} holds its labels, got --target {target!r}; leave out --target")


def read_matrix(
    path: str | Path,
    target: str | None = None,
    *,
    needs_labels: bool = True,
    n_columns: int | None = None,
    **unused: Sequence[str],
) -> MatrixFile:
    """The matrix of a file.

    `target` is the file of labels of an archive without any, the name of a phenotype, or a column
    of the annotations of cells.

    `unused` are options of tables, by their names on the command line: SettingError if one is
    given. DataError as of `read_matrix_file`, or if rows have several labels.
    """
    kind, file, written = _kind(path)
    assert kind is not None
    for name, value in unused.items():
        if value:
            raise SettingError(
                f"--{name} selects columns of tables by name, but {file} is a file of the kind "
                f"{kind}; leave out --{name}"
            )
    for name in written:
        check_known(f"option of {kind} files", name, ["kind", *MATRIX_OPTIONS[kind]])
    chosen = {name: check_file_option(name, text) for name, text in written.items()}
    if target is not None:
        if "label" in chosen:
            raise SettingError(f"{file}: label must be given once, got --target and :label=")
        chosen["label"] = target
    if not file.is_file():
        raise DataError(f"the file '{file}' does not exist")
    matrix = read_matrix_file(kind, file, needs_labels=needs_labels, n_columns=n_columns, **chosen)
    if matrix.labels:
        raise DataError(
            f"{file} must have one label in each row, got several; fit in Python with "
            "BoostSampleClassifier().fit(X, Y)"
        )
    if matrix.n_train is not None:
        raise DataError(
            f"{file} must hold X and y, got a fixed split, which boostsample compare takes; save "
            "its parts as two files"
        )
    if matrix.columns is not None and len(matrix.columns) != matrix.X.shape[1]:
        raise DataError(
            f"{file}: columns must name {matrix.X.shape[1]:,} columns, got {len(matrix.columns):,}"
        )
    return matrix


def named_rows(matrix: MatrixFile, path: str | Path) -> Any:
    """X, as a data frame if it is a dense table whose columns have names."""
    if matrix.columns is None or not isinstance(matrix.X, np.ndarray):
        return matrix.X
    import pandas

    if matrix.X.ndim != 2:
        raise DataError(f"{path}: columns are those of a table, got X of shape {matrix.X.shape}")
    return pandas.DataFrame(matrix.X, columns=list(matrix.columns), copy=False)


def matrix_lines(file: Path, X: Any) -> list[str]:
    """What a matrix holds, in words."""
    shape = " x ".join(f"{size:,}" for size in X.shape)
    if isinstance(X, ColumnTable):
        return [f"{file.name}: {shape} values, which are read when they are needed"]
    if not hasattr(X, "tocsc"):
        return [f"{file.name}: {shape} values"]
    share = 100 * X.nnz / (X.shape[0] * X.shape[1])
    missing = int(np.isnan(X.data).sum())
    return [
        f"{file.name}: {shape} values, of which {X.nnz:,} are not 0 ({share:.3g} %)"
        + (f"; missing values: {missing:,}" if missing else "")
    ]


def read_matrix_rows(
    model: Any, path: str | Path, target: str | None, *, needs_labels: bool
) -> tuple[Any, NDArray[Any] | None]:
    """The columns of a file that a model reads, and class values or None.

    DataError if the file has other columns than the model was fitted on; svmlight may have fewer.
    """
    kind, file, _ = _kind(path)
    n_columns = getattr(model, "n_features_in_", None)
    width = n_columns if kind == "svmlight" else None
    matrix = read_matrix(path, target, needs_labels=needs_labels, n_columns=width)
    names = column_names(model)
    if names is None:
        if matrix.X.ndim == 2 and n_columns is not None and matrix.X.shape[1] != n_columns:
            raise DataError(
                f"{file} must have the {n_columns:,} columns that the model was fitted on, got "
                f"{matrix.X.shape[1]:,}"
            )
        return matrix.X, matrix.y
    if matrix.columns is None:
        raise DataError(
            f"{file} must name its columns, since the model was fitted on columns with names; add "
            "the array columns"
        )
    X = matrix.X
    if hasattr(X, "tocsc"):
        X = _NamedMatrix(X.tocsc(), matrix.columns)
    if isinstance(X, ColumnTable):
        columns = feature_columns(model.model_)
        needed = None if columns is None else np.unique(columns[model.model_.feature])
        try:
            return X.aligned(names, needed), matrix.y
        except DataError as error:
            raise DataError(f"{file}: {error}") from error
    if matrix.columns != names:
        place = {name: at for at, name in enumerate(matrix.columns)}
        missing = [name for name in names if name not in place]
        if missing:
            raise missing_columns(file, len(names), missing)
        matrix = matrix._replace(X=X[:, [place[name] for name in names]], columns=names)
    has_frame = hasattr(model, "feature_names_in_")
    return named_rows(matrix, file) if has_frame else matrix.X, matrix.y


class _NamedMatrix(ColumnTable):
    def __init__(self, matrix: Any, names: Sequence[str]) -> None:
        super().__init__(matrix.shape[0], matrix.shape[1], names)
        self._matrix = matrix

    def read(self, columns: NDArray[np.int64]) -> NDArray[np.float32]:
        return sparse_columns(self._matrix, columns)


def column_names(model: Any) -> tuple[str, ...] | None:
    """The names of the columns of a fit: of its data frame, or else of its families."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = getattr(model.model_.families[0], "column_names", None)
    return None if names is None else tuple(names)


def missing_columns(where: Path, n_columns: int, missing: Sequence[str]) -> DataError:
    """The error of a file that lacks columns of the model."""
    shown = ", ".join(map(repr, missing[:5])) + (", ..." if len(missing) > 5 else "")
    return DataError(
        f"{where} must have the {n_columns:,} columns that the model was fitted on, but "
        f"{len(missing):,} are missing: {shown}; add them, with empty fields for unknown values"
    )


def _kind(path: str | Path) -> tuple[str | None, Path, dict[str, str]]:
    """The kind of a file of a matrix or None, its path, and its options."""
    text, written = split_data_text(path) if isinstance(path, str) else (path, {})
    file = Path(text).expanduser()
    kind = written.get("kind", MATRIX_SUFFIXES.get(file_suffix(file)))
    if kind not in MATRIX_OPTIONS:
        return None, file, written
    written.pop("kind", None)
    return kind, file, written
