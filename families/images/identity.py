"""Pixel values as features, "Identity" of [DF11] sec. 5.1. Cost: one copy per value."""

from __future__ import annotations

from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

from boostsample.family import Fill, ImageFamily


class Identity(ImageFamily):
    """Pixel values, all channels: feature (r * w + c) * n_channels + k is x[r, c, k].

    Parameters
    ----------
    image_shape : tuple of int, (h, w) or (h, w, channels)
    name : str, default "identity"

    Examples
    --------
    >>> pixels = Identity((2, 3))
    >>> pixels.feature_name(4)
    'pixel at row 1, column 1'
    >>> pixels.compute(np.arange(12).reshape(2, 2, 3), [4, 0]).tolist()
    [[4.0, 0.0], [10.0, 6.0]]
    """

    cost = 7.0

    def __init__(self, image_shape: tuple[int, ...], name: str = "identity") -> None:
        super().__init__(image_shape, name)
        self.n_features = self.height * self.width * self.n_channels

    def feature_name(self, feature: SupportsIndex) -> str:
        """Like "pixel at row 3, column 7"."""
        row, rest = divmod(self.check_feature(feature), self.width * self.n_channels)
        return f"pixel at {self.place(row, *divmod(rest, self.n_channels))}"

    def plan(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], Fill]:
        """Reads each wanted pixel once and copies it."""
        pixels, members = np.unique(features, return_inverse=True)

        def fill(block: NDArray[np.float32], out: NDArray[np.float32]) -> None:
            out[:] = block[members]

        return pixels, fill
