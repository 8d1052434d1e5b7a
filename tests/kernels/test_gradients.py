"""Sums of gradients by orientation against a twin written from the definition with plain loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.kernels.images import GRADIENT_LANES, gradient_sums
from tests.compiled import COMPILED

#: Images of one call: fewer than, as many as and more than are handled at a time.
COUNTS = (
    (1, GRADIENT_LANES - 1, GRADIENT_LANES, 2 * GRADIENT_LANES + 1)
    if COMPILED
    else (1, GRADIENT_LANES + 1)
)

Rectangle = tuple[int, int, int, int, int]  # top, bottom, left, right, group
FOUR = [[0, -7, 0, 7], [7, 0, -7, 0], [0, 7, 0, -7], [-7, 0, 7, 0]]
"""Begin and end of the sectors of four orientations; 7 stands for a length of 1."""
SKEWED = [[3, -2, 5, 1], [-4, 4, -5, -3]]


def naive_vote(dx: float, dy: float, edges: list[int], folded: bool) -> float:
    """The smaller one of the cross products with the edges of the sector, if both are positive."""
    votes = [0.0]
    for x, y in [(dx, dy), (-dx, -dy)] if folded else [(dx, dy)]:
        past_begin = edges[0] * y - edges[1] * x
        before_end = x * edges[3] - y * edges[2]
        if past_begin > 0 and before_end > 0:
            votes.append(min(past_begin, before_end))
    return max(votes)


def naive_sums(
    plane: NDArray[Any],
    height: int,
    width: int,
    rectangle: Rectangle,
    edges: list[int],
    folded: bool,
    factor: float,
    normalise: bool,
) -> np.float32:
    """One value of one image, (n_rows, n_columns)."""
    n_rows, n_columns = plane.shape
    top, bottom, left, right, _ = rectangle
    votes = lengths = 0.0
    for r in range(top, bottom):
        for c in range(left, right):
            dx = dy = 0.0
            if 0 < c < n_columns - 1:
                dx = float(plane[r, c + 1]) - float(plane[r, c - 1])
            if 0 < r < n_rows - 1:
                dy = float(plane[r + 1, c]) - float(plane[r - 1, c])
            votes += naive_vote(dx, dy, edges, folded)
            lengths += math.hypot(dx, dy)
    if not normalise:
        return np.float32(votes * factor)
    return np.float32(votes * factor / lengths if lengths > 0 else 0.0)


def run(
    images: NDArray[np.float32],
    size: tuple[int, int],
    rectangles: list[list[Rectangle]],
    edges: list[list[int]],
    folded: bool = False,
    factor: float = 1.0,
    normalise: bool = False,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """What the kernel and its twin make of (n, planes, n_rows, n_columns) images."""
    n, n_planes, n_rows, n_columns = images.shape
    # Groups of one plane and sector, in the order of planes; out gets its rows in another order.
    groups = [(plane, k) for plane in range(n_planes) for k in range(len(edges))]
    members = [
        (g, box) for g, (_, k) in enumerate(groups) for box in rectangles[g % 2] if box[4] == k
    ]
    first = np.searchsorted([g for g, _ in members], np.arange(len(groups) + 1))
    width = size[1] + 1
    corners = [
        [b * width + r, t * width + r, b * width + le, t * width + le]
        for _, (t, b, le, r, _) in members
    ]
    rows = np.random.default_rng(0).permutation(len(members))
    out = np.full((len(members), n), np.nan, np.float32)
    gradient_sums(
        np.ascontiguousarray(images.reshape(n, -1).T),
        (n_rows, n_columns),
        size,
        np.array([plane for plane, _ in groups]),
        np.array([edges[k] for _, k in groups], np.float64),
        1.0 if folded else 0.0,
        factor,
        normalise,
        first,
        np.array(corners),
        rows,
        out,
    )
    want = np.full_like(out, np.nan)
    for row, (g, box) in zip(rows, members, strict=True):
        plane, k = groups[g]
        for i in range(n):
            want[row, i] = naive_sums(
                images[i, plane], *size, box, edges[k], folded, factor, normalise
            )
    return out, want


def boxes(height: int, width: int, n_sectors: int, n: int) -> list[list[Rectangle]]:
    """Random rectangles within height x width, two lists of them, and the whole."""
    rng = np.random.default_rng([height, width])
    lists: list[list[Rectangle]] = [[], []]
    for k in range(n):
        top, bottom = sorted(rng.choice(height + 1, 2, replace=False).tolist())
        left, right = sorted(rng.choice(width + 1, 2, replace=False).tolist())
        lists[k % 2].append((top, bottom, left, right, int(rng.integers(n_sectors))))
    lists[0].append((0, height, 0, width, 0))
    return lists


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("n", COUNTS)
def test_equals_its_naive_twin(n: int, folded: bool, normalise: bool) -> None:
    images = np.random.default_rng(n).integers(0, 256, (n, 2, 5, 4)).astype(np.float32)
    for edges in (FOUR, SKEWED):
        for size in ((5, 4), (4, 3), (2, 4)):
            rectangles = boxes(*size, len(edges), 9)
            out, want = run(images, size, rectangles, edges, folded, 0.25, normalise)
            if normalise:  # lengths are rounded, and summed in another order
                np.testing.assert_allclose(out, want, rtol=1e-6)
            else:
                np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (2, 2), (3, 3)])
def test_small_images(shape: tuple[int, int]) -> None:
    images = np.random.default_rng(0).integers(0, 9, (3, 1, *shape)).astype(np.float32)
    out, want = run(images, shape, boxes(*shape, 4, 8), FOUR)
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("scale", [0.0, 1e-30, 1.0, 1e15])
@pytest.mark.parametrize("normalise", [False, True])
def test_real_numbers_of_any_size(scale: float, normalise: bool) -> None:
    images = np.random.default_rng(1).normal(size=(4, 1, 6, 5)) * scale
    out, want = run(
        images.astype(np.float32), (6, 5), boxes(6, 5, 4, 20), FOUR, True, 1 / 7, normalise
    )
    largest = np.abs(want).max()
    np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-6 * largest)
    assert np.isfinite(out).all()


@pytest.mark.parametrize("normalise", [False, True])
def test_nothing_beside_something_is_exactly_nothing(normalise: bool) -> None:
    """Sums over flat rectangles are differences of large sums, which round."""
    rng = np.random.default_rng(2)
    images = rng.normal(size=(20, 1, 12, 12)) * 10 ** rng.uniform(-9, 6, (20, 1, 12, 12))
    images[:, :, 5:, 5:] = 0.1
    flat: list[Rectangle] = [(6, 12, 6, 12, 0), (7, 9, 6, 11, 1), (10, 12, 7, 9, 0)]
    out, _ = run(
        images.astype(np.float32), (12, 12), [flat, flat], SKEWED, True, normalise=normalise
    )
    np.testing.assert_array_equal(out, np.zeros_like(out))
