"""Fourier coefficients against scipy.fft."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
import scipy.fft
from numpy.typing import NDArray

from boostsample.families import Fourier

SHAPES: list[tuple[int, ...]] = [
    (8, 8),
    (7, 10),
    (6, 5, 3),
    (1, 4),
    (5, 1),
    (2, 7),
    (3, 1, 2),
    (2, 2, 1),
]


def members(family: Fourier) -> list[tuple[str, int, int, int]]:
    """Component, cycles down and across, and channel of each feature, read from its name."""
    waves = []
    for feature in range(family.n_features):
        name = family.feature_name(feature)
        match = re.fullmatch(
            r"Fourier (\w+) of (\d+) cycles? (down|up), (\d+) across(?:, channel (\d+))?", name
        )
        assert match, name
        component, down, way, across, channel = match.groups()
        waves.append((component, int(down) * (-1) ** (way == "up"), int(across), int(channel or 0)))
    return waves


def own_mirror_image(down: int, across: int, shape: tuple[int, ...]) -> bool:
    return 2 * down % shape[0] == 0 and 2 * across % shape[1] == 0


def by_scipy(images: NDArray[Any], family: Fourier) -> NDArray[np.float64]:
    """All features of (n, h, w) or (n, h, w, c) images by a real transform of the whole."""
    height, width = family.image_shape[:2]
    planes = images.reshape(len(images), height, width, -1).astype(np.float64)
    coefficients = scipy.fft.rfft2(planes, axes=(1, 2))
    values = []
    for component, down, across, channel in members(family):
        single = own_mirror_image(down, across, family.image_shape)
        value = coefficients[:, down, across, channel]
        value = value * math.sqrt((1 if single else 2) / (height * width))
        values.append(
            {"cosine": value.real, "sine": -value.imag, "magnitude": np.abs(value)}[component]
        )
    return np.column_stack(values)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("shape", [*SHAPES, (2, 7), (28, 28), (32, 32, 3), (1, 1)])
def test_equals_scipy(shape: tuple[int, ...], dtype: Any) -> None:
    images = np.random.default_rng(0).uniform(0, 255, (7, *shape)).astype(dtype)
    family = Fourier(shape)
    want = by_scipy(images, family)
    values = family.compute(images, range(family.n_features))
    norm = np.linalg.norm(images.reshape(len(images), -1).astype(np.float64), axis=1).max()
    np.testing.assert_allclose(values, want, rtol=0, atol=3e-7 * norm)
    assert values.T.flags.c_contiguous


def test_names() -> None:
    family = Fourier((28, 28))
    assert [family.feature_name(j) for j in (0, 1, 2, 3, 4, 61, 1176)] == [
        "Fourier cosine of 0 cycles down, 0 across",
        "Fourier cosine of 1 cycle down, 0 across",
        "Fourier sine of 1 cycle down, 0 across",
        "Fourier magnitude of 1 cycle down, 0 across",
        "Fourier cosine of 2 cycles down, 0 across",
        "Fourier sine of 6 cycles down, 1 across",
        "Fourier magnitude of 14 cycles down, 14 across",
    ]
    coloured = Fourier((28, 28, 3))
    assert coloured.feature_name(1177).endswith("0 across, channel 1")
    assert "Fourier cosine of 1 cycle up, 1 across" in map(family.feature_name, range(1177))


def test_components_choose_and_order() -> None:
    images = np.random.default_rng(5).normal(size=(4, 6, 5)).astype(np.float32)
    whole, part = Fourier((6, 5)), Fourier((6, 5), ["magnitude", "cosine"])
    named = {
        whole.feature_name(j): whole.compute(images, [j])[:, 0] for j in range(whole.n_features)
    }
    names = [part.feature_name(j) for j in range(part.n_features)]
    assert set(names) == {name for name in named if "sine of" not in name or "cosine" in name}
    assert [name.split()[1] for name in names[:3]] == ["cosine", "magnitude", "cosine"]
    for name, values in zip(names, part.compute(images, range(len(names))).T, strict=True):
        np.testing.assert_array_equal(values, named[name])
    assert Fourier((4, 3), "sine").components == ("sine",)
