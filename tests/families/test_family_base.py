"""The base classes: a family of one's own, pixels read and refused, memory layouts."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from boostsample.errors import DataError, SettingError
from boostsample.families import Columns, Gradient, Identity, families_for
from boostsample.family import Family, Fill, ImageFamily, check_examples, pixel_major
from boostsample.testing.families import check_family


class Products(Family):
    """A table family of one's own: products of neighbouring columns."""

    def __init__(self, n_columns: int, name: str = "products") -> None:
        self.n_columns = n_columns
        self.name = name
        self.n_features = n_columns - 1

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        wanted = self.check_features(features)
        table = check_examples(X, (self.n_columns,), self.name)
        values: NDArray[np.float32] = table[:, wanted].astype(np.float32)
        return values * table[:, wanted + 1].astype(np.float32)

    def feature_name(self, feature: SupportsIndex) -> str:
        index = self.check_feature(feature)
        return f"column {index} times column {index + 1}"


class Brightest(ImageFamily):
    """An image family of one's own: the brightest pixel of each row."""

    def __init__(self, image_shape: tuple[int, ...], name: str = "brightest") -> None:
        super().__init__(image_shape, name)
        self.n_features = self.height

    def feature_name(self, feature: SupportsIndex) -> str:
        return f"brightest pixel of row {self.check_feature(feature)}"

    def plan(self, features: NDArray[np.intp]) -> tuple[NDArray[np.intp], Fill]:
        rows, members = np.unique(features, return_inverse=True)
        width = self.width * self.n_channels
        pixels = rows[:, None] * width + np.arange(width)

        def fill(block: NDArray[np.float32], out: NDArray[np.float32]) -> None:
            out[:] = block.reshape(len(rows), width, -1).max(axis=1)[members]

        return pixels.ravel(), fill


def test_families_of_ones_own_pass_the_checks() -> None:
    rng = np.random.default_rng(0)
    check_family(Products(5), rng.normal(size=(7, 5)).astype(np.float32))
    check_family(Brightest((5, 3, 2)), rng.normal(size=(7, 5, 3, 2)).astype(np.float32))


def test_repr_equality_and_hash() -> None:
    families = [Identity((3, 3)), Identity((3, 3, 1)), Identity((3, 3), "x"), Gradient((3, 3))]
    assert len({*families, Identity((3, 3))}) == 4
    assert repr(families[2]) == "Identity(image_shape=(3, 3), name='x')"
    assert families[0] != "identity"
    many = repr(Columns(range(1000)))
    assert many.startswith("Columns(columns=(0, 1, 2, ")
    assert len(many) < 200


def test_settings_hold_what_json_can_hold() -> None:
    family = Products(5)
    family.n_columns = np.int64(5)  # type: ignore[assignment] # as users do
    assert family.settings() == {"n_columns": 5, "name": "products"}
    assert type(family.settings()["n_columns"]) is int
    family.n_columns = {"a": (1, np.arange(2))}  # type: ignore[assignment] # nested settings
    assert family.settings()["n_columns"] == {"a": [1, [0, 1]]}
    family.n_columns = object()  # type: ignore[assignment] # what cannot be stored
    with pytest.raises(SettingError, match=r"Products\.n_columns cannot be stored .* object"):
        family.settings()
    del family.n_columns
    with pytest.raises(SettingError, match=r"Products must store each argument.*'n_columns'"):
        family.settings()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 2e15, -1e300])
@pytest.mark.parametrize("layout", [np.asarray, pixel_major])
def test_pixels_beyond_the_limit_are_refused(value: float, layout: Any) -> None:
    images = np.zeros((9000, 3, 4, 2))
    images[8765, 2, 1, 1] = value
    family = Identity((3, 4, 2))
    message = r"'identity': pixels must .* example 8765 has .* at row 2, column 1, channel 1"
    with pytest.raises(DataError, match=message):
        family.compute(layout(images), range(24))
    assert not family.compute(layout(images), [0]).any()  # other pixels are not read


@pytest.mark.parametrize("shape", [(5, 4, 3), (5, 3, 4, 1), (5, 13), (5,), ()])
def test_other_images_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match=r"takes arrays of shape \(n, 3, 4\), got shape"):
        Identity((3, 4)).compute(np.zeros(shape), [0])


def test_images_may_come_flat_as_lists_or_as_truth_values() -> None:
    images = np.random.default_rng(1).integers(0, 2, (6, 4, 5))
    for family in families_for((4, 5)):
        features = range(family.n_features)
        want = family.compute(images, features)
        for same in (images.reshape(6, 20), images.tolist(), images.astype(bool)):
            np.testing.assert_array_equal(family.compute(same, features), want)


@pytest.mark.parametrize("shape", [(0, 3), (7, 3), (7, 3, 4), (1300, 2, 3, 2)])
def test_pixel_major(shape: tuple[int, ...]) -> None:
    X = np.random.default_rng(2).integers(0, 256, shape, dtype=np.uint8)
    turned = pixel_major(X)
    np.testing.assert_array_equal(turned, X)
    assert turned.dtype == X.dtype
    assert np.moveaxis(turned, 0, -1).flags.c_contiguous
    assert pixel_major(turned) is turned
