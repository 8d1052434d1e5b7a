"""Rectangles of an image: which ones a family has, and sums over many of them at a time.

Sums over all rectangles from the upper left corner are formed first; any rectangle's sum is then
that of four of them. References: F. Crow, Summed-area tables for texture mapping, SIGGRAPH 1984;
P. Viola and M. Jones, CVPR 2001.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer
from boostsample.errors import SettingError

__all__ = [
    "Corners",
    "Members",
    "Rectangles",
    "corners_of",
    "cumulate",
    "distinct",
    "intervals",
    "sums",
]


class Members(NamedTuple):
    """Some features of a family of rectangles, intp (q,) each."""

    top: NDArray[np.intp]
    bottom: NDArray[np.intp]  # first row below the rectangle
    left: NDArray[np.intp]
    right: NDArray[np.intp]  # first column to the right of it
    channel: NDArray[np.intp]
    kind: NDArray[np.intp]  # what is summed up there, as the bin of a histogram


class Corners(NamedTuple):
    """Entries of flat summed-area tables, intp (q,), whose signed sum is that of a rectangle."""

    plus: tuple[NDArray[np.intp], NDArray[np.intp]]  # lower right, upper left
    minus: tuple[NDArray[np.intp], NDArray[np.intp]]  # upper right, lower left


class Rectangles:
    """Different rectangles in an image, each in one channel and of one kind: all, or drawn.

    Drawn ones are uniform, without replacement, on all combinations of rectangle, channel and kind.
    They follow from the settings alone, on any version of NumPy, and with more members begin with
    those that fewer have.

    Parameters
    ----------
    image_shape : tuple of int, (h, w) or (h, w, channels)
    n_members : int or None
        How many; None: all there are, in the order of rows, columns, channels and kinds.
    seed : int
        At least 0.
    min_side, max_side : int or None
        Shortest and longest side in pixels. None: 2 (1 in images of one row or column), no limit.
    n_kinds : int, default 1
        Kinds that each rectangle is there in.
    what : str
        What to call the members in messages, as "patches".

    Attributes
    ----------
    n_members, seed, min_side, max_side
        As above, checked; a `min_side` of None is replaced.
    n_features : int
        Number of members.
    """

    def __init__(
        self,
        image_shape: tuple[int, ...],
        n_members: int | None,
        seed: int,
        min_side: int | None,
        max_side: int | None,
        *,
        n_kinds: int = 1,
        what: str,
    ) -> None:
        height, width = image_shape[:2]
        shorter, longer = sorted((height, width))
        self.seed = check_integer("seed", seed, 0)
        self.min_side = (
            min(2, shorter) if min_side is None else check_integer("min_side", min_side, 1, shorter)
        )
        self.max_side = (
            None if max_side is None else check_integer("max_side", max_side, self.min_side, longer)
        )
        self._n_channels = image_shape[2] if len(image_shape) == 3 else 1
        self._n_kinds = n_kinds
        self._rows = intervals(height, self.min_side, self.max_side or longer)
        self._columns = intervals(width, self.min_side, self.max_side or longer)
        total = len(self._rows) * len(self._columns) * self._n_channels * n_kinds
        self._codes: NDArray[np.intp] | None = None  # None: feature j is number j of all
        self.n_members = None if n_members is None else check_integer("n_members", n_members, 1)
        self.n_features = total if self.n_members is None else self.n_members
        if self.n_members is not None:
            if self.n_members > total:
                raise SettingError(
                    f"n_members must be at most {total}, the number of {what} with sides of "
                    f"{self.min_side} to {self.max_side or longer} in images of shape "
                    f"{image_shape}, got {n_members}; None takes all of them"
                )
            self._codes = distinct(total, self.n_members, self.seed)

    def members(self, features: NDArray[np.intp]) -> Members:
        """Rectangle, channel and kind of features, given as valid indices intp (q,)."""
        codes = features if self._codes is None else self._codes[features]
        codes, kind = np.divmod(codes, self._n_kinds)
        codes, channel = np.divmod(codes, self._n_channels)
        rows, columns = np.divmod(codes, len(self._columns))
        top, bottom = self._rows[rows].T
        left, right = self._columns[columns].T
        return Members(top, bottom, left, right, channel, kind)

    def member(self, feature: int) -> tuple[str, int, int]:
        """One feature's place, like "rows 4-11, columns 6-13", its channel and its kind."""
        parts = self.members(np.array([feature]))
        top, bottom, left, right, channel, kind = (int(part[0]) for part in parts)
        return f"rows {top}-{bottom - 1}, columns {left}-{right - 1}", channel, kind


def intervals(length: int, shortest: int, longest: int) -> NDArray[np.intp]:
    """All [start, stop) within 0 .. length of shortest <= stop - start <= longest, intp (b, 2)."""
    start, stop = np.triu_indices(length + 1, shortest)
    fits = stop - start <= longest
    return np.column_stack([start[fits], stop[fits]])


def distinct(total: int, n: int, seed: int) -> NDArray[np.intp]:
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


def corners_of(members: Members, table: NDArray[np.intp] | int, height: int, width: int) -> Corners:
    """Where the corners of rectangles stand in tables (tables, height + 1, width + 1), flattened.

    `table`: which of the tables each rectangle is in; one for all, or intp (q,). The height and
    width are those of the planes that were summed up; every rectangle must lie within.
    """

    def at(row: NDArray[np.intp], column: NDArray[np.intp]) -> NDArray[np.intp]:
        return (table * (height + 1) + row) * (width + 1) + column

    return Corners(
        (at(members.bottom, members.right), at(members.top, members.left)),
        (at(members.top, members.right), at(members.bottom, members.left)),
    )


def cumulate(tables: NDArray[Any]) -> None:
    """Turn planes into summed-area tables, in place; the first row and column become zeros.

    tables: (..., h + 1, w + 1, m); plane values stand at [..., r + 1, c + 1, :]. Entry [..., r, c]
    becomes the sum over the rows above r and the columns left of c, added up along each row first
    and then down: its bits depend on no value below or to the right.
    """
    tables[..., 0, :, :] = 0
    tables[..., :, 0, :] = 0
    for column in range(2, tables.shape[-2]):
        tables[..., 1:, column, :] += tables[..., 1:, column - 1, :]
    for row in range(2, tables.shape[-3]):
        tables[..., row, 1:, :] += tables[..., row - 1, 1:, :]


def sums(entries: NDArray[Any], corners: Corners, out: NDArray[Any]) -> None:
    """Sums over rectangles, (q, m), from flat summed-area tables, (entries, m), written to out."""
    values = entries[corners.plus[0]]
    values -= entries[corners.minus[0]]
    values -= entries[corners.minus[1]]
    np.add(values, entries[corners.plus[1]], out=out, casting="same_kind")
