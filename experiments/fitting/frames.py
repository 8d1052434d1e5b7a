"""Reads tables with named columns from CSV, TSV and Parquet files as data frames."""

from __future__ import annotations

import csv
import difflib
import re
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError
from boostsample.experiments.data.table_files import open_text
from boostsample.files.atomic import readable_file
from boostsample.labels import class_values

_READERS = {
    ".csv": ",",
    ".tsv": "\t",
    ".parquet": "",
}
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_DATE = r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?"
"""Dates of ISO 8601, with or without a time of the day."""
_MISSING = ("?",)
"""Texts of missing values, beside those that pandas knows: empty, NA, N/A, NaN, null, None."""


def read_frame(path: str | Path, *, texts: Collection[str] = (), target: str = "") -> Any:
    """The table of a file as a pandas data frame.

    Columns of text that hold dates as in 2024-05-31 or 2024-05-31 18:30 become dates.

    Parameters
    ----------
    path : path
        A .csv or .tsv file with a line of column names, plain or gzipped (.csv.gz), or .parquet.
    texts : collection of str
        Columns whose values are text, such as the codes 01 and 1; names that the table lacks are
        passed over.
    target : str
        Column of a text file that is read as numbers or truth values only if it writes them
        plainly: 01 and 02 are text.

    Raises
    ------
    SettingError
        If the ending is another, or pandas is not installed.
    DataError
        If the file cannot be read, is empty, names a column twice, or has lines of different
        numbers of fields; if two values of the target are one number.
    """
    file = Path(path)
    suffixes = [one.lower() for one in file.suffixes]
    kind = "".join(suffixes[-2:-1] if suffixes[-1:] == [".gz"] else suffixes[-1:])
    if kind not in _READERS:
        raise SettingError(
            f"a table must be a file with the ending {', '.join(_READERS)} (also .gz), got '{file}'"
        )
    try:
        import pandas
    except ImportError:
        raise SettingError(
            f"reading {file} needs pandas, which is not installed; install it with "
            "pip install 'boostsample[report]'"
        ) from None
    if not file.exists():
        raise DataError(f"the file '{file}' does not exist")
    with readable_file(file):
        if kind == ".parquet":
            frame = pandas.read_parquet(file)
        else:
            names = _read_header(file, _READERS[kind])
            frame = pandas.read_csv(
                file,
                sep=_READERS[kind],
                dtype={name: str for name in names if name.strip() in (*texts, target)},
                na_values=list(_MISSING),
                index_col=False,
                skipinitialspace=True,
                low_memory=False,
            )
    frame.columns = [str(name).strip() for name in frame.columns]
    _check_names(file, list(frame.columns))
    for name in frame.columns.intersection(list(texts)):
        frame[name] = _as_text(frame[name])
    if kind != ".parquet" and target in frame.columns and target not in texts:
        frame[target] = _as_written(frame[target], f"{file}: the target {target!r}")
    for name in frame.columns.difference([*texts, target]):
        frame[name] = _as_dates(frame[name])
    if not len(frame):
        raise DataError(f"{file} must have at least one row of data, got none")
    return frame


def split_target(
    frame: Any, target: str, drop: Sequence[str], where: str | Path
) -> tuple[Any, NDArray[Any]]:
    """The columns of a table without the target and those to drop, and the target as class values.

    SettingError if a column is unknown, or no column is left; DataError if a label is missing or
    invalid.
    """
    check_columns((target, *drop), frame, where)
    if target in drop:
        raise SettingError(f"the target {target!r} of {where} must not be dropped")
    y = class_values(frame[target], f"{where}: the target {target!r}", in_file=True)
    X = frame.drop(columns=[target, *dict.fromkeys(drop)])
    if not len(X.columns):
        raise SettingError(f"{where} must keep at least one column besides the target, got none")
    return X, y


def take_columns(frame: Any, names: Sequence[str], where: str | Path) -> Any:
    """The columns of a table that a model needs, in its order; DataError if one is missing."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        shown = ", ".join(map(repr, missing[:5])) + (", ..." if len(missing) > 5 else "")
        raise DataError(
            f"{where} must have the {len(names):,} columns that the model was fitted on, but "
            f"{len(missing):,} are missing: {shown}"
        )
    return frame[list(names)]


def check_columns(names: Sequence[str], frame: Any, where: str | Path) -> None:
    """SettingError if a table lacks one of the columns."""
    for name in names:
        if name not in frame.columns:
            raise _unknown_column(name, frame.columns, where)


def _read_header(file: Path, separator: str) -> list[str]:
    """The fields of the first line of a text file, once all lines are found to have as many."""
    names: list[str] = []
    with open_text(file) as stream:
        reader = csv.reader(stream, delimiter=separator, skipinitialspace=True)
        for fields in reader:
            if fields in ([], [""]):
                continue
            names = names or fields
            if len(fields) != len(names):
                raise DataError(
                    f"{file}, line {reader.line_num}: every line must have {len(names)} fields "
                    f"like the first, got {len(fields)}"
                )
    _check_names(file, [name.strip() for name in names])
    return names


def _as_text(column: Any) -> Any:
    """The values of a column as text; whole numbers are written without a point."""
    known = column.dropna() if column.dtype.kind == "f" else column[:0]
    if len(known) and (known % 1 == 0).all() and (known.abs() < 2**53).all():
        column = column.astype("Int64")  # whole numbers some of which are missing are read as float
    return column.astype("string")


def _as_dates(column: Any) -> Any:
    """A column of texts that are all dates as dates, any other as it is."""
    import pandas

    if pandas.api.types.infer_dtype(column) != "string":
        return column
    known = column.dropna()
    if not all(known[:many].str.fullmatch(_DATE).all() for many in (1, None)):
        return column
    with suppress(ValueError):  # 2024-02-30
        return pandas.to_datetime(column, format="ISO8601")
    return column


def _as_written(column: Any, where: str) -> Any:
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
                "which are one number; write one of them as the other, or keep them apart with "
                "--category"
            )
    return column.map(number_of).astype(object)


def _number(text: str) -> int | float:
    return int(text) if text.removeprefix("-").isdecimal() else float(text)


def _check_names(file: Path, names: Sequence[str]) -> None:
    if len(names) < 2:
        raise DataError(
            f"{file} must have at least two columns, got {len(names)}; the columns of a .csv file "
            "are separated by commas, those of a .tsv file by tabs"
        )
    for name, times in Counter(names).items():
        if times > 1:
            raise DataError(f"{file} names {times} columns {name!r}; rename them")


def _unknown_column(name: str, known: Any, where: str | Path) -> SettingError:
    names = [str(one) for one in known]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    shown = ", ".join(names[:20]) + (f", ... ({len(names):,} in all)" if len(names) > 20 else "")
    return SettingError(f"{where} has no column {name!r}{hint}; its columns: {shown}")
