"""The signed weights of a run against float64 arithmetic from the definitions."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.errors import SettingError
from boostsample.kernels.array_layout import matrix_of_rows
from boostsample.rows.sampling_schemes import SCHEMES
from boostsample.rows.weights import FULL_STEP, SignedWeights, initial_weights
from tests import naive
from tests.problems import noisy_labels


def labels(n: int, n_labels: int, seed: int = 0) -> NDArray[np.int8]:
    signs = np.random.default_rng(seed).random((n, n_labels)) < 0.4
    return np.where(signs, 1, -1).astype(np.int8)


@pytest.mark.parametrize("init", ["uniform", "balanced"])
@pytest.mark.parametrize("n_labels", [1, 2, 3, 10])
def test_initial_weights(init: str, n_labels: int) -> None:
    Y = labels(40, n_labels)
    Y[0], Y[1] = 1, -1  # rows with one side empty
    u = initial_weights(Y, init)
    np.testing.assert_allclose(u.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(u / u.sum(), naive.initial_weights(Y, init), rtol=1e-12)
    if init == "balanced" and n_labels > 1:
        both = (Y > 0).any(axis=1) & (Y < 0).any(axis=1)
        np.testing.assert_allclose((u * (Y > 0)).sum(axis=1)[both], 0.5)


def test_unknown_initial_weights() -> None:
    with pytest.raises(SettingError, match=r"'balance' \(did you mean 'balanced'\?\).*uniform"):
        initial_weights(labels(3, 2), "balance")


def reference(Y: NDArray[np.int8], u: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(Y * u / u.sum())


@pytest.mark.parametrize("n_labels", [1, 3, 10, 17])
def test_a_run_of_updates(n_labels: int) -> None:
    rng = np.random.default_rng(n_labels)
    n = 60
    Y, u = labels(n, n_labels), rng.random((n, n_labels)) + 0.01
    columns = rng.permutation(100)[:n]
    weights = SignedWeights(Y, u, columns)
    signed = reference(Y, u)
    for _ in range(20):
        column = rng.integers(0, 7, 100).astype(np.uint8)
        threshold = int(rng.integers(1, 7))
        phi = np.where(column[columns] >= threshold, 1, -1)
        sums = (signed * phi[:, None]).sum(axis=0)
        got = weights.label_sums(column, threshold)
        np.testing.assert_allclose(got, sums, atol=1e-6)
        votes = np.where(got >= 0, 1, -1).astype(np.int8)
        edge = float(np.abs(got).sum())
        alpha = naive.alpha_of(edge)
        weights.update(column, threshold, votes, FULL_STEP.factors(edge, weights.mass))
        signed = signed * np.exp(-alpha * np.sign(signed) * votes * phi[:, None])
        signed /= np.abs(signed).sum()
        rows = weights.exact()
        matrix = matrix_of_rows(rows.values, n, weights.width) * rows.scale
        np.testing.assert_allclose(matrix[:, :n_labels], signed, rtol=2e-5, atol=1e-12)
        np.testing.assert_allclose(rows.base * rows.scale, matrix.sum(axis=0), atol=1e-6)
        assert abs(np.abs(matrix).astype(np.float64).sum() - 1) < 1e-6


def test_samples_of_one_round_do_not_overwrite_each_other() -> None:
    weights = SignedWeights(labels(50, 3), np.ones((50, 3)), np.arange(50))
    rng = np.random.default_rng(0)
    for sizes in ((5, 40, 3), (20, 2, 49, 49)):
        held, copies = [], []
        for size in sizes:
            held.append(weights.draw(size, SCHEMES["distinct"], rng))
            copies.append(held[-1].values.copy())
        for rows, values in zip(held, copies, strict=True):
            np.testing.assert_array_equal(rows.values, values)
        weights.release()


def test_rounds_reuse_their_buffers() -> None:
    """Once warm, a round of exact and sampled work allocates far less than one matrix."""
    n = 40_000
    Y = noisy_labels(n, 10)
    weights = SignedWeights(Y, np.ones(Y.shape), np.arange(n))
    column = np.random.default_rng(0).integers(0, 5, n).astype(np.uint8)
    rng = np.random.default_rng(0)

    def one_round() -> None:
        weights.exact()
        weights.draw(500, SCHEMES["iid"], rng)
        weights.draw(500, SCHEMES["stratified"], rng)
        sums = weights.label_sums(column, 2)
        votes = np.where(sums >= 0, 1, -1).astype(np.int8)
        factors = FULL_STEP.factors(float(np.abs(sums).sum()), weights.mass)
        weights.update(column, 2, votes, factors)
        weights.release()

    one_round()
    tracemalloc.start()
    one_round()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n


def test_the_sums_are_exact_whatever_the_spread() -> None:
    """Sums over the examples run in float64: one heavy weight does not swallow the light ones."""
    n = 3000
    Y = np.ones((n, 1), np.int8)
    u = np.full((n, 1), 1e-9)
    u[0] = 1.0
    weights = SignedWeights(Y, u, np.arange(n))
    column = np.ones(n, np.uint8)
    column[0] = 0
    light = math.fsum(u[1:].ravel()) / math.fsum(u.ravel())
    got = float(weights.label_sums(column, 1)[0])
    assert got == pytest.approx(light - (1 - light), rel=1e-12)
