"""Haar-like features: differences of the sums over two, three or four neighbouring rectangles.

Cost: six to nine table entries per value, and two additions per pixel for each block of features;
sums of bytes read only the pixels between the first and last row and column of the wanted features.
In blocks of 200 features of MNIST 7 to 10 ns per value, 13 to 16 for floats.

References: "Haar-like features" of [DF11] sec. 5.1; C. Papageorgiou, M. Oren and T. Poggio, ICCV
1998; P. Viola and M. Jones, CVPR 2001, figure 1. [DF11] leaves open the kinds and their numbers;
here all features are equally likely. The middle one of three rectangles counts twice, as in OpenCV
but unlike Viola and Jones, so that all features are invariant to a constant added to the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import MOST_SEED, check_choices, check_integer
from boostsample.errors import SettingError
from boostsample.families.images._rectangles import (
    cumulate_rectangles,
    draw_rectangle_members,
    plan_rectangle_sums,
)
from boostsample.family import Fill, ImageFamily

_LAYOUTS = {
    "two across": (1, 2),
    "two down": (2, 1),
    "three across": (1, 3),
    "three down": (3, 1),
    "four": (2, 2),
}
"""Rectangles down and across of each kind."""

_WEIGHTS = {1: (1,), 2: (1, -1), 3: (1, -2, 1)}
"""Weights of one, two or three rectangles side by side."""

_CHUNK_VALUES = 1 << 16
"""Values summed at once, so that they and two buffers stay in the second-level cache."""


class _Corners(NamedTuple):
    """Some features of one kind, as weighted entries of the summed-area tables."""

    rows: NDArray[np.intp]  # of the output: (b,)
    places: NDArray[np.intp]  # entries of the flat tables: (corners, b)
    weights: tuple[int, ...]  # (corners,)


class HaarLike(ImageFamily):
    """Weighted sums over equal rectangles side by side, in one channel.

    With the sums A, B, C over rectangles of one size, side by side or, for "down", one below the
    other, and A, B above C, D for "four":

    - two across, two down: A - B;
    - three across, three down: A - 2 B + C;
    - four: (A - B) - (C - D).

    Features are numbered by kind, then rows, columns and channel; an image of 28 x 28 has 299,880
    of them, one of 24 x 24 has the 162,336 of Viola and Jones. Values are invariant to a constant
    added to the image, and to moving image and rectangles together.

    Sums are integers for bytes, otherwise float64, rounded once to float32.

    Parameters
    ----------
    image_shape : tuple of int, (h, w) or (h, w, channels)
    n_members : int or None
        Number of features, drawn uniformly without replacement; a larger family begins with the
        members of the smaller one of the same seed. None: all of them.
    seed : int, default 0
        At least 0.
    kinds : sequence of str, default ("two across", "two down", "three across", "three down", \
"four")
        Kinds, in this order. At least one must fit into the image.
    min_side : int, default 1
        Shortest side of each rectangle in pixels.
    name : str, default "haar-like"

    Examples
    --------
    >>> features = HaarLike((2, 3), n_members=None)
    >>> features.n_features, features.feature_name(0)
    (17, 'Haar-like two across of rows 0-0, columns 0-1')
    >>> features.compute([[[1, 2, 3], [4, 5, 9]]], [0, 13, 16]).tolist()
    [[-1.0, 3.0, 3.0]]
    """

    cost = 17.0
    reads_bytes = True

    def __init__(
        self,
        image_shape: tuple[int, ...],
        n_members: int | None,
        seed: int = 0,
        kinds: Sequence[str] = tuple(_LAYOUTS),
        min_side: int = 1,
        name: str = "haar-like",
    ) -> None:
        super().__init__(image_shape, name)
        self.seed = check_integer("seed", seed, 0, MOST_SEED)
        self.min_side = check_integer("min_side", min_side, 1)
        self.kinds = check_choices("kinds", "kind of Haar-like feature", kinds, _LAYOUTS)
        # Start and length of 1, 2 or 3 rectangles in a row: (any, 2) each.
        self._down = {k: _starts(self.height, k, self.min_side) for k in _WEIGHTS}
        self._across = {k: _starts(self.width, k, self.min_side) for k in _WEIGHTS}
        sizes = [
            len(self._down[down]) * len(self._across[across]) * self.n_channels
            for down, across in (_LAYOUTS[kind] for kind in self.kinds)
        ]
        self._first = np.cumsum([0, *sizes])
        total = int(self._first[-1])
        if total == 0:
            raise SettingError(
                f"no Haar-like feature of kinds {', '.join(self.kinds)} with rectangles of sides "
                f"of at least {self.min_side} fits into images of shape {self.image_shape}; "
                "leave the family out or lower min_side"
            )
        what = "Haar-like features of these kinds"
        self._codes = draw_rectangle_members(n_members, total, self.seed, what, self.image_shape)
        self.n_features = total if self._codes is None else len(self._codes)
        self.n_members = None if self._codes is None else self.n_features

    def feature_name(self, feature: SupportsIndex) -> str:
        """Like "Haar-like three down of rows 3-11, columns 6-13"."""
        codes = self._members(np.array([self.check_feature(feature)]))
        kind, top, height, left, width, channel = (int(part[0]) for part in codes)
        down, across = _LAYOUTS[self.kinds[kind]]
        return (
            f"Haar-like {self.kinds[kind]} of rows {top}-{top + down * height - 1}, "
            f"columns {left}-{left + across * width - 1}{self.in_channel(channel)}"
        )

    def plan_integers(
        self, features: NDArray[np.intp], largest: int
    ) -> tuple[NDArray[np.intp], Fill] | None:
        """Sums of the rectangles of few features, pixel by pixel."""
        kind, top, height, left, width, channel = self._members(features)
        of_features, rectangles = [], []
        for number in np.unique(kind):
            members = np.flatnonzero(kind == number)
            down, across = _LAYOUTS[self.kinds[number]]
            for i, by_row in enumerate(_WEIGHTS[down]):
                for j, by_column in enumerate(_WEIGHTS[across]):
                    r, c = top + i * height, left + j * width
                    sides = r, r + height, c, c + width
                    weight = np.full_like(channel, by_row * by_column)
                    rectangles.append(np.column_stack([*sides, channel, weight])[members])
                    of_features.append(members)
        order = np.argsort(np.concatenate(of_features), kind="stable")
        first = np.searchsorted(np.concatenate(of_features)[order], np.arange(len(features) + 1))
        shape = (self.height, self.width, self.n_channels)
        return plan_rectangle_sums(shape, first, np.concatenate(rectangles)[order], largest)

    def plan(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], Fill]:
        """Reads all pixels above and left of the last corners; sums from summed-area tables."""
        kind, top, height, left, width, channel = self._members(features)
        layouts = np.array([_LAYOUTS[name] for name in self.kinds])[kind]
        n_rows = int((top + layouts[:, 0] * height).max())
        n_columns = int((left + layouts[:, 1] * width).max())
        first = int(top.min()), int(left.min())
        channels, plane = np.unique(channel, return_inverse=True)
        rows, columns = np.arange(n_rows)[:, None], np.arange(n_columns)
        pixels = channels[:, None, None] + (rows * self.width + columns) * self.n_channels
        groups = []
        for number in np.unique(kind):
            members = np.flatnonzero(kind == number)
            down, across = _LAYOUTS[self.kinds[number]]
            places, weights = [], []
            for i, by_row in enumerate(_differences(down)):
                for j, by_column in enumerate(_differences(across)):
                    r = top[members] + i * height[members]
                    c = left[members] + j * width[members]
                    places.append((plane[members] * (n_rows + 1) + r) * (n_columns + 1) + c)
                    weights.append(by_row * by_column)
            groups.append(_Corners(members, np.array(places), tuple(weights)))
        tables = _Tables((len(channels), n_rows, n_columns), first)

        def fill(block: NDArray[Any], out: NDArray[np.float32]) -> None:
            sums = tables.fill(block)
            for group in groups:
                _add_up(sums, group, out)

        return pixels.ravel(), fill

    def _members(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], ...]:
        """Kind (its position), top, height, left and width of the first rectangle, channel."""
        codes = features if self._codes is None else self._codes[features]
        kind = np.searchsorted(self._first, codes, side="right") - 1
        codes, channel = np.divmod(codes - self._first[kind], self.n_channels)
        rows, columns = np.empty((2, len(codes), 2), np.intp)
        for number, name in enumerate(self.kinds):
            down, across = (self._down[_LAYOUTS[name][0]], self._across[_LAYOUTS[name][1]])
            of_kind = kind == number
            if of_kind.any():
                which = np.divmod(codes[of_kind], len(across))
                rows[of_kind], columns[of_kind] = down[which[0]], across[which[1]]
        return kind, *rows.T, *columns.T, channel


class _Tables:
    """Summed-area tables of blocks of images, in reused memory.

    Entry (k, r, c) is the sum over the rows above r and the columns left of c of plane k. Entries
    above or left of `first` are never read.
    """

    def __init__(self, shape: tuple[int, int, int], first: tuple[int, int]) -> None:
        self.shape = shape
        self.first = first
        self.memory = np.empty(0, np.uint8)

    def fill(self, block: NDArray[Any]) -> NDArray[Any]:
        """Tables of a block (pixels, m): (entries, m), int32 for bytes, else float64."""
        planes, height, width = self.shape
        m = block.shape[1]
        # Weighted int32 sums may wrap around in between; the result is exact. Only integer tables
        # start at the first wanted row and column: the bits of floats would depend on the features.
        whole = block.dtype == np.uint8 and height * width * 255 < 2**31
        dtype = np.dtype(np.int32 if whole else np.float64)
        top, left = self.first if whole else (0, 0)
        size = planes * (height + 1) * (width + 1) * m * dtype.itemsize
        if self.memory.size < size:  # new memory for each block would cost twice the additions
            self.memory = np.empty(size, np.uint8)
        tables = self.memory[:size].view(dtype).reshape(planes, height + 1, width + 1, m)
        part = tables[:, top:, left:]
        part[:, 1:, 1:] = block.reshape(planes, height, width, m)[:, top:, left:]
        cumulate_rectangles(part)
        return tables.reshape(-1, m)


def _add_up(sums: NDArray[Any], group: _Corners, out: NDArray[np.float32]) -> None:
    """Write weighted sums of table entries to the group's rows of out, some rows at a time."""
    m = sums.shape[1]
    step = max(1, _CHUNK_VALUES // m)
    total, entries = np.empty((2, min(step, len(group.rows)), m), sums.dtype)
    for start in range(0, len(group.rows), step):
        rows = group.rows[start : start + step]
        acc, term = total[: len(rows)], entries[: len(rows)]
        acc[:] = 0
        for places, weight in zip(group.places, group.weights, strict=True):
            # mode="clip" avoids a buffer; all positions are in range.
            np.take(sums, places[start : start + step], axis=0, out=term, mode="clip")
            if weight not in (1, -1):
                term *= abs(weight)
            (np.add if weight > 0 else np.subtract)(acc, term, out=acc)
        out[rows] = acc


def _starts(length: int, n: int, shortest: int) -> NDArray[np.intp]:
    """Start and length, at least `shortest`, of all n equal adjacent intervals: (any, 2)."""
    sides = np.maximum((length - np.arange(length)) // n - shortest + 1, 0)  # of each start
    start = np.repeat(np.arange(length), sides)
    side = shortest + np.arange(len(start)) - np.repeat(np.cumsum(sides) - sides, sides)
    return np.column_stack([start, side])


def _differences(n: int) -> list[int]:
    """Weights of the n + 1 cumulated sums at the ends of n intervals with weights `_WEIGHTS[n]`."""
    before = (0, *_WEIGHTS[n])
    after = (*_WEIGHTS[n], 0)
    return [b - a for b, a in zip(before, after, strict=True)]
