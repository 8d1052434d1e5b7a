"""Checks of settings and data: an error with name, rule and value, or the checked value itself."""

from __future__ import annotations

import math
import operator
import re
import warnings
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.errors import DataError, SettingError, one_line, shown, unknown

#: Most rounds of a run; most repetitions and drawn settings, which take memory before any work.
MOST_ROUNDS, MOST_REPEATS = 10**9, 10**4
#: Example weights further apart than this would sink to the floor of `boostsample.rows.weights`.
WEIGHT_RANGE = 1e24

#: Largest seed: entropy of 128 bits.
MOST_SEED = 2**128 - 1

_MOST_INTEGER = 2**63 - 1
#: A growing budget ends at half as many again.
_MOST_LOOKS = 2**60
_MOST_DIGITS = len(str(_MOST_LOOKS))
_COMPARED_ROWS = 128
_ROUNDING = 2.0**-46
"""Relative difference of float64 values that may come from rounding in sums of a few terms."""


def check_integer(name: str, value: Any, low: int, high: int | None = None, hint: str = "") -> int:
    """A whole number from `low` to `high` as int, or SettingError that ends with `hint`.

    Bools, floats and strings are errors; `high` None is 2^63 - 1.
    """
    try:
        number = low - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = low - 1
    most = _MOST_INTEGER if high is None else high
    if not low <= number <= most:
        is_open = number < low and most >= _MOST_INTEGER
        rule = f"at least {low}" if is_open else f"between {low} and {most}"
        way_out = hint and f"; {hint}"
        raise SettingError(f"{name} must be an integer {rule}, got {shown(value)}{way_out}")
    return number


def check_count(name: str, value: Any, most: int, low: int = 1) -> int:
    """A whole number from `low` to `most` as int, or SettingError: more is taken for a mistake."""
    number = check_integer(name, value, low)
    if number > most:
        raise SettingError(f"{name} must be at most {most:,}, got {number:,}")
    return number


def check_flag(name: str, value: Any, *, numbers: bool = False) -> bool:
    """True or False, of Python or NumPy, or 1 or 0 with `numbers`, as bool, or SettingError."""
    is_number = numbers and isinstance(value, int) and value in (0, 1)
    if not is_number and not isinstance(value, bool | np.bool_):
        raise SettingError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def check_n_features(n_searched: int | None, n_features: int, budget: int) -> None:
    """SettingError unless a search of this many features is possible; None is chosen later."""
    if n_searched is not None and check_integer("n_features", n_searched, 1) > min(
        n_features, budget
    ):
        raise SettingError(
            f"n_features must be at most the {n_features} features there are and the budget of "
            f"{budget} looks, got {n_searched}; None chooses it"
        )


def parse_budget(budget: str | int) -> tuple[Fraction, bool]:
    """A number, and whether it multiplies the number of training examples N, as in ``"10N"``."""
    text = budget if isinstance(budget, str) else _text_of_looks(budget)
    match = re.fullmatch(r"0*([0-9]+(\.[0-9]+)?)(N?)", text.replace("_", ""))
    if not match or (match[2] and not match[3]) or not match[1].strip("0."):
        raise SettingError(
            "budget must be a whole number of at least 1 look, or a multiple of the number of "
            f"training examples N as in 10N, got {shown(budget)}"
        )
    whole, _, part = match[1].partition(".")
    if len(whole) > _MOST_DIGITS:
        raise SettingError(
            f"budget must be at most {_MOST_LOOKS:,} looks, got {shown(budget)}; all features on "
            "all examples are F N looks"
        )
    if len(part) > _MOST_DIGITS:
        raise SettingError(
            f"budget must have at most {_MOST_DIGITS} digits after the point, got {shown(budget)}; "
            "leave digits out"
        )
    return Fraction(match[1]), bool(match[3])


def _text_of_looks(budget: Any) -> str:
    """A whole number as text, cut where it is far out of range; no number for other values."""
    try:
        number = -1 if isinstance(budget, bool) else operator.index(budget)
    except TypeError:
        number = -1
    return str(min(max(number, -1), 10 * _MOST_LOOKS))


def budget_looks(budget: str | int, n_examples: int) -> int:
    """The looks of a budget for N training examples; SettingError if it is below 1 or above 2^60.

    A text without N must be at least N looks, since a 10 on a command line is a 10N in most cases.

    >>> budget_looks("2.5N", 90), budget_looks("90", 90), budget_looks(10, 90)
    (225, 90, 10)
    """
    number, times_n = parse_budget(budget)
    looks = int(number * n_examples) if times_n else int(number)
    if looks < 1:
        raise SettingError(
            f"budget must be at least 1 look, got {budget}, which is less for "
            f"N = {n_examples:,} training examples; give more"
        )
    if looks > _MOST_LOOKS:
        raise SettingError(
            f"budget must be at most {_MOST_LOOKS:,} looks, got {budget}, which is more for "
            f"N = {n_examples:,} training examples; all features on all examples are F N looks"
        )
    if isinstance(budget, str) and not times_n and looks < n_examples:
        raise SettingError(
            f"budget must be at least one look for each of the N = {n_examples:,} training "
            f"examples, got {budget}; write {budget}N for {budget} times N, or a part of N as in "
            "0.5N for fewer"
        )
    return looks


def check_number(
    name: str,
    value: Any,
    low: float,
    high: float = math.inf,
    *,
    above: bool = False,
    hint: str = "",
) -> float:
    """A finite number from `low` to `high` as float, or SettingError; `above` excludes `low`."""
    way_out = hint and f"; {hint}"
    try:
        number = _real_number(value)
        got = _digits(number)
    except (TypeError, ValueError):
        raise SettingError(f"{name} must be a number, got {shown(value)}{way_out}") from None
    except OverflowError:  # of whole numbers above 1.8e308
        number, got = math.nan, shown(value)
    if not (low < number if above else low <= number) or not number <= high or math.isinf(number):
        rule = f"{'above' if above else 'at least'} {_digits(low)}"
        rule += f" and at most {_digits(high)}" if high < math.inf else " and finite"
        raise SettingError(f"{name} must be {rule}, got {got}{way_out}")
    return number


def _real_number(value: Any) -> float:
    """A number of Python, NumPy or an array without axes as float.

    TypeError, ValueError or OverflowError for other values, such as text, bools and dates.
    """
    if np.asarray(value).ndim:
        raise TypeError("several values")
    plain = value[()] if isinstance(value, np.ndarray) else value
    if isinstance(plain, bool | np.bool_ | str | bytes | complex | np.complexfloating):
        raise TypeError("no real number")
    return float(plain)


def _digits(number: float) -> str:
    """A number in at most six digits, or in all if these are another number."""
    text = f"{number:g}"
    return text if float(text) == number else repr(float(number))


def check_features(features: ArrayLike, n_features: int) -> NDArray[np.int64]:
    """A checked copy of a vector of feature indices below `n_features`, or SettingError."""
    try:
        array = np.array(features, ndmin=1)
    except ValueError:  # ragged lists
        array = np.empty(0)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise SettingError(
            "in a step, features must be a non-empty vector of feature indices, got shape "
            f"{array.shape} of {array.dtype}; pass at least one integer"
        )
    numbers = array.astype(np.int64, copy=False)
    largest = numbers.item(numbers.view(np.uint64).argmax())  # a negative one is the largest there
    if not 0 <= largest < n_features:
        wrong = array[(numbers < 0) | (numbers >= n_features)][0]
        raise SettingError(
            f"in a step, features must be between 0 and {n_features - 1}, got {wrong}; "
            "see step.families for the indices of each family"
        )
    return numbers


def check_known(kind: str, value: Any, known: Collection[str | None]) -> None:
    """The SettingError of `unknown` unless a text, or None, is one of the known names.

    >>> check_known("code", "ecoc", ["dense", "one-vs-rest"])
    Traceback (most recent call last):
    boostsample.errors.SettingError: unknown code 'ecoc'; known: dense, one-vs-rest
    """
    if not isinstance(value, str | None) or value not in known:
        raise unknown(kind, value, map(str, known))


def check_choices(
    name: str, kind: str, values: Sequence[str] | str, known: Collection[str]
) -> tuple[str, ...]:
    """A setting `name` that selects distinct ones of the known values, or a SettingError."""
    try:
        chosen = (values,) if isinstance(values, str) else tuple(values)
    except TypeError:
        chosen = ()
    for value in chosen:
        check_known(kind, value, known)
    if not chosen or len(set(chosen)) < len(chosen):
        raise SettingError(
            f"{name} must be one or more different ones of {', '.join(known)}, got {shown(values)}"
        )
    return chosen


def check_rows(rows: ArrayLike, n: int, name: str = "rows") -> NDArray[np.int64]:
    """Row numbers as a new int64 array (writable: numba compiles again for read-only ones)."""
    try:
        array = np.asarray(rows)
    except ValueError:  # ragged lists
        array = np.empty((0, 0), object)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise DataError(
            f"{name} must be a vector of row numbers, got {array.dtype} of shape {array.shape}; "
            "turn a mask into numbers by np.flatnonzero"
        )
    if array.size and (array.min() < 0 or array.max() >= n):
        raise DataError(
            f"{name} must lie between 0 and {n - 1}, got {array.min()} to {array.max()}"
        )
    return array.astype(np.int64)


def check_example_rows(rows: ArrayLike | None, n_examples: int) -> NDArray[np.int64]:
    """Examples of a bank as int64 (n,), all of them for None; DataError if they are invalid."""
    checked = check_rows(np.arange(n_examples) if rows is None else rows, n_examples)
    if not checked.size:
        raise DataError(
            f"rows must not be empty; pass None for all {n_examples} examples of the bank"
        )
    return checked


def check_example_weight(weight: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """User weights s_i as float64 (n,), ones if there are none; DataError if they are invalid.

    They are divided by a power of two, so that the largest is between 1 and 2.
    """
    if weight is None:
        return np.ones(n)
    weights = _real_numbers("example weights", weight, "pass one number for each example, or none")
    if weights.shape != (n,):
        raise DataError(
            f"example weights must have shape ({n},), got {weights.shape}; pass one for each "
            "example"
        )
    wrong = ~np.isfinite(weights) | (weights < 0)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise DataError(
            f"example weights must be finite and not negative, got {weights[at]} in row {at}; "
            "weight 0 drops an example"
        )
    if not (weights > 0).any():
        raise DataError(
            "example weights must not all be zero, got only zeros; weight at least one example"
        )
    unit = 2.0 ** math.floor(math.log2(weights.max()))  # exact: no product becomes denormal or inf
    scaled = weights / unit
    small = (weights > 0) & (scaled < scaled.max() / WEIGHT_RANGE)
    if small.any():
        at = int(np.argmax(small))
        raise DataError(
            f"the largest example weight must be at most {WEIGHT_RANGE:g} times the least, got "
            f"{weights.max():g} and {weights[at]:g} in row {at}; weight 0 drops an example"
        )
    return scaled


def _real_numbers(name: str, values: Any, way_out: str) -> NDArray[np.float64]:
    """Numbers as float64; DataError for other values, such as text and dates."""
    try:
        array = np.asarray(values)
        are_objects = array.dtype.kind == "O"
        if array.dtype.kind in "cmMSU" or (
            are_objects and any(isinstance(each, str | bytes) for each in array.flat)
        ):
            raise TypeError("no real numbers")
        return np.asarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        wrong = _first_wrong(values) or one_line(error)
        raise DataError(f"{name} must be real numbers, got {wrong}; {way_out}") from error


def _first_wrong(values: Any) -> str:
    """The first of the values that is no real number, and its row; empty if there is none."""
    is_one = isinstance(values, str | bytes) or not np.iterable(values)
    each: Iterable[Any] = [values] if is_one else values
    for row, one in enumerate(each):
        try:
            if not isinstance(one, complex | np.complexfloating | str | bytes):
                float(one)
                continue
        except (OverflowError, TypeError, ValueError):
            pass
        return f"{shown(one.item() if isinstance(one, np.generic) else one)} in row {row}"
    return ""


def check_scores(scores: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Finite scores of a model as float64 of this shape, or DataError."""
    array = _real_numbers("scores", scores, "pass one number for each label weight")
    if array.shape != shape:
        raise DataError(
            f"scores must have shape {shape}, one for each label weight, got {array.shape}"
        )
    if not np.isfinite(array).all():
        raise DataError("scores must be finite, got some that are not")
    return array


def columns_merged_by_float32(table: Any, constant: NDArray[np.bool_] | None = None) -> list[int]:
    """Columns of a table, or a matrix in CSC format, of whose different values float32 leaves few.

    Neighbours among 128 rows, evenly spaced, are compared; in a sparse matrix, all stored values
    with the next of their column. A column is merged if more than 1 % of the pairs differ as they
    are, by more than float64 rounding, but not as float32: it has less than about 100 different
    values then. A column that is constant as float32 is merged if any two rows differ. `constant`
    (d,) says which columns may be constant, if that is known; all rows of these are read.

    >>> columns_merged_by_float32(np.array([[1e9, 1e-50, 1], [1e9 + 1, 2e-50, 1]]))
    [0, 1]
    """
    if not float32_may_merge(table.dtype):
        return []
    n, d = table.shape
    may_be = np.ones(d, bool) if constant is None else constant
    if hasattr(table, "tocsc"):
        stored = StoredMerges(d, table.dtype)
        stored.add(table)
        merged = stored.columns(n, may_be)
    else:
        merged = neighbours_merged(table[compared_rows(n)])
        columns = np.flatnonzero(may_be)
        with np.errstate(over="ignore", invalid="ignore"):
            for block in np.array_split(columns, columns.size // 64 + 1):
                part = table[:, block]
                merged[block] |= _merged(np.fmin.reduce(part, axis=0), np.fmax.reduce(part, axis=0))
    found: list[int] = np.flatnonzero(merged).tolist()
    return found


def float32_may_merge(dtype: np.dtype[Any]) -> bool:
    """Whether float32 may merge different values of this type."""
    return dtype.kind in "iuf" and dtype.itemsize >= 4 and dtype.newbyteorder("=") != np.float32


def compared_rows(n: int) -> NDArray[np.intp]:
    """The rows of n whose neighbours are compared."""
    return np.unique(np.linspace(0, n - 1, _COMPARED_ROWS).astype(np.intp))


def neighbours_merged(rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Of which columns float32 merges more than 1 % of the neighbours: bool (d,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        merged: NDArray[np.bool_] = 100 * _merged(rows[:-1], rows[1:]).sum(axis=0) > len(rows)
    return merged


class RowMerges:
    """The columns of a table in blocks of rows that float32 merges; all values count."""

    def __init__(self, n_rows: int, n_columns: int, dtype: np.dtype[Any]) -> None:
        self._at = compared_rows(n_rows)
        self._rows = np.empty((self._at.size, n_columns), dtype)
        self._ends: list[NDArray[Any]] = []

    def add(self, block: NDArray[Any], first: int) -> None:
        """Add rows from number `first` on, in order."""
        start, stop = np.searchsorted(self._at, [first, first + len(block)])
        self._rows[start:stop] = block[self._at[start:stop] - first]
        ends = [np.fmin.reduce(block, axis=0), np.fmax.reduce(block, axis=0)]
        if self._ends:
            ends = [np.fmin(self._ends[0], ends[0]), np.fmax(self._ends[1], ends[1])]
        self._ends = ends

    def columns(self) -> NDArray[np.bool_]:
        """The merged columns: bool (d,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            of_ends: NDArray[np.bool_] = _merged(*self._ends)
        return neighbours_merged(self._rows) | of_ends


class StoredMerges:
    """The columns of a sparse matrix in blocks of rows that float32 merges."""

    def __init__(self, n_columns: int, dtype: np.dtype[Any]) -> None:
        self._counts, self._pairs = np.zeros((2, n_columns), np.int64)
        self._lows, self._highs = np.zeros((2, n_columns), dtype)

    def add(self, matrix: Any) -> None:
        """Add rows, in CSC format."""
        values, counts = matrix.data, np.diff(matrix.indptr)
        column = np.repeat(np.arange(counts.size), counts)
        with np.errstate(over="ignore", invalid="ignore"):
            pairs = _merged(values[:-1], values[1:]) & (column[:-1] == column[1:])
        self._pairs += np.bincount(column[:-1][pairs], minlength=counts.size)
        stored = np.flatnonzero(counts)
        if stored.size:
            starts = matrix.indptr[stored]
            for ends, bound in ((self._lows, np.fmin), (self._highs, np.fmax)):
                of_block = bound.reduceat(values, starts)
                before = np.where(self._counts[stored] > 0, ends[stored], of_block)
                ends[stored] = bound(before, of_block)
        self._counts += counts

    def columns(self, n: int, constant: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """The merged columns of n rows, bool (d,), as of `columns_merged_by_float32`."""
        has_rest = self._counts < n  # zeros that are not stored
        lows = np.where(has_rest, np.fmin(self._lows, 0), self._lows)
        highs = np.where(has_rest, np.fmax(self._highs, 0), self._highs)
        with np.errstate(over="ignore", invalid="ignore"):
            of_ends = _merged(lows, highs) & (self._counts > 0)
        merged: NDArray[np.bool_] = of_ends if constant is None else of_ends & constant
        merged |= 100 * self._pairs > self._counts
        return merged


def _merged(first: Any, second: Any) -> Any:
    """Whether values differ, by more than by rounding, but not as float32."""
    merged = first.astype(np.float32) == second.astype(np.float32)
    merged &= first != second
    if first.dtype.kind == "f" and merged.any():
        merged &= np.abs(first - second) > _ROUNDING * np.abs(second)
    return merged


def warn_of_merged_columns(names: Sequence[str]) -> None:
    """A RuntimeWarning that names the columns of `columns_merged_by_float32`, if there are any."""
    if names:
        shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
        warnings.warn(
            "columns must keep their different values as float32 (7 digits, 1e-38 to 3.4e38), but "
            f"in {len(names):,} of them some become equal: {shown}; subtract the mean of such a "
            "column and divide by its scale, as StandardScaler of scikit-learn does",
            RuntimeWarning,
            stacklevel=2,
        )
