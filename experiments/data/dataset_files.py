"""Reads the user's own data: tables, files of one matrix, and documents (docs/data.md).

A missing label, a row of another length, an infinite value or a damaged file raises a DataError
that names the place. Missing values are kept as NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from boostsample.checks import warn_of_merged_columns
from boostsample.errors import DataError, SettingError, unknown
from boostsample.experiments.data.arrays import numbers_of_frame
from boostsample.experiments.data.dataset import DataContent
from boostsample.experiments.data.documents import (
    DOCUMENT_FOLDERS,
    DOCUMENT_OPTIONS,
    DOCUMENT_SUFFIXES,
    read_terms,
)
from boostsample.experiments.data.matrix_files import (
    MATRIX_OPTIONS,
    MATRIX_SUFFIXES,
    read_matrix_file,
)
from boostsample.experiments.data.openml_files import KIND, OPENML_OPTIONS, read_task
from boostsample.experiments.data.table_reader import (
    TABLE_OPTIONS,
    TABLE_SUFFIXES,
    LabelledTable,
    TableOptions,
    check_file_option,
    check_row_numbers,
    file_suffix,
    number_classes,
    read_csv,
    read_parquet,
    split_label,
)

_SUFFIXES = {**TABLE_SUFFIXES, **MATRIX_SUFFIXES, **DOCUMENT_SUFFIXES}
OPTIONS = {**TABLE_OPTIONS, **MATRIX_OPTIONS, **DOCUMENT_OPTIONS, **OPENML_OPTIONS}
"""Options of each kind of files."""


def is_dataset_file(path: Path) -> bool:
    """Return whether `read_dataset_file` recognises the suffix."""
    return file_suffix(path) in _SUFFIXES


def read_dataset_file(path: Path, *, kind: str | None = None, **options: Any) -> DataContent:
    """Read a file in the format of its suffix, or a file or folder of the kind `kind`.

    `options` are those of `OPTIONS`, also as text; None is the default. SettingError if one is
    unknown.
    """
    if kind is None:
        if not is_dataset_file(path):
            raise SettingError(
                f"cannot tell the format of {path} from its suffix, known: {', '.join(_SUFFIXES)}; "
                f"give kind=, one of {', '.join(_READERS)}"
            )
        kind = _SUFFIXES[file_suffix(path)]
    if kind not in _READERS:
        raise unknown("kind of data file", kind, _READERS)
    known = OPTIONS[kind]
    for option in options:
        if option not in known:
            raise unknown(f"option of {kind} files", option, ["kind", "name", "validation", *known])
    checked = {
        name: check_file_option(name, value) for name, value in options.items() if value is not None
    }
    is_folder = kind in (*DOCUMENT_FOLDERS, *OPENML_OPTIONS)
    if not (path.is_dir() if is_folder else path.is_file()):
        place = "folder" if is_folder else "file"
        raise DataError(f"data {place} {str(path)!r} must be an existing {place}; there is none")
    return _READERS[kind](path, **checked)


def _read_table(
    read: Callable[[Path, TableOptions], LabelledTable], path: Path, **options: Any
) -> DataContent:
    """The numbers that the classifier makes of a table; categories are those of all rows."""
    table = read(path, TableOptions(**{"label": -1, "header": None, **options}))
    assert table.label is not None
    frame, values = split_label(table.frame, table.label, path)
    check_row_numbers(frame, path)
    try:
        X, merged, names = numbers_of_frame(frame)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    warn_of_merged_columns([f"{path}: column {name!r}" for name in merged])
    columns = names if table.has_names or len(names) > frame.shape[1] else None
    return DataContent(X, *number_classes(values, f"{path}: the label"), columns, None)


def _read_matrix(kind: str, path: Path, **options: Any) -> DataContent:
    """The matrix of a file; a sparse one in CSC format, with float32 and canonical."""
    X, y, columns, n_train, labels, groups = read_matrix_file(kind, path, **options)
    assert y is not None
    codes, classes = (y, labels) if labels else number_classes(y, f"{path}: y")
    X = X.tocsc() if hasattr(X, "tocsc") else X
    return DataContent(X, codes, classes, columns, n_train, groups)


_READERS: dict[str, Callable[..., DataContent]] = {
    "csv": partial(_read_table, read_csv),
    "parquet": partial(_read_table, read_parquet),
    **{kind: partial(_read_matrix, kind) for kind in MATRIX_OPTIONS},
    **{kind: partial(read_terms, kind) for kind in DOCUMENT_OPTIONS},
    KIND: read_task,
}
