"""Columns of X that a fit has seen: their number, names and categories.

scikit-learn keeps names that are all text in `feature_names_in_`. Other names, such as the numbers
of ``read_csv(header=None)``, are kept in `_column_names`, and have to be the same at prediction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from boostsample.classifier.inputs.frames import TableColumns, is_frame
from boostsample.column_table import ColumnTable
from boostsample.errors import DataError, SettingError
from boostsample.family import Family

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
