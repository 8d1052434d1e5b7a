"""Histograms of gradient orientations over 180 or 360 degrees, in random rectangles.

"Histograms of (oriented and non oriented) gradients at different locations" [DF11 sec. 5.1] are
implemented as orientations over 360 degrees (`OrientedGradients`, HoG) and over 180 degrees, where
opposite gradients are equivalent (`GradientHistograms`). The first author has published both, in
random rectangles (github.com/idiap/mash: heuristics/cdubout/hog_v7 and hog_normalized_v3).
Histograms of gradient magnitudes, another reading, are worse: log10 loss on MNIST after 300 stumps
(`uniform-naive`, 1,000 members, uniform weights) -1.23 for 6 orientations over 180 degrees, -1.26
for 12 over 360, -0.74 to -0.78 for magnitudes in 4 or 8 equal steps or 8 octaves; -0.88 for patch
sums, -0.71 for pixels.

Over 360 degrees, opposite gradients are different orientations, such as the left and the right edge
of a dark stroke. The number of orientations, which [DF11] leaves open, is that of the first
author's extractor hog_v7, which also has a gamma correction and divides a gradient among two
orientations in another way. Log10 loss on MNIST (2,000 members, 300 stumps): -1.09, -1.27, -1.27,
-1.24 and -1.18 for 4, 8, 12, 16 and 24 orientations.

With u(a) the unit vector at angle a, orientation k of n has the angle a_k = 180 k / n degrees. Each
gradient votes for the two orientations nearest to it with its components along them: for a_k, with

    vote_k(g) = max(0, min(u(a_(k-1)) x g, g x u(a_(k+1)))) / sin(180 / n degrees),

or vote_k(-g) if that is larger; a x b = a_x b_y - a_y b_x. The feature is the sum of vote_k over a
rectangle. Unlike the weights of Dalal and Triggs, these votes need no angles; their sum is between
|g| and 1.035 |g| for n = 6. Votes for the nearest orientation only were worse by 0.05 in the same
loss.

Cost: four table entries per value, and about 15 operations per pixel for each orientation in a
block of features; together 17 ns per value in blocks of 200 features of 28 x 28 images, 28 ns with
12 orientations.

References: N. Dalal and B. Triggs, Histograms of oriented gradients for human detection, CVPR 2005;
K. Levi and Y. Weiss, Learning object detection from a small number of examples: the importance of
good features, CVPR 2004 (any rectangle, by a summed-area table for each orientation); S. Winder and
M. Brown, Learning local image descriptors, CVPR 2007 (such votes, for four orientations). [DF11]
leaves open the filter, the number of orientations, how locations are drawn and whether sums are
normalised: with `normalise`, the loss is -1.27 over 360 degrees but -1.20 over 180, and worse by
0.01 and 0.02 on CIFAR-10.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_flag, check_integer
from boostsample.errors import SettingError
from boostsample.families.images._rectangles import (
    RectangleFamily,
    corners_of,
    rectangle_pixels,
)
from boostsample.family import Fill, check_image_shape

_DIRECT = 3.5
"""Votes are summed without tables if all rectangles together hold at most this many times the
pixels of all tables."""

_UNIT = 1024
"""Votes are multiples of 1/1024, with directions rounded accordingly, so that sums over byte images
are exact and 0 in a rectangle without gradients."""


class GradientHistograms(RectangleFamily):
    """Bins of histograms of gradient orientations over 180 degrees, per channel.

    A member is a rectangle, a channel and an orientation. Gradients are central differences,
    (x[r, c+1] - x[r, c-1], x[r+1, c] - x[r-1, c]), and 0 in a direction in which a pixel is the
    first or last one. At 0 degrees the image changes along its rows, at 90 along its columns.

    Members are drawn uniformly, without replacement, from all combinations of rectangle, channel
    and orientation. They depend on the settings only, not on the version of NumPy; a larger family
    begins with the members of the smaller one of the same seed.

    Values are invariant to a constant added to the image. Sums are float64, rounded once to
    float32, and exact for bytes. Sums below 2^-40 of the sum over all pixels above and left of the
    rectangle's last corner are rounding noise and set to 0.

    Parameters
    ----------
    image_shape : tuple of int, (h, w) or (h, w, channels)
        At least 3 pixels high or wide.
    n_members : int or None
        Number of members; None: all, ordered by rows, columns, channel and orientation.
    seed : int, default 0
        At least 0.
    n_orientations : int, default 6
        Bins over 180 degrees, 2 to 180.
    normalise : bool, default False
        Whether sums are divided by the sum of the gradients' magnitudes in the rectangle (0 if that
        is 0), which makes them invariant to a positive factor.
    min_side, max_side : int, optional
        Shortest and longest side in pixels. Default: 2 (1 in images of one row or column), no
        limit.
    name : str, default "gradient-histograms"

    Examples
    --------
    >>> histograms = GradientHistograms((3, 3), n_members=None, n_orientations=2)
    >>> histograms.n_features, histograms.feature_name(9)
    (18, 'gradients along 90 degrees in rows 0-2, columns 0-2')
    >>> image = [[0, 0, 0], [2, 5, 8], [3, 3, 3]]
    >>> histograms.compute([image], [8, 9]).tolist()
    [[6.0, 9.0]]
    """

    cost = 40.0
    degrees: ClassVar[int] = 180
    """Range of the orientations: 180 if opposite gradients are equivalent, else 360."""

    def __init__(
        self,
        image_shape: tuple[int, ...],
        n_members: int | None,
        seed: int = 0,
        n_orientations: int = 6,
        normalise: bool = False,
        min_side: int | None = None,
        max_side: int | None = None,
        name: str = "gradient-histograms",
    ) -> None:
        if max(check_image_shape(image_shape)[:2]) < 3:
            raise SettingError(
                "gradient histograms need images that are at least 3 pixels high or wide, "
                f"got image_shape {image_shape}; leave the family out"
            )
        # Votes for directions more than 90 degrees apart do not overlap.
        self.n_orientations = check_integer(
            "n_orientations", n_orientations, self.degrees // 90, self.degrees
        )
        self.normalise = check_flag("normalise", normalise)
        super().__init__(
            image_shape,
            n_members,
            seed,
            min_side,
            max_side,
            name,
            what="histogram bins of rectangles",
            n_kinds=self.n_orientations,
        )
        self._edges = _sectors(self.n_orientations, self.degrees)

    def feature_name(self, feature: SupportsIndex) -> str:
        """Like "gradients along 90 degrees in rows 4-11, columns 6-13"."""
        place, channel, orientation = self.member(self.check_feature(feature))
        angle = self.degrees * orientation / self.n_orientations
        towards = "along" if self.degrees == 180 else "towards"
        return f"gradients {towards} {angle:g} degrees in {place}{self.in_channel(channel)}"

    def plan_integers(
        self, features: NDArray[np.intp], largest: int
    ) -> tuple[NDArray[np.intp], Fill] | None:
        """Votes of the pixels of few rectangles, without tables."""
        # Imported here, because the kernels import numba.
        from boostsample.kernels.images import sum_gradient_votes

        top, bottom, left, right, channel, orientation = self.members(features)
        areas = (bottom - top) * (right - left)
        edges = self._edges[orientation].astype(np.float32)
        products = 2 * largest * float(np.abs(self._edges).max())
        votes = 1.5 * largest * _UNIT * int(areas.max())  # a vote is at most the gradient
        if self.normalise or products >= 2**24 or votes >= 2**31:
            return None
        read = [np.maximum(top - 1, 0), np.minimum(bottom + 1, self.height)]
        read += [np.maximum(left - 1, 0), np.minimum(right + 1, self.width)]
        shape = (self.height, self.width, self.n_channels)
        pixels, at = rectangle_pixels(shape, np.column_stack([*read, channel]))
        n_tables = len(np.unique(channel * self.n_orientations + orientation))
        if areas.sum() > _DIRECT * n_tables * self.height * self.width:
            return None
        rectangles = np.column_stack([top, bottom, left, right, channel])
        folded = np.float32(self.degrees == 180)

        def fill(block: NDArray[Any], out: NDArray[np.float32]) -> None:
            sums, values = np.empty((1, block.shape[1]), np.int32), np.empty(out.shape, np.float32)
            sum_gradient_votes(block, at, rectangles, edges, folded, 1 / _UNIT, sums, values)
            out[:] = values

        return pixels, fill

    def plan(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], Fill]:
        """All pixels up to the one after the rectangles' last corners; a table an orientation."""
        # Imported here, because the kernels import numba.
        from boostsample.kernels.images import gradient_sums

        members = self.members(features)
        height, width = int(members.bottom.max()), int(members.right.max())
        n_rows, n_columns = min(height + 1, self.height), min(width + 1, self.width)
        channels, plane = np.unique(members.channel, return_inverse=True)
        places = np.arange(n_rows)[:, None] * self.width + np.arange(n_columns)
        pixels = (channels[:, None, None] + places * self.n_channels).ravel()
        # Features of one plane and orientation share a table.
        group = plane * self.n_orientations + members.kind
        order = np.argsort(group, kind="stable")
        groups, first = np.unique(group[order], return_index=True)
        planes, orientations = np.divmod(groups, self.n_orientations)
        corners = corners_of(members, 0, height, width)
        arguments = (
            (n_rows, n_columns),
            (height, width),
            planes,
            self._edges[orientations],
            1.0 if self.degrees == 180 else 0.0,
            1 / _UNIT,
            self.normalise,
            np.append(first, len(order)),
            corners[:, order].T.copy(),
            order,
        )

        def fill(block: NDArray[Any], out: NDArray[np.float32]) -> None:
            values = np.empty(out.shape, np.float32)  # the kernel needs C-contiguous memory
            gradient_sums(block, *arguments, values)
            out[:] = values

        return pixels, fill


class OrientedGradients(GradientHistograms):
    """Bins of histograms of gradient orientations over the full circle, per channel.

    At 0 degrees the image becomes brighter from left to right, at 90 from top to bottom, at 180
    from right to left. The bins of a rectangle at two opposite angles add up to its bin over 180
    degrees.

    Parameters
    ----------
    image_shape, n_members, seed, normalise, min_side, max_side
        See `GradientHistograms`.
    n_orientations : int, default 12
        Bins over 360 degrees, 4 to 360.
    name : str, default "hog"

    Examples
    --------
    >>> hog = OrientedGradients((3, 3), n_members=None, n_orientations=4)
    >>> hog.n_features, hog.feature_name(19)
    (36, 'gradients towards 270 degrees in rows 0-2, columns 0-2')
    >>> image = [[0, 0, 0], [2, 5, 8], [3, 3, 3]]
    >>> hog.compute([image], range(16, 20)).tolist()
    [[6.0, 9.0, 0.0, 0.0]]
    """

    degrees: ClassVar[int] = 360

    def __init__(
        self,
        image_shape: tuple[int, ...],
        n_members: int | None,
        seed: int = 0,
        n_orientations: int = 12,
        normalise: bool = False,
        min_side: int | None = None,
        max_side: int | None = None,
        name: str = "hog",
    ) -> None:
        super().__init__(
            image_shape, n_members, seed, n_orientations, normalise, min_side, max_side, name
        )


def _sectors(n: int, degrees: int) -> NDArray[np.float64]:
    """Directions between which gradients vote for each orientation: (n, 4), x and y of both.

    Integers, scaled so that a gradient votes _UNIT times its magnitude for its orientation.
    """
    step = math.radians(degrees / n)
    scale = _UNIT / math.sin(step)

    def direction(k: int) -> tuple[int, int]:
        return round(scale * math.cos(k * step)), round(scale * math.sin(k * step))

    return np.array([direction(k - 1) + direction(k + 1) for k in range(n)], np.float64)
