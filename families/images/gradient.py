"""Image gradient by forward differences: horizontal, vertical, and magnitude.

Cost: one subtraction per value, three more operations and a square root for the magnitude.
Reference: "Gradient image" of [DF11] sec. 5.1, which leaves the filter open. Forward differences
respond to single-pixel edges; central differences skip the pixel in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_choices
from boostsample.errors import SettingError
from boostsample.family import Fill, ImageFamily

_COMPONENTS = ("x", "y", "magnitude")


class Gradient(ImageFamily):
    """Forward differences of neighbouring pixels, per channel.

    - x, at h x (w-1) places: dx[r, c] = x[r, c+1] - x[r, c];
    - y, at (h-1) x w places: dy[r, c] = x[r+1, c] - x[r, c];
    - magnitude, at (h-1) x (w-1) places: sqrt(dx[r, c]^2 + dy[r, c]^2).

    Features are numbered by component, then row, column and channel. There is no padding. All
    components are invariant to a constant added to the image.

    Parameters
    ----------
    image_shape : tuple of int, (h, w) or (h, w, channels)
    components : sequence of str, default ("x", "y", "magnitude")
        Components, in this order.
    name : str, default "gradient"

    Examples
    --------
    >>> gradient = Gradient((2, 2))
    >>> [gradient.feature_name(j) for j in (1, 4)]
    ['gradient x at row 1, column 0', 'gradient magnitude at row 0, column 0']
    >>> gradient.compute([[[0, 3], [4, 0]]], range(5)).tolist()
    [[3.0, -4.0, 4.0, -3.0, 5.0]]
    """

    cost = 10.0

    def __init__(
        self,
        image_shape: tuple[int, ...],
        components: Sequence[str] = _COMPONENTS,
        name: str = "gradient",
    ) -> None:
        super().__init__(image_shape, name)
        self.components = check_choices("components", "gradient component", components, _COMPONENTS)
        sizes = [height * width * self.n_channels for height, width in self._sides()]
        self._first = np.cumsum([0, *sizes])
        self.n_features = int(self._first[-1])
        if self.n_features == 0:
            raise SettingError(
                f"the gradient {', '.join(self.components)} needs images of at least 2 pixels in "
                f"its directions, got image_shape {self.image_shape}"
            )

    def feature_name(self, feature: SupportsIndex) -> str:
        """Like "gradient x at row 3, column 7"."""
        index = np.array([self.check_feature(feature)])
        component, row, column, channel = (int(part[0]) for part in self._members(index))
        return f"gradient {self.components[component]} at {self.place(row, column, channel)}"

    def plan(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], Fill]:
        """Each place and its neighbours to the right and below; their differences."""
        component, row, column, channel = self._members(features)
        places = (row * self.width + column) * self.n_channels + channel
        right, below = places + self.n_channels, places + self.width * self.n_channels
        kind = np.array([_COMPONENTS.index(c) for c in self.components])[component]
        lengths = np.flatnonzero(kind == 2)
        ahead = np.where(kind == 1, below, right)
        pixels, members = np.unique(
            np.concatenate([places, ahead, below[lengths]]), return_inverse=True
        )
        n = len(features)
        places, ahead, below = members[:n], members[n : 2 * n], members[2 * n :]

        def fill(block: NDArray[np.float32], out: NDArray[np.float32]) -> None:
            np.subtract(block[ahead], block[places], out=out)
            if len(lengths):
                dx, dy = out[lengths], block[below]
                dy -= block[places[lengths]]
                dx *= dx
                dy *= dy
                dx += dy
                out[lengths] = np.sqrt(dx, out=dx)

        return pixels, fill

    def _sides(self) -> list[tuple[int, int]]:
        lost = {"x": (0, 1), "y": (1, 0), "magnitude": (1, 1)}
        pairs = [lost[component] for component in self.components]
        return [(self.height - rows, self.width - columns) for rows, columns in pairs]

    def _members(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], ...]:
        """Component (its position), row, column and channel of features, intp (q,) each."""
        component = np.searchsorted(self._first, features, side="right") - 1
        rest = features - self._first[component]
        widths = np.array([width for _, width in self._sides()])[component]
        rest, channel = np.divmod(rest, self.n_channels)
        row, column = np.divmod(rest, widths)
        return component, row, column, channel
