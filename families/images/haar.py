"""Haar wavelet coefficients: any subset of the orthonormal two-dimensional transform.

Cost: a coefficient of level l is a signed sum over a block of 2^l x 2^l pixels. Sums of aligned
blocks are computed level by level, only for the wanted coefficients: about four additions per value
if many are wanted. PyWavelets (13 ns per value on 28x28 images) computes all coefficients; the
tests compare with it.

Reference: "Haar transform" of [DF11] sec. 5.1, which does not say how 28x28 images are padded; S.
Mallat, A theory for multiresolution signal decomposition, IEEE PAMI 11 (1989).
"""

from __future__ import annotations

from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer
from boostsample.families.images._rectangles import plan_rectangle_sums
from boostsample.family import Fill, ImageFamily

_KINDS = ("approximation", "horizontal detail", "vertical detail", "diagonal detail")
_SIGNS = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]])
"""Signs of the quarters A, B, C, D of each kind."""


class _Level(NamedTuple):
    """What to compute from the block sums of the level below."""

    # Quarters of each sum for the level above, as positions in the level below: (4, b).
    children: NDArray[np.intp]
    # For each kind of coefficient: its rows in the output, and their quarters, (4, rows).
    kinds: list[tuple[int, NDArray[np.intp], NDArray[np.intp]]]
    scale: np.float32  # 2^-level
    padded: bool  # whether a quarter lies in the padding, for which a row of zeros is appended


class Haar(ImageFamily):
    """Haar wavelet coefficients, per channel.

    The block of level l at (r, c) covers the rows r 2^l .. (r+1) 2^l - 1 and likewise columns. With
    A, B above C, D the sums over its four quarters, its coefficients are 2^-l times

        horizontal detail  (A + B) - (C + D)
        vertical detail    (A - B) + (C - D)
        diagonal detail    (A - B) - (C - D)
        approximation      (A + B) + (C + D), of the coarsest level only.

    The image is padded with zeros, below and to the right, to a multiple of 2^levels; coefficients
    of blocks in the padding are always 0 and left out. Coefficients and order are those of
    ``pywt.wavedec2(image, "haar", mode="zero", level=levels)``: the coarsest first, by row, column
    and channel within each kind. An image of 28 x 28 has 799.

    Sums are float32: exact for bytes (up to 2^24), otherwise accurate to about 1e-7 of the sum of
    the absolute values in the block.

    Parameters
    ----------
    image_shape : tuple of int, (h, w) or (h, w, channels)
    levels : int, optional
        1 .. log2 of the longer side, rounded up. Default: log2 of the shorter side, rounded up, at
        least 1.
    name : str, default "haar"

    Examples
    --------
    >>> haar = Haar((2, 2))
    >>> haar.feature_name(2)
    'Haar level 1 vertical detail of rows 0-1, columns 0-1'
    >>> haar.compute([[[1, 2], [3, 8]]], range(4)).tolist()
    [[7.0, -4.0, -3.0, 2.0]]
    """

    cost = 15.0

    def __init__(
        self, image_shape: tuple[int, ...], levels: int | None = None, name: str = "haar"
    ) -> None:
        super().__init__(image_shape, name)
        shorter, longer = sorted(self.image_shape[:2])
        most = max(1, (longer - 1).bit_length())
        usual = max(1, (shorter - 1).bit_length())
        self.levels = usual if levels is None else check_integer("levels", levels, 1, most)
        # Level and kind of each group of coefficients, in the order of the features.
        groups = [(self.levels, 0)]
        groups += [(level, kind) for level in range(self.levels, 0, -1) for kind in (1, 2, 3)]
        self._groups = np.array(groups)
        sizes = [int(np.prod(self._shape_of(level))) for level, _ in groups]
        self._first = np.cumsum([0, *sizes])
        self.n_features = int(self._first[-1])

    def feature_name(self, feature: SupportsIndex) -> str:
        """Like "Haar level 2 vertical detail of rows 4-7, columns 8-11"."""
        index = np.array([self.check_feature(feature)])
        level, kind, block = (int(part[0]) for part in self._members(index))
        row, column, channel = np.unravel_index(block, self._shape_of(level))
        side = 2**level
        bottom = min((row + 1) * side, self.height) - 1
        right = min((column + 1) * side, self.width) - 1
        return (
            f"Haar level {level} {_KINDS[kind]} of rows {row * side}-{bottom}, "
            f"columns {column * side}-{right}{self.in_channel(int(channel))}"
        )

    def plan_integers(
        self, features: NDArray[np.intp], largest: int
    ) -> tuple[NDArray[np.intp], Fill] | None:
        """Sums of the quarters of few coefficients, pixel by pixel."""
        level_of, kind, block_of = self._members(features)
        rectangles = np.empty((len(features), 4, 6), np.intp)
        for level in np.unique(level_of):
            members, half = np.flatnonzero(level_of == level), 2 ** (level - 1)
            row, column, channel = np.unravel_index(block_of[members], self._shape_of(level))
            for quarter, (down, across) in enumerate(((0, 0), (0, 1), (1, 0), (1, 1))):
                top, left = (2 * row + down) * half, (2 * column + across) * half
                bottom, right = np.minimum(top + half, self.height), left + half
                sides = np.minimum(top, self.height), bottom, np.minimum(left, self.width)
                sign = _SIGNS[kind[members], quarter]
                last = np.minimum(right, self.width), channel, sign
                rectangles[members, quarter] = np.column_stack([*sides, *last])
        if 4**self.levels * largest >= 2**24:  # sums in float32 would round
            return None
        shape, first = (self.height, self.width, self.n_channels), np.arange(len(features) + 1)
        planned = plan_rectangle_sums(shape, 4 * first, rectangles.reshape(-1, 6), largest)
        if planned is None:
            return None
        pixels, fill_sums = planned
        scale = (2.0**-level_of).astype(np.float32)[:, None]

        def fill(block: NDArray[Any], out: NDArray[np.float32]) -> None:
            fill_sums(block, out)
            out *= scale

        return pixels, fill

    def plan(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], Fill]:
        """Reads the pixels of the wanted blocks; sums and coefficients level by level."""
        level_of, kind_of, block_of = self._members(features)
        levels: list[_Level] = []
        sums = np.empty(0, np.intp)  # blocks whose sums the level above needs, sorted
        for level in range(self.levels, 0, -1):
            rows = np.flatnonzero(level_of == level)
            kinds = [(kind, rows[kind_of[rows] == kind]) for kind in range(4)]
            quarters = self._quarters(np.concatenate([sums, block_of[rows]]), level)
            below = np.unique(quarters[quarters >= 0])
            levels.append(
                _Level(
                    _positions(below, self._quarters(sums, level)),
                    [
                        (kind, rows, _positions(below, self._quarters(block_of[rows], level)))
                        for kind, rows in kinds
                        if len(rows)
                    ],
                    np.float32(2.0**-level),
                    bool((quarters < 0).any()),
                )
            )
            sums = below
        levels.reverse()

        def fill(block: NDArray[np.float32], out: NDArray[np.float32]) -> None:
            for level in levels:
                if level.padded:
                    block = np.concatenate([block, np.zeros((1, block.shape[1]), np.float32)])
                for kind, rows, quarters in level.kinds:
                    values = _combine(block, quarters, kind)
                    values *= level.scale
                    out[rows] = values
                block = _combine(block, level.children, 0)

        return sums, fill

    def _shape_of(self, level: int) -> tuple[int, int, int]:
        side = 2**level
        return -(-self.height // side), -(-self.width // side), self.n_channels

    def _members(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], ...]:
        """Level, kind (index into _KINDS) and block (flat index in its level) of features."""
        group = np.searchsorted(self._first, features, side="right") - 1
        level, kind = self._groups[group].T
        return level, kind, features - self._first[group]

    def _quarters(self, blocks: NDArray[np.intp], level: int) -> NDArray[np.intp]:
        """Flat indices of the quarters A, B, C, D in the level below: (4, b); -1: padding."""
        row, column, channel = np.unravel_index(blocks, self._shape_of(level))
        height, width, channels = self._shape_of(level - 1)
        quarters = []
        for down, across in ((0, 0), (0, 1), (1, 0), (1, 1)):
            r, c = 2 * row + down, 2 * column + across
            inside = (r < height) & (c < width)
            quarters.append(np.where(inside, (r * width + c) * channels + channel, -1))
        return np.array(quarters, np.intp)


def _positions(known: NDArray[np.intp], blocks: NDArray[np.intp]) -> NDArray[np.intp]:
    """Positions of blocks in the sorted array `known`; len(known) for the padding."""
    return np.where(blocks < 0, len(known), np.searchsorted(known, blocks))


def _combine(
    sums: NDArray[np.float32], quarters: NDArray[np.intp], kind: int
) -> NDArray[np.float32]:
    """The signed sums of one kind over four quarters each, float32 (b, m), in a fixed order."""
    within = np.subtract if kind in (2, 3) else np.add
    across = np.subtract if kind in (1, 3) else np.add
    upper: NDArray[np.float32] = sums[quarters[0]]
    lower: NDArray[np.float32] = sums[quarters[2]]
    within(upper, sums[quarters[1]], out=upper)
    within(lower, sums[quarters[3]], out=lower)
    across(upper, lower, out=upper)
    return upper
