"""Opponent colours against the formula, the family inside against itself on converted images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import boostsample.families as package
from boostsample.families import (
    Gradient,
    Haar,
    HaarLike,
    Identity,
    ImageFamily,
    Opponent,
    PatchSums,
)

SHAPE = (6, 5, 3)


def images(dtype: Any = np.uint8, n: int = 7) -> NDArray[Any]:
    return np.random.default_rng(n).integers(0, 256, (n, *SHAPE)).astype(dtype)


def by_formula(X: NDArray[Any]) -> NDArray[np.float64]:
    """O1, O2 and O3 of van de Sande, Gevers and Snoek, (n, h, w, 3)."""
    red, green, blue = np.moveaxis(X.astype(np.float64), -1, 0)
    return np.stack(
        [
            (red - green) / np.sqrt(2),
            (red + green - 2 * blue) / np.sqrt(6),
            (red + green + blue) / np.sqrt(3),
        ],
        axis=-1,
    )


FACTORS = np.sqrt([2, 6, 3])  # what ours leave away

INSIDE: list[ImageFamily] = [
    Identity(SHAPE),
    Gradient(SHAPE),
    Haar(SHAPE, levels=2),
    PatchSums(SHAPE, 70, seed=3),
    HaarLike(SHAPE, 80, seed=2),
]


def wrapped(inner: ImageFamily, **own: Any) -> Opponent:
    """The same family on opponents."""
    settings = inner.settings()
    return Opponent(settings.pop("image_shape"), settings.pop("name"), **own, **settings)


@pytest.mark.parametrize("inner", INSIDE, ids=lambda family: family.name)
def test_is_the_family_on_converted_images(inner: ImageFamily) -> None:
    X = images()
    seen = np.rint(by_formula(X) * FACTORS).astype(np.float32)
    features = range(inner.n_features)
    family = wrapped(inner)
    assert (family.name, family.n_features) == (f"{inner.name}-opponent", inner.n_features)
    values = family.compute(X, features)
    np.testing.assert_array_equal(values, inner.compute(seen, features))
    assert values.T.flags.c_contiguous
    some = [3, 0, 17]  # few features read some pixels of some channels only
    np.testing.assert_array_equal(family.compute(X, some), values[:, some])


def test_the_formula_on_floats() -> None:
    X = np.random.default_rng(0).normal(size=(7, *SHAPE)).astype(np.float32)
    values = Opponent(SHAPE, "identity").compute(X, range(90)).reshape(7, *SHAPE)
    np.testing.assert_allclose(values / FACTORS, by_formula(X), rtol=1e-5, atol=1e-6)


def test_some_opponents() -> None:
    X = images()
    whole = Opponent(SHAPE, "identity").compute(X, range(90)).reshape(7, 30, 3)
    for chosen, channels in [
        (["yellow-blue"], [1]),
        (["intensity", "red-green"], [2, 0]),
        ("red-green", [0]),
    ]:
        family = Opponent(SHAPE, "identity", chosen)
        values = family.compute(X, range(family.n_features)).reshape(7, 30, -1)
        np.testing.assert_array_equal(values, whole[..., channels])


def test_names_say_the_opponent() -> None:
    pixels = Opponent((2, 2, 3), "identity", ["intensity", "red-green"])
    assert [pixels.feature_name(j) for j in (0, 7)] == [
        "pixel at row 0, column 0, opponent intensity",
        "pixel at row 1, column 1, opponent red-green",
    ]
    assert wrapped(INSIDE[3]).feature_name(0).startswith("patch sum of rows ")
    for inner in INSIDE:
        family = wrapped(inner)
        names = {family.feature_name(j) for j in range(family.n_features)}
        assert len(names) == family.n_features
        assert not any("channel" in name for name in names)


def test_settings_are_those_of_the_family_too() -> None:
    family = Opponent(SHAPE, "patches", ["intensity"], n_members=12, seed=4)
    assert {"opponents": ["intensity"], "n_members": 12}.items() <= family.settings().items()
    assert family == Opponent(**family.settings())
    assert family != Opponent(**{**family.settings(), "seed": 5})
    assert Opponent(SHAPE, "haar", name="my {family}").name == "my haar"
    assert "n_members=12" in repr(family)


def test_all_image_families_can_be_wrapped() -> None:
    kinds = {
        member
        for name in package.__all__
        if isinstance(member := getattr(package, name), type)
        and issubclass(member, ImageFamily)
        and member not in (ImageFamily, Opponent)
    }
    for kind in kinds:
        assert kind.compute is ImageFamily.compute, f"{kind.__name__} cannot be planned"
