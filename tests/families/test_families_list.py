"""Every family is listed, passes the public checks, and the package can be had in one copy only."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import boostsample.families as package
from boostsample.errors import SettingError
from boostsample.families import (
    ILBP,
    LBP,
    Columns,
    Family,
    Fourier,
    Gradient,
    GradientHistograms,
    Haar,
    HaarLike,
    HashedText,
    Opponent,
    OrientedGradients,
    PatchSums,
    Text,
    families_for,
)
from boostsample.family import ImageFamily
from boostsample.testing import check_family

FOLDER = Path(package.__file__).parent
IMAGE_SHAPES: list[tuple[int, ...]] = [(8, 8), (7, 10), (6, 5, 3), (1, 4), (3, 1, 2), (2, 2, 1)]


def images(shape: tuple[int, ...], dtype: Any, n: int = 9) -> NDArray[Any]:
    rng = np.random.default_rng([*shape, n])
    if np.dtype(dtype) == np.uint8:
        return rng.integers(0, 256, (n, *shape), dtype=np.uint8)
    return rng.normal(size=(n, *shape)).astype(dtype)


def image_families() -> list[Family]:
    families = [family for shape in IMAGE_SHAPES for family in families_for(shape)]
    families += [
        Gradient((5, 4), ("magnitude", "x")),
        Haar((4, 9), levels=4),
        PatchSums((9, 6), 50, seed=7, min_side=3, max_side=4),
        PatchSums((4, 3, 2), None, min_side=1),
        GradientHistograms((8, 7), None, n_orientations=2, min_side=3),
        GradientHistograms((5, 4, 3), 300, normalise=True),
        OrientedGradients((9, 6), 200, seed=7, min_side=3, max_side=5),
        OrientedGradients((1, 5, 2), None, n_orientations=5, normalise=True),
        HaarLike((9, 6, 2), 60, seed=7, kinds=["three down", "four"], min_side=2),
        Opponent((5, 4, 3), "gradient", ["yellow-blue"]),
        Opponent((6, 5, 3), "haar", levels=2),
        Opponent((6, 5, 3), "patches", ["intensity", "red-green"], n_members=40),
        *(Fourier(shape) for shape in IMAGE_SHAPES),
        Fourier((6, 7), ("sine", "magnitude"), name="waves"),
        LBP((6, 5, 3)),
        ILBP((6, 5, 3)),
    ]
    return families


@pytest.mark.parametrize("family", image_families(), ids=repr)
def test_image_families_pass(family: Any) -> None:
    for dtype in (np.uint8, np.float32):
        check_family(family, images(family.image_shape, dtype))


@pytest.mark.parametrize(
    "family",
    [
        Columns(range(6)),
        Columns(3, "one", n_columns=6),
        Columns([5, range(1, 3)], "three", n_columns=6),
        Columns(["e", "a"], "named", column_names=tuple("abcdef")),
    ],
    ids=repr,
)
def test_columns_pass(family: Family) -> None:
    table = np.random.default_rng(3).normal(size=(9, 6))
    table[4, 2] = table[0, 0] = table[7, 5] = np.nan
    check_family(family, table)


def test_every_file_with_a_family_is_listed() -> None:
    defined = set()
    for file in FOLDER.rglob("*.py"):
        if file.stem != "__init__":
            name = ".".join(file.relative_to(FOLDER).with_suffix("").parts)
            module = importlib.import_module(f"boostsample.families.{name}")
            classes = inspect.getmembers(module, inspect.isclass)
            defined |= {
                name
                for name, value in classes
                if issubclass(value, Family)
                and value.__module__ == module.__name__
                and not (file.stem.startswith("_") and inspect.isabstract(value))  # shared bases
            }
    assert {"Columns", "Gradient", "Haar", "Identity", "PatchSums"} <= defined
    assert defined <= set(package.__all__), "add the family to boostsample.families.__all__"


def test_every_listed_family_is_tried_here() -> None:
    classes = {vars(package)[name] for name in package.__all__}
    concrete = {c for c in classes if inspect.isclass(c) and not inspect.isabstract(c)}
    assert concrete == {type(family) for family in image_families()} | {
        Columns,
        HashedText,
        Text,
    }


KINDS = ["identity", "gradient", "fourier", "haar", "lbp", "ilbp"]
KINDS += ["patches", "gradient-histograms", "hog", "haar-like"]


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        ((28, 28), [784, 2241, 1177, 799, 676, 676, 1500, 2500, 3500, 2500]),
        ((28, 28, 1), [784, 2241, 1177, 799, 676, 676, 1500, 2500, 3500, 2500]),
        ((16, 16), [256, 705, 385, 256, 196, 196, 490, 820, 1140, 820]),
        ((8, 8), [64, 161, 97, 64, 36, 36, 120, 200, 290, 200]),
        ((32, 32), [1024, 2945, 1537, 1024, 900, 900, 1960, 3270, 4570, 3270]),
    ],
)
def test_images_get_ten_families(shape: tuple[int, ...], sizes: list[int]) -> None:
    families = families_for(shape)
    assert [family.name for family in families] == KINDS
    assert [family.n_features for family in families] == sizes


def test_colour_images_get_opponent_colours() -> None:
    families = families_for((32, 32, 3))
    assert {family.name: family.n_features for family in families} == {
        "identity": 3072,
        "gradient-intensity": 2945,
        "fourier-intensity": 1537,
        "haar-opponent": 3072,
        "lbp-intensity": 900,
        "ilbp-intensity": 900,
        "patches": 980,
        "patches-opponent": 980,
        "gradient-histograms": 1630,
        "gradient-histograms-opponent": 1630,
        "hog": 2290,
        "hog-opponent": 2290,
        "haar-like": 1630,
        "haar-like-opponent": 1630,
    }
    assert sum(family.n_features for family in families) == 25_486
    for family in families:
        assert isinstance(family, ImageFamily)
        assert family.image_shape == (32, 32, 3)
        kind, _, colour = family.name.rpartition("-")
        if colour in ("opponent", "intensity"):
            assert isinstance(family, Opponent)
            assert family.family == kind
            assert len(family.opponents) == (3 if colour == "opponent" else 1)


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        (
            (2, 2),
            {"identity": 4, "gradient": 5, "fourier": 7, "haar": 4, "patches": 1, "haar-like": 7},
        ),
        ((1, 1, 3), {"identity": 3, "patches": 3, "patches-opponent": 3}),
    ],
)
def test_small_images_get_what_fits(shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    assert {family.name: family.n_features for family in families_for(shape)} == sizes


@pytest.mark.parametrize("channels", [(), (1,), (2,), (3,)])
def test_there_are_families_for_all_small_images(channels: tuple[int, ...]) -> None:
    for height in range(1, 6):
        for width in range(1, 6):
            shape = (height, width, *channels)
            images = np.arange(2 * np.prod(shape)).reshape(2, *shape)
            for family in families_for(shape):
                values = family.compute(images, range(family.n_features))
                assert values.shape == (2, family.n_features)


def test_the_seed_draws_the_members() -> None:
    assert families_for((28, 28), seed=5)[-1] == HaarLike((28, 28), 2500, seed=5)
    drawn = {"patches", "gradient-histograms", "hog", "haar-like"}
    for one, other in zip(families_for((8, 8)), families_for((8, 8), seed=1), strict=True):
        assert (one == other) == (one.name not in drawn)


def test_tables_get_one_family_of_columns() -> None:
    (columns,) = families_for((16,))
    assert (columns.name, columns.n_features) == ("columns", 16)
    (columns,) = families_for((2,), column_names=["a", "b"])
    assert [columns.feature_name(j) for j in (0, 1)] == ["a", "b"]


@pytest.mark.parametrize("shape", [(), (2, 3, 4, 5), (0,), (0, 3), (3, 0, 1)])
def test_other_shapes_are_refused(shape: Any) -> None:
    with pytest.raises(SettingError, match="must be"):
        families_for(shape)
