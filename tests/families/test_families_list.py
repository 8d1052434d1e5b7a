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
