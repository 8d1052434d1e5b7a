"""Pictures of what members look at: changes by definition, members from all over, any family."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import boostsample.families as package
from boostsample.errors import DataError, SettingError
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plots.drawing import save_picture
from boostsample.experiments.plots.family_members import (
    choose_members,
    families_for_members,
    image_for_members,
    member_changes,
    members_figure,
    parse_member_shape,
)
from boostsample.families import Gradient, Haar, Identity, ImageFamily, Opponent, PatchSums

IMAGE = np.random.default_rng(0).integers(0, 17, (6, 7), dtype=np.uint8)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_changes_of_linear_features_are_their_coefficients(dtype: Any) -> None:
    family = Haar((6, 7))
    features = np.arange(family.n_features)
    units = np.eye(42).reshape(42, 6, 7)
    want = 16 * family.compute(units, features).T.reshape(-1, 6, 7)
    np.testing.assert_allclose(
        member_changes(family, features, IMAGE.astype(dtype), 0, 16), want, atol=1e-4
    )


@pytest.mark.parametrize("image", [np.zeros((6, 7)), np.full((6, 7), 3, np.uint8)])
def test_images_of_one_colour_are_refused(image: NDArray[Any]) -> None:
    with pytest.raises(DataError, match=r"darkest and a brightest .* choose another example"):
        member_changes(Identity((6, 7)), [0], image)


def test_members_come_from_all_over_the_family() -> None:
    family = Identity((6, 7))
    found = [choose_members(family, IMAGE, 6, seed) for seed in range(5)]
    for features, moves in found:
        assert (features // 7).tolist() == [0, 1, 2, 3, 4, 5]
        np.testing.assert_array_equal(moves, member_changes(family, features, IMAGE))
    assert len({tuple(features.tolist()) for features, _ in found}) > 1


def test_a_figure_has_a_row_for_each_family(tmp_path: Path) -> None:
    families = [Haar((6, 7)), PatchSums((6, 7), 3)]
    figure = members_figure(families, IMAGE, low=0, high=16, title="two families", seed=1)
    assert len(figure.axes) == 2 * 9
    chosen, _ = choose_members(families[0], IMAGE, seed=1, low=0, high=16)
    for axes, feature in zip(figure.axes[1:9], chosen, strict=True):
        text = " ".join(axes.get_xlabel().split())
        assert text == families[0].feature_name(feature)
    save_picture(figure, tmp_path / "x.svg")
    content = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert "two families" in content
    assert "red: the value rises" in content


def test_red_rises_and_blue_falls() -> None:
    image = np.array([[0.0, 1.0], [1.0, 0.0]])
    figure = members_figure([Gradient((2, 2), ["x"])], image)
    pixels = np.asarray(figure.axes[1].images[0].get_array())
    assert pixels.shape == (2, 2, 3)
    left, right = pixels[0]  # gradient x: right less left
    assert right[0] > right[2] + 0.2
    assert left[2] > left[0] + 0.2
    np.testing.assert_array_equal(pixels[1, :, 0], pixels[1, :, 2])  # the other row stays grey


def image_kinds() -> list[type[ImageFamily]]:
    classes = [vars(package)[name] for name in package.__all__]
    return [
        kind
        for kind in classes
        if inspect.isclass(kind) and issubclass(kind, ImageFamily) and not inspect.isabstract(kind)
    ]


def test_every_image_family_of_the_package_can_be_drawn() -> None:
    """Without a line of code for any of them; opponents are made of another family."""
    digits = load_dataset("digits")
    image, low, high = image_for_members(digits, 4, (28, 28))
    families = families_for_members((28, 28))
    assert {type(family) for family in families} == set(image_kinds()) - {Opponent}
    for family in families:
        features, moves = choose_members(family, image, 2, low=low, high=high)
        assert len(features) == 2
        assert moves.shape == (2, 28, 28)
        assert np.isfinite(moves).all()
        assert moves.any(), family


def test_families_by_name_with_settings() -> None:
    families = families_for_members((8, 8), {"patches": {"n_members": 7}, "haar": {}}, seed=3)
    assert families == [PatchSums((8, 8), 7, seed=3), Haar((8, 8))]
    with pytest.raises(SettingError, match="unknown family of images of this shape 'har'"):
        families_for_members((8, 8), {"har": {}})
    with pytest.raises(SettingError, match="unknown setting of family 'haar' 'n'"):
        families_for_members((8, 8), {"haar": {"n": 1}})


@pytest.mark.parametrize("text", ["28", "28x", "axb", "2x3x4x5", "-1x3", "28*28", ""])
def test_bad_shapes(text: str) -> None:
    with pytest.raises(SettingError, match="as in 28x28 or 32x32x3, got"):
        parse_member_shape(text)


def test_an_example_is_stretched() -> None:
    digits = load_dataset("digits")
    image, low, high = image_for_members(digits, 3)
    np.testing.assert_array_equal(image, digits.X[3])
    assert (low, high) == (0, 16)
    larger, *_ = image_for_members(digits, 3, (16, 24))
    assert larger.shape == (16, 24)
    assert larger.dtype == np.uint8
    blocks = larger.reshape(8, 2, 8, 3).mean(axis=(1, 3))
    assert np.corrcoef(blocks.ravel(), image.ravel())[0, 1] > 0.95


@pytest.mark.parametrize(
    ("name", "example", "message"),
    [("diagonal(d=4,n=20)", 0, "is a table of 4 columns"), ("digits", 1797, "between 0 and 1796")],
)
def test_examples_that_are_not_there(name: str, example: int, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        image_for_members(load_dataset(name), example)
