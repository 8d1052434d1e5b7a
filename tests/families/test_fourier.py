"""Fourier coefficients against scipy.fft, against plain loops, and as an orthonormal basis."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
import scipy.fft
from numpy.typing import NDArray

import boostsample.families.images.fourier as module
from boostsample.families import Fourier

SHAPES: list[tuple[int, ...]] = [(8, 8), (7, 10), (6, 5, 3), (1, 4), (5, 1), (3, 1, 2), (2, 2, 1)]


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


def naive_fourier(image: NDArray[Any], down: int, across: int) -> tuple[float, float]:
    """Cosine and sine of one wave in one (h, w) image, from the definition."""
    height, width = image.shape
    cosine = sine = 0.0
    for r in range(height):
        for c in range(width):
            angle = 2 * math.pi * (down * r / height + across * c / width)
            cosine += float(image[r, c]) * math.cos(angle)
            sine += float(image[r, c]) * math.sin(angle)
    scale = math.sqrt((1 if own_mirror_image(down, across, image.shape) else 2) / image.size)
    return scale * cosine, scale * sine


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("shape", [*SHAPES, (28, 28), (32, 32, 3), (1, 1)])
def test_equals_scipy(shape: tuple[int, ...], dtype: Any) -> None:
    images = np.random.default_rng(0).uniform(0, 255, (7, *shape)).astype(dtype)
    family = Fourier(shape)
    want = by_scipy(images, family)
    values = family.compute(images, range(family.n_features))
    norm = np.linalg.norm(images.reshape(len(images), -1).astype(np.float64), axis=1).max()
    np.testing.assert_allclose(values, want, rtol=0, atol=3e-7 * norm)
    assert values.T.flags.c_contiguous


@pytest.mark.parametrize("shape", [(4, 6), (5, 3), (2, 7), (1, 4)])
def test_equals_its_naive_twin(shape: tuple[int, int]) -> None:
    images = np.random.default_rng(1).integers(0, 256, (2, *shape), dtype=np.uint8)
    family = Fourier(shape)
    values = family.compute(images, range(family.n_features))
    for image, row in zip(images, values, strict=True):
        for value, (component, down, across, _) in zip(row, members(family), strict=True):
            cosine, sine = naive_fourier(image, down, across)
            want = {"cosine": cosine, "sine": sine, "magnitude": math.hypot(cosine, sine)}
            assert value == pytest.approx(want[component], abs=2e-4)


@pytest.mark.parametrize("shape", [*SHAPES, (16, 16), (9, 12)])
def test_cosines_and_sines_are_an_orthonormal_basis(shape: tuple[int, ...]) -> None:
    pixels = math.prod(shape)
    components = ("cosine", "sine") if max(shape[:2]) > 2 else ("cosine",)
    family = Fourier(shape, components)
    assert family.n_features == pixels
    basis = family.compute(np.eye(pixels).reshape(pixels, *shape), range(pixels))
    np.testing.assert_allclose(basis.T @ basis, np.eye(pixels), atol=2e-6)


def test_squares_add_up_to_those_of_the_pixels() -> None:
    images = np.random.default_rng(2).normal(size=(5, 28, 28)).astype(np.float32)
    values = Fourier((28, 28), ("cosine", "sine")).compute(images, range(784))
    np.testing.assert_allclose((values**2).sum(axis=1), (images**2).sum(axis=(1, 2)), rtol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_only_magnitudes_ignore_circular_shifts(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    images = rng.integers(0, 256, (6, *shape), dtype=np.uint8)
    shifted = np.roll(images, (2, 1), axis=(1, 2))
    magnitudes, cosines = Fourier(shape, "magnitude"), Fourier(shape, "cosine")
    before, after = (magnitudes.compute(x, range(magnitudes.n_features)) for x in (images, shifted))
    np.testing.assert_allclose(after, before, rtol=0, atol=2e-3)
    assert before.std(axis=0).min() > 1
    before, after = (cosines.compute(x, range(cosines.n_features)) for x in (images, shifted))
    assert np.abs(after - before).max() > 1


def test_a_wave_is_found_by_its_own_features_alone() -> None:
    family = Fourier((12, 10))
    r, c = np.mgrid[:12, :10]
    for down, across in [(0, 2), (3, 0), (2, 3), (-2, 3), (6, 5), (-5, 4)]:
        angle = 2 * np.pi * (down * r / 12 + across * c / 10)
        (values,) = family.compute(np.cos(angle - 0.5)[None], range(family.n_features))
        waves = {members(family)[j][1:3] for j in np.flatnonzero(np.abs(values) > 1e-5)}
        assert waves == {(down, across)}


def test_no_two_features_are_the_same_and_none_is_always_zero() -> None:
    for shape in [(6, 6), (5, 4), (2, 3)]:
        family = Fourier(shape)
        images = np.random.default_rng(4).normal(size=(40, *shape))
        correlation = np.corrcoef(family.compute(images, range(family.n_features)).T)
        others = np.abs(correlation - np.eye(family.n_features))
        assert others.max() < 0.999  # NaN, that is a constant feature, fails too


def test_constant_images_have_the_constant_wave_alone() -> None:
    family = Fourier((9, 7))
    values = family.compute(np.full((1, 9, 7), 255), range(family.n_features))[0]
    assert values[0] == pytest.approx(255 * math.sqrt(63))
    np.testing.assert_allclose(values[1:], 0, atol=1e-3)


def test_counts() -> None:
    def count(shape: tuple[int, ...]) -> list[int]:
        words = [component for component, *_ in members(Fourier(shape))]
        return [words.count(component) for component in ("cosine", "sine", "magnitude")]

    assert count((28, 28)) == [394, 390, 393]
    assert count((5, 5)) == [13, 12, 12]
    assert count((2, 2)) == [4, 0, 3]
    assert count((1, 1)) == [1, 0, 0]
    assert count((4, 4, 3)) == [30, 18, 27]


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


def multiplications(family: Fourier, features: Any, monkeypatch: pytest.MonkeyPatch) -> float:
    """Of weights with pixels or sums, for one image."""
    weighted, counts = module._weighted, []

    def counting(weights: Any, lines: Any) -> Any:
        total = weighted(weights, lines)
        counts.append(len(weights) * total.size)
        return total

    with monkeypatch.context() as patch:
        patch.setattr(module, "_weighted", counting)
        family.compute(np.zeros((1, *family.image_shape)), features)
    return sum(counts)


def test_the_cost_is_the_one_that_the_module_states(monkeypatch: pytest.MonkeyPatch) -> None:
    family = Fourier((28, 28))
    every = multiplications(family, range(1177), monkeypatch)
    assert every / 1177 == pytest.approx(20, abs=2)
    for feature in (0, 1, 60, 700):
        assert multiplications(family, [feature], monkeypatch) < 1.1 * 784
    block = range(400, 600)
    assert multiplications(family, block, monkeypatch) < 1.3 * every * 200 / 1177
    coloured = Fourier((28, 28, 3))
    assert multiplications(coloured, block, monkeypatch) == multiplications(
        family, block, monkeypatch
    )


def test_only_the_wanted_channels_are_read() -> None:
    images = np.ones((2, 4, 5, 3))
    images[..., [0, 2]] = np.nan
    family = Fourier((4, 5, 3))
    middle = [j for j, (*_, channel) in enumerate(members(family)) if channel == 1]
    grey = Fourier((4, 5)).compute(images[..., 1], range(len(middle)))
    np.testing.assert_array_equal(family.compute(images, middle), grey)
