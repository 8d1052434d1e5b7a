"""Base classes of feature families: named groups of features that are computed on demand.

A family has a number of features and a name for each, and computes any subset of them on any rows
without computing the rest. Strategies adapt to families, and banks are built from them. The
families of this package are in `boostsample.families`. To write one, subclass `Family`, or
`ImageFamily` for images, and run `boostsample.testing.check_family` on it.
"""

from __future__ import annotations

import abc
import inspect
import json
import operator
import reprlib
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.checks import check_choices, check_integer
from boostsample.errors import DataError, SettingError

__all__ = [
    "PIXEL_LIMIT",
    "Family",
    "Fill",
    "ImageFamily",
    "check_choices",
    "check_examples",
    "check_image_shape",
    "check_name",
    "pixel_major",
]

PIXEL_LIMIT = 1e15
"""Largest absolute value of a pixel, so that sums of squares stay within float32."""

_BLOCK_VALUES = 800_000
"""Values read and written for one block of examples. Half or twice as many changed the time by less
than 10 %; results do not depend on it."""

Fill: TypeAlias = Callable[[NDArray[Any], NDArray[np.float32]], None]
"""`fill(block, out)` reads block (n_pixels, m) and writes out, float32 (n_features, m)."""


class BinnedFeatures(NamedTuple):
    """Bins, cuts and numbers of bins of some features, as `boostsample.banks.binning` makes them.

    `bins` is uint8 (q, n), `cuts` float32 (q, 254), ascending and padded with +inf, and `n_bins`
    int16 (q,), the number of cuts + 2.
    """

    bins: NDArray[np.uint8]
    cuts: NDArray[np.float32]
    n_bins: NDArray[np.int16]


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

    cost: float = 10.0
    """Looks that it takes as long as to compute and bin a value, of 16 features and 4,096 examples
    (`benchmarks/family_costs.py`). A constant, so that results do not depend on the machine."""

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

    def binned(
        self, X: Any, features: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> BinnedFeatures | None:
        """The bins of some features of all examples X without their values; optional.

        For X that holds features in few values or sparse; equal to what `find_cuts` of the rows and
        `assign_bins` make of `compute`. None, the default, if there is no such short cut.
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
        name = f"the feature of family {self.name!r}"
        return check_integer(name, feature, 0, self.n_features - 1)

    def __repr__(self) -> str:
        brief = reprlib.Repr()
        stored = {p: getattr(self, p, value) for p, value in self.settings().items()}
        values = ", ".join(f"{p}={brief.repr(value)}" for p, value in stored.items())
        return f"{type(self).__name__}({values})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Family)
        return self.settings() == other.settings()

    def __hash__(self) -> int:
        return hash((type(self), json.dumps(self.settings(), sort_keys=True)))


class ImageFamily(Family):
    """Base class of families whose features read some pixels of an image.

    A subclass implements `plan` and `feature_name`. `compute` processes the examples in blocks that
    fit the cache: it reads only the pixels that the features need, transposed so that a pixel's
    values over the examples are contiguous, checks that they are finite, and calls `fill`.

    Images are (n, h, w) or (n, h, w, c) arrays of real numbers, or (n, h*w*c) with the same order
    of values. Features read float32; uint8 and float32 images of equal values give equal features.

    Parameters
    ----------
    image_shape : tuple of int, (h, w) or (h, w, c)
    name : str

    Attributes
    ----------
    height, width, n_channels : int
        h, w and c; c is 1 for (h, w).
    """

    reads_bytes: ClassVar[bool] = False
    """Whether `fill` takes the pixels of uint8 images as uint8 instead of float32."""

    def __init__(self, image_shape: tuple[int, ...], name: str) -> None:
        self.image_shape = check_image_shape(image_shape)
        self.name = check_name(name)
        self.height, self.width = self.image_shape[:2]
        self.n_channels = self.image_shape[2] if len(self.image_shape) == 3 else 1

    @abc.abstractmethod
    def plan(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], Fill]:
        """Pixels to read and the function that computes features from them, for all blocks.

        Parameters
        ----------
        features : intp, shape (q,), q >= 1
            Valid feature indices.

        Returns
        -------
        pixels : intp, shape (p,), p >= 1
            Distinct indices into the flat image: (row * width + column) * channels + channel.
        fill : function
            `fill(block, out)` with block: float32 (p, m), C-contiguous, read; out: float32 (q, m),
            rows contiguous, written. Each column of out depends on the same column of block only,
            with an order of operations that does not depend on `features`.
        """

    def plan_integers(
        self, features: NDArray[np.intp], largest: int
    ) -> tuple[NDArray[np.intp], Fill] | None:
        """As `plan` for images of integers; optional.

        Integers and their differences are at most `largest` in absolute value. The blocks of `fill`
        are uint8 or int16. Values must equal those of `plan` to the bit. None, the default, if
        there is no faster way for these features.
        """
        return None

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        """Values of some features for some images, see `Family.compute`; feature-major memory."""
        wanted = self.check_features(features)
        images = check_examples(X, self.image_shape, self.name)
        n_images = len(images)
        out = np.empty((len(wanted), n_images), np.float32)
        if out.size:
            of_bytes = self.plan_integers(wanted, 255) if images.dtype == np.uint8 else None
            pixels, fill = of_bytes or self.plan(wanted)
            as_bytes = self.reads_bytes or of_bytes is not None
            step = min(max(_BLOCK_VALUES // (len(pixels) + len(wanted)), 32), 4096)
            for start in range(0, n_images, step):
                block = self._read(images, pixels, start, min(start + step, n_images), as_bytes)
                fill(block, out[:, start : start + step])
        return out.T

    def place(self, row: int, column: int, channel: int = 0) -> str:
        """A pixel's position in words, with the channel if images have channels."""
        return f"row {row}, column {column}{self.in_channel(channel)}"

    def in_channel(self, channel: int) -> str:
        """Suffix of a feature's name: ", channel 2" if images have channels, else empty."""
        return f", channel {channel}" if len(self.image_shape) == 3 else ""

    def _read(
        self, images: NDArray[Any], pixels: NDArray[np.intp], start: int, stop: int, as_bytes: bool
    ) -> NDArray[Any]:
        """Pixels of some images, checked: (p, stop - start), C-contiguous, float32 or uint8."""
        rows = images[start:stop].reshape(stop - start, -1)
        part: NDArray[Any]
        if rows.strides[0] > rows.strides[1] and 4 * len(pixels) < rows.shape[1]:
            part = rows.take(pixels, axis=1).T
        else:  # transposing the whole block costs less than reading many scattered values
            part = np.ascontiguousarray(rows.T) if rows.strides[0] > rows.strides[1] else rows.T
            part = part[pixels]
        if part.dtype == np.uint8:
            return np.ascontiguousarray(part, np.uint8 if as_bytes else np.float32)
        with np.errstate(over="ignore"):  # a float64 that becomes infinite raises below
            block = np.ascontiguousarray(part, np.float32)
        if not (block.min() >= -PIXEL_LIMIT and block.max() <= PIXEL_LIMIT):  # also when NaN
            pixel, image = np.argwhere(~(np.abs(block) <= PIXEL_LIMIT))[0]
            row, rest = divmod(int(pixels[pixel]), self.width * self.n_channels)
            place = self.place(row, *divmod(rest, self.n_channels))
            raise DataError(
                f"family {self.name!r}: pixels must be finite and at most {PIXEL_LIMIT:g} in "
                f"absolute value, but example {start + image} has {part[pixel, image]} at {place}; "
                "repair, rescale or drop such images"
            )
        return block


def read_only(X: Any) -> Any:
    """A view of numbers that `Family.compute` cannot change; other examples as they are."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        X = X.view()
        X.flags.writeable = False
    return X


def check_computed(name: str, values: Any, shape: tuple[int, int]) -> NDArray[np.float32]:
    """What `Family.compute` returned for (n, q) values; DataError unless it is such an array."""
    array = isinstance(values, np.ndarray)
    masked = isinstance(values, np.ma.MaskedArray)  # its mask would be lost
    if not array or masked or values.dtype != np.float32 or values.shape != shape:
        got = f" of {values.dtype}, shape {values.shape}" if array else ""
        raise DataError(
            f"compute() of family {name} must return an array of float32, shape {shape}, got "
            f"{type(values).__name__}{got}; convert it, as by values.astype(np.float32)"
        )
    return np.asarray(values)


def pixel_major(X: ArrayLike, rows: NDArray[Any] | None = None) -> NDArray[Any]:
    """X, or some rows of it, with each pixel (or column) contiguous in memory; equal values.

    No copy if all of X has this layout. Worth it if X is passed to `Family.compute` many times.

    >>> X = pixel_major(np.zeros((5, 4, 3)))
    >>> X.shape, X.strides[0] == X.itemsize
    ((5, 4, 3), True)
    """
    array = np.asarray(X)
    if rows is None and np.moveaxis(array, 0, -1).flags.c_contiguous:
        return array
    n = len(array) if rows is None else len(rows)
    out = np.empty((*array.shape[1:], n), array.dtype)
    for start in range(0, n, 512):  # in blocks: 4 times faster than in one go
        part = slice(start, start + 512)
        out[..., part] = np.moveaxis(array[part if rows is None else rows[part]], 0, -1)
    return np.moveaxis(out, -1, 0)


def check_image_shape(image_shape: Any) -> tuple[int, ...]:
    """(h, w) or (h, w, c) as a tuple of positive ints; SettingError if it is not."""
    try:
        shape = tuple(operator.index(side) for side in image_shape)
    except TypeError:
        shape = ()
    if len(shape) not in (2, 3) or min(shape) < 1:
        raise SettingError(
            "image_shape must be (height, width) or (height, width, channels), each at least 1, "
            f"got {image_shape!r}"
        )
    return shape


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
