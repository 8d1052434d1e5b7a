"""Kernels of images against naive twins: transposed bytes, sums of pixels, gradients, Fourier."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.banks.binning import block_order
from boostsample.families import Fourier
from boostsample.kernels import images as kernels
from boostsample.kernels.images import (
    GRADIENT_LANES,
    gradient_sums,
    sum_gradient_votes,
    sum_rectangles,
    take_transposed,
)
from tests.compiled import COMPILED


@pytest.mark.skipif(sys.byteorder != "little", reason="the kernel is for little-endian machines")
@pytest.mark.parametrize("n_rows", [1, 7, 8, 9, 40])
@pytest.mark.parametrize("n_words", [1, 3])
def test_take_transposed(rng: np.random.Generator, n_rows: int, n_words: int) -> None:
    matrix = rng.integers(0, 256, (20, 8 * n_words)).astype(np.uint8)
    rows = rng.integers(0, 20, n_rows)
    out = np.zeros((8 * n_words, -(-n_rows // 8) + 1), np.uint64)
    take_transposed(matrix.view(np.uint64), rows, out[:, :-1])
    want = matrix[rows].T
    assert (out.view(np.uint8)[:, :n_rows] == want).all()
    assert (out[:, -1] == 0).all()


@pytest.mark.parametrize("shape", [(4, 4), (2, 4, 3), (3, 3)])
def test_rows_in_the_order_of_families(rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    X = rng.integers(0, 256, (50, *shape)).astype(np.uint8)
    rows = rng.integers(0, 50, 13).astype(np.int32)
    for images in (X, X.astype(np.float32), np.asfortranarray(X)):
        for some in (rows, rows[:0]):
            turned = block_order(images, 0, some)
            assert (turned == images[some]).all()
            assert turned.dtype == images.dtype
            if some.size:
                assert turned.strides[0] == images.itemsize


HEIGHT, WIDTH, CHANNELS = 5, 6, 2
LOW = {np.uint8: 0, np.int16: -1020}
HIGH = {np.uint8: 256, np.int16: 1021}


def images(rng: np.random.Generator, kind: Any, m: int) -> tuple[Any, NDArray[np.int32]]:
    """All pixels of m images in any order, some of them extreme, and the place of each."""
    pixels = rng.integers(LOW[kind], HIGH[kind], (HEIGHT * WIDTH * CHANNELS, m)).astype(kind)
    pixels[:, :2] = LOW[kind], HIGH[kind] - 1
    places = rng.permutation(len(pixels)).astype(np.int32)
    return pixels, places.reshape(HEIGHT, WIDTH, CHANNELS)


def rectangle(rng: np.random.Generator) -> list[int]:
    rows, columns = (np.sort(rng.choice(n + 1, 2, replace=False)) for n in (HEIGHT, WIDTH))
    return [*rows.tolist(), *columns.tolist(), int(rng.integers(CHANNELS))]


@pytest.mark.parametrize("m", [2, 37])
@pytest.mark.parametrize("kind", [np.uint8, np.int16])
def test_rectangles(rng: np.random.Generator, kind: Any, m: int) -> None:
    block, at = images(rng, kind, m)
    weights = (1, -1, -2, 4)
    wanted = [[[*rectangle(rng), w] for w in weights[: k + 1]] for k in range(4)] + [[[0] * 6]]
    first = np.cumsum([0, *map(len, wanted)])
    out = np.empty((len(wanted), m), np.float32)
    every = np.array([r for of_feature in wanted for r in of_feature])
    sum_rectangles(block, at, first, every, np.empty((2, m), np.int32), out)
    for k, of_feature in enumerate(wanted):
        for i in range(m):
            total = 0
            for top, bottom, left, right, channel, weight in of_feature:
                for r in range(top, bottom):
                    for c in range(left, right):
                        total += weight * int(block[at[r, c, channel], i])
            assert out[k, i] == np.float32(total)


@pytest.mark.parametrize("folded", [0, 1])
@pytest.mark.parametrize("kind", [np.uint8, np.int16])
def test_gradient_votes(rng: np.random.Generator, kind: Any, folded: int) -> None:
    m = 9
    block, at = images(rng, kind, m)
    rectangles = np.array([rectangle(rng) for _ in range(12)] + [[0, HEIGHT, 0, WIDTH, 1]])
    edges = rng.integers(-2048, 2049, (len(rectangles), 4)).astype(np.float32)
    out = np.empty((len(rectangles), m), np.float32)
    sums = np.empty((1, m), np.int32)
    sum_gradient_votes(block, at, rectangles, edges, np.float32(folded), 1 / 1024, sums, out)

    def pixel(r: int, c: int, channel: int, i: int) -> int:
        return int(block[at[r, c, channel], i])

    for k, (top, bottom, left, right, channel) in enumerate(rectangles.tolist()):
        begin_x, begin_y, end_x, end_y = (int(edge) for edge in edges[k])
        for i in range(m):
            total = 0
            for r in range(top, bottom):
                for c in range(left, right):
                    x = y = 0
                    if 0 < c < WIDTH - 1:
                        x = pixel(r, c + 1, channel, i) - pixel(r, c - 1, channel, i)
                    if 0 < r < HEIGHT - 1:
                        y = pixel(r + 1, c, channel, i) - pixel(r - 1, c, channel, i)
                    crossed = begin_x * y - begin_y * x, end_y * x - end_x * y
                    total += max(min(crossed), -folded * max(crossed), 0)
            assert out[k, i] == np.float32(total / 1024)


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


def naive(image: Any, down: int, across: int, component: str) -> float:
    height, width = image.shape
    is_single = (2 * down) % height == 0 and (2 * across) % width == 0
    scale = math.sqrt((1 if is_single else 2) / (height * width))
    cosine = sine = 0.0
    for r in range(height):
        for c in range(width):
            angle = 2 * math.pi * (down * r / height + across * c / width)
            cosine += scale * float(image[r, c]) * math.cos(angle)
            sine += scale * float(image[r, c]) * math.sin(angle)
    return {"cosine": cosine, "sine": sine, "magnitude": math.hypot(cosine, sine)}[component]


@pytest.mark.parametrize("shape", [(1, 2), (2, 1), (2, 2), (1, 5), (5, 1), (3, 4), (4, 3, 2)])
def test_coefficients(rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    family = Fourier(shape)
    for X in (rng.normal(size=(3, *shape)), np.full((2, *shape), 255, np.uint8)):
        values = family.compute(X, range(family.n_features))
        for feature in range(family.n_features):
            down, across, component, channel = (
                int(part[0]) for part in family._members(np.array([feature]))
            )
            for x, value in zip(X.reshape(len(X), *shape[:2], -1), values[:, feature], strict=True):
                want = naive(x[..., channel], down, across, family.components[component])
                assert value == pytest.approx(want, abs=1e-6 * float(np.abs(x).sum()))


def test_values_depend_on_their_image_and_feature_only(rng: np.random.Generator) -> None:
    family = Fourier((5, 6))
    X = rng.integers(0, 256, (2 * kernels.FOURIER_LANES + 3, 5, 6)).astype(np.uint8)
    values = family.compute(X, range(family.n_features))
    assert (family.compute(X.astype(np.float32), range(family.n_features)) == values).all()
    for feature in range(family.n_features):
        some = family.compute(X[5:-2], [feature])
        assert (some[:, 0] == values[5:-2, feature]).all()
