"""Images of integers: sums over rectangles without summed-area tables, and mixed colours.

Layouts. `block` (p, m), uint8 or int16, pixel-major: p pixels of m images. `at` (height, width,
channels) int32: the row of each pixel in `block`, where it has one. All sums are exact in int32:
32,767 times 65,535 pixels.

Cost: an addition for each pixel of a rectangle and image, 0.05 ns in vectors of eight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.jit.compile_kernels import kernel
from boostsample.kernels.array_layout import Floats, Ints


@kernel
def mix_colours(
    block: NDArray[np.uint8], pixels: Ints, weights: NDArray[np.int16], out: NDArray[np.int16]
) -> None:
    """Weighted sums of the three colours of pixels.

    block: (3 p, m), read: the first colour of all pixels, then the second, then the third. pixels:
    (q,), which pixel; weights: (q, 3), read. out: (q, m), written. O(q m).
    """
    n_pixels = block.shape[0] // 3
    for q in range(pixels.size):
        first, second = block[pixels[q]], block[n_pixels + pixels[q]]
        third = block[2 * n_pixels + pixels[q]]
        a, b, c = np.int16(weights[q, 0]), np.int16(weights[q, 1]), np.int16(weights[q, 2])
        values = out[q]
        for k in range(block.shape[1]):
            values[k] = np.int16(a * first[k] + b * second[k] + c * third[k])


@kernel
def sum_rectangles(
    block: NDArray[Any],
    at: NDArray[np.int32],
    first: Ints,
    rectangles: Ints,
    sums: NDArray[np.int32],
    out: Floats,
) -> None:
    """Weighted sums of rectangles, each rounded once to float32.

    first: (q + 1,), read: feature k has the rectangles first[k] .. first[k + 1] - 1. rectangles:
    (any, 6), read: top, bottom, left, right (bottom and right not included), channel, weight. sums:
    (2, m), overwritten. out: (q, m), written.
    """
    m = block.shape[1]
    total, part = sums[0], sums[1]
    for feature in range(first.size - 1):
        for k in range(m):
            total[k] = 0
        for n in range(first[feature], first[feature + 1]):
            top, bottom, left, right, channel, weight = rectangles[n]
            for k in range(m):
                part[k] = 0
            for r in range(top, bottom):
                for c in range(left, right):
                    pixel = block[at[r, c, channel]]
                    for k in range(m):
                        part[k] += np.int32(pixel[k])
            factor = np.int32(weight)
            for k in range(m):
                total[k] += factor * part[k]
        values = out[feature]
        for k in range(m):
            values[k] = np.float32(total[k])


@kernel
def sum_gradient_votes(
    block: NDArray[Any],
    at: NDArray[np.int32],
    rectangles: Ints,
    edges: NDArray[np.float32],
    folded: np.float32,
    factor: float,
    sums: NDArray[np.int32],
    out: Floats,
) -> None:
    """Votes for orientations, summed over a rectangle for each feature.

    Differences and votes are those of `kernels.gradients`, whose `edges` are integers here, too; at
    most 2^24 times `edges` in float32, so that votes are exact. rectangles: (q, 5), read: top,
    bottom, left, right, channel. edges: (q, 4), read. folded: 1 if opposite gradients are
    equivalent, else 0. factor: multiplies sums. sums: (1, m), overwritten. out: (q, m), written.
    """
    m, total = block.shape[1], sums[0]
    zero = np.float32(0.0)
    height, width = at.shape[0], at.shape[1]
    for feature in range(rectangles.shape[0]):
        top, bottom, left, right, channel = rectangles[feature]
        begin_x, begin_y = edges[feature, 0], edges[feature, 1]
        end_x, end_y = edges[feature, 2], edges[feature, 3]
        for k in range(m):
            total[k] = 0
        for r in range(top, bottom):
            has_y = np.float32(0 < r < height - 1)
            up, down = max(r - 1, 0), min(r + 1, height - 1)
            for c in range(left, right):
                has_x = np.float32(0 < c < width - 1)
                before, after = max(c - 1, 0), min(c + 1, width - 1)
                # At an edge of the image both neighbours are the pixel itself: a difference of 0.
                if has_x == zero:
                    before = after = c
                if has_y == zero:
                    upper = lower = block[at[r, c, channel]]
                else:
                    upper, lower = block[at[up, c, channel]], block[at[down, c, channel]]
                near, far = block[at[r, before, channel]], block[at[r, after, channel]]
                for k in range(m):
                    x = np.float32(np.int32(far[k]) - np.int32(near[k]))
                    y = np.float32(np.int32(lower[k]) - np.int32(upper[k]))
                    past_begin = begin_x * y - begin_y * x
                    before_end = end_y * x - end_x * y
                    smaller = min(past_begin, before_end)
                    opposite = -folded * max(past_begin, before_end)
                    total[k] += np.int32(max(max(smaller, opposite), zero))
        values = out[feature]
        for k in range(m):
            values[k] = np.float32(total[k] * factor)
