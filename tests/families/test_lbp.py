"""Local binary patterns against their definition in fractions, and what they do not notice."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.families import ILBP, LBP

SHAPES: list[tuple[int, ...]] = [(3, 3), (5, 7), (4, 3, 2), (6, 5, 3)]
WEIGHTS = [[1, 2, 4], [8, 256, 16], [32, 64, 128]]


def naive_codes(image: NDArray[Any], kind: type[LBP]) -> dict[str, int]:
    """Codes by name, from the definition in fractions, for one (h, w, c) image."""
    codes = {}
    height, width, channels = image.shape
    for r in range(1, height - 1):
        for c in range(1, width - 1):
            for k in range(channels):
                window = [
                    [Fraction(float(image[r + i, c + j, k])) for j in (-1, 0, 1)]
                    for i in (-1, 0, 1)
                ]
                mean = sum(map(sum, window), Fraction(0)) / 9
                code = 0
                for i in range(3):
                    for j in range(3):
                        if kind is ILBP:
                            code += WEIGHTS[i][j] * (window[i][j] > mean)
                        elif (i, j) != (1, 1):
                            code += WEIGHTS[i][j] * (window[i][j] >= window[1][1])
                end = f", channel {k}" if channels > 1 else ""
                word = "iLBP" if kind is ILBP else "LBP"
                codes[f"{word} at row {r}, column {c}{end}"] = code
    return codes


def pictures(shape: tuple[int, ...]) -> dict[str, NDArray[Any]]:
    """Images with many ties, with few, flat ones, and extreme ones."""
    rng = np.random.default_rng(list(shape))
    few = rng.integers(0, 3, (6, *shape))
    return {
        "bytes": rng.integers(0, 256, (6, *shape), dtype=np.uint8),
        "few levels": few.astype(np.uint8),
        "few negative levels": few.astype(np.float32) - 2,
        "tenths": few.astype(np.float32) * np.float32(0.1),
        "real": rng.normal(size=(6, *shape)).astype(np.float32),
        "huge": (rng.normal(size=(6, *shape)) * 1e14).astype(np.float32),
        "tiny": (rng.normal(size=(6, *shape)) * 1e-38).astype(np.float32),
        "flat": np.full((1, *shape), np.float32(0.1)),
        "white": np.full((1, *shape), 255, np.uint8),
    }


def codes(kind: type[LBP], images: NDArray[Any]) -> NDArray[np.float32]:
    family = kind(images.shape[1:])
    return family.compute(images, range(family.n_features))


@pytest.mark.parametrize("kind", [LBP, ILBP])
@pytest.mark.parametrize("shape", SHAPES)
def test_equals_its_naive_twin(shape: tuple[int, ...], kind: type[LBP]) -> None:
    for what, images in pictures(shape).items():
        family = kind(shape)
        names = [family.feature_name(j) for j in range(family.n_features)]
        for image, row in zip(images, codes(kind, images), strict=True):
            want = naive_codes(image.reshape(*shape[:2], -1), kind)
            assert dict(zip(names, row.tolist(), strict=True)) == want, what


@pytest.mark.parametrize(
    ("window", "lbp", "ilbp"),
    [
        ([[6, 5, 2], [7, 6, 1], [9, 3, 7]], 1 + 8 + 32 + 128, 1 + 8 + 256 + 32 + 128),
        ([[5, 5, 5], [5, 5, 5], [5, 5, 5]], 255, 0),
        ([[5, 5, 5], [5, 6, 5], [5, 5, 5]], 0, 256),
        ([[5, 5, 5], [5, 4, 5], [5, 5, 5]], 255, 255),
        ([[9, 0, 0], [0, 1, 0], [0, 0, 0]], 1, 1),
        ([[0, 0, 0], [0, 1, 0], [0, 9, 8]], 64 + 128, 64 + 128),
        ([[1, 2, 3], [4, 5, 6], [7, 8, 9]], 16 + 32 + 64 + 128, 16 + 32 + 64 + 128),
    ],
)
def test_known_codes(window: list[list[int]], lbp: int, ilbp: int) -> None:
    for dtype in (np.uint8, np.float32, np.int64):
        assert codes(LBP, np.array([window], dtype)).tolist() == [[lbp]]
        assert codes(ILBP, np.array([window], dtype)).tolist() == [[ilbp]]


def test_names_and_numbers() -> None:
    assert [kind((28, 28)).n_features for kind in (LBP, ILBP)] == [676, 676]
    assert LBP((32, 32, 3)).n_features == 2700
    family = LBP((28, 28))
    assert [family.feature_name(j) for j in (0, 26, 675)] == [
        "LBP at row 1, column 1",
        "LBP at row 2, column 1",
        "LBP at row 26, column 26",
    ]
    assert ILBP((4, 5, 3)).feature_name(4) == "iLBP at row 1, column 2, channel 1"
    assert (LBP((3, 3)).name, ILBP((3, 3)).name, ILBP((3, 3), "x").name) == ("lbp", "ilbp", "x")
    assert LBP((3, 3), "x") != ILBP((3, 3), "x")


def test_equals_scikit_image_where_that_does_not_interpolate() -> None:
    feature = pytest.importorskip("skimage.feature", reason="scikit-image is not installed")
    images = np.random.default_rng(3).integers(0, 9, (5, 8, 9), dtype=np.uint8)
    ours = codes(LBP, images).astype(int).reshape(5, 6, 7)
    four = np.array([feature.local_binary_pattern(x, 4, 1)[1:-1, 1:-1] for x in images], int)
    eight = np.array([feature.local_binary_pattern(x, 8, 1)[1:-1, 1:-1] for x in images], int)
    # Right, up, left and down: its bits 0 .. 3 of four, every second one of eight.
    for number, weight in enumerate((16, 2, 8, 64)):
        np.testing.assert_array_equal(four >> number & 1, ours // weight & 1)
        np.testing.assert_array_equal(eight >> 2 * number & 1, ours // weight & 1)
    # Its corners lie on a circle, between the pixels.
    for number, weight in enumerate((4, 1, 32, 128)):
        assert ((eight >> (2 * number + 1) & 1) != ours // weight & 1).any()
