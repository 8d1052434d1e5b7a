"""Two-dimensional discrete Fourier transform: cosine and sine parts, and magnitudes.

Cost: 15 to 25 ns per value for many features of 28x28 images, 450 ns for a single one, which reads
all pixels. The image is folded at its middle column and multiplied with the cosines and sines of
each wanted frequency across; the result is folded at the middle row and multiplied with those of
each frequency down. The order of operations is fixed, so that no value depends on the other
features. A fast transform does less arithmetic, but computes all coefficients; the tests compare
with scipy.fft.

Reference: "Fourier transform" of [DF11] sec. 5.1, which leaves open which real numbers are features
and how 28x28 images are padded (here not at all). Cosine and sine parts are linear in the image and
form a basis; magnitudes add what stumps cannot form from them, and are invariant to circular
shifts. Phases are left out, because where to cut the circle is arbitrary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_choices
from boostsample.errors import SettingError
from boostsample.family import Fill, ImageFamily

_COMPONENTS = ("cosine", "sine", "magnitude")


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

    cost = 75.0

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

    def plan_integers(
        self, features: NDArray[np.intp], largest: int
    ) -> tuple[NDArray[np.intp], Fill] | None:
        """As `plan`: the kernel takes any integers, as float32."""
        return self.plan(features)

    def plan(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], Fill]:
        """All pixels of the wanted channels; sums over columns, then over rows."""
        # Imported here, because the kernels import numba.
        from boostsample.kernels.images import FourierGroups, fourier_coefficients

        down, across, component, channel = self._members(features)
        channels, plane = np.unique(channel, return_inverse=True)
        places = np.arange(self.height * self.width) * self.n_channels
        pixels = (channels[:, None] + places).ravel()
        group = plane * self.width + across
        order = np.argsort(group, kind="stable")
        of_groups, first = np.unique(group[order], return_index=True)
        plane_of, cycles = np.divmod(of_groups, self.width)
        single = _is_single(cycles, self.width)
        downs = down[order]
        is_own_mirror = single[np.searchsorted(of_groups, group[order])]
        is_own_mirror &= _is_single(downs, self.height)
        scale = np.sqrt((2 - is_own_mirror) / (self.height * self.width))
        across_cosine, across_sine = _by_wave(1.0, _weights(self.width, cycles))
        down_cosine, down_sine = _by_wave(scale, _weights(self.height, np.abs(downs)))
        kinds = np.array([_COMPONENTS.index(part) for part in self.components])
        groups = FourierGroups(
            plane_of,
            across_cosine,
            across_sine,
            ~single,
            np.append(first, len(order)),
            down_cosine,
            down_sine,
            kinds[component[order]],
            np.where(downs < 0, np.float32(-1), np.float32(1)),
            order,
        )

        def fill(block: NDArray[Any], out: NDArray[np.float32]) -> None:
            values = np.empty(out.shape, np.float32)  # the kernel needs C-contiguous memory
            fourier_coefficients(block, self.height, self.width, groups, values)
            out[:] = values

        return pixels, fill

    def _members(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], ...]:
        """Cycles down and across, component (its position) and channel of features: (q,) each."""
        channel, rest = np.divmod(features, self._features.shape[1])
        return *self._features[:, rest], channel


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
    """Cosines at lines 0 .. n/2, sines at lines 1 .. below n/2: (lines, cycles).

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


def _by_wave(
    scale: Any, weights: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> list[NDArray[np.float32]]:
    """Scaled cosines and sines, float32 (waves, lines), C-contiguous."""
    return [np.ascontiguousarray((scale * part).T, np.float32) for part in weights]
