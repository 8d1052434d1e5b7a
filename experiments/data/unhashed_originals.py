"""Original files without a published hash: isolet and the small sets of the KDD Cup 2009.

Nothing is downloaded, since a download could not be verified. The files are searched like those of
`boostsample.experiments.data.originals`, plain or gzipped, and checked by their shape: numbers of
rows and columns, names of columns, ranges, and counts of labels. A file with other values in the
same shape is accepted.

isolet (UCI 54): the speakers 1 to 120 train (6238 rows), the speakers 121 to 150 test (1559 rows).

KDD Cup 2009, small: 190 columns of numbers and 40 of categories for each of 50000 customers, with
the labels of three tasks. The labels of the cup's test rows were never published, so there is no
standard split. An empty field is a missing value. A category becomes its count, the number of rows
that have it, for these reasons:

- It uses no labels. The rows of a split do not matter, since the counts are those of all rows.
- Thresholds see only the order. Sorted by count, a frequent category, about which much can be
  learned, differs from all others and has a bin of its own; a tree isolates it by two thresholds.
  Rare categories come first and share few bins, so that a stump cannot fit single rows.
- Missing values go below every threshold, to the side of the rare categories: neither says much.
  The constant stump, with the threshold -inf, separates them from all categories.
"""

from __future__ import annotations

import io
import math
import os
from array import array
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, one_line
from boostsample.experiments.data.dataset import DataContent
from boostsample.experiments.data.originals import LETTERS, Original, locate_original

_ISOLET_FILES = {"isolet1+2+3+4.data": (6238, 240), "isolet5.data": (1559, 60)}
"""Number of rows, and of the rows of a letter of which none is lost; three rows are lost."""
_ISOLET_COLUMNS = 617
_ISOLET = Original(
    "isolet",
    dict.fromkeys(_ISOLET_FILES, ""),
    (),
    page="https://archive.ics.uci.edu/dataset/54/isolet (uncompress its .Z files by gzip -d)",
)

KDD_POSITIVES = {"churn": 3672, "appetency": 890, "upselling": 3682}
"""The tasks of the KDD Cup 2009, with their numbers of positive rows."""
_KDD_ROWS = 50000
_KDD_COLUMNS = tuple(f"Var{number}" for number in range(1, 231))
_KDD_NUMBERS = 190  # columns of numbers, before those of categories
_KDD_TABLE = "orange_small_train.data"


def load_isolet(data_dir: str | os.PathLike[str] | None) -> DataContent:
    """Read the spoken letters: float32 (7797, 617) from -1 to 1, 26 classes.

    DataError if a file is missing or does not have the shape of the original.
    """
    paths = locate_original(_ISOLET, data_dir)
    parts = [_isolet_rows(name, paths[name]) for name in _ISOLET_FILES]
    rows = np.concatenate(parts)
    y = rows[:, -1].astype(np.int64) - 1
    return DataContent(rows[:, :-1].copy(), y, LETTERS, None, len(parts[0]))


def _isolet_rows(name: str, path: Path) -> NDArray[np.float32]:
    """Return the rows of a file, checked: 617 numbers from -1 to 1, then a letter from 1 to 26."""
    content = _ISOLET.read(name, path) or b"?"  # loadtxt warns of an empty file
    try:
        rows = np.loadtxt(
            io.BytesIO(content), dtype=np.float32, delimiter=",", comments=None, ndmin=2
        )
    except ValueError as error:
        _refuse(_ISOLET, path, "lines of numbers", one_line(error))
    n_rows, n_each = _ISOLET_FILES[name]
    shape = (n_rows, _ISOLET_COLUMNS + 1)
    if rows.shape != shape:
        _refuse(
            _ISOLET, path, "{} lines of {} numbers".format(*shape), "{} of {}".format(*rows.shape)
        )
    if not (np.abs(rows[:, :-1]) <= 1.0).all():
        _refuse(_ISOLET, path, "values from -1 to 1", "others")
    counts = [int((rows[:, -1] == letter).sum()) for letter in range(1, len(LETTERS) + 1)]
    if sum(counts) != n_rows or max(counts) > n_each:
        rule = f"the last numbers 1 to 26, each at most {n_each} times"
        _refuse(_ISOLET, path, rule, f"{sum(counts)} of these, one {max(counts)} times")
    return rows


def load_kddcup(task: str, data_dir: str | os.PathLike[str] | None) -> DataContent:
    """Read a task of the KDD Cup 2009, one of `KDD_POSITIVES`: float32 (50000, 230), 2 classes.

    NaN is a missing value; a category is its count, see above. DataError if a file is missing or
    does not have the shape of the original.
    """
    labels = f"orange_small_train_{task}.labels"
    original = Original(
        "kdd2009",
        {_KDD_TABLE: "", labels: ""},
        (),
        page="https://kdd.org/kdd-cup/view/kdd-cup-2009/Data (unpack its .zip files)",
    )
    paths = locate_original(original, data_dir)
    X = _kdd_table(original, paths[_KDD_TABLE])
    y = _kdd_labels(original, paths[labels], labels, KDD_POSITIVES[task])
    return DataContent(X, y, ("-1", "1"), _KDD_COLUMNS, None)


def _kdd_table(original: Original, path: Path) -> NDArray[np.float32]:
    """Return the numbers and the counts of the categories, float32, NaN where missing."""
    header, *lines = original.read(_KDD_TABLE, path).splitlines() or [b""]
    width = len(_KDD_COLUMNS)
    if header.decode("latin-1").split("\t") != list(_KDD_COLUMNS):
        rule = f"a first line with the names Var1 to Var{width}, separated by tabs"
        _refuse(original, path, rule, repr(header[:40].decode("latin-1")))
    if len(lines) != _KDD_ROWS:
        _refuse(original, path, f"{_KDD_ROWS} lines below its header", len(lines))
    numbers, codes = array("d"), array("q")
    known = [{b"": 0} for _ in _KDD_COLUMNS[_KDD_NUMBERS:]]
    for at, line in enumerate(lines, start=2):
        fields = line.split(b"\t")
        if len(fields) != width:
            _refuse(original, path, f"{width} fields in every line", f"{len(fields)} in line {at}")
        try:
            numbers.extend([float(one) if one else math.nan for one in fields[:_KDD_NUMBERS]])
        except ValueError as error:
            rule = f"numbers in the columns Var1 to Var{_KDD_NUMBERS}"
            _refuse(original, path, rule, f"in line {at}: {one_line(error)}")
        pairs = zip(fields[_KDD_NUMBERS:], known, strict=True)
        codes.extend([seen.setdefault(field, len(seen)) for field, seen in pairs])
    X = np.empty((len(lines), width), dtype=np.float32)
    with np.errstate(over="ignore"):  # the data set refuses infinite values
        X[:, :_KDD_NUMBERS] = np.frombuffer(numbers, dtype=np.float64).reshape(len(lines), -1)
    categories = np.frombuffer(codes, dtype=np.int64).reshape(len(lines), -1)
    for column, values in enumerate(categories.T, start=_KDD_NUMBERS):
        counts = np.bincount(values).astype(np.float32)
        counts[0] = np.nan
        X[:, column] = counts[values]
    return X


def _kdd_labels(original: Original, path: Path, name: str, n_positive: int) -> NDArray[np.int64]:
    """Return 1 for the positive rows, otherwise 0."""
    labels = [label.removeprefix(b"+") for label in original.read(name, path).split()]
    counts = (len(labels), labels.count(b"1"), labels.count(b"-1"))
    if counts != (_KDD_ROWS, n_positive, _KDD_ROWS - n_positive):
        rule = f"{_KDD_ROWS} lines, 1 in {n_positive} of them and -1 in the others"
        _refuse(original, path, rule, "{} lines, {} of 1 and {} of -1".format(*counts))
    return np.array([label == b"1" for label in labels], dtype=np.int64)


def _refuse(original: Original, path: Path, rule: str, got: object) -> NoReturn:
    raise DataError(
        f"{path} must have {rule}, got {got}; it is not the original file, replace it by that of "
        f"{original.page}"
    )
