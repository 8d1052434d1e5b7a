"""Histograms of oriented gradients (HoG): orientations over 360 degrees, in random rectangles.

As `boostsample.families.images.gradient_histograms`, with its formula, cost and references, but
opposite gradients are different orientations, such as the left and the right edge of a dark stroke.
The number of orientations, which [DF11] sec. 5.1 leaves open, is that of the first author's
published extractor (github.com/idiap/mash: heuristics/cdubout/hog_v7), which also has a gamma
correction and divides a gradient among two orientations in another way. Log10 loss on MNIST (2,000
members, 300 stumps): -1.09, -1.27, -1.27, -1.24 and -1.18 for 4, 8, 12, 16 and 24 orientations.
"""

from __future__ import annotations

from typing import ClassVar

from boostsample.families.images.gradient_histograms import GradientHistograms


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
