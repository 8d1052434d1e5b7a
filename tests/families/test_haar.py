"""Haar coefficients against PyWavelets, Haar-like features and patch sums against plain loops."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
import pywt
from numpy.typing import NDArray

from boostsample.families import Haar, HaarLike, PatchSums


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


NAME = re.compile(
    r"(?:Haar-like )?(\w+(?: \w+)?) of rows (\d+)-(\d+), columns (\d+)-(\d+)(?:, channel (\d+))?"
)
PATTERNS = {
    "two across": [[1, -1]],
    "two down": [[1], [-1]],
    "three across": [[1, -2, 1]],
    "three down": [[1], [-2], [1]],
    "four": [[1, -1], [-1, 1]],
}


def member(family: HaarLike | PatchSums, feature: int) -> tuple[str, int, int, int, int, int]:
    """Kind, top, bottom, left, right (included) and channel, from the name."""
    match = NAME.fullmatch(family.feature_name(feature))
    assert match
    kind, *numbers = match.groups(default="0")
    top, bottom, left, right, channel = map(int, numbers)
    return kind, top, bottom, left, right, channel


def naive_values(family: HaarLike | PatchSums, images: NDArray[Any]) -> NDArray[np.float64]:
    """All features of (n, h, w, c) images, pixel by pixel, in float64."""
    values = np.zeros((len(images), family.n_features))
    for feature in range(family.n_features):
        kind, top, bottom, left, right, channel = member(family, feature)
        pattern = np.array(PATTERNS.get(kind, [[1]]))  # a patch sum
        down = (bottom - top + 1) // pattern.shape[0]
        across = (right - left + 1) // pattern.shape[1]
        for r in range(top, bottom + 1):
            for c in range(left, right + 1):
                weight = pattern[(r - top) // down, (c - left) // across]
                values[:, feature] += weight * images[:, r, c, channel].astype(np.float64)
    return values


@pytest.mark.parametrize(
    ("kind", "shapes"),
    [
        (HaarLike, [(6, 6, 1), (28, 28, 1), (3, 7, 2), (1, 6, 2), (5, 1, 1)]),
        (PatchSums, [(8, 8, 1), (28, 28, 1), (5, 9, 3), (1, 6, 2), (1, 1, 1)]),
    ],
)
@pytest.mark.parametrize("at", range(5))
def test_bytes_are_exact(kind: type[HaarLike | PatchSums], shapes: Any, at: int) -> None:
    shape = shapes[at]
    images = np.random.default_rng(0).integers(0, 256, (4, *shape), dtype=np.uint8)
    images[0], images[0, : shape[0] // 2] = 0, 255  # the largest differences there are
    family = kind(shape, None if np.prod(shape) < 99 else 90)
    values = family.compute(images, range(family.n_features))
    np.testing.assert_array_equal(values, naive_values(family, images))
    assert values.T.flags.c_contiguous


def test_sums_that_wrap_around() -> None:
    """Three times a corner of this table exceeds 2^31: that may wrap around, the result may not."""
    image = np.full((1, 2799, 2799), 255, np.uint8)
    image[..., 1866:] = 3
    family = HaarLike((2799, 2799), None, min_side=933, kinds=["three across"])
    assert member(family, 1866) == ("three across", 0, 2798, 0, 2798, 0)
    assert 3 * 255 * 2799 * 1866 > 2**31
    assert family.compute(image, [1866]).item() == np.float32(2799 * 933 * (255 - 2 * 255 + 3))


def test_as_many_as_viola_and_jones_have() -> None:
    sizes = [HaarLike((24, 24), None, kinds=[kind]).n_features for kind in PATTERNS]
    assert sizes == [43_200, 43_200, 27_600, 27_600, 20_736]
    assert HaarLike((24, 24), None).n_features == sum(sizes) == 162_336
    assert HaarLike((28, 28), None).n_features == 299_880
    assert HaarLike((28, 28, 3), None).n_features == 3 * 299_880


@pytest.mark.parametrize("min_side", [1, 2])
def test_all_there_are(min_side: int) -> None:
    height, width, channels = 6, 7, 2
    want = {
        (kind, top, top + down * i - 1, left, left + across * j - 1, channel)
        for kind, pattern in PATTERNS.items()
        for down, across in [np.shape(pattern)]
        for i in range(min_side, height // down + 1)
        for j in range(min_side, width // across + 1)
        for top in range(height - down * i + 1)
        for left in range(width - across * j + 1)
        for channel in range(channels)
    }
    every = HaarLike((height, width, channels), None, min_side=min_side)
    assert every.n_features == len(want)
    drawn = HaarLike((height, width, channels), len(want), min_side=min_side)
    for family in (every, drawn):
        assert {member(family, feature) for feature in range(len(want))} == want


def test_sums_of_floats() -> None:
    images = np.random.default_rng(1).normal(size=(4, 16, 12, 2)).astype(np.float32)
    family = PatchSums((16, 12, 2), 200)
    values = family.compute(images, range(200))
    np.testing.assert_allclose(values, naive_values(family, images), rtol=1e-6, atol=1e-6)


def test_all_patches_are_equally_likely() -> None:
    total = PatchSums((4, 4), None).n_features
    first = [PatchSums((4, 4), 1, seed=seed).feature_name(0) for seed in range(3600)]
    counts = np.unique(first, return_counts=True)[1]
    assert len(counts) == total
    expected = 3600 / total
    assert ((counts - expected) ** 2 / expected).sum() < 73.4  # 0.01 % of chi-square, 35 d.o.f.
