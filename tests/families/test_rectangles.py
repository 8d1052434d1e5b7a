"""Which rectangles there are, how they are drawn, and sums over them, against plain loops."""

from __future__ import annotations

from itertools import product
from typing import SupportsIndex

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.families.images._rectangles import (
    RectangleFamily,
    corners_of,
    cumulate_rectangles,
    distinct_rectangles,
    rectangle_sums,
)
from boostsample.family import Fill


class Rectangles(RectangleFamily):
    """A family without values."""

    def __init__(
        self,
        shape: tuple[int, ...],
        n_members: int | None,
        seed: int,
        min_side: int | None,
        max_side: int | None,
        n_kinds: int = 1,
        what: str = "",
    ) -> None:
        super().__init__(
            shape, n_members, seed, min_side, max_side, "rectangles", what=what, n_kinds=n_kinds
        )

    def feature_name(self, feature: SupportsIndex) -> str:
        raise NotImplementedError

    def plan(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], Fill]:
        raise NotImplementedError


def test_distinct_is_a_prefix_of_one_sequence() -> None:
    whole = distinct_rectangles(50, 50, 3)
    assert sorted(whole) == list(range(50))
    for n in (1, 7, 49):
        np.testing.assert_array_equal(distinct_rectangles(50, n, 3), whole[:n])
    assert distinct_rectangles(50, 50, 4).tolist() != whole.tolist()


def test_distinct_is_pinned() -> None:
    """Stored models name features by number: this sequence may never change."""
    assert distinct_rectangles(10**6, 4, 0).tolist() == [74271, 251617, 996024, 325533]


def every(height: int, width: int, n_channels: int, n_kinds: int, shortest: int) -> list[list[int]]:
    """Top, bottom, left, right, channel and kind of all members, in order, by loops."""
    rows, columns = (
        [(a, b) for a in range(side) for b in range(a + shortest, side + 1)]
        for side in (height, width)
    )
    return [
        [*row, *column, channel, kind]
        for row, column, channel, kind in product(rows, columns, range(n_channels), range(n_kinds))
    ]


@pytest.mark.parametrize(("shape", "n_kinds"), [((3, 4), 1), ((4, 3, 2), 3), ((1, 4, 2), 2)])
def test_all_members_in_order(shape: tuple[int, ...], n_kinds: int) -> None:
    rectangles = Rectangles(shape, None, 0, None, None, n_kinds=n_kinds, what="bins")
    height, width, n_channels = (*shape, 1)[:3]
    want = every(height, width, n_channels, n_kinds, min(2, height, width))
    assert rectangles.n_members is None
    assert rectangles.n_features == len(want)
    assert np.column_stack(rectangles.members(np.arange(len(want)))).tolist() == want


def test_drawn_members_are_different_ones_of_all() -> None:
    drawn = Rectangles((4, 3, 2), 108, 5, None, None, n_kinds=3, what="bins")
    members = np.column_stack(drawn.members(np.arange(108))).tolist()
    assert members != sorted(members)
    assert sorted(members) == sorted(every(4, 3, 2, 3, 2))


def test_each_kind_and_channel_is_equally_likely() -> None:
    drawn = Rectangles((28, 28, 3), 12_000, 0, None, None, n_kinds=4, what="bins")
    members = drawn.members(np.arange(12_000))
    counts = np.bincount(members.channel * 4 + members.kind)
    assert ((counts - 1000) ** 2 / 1000).sum() < 38  # 0.01 % of chi-square, 11 d.o.f.


def test_sums_equal_plain_loops() -> None:
    rng = np.random.default_rng(0)
    planes = rng.integers(0, 256, (3, 5, 4, 6))
    tables = np.empty((3, 6, 5, 6))
    tables[:, 1:, 1:] = planes
    cumulate_rectangles(tables)
    members = Rectangles((5, 4), None, 0, 1, None, n_kinds=3, what="bins").members(np.arange(450))
    out = np.empty((450, 6), np.float32)
    rectangle_sums(tables.reshape(-1, 6), corners_of(members, members.kind, 5, 4), out)
    for row, (top, bottom, left, right, _, plane) in zip(
        out, np.column_stack(members), strict=True
    ):
        want = planes[plane, top:bottom, left:right].sum(axis=(0, 1))
        np.testing.assert_array_equal(row, want)
