"""Identity, gradient and histograms against plain loops, NumPy, scikit-image and symmetries."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.families import Gradient, GradientHistograms, Identity, OrientedGradients


def naive_gradient(image: NDArray[Any]) -> dict[str, np.float32]:
    """Values by name, from the definition, for one (h, w, c) image."""
    values = {}
    height, width, channels = image.shape
    for r in range(height):
        for c in range(width):
            for k in range(channels):
                end = f" at row {r}, column {c}, channel {k}"
                here = np.float32(image[r, c, k])
                dx = np.float32(image[r, c + 1, k]) - here if c + 1 < width else None
                dy = np.float32(image[r + 1, c, k]) - here if r + 1 < height else None
                if dx is not None:
                    values["gradient x" + end] = dx
                if dy is not None:
                    values["gradient y" + end] = dy
                if dx is not None and dy is not None:
                    values["gradient magnitude" + end] = np.sqrt(dx * dx + dy * dy)
    return values


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("shape", [(4, 6, 3), (5, 2, 1), (1, 3, 2), (3, 1, 1)])
def test_gradient_equals_its_naive_twin(shape: tuple[int, ...], dtype: Any) -> None:
    images = np.random.default_rng(0).uniform(0, 255, (6, *shape)).astype(dtype)
    family = Gradient(shape)
    values = family.compute(images, range(family.n_features))
    for image, row in zip(images, values, strict=True):
        want = naive_gradient(image)
        assert {family.feature_name(j): row[j] for j in range(family.n_features)} == want


def test_components_choose_and_order() -> None:
    whole, part = Gradient((4, 3)), Gradient((4, 3), ["magnitude", "x"])
    names = [whole.feature_name(j) for j in range(whole.n_features)]
    chosen = [part.feature_name(j) for j in range(part.n_features)]
    assert chosen == names[-6:] + names[:8]
    assert Gradient((4, 3), "y").components == ("y",)


@pytest.mark.parametrize("shape", [(3, 4), (3, 4, 2)])
def test_identity_is_the_flat_image(shape: tuple[int, ...]) -> None:
    images = np.random.default_rng(3).integers(0, 256, (5, *shape), dtype=np.uint8)
    family = Identity(shape)
    features = np.arange(family.n_features)
    np.testing.assert_array_equal(family.compute(images, features), images.reshape(5, -1))
    for feature in features:
        place = [int(i) for i in np.unravel_index(feature, shape)]
        words = ("row {}, column {}", "row {}, column {}, channel {}")[len(shape) - 2]
        assert family.feature_name(feature) == "pixel at " + words.format(*place)


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


def naive_pixel_gradient(plane: NDArray[Any], r: int, c: int) -> tuple[float, float]:
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
                    g = naive_pixel_gradient(image[..., channel], r, c)
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


def test_names_and_defaults() -> None:
    family = OrientedGradients((3, 4, 2), None, min_side=3)
    assert family.name == "hog"
    assert family.n_features == 3 * 2 * 12
    assert family.feature_name(13) == (
        "gradients towards 30 degrees in rows 0-2, columns 0-2, channel 1"
    )
    assert family != GradientHistograms((3, 4, 2), None, min_side=3, n_orientations=12)


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
