"""Reads tables from CSV, TSV and Parquet files as data frames: one way for all commands and Python.

- Text is stripped; `MISSING_MARKS` are missing values, in upper or lower case.
- A column of a text file holds truth values, numbers, dates (2024-05-31, 2024-05-31 18:30) or text:
  the first of these that all its values are. Columns of text are categories, see
  `boostsample.classifier.inputs.frames`.
- Parquet files have types; of them only columns of text are read as above, but never as numbers.
- Labels are class values, see `boostsample.labels`. In a text file they are numbers or truth values
  only if all are written plainly: 01 and 02 are text.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import itertools
import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError, unknown
from boostsample.experiments.data.dataset import check_share
from boostsample.files.atomic import readable_file
from boostsample.labels import check_class_counts, class_values

MISSING_MARKS = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "?"})
"""Texts of a missing value, in lower case."""
MISSING_LABELS = frozenset({"", "nan", "None", "<NA>", "NaT"})
"""Texts of a missing label as Python writes them; in arrays, other marks are names of classes."""
TABLE_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".csv.gz": "csv",
    ".tsv.gz": "csv",
    ".parquet": "parquet",
}
TABLE_OPTIONS = {
    "csv": ("label", "drop", "category", "header", "delimiter", "decimal"),
    "parquet": ("label", "drop", "category"),
}
"""Options of each kind of tables, see `TableOptions`."""

_CHUNK = 2**20  # fields of a text file that are Python objects at the same time
_WIDE = 1000  # columns of numbers from which on a table is kept as a matrix
_UNNAMED = re.compile(r"\s*|Unnamed: [0-9].*|__index_level_[0-9]+__")
"""Names of columns without one, in files and as pandas and pyarrow write them."""
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_NUMBER = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"
_FEW_TEXTS = 0.1  # share of the values of a column, at most, that are taken for typos among numbers
_DATE = r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$"
"""Dates of ISO 8601, with or without a time of the day."""


@dataclass(frozen=True)
class TableOptions:
    """How to read a file. A column is given by its name or its position from 0; -1 is the last."""

    label: str | int | None = None
    drop: Sequence[str | int] = ()
    category: Sequence[str | int] = ()
    """Columns that stay text, such as the codes 01 and 1."""
    only: Collection[str] | None = None
    """The columns to read beside the label, if the table has them; then `category` may hold names
    that it lacks. None: all."""
    as_written: bool = False
    """Whether texts of missing values, such as NA, stay text, in columns that are copied."""
    header: bool | None = True
    """Whether the first line of a text file names the columns. None: it does if an option names a
    column, or if no field of a feature is a number; SettingError if only some are."""
    delimiter: str | None = None
    """None: the tab for ``.tsv``, else the first of comma, semicolon and tab that occurs in the
    first line and is not the decimal mark."""
    decimal: str = "."
    """The decimal mark of numbers in a text file."""


class LabelledTable(NamedTuple):
    """A data frame, the name of its label column or None, and whether the file names columns."""

    frame: Any
    label: str | None
    has_names: bool


def read_table(path: str | Path, **options: Any) -> Any:
    """The table of a .csv, .tsv (also .gz) or .parquet file as a pandas data frame.

    A text may end in options, as in ``x.csv:decimal=,:drop=ID``; a `pathlib.Path` is a path as a
    whole. `options` are those of `TableOptions`. SettingError if an option or the ending is
    unknown, or the table lacks a column. DataError if the file cannot be read, is empty, has lines
    of different numbers of fields, names a column twice, writes numbers with decimal commas unless
    that is its `decimal`, or writes a class in two ways.
    """
    if isinstance(path, str):
        path, written = split_data_text(path)
        for name, text in written.items():
            value = check_file_option(name, text)
            if name in ("drop", "category"):
                value = [*value, *options.get(name, ())]
            elif name in options:
                raise SettingError(f"{path}: {name} must be given once, got it twice")
            options[name] = value
    file = Path(path)
    kind = TABLE_SUFFIXES.get(file_suffix(file))
    if kind is None:
        raise SettingError(
            f"a table must be a file with the ending {', '.join(TABLE_SUFFIXES)}, got '{file}'"
        )
    for name in options:
        if name not in (*TABLE_OPTIONS[kind], "only", "as_written"):
            raise unknown(f"option of {kind} files", name, TABLE_OPTIONS[kind])
    if not file.exists():
        raise DataError(f"the file '{file}' does not exist")
    return (read_csv if kind == "csv" else read_parquet)(file, TableOptions(**options)).frame


def read_csv(path: Path, options: TableOptions) -> LabelledTable:
    """Read a text file with a line for each row: UTF-8, plain or gzipped, quoted by ``"``."""
    import pyarrow

    header, decimal = options.header, options.decimal
    if header is None:
        positions = (options.label, *options.drop, *options.category)
        header = True if any(isinstance(column, str) for column in positions) else None
    with readable_file(path), _open_text(path) as stream:
        mark = options.delimiter or _delimiter(path, stream, decimal)
        reader = csv.reader(stream, delimiter=mark, skipinitialspace=mark != " ")
        rows = _rows(reader, path)
        first = next(rows, [])
        names = _column_names(first) if header else [f"column {at}" for at in range(len(first))]
        chosen = _chosen_columns(path, names, options, bool(header))
        if header is None:
            features = [first[at] for at in chosen.read if at not in (chosen.label, *chosen.texts)]
            header = _is_header(path, features, decimal)
            names = _column_names(first) if header else names
        rows = rows if header else itertools.chain([first], rows)
        chunks = list(_chunks(rows, len(first), options.as_written))
    if not chunks:
        raise DataError(f"{path} must have at least one row of data, got none")
    _check_names(path, [names[at] for at in chosen.read])
    columns, sizes = {}, [len(chunk) // max(len(first), 1) for chunk in chunks]
    for at in chosen.read:
        parts = (chunk[at * n : (at + 1) * n] for chunk, n in zip(chunks, sizes, strict=True))
        texts = pyarrow.chunked_array(list(parts))
        if at in chosen.texts:
            columns[at] = texts.to_pandas()
        elif at == chosen.label:
            where = f"{path}: the label {names[at]!r}"
            if texts.null_count:
                raise DataError(
                    f"{where} must have a label in every row, but contains NaN in data row "
                    f"{texts.is_null().index(True).as_py() + 1}: nothing, or a text such as 'NA' "
                    "or 'none'; drop the rows without a label, or give a class another name"
                )
            columns[at] = _written_labels(texts.to_pandas(), where)
        else:
            columns[at] = _values(texts, decimal, f"{path}: column {names[at]!r}")
    return _labelled_table(columns, names, chosen, header)


def read_parquet(path: Path, options: TableOptions) -> LabelledTable:
    """Read a Parquet file. The index of a data frame is left out."""
    import pandas
    from pyarrow import parquet

    with readable_file(path):
        with parquet.ParquetFile(path) as file:  # read_table opens it again, in seconds if wide
            frame = file.read().to_pandas(self_destruct=True).reset_index(drop=True)
        names = [str(name).strip() for name in frame.columns]
        chosen = _chosen_columns(path, names, options, True)
        _check_names(path, [names[at] for at in chosen.read])
        is_plain = [dtype.kind in "biufM" for dtype in frame.dtypes]
        columns = {}
        for at in chosen.read:
            if is_plain[at] and at not in chosen.texts:
                continue
            column = frame.iloc[:, at]
            if at in chosen.texts:
                column = _as_text(column)
            texts = _clean_texts(column, options.as_written)
            if texts is not None:
                is_feature = at not in (chosen.label, *chosen.texts)
                dates = _dates(texts) if is_feature else None
                column = texts.to_pandas() if dates is None else dates
            columns[at] = column
        plain = [at for at in chosen.read if at not in columns]
        if len(plain) > _WIDE:
            numbers = frame.iloc[:, plain]
            numbers.columns = plain
            frame = _in_order(numbers, columns, chosen.read)
        else:
            frame = pandas.DataFrame(
                {at: columns.get(at, frame.iloc[:, at]) for at in chosen.read}, copy=False
            )
        frame.columns = [names[at] for at in chosen.read]
    if not len(frame):
        raise DataError(f"{path} must have at least one row of data, got none")
    return LabelledTable(frame, None if chosen.label is None else names[chosen.label], True)


def split_label(frame: Any, label: str, where: str | Path) -> tuple[Any, NDArray[Any]]:
    """The other columns of a table, and the label column as class values.

    SettingError if there is no such column, or no other one; DataError if a label is missing or
    invalid.
    """
    check_columns([label], frame, where)
    y = class_values(frame[label], f"{where}: the label {label!r}", in_file=True)
    X = frame.drop(columns=[label])
    if not len(X.columns):
        raise SettingError(f"{where} must keep at least one column besides the label, got none")
    return X, y


def check_columns(names: Sequence[str], frame: Any, where: str | Path) -> None:
    """SettingError if a table lacks one of the columns."""
    for name in names:
        if name not in frame.columns:
            raise _unknown_column(name, list(frame.columns), where)


def check_row_numbers(X: Any, where: str | Path) -> None:
    """DataError if a feature has no name and whole numbers, text or dates: the index of a frame."""
    unnamed = [at for at, name in enumerate(X.columns) if _UNNAMED.fullmatch(name)]
    for name, column in X.iloc[:, unnamed].items():
        with np.errstate(invalid="ignore"):  # of infinity
            whole = column.dtype.kind not in "biuf" or (column.dropna() % 1 == 0).all()
        if whole:
            raise DataError(
                f"{where}: features must not number the rows, but the column {name!r} had no name, "
                "as the index that to_csv of pandas writes; leave it out, by --drop or drop= "
                f"{name!r}, or give it a name"
            )


def label_values(labels: Sequence[Any], where: str) -> NDArray[Any]:
    """Labels of a file that is no table as class values, text as that of a text file.

    Text is stripped; of it, `MISSING_LABELS` are missing. DataError, beginning with `where`, if a
    label is missing or invalid.
    """
    import pandas as pd

    column: Any = labels
    if len(labels) and isinstance(labels[0], str):
        texts = [None if text in MISSING_LABELS else text for text in map(str.strip, labels)]
        column = _written_labels(pd.Series(texts, dtype=object), where)
    return class_values(column, where, in_file=True)


def number_classes(values: NDArray[Any], where: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Code of each class value, int64 (n,), and the names of the classes in ascending order."""
    classes, codes = np.unique(values, return_inverse=True)
    check_class_counts(np.bincount(codes), where)
    names = [int(value) if isinstance(value, float) else value for value in classes.tolist()]
    return codes.reshape(-1).astype(np.int64), tuple(map(str, names))


def file_suffix(path: Path) -> str:
    """The last suffix in lower case, with the one before it if it is ``.gz`` or ``.bz2``."""
    return "".join(path.suffixes[-2 if path.suffix.lower() in (".gz", ".bz2") else -1 :]).lower()


# ----------------------------------------------------------------------------------------- options


def split_data_text(text: str) -> tuple[str, dict[str, str]]:
    """Split a name or path from the options that follow it.

    >>> split_data_text("x.csv:label=target:drop=ID,date")
    ('x.csv', {'label': 'target', 'drop': 'ID,date'})
    """
    name, *parts = re.split(r":(?=\s*\w+\s*=)", text)
    options: dict[str, str] = {}
    for part in parts:
        key, _, value = (side.strip() for side in part.partition("="))
        if key in options:
            raise SettingError(f"{name}: {key} must be given once, got it twice in {text!r}")
        options[key] = value
    return name, options


def check_file_option(name: str, value: Any) -> Any:
    """The value of an option, also from its text; SettingError if it is none.

    >>> check_file_option("drop", "ID,date"), check_file_option("header", "true")
    (['ID', 'date'], True)
    """
    rule, read = _OPTIONS[name]
    try:
        return read(value)
    except SettingError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError):
        raise SettingError(f"{name} must be {rule}, got {value!r}") from None


def read_flag(value: Any) -> bool:
    """A truth value, also from its text; an error of Python for other values."""
    return value if isinstance(value, bool) else {"true": True, "false": False}[value.lower()]


def read_whole(value: Any) -> int:
    """A whole number, also from its text; an error of Python for other values."""
    number = int(value)
    if number != float(value):
        raise ValueError
    return number


def _column(value: Any) -> str | int:
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise TypeError
    try:
        return int(value)
    except ValueError:
        return str(value).strip()


def _columns(value: Any) -> list[str | int]:
    listed = value.split(",") if isinstance(value, str) else value
    return [*map(_column, [listed] if isinstance(listed, int) else listed)]


def _mark(value: Any) -> str:
    mark = {"tab": "\t", "space": " "}.get(value, value)
    return chr(ord(mark))


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or read_whole(value) < 1:
        raise ValueError
    return int(value)


_OPTIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "name": ("text", _text),
    "kind": ("text", _text),
    "label": ("the name or the position of a column", _column),
    "drop": ("columns by name or position, as in ID,date", _columns),
    "category": ("columns by name or position, as in ID,date", _columns),
    "header": ("true or false", read_flag),
    "delimiter": ("one character, or tab or space", _mark),
    "decimal": ("'.' or ','", lambda value: {".": ".", ",": ","}[value]),
    "multilabel": ("true or false", read_flag),
    "pheno": ("the path of a file of phenotypes", _text),
    "missing": ("texts of missing phenotypes, as in -9,NA", _columns),
    "layer": ("the name of a layer", _text),
    "gene_names": ("the name of a column of var", _text),
    "drop_unlabelled": ("true or false", read_flag),
    "ngrams": ("a whole number, at least 1", _count),
    "min_df": ("a whole number, at least 1", _count),
    "task": ("the number of a task of OpenML", _count),
    "validation": ("", check_share),
}
FILE_OPTIONS = tuple(_OPTIONS)
"""All options of files, in texts, grid files and Python. Which of them a format takes is known to
its reader; `validation` fits any data set, also a named one."""

# ------------------------------------------------------------------------------- lines and columns


class _ReadColumns(NamedTuple):
    """Positions of the columns to read, among them those of the label and of columns of text."""

    read: list[int]
    label: int | None
    texts: set[int]


def _open_text(path: Path) -> TextIO:
    with path.open("rb") as stream:
        zipped = stream.read(2) == b"\x1f\x8b"
    return (gzip.open if zipped else open)(path, "rt", encoding="utf-8-sig", newline="")


def _delimiter(path: Path, stream: TextIO, decimal: str) -> str:
    """The delimiter of a text file, which is read from its beginning afterwards."""
    if path.name.lower().endswith((".tsv", ".tsv.gz")):
        return "\t"
    first = next((line for line in stream if line.strip()), "")
    stream.seek(0)
    return next((mark for mark in ",;\t" if mark in first and mark != decimal), ",")


def _rows(reader: Any, path: Path) -> Iterator[list[str]]:
    width = 0
    for row in reader:
        if len(row) > 1 or (row and row[0].strip()):
            width = width or len(row)
            if len(row) != width:
                raise DataError(
                    f"{path}, line {reader.line_num}: every line must have {width} fields like the "
                    f"first, got {len(row)}"
                )
            yield row


def _chunks(rows: Iterator[list[str]], width: int, as_written: bool) -> Iterator[Any]:
    """Arrow arrays of the stripped fields of some rows, column by column."""
    import pyarrow

    while part := list(itertools.islice(rows, max(1, _CHUNK // max(width, 1)))):
        fields = list(itertools.chain.from_iterable(zip(*part, strict=True)))
        yield _stripped(pyarrow.array(fields, pyarrow.string()), as_written)


def _stripped(texts: Any, as_written: bool = False) -> Any:
    """Texts without spaces around them; missing ones are null unless they are `as_written`."""
    import pyarrow
    from pyarrow import compute

    stripped = compute.utf8_trim_whitespace(texts)
    if as_written:
        return stripped
    marks = compute.is_in(compute.utf8_lower(stripped), pyarrow.array(sorted(MISSING_MARKS)))
    return compute.if_else(marks, None, stripped)


def _column_names(fields: list[str]) -> list[str]:
    """The names in a first line; those without one get the name that pandas gives."""
    names = [field.strip() for field in fields]
    for at, name in enumerate(names):
        if not name:
            unnamed = f"Unnamed: {at}"
            names[at] = f"{unnamed}.1" if unnamed in names else unnamed
    return names


def _is_header(path: Path, fields: list[str], decimal: str) -> bool:
    import pyarrow

    texts = _stripped(pyarrow.array(fields, pyarrow.string())).drop_null()
    if _numbers(texts, decimal) is not None:
        return False
    if any(_numbers(texts[at : at + 1], decimal) is not None for at in range(len(texts))):
        raise SettingError(
            f"the first line of {path} has numbers and text; add :header=true if it names the "
            "columns, :header=false if it is a row (in Python header=)"
        )
    return True


def _chosen_columns(
    path: Path, names: list[str], options: TableOptions, has_names: bool
) -> _ReadColumns:
    label, only = options.label, None if options.only is None else frozenset(options.only)
    if label is not None and len(names) < 2:
        raise DataError(
            f"{path} must have at least two columns, a feature and the label, got {len(names)}; "
            "add :delimiter=C if they are not separated by commas, semicolons or tabs"
        )

    def position(option: str, column: str | int) -> int:
        if isinstance(column, int):
            if not -len(names) <= column < len(names):
                raise SettingError(
                    f"{option} must be a column name or a position from {-len(names)} to "
                    f"{len(names) - 1} for {path}, got {column}"
                )
            return column % len(names)
        if column not in names:
            raise _unknown_column(column, names if has_names else None, path)
        if names.count(column) > 1:
            places = ", ".join(str(at) for at, name in enumerate(names) if name == column)
            raise SettingError(
                f"{option} must name one column, but {path} has {column!r} at the positions "
                f"{places}; give positions, or rename them"
            )
        return names.index(column)

    label_at = None if label is None else position("label", label)
    dropped = {position("drop", column) for column in options.drop}
    if label_at in dropped:
        raise SettingError(f"drop must not name the label column of {path}, {label!r}")
    texts = {
        position("category", column)
        for column in options.category
        if only is None or isinstance(column, int) or column in names
    }
    read = [at for at in range(len(names)) if at not in dropped]
    if only is not None:
        read = [at for at in read if at == label_at or names[at] in only]
    elif label_at is not None and len(read) < 2:
        raise SettingError(f"drop must leave at least one feature of {path}, but names all of them")
    return _ReadColumns(read, label_at, texts)


def _check_names(path: Path, names: Sequence[str]) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise DataError(
                f"{path} names {times} columns {name!r}; rename them, or drop all but one"
            )


def _unknown_column(name: str, names: list[str] | None, where: str | Path) -> SettingError:
    if names is None:
        return SettingError(f"{where} has no column {name!r}; the file has no header")
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    shown = ", ".join(names[:20]) + (f", ... ({len(names):,} in all)" if len(names) > 20 else "")
    return SettingError(f"{where} has no column {name!r}{hint}; its columns: {shown}")


def _labelled_table(
    columns: dict[int, Any], names: list[str], chosen: _ReadColumns, has_names: bool
) -> LabelledTable:
    import pandas

    order = [*columns]
    floats = [at for at in order if getattr(columns[at], "dtype", None) == np.float64]
    if len(floats) > _WIDE:
        block = np.empty((len(floats), len(columns[floats[0]])))
        for place, at in enumerate(floats):
            block[place] = columns.pop(at)
        frame = _in_order(pandas.DataFrame(block.T, columns=floats, copy=False), columns, order)
    else:
        frame = pandas.DataFrame(columns, copy=False)
    frame.columns = [names[at] for at in order]
    return LabelledTable(frame, None if chosen.label is None else names[chosen.label], has_names)


def _in_order(numbers: Any, others: dict[int, Any], order: list[int]) -> Any:
    """A frame of one block and other columns, in this order; not a block for each column."""
    import pandas

    if not others:
        return numbers
    frame = pandas.concat([numbers, pandas.DataFrame(others, index=numbers.index)], axis=1)
    return frame if [*frame.columns] == order else frame[order]


# ------------------------------------------------------------------------------------------ values


def _values(texts: Any, decimal: str, where: str) -> Any:
    numbers = _numbers(texts, decimal)
    if numbers is not None:
        return numbers
    flags = _truth_values(texts)
    if flags is not None:
        return flags
    if decimal == "." and _numbers(texts, ",") is not None:
        raise DataError(
            f"{where} holds numbers with decimal commas, such as "
            f"{next(text for text in texts.to_pylist() if text and ',' in text)!r}; add :decimal=, "
            "after the path of the file (in Python decimal=','), or make the column a category"
        )
    dates = _dates(texts)
    if dates is not None:
        return dates
    _warn_of_few_texts(texts, decimal, where)
    return texts.to_pandas()


def _warn_of_few_texts(texts: Any, decimal: str, where: str) -> None:
    from pyarrow import compute

    known = texts.drop_null()
    is_number = compute.match_substring_regex(known, _NUMBER.replace("[.]", f"[{decimal}]"))
    wrong = compute.filter(known, compute.invert(is_number))
    if 0 < len(wrong) <= _FEW_TEXTS * len(known):
        warnings.warn(
            f"{where} becomes categories, because {len(wrong):,} of its {len(known):,} values "
            f"{'is no number' if len(wrong) == 1 else 'are no numbers'}, such as "
            f"{wrong[0].as_py()!r:.60}; correct them or leave them empty (missing), or name the "
            "column in --category (:category= of data sets, category= in Python) if it is one",
            RuntimeWarning,
            stacklevel=2,
        )


def _numbers(texts: Any, decimal: str) -> NDArray[Any] | None:
    """The numbers that texts spell, int64 if all are whole and none is missing; None for others."""
    import pyarrow
    from pyarrow import compute

    if decimal != ".":
        texts = compute.replace_substring(texts, ".", " ")  # no number has a space
        texts = compute.replace_substring(texts, decimal, ".")
    try:
        values = texts.cast(pyarrow.float64()).to_numpy(zero_copy_only=False)
    except pyarrow.ArrowInvalid:
        return None
    with np.errstate(invalid="ignore"):  # of infinity
        is_whole = not np.any(values % 1)
    if is_whole and not texts.null_count:
        with suppress(pyarrow.ArrowInvalid):  # 1.0
            return np.asarray(texts.cast(pyarrow.int64()).to_numpy(zero_copy_only=False))
    return np.asarray(values)


def _truth_values(texts: Any) -> Any:
    from pyarrow import compute

    lower = compute.utf8_lower(texts)
    if not {*compute.unique(lower).to_pylist()} <= {"true", "false", None}:
        return None
    flags = compute.equal(lower, "true").to_pandas()
    return flags.astype("boolean" if texts.null_count else bool)


def _dates(texts: Any) -> Any:
    import pandas
    from pyarrow import compute

    known = texts.drop_null()
    for many in (1, len(known)):  # most columns of text are known by their first value
        if not compute.all(compute.match_substring_regex(known[:many], _DATE)).as_py():
            return None
    with suppress(ValueError):  # 2024-02-30
        return pandas.to_datetime(texts.to_pandas(), format="ISO8601")
    return None


def _clean_texts(column: Any, as_written: bool) -> Any:
    """The stripped texts of a column of a data frame as an Arrow array; None for other values."""
    import pandas
    import pyarrow

    is_category = isinstance(column.dtype, pandas.CategoricalDtype)
    if pandas.api.types.infer_dtype(column.cat.categories if is_category else column) != "string":
        return None
    texts = column.astype(object) if is_category else column
    return _stripped(pyarrow.array(texts, pyarrow.string(), from_pandas=True), as_written)


def _as_text(column: Any) -> Any:
    """The values of a column as text; whole numbers are written without a point."""
    known = column.dropna() if column.dtype.kind == "f" else column[:0]
    if len(known) and (known % 1 == 0).all() and (known.abs() < 2**53).all():
        column = column.astype("Int64")  # whole numbers some of which are missing are read as float
    return column.astype("string")


def _written_labels(column: Any, where: str) -> Any:
    """Text as numbers or truth values if all of it is plainly one of them, or as it is."""
    values = sorted(column.dropna().unique())
    if set(values) in ({"True", "False"}, {"TRUE", "FALSE"}, {"true", "false"}):
        return column.map({value: value.lower() == "true" for value in values})
    if not all(_PLAIN_NUMBER.fullmatch(value) for value in values):
        return column
    number_of = {value: _number(value) for value in values}
    least, most = min(number_of.values(), default=0), max(number_of.values(), default=0)
    if least < -(2**63) or most >= 2**64 or (least < 0 and most >= 2**63):
        return column  # no whole numbers of 64 bits
    text_of: dict[Any, str] = {}
    for value, number in number_of.items():
        is_whole = float(number).is_integer() and abs(number) < 2**53
        if text_of.setdefault(number, value) != value and is_whole:
            raise DataError(
                f"{where} must write each class in one way, got {text_of[number]!r} and {value!r}, "
                "which are one number; write one of them as the other, or keep them apart by "
                "--category or category="
            )
    return column.map(number_of).astype(object)


def _number(text: str) -> int | float:
    return int(text) if text.removeprefix("-").isdecimal() else float(text)
