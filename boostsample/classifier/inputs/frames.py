"""Columns of X: data frames with categories and dates as numbers, and what a fit has seen.

Columns of numbers and truth values keep their values. A column of categories becomes one indicator
column for each category, named "colour=red":

- A missing value is NaN in all indicators of its column; a category that was not there in training
  is 0 in all of them.
- At most 255 indicators a column: of more categories, the 254 most frequent have their own, and all
  others, with those not there in training, share the indicator "colour=(other)". This is the rule
  of scikit-learn's ``OneHotEncoder(handle_unknown="infrequent_if_exist")``.
- A column without any value in training is NaN for all examples.

A column of dates becomes a column of numbers for each of its `DATE_PARTS`, named "day.month", and
one of the hour if it has times of the day in training; a missing date is NaN in all parts.

`frame_of` makes frames of pandas of those of polars and Arrow. Decimals are numbers, dictionaries
of Arrow are categories.

scikit-learn keeps names that are all text in `feature_names_in_`. Other names, such as the numbers
of ``read_csv(header=None)``, are kept in `_column_names`, and have to be the same at prediction.
"""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import columns_merged_by_float32
from boostsample.column_table import ColumnTable
from boostsample.errors import BoostSampleError, DataError, SettingError, one_line
from boostsample.family import Family

Category: TypeAlias = str | bool | int | float

MAX_INDICATORS = 255
"""Most indicators of one column: a feature of a bank has at most 256 bins, too."""
OTHER = "(other)"
"""Names the indicator of all categories that have none of their own."""

DATE_PARTS = ("days", "year", "month", "day", "weekday")
"""Parts of a date: days since 1970-01-01, with the time of the day as a fraction; year; month, 1 to
12; day of the month, 1 to 31; day of the week, 0 for Monday to 6."""

_PARTS = {"date": DATE_PARTS, "datetime": (*DATE_PARTS, "hour")}
"""Parts of each kind of columns of dates."""
_NUMBERS = {"b": "bool", "i": "integer", "u": "integer", "f": "float"}
"""Kinds of columns of numbers, by the kind of dtype in NumPy and pandas."""
_CATEGORIES = ("category", "categorical", "enum", "dictionary")
"""How names of dtypes of categories begin, in pandas, polars and Arrow."""


@dataclass(frozen=True)
class FrameColumn:
    """One column of a frame; a datetime has times of the day, an empty column no value at all."""

    name: str  # or "column 3" if columns have no names
    kind: str
    categories: tuple[Category, ...] = ()  # those with an indicator, in the order of these
    other: bool = False  # whether one more indicator stands for all other categories

    @property
    def features(self) -> list[str]:
        """Names of the columns of numbers that are made of it."""
        if self.kind != "category":
            return [f"{self.name}.{part}" for part in _PARTS.get(self.kind, ())] or [self.name]
        ends = [*map(str, self.categories), *([OTHER] if self.other else [])]
        return [f"{self.name}={end}" for end in ends]


class TableColumns:
    """The columns of a data frame, and how they become numbers.

    `names` has the names of the features; `origin` the column that each of them is made of.
    """

    def __init__(self, columns: Sequence[FrameColumn]) -> None:
        self.columns = tuple(columns)
        parts = [column.features for column in self.columns]
        self.names = tuple(name for part in parts for name in part)
        self.origin = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        self._ends = np.cumsum([0, *map(len, parts)])
        if len(set(self.names)) < len(self.names):
            twice = Counter(self.names).most_common(1)[0][0]
            raise DataError(
                f"features must have different names, but {twice!r} is made of columns "
                f"{[column.name for column in self.columns if twice in column.features]}; rename a "
                "column or a category"
            )

    @classmethod
    def learn(cls, frame: Any, rows: Any = slice(None)) -> TableColumns:
        """The columns of a frame, with the categories of the given rows."""
        columns = []
        for at, (name, series) in enumerate(frame_of(frame).items()):
            shown = str(name) if isinstance(name, str) else f"column {at}"
            with _naming(shown, series):
                columns.append(_learned(shown, series, rows))
        return cls(columns)

    def transform(self, frame: Any, merged: list[str] | None = None) -> NDArray[np.float32]:
        """The table of numbers: float32 (n, number of features), in Fortran order.

        Names of columns, or of the days of dates, that float32 cannot tell apart are added to
        `merged`.
        """
        frame = frame_of(frame)
        if not is_frame(frame):
            raise DataError(
                "X must be a data frame as in training, because some of its columns are "
                f"categories or dates, got {type(frame).__name__}; pass a frame with the columns "
                f"{', '.join(column.name for column in self.columns)[:80]}"
            )
        if not frame.shape[0]:
            raise DataError("X must hold at least one row, got none")
        table = np.empty((frame.shape[0], len(self.names)), np.float32, order="F")
        for at, (column, (_, series)) in enumerate(zip(self.columns, frame.items(), strict=True)):
            part = table[:, self._ends[at] : self._ends[at + 1]]
            with _naming(column.name, series):
                if column.kind == "empty":
                    part[:] = np.nan
                elif column.kind == "category":
                    _indicate(column, series, part)
                elif column.kind in _PARTS:
                    days = _write_parts(column, series, part)
                    if merged is not None and columns_merged_by_float32(days[:, None]):
                        merged.append(column.features[0])
                else:
                    values = _numbers(column.name, series)
                    part[:, 0] = _float32(column.name, values)
                    if merged is not None and columns_merged_by_float32(values[:, None]):
                        merged.append(column.name)
        return table

    @property
    def all_numbers(self) -> bool:
        """Whether every column holds numbers or truth values, and is one feature."""
        return all(column.kind in _NUMBERS.values() for column in self.columns)

    def features_of(self, columns: Iterable[int]) -> list[int]:
        """The features that are made of some columns."""
        parts = (range(int(self._ends[at]), int(self._ends[at + 1])) for at in columns)
        return [feature for part in parts for feature in part]

    def by_kind(self) -> dict[str, list[int]]:
        """The features of each kind of column."""
        kinds: dict[str, list[int]] = {}
        for at, column in enumerate(self.columns):
            kinds.setdefault(column.kind, []).extend(self.features_of([at]))
        return kinds

    def to_json(self) -> str:
        """Everything that `transform` needs, as text."""
        parts: list[list[Any]] = [[column.name, column.kind] for column in self.columns]
        for part, column in zip(parts, self.columns, strict=True):
            part += [list(column.categories), column.other] if column.categories else []
        return json.dumps(parts)

    @classmethod
    def from_json(cls, text: str) -> TableColumns:
        """The columns of a `to_json` text; DataError if it is damaged."""
        try:
            return cls([_from_parts(*parts) for parts in json.loads(text)])
        except (TypeError, ValueError, RecursionError) as error:
            raise DataError(
                f"the columns of a data frame must be text of TableColumns.to_json(), but: {error}"
            ) from error


def frame_of(X: Any) -> Any:
    """X, or a data frame of pandas if it is one of polars, or a table or record batch of Arrow."""
    kind = type(X).__module__.partition(".")[0], type(X).__name__
    if kind not in (("polars", "DataFrame"), ("pyarrow", "Table"), ("pyarrow", "RecordBatch")):
        return X
    import pandas

    if kind[0] == "polars":
        columns = {}
        for series in X.get_columns():
            with _naming(series.name, series):
                if str(series.dtype) == "Object":  # Arrow would take the addresses for bytes
                    raise _refused(series.name, "Object")
                columns[series.name] = series.to_arrow()
        X = importlib.import_module("pyarrow").table(columns)
    return X.to_pandas(types_mapper=pandas.ArrowDtype)


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas, which is not imported."""
    return len(getattr(X, "shape", ())) == 2 and hasattr(X, "columns") and hasattr(X, "dtypes")


def is_number(dtype: Any) -> bool:
    """Whether scikit-learn reads columns of a dtype as numbers; sparse ones are filled by 0."""
    return dtype.kind in _NUMBERS and not getattr(dtype, "fill_value", 0)


@contextmanager
def _naming(name: str, series: Any) -> Iterator[None]:
    """Name the column in any error of other libraries."""
    try:
        yield
    except BoostSampleError:
        raise
    except Exception as error:  # Arrow, pandas and polars raise anything on some dtypes
        raise DataError(
            f"column {name!r} ({series.dtype}) cannot be read: {one_line(error)}; convert it, for "
            "example by .astype(float) or .astype(str), or drop it"
        ) from error


def _learned(name: str, series: Any, rows: Any) -> FrameColumn:
    of_numbers = _NUMBERS.get(series.dtype.kind)
    if of_numbers is not None:
        return FrameColumn(name, of_numbers)
    dates = _dates(series)
    if dates is not None:
        known = dates[rows][~np.isnat(dates[rows])]
        days = known.astype("M8[D]")
        kind = "datetime" if (known != days).any() else "date"
        return FrameColumn(name, kind if known.size else "empty")
    codes, values = _distinct(name, series)
    counts = np.bincount(codes[rows] + 1, minlength=len(values) + 1)[1:]
    there = [at for at in np.argsort(-counts, kind="stable") if counts[at]]
    kinds = {_kind_of(values[at]) for at in there}
    if not kinds:
        return FrameColumn(name, "empty")
    is_category = str(series.dtype).lower().startswith(_CATEGORIES)
    if not is_category and "text" not in kinds:
        return FrameColumn(name, "float" if "number" in kinds else "bool")
    if len(kinds) > 1:
        raise DataError(
            f"column {name!r} ({series.dtype}) must hold values of one kind, got "
            f"{' and '.join(sorted(kinds))}; convert it, for example by .astype(str)"
        )
    ranked = sorted((-int(counts[at]), values[at]) for at in there)
    other = len(ranked) > MAX_INDICATORS
    chosen = ranked[: MAX_INDICATORS - 1] if other else ranked
    return FrameColumn(name, "category", tuple(sorted(value for _, value in chosen)), other)


def _distinct(name: str, series: Any) -> tuple[NDArray[np.intp], list[Any]]:
    """Position of each value among the distinct ones, -1 if missing; and those, as of Python."""
    dtype = series.dtype
    if dtype.kind in "Mmc":
        raise _refused(name, f"{dtype}")
    position: dict[Any, int] = {}
    try:
        try:
            codes, distinct = series.factorize()
        except (NotImplementedError, OverflowError):  # of Arrow: no order, unsigned indices
            import pandas

            # Not `astype(object)`, which refuses unsigned indices before pandas 3.1.
            codes, distinct = pandas.factorize(np.fromiter(series, object, len(series)))
        # A dictionary of Arrow may hold null, and a value twice.
        plain = [_plain(value) for value in distinct.tolist()]
        at = [-1 if value is None else position.setdefault(value, len(position)) for value in plain]
    except TypeError:  # unhashable
        raise _refused(name, f"{dtype}") from None
    values = [*position]
    for value in values:
        if not isinstance(value, str | int | float):
            raise _refused(name, f"{dtype} of {type(value).__name__}")
        if isinstance(value, float) and not np.isfinite(value):
            raise DataError(
                f"column {name!r} ({dtype}) must hold finite values, got {value}; replace it"
            )
    return np.array([*at, -1], np.intp)[codes], values


def _plain(value: Any) -> Any:
    """A value as one of Python, a decimal as float; None if it is missing."""
    value = value.item() if isinstance(value, np.generic) else value
    value = float(value) if isinstance(value, Decimal) else value
    missing = type(value).__name__ == "NAType" or (isinstance(value, float) and value != value)
    return None if missing else value


def _kind_of(value: Category) -> str:
    kinds = {"text": str, "truth values": bool, "number": int | float}
    return next(kind for kind, types in kinds.items() if isinstance(value, types))


def _refused(name: str, found: str) -> DataError:
    return DataError(
        f"column {name!r} ({found}) must hold numbers, text, truth values, dates or categories; "
        "derive such columns from it, for example .dt.total_seconds() of a duration or "
        ".astype(str) of an interval, or drop it"
    )


def _indicate(column: FrameColumn, series: Any, part: NDArray[np.float32]) -> None:
    """Write the indicators of a column to `part` (n, indicators)."""
    codes, values = _distinct(column.name, series)
    position = {value: at for at, value in enumerate(column.categories)}
    rest = len(column.categories) if column.other else -1
    wanted = {_kind_of(value) for value in column.categories}
    for value in values:
        if _kind_of(value) not in wanted:
            raise DataError(
                f"column {column.name!r} ({series.dtype}) must hold {wanted.pop()} as in training, "
                f"got {value!r}; convert it as before"
            )
    at = np.array([*(position.get(value, rest) for value in values), -2], np.intp)[codes]
    part[:] = 0
    known = np.flatnonzero(at >= 0)
    part[known, at[known]] = 1
    part[at == -2] = np.nan


def _dates(series: Any) -> NDArray[np.datetime64] | None:
    """A column of dates as datetime64[s] (n,), NaT if missing; None if it holds other values."""
    if isinstance(series.dtype, np.dtype) and series.dtype.kind == "M":
        return np.asarray(series.to_numpy().astype("M8[s]"))
    dtype = str(series.dtype).lower()
    named = dtype.startswith(("date", "timestamp"))  # with a zone, or of Arrow
    if not named and dtype != "object":
        return None
    values = series.to_list()
    if not named:
        there = (value for value in values if _plain(value) is not None)
        if not isinstance(next(there, None), date) or not all(isinstance(v, date) for v in there):
            return None
    clock = [
        (value.replace(tzinfo=None) if isinstance(value, datetime) else value)
        if isinstance(value, date) and value == value  # NaT is a date, but differs from itself
        else None
        for value in values
    ]
    return np.array(clock, "M8[s]")


def _write_parts(
    column: FrameColumn, series: Any, part: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Write the parts of a column of dates to `part` (n, parts); the days before rounding (n,)."""
    dates = _dates(series)
    if dates is None:
        codes, values = _distinct(column.name, series)
        if values:
            raise DataError(
                f"column {column.name!r} ({series.dtype}) must hold dates as in training, got "
                f"{_unreadable(values, datetime.fromisoformat)!r}; convert it as before, for "
                "example by pandas.to_datetime"
            )
        dates = np.full(codes.size, "NaT", "M8[s]")
    import pandas

    calendar, days = pandas.DatetimeIndex(dates), dates.astype("M8[D]")
    day: Any = np.timedelta64(1, "D")
    numbers = {
        "days": (days - np.datetime64(0, "D")) / day + (dates - days) / day,
        "year": calendar.year,
        "month": calendar.month,
        "day": calendar.day,
        "weekday": calendar.day_of_week,
        "hour": calendar.hour,
    }
    for at, name in enumerate(_PARTS[column.kind]):
        part[:, at] = numbers[name]
    return np.asarray(numbers["days"])


def _numbers(name: str, series: Any) -> NDArray[np.float64]:
    """A column of numbers as float64 (n,), missing values as NaN."""
    if series.dtype.kind in _NUMBERS:
        values: NDArray[np.float64] = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return values
    codes, distinct = _distinct(name, series)
    texts = [value for value in distinct if isinstance(value, str)]
    if texts:
        raise DataError(
            f"column {name!r} ({series.dtype}) must hold numbers as in training, got "
            f"{_unreadable(texts, float)!r}; convert it as before"
        )
    return np.array([*distinct, np.nan], np.float64)[codes]


def _unreadable(values: Sequence[Any], read: Callable[[Any], Any]) -> Any:
    """The first value that `read` refuses, or else the first."""
    for value in values:
        try:
            read(value)
        except (TypeError, ValueError):
            return value
    return values[0]


def _float32(name: str, values: NDArray[np.float64]) -> NDArray[np.float32]:
    """The numbers of a column as float32 (n,); DataError if one is infinite then."""
    with np.errstate(over="ignore"):
        out = values.astype(np.float32)
    if np.isinf(out).any():
        row = int(np.argmax(np.isinf(out)))
        raise DataError(
            f"column {name!r}: values must be finite as float32 (at most 3.4e38) or missing, got "
            f"{values[row]} in row {row}; rescale that column or replace the value"
        )
    return out


def _from_parts(
    name: Any, kind: Any, categories: Sequence[Any] = (), other: Any = False
) -> FrameColumn:
    """A column from the parts of `to_json`; ValueError if they are of wrong types."""
    kinds = {*_NUMBERS.values(), *_PARTS, "category", "empty"}
    good = isinstance(name, str) and kind in kinds
    good = good and isinstance(other, bool) and isinstance(categories, list | tuple)
    if not good or not all(isinstance(value, str | int | float) for value in categories):
        raise ValueError(f"got the column {name!r:.40} of kind {kind!r:.40}")
    if (kind == "category") != bool(categories):
        raise ValueError(f"got {len(categories)} categories of the column {name!r:.40} ({kind})")
    return FrameColumn(name, kind, tuple(categories), other)


COLUMN_ATTRIBUTES = ("n_features_in_", "feature_names_in_", "_column_names", "columns_")


@dataclass(frozen=True)
class SeenColumns:
    """The columns of the X of a fit, in the order of `COLUMN_ATTRIBUTES`."""

    width: int | None = None
    """None for documents."""
    text_names: NDArray[Any] | None = None
    """Names that are all text."""
    other_names: NDArray[Any] | None = None
    """Other names as `repr` writes them."""
    table: TableColumns | None = None
    """For data frames with categories or dates."""

    @classmethod
    def of(
        cls, width: int | None, names: Iterable[Any] | None, table: TableColumns | None = None
    ) -> Self:
        """Columns with the names of a data frame, None for an array."""
        listed = None if names is None else list(names)
        if listed is None:
            return cls(width, None, None, table)
        if all(type(name) is str for name in listed):
            return cls(width, np.array(listed, object), None, table)
        return cls(width, None, np.array(_texts(listed), object), table)

    @classmethod
    def of_fitted(cls, estimator: Any) -> Self:
        """Those of a fitted classifier."""
        return cls(*(vars(estimator).get(name) for name in COLUMN_ATTRIBUTES))

    def attributes(self) -> dict[str, Any]:
        """The attributes of a fitted classifier; it always has `columns_`."""
        values = self.width, self.text_names, self.other_names
        named = zip(COLUMN_ATTRIBUTES, values, strict=False)
        return {name: v for name, v in named if v is not None} | {"columns_": self.table}

    @property
    def names(self) -> list[str] | None:
        """Names as `repr` writes them; None for an array."""
        if self.text_names is not None:
            return _texts(self.text_names)
        return None if self.other_names is None else self.other_names.tolist()

    @property
    def feature_names(self) -> Sequence[str] | NDArray[Any] | None:
        """Names of the columns of numbers that families read; None without names of text."""
        return self.text_names if self.table is None else self.table.names

    def of_table(self, X: ColumnTable, needed: NDArray[np.int64] | None = None) -> ColumnTable:
        """A table by columns with these columns in this order, found by name if there are names.

        DataError if one is missing, of all or of those at the positions `needed`.
        """
        if self.table is not None or self.other_names is not None:
            raise DataError(
                "X must be a data frame as for fit, whose columns are no plain numbers with names "
                f"of text, got the table by columns {type(X).__name__}"
            )
        if self.text_names is not None and X.column_names is not None:
            return X.aligned(self.text_names.tolist(), needed)
        if X.shape[1] != self.width:
            raise DataError(f"X must have {self.width:,} columns as for fit, got {X.shape[1]:,}")
        return X

    def check_positions(self) -> None:
        """SettingError if columns are named by whole numbers that are not their positions."""
        for at, name in enumerate([] if self.other_names is None else self.other_names):
            if name.lstrip("-").isdigit() and name != str(at):
                raise SettingError(
                    f"families count columns from 0, but column {at} of X has the name {name}; "
                    "name columns by text, for example by X.columns = X.columns.astype(str)"
                )

    def check_families(self, families: Iterable[Family]) -> None:
        """DataError if a family of columns was made for other names."""
        names = None if self.feature_names is None else _texts(self.feature_names)
        for family in families:
            of_family = getattr(family, "column_names", None)
            if of_family is not None:
                check_same_names(names, _texts(of_family), f"the family {family.name!r}")


def check_container(X: Any) -> None:
    """DataError for a masked array, and for a frame without columns or with wrong names."""
    if np.ma.is_masked(X):
        raise DataError(
            "X must not hide values by a mask; give X.astype(float).filled(numpy.nan): nan is "
            "missing"
        )
    if not is_frame(X):
        return
    names = list(X.columns)
    if not names:
        raise DataError(f"X must have at least one column, got a data frame of shape {X.shape}")
    if len(set(names)) < len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise DataError(
            f"columns of a data frame must have different names, got {twice!r} twice; rename one"
        )
    kinds = sorted({type(name).__name__ for name in names})
    if len(kinds) > 1 and "str" in kinds:
        raise DataError(
            f"names of columns must be all text or all of other types, got {' and '.join(kinds)}; "
            "convert them by X.columns = X.columns.astype(str)"
        )


def check_same_names(names: list[str] | None, expected: list[str] | None, source: str) -> None:
    """DataError unless names are equal and in equal order, or if there are none on one side."""
    if names is None or expected is None or names == expected:
        return
    now, before = set(names), set(expected)
    missing = [name for name in expected if name not in now]
    unknown = [name for name in names if name not in before]
    differences = [
        f"{', '.join(some[:5])}{', ...' if len(some) > 5 else ''} {how}"
        for some, how in ((missing, "missing"), (unknown, "not in it"))
        if some
    ]
    raise DataError(
        f"X must have the columns of {source}, by name and in the same order, got "
        f"{' and '.join(differences) or 'them in another order'}; select or rename its columns"
    )


def _texts(names: Iterable[Any]) -> list[str]:
    """Names as `repr` writes them, with scalars of NumPy as those of Python."""
    return [
        f"({', '.join(_texts(name))})"
        if type(name) is tuple
        else repr(name.item() if isinstance(name, np.generic) else name)
        for name in names
    ]
