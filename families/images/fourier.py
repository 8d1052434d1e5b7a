"""Two-dimensional discrete Fourier transform: cosine and sine parts, and magnitudes.

Cost: about 20 multiplications and additions per value for all features of 28x28 images, twice the
image's pixels for a single feature. The image is folded at its middle column and multiplied with
the cosines and sines of each wanted frequency across; the result is folded at the middle row and
multiplied with those of each frequency down. The order of operations is fixed, so that no value
depends on the other features. A fast transform does less arithmetic, but computes all coefficients;
the tests compare with scipy.fft.

Reference: "Fourier transform" of [DF11] sec. 5.1, which leaves open which real numbers are features
and how 28x28 images are padded (here not at all). Cosine and sine parts are linear in the image and
form a basis; magnitudes add what stumps cannot form from them, and are invariant to circular
shifts. Phases are left out, because where to cut the circle is arbitrary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_choices
from boostsample.errors import SettingError
from boostsample.family import Fill, ImageFamily

_COMPONENTS = ("cosine", "sine", "magnitude")


class _Wanted(NamedTuple):
    """Features of one component among those of a group."""

    component: str
    rows: NDArray[np.intp]  # of the output: (b,)
    waves: NDArray[np.intp]  # their cycles down, as positions in the group: (b,)
    signs: NDArray[np.float32]  # -1 for cycles up: (b, 1)


class _Group(NamedTuple):
    """What to compute for one frequency across in one channel."""

    # Weights of the folded columns; None if all sines are 0.
    across_cosine: NDArray[np.float32]
    across_sine: NDArray[np.float32] | None
    # Weights of the folded rows for each frequency down: (rows, waves, 1).
    down_cosine: NDArray[np.float32]
    down_sine: NDArray[np.float32]
    wanted: list[_Wanted]
    parts: tuple[str, ...]  # parts of the waves that they need: "cosine", "sine" or both


class Fourier(ImageFamily):
    """Discrete Fourier coefficients over whole images of h x w pixels, per channel.

    For a wave of d cycles down and a cycles across, with the angles t = 2 pi (d r / h + a c / w):

    - cosine: scale * sum over r, c of x[r, c] cos t, the real part of the transform;
    - sine: scale * sum over r, c of x[r, c] sin t, minus the imaginary part;
    - magnitude: sqrt(cosine^2 + sine^2).

    Waves d, a and -d, -a are equal, so that a runs from 0 to w/2, and d from -h/2 to h/2 ("2 cycles
    up" for -2) or, if a is 0 or w/2, from 0 to h/2. A wave that is its own mirror image, such as
    the constant one, has no sine. With scale = sqrt(2 / (h w)), or sqrt(1 / (h w)) for a wave
    without a sine, the h * w cosines and sines form an orthonormal basis. All waves except the
    constant one have a magnitude, which is invariant to circular shifts up to rounding. Images of
    28 x 28 have 394 cosines, 390 sines and 393 magnitudes.

    Features are numbered by channel, cycles across, cycles down and component: neighbouring
    features share most of their cost. Sums are float32, accurate to a few 1e-7 of the norm of the
    pixels. The squares of magnitudes below about 1e-19 underflow.

    Parameters
    ----------
    image_shape : tuple of int, (h, w) or (h, w, channels)
    components : sequence of str, default ("cosine", "sine", "magnitude")
        Components, in this order.
    name : str, default "fourier"

    Examples
    --------
    >>> fourier = Fourier((2, 2))
    >>> [fourier.feature_name(j) for j in (1, 2)]
    ['Fourier cosine of 1 cycle down, 0 across', 'Fourier magnitude of 1 cycle down, 0 across']
    >>> fourier.compute([[[1, 2], [3, 8]]], range(7)).tolist()
    [[7.0, -4.0, 4.0, -3.0, 3.0, 2.0, 2.0]]
    """

    def __init__(
        self,
        image_shape: tuple[int, ...],
        components: Sequence[str] = _COMPONENTS,
        name: str = "fourier",
    ) -> None:
        super().__init__(image_shape, name)
        self.components = check_choices("components", "Fourier component", components, _COMPONENTS)
        down, across = _waves(self.height, self.width)
        single = _is_single(down, self.height) & _is_single(across, self.width)
        every = np.ones(len(down), np.bool_)
        have = {"cosine": every, "sine": ~single, "magnitude": (down != 0) | (across != 0)}
        wave, kind = np.nonzero(np.array([have[part] for part in self.components]).T)
        # Cycles down and across and component of the features of one channel: (3, features).
        self._features = np.array([down[wave], across[wave], kind])
        self.n_features = len(wave) * self.n_channels
        if self.n_features == 0:
            raise SettingError(
                f"images of {self.height} x {self.width} pixels have no Fourier "
                f"{' or '.join(self.components)}; use larger images, or cosines"
            )

    def feature_name(self, feature: SupportsIndex) -> str:
        """Like "Fourier cosine of 2 cycles down, 3 across"."""
        index = np.array([self.check_feature(feature)])
        down, across, component, channel = (int(part[0]) for part in self._members(index))
        cycles = f"{abs(down)} cycle{'s' * (abs(down) != 1)} {'up' if down < 0 else 'down'}"
        return (
            f"Fourier {self.components[component]} of {cycles}, {across} across"
            f"{self.in_channel(channel)}"
        )

    def plan(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], Fill]:
        """All pixels of the wanted channels; sums over columns, then over rows."""
        down, across, component, channel = self._members(features)
        channels, plane = np.unique(channel, return_inverse=True)
        places = np.arange(self.height * self.width) * self.n_channels
        pixels = (channels[:, None] + places).ravel()
        planes: list[list[_Group]] = [[] for _ in channels]
        for group in np.unique(plane * self.width + across):
            number, cycles = divmod(int(group), self.width)
            rows = np.flatnonzero((plane == number) & (across == cycles))
            downs, waves = np.unique(np.abs(down[rows]), return_inverse=True)
            wanted = []
            for position, word in enumerate(self.components):
                part = np.flatnonzero(component[rows] == position)
                if len(part):
                    signs = np.where(down[rows[part]] < 0, np.float32(-1), np.float32(1))
                    wanted.append(_Wanted(word, rows[part], waves[part], signs[:, None]))
            planes[number].append(self._group(cycles, downs, wanted))
        shape = (len(channels), self.height, self.width)

        def fill(block: NDArray[np.float32], out: NDArray[np.float32]) -> None:
            for image, groups in zip(block.reshape(*shape, -1), planes, strict=True):
                _fill_channel(image.swapaxes(0, 1), groups, out)

        return pixels, fill

    def _members(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], ...]:
        """Cycles down and across, component (its position) and channel of features: (q,) each."""
        channel, rest = np.divmod(features, self._features.shape[1])
        return *self._features[:, rest], channel

    def _group(self, across: int, downs: NDArray[np.intp], wanted: list[_Wanted]) -> _Group:
        """The scaled weights of waves with the given cycles across and down."""
        single = _is_single(np.array([across]), self.width)
        cosine, sine = _weights(self.width, np.array([across]))
        scale = np.sqrt(
            (2 - (single & _is_single(downs, self.height))) / (self.height * self.width)
        )
        down_cosine, down_sine = (
            (scale * weights).astype(np.float32)[:, :, None]
            for weights in _weights(self.height, downs)
        )
        return _Group(
            cosine.astype(np.float32)[:, 0],
            None if single else sine.astype(np.float32)[:, 0],
            down_cosine,
            down_sine,
            wanted,
            tuple(
                part
                for part in ("cosine", "sine")
                if any(members.component in (part, "magnitude") for members in wanted)
            ),
        )


def _waves(height: int, width: int) -> NDArray[np.intp]:
    downs = np.concatenate([np.arange(height // 2 + 1), np.arange(-((height - 1) // 2), 0)])
    across, down = (
        grid.ravel() for grid in np.meshgrid(np.arange(width // 2 + 1), downs, indexing="ij")
    )
    return np.array([down, across])[:, (down >= 0) | ~_is_single(across, width)]


def _is_single(cycles: NDArray[np.intp], length: int) -> NDArray[np.bool_]:
    """Whether a wave along one side is its own mirror image: its sines are all 0."""
    single: NDArray[np.bool_] = (2 * cycles) % length == 0
    return single


def _weights(
    length: int, cycles: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cosines at the lines that `_even` returns, sines at those of `_odd`: (lines, cycles).

    Exact where they are 0, 1 or -1, and symmetric to the bit.
    """
    turns = [min(j, length - j) for j in range(length)]
    cosines = np.array([math.sin(math.pi * (length - 4 * j) / (2 * length)) for j in turns])
    halves = [min(2 * j, length - 2 * j) for j in turns]
    sines = np.array([math.sin(math.pi * j / length) for j in halves])
    sines[length // 2 + 1 :] *= -1
    even, odd = np.arange(length // 2 + 1), np.arange(1, (length + 1) // 2)
    return (
        cosines[even[:, None] * cycles % length],
        sines[odd[:, None] * cycles % length],
    )


def _fill_channel(
    columns: NDArray[np.float32], groups: list[_Group], out: NDArray[np.float32]
) -> None:
    even, odd = _even(columns), _odd(columns)
    for group in groups:
        by_cosine = _weighted(group.across_cosine, even)
        by_sine = None if group.across_sine is None else _weighted(group.across_sine, odd)
        # cos(down + across) = cos cos - sin sin, sin(down + across) = cos sin + sin cos
        pairs = {
            part: (
                _down(group.down_cosine, _even, by_cosine if part == "cosine" else by_sine),
                _down(group.down_sine, _odd, by_sine if part == "cosine" else by_cosine),
            )
            for part in group.parts
        }
        for wanted in group.wanted:
            if wanted.component == "magnitude":
                values, other = (_joined(part, *pairs[part], wanted) for part in ("cosine", "sine"))
                values *= values
                other *= other
                values += other
                np.sqrt(values, out=values)
            else:
                values = _joined(wanted.component, *pairs[wanted.component], wanted)
            out[wanted.rows] = values


def _even(lines: NDArray[np.float32]) -> NDArray[np.float32]:
    """Lines 0 .. n/2 of n plus their mirror images, for products with cosines."""
    n = len(lines)
    folded = lines[: n // 2 + 1].copy()
    paired = slice(1, (n + 1) // 2)  # lines 0 and n/2 are their own mirror images
    folded[paired] += lines[: n // 2 : -1]
    return folded


def _odd(lines: NDArray[np.float32]) -> NDArray[np.float32]:
    """Lines 1 .. below n/2 of n minus their mirror images, for products with sines."""
    n = len(lines)
    folded = lines[1 : (n + 1) // 2].copy()
    folded -= lines[: n // 2 : -1]
    return folded


def _weighted(weights: NDArray[np.float32], lines: NDArray[np.float32]) -> NDArray[np.float32]:
    """Sum over i of weights[i] * lines[i], broadcast, in this order.

    The order of a matrix product would depend on the sizes.
    """
    total: NDArray[np.float32] = np.multiply(weights[0], lines[0])
    product = np.empty_like(total)
    for weight, line in zip(weights[1:], lines[1:], strict=True):
        np.multiply(weight, line, out=product)
        total += product
    return total


def _down(
    weights: NDArray[np.float32],
    fold: Callable[[NDArray[np.float32]], NDArray[np.float32]],
    lines: NDArray[np.float32] | None,
) -> NDArray[np.float32] | None:
    """Weighted sums over folded rows, (waves, m); None if all of them are 0."""
    return None if lines is None or not len(weights) else _weighted(weights, fold(lines))


def _joined(
    part: str,
    cosine_down: NDArray[np.float32] | None,
    sine_down: NDArray[np.float32] | None,
    wanted: _Wanted,
) -> NDArray[np.float32]:
    """Cosine or sine part of each wanted wave from its two terms: (b, m), or (b, 1) if all 0."""
    if sine_down is None:
        if cosine_down is None:
            return np.zeros_like(wanted.signs)
        return cosine_down[wanted.waves]
    term: NDArray[np.float32] = sine_down[wanted.waves]
    term *= wanted.signs
    if cosine_down is None:
        return term
    values: NDArray[np.float32] = cosine_down[wanted.waves]
    return (np.subtract if part == "cosine" else np.add)(values, term, out=values)
