"""Validation of the classifier's input: examples X, and the setting `families`.

scikit-learn checks tables, images, sparse matrices and data frames of numbers. Data frames with
categories become tables of numbers, see `boostsample.classifier.inputs.frames`. Examples that are
not numbers, such as documents, are passed on unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from boostsample.checks import (
    check_example_weight,
    columns_merged_by_float32,
    warn_of_merged_columns,
)
from boostsample.classifier.inputs.class_weight import with_class_weight
from boostsample.classifier.inputs.column_names import (
    check_container,
    check_family_names,
    check_fitted_names,
    check_positions,
    keep_names,
    with_names,
)
from boostsample.classifier.inputs.frames import (
    Column,
    TableColumns,
    frame_of,
    is_frame,
    is_number,
)
from boostsample.errors import DataError, SettingError
from boostsample.family import Family
from boostsample.labels import class_values
from boostsample.names import parse_name, split_names
from boostsample.registry import (
    column_families,
    default_families,
    families_by_name,
    registered_class,
    registered_names,
)

_GROUPINGS = ("dtype", "prefix")
"""Ways to group columns, see `boostsample.families.column_groups`."""

_RANGE = re.compile(r"\s*[0-9]+\s*-\s*[0-9]+\s*$")
"""A range of columns by index, see `boostsample.families.Columns`."""

_COMPLEX = "Complex data not supported"
"""Words that scikit-learn's checks of estimators look for."""

_RULES: dict[str, Any] = {
    "accept_sparse": "csc",
    "allow_nd": True,
    "dtype": "numeric",
    "ensure_all_finite": "allow-nan",
}


def inputs_are_numbers(families: Any) -> bool:
    """Whether the user's families read numbers; the default families and groups of columns do.

    Raises SettingError if an item is not a family, or if some read numbers and others do not.
    """
    if _are_columns(families):
        return True
    given = [_name_and_kind(family) for family in _listed(families)]
    with_numbers = [name for name, kind in given if kind.reads_numbers]
    without = [name for name, kind in given if not kind.reads_numbers]
    if with_numbers and without:
        raise SettingError(
            f"families must all read the same X, but {with_numbers[0]!r} reads numbers and "
            f"{without[0]!r} does not; convert documents to columns, for example by scikit-learn's "
            "CountVectorizer(binary=True) in a column transformer, and use families of columns"
        )
    return not without


def training_inputs(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    numbers: bool,
    columns: TableColumns | None = None,
) -> tuple[Any, NDArray[Any], NDArray[np.float64]]:
    """Validated training examples, labels and example weights (n,).

    Numbers become an array (n, ...) or a sparse matrix in CSC format (n, d), and the estimator gets
    scikit-learn's `n_features_in_` and `feature_names_in_`, or `_column_names`; other examples
    become an array of objects (n, ...). Labels are (n,), or (n, K) of a multi-label y, also of a
    sparse one; weights are those of the examples times those of the estimator's `class_weight`. The
    estimator's `columns_` are the given ones, or those of a data frame that is not all numbers,
    else None; rows of weight 0 have no categories. Raises the ValueError of scikit-learn's checks,
    or a DataError if X holds something else than numbers and categories, or if labels or weights
    are invalid.
    """
    labels = _labels(y)
    check_container(X)
    keep_names(estimator, X.columns if numbers and is_frame(X) else None)
    if columns is None:
        mixed = numbers and _is_mixed_frame(X)
    else:
        mixed = is_frame(X) or not columns.all_numbers
    if not numbers:
        for name in ("n_features_in_", "feature_names_in_"):  # left by an earlier fit
            vars(estimator).pop(name, None)
        examples = _objects(X)
    elif mixed:
        examples = validate_data(estimator, with_names(X), skip_check_array=True)
    else:
        with _explained(X):
            examples = _as_numbers(validate_data(estimator, with_names(X), **_RULES))
    check_consistent_length(examples, labels)
    weight = check_example_weight(sample_weight, examples.shape[0])
    weight = with_class_weight(estimator.class_weight, labels, weight)
    weight = check_example_weight(weight, examples.shape[0])
    if mixed:
        if columns is None:
            columns = TableColumns.learn(X, weight > 0)
        elif estimator.n_features_in_ != len(columns.columns):
            raise DataError(
                f"X must have the {len(columns.columns)} columns of init_model, got "
                f"{estimator.n_features_in_}"
            )
        merged: list[str] = []
        examples = columns.transform(X, merged)
        warn_of_merged_columns(merged)
    estimator.columns_ = columns
    return examples, labels, weight


def with_weight(examples: Any, kept: NDArray[np.intp]) -> Any:
    """The kept examples; not copied if all are kept: they may take most of the memory."""
    return examples if kept.size == examples.shape[0] else examples[kept]


def prediction_inputs(estimator: Any, X: Any, *, numbers: bool) -> Any:
    """Validated examples for prediction, as after `training_inputs`."""
    if not numbers:
        return _objects(X)
    X = frame_of(X)
    check_container(X)
    check_fitted_names(estimator, X)
    columns = estimator.columns_
    if columns is None and _is_mixed_frame(X):
        columns = TableColumns([Column(str(name), "float") for name in X.columns])
    if columns is not None and (is_frame(X) or not columns.all_numbers):
        validate_data(estimator, with_names(X), reset=False, skip_check_array=True)
        return columns.transform(X)
    with _explained(X):
        return _as_numbers(validate_data(estimator, with_names(X), reset=False, **_RULES))


def estimator_families(families: Any, X: Any, examples: Any, estimator: Any) -> list[Family]:
    """The families of the classifier's setting `families`.

    X are the user's examples, `examples` those from `training_inputs`; the estimator has the
    attributes that `training_inputs` set.
    """
    columns, names = estimator.columns_, feature_names(estimator)
    if families is None:
        return default_families(examples.shape[1:], column_names=names)
    if not _are_columns(families):
        given = _listed(families)
        made = families_by_name(given, examples.shape[1:], column_names=names, also=_GROUPINGS)
        check_family_names(made, names)
        return made
    if columns is None and families == "dtype" and is_frame(X):
        columns = TableColumns.learn(X)
    if isinstance(families, Mapping):
        check_positions(estimator)
    if columns is not None:
        families = _groups_of_features(families, columns)
    return column_families(families, examples, column_names=names)


def feature_names(estimator: Any) -> Any:
    """Names of text of the columns of numbers that `training_inputs` has returned, or None."""
    columns = estimator.columns_
    return getattr(estimator, "feature_names_in_", None) if columns is None else columns.names


def merged_columns(families: Sequence[Family], n_bins: NDArray[np.int16], X: Any) -> list[str]:
    """Names of the columns in families whose values float32 merges, see `boostsample.checks`.

    `n_bins` are the bins of all features, 2 of those that are constant as float32; 0 if unknown.
    """
    if len(X.shape) != 2:
        return []
    feature_of = np.full(X.shape[1], -1)
    names: list[tuple[Family, int]] = []
    for family in families:
        of_family = getattr(family, "columns", ())
        feature_of[list(of_family)] = np.arange(len(names), len(names) + len(of_family))
        names.extend((family, at) for at in range(family.n_features))
    found = columns_merged_by_float32(X, (n_bins[feature_of] == 2) & (feature_of >= 0))
    chosen = (names[feature_of[column]] for column in found if feature_of[column] >= 0)
    return [family.feature_name(feature) for family, feature in chosen]


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


def _groups_of_features(families: Any, columns: TableColumns) -> dict[str, list[Any]]:
    """Groups of features, the columns of numbers, from groups of columns of a data frame."""
    if families == "dtype":
        return columns.by_kind()
    of_frame = {"column_names": [column.name for column in columns.columns]}
    if families == "prefix":
        found = column_families(families, None, **of_frame)
        return {one.name: columns.features_of(one.columns) for one in found}
    groups: dict[str, list[Any]] = {}
    for name, wanted in families.items():
        one = isinstance(wanted, int | str | slice | np.integer)
        features: list[Any] = []
        for part in [wanted] if one else wanted:
            if part in of_frame["column_names"] or not isinstance(part, str) or _RANGE.match(part):
                (found,) = column_families({name: part}, None, **of_frame)
                features.extend(columns.features_of(found.columns))
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
    registered = name in registered_names("family")
    return name, registered_class("family", name) if registered else Family


def _objects(X: Any) -> NDArray[Any]:
    """Examples as an array of objects."""
    if isinstance(X, str | bytes) or not hasattr(X, "__len__"):
        raise DataError(f"X must be a sequence of examples, got {X!r:.60}; put it into a list")
    if hasattr(X, "__array__"):
        return np.asarray(X)
    return np.fromiter(X, dtype=object, count=len(X))


def _as_numbers(checked: Any) -> Any:
    """Convert objects to numbers: scikit-learn returns data frames with categories as objects."""
    return checked.astype(np.float64) if checked.dtype.kind == "O" else checked


@contextmanager
def _explained(X: Any) -> Iterator[None]:
    """Raise a DataError that suggests a solution if X holds no real numbers."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # of scikit-learn's sum of float16
            yield
    except (OverflowError, TypeError, ValueError) as error:
        if isinstance(X, list | tuple | np.ndarray) and len(X) and isinstance(X[0], str):
            raise DataError(
                "X holds documents, but these families read numbers; pass for example "
                "families=[boostsample.families.text_family(documents)] of the training documents"
            ) from error
        _refuse_array(X, str(error))
        raise


def _refuse_array(X: Any, found: str) -> None:
    """Raise an error in one line, with words of scikit-learn's own error, for some arrays."""
    if _COMPLEX in found:
        raise DataError(
            f"X must hold real numbers, got {getattr(X, 'dtype', 'complex numbers')}: {_COMPLEX}; "
            "give real and imaginary parts as columns of their own"
        )
    if "Reshape your data" in found:
        raise DataError(
            "X must be (n, d), n examples of d features, got "
            f"{f'shape {np.shape(X)}' if np.ndim(X) else f'{X!r:.60}'}; Reshape your data by "
            "X.reshape(-1, 1) if it is one feature, by X.reshape(1, -1) if it is one example"
        )
    if "inhomogeneous shape" in found:
        raise DataError(
            "X must have equally many features in each example, got examples of different "
            "lengths; fill the shorter ones, for example with nan, which is a missing value"
        )
    if "infinity" in found and is_frame(X):
        TableColumns.learn(X).transform(X)  # names the column
    elif "infinity" in found:
        values = np.asarray(X.toarray() if hasattr(X, "tocsc") else X, np.float64)
        place = tuple(np.argwhere(np.isinf(values))[0].tolist())
        raise DataError(
            f"X must hold finite numbers or nan, which is a missing value, got {values[place]} at "
            f"{place}; replace it"
        )
    table = np.asarray(X if isinstance(X, list | tuple | np.ndarray) else 0.0)
    for place, value in np.ndenumerate(table if table.dtype.kind in "OSU" else ()):
        if table.dtype.kind in "SU" or (value is not None and not _is_number(value)):
            text = value.item() if isinstance(value, np.generic) else value
            if "argument must be" in found:  # a rule of scikit-learn: a TypeError of these words
                raise TypeError(f"X must hold numbers, got {text!r:.60} at {place}: {found}")
            raise DataError(
                f"X must hold numbers, got {text!r:.60} at {place}; convert text that holds "
                "numbers by .astype(float), and give categories in a data frame"
            )


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (OverflowError, TypeError, ValueError):
        return False
    return True
