"""Every family is listed, passes the public checks, and the package can be had in one copy only."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import boostsample.families as package
from boostsample._check_families import FAMILY_CHECKS
from boostsample.errors import SettingError
from boostsample.families import Columns, Family, Gradient, Haar, Identity, PatchSums, families_for

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
        Gradient((1, 4), ["x"], name="edges"),
        Haar((8, 8), levels=1),
        Haar((4, 9), levels=4),
        Haar((1, 1)),
        PatchSums((9, 6), 50, seed=7, min_side=3, max_side=4),
        PatchSums((4, 3, 2), None, min_side=1),
        Identity((3, 2)),
    ]
    return families


@pytest.mark.parametrize("check", FAMILY_CHECKS)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("family", image_families(), ids=repr)
def test_image_families_pass(check: Any, family: Any, dtype: Any) -> None:
    check(family, images(family.image_shape, dtype))


@pytest.mark.parametrize("check", FAMILY_CHECKS)
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
def test_columns_pass(check: Any, family: Family) -> None:
    table = np.random.default_rng(3).normal(size=(9, 6))
    table[4, 2] = table[0, 0] = table[7, 5] = np.nan
    check(family, table)


@pytest.mark.parametrize("check", FAMILY_CHECKS)
def test_real_digits_pass(check: Any) -> None:
    from sklearn.datasets import load_digits

    digits = load_digits()["images"][:25]
    for family in families_for((8, 8)):
        check(family, digits)


def test_every_file_with_a_family_is_listed() -> None:
    defined = set()
    for file in FOLDER.glob("*.py"):
        if file.stem != "__init__":
            module = importlib.import_module(f"boostsample.families.{file.stem}")
            classes = inspect.getmembers(module, inspect.isclass)
            defined |= {
                name
                for name, value in classes
                if issubclass(value, Family) and value.__module__ == module.__name__
            }
    assert {"Columns", "Gradient", "Haar", "Identity", "PatchSums"} <= defined
    assert defined <= set(package.__all__), "add the family to boostsample.families.__all__"


def test_every_listed_family_is_tried_here() -> None:
    classes = {vars(package)[name] for name in package.__all__}
    concrete = {c for c in classes if inspect.isclass(c) and not inspect.isabstract(c)}
    assert concrete == {type(family) for family in image_families()} | {Columns}


def test_the_bare_name_is_refused() -> None:
    run = subprocess.run(
        [sys.executable, "-c", "import families"],
        cwd=FOLDER.resolve().parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "import boostsample.families, not families" in run.stderr


def test_importing_families_is_light() -> None:
    code = (
        "import sys, boostsample.families\n"
        "print([m for m in ('numba', 'sklearn', 'scipy', 'pywt', 'pandas') if m in sys.modules])"
    )
    root = FOLDER.resolve().parent
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        ((16,), {"columns": 16}),
        ((8, 8), {"identity": 64, "gradient": 161, "haar": 64, "patches": 160}),
        ((16, 16), {"identity": 256, "gradient": 705, "haar": 256, "patches": 650}),
        ((28, 28), {"identity": 784, "gradient": 2241, "haar": 799, "patches": 2000}),
        ((32, 32, 3), {"identity": 3072, "gradient": 8835, "haar": 3072, "patches": 2610}),
        ((2, 2), {"identity": 4, "gradient": 5, "haar": 4, "patches": 1}),
        ((1, 4), {"identity": 4, "gradient": 3, "patches": 10}),
        ((1, 1), {"identity": 1, "patches": 1}),
    ],
)
def test_default_families(shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    families = families_for(shape)
    assert {family.name: family.n_features for family in families} == sizes


def test_default_families_take_settings() -> None:
    patches = families_for((28, 28), seed=5, n_patches=40)[-1]
    assert patches == PatchSums((28, 28), 40, seed=5)
    (columns,) = families_for((2,), column_names=["a", "b"])
    assert [columns.feature_name(j) for j in (0, 1)] == ["a", "b"]


@pytest.mark.parametrize("shape", [(), (2, 3, 4, 5), (0,), (0, 3), (3, 0, 1)])
def test_default_families_refuse_other_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(SettingError, match="must be"):
        families_for(shape)
