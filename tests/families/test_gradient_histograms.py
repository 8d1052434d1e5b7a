"""Both families of gradient histograms against plain loops, scikit-image and their symmetries."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.families import GradientHistograms, OrientedGradients

KINDS = [GradientHistograms, OrientedGradients]
NAME = re.compile(
    r"gradients (?:along|towards) ([\d.]+) degrees in rows (\d+)-(\d+), columns (\d+)-(\d+)"
    r"(?:, channel (\d+))?"
)
TOLERANCE = 2e-3
"""Of the gradients' lengths: directions are rounded to 1/1024."""


def member(family: GradientHistograms, feature: int) -> tuple[int, ...]:
    """Orientation, top, bottom, left, right (included) and channel, from the name."""
    match = NAME.fullmatch(family.feature_name(feature))
    assert match
    step = family.degrees / family.n_orientations
    return round(float(match[1]) / step), *(int(group or 0) for group in match.groups()[1:])


def members(family: GradientHistograms) -> list[tuple[int, ...]]:
    return [member(family, feature) for feature in range(family.n_features)]


def values(family: GradientHistograms, images: NDArray[Any]) -> NDArray[np.float32]:
    return family.compute(images, range(family.n_features))


def naive_gradient(plane: NDArray[Any], r: int, c: int) -> tuple[float, float]:
    """Central differences of a (h, w) image, 0 at its borders."""
    height, width = plane.shape
    dx = float(plane[r, c + 1]) - float(plane[r, c - 1]) if 0 < c < width - 1 else 0.0
    dy = float(plane[r + 1, c]) - float(plane[r - 1, c]) if 0 < r < height - 1 else 0.0
    return dx, dy


def naive_votes(dx: float, dy: float, n: int, degrees: int) -> NDArray[np.float64]:
    """Components of a gradient along the two nearest of n directions, from its angle."""
    votes = np.zeros(n)
    step = math.radians(degrees / n)
    before, rest = divmod(math.atan2(dy, dx) % math.radians(degrees), step)
    length = math.hypot(dx, dy) / math.sin(step)
    votes[int(before) % n] += length * math.sin(step - rest)
    votes[(int(before) + 1) % n] += length * math.sin(rest)
    return votes


def naive_values(
    family: GradientHistograms, images: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums of votes, (n, features), of (n, h, w, c) images, and of the gradients' lengths."""
    sums, lengths = np.zeros((2, len(images), family.n_features))
    for feature, (k, top, bottom, left, right, channel) in enumerate(members(family)):
        for i, image in enumerate(images):
            for r in range(top, bottom + 1):
                for c in range(left, right + 1):
                    g = naive_gradient(image[..., channel], r, c)
                    sums[i, feature] += naive_votes(*g, family.n_orientations, family.degrees)[k]
                    lengths[i, feature] += math.hypot(*g)
    return sums, lengths


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("shape", [(6, 5, 2), (1, 9, 1), (5, 2, 1)])
@pytest.mark.parametrize("n", [4, 5, 12])
@pytest.mark.parametrize("kind", KINDS)
def test_equals_its_naive_twin(
    kind: type[GradientHistograms], n: int, shape: tuple[int, ...], dtype: Any
) -> None:
    images = np.random.default_rng(0).uniform(0, 255, (3, *shape)).astype(dtype)
    family, shares = (kind(shape, 40, n_orientations=n, normalise=share) for share in (False, True))
    sums, lengths = naive_values(family, images)
    assert (np.abs(values(family, images) - sums) <= TOLERANCE * lengths).all()
    want = sums / np.where(lengths > 0, lengths, 1)
    np.testing.assert_allclose(values(shares, images), want, rtol=0, atol=TOLERANCE)
    assert members(shares) == members(family)


def test_equals_scikit_image() -> None:
    """Its fine histograms, of gradients that vote for one bin only, with our votes applied."""
    feature = pytest.importorskip("skimage.feature", reason="scikit-image is not installed")
    images = np.random.default_rng(1).integers(0, 256, (4, 16, 24), dtype=np.uint8)
    fine, n = 720, 6
    family = GradientHistograms(
        (16, 24), None, n_orientations=n, normalise=True, min_side=8, max_side=8
    )
    ours = values(family, images)
    # Votes of a unit gradient in the middle of each of its bins; it counts angles as we do.
    angles = np.radians((np.arange(fine) + 0.5) * 180 / fine)
    votes = np.array([naive_votes(math.cos(a), math.sin(a), n, 180) for a in angles])
    checked = 0
    for i, image in enumerate(images):
        theirs = feature.hog(
            image,
            orientations=fine,
            pixels_per_cell=(8, 8),
            cells_per_block=(1, 1),
            block_norm="L1",
            feature_vector=False,
        )
        for j, (k, top, _, left, _, _) in enumerate(members(family)):
            if top % 8 == left % 8 == 0:
                share = theirs[top // 8, left // 8, 0, 0] @ votes[:, k]
                assert ours[i, j] == pytest.approx(share, abs=2 * TOLERANCE)
                checked += 1
    assert checked == 4 * 2 * 3 * n


@pytest.mark.parametrize("kind", KINDS)
def test_a_gradient_in_a_direction_of_the_histogram(kind: type[GradientHistograms]) -> None:
    """It votes for that alone, with its length, in whole numbers."""
    for dx, dy, degrees in [(8, 0, 0), (-8, 0, 180), (0, 8, 90), (0, -8, 270), (6, 6, 45)]:
        image = np.zeros((1, 3, 3))
        image[0, 1, 2], image[0, 2, 1] = dx, dy
        family = kind((3, 3), None, n_orientations=kind.degrees // 45, min_side=1)
        got = values(family, image)[0]
        for feature, (k, top, bottom, left, right, _) in enumerate(members(family)):
            if (top, bottom, left, right) == (1, 1, 1, 1):
                right_one = 45 * k == degrees % kind.degrees
                want = math.hypot(dx, dy) if right_one else 0.0
                assert got[feature] == pytest.approx(want, rel=1e-3, abs=0)


@pytest.mark.parametrize("kind", KINDS)
def test_votes_add_up_to_little_more_than_the_length(kind: type[GradientHistograms]) -> None:
    images = np.random.default_rng(2).normal(size=(5, 6, 6))
    family = kind((6, 6), None, n_orientations=kind.degrees // 30, normalise=True)
    shares = values(family, images).reshape(5, -1, family.n_orientations).sum(axis=-1)
    assert shares.min() > 0.999
    assert shares.max() < 1.037  # 1 / cos(15 degrees), and rounded directions


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_turned_image_has_turned_histograms(
    kind: type[GradientHistograms], normalise: bool
) -> None:
    """A quarter turn sends 0 degrees (right) to 90 (down), and the first row to the last column."""
    images = np.random.default_rng(3).integers(0, 256, (4, 5, 5), dtype=np.uint8)
    n = kind.degrees // 30
    family = kind((5, 5), None, normalise=normalise)
    before = values(family, images)
    after = values(family, np.ascontiguousarray(np.rot90(images, -1, axes=(1, 2))))
    index = {place: j for j, place in enumerate(members(family))}
    for (k, top, bottom, left, right, channel), j in index.items():
        turned = ((k + 3) % n, left, right, 4 - bottom, 4 - top, channel)
        np.testing.assert_allclose(after[:, index[turned]], before[:, j], rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_brightness_and_contrast(kind: type[GradientHistograms]) -> None:
    images = np.random.default_rng(4).integers(0, 60, (4, 7, 6)).astype(np.float32)
    sums, shares = kind((7, 6), 90), kind((7, 6), 90, normalise=True)
    for family in (sums, shares):
        np.testing.assert_array_equal(values(family, images + 99), values(family, images))
        assert not values(family, np.full((1, 7, 6), 8.5)).any()
    np.testing.assert_array_equal(values(sums, images * 4), values(sums, images) * 4)
    np.testing.assert_array_equal(values(shares, images * 4), values(shares, images))
    np.testing.assert_allclose(
        values(shares, images / 3), values(shares, images), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_are_summed_exactly(kind: type[GradientHistograms]) -> None:
    """In any order: those of the image turned by 180 degrees are the same."""
    images = np.random.default_rng(5).integers(0, 256, (3, 30, 32), dtype=np.uint8)
    family = kind((30, 32), None, n_orientations=12, min_side=28)
    turned = values(family, np.ascontiguousarray(images[:, ::-1, ::-1]))
    half = 6 if kind is OrientedGradients else 0
    before = values(family, images)
    index = {place: j for j, place in enumerate(members(family))}
    for (k, top, bottom, left, right, channel), j in index.items():
        there = ((k + half) % 12, 29 - bottom, 29 - top, 31 - right, 31 - left, channel)
        np.testing.assert_array_equal(turned[:, index[there]], before[:, j])


@pytest.mark.parametrize("kind", KINDS)
def test_just_the_pixels_that_count_are_read(kind: type[GradientHistograms]) -> None:
    """Up to the neighbours below and to the right: alone, features are what they are together."""
    images = np.random.default_rng(6).normal(size=(3, 6, 7, 2))
    family = kind((6, 7, 2), 100)
    together = values(family, images)
    for feature, (_, _, bottom, _, right, channel) in enumerate(members(family)):
        beyond = images.copy()
        beyond[:, bottom + 2 :] = beyond[:, :, right + 2 :] = beyond[..., 1 - channel] = np.nan
        alone = family.compute(beyond, [feature])
        np.testing.assert_array_equal(alone[:, 0], together[:, feature])


@pytest.mark.parametrize("kind", KINDS)
def test_members_are_different_and_begin_alike(kind: type[GradientHistograms]) -> None:
    small, large = kind((8, 9, 3), 300, seed=3), kind((8, 9, 3), 900, seed=3)
    assert members(small) == members(large)[:300]
    assert len(set(members(large))) == 900
    assert {place[0] for place in members(large)} == set(range(small.n_orientations))
    assert {place[-1] for place in members(large)} == {0, 1, 2}
    assert small != kind((8, 9, 3), 300, seed=4)


def test_the_finest_histograms_have_names_of_their_own() -> None:
    family = GradientHistograms((3, 3), None, n_orientations=179, min_side=3)
    assert len({family.feature_name(j) for j in range(179)}) == 179


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
