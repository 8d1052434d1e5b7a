"""Fourier coefficients, against sums over pixels by the definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from boostsample.families import Fourier
from boostsample.kernels import images as kernels


def naive(image: Any, down: int, across: int, component: str) -> float:
    height, width = image.shape
    is_single = (2 * down) % height == 0 and (2 * across) % width == 0
    scale = math.sqrt((1 if is_single else 2) / (height * width))
    cosine = sine = 0.0
    for r in range(height):
        for c in range(width):
            angle = 2 * math.pi * (down * r / height + across * c / width)
            cosine += scale * float(image[r, c]) * math.cos(angle)
            sine += scale * float(image[r, c]) * math.sin(angle)
    return {"cosine": cosine, "sine": sine, "magnitude": math.hypot(cosine, sine)}[component]


@pytest.mark.parametrize("shape", [(1, 2), (2, 1), (2, 2), (1, 5), (5, 1), (3, 4), (4, 3, 2)])
def test_coefficients(rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    family = Fourier(shape)
    for X in (rng.normal(size=(3, *shape)), np.full((2, *shape), 255, np.uint8)):
        values = family.compute(X, range(family.n_features))
        for feature in range(family.n_features):
            down, across, component, channel = (
                int(part[0]) for part in family._members(np.array([feature]))
            )
            for x, value in zip(X.reshape(len(X), *shape[:2], -1), values[:, feature], strict=True):
                want = naive(x[..., channel], down, across, family.components[component])
                assert value == pytest.approx(want, abs=1e-6 * float(np.abs(x).sum()))


def test_values_depend_on_their_image_and_feature_only(rng: np.random.Generator) -> None:
    family = Fourier((5, 6))
    X = rng.integers(0, 256, (2 * kernels.FOURIER_LANES + 3, 5, 6)).astype(np.uint8)
    values = family.compute(X, range(family.n_features))
    assert (family.compute(X.astype(np.float32), range(family.n_features)) == values).all()
    for feature in range(family.n_features):
        some = family.compute(X[5:-2], [feature])
        assert (some[:, 0] == values[5:-2, feature]).all()
