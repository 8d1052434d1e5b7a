"""Patch sums against plain loops, and the draw of the patches."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.families import PatchSums

NAME = re.compile(r"patch sum of rows (\d+)-(\d+), columns (\d+)-(\d+)(?:, channel (\d+))?")


def rectangle(family: PatchSums, feature: int) -> tuple[int, ...]:
    """Top, bottom, left, right (included) and channel, from the name."""
    match = NAME.fullmatch(family.feature_name(feature))
    assert match
    return tuple(int(group or 0) for group in match.groups())


def naive_sums(family: PatchSums, images: NDArray[Any]) -> NDArray[np.float64]:
    """All sums of (n, h, w, c) images, by plain loops, in float64."""
    values = np.zeros((len(images), family.n_features))
    for feature in range(family.n_features):
        top, bottom, left, right, channel = rectangle(family, feature)
        for r in range(top, bottom + 1):
            for c in range(left, right + 1):
                values[:, feature] += images[:, r, c, channel]
    return values


@pytest.mark.parametrize("shape", [(8, 8, 1), (28, 28, 1), (5, 9, 3), (1, 6, 2), (1, 1, 1)])
def test_sums_of_bytes_are_exact(shape: tuple[int, ...]) -> None:
    images = np.random.default_rng(0).integers(0, 256, (4, *shape), dtype=np.uint8)
    family = PatchSums(shape, None) if np.prod(shape) < 99 else PatchSums(shape, 60)
    values = family.compute(images, range(family.n_features))
    np.testing.assert_array_equal(values, naive_sums(family, images))
    assert values.T.flags.c_contiguous


def test_sums_of_floats() -> None:
    images = np.random.default_rng(1).normal(size=(4, 16, 12, 2)).astype(np.float32)
    family = PatchSums((16, 12, 2), 200)
    values = family.compute(images, range(200))
    np.testing.assert_allclose(values, naive_sums(family, images), rtol=1e-6, atol=1e-6)


def test_all_patches_are_equally_likely() -> None:
    total = PatchSums((4, 4), None).n_features
    first = [PatchSums((4, 4), 1, seed=seed).feature_name(0) for seed in range(3600)]
    counts = np.unique(first, return_counts=True)[1]
    assert len(counts) == total
    expected = 3600 / total
    assert ((counts - expected) ** 2 / expected).sum() < 73.4  # 0.01 % of chi-square, 35 d.o.f.
