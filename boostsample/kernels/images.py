"""Images: sums over rectangles, mixed colours, gradient orientations, and Fourier coefficients.

Blocks of images are pixel-major, (p, m) for p pixels of m images. Images of bytes are turned into
blocks of 8 x 8 bytes in registers. No image's bits depend on its neighbours.

**Sums of integers** go without summed-area tables. `block` is uint8 or int16, `at` (height, width,
channels) int32 is the row of each pixel in `block`, where it has one. All sums are exact in int32:
32,767 times 65,535 pixels. Cost: an addition for each pixel of a rectangle and image, 0.05 ns in
vectors of eight.

**Histograms of gradient orientations** have a `block` (planes * n_rows * n_columns, m) float32, the
upper left corner of each plane. A summed-area table ((height + 1) * (width + 1), GRADIENT_LANES) of
one plane has a first row and column of zeros and, at (r, c), the sum over the rows above r and
columns left of c, summed along each row first, then down. GRADIENT_LANES images are processed
together, so that the tables stay in the second-level cache and vector instructions work on several
images. Differences are central, x[r, c+1] - x[r, c-1] and x[r+1, c] - x[r-1, c], and 0 at the first
and last pixel of a row or column of the block. Cost: about 15 operations per pixel for each group
of features of one plane and orientation, and four table entries per value.

**Fourier coefficients** are real, computed in a fixed order of operations. The image is folded at
its middle column and multiplied with the cosines and sines of each wanted frequency across; the
result is folded at the middle row and multiplied with those of each frequency down. FOURIER_LANES
images are processed together, so that all stays in the second-level cache. Cost: h w additions for
each plane, h w multiplications and additions for each frequency across, 2 h for each value.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.jit.compile_kernels import allocating_kernel, inner_kernel, kernel
from boostsample.kernels.array_layout import Doubles, Floats, Ints

# Three rounds transpose 8 x 8 bytes: words of distance 1 exchange every second byte, of distance 2
# every second pair, of distance 4 their halves.
_BYTES = np.uint64(0x00FF00FF00FF00FF)
_PAIRS = np.uint64(0x0000FFFF0000FFFF)
_FOURS = np.uint64(0x00000000FFFFFFFF)
_EIGHT: Any = np.uint64(8)
_SIXTEEN: Any = np.uint64(16)
_HALF: Any = np.uint64(32)


@inner_kernel
def _exchanged(a: Any, b: Any, shift: Any, mask: Any) -> Any:
    """Two words after exchanging the upper parts of a with the lower parts of b."""
    x = ((a >> shift) ^ b) & mask
    return a ^ (x << shift), b ^ x


@kernel
def take_transposed(words: NDArray[np.uint64], rows: NDArray[Any], out: NDArray[np.uint64]) -> None:
    """Rows of a matrix of bytes as columns, on little-endian machines.

    words: (n, p), read: rows of 8 p bytes. rows: (T,), T >= 1, read. out: (8 p, ceil(T / 8)),
    written: row j holds byte j of the rows; beyond T, that of the last one. O(p T).
    """
    last = rows.size - 1
    for t in range(out.shape[1]):
        row0, row1 = words[rows[min(8 * t, last)]], words[rows[min(8 * t + 1, last)]]
        row2, row3 = words[rows[min(8 * t + 2, last)]], words[rows[min(8 * t + 3, last)]]
        row4, row5 = words[rows[min(8 * t + 4, last)]], words[rows[min(8 * t + 5, last)]]
        row6, row7 = words[rows[min(8 * t + 6, last)]], words[rows[min(8 * t + 7, last)]]
        for j in range(words.shape[1]):
            a0, a1 = _exchanged(row0[j], row1[j], _EIGHT, _BYTES)
            a2, a3 = _exchanged(row2[j], row3[j], _EIGHT, _BYTES)
            a4, a5 = _exchanged(row4[j], row5[j], _EIGHT, _BYTES)
            a6, a7 = _exchanged(row6[j], row7[j], _EIGHT, _BYTES)
            a0, a2 = _exchanged(a0, a2, _SIXTEEN, _PAIRS)
            a1, a3 = _exchanged(a1, a3, _SIXTEEN, _PAIRS)
            a4, a6 = _exchanged(a4, a6, _SIXTEEN, _PAIRS)
            a5, a7 = _exchanged(a5, a7, _SIXTEEN, _PAIRS)
            out[8 * j, t], out[8 * j + 4, t] = _exchanged(a0, a4, _HALF, _FOURS)
            out[8 * j + 1, t], out[8 * j + 5, t] = _exchanged(a1, a5, _HALF, _FOURS)
            out[8 * j + 2, t], out[8 * j + 6, t] = _exchanged(a2, a6, _HALF, _FOURS)
            out[8 * j + 3, t], out[8 * j + 7, t] = _exchanged(a3, a7, _HALF, _FOURS)


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


_Integers: TypeAlias = NDArray[np.intp]

#: Images processed together: the fastest of 16, 32, 48, 64, 96 and 128.
GRADIENT_LANES = 64
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
    ((height + 1) * (width + 1), GRADIENT_LANES), written except its first row and column, which are
    read. row: (GRADIENT_LANES,), overwritten.
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

    table: (entries, GRADIENT_LANES), read. corners: (4,), read: entries of its lower right, upper
    right, lower left and upper left corner. sums: (GRADIENT_LANES,), written.
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
    dx = np.empty((n_pixels, GRADIENT_LANES), np.float32)
    dy = np.empty((n_pixels, GRADIENT_LANES), np.float32)
    votes = np.zeros(((height + 1) * (width + 1), GRADIENT_LANES))
    lengths = np.zeros(((height + 1) * (width + 1) if normalise else 1, GRADIENT_LANES))
    row = np.empty(GRADIENT_LANES)
    sums = np.empty(GRADIENT_LANES)
    totals = np.empty(GRADIENT_LANES)
    for start in range(0, block.shape[1], GRADIENT_LANES):
        lanes = min(GRADIENT_LANES, block.shape[1] - start)
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


#: Images processed together.
FOURIER_LANES = 128
COSINE, SINE, MAGNITUDE = 0, 1, 2


class FourierGroups(NamedTuple):
    """Frequencies across of a plane of images (h, w), the groups, and the features of each.

    `plane` (G,); `across_cosine` float32 (G, w//2 + 1); `across_sine` float32 (G, (w - 1)//2), of
    groups whose `has_sine` bool (G,) is set; `first` (G + 1,): features first[g], ... are those of
    group g. Of each feature: `down_cosine` float32 (q, h//2 + 1), `down_sine` float32 (q, (h -
    1)//2), `component` (q,), `sign` float32 (q,), -1 for cycles up, and `rows` (q,), its row in
    the output.
    """

    plane: Ints
    across_cosine: Floats
    across_sine: Floats
    has_sine: NDArray[np.bool_]
    first: Ints
    down_cosine: Floats
    down_sine: Floats
    component: Ints
    sign: Floats
    rows: Ints


@inner_kernel
def _fold(lines: Any, n: int, start: int, lanes: int, r: int, even: Any, odd: Any) -> None:
    """Lines 0 .. n/2 of n plus their mirror images, and lines 1 .. below n/2 minus these.

    lines: (any, m), read: line i begins at lines[i, start]. even, odd: (any, any, FOURIER_LANES);
    [i, r] and [i - 1, r] are written.
    """
    for i in range(n // 2 + 1):
        mirror = n - i
        line, to = lines[i, start : start + lanes], even[i, r]
        if i == 0 or i == mirror:
            for k in range(lanes):
                to[k] = np.float32(line[k])
        else:
            other, to_odd = lines[mirror, start : start + lanes], odd[i - 1, r]
            for k in range(lanes):
                to[k] = np.float32(line[k]) + np.float32(other[k])
                to_odd[k] = np.float32(line[k]) - np.float32(other[k])


@inner_kernel
def _weigh(weights: Floats, lines: Any, row: int, lanes: int, out: Floats) -> None:
    """Sum over i of weights[i] * lines[i, row], in this order. out: (lanes,), written."""
    for i in range(weights.size):
        weight, line = weights[i], lines[i, row]
        if i == 0:
            for k in range(lanes):
                out[k] = weight * line[k]
        else:
            for k in range(lanes):
                out[k] += weight * line[k]


@inner_kernel
def _join(
    component: int,
    by_cosine: bool,
    by_sine: bool,
    sign: np.float32,
    lanes: int,
    first: Floats,
    second: Floats,
) -> None:
    """The cosine or sine part of a wave from its two terms, in `first`; a term may be 0."""
    if by_cosine and by_sine:
        if component == COSINE:
            for k in range(lanes):
                first[k] -= second[k] * sign
        else:
            for k in range(lanes):
                first[k] += second[k] * sign
    elif by_sine:
        for k in range(lanes):
            first[k] = second[k] * sign
    elif not by_cosine:
        for k in range(lanes):
            first[k] = np.float32(0.0)


@allocating_kernel
def fourier_coefficients(
    block: NDArray[Any], height: int, width: int, groups: FourierGroups, out: Floats
) -> None:
    """Coefficients of images.

    block: (planes * h * w, m), uint8 or float32, read. out: (q, m), written.
    """
    even = np.empty((width // 2 + 1, height, FOURIER_LANES), np.float32)
    odd = np.empty((max((width - 1) // 2, 1), height, FOURIER_LANES), np.float32)
    lines = np.empty((2, height, FOURIER_LANES), np.float32)
    folded_even = np.empty((2, height // 2 + 1, 1, FOURIER_LANES), np.float32)
    folded_odd = np.empty((2, max((height - 1) // 2, 1), 1, FOURIER_LANES), np.float32)
    work = np.empty((4, FOURIER_LANES), np.float32)
    n_odd = (height - 1) // 2
    for start in range(0, block.shape[1], FOURIER_LANES):
        lanes = min(FOURIER_LANES, block.shape[1] - start)
        plane = -1
        for g in range(groups.plane.size):
            if groups.plane[g] != plane:
                plane = groups.plane[g]
                for r in range(height):
                    row = block[(plane * height + r) * width : (plane * height + r + 1) * width]
                    _fold(row, width, start, lanes, r, even, odd)
            has_sine = groups.has_sine[g]
            for r in range(height):
                _weigh(groups.across_cosine[g], even, r, lanes, lines[0, r])
                if has_sine:
                    _weigh(groups.across_sine[g], odd, r, lanes, lines[1, r])
            for part in range(1 + has_sine):
                _fold(lines[part], height, 0, lanes, 0, folded_even[part], folded_odd[part])
            for q in range(groups.first[g], groups.first[g + 1]):
                component = groups.component[q]
                values = out[groups.rows[q], start : start + lanes]
                for part in range(2):
                    if component != MAGNITUDE and component != part:
                        continue
                    # cos(d + a) = cos cos - sin sin, sin(d + a) = cos d sin a + sin d cos a
                    first, second = work[2 * part], work[2 * part + 1]
                    by_cosine = part == COSINE or has_sine
                    by_sine = n_odd > 0 and (part == SINE or has_sine)
                    if by_cosine:
                        _weigh(groups.down_cosine[q], folded_even[part], 0, lanes, first)
                    if by_sine:
                        _weigh(groups.down_sine[q], folded_odd[1 - part], 0, lanes, second)
                    _join(part, by_cosine, by_sine, groups.sign[q], lanes, first, second)
                if component == MAGNITUDE:
                    cosine, sine = work[0], work[2]
                    for k in range(lanes):
                        squared = cosine[k] * cosine[k] + sine[k] * sine[k]
                        values[k] = np.sqrt(squared)
                else:
                    part = work[2 * component]
                    for k in range(lanes):
                        values[k] = part[k]
