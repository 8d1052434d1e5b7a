"""Haar coefficients against PyWavelets, against plain loops, and as an orthonormal basis."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import pywt
from numpy.typing import NDArray

from boostsample.families import Haar


def by_pywt(images: NDArray[Any], levels: int) -> NDArray[np.float64]:
    """All coefficients of (n, h, w, c) images, in the order of the family."""
    with warnings.catch_warnings():  # "Level value of 5 is too high": what padding is for
        warnings.simplefilter("ignore")
        coarsest, *details = pywt.wavedec2(
            images.astype(np.float64), "haar", mode="zero", level=levels, axes=(1, 2)
        )
    arrays = [coarsest, *(array for level in details for array in level)]
    return np.hstack([array.reshape(len(images), -1) for array in arrays])


SIGNS = {
    "approximation": [[1, 1], [1, 1]],
    "horizontal": [[1, 1], [-1, -1]],
    "vertical": [[1, -1], [1, -1]],
    "diagonal": [[1, -1], [-1, 1]],
}


def naive_haar(image: NDArray[Any], levels: int) -> list[float]:
    """All coefficients of one (h, w) image, by loops over the padded image."""
    height, width = image.shape
    full = 2**levels
    padded = np.zeros((-(-height // full) * full, -(-width // full) * full))
    padded[:height, :width] = image
    values = []
    for level, kind in [
        (levels, "approximation"),
        *((lv, k) for lv in range(levels, 0, -1) for k in ("horizontal", "vertical", "diagonal")),
    ]:
        side = 2**level
        pattern = np.kron(SIGNS[kind], np.ones((side // 2, side // 2))) / side
        for r in range(0, height, side):
            for c in range(0, width, side):
                values.append(float((padded[r : r + side, c : c + side] * pattern).sum()))
    return values


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("shape", [(8, 8, 1), (28, 28, 1), (16, 16, 3), (7, 5, 2), (9, 16, 1)])
def test_equals_pywavelets(shape: tuple[int, ...], dtype: Any) -> None:
    images = np.random.default_rng(0).uniform(0, 255, (7, *shape)).astype(dtype)
    for levels in range(1, Haar(shape).levels + 1):
        family = Haar(shape, levels)
        want = by_pywt(images, levels)
        assert want.shape[1] == family.n_features
        values = family.compute(images, range(family.n_features))
        largest = by_pywt(np.abs(images), levels).max()
        np.testing.assert_allclose(values, want, rtol=0, atol=2e-7 * largest)


@pytest.mark.parametrize("shape", [(8, 8), (5, 7), (2, 9), (1, 4), (1, 1)])
def test_equals_its_naive_twin(shape: tuple[int, int]) -> None:
    images = np.random.default_rng(1).integers(0, 256, (3, *shape), dtype=np.uint8)
    for levels in range(1, max(1, (max(shape) - 1).bit_length()) + 1):
        family = Haar(shape, levels)
        values = family.compute(images, range(family.n_features))
        # Bytes are summed exactly, and scaled by a power of two.
        assert values.tolist() == [naive_haar(image, levels) for image in images]


def test_names() -> None:
    family = Haar((28, 28))
    assert [family.feature_name(j) for j in (0, 3, 4, 210, 211, 798)] == [
        "Haar level 5 approximation of rows 0-27, columns 0-27",
        "Haar level 5 diagonal detail of rows 0-27, columns 0-27",
        "Haar level 4 horizontal detail of rows 0-15, columns 0-15",
        "Haar level 2 diagonal detail of rows 24-27, columns 24-27",
        "Haar level 1 horizontal detail of rows 0-1, columns 0-1",
        "Haar level 1 diagonal detail of rows 26-27, columns 26-27",
    ]
    assert Haar((2, 2, 3)).feature_name(5).endswith("columns 0-1, channel 2")


def test_default_levels() -> None:
    shapes = [(28, 28), (8, 8), (4, 64), (1, 8), (33, 40), (1, 1)]
    assert [Haar(shape).levels for shape in shapes] == [5, 3, 2, 1, 6, 1]
