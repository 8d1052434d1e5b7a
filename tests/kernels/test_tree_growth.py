"""Sums of the kernel that grows trees; `tests/learners/test_growth.py` compares whole trees."""

from __future__ import annotations

import math

import numpy as np
import pytest

from boostsample.kernels.tree_growth import MOST_SUMMED, exact_sum, row_total
from tests.compiled import called

_row_total, _exact_sum = called(row_total), called(exact_sum)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 15, 16, 17, 26, 100, MOST_SUMMED])
def test_totals_have_the_bits_of_numpy(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(20):
        numbers = rng.lognormal(0.0, 4.0, n)
        assert _row_total(numbers) == np.add.reduce(numbers)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, MOST_SUMMED])
def test_exact_sums_are_those_of_fsum(n: int) -> None:
    rng = np.random.default_rng(n)
    for spread in (0.0, 1.0, 10.0, 40.0):
        for _ in range(20):
            numbers = rng.lognormal(0.0, spread, n)
            assert _exact_sum(numbers) == math.fsum(numbers)


def test_exact_sums_round_half_to_even() -> None:
    for numbers in ([1.0, 2.0**-53, 2.0**-106], [1.0, 2.0**-53], [1.0 + 2.0**-52, 2.0**-53]):
        assert _exact_sum(np.array(numbers)) == math.fsum(numbers)
