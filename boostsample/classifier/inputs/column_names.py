"""Names of the columns of data frames: matched at prediction and when a fit goes on, or refused.

scikit-learn keeps names that are all text in `feature_names_in_`, and compares them at prediction.
Names of other types, such as the numbers of ``read_csv(header=None)``, are kept in the attribute
`_column_names`, as `repr` writes them, and have to be the same in the same order, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from boostsample.classifier.inputs.frames import is_frame
from boostsample.errors import DataError, SettingError
from boostsample.family import Family


def check_container(X: Any) -> None:
    """DataError for a masked array, and for a frame without columns or with wrong names.

    Names differ from each other, and all of them or none are text.
    """
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
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(
            f"columns of a data frame must have different names, got {twice!r} twice; rename one"
        )
    kinds = sorted({type(name).__name__ for name in names})
    if len(kinds) > 1 and "str" in kinds:
        raise DataError(
            f"names of columns must be all text or all of other types, got {' and '.join(kinds)}; "
            "convert them by X.columns = X.columns.astype(str)"
        )


def are_text(names: Iterable[Any]) -> bool:
    """Whether scikit-learn keeps these names."""
    return all(type(name) is str for name in names)


def keep_names(estimator: Any, names: Sequence[Any] | None) -> None:
    """Set `_column_names` of an estimator to names that scikit-learn does not keep."""
    vars(estimator).pop("_column_names", None)  # of an earlier fit
    if names is not None and not are_text(names):
        estimator._column_names = np.array(_texts(names), object)


def fitted_names(attributes: Mapping[str, Any]) -> list[str] | None:
    """The names that a fit with these attributes has seen, as `repr` writes them; None without."""
    names = attributes.get("feature_names_in_")
    if names is not None:
        return _texts(names)
    others: NDArray[Any] | None = attributes.get("_column_names")
    return None if others is None else others.tolist()


def check_fitted_names(estimator: Any, X: Any) -> None:
    """DataError if X is a frame of other columns than in the fit; scikit-learn checks text."""
    if is_frame(X) and not (hasattr(estimator, "feature_names_in_") and are_text(X.columns)):
        check_same_names(_texts(X.columns), fitted_names(vars(estimator)), "fit")


def check_same_names(names: list[str] | None, fitted: list[str] | None, source: str) -> None:
    """DataError unless names are equal and in equal order, or if there are none on one side."""
    if names is None or fitted is None or names == fitted:
        return
    now, before = set(names), set(fitted)
    missing = [name for name in fitted if name not in now]
    unknown = [name for name in names if name not in before]
    how = [
        f"{', '.join(some[:5])}{', ...' if len(some) > 5 else ''} {what}"
        for some, what in ((missing, "missing"), (unknown, "not in it"))
        if some
    ]
    raise DataError(
        f"X must have the columns of {source}, by name and in the same order, got "
        f"{' and '.join(how) or 'them in another order'}; select or rename its columns"
    )


def check_positions(estimator: Any) -> None:
    """SettingError if the columns of X are named by whole numbers that are not their positions."""
    names: Sequence[str] = getattr(estimator, "_column_names", ())
    for at, name in enumerate(names):
        if name.lstrip("-").isdigit() and name != str(at):
            raise SettingError(
                f"families count columns from 0, but column {at} of X has the name {name}; name "
                "columns by text, for example by X.columns = X.columns.astype(str)"
            )


def check_family_names(families: Iterable[Family], names: Iterable[str] | None) -> None:
    """DataError if a family of columns was made for other names than those of X."""
    for family in families:
        named = getattr(family, "column_names", None)
        if named is not None and names is not None:
            check_same_names(_texts(names), _texts(named), f"the family {family.name!r}")


def _texts(names: Iterable[Any]) -> list[str]:
    return [_text(name) for name in names]


def _text(name: Any) -> str:
    """A name as `repr` writes it, with scalars of NumPy as those of Python."""
    if type(name) is tuple:
        return f"({', '.join(map(_text, name))})"
    return repr(name.item() if isinstance(name, np.generic) else name)


def with_names(X: Any) -> Any:
    """X, or a frame of polars in a form that tells its names to scikit-learn before 1.9."""
    release = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
    is_polars = is_frame(X) and hasattr(X, "get_columns")
    return _Named(X) if is_polars and release < (1, 9) else X


class _Named:
    """A frame of polars by the data frame interchange protocol, which polars 2 has no more."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.shape = frame.shape

    def num_rows(self) -> int:
        return int(self.shape[0])

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.asarray(self._frame, dtype)

    def __dataframe__(self, **_: Any) -> _Named:
        return self

    def column_names(self) -> list[str]:
        return [*self._frame.columns]
