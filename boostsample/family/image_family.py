"""The base class of families whose features read some pixels of an image."""

from __future__ import annotations

import abc
import operator
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.errors import DataError, SettingError
from boostsample.family.family import Family, check_examples, check_name

__all__ = ["Fill", "ImageFamily", "PIXEL_LIMIT", "check_image_shape", "pixel_major"]

PIXEL_LIMIT = 1e15
"""Largest absolute value of a pixel, so that sums of squares stay within float32."""

_BLOCK_VALUES = 800_000
"""Values read and written for one block of examples. Half or twice as many changed the time by less
than 10 %; results do not depend on it."""

Fill: TypeAlias = Callable[[NDArray[Any], NDArray[np.float32]], None]
"""`fill(block, out)` reads block (n_pixels, m) and writes out, float32 (n_features, m)."""


class ImageFamily(Family):
    """Base class of families whose features read some pixels of an image.

    A subclass implements `plan` and `feature_name`. `compute` processes the examples in blocks that
    fit the cache: it reads only the pixels that the features need, transposed so that a pixel's
    values over the examples are contiguous, checks that they are finite, and calls `fill`. All
    arithmetic is then a few vector operations on long rows.

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

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        """Values of some features for some images, see `Family.compute`; feature-major memory."""
        wanted = self.check_features(features)
        images = check_examples(X, self.image_shape, self.name)
        n_images = len(images)
        out = np.empty((len(wanted), n_images), np.float32)
        if out.size:
            pixels, fill = self.plan(wanted)
            step = min(max(_BLOCK_VALUES // (len(pixels) + len(wanted)), 32), 4096)
            for start in range(0, n_images, step):
                block = self._read(images, pixels, start, min(start + step, n_images))
                fill(block, out[:, start : start + step])
        return out.T

    def place(self, row: int, column: int, channel: int = 0) -> str:
        """A pixel's position in words, with the channel if images have channels."""
        return f"row {row}, column {column}{self.in_channel(channel)}"

    def in_channel(self, channel: int) -> str:
        """Suffix of a feature's name: ", channel 2" if images have channels, else empty."""
        return f", channel {channel}" if len(self.image_shape) == 3 else ""

    def _read(
        self, images: NDArray[Any], pixels: NDArray[np.intp], start: int, stop: int
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
            return np.ascontiguousarray(part, np.uint8 if self.reads_bytes else np.float32)
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
