"""Random rectangles of an image, and sums over them by summed-area tables.

A table holds the sums over all rectangles from the upper left corner; any other rectangle is a
signed sum of four entries. References: F. Crow, Summed-area tables for texture mapping, SIGGRAPH
1984; P. Viola and M. Jones, CVPR 2001.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import MOST_SEED, check_integer
from boostsample.errors import SettingError
from boostsample.family import Fill, ImageFamily

_DIRECT = 30
"""Rectangles are summed without tables if they hold together at most this many times the pixels
that they read: a table takes 2 ns for each pixel, the sum 0.06 ns."""


class RectangleMembers(NamedTuple):
    """Some features of a family of rectangles, intp (q,) each."""

    top: NDArray[np.intp]
    bottom: NDArray[np.intp]  # first row below the rectangle
    left: NDArray[np.intp]
    right: NDArray[np.intp]  # first column to the right of it
    channel: NDArray[np.intp]
    kind: NDArray[np.intp]  # the quantity that is summed, for example a bin of a histogram


class RectangleFamily(ImageFamily):
    """Base class of families whose members are a rectangle, channel and kind each.

    Members are distinct: all of them, ordered by rows, columns, channel and kind, or a sample,
    uniform without replacement (`draw_rectangle_members`). Settings are those of `PatchSums`;
    `what` names the members in messages ("patches"), and `n_kinds` is the number of kinds of each
    rectangle.
    """

    def __init__(
        self,
        image_shape: tuple[int, ...],
        n_members: int | None,
        seed: int,
        min_side: int | None,
        max_side: int | None,
        name: str,
        *,
        what: str,
        n_kinds: int = 1,
    ) -> None:
        super().__init__(image_shape, name)
        shorter, longer = sorted((self.height, self.width))
        self.seed = check_integer("seed", seed, 0, MOST_SEED)
        self.min_side = (
            min(2, shorter) if min_side is None else check_integer("min_side", min_side, 1, shorter)
        )
        self.max_side = (
            None if max_side is None else check_integer("max_side", max_side, self.min_side, longer)
        )
        self._n_kinds = n_kinds
        self._rows = rectangle_intervals(self.height, self.min_side, self.max_side or longer)
        self._columns = rectangle_intervals(self.width, self.min_side, self.max_side or longer)
        total = len(self._rows) * len(self._columns) * self.n_channels * n_kinds
        what = f"{what} with sides of {self.min_side} to {self.max_side or longer}"
        self._codes = draw_rectangle_members(n_members, total, self.seed, what, self.image_shape)
        self.n_features = total if self._codes is None else len(self._codes)
        self.n_members = None if self._codes is None else self.n_features

    def members(self, features: NDArray[np.intp]) -> RectangleMembers:
        """Rectangle, channel and kind of features, given as valid indices intp (q,)."""
        codes = features if self._codes is None else self._codes[features]
        codes, kind = np.divmod(codes, self._n_kinds)
        codes, channel = np.divmod(codes, self.n_channels)
        rows, columns = np.divmod(codes, len(self._columns))
        top, bottom = self._rows[rows].T
        left, right = self._columns[columns].T
        return RectangleMembers(top, bottom, left, right, channel, kind)

    def member(self, feature: int) -> tuple[str, int, int]:
        """A feature's rectangle, like "rows 4-11, columns 6-13", its channel and its kind."""
        parts = self.members(np.array([feature]))
        top, bottom, left, right, channel, kind = (int(part[0]) for part in parts)
        return f"rows {top}-{bottom - 1}, columns {left}-{right - 1}", channel, kind


def rectangle_intervals(length: int, shortest: int, longest: int) -> NDArray[np.intp]:
    """All [start, stop) in 0 .. length with shortest <= stop - start <= longest, intp (b, 2)."""
    start, stop = np.triu_indices(length + 1, shortest)
    fits = stop - start <= longest
    return np.column_stack([start[fits], stop[fits]])


def draw_rectangle_members(
    n_members: int | None, total: int, seed: int, what: str, image_shape: tuple[int, ...]
) -> NDArray[np.intp] | None:
    """Numbers of `n_members` distinct members of `total`; None if all are wanted.

    They depend on the settings only, not on the version of NumPy; a larger sample begins with the
    smaller one of the same seed.
    """
    if n_members is None:
        return None
    n = check_integer("n_members", n_members, 1)
    if n > total:
        raise SettingError(
            f"n_members must be at most {total}, the number of {what} in images of shape "
            f"{image_shape}, got {n_members}; None takes all of them"
        )
    return distinct_rectangles(total, n, seed)


def distinct_rectangles(total: int, n: int, seed: int) -> NDArray[np.intp]:
    """The first n distinct values of a sequence that is uniform on 0 .. total-1, intp (n,).

    Uses the raw stream of the bit generator, which NumPy guarantees, unlike `Generator.choice`. The
    bias of 64 bits modulo total is below total / 2^64.
    """
    bits = np.random.PCG64(seed)
    numbers = np.empty(0, np.intp)
    while len(numbers) < n:
        more = bits.random_raw(2 * n) % np.uint64(total)
        numbers = np.concatenate([numbers, more.astype(np.intp)])
        numbers = numbers[np.sort(np.unique(numbers, return_index=True)[1])]
    return numbers[:n]


def corners_of(
    members: RectangleMembers, table: NDArray[np.intp] | int, height: int, width: int
) -> NDArray[np.intp]:
    """Flat indices of each rectangle's corners in tables (tables, height + 1, width + 1): (4, q).

    Lower right, upper right, lower left, upper left: the sum over the rectangle is the first minus
    the next two plus the last. `table` is the table of all rectangles, or of each.
    """
    rows = np.array([members.bottom, members.top, members.bottom, members.top])
    columns = np.array([members.right, members.right, members.left, members.left])
    corners: NDArray[np.intp] = (table * (height + 1) + rows) * (width + 1) + columns
    return corners


def plan_rectangle_sums(
    shape: tuple[int, int, int], first: NDArray[np.intp], rectangles: NDArray[np.intp], largest: int
) -> tuple[NDArray[np.intp], Fill] | None:
    """`ImageFamily.plan_integers` of weighted sums over rectangles, in images (h, w, channels).

    first: (q + 1,), rectangles: (any, 6), as of `kernels.images.sum_rectangles`. None if tables
    are faster, or sums could exceed int32.
    """
    # Imported here, because the kernels import numba.
    from boostsample.kernels.images import sum_rectangles

    top, bottom, left, right, _, weight = rectangles.T
    areas = (bottom - top) * (right - left)
    pixels, at = rectangle_pixels(shape, rectangles[:, :5])
    of_features = np.add.reduceat(areas * np.abs(weight), first[:-1])
    if areas.sum() > _DIRECT * len(pixels) or int(of_features.max()) * largest >= 2**31:
        return None

    def fill(block: NDArray[Any], out: NDArray[np.float32]) -> None:
        sums, values = np.empty((2, block.shape[1]), np.int32), np.empty(out.shape, np.float32)
        sum_rectangles(block, at, first, rectangles, sums, values)
        out[:] = values

    return pixels, fill


def rectangle_pixels(
    shape: tuple[int, int, int], rectangles: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Pixels of some rectangles (any, 5), and the place of each pixel of an image among them.

    Flat indices intp (p,), ascending; int32 of the shape, meaningless for pixels of no rectangle.
    """
    is_read = np.zeros(shape, np.bool_)
    for top, bottom, left, right, channel in rectangles.tolist():
        is_read[top:bottom, left:right, channel] = True
    places = np.cumsum(is_read.ravel(), dtype=np.int32) - np.int32(1)
    return np.flatnonzero(is_read), places.reshape(shape)


def cumulate_rectangles(tables: NDArray[Any]) -> None:
    """Turn planes into summed-area tables, in place; the first row and column become zeros.

    tables: (..., h + 1, w + 1, m), with plane values at [..., r + 1, c + 1, :]. Entry [..., r, c]
    becomes the sum over the rows above r and the columns left of c, first along each row, then
    down, so that its bits do not depend on values below or to the right.
    """
    tables[..., 0, :, :] = 0
    tables[..., :, 0, :] = 0
    for column in range(2, tables.shape[-2]):
        tables[..., 1:, column, :] += tables[..., 1:, column - 1, :]
    for row in range(2, tables.shape[-3]):
        tables[..., row, 1:, :] += tables[..., row - 1, 1:, :]


def rectangle_sums(entries: NDArray[Any], corners: NDArray[np.intp], out: NDArray[Any]) -> None:
    """Write sums over rectangles to out, (q, m), from flat summed-area tables, (entries, m)."""
    lower_right, upper_right, lower_left, upper_left = corners
    values = entries[lower_right]
    values -= entries[upper_right]
    values -= entries[lower_left]
    np.add(values, entries[upper_left], out=out, casting="same_kind")
