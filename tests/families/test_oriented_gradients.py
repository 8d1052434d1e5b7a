"""What sets histograms over 360 degrees apart; the rest stands in test_gradient_histograms.py."""

from __future__ import annotations

import numpy as np

from boostsample.families import GradientHistograms, OrientedGradients


def test_opposite_orientations_together_are_those_of_180_degrees() -> None:
    images = np.random.default_rng(0).integers(0, 256, (5, 7, 6, 2), dtype=np.uint8)
    whole, half = OrientedGradients((7, 6, 2), None), GradientHistograms((7, 6, 2), None)
    assert (whole.n_orientations, half.n_orientations) == (12, 6)
    oriented = whole.compute(images, range(whole.n_features)).reshape(5, -1, 2, 6)
    folded = half.compute(images, range(half.n_features)).reshape(5, -1, 6)
    np.testing.assert_array_equal(oriented.sum(axis=2), folded)
    assert (oriented.min(axis=2) > 0).any()


def test_a_negative_has_opposite_gradients() -> None:
    images = np.random.default_rng(1).integers(0, 256, (5, 6, 6), dtype=np.uint8)
    for family, shift in (
        (OrientedGradients((6, 6), None), 6),
        (GradientHistograms((6, 6), None), 0),
    ):
        n = family.n_orientations
        values = family.compute(images, range(family.n_features)).reshape(5, -1, n)
        negative = family.compute(255 - images, range(family.n_features)).reshape(5, -1, n)
        np.testing.assert_array_equal(np.roll(negative, shift, axis=-1), values)


def test_four_orientations_are_rectified_differences() -> None:
    images = np.random.default_rng(2).integers(0, 256, (6, 5, 5), dtype=np.uint8).astype(int)
    family = OrientedGradients((5, 5), None, n_orientations=4, min_side=5)
    dx, dy = np.zeros((2, 6, 5, 5), int)
    dx[:, :, 1:-1] = images[:, :, 2:] - images[:, :, :-2]
    dy[:, 1:-1] = images[:, 2:] - images[:, :-2]
    want = [part.clip(0).sum(axis=(1, 2)) for part in (dx, dy, -dx, -dy)]
    np.testing.assert_array_equal(family.compute(images, range(4)), np.array(want).T)


def test_names_and_defaults() -> None:
    family = OrientedGradients((3, 4, 2), None, min_side=3)
    assert family.name == "hog"
    assert family.n_features == 3 * 2 * 12
    assert family.feature_name(13) == (
        "gradients towards 30 degrees in rows 0-2, columns 0-2, channel 1"
    )
    assert family != GradientHistograms((3, 4, 2), None, min_side=3, n_orientations=12)
