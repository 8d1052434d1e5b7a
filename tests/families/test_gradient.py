"""Identity and gradient against plain loops and NumPy's own differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.families import Gradient, Identity


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
