"""The signed weights of a run against float64 arithmetic from the definitions."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError
from boostsample.jit.vectors import LANES
from boostsample.kernels.array_layout import aligned, row_layout
from boostsample.rows.sampling_schemes import SCHEMES
from boostsample.rows.weights import FULL_STEP, WEIGHT_FLOOR, SignedWeights, initial_weights
from tests import naive
from tests.kernels.test_weight_update import from_planes
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


def test_the_padding_is_the_least_that_vectors_allow() -> None:
    for n_labels in range(1, 200):
        blocks, tail = row_layout(n_labels)
        assert tail in (0, 1, 2, 4)
        least = next(n for n in range(n_labels, n_labels + 8) if n % 8 in (0, 1, 2, 4))
        assert LANES * blocks + tail == least
    assert row_layout(26) == (3, 2)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_aligned_starts_on_a_cache_line(size: int) -> None:
    for dtype in (np.float32, np.uint8):
        array = aligned(size, dtype)
        assert array.shape == (size,)
        assert array.dtype == dtype
        assert array.ctypes.data % 64 == 0
        assert not array.any()


def reference(Y: NDArray[np.int8], u: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(Y * u / u.sum())


@pytest.mark.parametrize("n_labels", [1, 3, 10, 17, 26])
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
        matrix = from_planes(rows.values, n, weights.width) * rows.scale
        np.testing.assert_allclose(matrix[:, :n_labels], signed, rtol=2e-5, atol=1e-12)
        np.testing.assert_allclose(rows.base * rows.scale, matrix.sum(axis=0), atol=1e-6)
        assert abs(np.abs(matrix).astype(np.float64).sum() - 1) < 1e-6


def test_after_an_update_the_stump_has_edge_zero() -> None:
    """The weak learner is useless on the new weights ([SS99])."""
    Y = noisy_labels(50)
    weights = SignedWeights(Y, np.ones(Y.shape), np.arange(50))
    column = np.random.default_rng(0).integers(0, 5, 50).astype(np.uint8)
    sums = weights.label_sums(column, 2)
    votes = np.where(sums >= 0, 1, -1).astype(np.int8)
    factors = FULL_STEP.factors(float(np.abs(sums).sum()), weights.mass)
    weights.update(column, 2, votes, factors)
    assert abs(float((weights.label_sums(column, 2) * votes).sum())) < 1e-6


def test_all_examples_are_not_copied() -> None:
    weights = SignedWeights(labels(50, 3), np.ones((50, 3)), np.arange(50))
    first, second = weights.exact(), weights.exact()
    assert np.shares_memory(first.values, second.values)
    assert first.values.ctypes.data % 64 == 0


def test_weights_never_underflow() -> None:
    """An example that every round gets right stays above the floor and keeps its sign."""
    n = 20
    Y = np.ones((n, 1), np.int8)
    Y[0] = -1
    weights = SignedWeights(Y, np.ones((n, 1)), np.arange(n))
    column = np.full(n, 3, np.uint8)
    for _ in range(500):
        weights.update(column, 1, np.ones(1, np.int8), FULL_STEP.factors(0.5, weights.mass))
    rows = weights.exact()
    assert (np.abs(rows.values) >= np.float32(WEIGHT_FLOOR)).all()
    np.testing.assert_array_equal(np.sign(rows.values), Y[:, 0])
    assert rows.values[0] * rows.scale == pytest.approx(-1.0)


def test_state_and_restore() -> None:
    rng = np.random.default_rng(0)
    Y, column = labels(50, 3), rng.integers(0, 5, 50).astype(np.uint8)
    weights = SignedWeights(Y, rng.random((50, 3)), np.arange(50))
    votes = np.array([1, -1, 1], np.int8)
    weights.update(column, 2, votes, FULL_STEP.factors(0.2, weights.mass))
    state = weights.state()
    copied = {k: np.copy(v) for k, v in state.items()}

    def onwards() -> list[Any]:
        weights.update(column, 3, votes, FULL_STEP.factors(0.1, weights.mass))
        drawn = weights.draw(7, SCHEMES["iid"], np.random.default_rng(1))
        results = [weights.label_sums(column, 1), drawn.values.copy(), drawn.examples.copy()]
        weights.release()
        return results

    first = onwards()
    for name, value in state.items():
        np.testing.assert_array_equal(value, copied[name])  # a state is a copy
    weights.restore(state)
    for got, want in zip(onwards(), first, strict=True):
        np.testing.assert_array_equal(got, want)
    other = SignedWeights(labels(51, 3), np.ones((51, 3)), np.arange(51))
    with pytest.raises(DataError, match="204 padded label weights, got 200"):
        other.restore(state)


@pytest.mark.parametrize("columns", [np.arange(9, 59), np.random.default_rng(0).permutation(50)])
def test_a_sample_names_the_columns_of_its_examples(columns: NDArray[np.int64]) -> None:
    Y, u = labels(50, 3), np.random.default_rng(1).random((50, 3))
    plain, other = SignedWeights(Y, u, np.arange(50)), SignedWeights(Y, u, columns)
    want = plain.draw(20, SCHEMES["iid"], np.random.default_rng(2))
    got = other.draw(20, SCHEMES["iid"], np.random.default_rng(2))
    assert got.examples.tolist() == columns[want.examples].tolist()
    np.testing.assert_array_equal(got.values, want.values)


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
