"""Example weights of any size: the loss is the product of sqrt(1 - edge^2), or one line says no."""

from __future__ import annotations

import numpy as np
import pytest

from boostsample import BoostSampleClassifier
from boostsample.errors import DataError

SMALLEST = 5e-324  # a denormal number


@pytest.fixture(scope="module")
def problem() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return rng.normal(size=(60, 4)), rng.integers(0, 3, 60)


@pytest.mark.parametrize("unit", [SMALLEST, 2e-310, 1e306])
def test_the_unit_of_the_weights_changes_nothing(
    problem: tuple[np.ndarray, np.ndarray], unit: float
) -> None:
    """Products of weights and label weights must not become denormal or infinite."""
    X, y = problem
    weight = np.random.default_rng(6).integers(1, 9, 60).astype(np.float64)
    model = BoostSampleClassifier(
        "laminating", "stump", n_rounds=20, learning_rate=1.0, random_state=0
    )
    want = model.fit(X, y, sample_weight=weight).decision_function(X)
    got = model.fit(X, y, sample_weight=weight * unit).decision_function(X)
    if unit == SMALLEST:  # whole units: nothing is rounded
        np.testing.assert_array_equal(got, want)
    signs = np.where(y[:, None] == np.arange(3), 1, -1)
    shares = weight[:, None] * np.where(signs > 0, 0.5, 0.25)
    loss = np.log10((shares * np.exp(-signs * got)).sum() / shares.sum())
    product = sum(0.5 * np.log10(1.0 - row["edge"] ** 2) for row in model.history_)
    assert loss == pytest.approx(product, abs=1e-6)
    assert model.history_[-1]["log10_loss"] == pytest.approx(product, abs=1e-12)


@pytest.mark.parametrize("smallest", [SMALLEST, 1e-200, 1e-25])
def test_weights_too_far_apart_are_refused(
    problem: tuple[np.ndarray, np.ndarray], smallest: float
) -> None:
    X, y = problem
    weight = np.where(np.arange(60) == 7, smallest, 1.0)
    with pytest.raises(DataError, match=r"1e\+24 times the least.* in row 7;.* weight 0 drops"):
        BoostSampleClassifier("laminating", "stump", n_rounds=2, random_state=0).fit(
            X, y, sample_weight=weight
        )


def test_weights_far_apart_are_kept(problem: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = problem
    weight = np.where(np.arange(60) < 30, 1e-20, 1.0)
    model = BoostSampleClassifier("laminating", "stump", n_rounds=20, random_state=0).fit(
        X, y, sample_weight=weight
    )
    assert model.score(X[30:], y[30:]) > model.score(X[:30], y[:30])
