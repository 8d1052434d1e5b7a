"""The base class of feature families, see `boostsample.family`."""

from __future__ import annotations

import abc
import inspect
import json
import operator
import reprlib
from collections.abc import Mapping
from typing import Any, ClassVar, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.errors import DataError, SettingError

__all__ = ["Family", "check_examples", "check_name"]


class Family(abc.ABC):
    """A named group of features.

    A subclass stores each argument of its `__init__` in an attribute of the same name, sets `name`
    and `n_features` there, and implements `compute` and `feature_name`. Two families with equal
    settings are equal and compute the same bits. Nothing is learned from data.

    Attributes
    ----------
    name : str
        Name of the family in histories and tables.
    n_features : int
        Number of features; indices are 0 .. n_features-1.
    """

    name: str
    n_features: int

    reads_numbers: ClassVar[bool] = True
    """Whether examples are arrays of numbers. If not, as for documents, the classifier passes them
    on unchanged, as a one-dimensional array of objects."""

    @abc.abstractmethod
    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        """Values of some features for some examples; pure and thread-safe.

        Parameters
        ----------
        X : array, shape (n, d) for tables, (n, h, w) or (n, h, w, c) for images
            Any number of examples, also 0, in any memory order; not modified. The image families
            are fastest on the result of `pixel_major`.
        features : sequence of int, shape (q,)
            Feature indices in any order; may be empty or hold repeats.

        Returns
        -------
        values : float32, shape (n, q)
            `values[i, k]` depends on example i and feature `features[k]` only, to the bit. NaN
            means missing; infinite values are not allowed. The families of this package return
            feature-major memory (`values.T` is C-contiguous).

        Raises
        ------
        SettingError
            If a feature is out of range.
        DataError
            If examples have a wrong shape, or values that are not real numbers or are too large.
        """

    @abc.abstractmethod
    def feature_name(self, feature: SupportsIndex) -> str:
        """Readable name of a feature, unique in its family: "patch sum of rows 4-11, columns 6-13".

        Rows, columns and channels count from 0; ranges include both ends.
        """

    def value_range(self, features: NDArray[Any]) -> tuple[ArrayLike, ArrayLike] | None:
        """Smallest and largest value of features, for bins of equal width; optional.

        A bank divides each range into 255 equal bins without computing values. With None, the
        default, bin edges are quantiles of the values in training (or reference) rows.

        Parameters
        ----------
        features : ndarray of int, shape (q,)
            Valid feature indices.

        Returns
        -------
        lows, highs : arrays of float, shape (q,), or None
            Finite; each low at most its high. Values outside fall into the outer bins.
        """
        return None

    def settings(self) -> dict[str, Any]:
        """Arguments of `__init__` for an equal family, as JSON values (tuples become lists)."""
        parameters = list(inspect.signature(type(self)).parameters)
        missing = [p for p in parameters if not hasattr(self, p)]
        if missing:
            raise SettingError(
                f"the family class {type(self).__name__} must store each argument of its __init__ "
                f"under the same name, but has no attribute {missing[0]!r}; store it or override "
                "settings()"
            )
        return {p: _jsonable(getattr(self, p), f"{type(self).__name__}.{p}") for p in parameters}

    def check_features(self, features: ArrayLike) -> NDArray[np.intp]:
        """Feature indices as intp (q,); SettingError if one is out of range."""
        wanted = np.asarray(features)
        if wanted.shape == (0,):
            return np.empty(0, np.intp)
        if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
            raise SettingError(
                f"family {self.name!r}: features must be a one-dimensional sequence of integers, "
                f"got {wanted.dtype} of shape {wanted.shape}"
            )
        self.check_feature(wanted.min())
        self.check_feature(wanted.max())
        return wanted.astype(np.intp, copy=False)

    def check_feature(self, feature: SupportsIndex) -> int:
        """One feature index as int; SettingError if it is out of range."""
        rule = f"features of family {self.name!r} are the integers 0 to {self.n_features - 1}"
        try:
            index = operator.index(feature)
        except TypeError:
            raise SettingError(f"{rule}, got {feature!r}") from None
        if isinstance(feature, bool) or not 0 <= index < self.n_features:
            raise SettingError(f"{rule}, got {index}")
        return index

    def __repr__(self) -> str:
        brief = reprlib.Repr()
        given = {p: getattr(self, p, value) for p, value in self.settings().items()}
        values = ", ".join(f"{p}={brief.repr(value)}" for p, value in given.items())
        return f"{type(self).__name__}({values})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Family)
        return self.settings() == other.settings()

    def __hash__(self) -> int:
        return hash((type(self), json.dumps(self.settings(), sort_keys=True)))


def _jsonable(value: Any, name: str) -> Any:
    """Convert tuples and arrays to lists, and NumPy's numbers to Python's; or SettingError."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return _jsonable(value.tolist(), name)
    if isinstance(value, list | tuple | range):
        return [_jsonable(item, name) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _jsonable(item, name) for key, item in value.items()}
    raise SettingError(
        f"the family setting {name} cannot be stored as JSON: {type(value).__name__}; "
        "make it a number, text, list or dict, or override settings()"
    )


def check_name(name: Any) -> str:
    """A family's name; SettingError if it is not text or blank."""
    if not isinstance(name, str) or not name.strip():
        raise SettingError(f"the name of a family must be text that is not blank, got {name!r}")
    return name


def check_examples(X: Any, shape: tuple[int, ...], name: str) -> NDArray[Any]:
    """X as an array of real numbers, shape (n, *shape); (n, product of shape) is reshaped.

    Raises DataError with the family's `name` for a wrong shape or dtype.
    """
    array = np.asarray(X)
    flat = (int(np.prod(shape)),)
    if array.ndim == 0 or array.shape[1:] not in (shape, flat):
        wanted = ", ".join(map(str, shape))
        raise DataError(
            f"family {name!r} takes arrays of shape (n, {wanted}), got shape {array.shape}; "
            "give it such examples or make the family for these"
        )
    if array.dtype.kind not in "biuf":
        raise DataError(
            f"family {name!r} takes real numbers, got dtype {array.dtype}; "
            "convert X to uint8 or float32"
        )
    return array if array.shape[1:] == shape else array.reshape(len(array), *shape)
