"""Labels in and predictions out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostsample.errors import DataError
from boostsample.labels import classify, encode


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int16])
def test_class_codes(dtype: Any) -> None:
    Y = encode(np.array([0, 3, 1], dtype))
    assert Y.dtype == np.int8
    np.testing.assert_array_equal(Y, [[1, -1, -1, -1], [-1, -1, -1, 1], [-1, 1, -1, -1]])
    assert encode([0, 1], n_classes=3).shape == (2, 3)


def test_two_classes_are_one_label() -> None:
    np.testing.assert_array_equal(encode([0, 1, 1]), [[-1], [1], [1]])
    np.testing.assert_array_equal(encode([0, 0], n_classes=2), [[-1], [-1]])


@pytest.mark.parametrize("dtype", [np.int8, np.float64, np.bool_])
def test_indicators(dtype: Any) -> None:
    y = np.array([[0, 0], [1, 1], [0, 1]], dtype)
    np.testing.assert_array_equal(encode(y), [[-1, -1], [1, 1], [-1, 1]])
    np.testing.assert_array_equal(encode(y[:, :1]), [[-1], [1], [-1]])


@pytest.mark.parametrize(
    ("y", "n_classes", "message"),
    [
        ([0.0, 1.0], None, "must be class codes"),
        (["a", "b"], None, "must be class codes"),
        ([0, 0], None, "at least 2 classes, got 1"),
        ([0, -1], 3, "between 0 and 2, got -1 to 0"),
        ([0, 3], 3, "between 0 and 2, got 0 to 3"),
        ([[0, 2]], None, "0 and 1 only"),
        (np.empty(0, np.int64), 3, "at least one"),
    ],
)
def test_bad_labels(y: Any, n_classes: int | None, message: str) -> None:
    with pytest.raises(DataError, match=message):
        encode(y, n_classes)


def test_classify() -> None:
    scores = np.array([[0.0, 0.0, -1.0], [-2.0, -1.0, -1.0], [1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(classify(scores), [0, 1, 2])  # the first wins a tie
    np.testing.assert_array_equal(classify(scores, multi_label=True), [[0, 0, 0]] * 2 + [[1] * 3])
    column = np.array([[0.0], [1e-9], [-1.0]])
    np.testing.assert_array_equal(classify(column), [0, 1, 0])
    np.testing.assert_array_equal(classify(column, multi_label=True), [[0], [1], [0]])
