"""What rounding adds up to over very many rounds."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from boostsample.labels import encode
from boostsample.loop.booster import Booster
from boostsample.models.model import Model
from boostsample.registry import make_strategy
from tests.problems import bank_of

slow_without_jit = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"),
    reason="takes hours without compiled kernels",
)


def log_loss_of(scores: NDArray[np.float64], Y: NDArray[np.int8]) -> float:
    """log of the mean of exp(-y f) over examples and labels: uniform initial weights."""
    exponents = -Y * scores
    top = exponents.max()
    return float(top + math.log(np.mean(np.exp(exponents - top))))


def digits(noise: float) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """The digits, a share of them with labels drawn at random."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    wrong = rng.random(len(y)) < noise
    y = np.where(wrong, rng.integers(0, 10, len(y)), y)
    return X.astype(np.float32), encode(y, 10)


@slow_without_jit
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_loss_is_the_product_of_the_edges_after_10_000_rounds(noise: float) -> None:
    """[SS99] Theorem 1, with equality for the votes and alphas in use: 1e-3 of the loss itself."""
    X, Y = digits(noise)
    bank = bank_of(X)
    booster = Booster(
        bank,
        None,
        Y,
        make_strategy("uniform-naive"),
        n_rounds=10_000,
        weight_init="uniform",
        budget=2 * len(X),
        rng=0,
    )
    rounds = [booster.next_round() for _ in range(10_000)]
    model = Model(bank.families, [term for done in rounds for term in done.terms], 10)
    told = float(rounds[-1].rows[0]["log10_loss"]) * math.log(10.0)
    assert told < -1.0  # it has learned something
    assert math.expm1(told - log_loss_of(model.decision_function(X), Y)) == pytest.approx(
        0.0, abs=1e-3
    )
