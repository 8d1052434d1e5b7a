"""Histograms of gradient orientations, summed over rectangles of images.

Layouts. `block` (planes * n_rows * n_columns, m) float32, pixel-major: the upper left corner of
each plane of m images. A summed-area table ((height + 1) * (width + 1), LANES) of one plane has a
first row and column of zeros and, at (r, c), the sum over the rows above r and columns left of c,
summed along each row first, then down. LANES images are processed together, so that the tables stay
in the second-level cache and vector instructions work on several images; no image's bits depend on
its neighbours.

Differences are central, x[r, c+1] - x[r, c-1] and x[r+1, c] - x[r-1, c], and 0 at the first and
last pixel of a row or column of the block.

Cost: about 15 operations per pixel for each group of features of one plane and orientation, and
four table entries per value.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.jit.compile_kernels import allocating_kernel, kernel
from boostsample.kernels.array_layout import Doubles, Floats

_Integers: TypeAlias = NDArray[np.intp]

#: Images processed together: the fastest of 16, 32, 48, 64, 96 and 128.
LANES = 64
#: Relative to the sum up to the last corner, smaller sums are rounding noise: a table adds up
#: thousands of float64 numbers, each rounded by 2^-53 of the sum.
_NOISE = 2.0**-40


@kernel
def _gradient_differences(
    block: Floats, n_rows: int, n_columns: int, start: int, lanes: int, dx: Floats, dy: Floats
) -> None:
    """Central differences of one plane, images start .. start + lanes - 1.

    block: (n_rows * n_columns, m), read. dx, dy: (n_rows * n_columns, >= lanes), written.
    """
    for r in range(n_rows):
        for c in range(n_columns):
            i = r * n_columns + c
            x, y = dx[i], dy[i]
            if 0 < c < n_columns - 1:
                # Slices: numba does not vectorise [start + k], which might be negative.
                before = block[i - 1, start : start + lanes]
                after = block[i + 1, start : start + lanes]
                for k in range(lanes):
                    x[k] = after[k] - before[k]
            else:
                for k in range(lanes):
                    x[k] = 0
            if 0 < r < n_rows - 1:
                before = block[i - n_columns, start : start + lanes]
                after = block[i + n_columns, start : start + lanes]
                for k in range(lanes):
                    y[k] = after[k] - before[k]
            else:
                for k in range(lanes):
                    y[k] = 0


@kernel
def _sum_orientation_votes(
    dx: Floats,
    dy: Floats,
    n_columns: int,
    edges: Doubles,
    folded: float,
    height: int,
    width: int,
    lanes: int,
    table: Doubles,
    row: Doubles,
) -> None:
    """Summed-area table of the votes for one orientation.

    The vote of a gradient is 0 outside the sector between two directions, and inside the smaller of
    the cross products with the two.

    dx, dy: (pixels, >= lanes), read. edges: (4,), read: x and y of the first direction of the
    sector, then of the last. folded: 1 if opposite gradients are equivalent, else 0. table:
    ((height + 1) * (width + 1), LANES), written except its first row and column, which are read.
    row: (LANES,), overwritten.
    """
    begin_x, begin_y, end_x, end_y = edges[0], edges[1], edges[2], edges[3]
    for r in range(height):
        for k in range(lanes):
            row[k] = 0
        for c in range(width):
            x, y = dx[r * n_columns + c], dy[r * n_columns + c]
            above = table[r * (width + 1) + c + 1]
            entry = table[(r + 1) * (width + 1) + c + 1]
            for k in range(lanes):
                past_begin = begin_x * y[k] - begin_y * x[k]
                before_end = end_y * x[k] - end_x * y[k]
                smaller = past_begin if past_begin < before_end else before_end
                larger = before_end if past_begin < before_end else past_begin
                opposite = -folded * larger
                vote = smaller if smaller > opposite else opposite
                total = row[k] + (vote if vote > 0.0 else 0.0)
                row[k] = total
                entry[k] = above[k] + total


@kernel
def _sum_gradient_lengths(
    dx: Floats,
    dy: Floats,
    n_columns: int,
    height: int,
    width: int,
    lanes: int,
    table: Doubles,
    row: Doubles,
) -> None:
    """Summed-area table of the magnitudes of gradients; see `_sum_orientation_votes`."""
    for r in range(height):
        for k in range(lanes):
            row[k] = 0
        for c in range(width):
            x, y = dx[r * n_columns + c], dy[r * n_columns + c]
            above = table[r * (width + 1) + c + 1]
            entry = table[(r + 1) * (width + 1) + c + 1]
            for k in range(lanes):
                a, b = np.float64(x[k]), np.float64(y[k])
                total = row[k] + np.sqrt(a * a + b * b)
                row[k] = total
                entry[k] = above[k] + total


@kernel
def _rectangle_sums(
    table: Doubles, corners: _Integers, factor: float, lanes: int, sums: Doubles
) -> None:
    """Sums over one rectangle times a factor; rounding noise is set to 0.

    table: (entries, LANES), read. corners: (4,), read: entries of its lower right, upper right,
    lower left and upper left corner. sums: (LANES,), written.
    """
    lower_right, upper_right = table[corners[0]], table[corners[1]]
    lower_left, upper_left = table[corners[2]], table[corners[3]]
    for k in range(lanes):
        total = lower_right[k]
        value = (total - upper_right[k]) - (lower_left[k] - upper_left[k])
        sums[k] = value * factor if value > total * _NOISE else 0.0


@allocating_kernel
def gradient_sums(
    block: Floats,
    shape: tuple[int, int],
    size: tuple[int, int],
    planes: _Integers,
    edges: Doubles,
    folded: float,
    factor: float,
    normalise: bool,
    first: _Integers,
    corners: _Integers,
    rows: _Integers,
    out: Floats,
) -> None:
    """Votes for orientations, summed over rectangles; optionally divided by the sum of magnitudes.

    block: (planes * n_rows * n_columns, m), read; shape: (n_rows, n_columns). size: height and
    width of the tables, at most the shape. planes: (groups,), read, ascending. edges: (groups, 4),
    read, and folded, as in `_sum_orientation_votes`. factor: multiplies sums of votes. first:
    (groups + 1,), read: group g has the features first[g] .. first[g + 1] - 1 of corners, (q, 4),
    and of rows, (q,), their rows in out. out: (q, m), written.
    """
    n_rows, n_columns = shape
    height, width = size
    n_pixels = n_rows * n_columns
    dx = np.empty((n_pixels, LANES), np.float32)
    dy = np.empty((n_pixels, LANES), np.float32)
    votes = np.zeros(((height + 1) * (width + 1), LANES))
    lengths = np.zeros(((height + 1) * (width + 1) if normalise else 1, LANES))
    row = np.empty(LANES)
    sums = np.empty(LANES)
    totals = np.empty(LANES)
    for start in range(0, block.shape[1], LANES):
        lanes = min(LANES, block.shape[1] - start)
        plane = -1
        for g in range(planes.size):
            if planes[g] != plane:
                plane = planes[g]
                pixels = block[plane * n_pixels : (plane + 1) * n_pixels]
                _gradient_differences(pixels, n_rows, n_columns, start, lanes, dx, dy)
                if normalise:
                    _sum_gradient_lengths(dx, dy, n_columns, height, width, lanes, lengths, row)
            _sum_orientation_votes(
                dx, dy, n_columns, edges[g], folded, height, width, lanes, votes, row
            )
            for q in range(first[g], first[g + 1]):
                _rectangle_sums(votes, corners[q], factor, lanes, sums)
                values = out[rows[q], start : start + lanes]
                if normalise:
                    _rectangle_sums(lengths, corners[q], 1.0, lanes, totals)
                    for k in range(lanes):
                        values[k] = np.float32(sums[k] / totals[k] if totals[k] > 0.0 else 0.0)
                else:
                    for k in range(lanes):
                        values[k] = np.float32(sums[k])
