"""Data that several tests of the classifier share."""

from __future__ import annotations

from typing import Any

import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris

from boostsample import BoostSampleClassifier

Data = tuple[NDArray[Any], NDArray[Any]]


@pytest.fixture(scope="session")
def digits() -> Data:
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


@pytest.fixture(scope="session")
def iris() -> Data:
    X, y = load_iris(return_X_y=True)
    return X, y


def classifier(**settings: Any) -> BoostSampleClassifier:
    """Stumps, whose rounds are one search each."""
    stumps = {"strategy": "laminating:scheme=distinct", "learner": "stump"}
    return BoostSampleClassifier(**{**stumps, **settings})
