"""Bounds of stability selection: naive twins, from the definition of r-concave distributions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.classifier.stable_selection import (
    concave_tail,
    expected_false,
    needed_shares,
    usual_chosen,
)

CASES = [(10, -0.5, 0.1, 5), (10, -0.25, 0.15, 6), (20, -0.5, 0.02, 4), (30, -0.25, 0.01, 20)]


def mean_of(f: NDArray[np.float64]) -> float:
    return float(f @ np.arange(f.size) / f.sum() / (f.size - 1))


def with_mean(h: NDArray[np.float64], n: int, r: float, mean: float) -> NDArray[np.float64]:
    """The density (c + h)^(1 / r) on the first points of {0, ..., n} that has the mean, or less."""
    f = np.zeros(n + 1)
    low, high = 1e-9, 1e9  # a larger c is closer to the uniform density
    for _ in range(60):
        c = math.sqrt(low * high)
        f[: h.size] = ((c + h) / (c + h.min())) ** (1 / r)
        low, high = (c, high) if mean_of(f) <= mean else (low, c)
    f[: h.size] = ((low + h) / (low + h.min())) ** (1 / r)
    return np.asarray(f / f.sum())


@pytest.mark.parametrize(("n", "r", "mean", "at_least"), CASES)
def test_no_concave_distribution_has_a_larger_tail(
    n: int, r: float, mean: float, at_least: int
) -> None:
    rng = np.random.default_rng(0)
    bound = concave_tail(mean, at_least, n, r)
    largest = 0.0
    for _ in range(300):
        slopes = np.sort(rng.standard_cauchy(rng.integers(1, n + 1)))  # h is convex
        if rng.random() < 0.5:  # most are wasted otherwise: one line with an end, or without
            slopes[:-1] = 1.0
            slopes[-1] = 1.0 + rng.exponential(3.0) * rng.integers(2)
        h = np.concatenate([[0.0], np.cumsum(slopes)])
        f = with_mean(h - h.min(), n, r, mean)
        if mean_of(f) <= mean * (1 + 1e-9):
            largest = max(largest, float(f[at_least:].sum()))
    assert 0.9 * bound < largest <= bound * (1 + 1e-6)


@pytest.mark.parametrize(("n", "r", "mean", "at_least"), CASES)
def test_a_concave_distribution_has_the_tail(n: int, r: float, mean: float, at_least: int) -> None:
    """One line on 0 to k, then less on k + 1, or nothing."""
    lines = [np.arange(k + 1.0) for k in range(at_least, n + 1)]
    ends = np.append(0.0, np.geomspace(1e-3, 1e3, 20))
    shapes = [np.append(line, line[-1] + 1 + end) for line in lines[:-1] for end in ends]
    tails = [with_mean(h, n, r, mean)[at_least:].sum() for h in (*lines, *shapes)]
    assert concave_tail(mean, at_least, n, r) == pytest.approx(max(tails), rel=1e-2)
    assert concave_tail(mean, at_least, n, r) >= max(tails) * (1 - 1e-6)


def test_tails_at_the_ends() -> None:
    assert concave_tail(0.2, 4, 10, -0.5) == 1.0  # not more than twice the mean: uniform on 0 to 4
    assert concave_tail(0.2, 11, 10, -0.5) == 0.0
    tails = [concave_tail(0.01, at_least, 50, -0.5) for at_least in range(51)]
    assert tails == sorted(tails, reverse=True)


def test_the_worst_case_is_that_of_the_paper() -> None:
    assert expected_false(10, 1000, 75, 50, "worst-case") == pytest.approx(100 / (0.5 * 1000))
    assert expected_false(10, 1000, 50, 50, "worst-case") == math.inf
    assert expected_false(10, 1000, 75, 50, "r-concave") < 0.03


@pytest.mark.parametrize("bound", ["worst-case", "r-concave"])
def test_thresholds_and_numbers_are_the_least_and_the_most(bound: str) -> None:
    for n_chosen, p, allowed in ((5, 64, 1.0), (10, 300, 0.5), (20, 30_000, 1.0)):
        shares = needed_shares(n_chosen, p, 50, allowed, bound)
        assert shares is not None
        assert expected_false(n_chosen, p, shares, 50, bound) <= allowed
        assert shares == 60 or expected_false(n_chosen, p, shares - 1, 50, bound) > allowed
    assert needed_shares(60, 64, 50, 1.0, bound) is None
    usual = usual_chosen(64, 50, 1.0, bound)
    assert (
        expected_false(usual, 64, 75, 50, bound) <= 1 < expected_false(usual + 1, 64, 75, 50, bound)
    )
    assert usual_chosen(30_000, 50, 1.0, bound) == 20
    assert usual_chosen(1, 50, 1e-9, bound) == 1
