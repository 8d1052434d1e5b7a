"""Sums of the intensities in random image patches.

Cost: four table entries per value, and two additions per pixel for each block of features, for a
summed-area table that extends to the last corner of the wanted patches; of bytes and few features,
an addition for each pixel of a patch. References: [DF11] sec.
5.1, which does not say how patches are drawn (here uniformly); F. Crow, Summed-area tables for
texture mapping, SIGGRAPH 1984; P. Viola and M. Jones, CVPR 2001.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from boostsample.families.images._rectangles import (
    RectangleFamily,
    corners_of,
    cumulate_rectangles,
    plan_rectangle_sums,
    rectangle_sums,
)
from boostsample.family import Fill


class PatchSums(RectangleFamily):
    """Sum of x[r, c] over a rectangle of rows and columns, in one channel.

    The members are drawn uniformly, without replacement, from all rectangles with sides within
    `min_side` .. `max_side`. They depend on the settings only, not on the version of NumPy; a
    larger family begins with the members of the smaller one of the same seed.

    Sums are float64, rounded once to float32; sums of bytes are exact up to 2^24.

    Parameters
    ----------
    image_shape : tuple of int, (h, w) or (h, w, channels)
    n_members : int or None
        Number of patches; None: all, ordered by rows, columns and channel.
    seed : int, default 0
        At least 0.
    min_side, max_side : int, optional
        Shortest and longest side in pixels. Default: 2 (1 in images of one row or column), no
        limit.
    name : str, default "patches"

    Examples
    --------
    >>> patches = PatchSums((3, 3), n_members=None)
    >>> patches.n_features, patches.feature_name(4)
    (9, 'patch sum of rows 0-2, columns 0-2')
    >>> patches.compute(np.arange(9).reshape(1, 3, 3), [0, 4]).tolist()
    [[8.0, 36.0]]
    """

    cost = 16.0
    reads_bytes = True

    def __init__(
        self,
        image_shape: tuple[int, ...],
        n_members: int | None,
        seed: int = 0,
        min_side: int | None = None,
        max_side: int | None = None,
        name: str = "patches",
    ) -> None:
        super().__init__(image_shape, n_members, seed, min_side, max_side, name, what="patches")

    def feature_name(self, feature: SupportsIndex) -> str:
        """Like "patch sum of rows 4-11, columns 6-13"."""
        place, channel, _ = self.member(self.check_feature(feature))
        return f"patch sum of {place}{self.in_channel(channel)}"

    def plan_integers(
        self, features: NDArray[np.intp], largest: int
    ) -> tuple[NDArray[np.intp], Fill] | None:
        """Sums of few patches, pixel by pixel."""
        *sides, channel, _ = self.members(features)
        rectangles = np.column_stack([*sides, channel, np.ones_like(channel)])
        shape = (self.height, self.width, self.n_channels)
        return plan_rectangle_sums(shape, np.arange(len(features) + 1), rectangles, largest)

    def plan(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], Fill]:
        """Reads all pixels above and left of the last corners; sums from summed-area tables."""
        members = self.members(features)
        height, width = int(members.bottom.max()), int(members.right.max())
        channels, plane = np.unique(members.channel, return_inverse=True)
        rows, columns = np.arange(height)[:, None], np.arange(width)
        places = (rows * self.width + columns) * self.n_channels
        pixels = (channels[:, None, None] + places).ravel()
        corners = corners_of(members, plane, height, width)
        exact = height * width * 255 < 2**24

        def fill(block: NDArray[Any], out: NDArray[np.float32]) -> None:
            # float32 is exact for sums of bytes below 2^24 and takes half the time.
            dtype = np.float32 if block.dtype == np.uint8 and exact else np.float64
            m = block.shape[1]
            tables = np.empty((len(channels), height + 1, width + 1, m), dtype)
            tables[:, 1:, 1:] = block.reshape(len(channels), height, width, m)
            cumulate_rectangles(tables)
            rectangle_sums(tables.reshape(-1, m), corners, out)

        return pixels, fill
