"""Sums over rectangles of images, against sums of Python integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.kernels.images import sum_gradient_votes, sum_rectangles

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
