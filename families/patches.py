"""Sums of the intensities in random image patches.

Cost: four table look-ups a value, and twice the image's pixels in additions for each block of
features: sums over all rectangles from the upper left corner are formed first, only as far down and
right as the wanted patches reach. References: [DF11] sec. 5.1; F. Crow, Summed-area tables for
texture mapping, SIGGRAPH 1984; P. Viola and M. Jones, CVPR 2001. [DF11] does not say how patches
are drawn; here all are equally likely.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer
from boostsample.errors import SettingError
from boostsample.family import Fill, ImageFamily

__all__ = ["PatchSums"]


class PatchSums(ImageFamily):
    """Sum of x[r, c] over a rectangle of rows and columns, in one channel.

    The members are different rectangles drawn uniformly, without replacement, from all that have
    sides within `min_side` .. `max_side`. They follow from the settings alone, on any version of
    NumPy, and a family with more members begins with those of the smaller one of the same seed.

    Sums are formed in float64 and rounded once (uint8 images: exactly, up to the 2^24 where float32
    ends).

    Parameters
    ----------
    image_shape : tuple of int, (h, w) or (h, w, channels)
    n_members : int or None
        How many patches; None: all there are, in the order of rows, columns and channels.
    seed : int, default 0
        At least 0.
    min_side, max_side : int, optional
        Shortest and longest side in pixels. Default: 2 (1 in images of one row or column), no
        limit.
    name : str, default "patches"

    Examples
    --------
    >>> patches = PatchSums((3, 3), n_members=None)
    >>> patches.n_features, patches.feature_name(4)
    (9, 'patch sum of rows 0-2, columns 0-2')
    >>> patches.compute(np.arange(9).reshape(1, 3, 3), [0, 4]).tolist()
    [[8.0, 36.0]]
    """

    reads_bytes = True

    def __init__(
        self,
        image_shape: tuple[int, ...],
        n_members: int | None,
        seed: int = 0,
        min_side: int | None = None,
        max_side: int | None = None,
        name: str = "patches",
    ) -> None:
        super().__init__(image_shape, name)
        shorter, longer = sorted(self.image_shape[:2])
        self.seed = check_integer("seed", seed, 0)
        self.min_side = (
            min(2, shorter) if min_side is None else check_integer("min_side", min_side, 1, shorter)
        )
        self.max_side = (
            None if max_side is None else check_integer("max_side", max_side, self.min_side, longer)
        )
        self._rows = _intervals(self.height, self.min_side, self.max_side or longer)
        self._columns = _intervals(self.width, self.min_side, self.max_side or longer)
        total = len(self._rows) * len(self._columns) * self.n_channels
        self._codes: NDArray[np.intp] | None = None  # None: feature j is rectangle j of all
        if n_members is None:
            self.n_members = None
            self.n_features = total
        else:
            self.n_members = self.n_features = check_integer("n_members", n_members, 1)
            if self.n_members > total:
                raise SettingError(
                    f"n_members must be at most {total}, the number of patches with sides of "
                    f"{self.min_side} to {self.max_side or longer} in images of shape "
                    f"{self.image_shape}, got {n_members}; None takes all of them"
                )
            self._codes = _distinct(total, self.n_members, self.seed)

    def feature_name(self, feature: SupportsIndex) -> str:
        """Like "patch sum of rows 4-11, columns 6-13"."""
        index = np.array([self.check_feature(feature)])
        top, bottom, left, right, channel = (int(part[0]) for part in self._members(index))
        return (
            f"patch sum of rows {top}-{bottom - 1}, columns {left}-{right - 1}"
            f"{self.in_channel(channel)}"
        )

    def plan(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], Fill]:
        """All pixels above and left of the patches' last corners; sums from a summed-area table."""
        top, bottom, left, right, channel = self._members(features)
        height, width = int(bottom.max()), int(right.max())
        channels, plane = np.unique(channel, return_inverse=True)
        rows, columns = np.arange(height)[:, None], np.arange(width)
        places = (rows * self.width + columns) * self.n_channels
        pixels = (channels[:, None, None] + places).ravel()
        # Tables have a first row and column of zeros, so that no patch is a special case.
        shape = (len(channels), height + 1, width + 1)
        corners = [
            np.ravel_multi_index((plane, r, c), shape)
            for r, c in ((bottom, right), (top, right), (bottom, left), (top, left))
        ]
        exact = height * width * 255 < 2**24

        def fill(block: NDArray[Any], out: NDArray[np.float32]) -> None:
            # Sums of bytes that float32 holds exactly need no float64, which takes twice the time.
            dtype = np.float32 if block.dtype == np.uint8 and exact else np.float64
            m = block.shape[1]
            table = np.empty((*shape, m), dtype)
            table[:, 0] = 0
            table[:, :, 0] = 0
            table[:, 1:, 1:] = block.reshape(len(channels), height, width, m)
            for column in range(2, width + 1):
                table[:, 1:, column] += table[:, 1:, column - 1]
            for row in range(2, height + 1):
                table[:, row, 1:] += table[:, row - 1, 1:]
            sums = table.reshape(-1, m)
            values = sums[corners[0]]
            values -= sums[corners[1]]
            values -= sums[corners[2]]
            np.add(values, sums[corners[3]], out=out, casting="same_kind")

        return pixels, fill

    def _members(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], ...]:
        """Top, bottom, left, right (the second of each excluded) and channel, intp (q,) each."""
        codes = features if self._codes is None else self._codes[features]
        codes, channel = np.divmod(codes, self.n_channels)
        rows, columns = np.divmod(codes, len(self._columns))
        return (*self._rows[rows].T, *self._columns[columns].T, channel)


def _intervals(length: int, shortest: int, longest: int) -> NDArray[np.intp]:
    """All [start, stop) within 0 .. length of shortest <= stop - start <= longest, intp (b, 2)."""
    start, stop = np.triu_indices(length + 1, shortest)
    fits = stop - start <= longest
    return np.column_stack([start[fits], stop[fits]])


def _distinct(total: int, n: int, seed: int) -> NDArray[np.intp]:
    """The first n different ones of an endless sequence uniform on 0 .. total-1, intp (n,).

    Built on the raw stream of the bit generator, which NumPy promises to keep, unlike
    `Generator.choice`. (64 bits modulo total: the bias is below total / 2^64.)
    """
    bits = np.random.PCG64(seed)
    numbers = np.empty(0, np.intp)
    while len(numbers) < n:
        more = bits.random_raw(2 * n) % np.uint64(total)
        numbers = np.concatenate([numbers, more.astype(np.intp)])
        numbers = numbers[np.sort(np.unique(numbers, return_index=True)[1])]
    return numbers[:n]
