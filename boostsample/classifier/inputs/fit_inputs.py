"""Validation of the classifier's input: examples X, and the setting `families`."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from boostsample.banks.column_bank import canonical_columns
from boostsample.checks import (
    check_example_weight,
    check_number,
    columns_merged_by_float32,
    warn_of_merged_columns,
)
from boostsample.classifier.defaults import MOST_WIDE
from boostsample.classifier.inputs.frames import (
    FrameColumn,
    SeenColumns,
    TableColumns,
    check_container,
    check_same_names,
    frame_of,
    is_frame,
    is_number,
)
from boostsample.classifier.inputs.held_rows import FitRows
from boostsample.column_table import ColumnTable
from boostsample.errors import DataError, SettingError, one_line
from boostsample.family import Family
from boostsample.labels import class_values, classes_and_labels
from boostsample.names import is_in_file, parse_name, split_names
from boostsample.registry import (
    column_families,
    default_families,
    families_by_name,
    named_class,
    registered_names,
)

_GROUPINGS = ("dtype", "prefix")
"""Ways to group columns, see `boostsample.families.column_groups`."""

_RANGE = re.compile(r"\s*[0-9]+\s*-\s*[0-9]+\s*$")
"""A range of columns by index, see `boostsample.families.Columns`."""

_FEWEST_VALUES = 5
"""Rows with a value that a column of a very wide sparse matrix has at least."""

_RULES: dict[str, Any] = {
    "accept_sparse": "csc",
    "allow_nd": True,
    "dtype": "numeric",
    "ensure_all_finite": "allow-nan",
}


def inputs_are_numbers(families: Any) -> bool:
    """Whether the user's families read numbers; the default families and groups of columns do."""
    if _are_columns(families):
        return True
    listed = [_name_and_kind(family) for family in _listed(families)]
    with_numbers = [name for name, kind in listed if kind.reads_numbers]
    without = [name for name, kind in listed if not kind.reads_numbers]
    if with_numbers and without:
        raise SettingError(
            f"families must all read the same X, but {with_numbers[0]!r} reads numbers and "
            f"{without[0]!r} does not; convert documents to columns, for example by scikit-learn's "
            "CountVectorizer(binary=True) in a column transformer, and use families of columns"
        )
    return not without


class FitInputs(NamedTuple):
    """Checked inputs of a fit: its rows of weight above 0, their classes, and the columns of X.

    `weighted` bool (n,) says which rows of X have a weight above 0.
    """

    rows: FitRows
    classes: NDArray[Any]
    multi_label: bool
    seen: SeenColumns
    weighted: NDArray[np.bool_]


def check_fit_inputs(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    numbers: bool,
    columns: TableColumns | None = None,
) -> FitInputs:
    """The checked inputs of a fit; without `columns`, a frame has those that it has itself."""
    values = _labels(y)
    check_container(X)
    examples: Any
    if columns is None:
        mixed = numbers and _is_mixed_frame(X)
    else:
        mixed = is_frame(X) or not columns.all_numbers
    if not numbers:
        examples, width = _objects(X), None
    elif isinstance(X, ColumnTable):
        examples, width = X, X.shape[1]
    elif mixed:
        examples, width = X, X.shape[1] if is_frame(X) else None
    else:
        # scikit-learn writes attributes of the fit on the object that it checks for.
        checks_for = copy.copy(estimator)
        examples = as_numbers(X, partial(validate_data, checks_for))
        width = checks_for.n_features_in_
    check_consistent_length(examples, values)
    weight = check_example_weight(sample_weight, examples.shape[0])
    weight = with_class_weight(estimator.class_weight, values, weight)
    weight = check_example_weight(weight, examples.shape[0])
    if mixed:
        if columns is None:
            columns = TableColumns.learn(X, weight > 0)
        elif width is not None and width != len(columns.columns):
            raise DataError(
                f"X must have the {len(columns.columns)} columns of init_model, got {width}"
            )
        merged: list[str] = []
        examples = columns.transform(X, merged)
        warn_of_merged_columns(merged)
    names = None
    if numbers and (is_frame(X) or isinstance(X, ColumnTable)):
        names = X.column_names if isinstance(X, ColumnTable) else X.columns
    weighted = np.flatnonzero(weight > 0)
    classes, labels = classes_and_labels(values, weighted)
    if weighted.size < weight.size:  # a copy of all may take most of the memory
        examples = examples[weighted]
    rows = FitRows.of(examples, labels, weight[weighted])
    seen = SeenColumns.of(width, names, columns)
    return FitInputs(rows, classes, values.ndim == 2, seen, weight > 0)


def check_prediction_inputs(
    estimator: Any,
    X: Any,
    seen: SeenColumns,
    *,
    numbers: bool,
    needed: NDArray[np.int64] | None = None,
) -> Any:
    """Checked examples for predictions of a fit that has seen these columns.

    Of a table by columns, those at the positions `needed` suffice; all by default.
    """
    if not numbers:
        return _objects(X)
    if isinstance(X, ColumnTable):
        return seen.of_table(X, needed)
    X = frame_of(X)
    check_container(X)
    checks_for = copy.copy(estimator)
    vars(checks_for).pop("feature_names_in_", None)
    vars(checks_for).update(seen.attributes())
    if is_frame(X):
        of_frame = SeenColumns.of(None, X.columns)
        both_text = seen.text_names is not None and of_frame.text_names is not None
        if not both_text or not _has_readable_names(X):
            check_same_names(of_frame.names, seen.names, "fit")
            vars(checks_for).pop("feature_names_in_", None)
    columns = seen.table
    if columns is None and _is_mixed_frame(X):
        columns = TableColumns([FrameColumn(str(name), "float") for name in X.columns])
    check = partial(validate_data, checks_for, reset=False)
    if columns is not None and (is_frame(X) or not columns.all_numbers):
        check(X, skip_check_array=True)
        return columns.transform(X)
    return as_numbers(X, check)


def make_families(families: Any, X: Any, examples: Any, seen: SeenColumns) -> list[Family]:
    """The families of the setting `families`; X as the user gave it, `examples` as checked."""
    columns, names = seen.table, seen.feature_names
    if families is None:
        stored = columns_of_enough_rows(examples)
        if stored is not None:
            return column_families({"columns": stored}, examples, column_names=names)
        return default_families(examples.shape[1:], column_names=names)
    if not _are_columns(families):
        listed = _listed(families)
        made = families_by_name(listed, examples.shape[1:], column_names=names, also=_GROUPINGS)
        seen.check_families(made)
        return made
    if columns is None and families == "dtype" and is_frame(X):
        columns = TableColumns.learn(X)
    if isinstance(families, Mapping):
        seen.check_positions()
    if columns is not None:
        families = _groups_of_features(families, columns)
    return column_families(families, examples, column_names=names)


def columns_of_enough_rows(X: Any) -> NDArray[np.intp] | None:
    """The columns of a very wide sparse matrix with values in enough rows; None for other X.

    See `enough_rows`.
    """
    if not hasattr(X, "tocsc") or X.shape[1] <= MOST_WIDE:
        return None
    matrix = canonical_columns(X)
    n_values = np.diff(matrix.indptr)
    zeros = np.flatnonzero(matrix.data == 0)
    if zeros.size:
        column = np.searchsorted(matrix.indptr, zeros, side="right") - 1
        n_values = n_values - np.bincount(column, minlength=n_values.size)
    return enough_rows(n_values, X.shape[0])


def enough_rows(n_values: NDArray[Any], n: int) -> NDArray[np.intp] | None:
    """Columns of a very wide sparse matrix of n rows, of which so many have a value other than 0.

    Enough to learn from are at least 5 rows, and a thousandth of all. None for all columns, if none
    has enough, and for matrices that are not very wide.
    """
    enough = np.flatnonzero(n_values >= max(_FEWEST_VALUES, n / 1000))
    return enough if n_values.size > MOST_WIDE and 0 < enough.size < n_values.size else None


def merged_columns(families: Sequence[Family], n_bins: NDArray[np.int16], X: Any) -> list[str]:
    """Names of the columns in families whose values float32 merges, see `boostsample.checks`.

    Of a table by columns they are among those that have been read.
    """
    if len(X.shape) != 2:
        return []
    feature_of = np.full(X.shape[1], -1)
    first = np.cumsum([0, *(family.n_features for family in families)])
    for family, start in zip(families, first.tolist(), strict=False):
        columns = np.asarray(getattr(family, "columns", ()), np.intp)
        feature_of[columns] = np.arange(start, start + columns.size)
    if isinstance(X, ColumnTable):
        merged = X.merged_columns()
    else:
        merged = columns_merged_by_float32(X, (n_bins[feature_of] == 2) & (feature_of >= 0))
    features = feature_of[merged]
    features = features[features >= 0]
    owner = np.searchsorted(first, features, side="right") - 1
    local = (features - first[owner]).tolist()
    return [families[k].feature_name(at) for k, at in zip(owner.tolist(), local, strict=True)]


def _labels(y: Any) -> NDArray[Any]:
    """Validated labels (n,) or, of several labels, (n, K)."""
    if y is None:
        raise DataError("fit requires y to be passed, but the target y is None")
    labels = class_values(y)
    shape = np.shape(y[:1]) if isinstance(y, list | tuple) else getattr(y, "shape", ())
    if labels.ndim == 1 and len(shape) == 2:
        column_or_1d(labels[:, None], warn=True)
    check_classification_targets(labels)  # warns of almost as many classes as rows
    return labels


def _is_mixed_frame(X: Any) -> bool:
    """Whether X is a data frame of which some columns are not numbers by their dtype."""
    if type(X).__name__ == "LazyFrame":
        raise DataError("X must be a data frame, got a LazyFrame; pass X.collect()")
    return is_frame(X) and not all(map(is_number, X.dtypes))


def _has_readable_names(frame: Any) -> bool:
    """Whether scikit-learn reads the names of a frame: before 1.9, not those of polars 2."""
    release = tuple(map(int, sklearn.__version__.split(".")[:2]))
    return release >= (1, 9) or hasattr(frame, "iloc") or hasattr(frame, "__dataframe__")


def _groups_of_features(families: Any, columns: TableColumns) -> dict[str, list[Any]]:
    """Groups of features, the columns of numbers, from groups of columns of a data frame."""
    if families == "dtype":
        return columns.by_kind()
    of_frame = {"column_names": [column.name for column in columns.columns]}
    if families == "prefix":
        family = column_families(families, None, **of_frame)
        return {is_single.name: columns.features_of(is_single.columns) for is_single in family}
    groups: dict[str, list[Any]] = {}
    for name, wanted in families.items():
        is_single = isinstance(wanted, int | str | slice | np.integer)
        features: list[Any] = []
        for part in [wanted] if is_single else wanted:
            if part in of_frame["column_names"] or not isinstance(part, str) or _RANGE.match(part):
                (family,) = column_families({name: part}, None, **of_frame)
                features.extend(columns.features_of(family.columns))
            else:
                features.append(part)  # the name of a feature, or a pattern of names
        groups[name] = features
    return groups


def _are_columns(families: Any) -> bool:
    """Whether the setting `families` is the default or names groups of columns."""
    return (
        families is None
        or isinstance(families, Mapping)
        or (isinstance(families, str) and families in _GROUPINGS)
    )


def _listed(families: Any) -> list[Any]:
    """The items of the setting `families`: families and names."""
    if isinstance(families, str):
        return list(split_names(families))
    return list(families) if isinstance(families, Iterable) else [families]


def _name_and_kind(family: Any) -> tuple[str, Any]:
    """Name of a family, and an object that has its `reads_numbers`."""
    if isinstance(family, Family):
        return family.name, family
    if not isinstance(family, str):
        raise SettingError(
            "families must be names or families of features, such as 'haar' or "
            "boostsample.families.Haar((8, 8)), groups of columns by name, 'dtype' or 'prefix', "
            f"got {family!r}"
        )
    name = parse_name(family)[0]
    is_class = is_in_file(name) or name in registered_names("family")
    return name, named_class("family", name) if is_class else Family


def _objects(X: Any) -> NDArray[Any]:
    if isinstance(X, str | bytes) or not hasattr(X, "__len__"):
        raise DataError(f"X must be a sequence of examples, got {X!r:.60}; put it into a list")
    if hasattr(X, "__array__"):
        return np.asarray(X)
    return np.fromiter(X, dtype=object, count=len(X))


def as_numbers(X: Any, check: Callable[..., Any]) -> Any:
    """X as numbers by one of scikit-learn's checks; errors name the value and its place."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # of scikit-learn's sum of float16
            checked = check(X, **_RULES)
            # scikit-learn returns data frames with categories as objects
            return checked.astype(np.float64) if checked.dtype.kind == "O" else checked
    except (OverflowError, TypeError, ValueError) as error:
        fault = _fault(X)
        if isinstance(error, TypeError):  # as scikit-learn's rules for estimators ask
            raise TypeError(f"{fault}: {error}" if fault else error) from error
        raise DataError(fault or one_line(error)) from error


def _fault(X: Any) -> str:
    """What is wrong with a value of X, and where; empty if scikit-learn's error says it."""
    is_array = isinstance(X, list | tuple | np.ndarray)
    if is_array and len(X) and isinstance(X[0], str):
        return (
            "X holds documents, but these families read numbers; pass for example "
            "families=[boostsample.families.text_family(documents)] of the training documents"
        )
    if is_frame(X):
        TableColumns.learn(X).transform(X)  # names the column
        return ""
    if not is_array and hasattr(X, "tocoo"):  # a matrix that may be too large as an array
        if X.dtype.kind not in "fiub":
            return ""
        stored = X.tocoo()
        infinite = np.flatnonzero(np.isinf(stored.data))
        if not infinite.size:
            return ""
        row, column, at = min((stored.row[at], stored.col[at], at) for at in infinite)
        return _not_finite(stored.data[at].item(), (int(row), int(column)))
    try:
        table = np.asarray(X)
    except ValueError:  # rows of different lengths
        return ""
    if table.dtype.kind not in "fO":
        return ""
    is_float = table.dtype.kind == "f"
    wrong = np.isinf(table) if is_float else np.vectorize(_is_wrong, otypes=[bool])(table)
    if not wrong.any():
        return ""
    place = tuple(np.argwhere(wrong)[0].tolist())
    value = table[place].item() if isinstance(table[place], np.generic) else table[place]
    if isinstance(value, float):
        return _not_finite(value, place)
    return (
        f"X must hold numbers, got {value!r:.60} at {place}; convert text that holds numbers by "
        ".astype(float), and give categories in a data frame"
    )


def _not_finite(value: float, place: tuple[int, ...]) -> str:
    return (
        f"X must hold finite numbers or nan, which is a missing value, got {value} at {place}; "
        "replace it"
    )


def _is_wrong(value: Any) -> bool:
    """Whether an object is no number, or infinite; None is missing."""
    try:
        return value is not None and bool(np.isinf(float(value)))
    except (OverflowError, TypeError, ValueError):
        return True


def with_class_weight(
    class_weight: Any, labels: NDArray[Any], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Example weights (n,) times those of their classes, for labels (n,) or (n, K)."""
    if class_weight is None:
        return weight
    out = weight
    if isinstance(class_weight, str) and class_weight == "balanced":
        for column in labels.reshape(len(labels), -1).T:
            out = _product(out, _balanced(column, weight))
        return out
    several = labels.ndim == 2
    each = class_weight if several and isinstance(class_weight, list | tuple) else [class_weight]
    mappings = [mapping for mapping in each if isinstance(mapping, Mapping)]
    if not len(mappings) == len(each) == (labels.shape[1] if several else 1):
        raise SettingError(
            "class_weight must be None, 'balanced' or "
            + (
                f"a list of {labels.shape[1]} mappings, one for each label, as in "
                "[{0: 1, 1: 5}, ...]"
                if several
                else "a mapping of classes to weights, as in {'no': 1, 'yes': 5}"
            )
            + f", got {class_weight!r:.60}"
        )
    for mapping, column in zip(mappings, labels.reshape(len(labels), -1).T, strict=True):
        classes, codes = np.unique(column, return_inverse=True)
        out = _product(out, mapped_factors(mapping, classes.tolist())[codes])
    return out


def _product(weight: NDArray[np.float64], factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights times factors (n,), divided by a power of two: the largest is between 1 and 2.

    So products over many labels stay within float64. One that is too small all the same becomes the
    least normal number, which `check_example_weight` refuses; 0 would drop the example.
    """
    with np.errstate(under="ignore"):
        product = _in_units(weight) * _in_units(factor)
        counts = (weight > 0) & (factor > 0)
        return _in_units(np.where(counts, np.maximum(product, np.finfo(np.float64).tiny), 0.0))


def _in_units(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values divided by a power of two, so that the largest is between 1 and 2; zeros stay."""
    most = float(values.max(initial=0.0))
    return values / 2.0 ** math.floor(math.log2(most)) if most > 0.0 else values


def mapped_factors(class_weight: Mapping[Any, Any], classes: list[Any]) -> NDArray[np.float64]:
    """Factor of each of the classes: 1 of those that a mapping leaves out, as in scikit-learn."""
    factors = {
        label: check_number(f"class_weight of {label!r}", class_weight[label], 0.0)
        for label in class_weight
    }
    unknown = [label for label in factors if label not in classes]
    left_out = [label for label in classes if label not in factors]
    if unknown and left_out:
        raise SettingError(
            f"class_weight must name classes of y, got {unknown[0]!r} and no weight of "
            f"{left_out[0]!r}; write classes as in y"
        )
    return np.array([factors.get(label, 1.0) for label in classes])


def _balanced(column: NDArray[Any], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    classes, codes = np.unique(column, return_inverse=True)
    whole = np.bincount(codes, weight, classes.size)
    there = whole > 0  # examples of weight 0 count for nothing
    factor = np.zeros(classes.size)
    factor[there] = whole.sum() / (np.count_nonzero(there) * whole[there])
    return np.asarray(factor[codes])
