"""Data that several tests of the classifier share."""

from __future__ import annotations

from typing import Any

import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris

Data = tuple[NDArray[Any], NDArray[Any]]


@pytest.fixture(scope="session")
def digits() -> Data:
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


@pytest.fixture(scope="session")
def iris() -> Data:
    X, y = load_iris(return_X_y=True)
    return X, y
