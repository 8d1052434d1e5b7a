"""Real Fourier coefficients of images, some of them at a time, in a fixed order of operations.

The image is folded at its middle column and multiplied with the cosines and sines of each wanted
frequency across; the result is folded at the middle row and multiplied with those of each frequency
down. LANES images are processed together, so that all stays in the second-level cache; no image's
bits depend on its neighbours.

Cost: h w additions for each plane, h w multiplications and additions for each frequency across, 2 h
for each value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.jit.compile_kernels import allocating_kernel, inner_kernel
from boostsample.kernels.array_layout import Floats, Ints

#: Images processed together.
LANES = 128
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

    lines: (any, m), read: line i begins at lines[i, start]. even, odd: (any, any, LANES);
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
    even = np.empty((width // 2 + 1, height, LANES), np.float32)
    odd = np.empty((max((width - 1) // 2, 1), height, LANES), np.float32)
    lines = np.empty((2, height, LANES), np.float32)
    folded_even = np.empty((2, height // 2 + 1, 1, LANES), np.float32)
    folded_odd = np.empty((2, max((height - 1) // 2, 1), 1, LANES), np.float32)
    work = np.empty((4, LANES), np.float32)
    n_odd = (height - 1) // 2
    for start in range(0, block.shape[1], LANES):
        lanes = min(LANES, block.shape[1] - start)
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
