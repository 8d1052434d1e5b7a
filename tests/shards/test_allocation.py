"""Draws are shared among shards as stated, and vary no more than multinomial ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.shards.shard_targets import allocate, expected_sizes, pivotal_sizes

SHARES = np.array([0.05, 0.4, 0.001, 0.3, 0.249])
COUNTS = (30, 500, 40, 12, 60)
SCHEMES = ("iid", "stratified", "distinct", "filter", "a registered one")
SIZES = (1, 7, 7, 50, 400)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_sizes_ascend_and_sum_up(scheme: str) -> None:
    for seed in range(50):
        allocation = allocate(SIZES, SHARES, COUNTS, scheme, np.random.default_rng(seed))
        assert allocation.sizes.sum(axis=1).tolist() == list(SIZES)
        assert np.all(np.diff(allocation.sizes, axis=0, prepend=0) >= 0)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_units_make_every_shard_count_in_proportion_to_its_weight(scheme: str) -> None:
    """E[T_m unit_m] is T of joined samples, and 1 of the others: exactly or within the noise."""
    n, rng = 4000, np.random.default_rng(1)
    drawn = [allocate(SIZES, SHARES, COUNTS, scheme, rng) for _ in range(n)]
    if scheme == "distinct":
        counted = np.array([allocation.units for allocation in drawn])
        want = np.ones((len(SIZES), SHARES.size))
    else:
        counted = np.array([allocation.sizes * allocation.units for allocation in drawn])
        want = np.repeat(np.array(SIZES, float)[:, None], SHARES.size, axis=1)
    error = counted.std(axis=0) / np.sqrt(n)
    assert np.all(np.abs(counted.mean(axis=0) - want) <= 4.5 * error + 1e-9)


def test_expected_sizes_fill_small_shards() -> None:
    sizes = expected_sizes(400, SHARES, COUNTS)
    assert sizes.sum() == pytest.approx(400)
    full = sizes >= np.array(COUNTS) - 1e-9
    assert full.tolist() == [True, False, False, True, True]
    ratio = sizes[~full] / SHARES[~full]
    np.testing.assert_allclose(ratio, ratio[0])
    np.testing.assert_allclose(expected_sizes(10, SHARES, COUNTS), 10 * SHARES)
    np.testing.assert_allclose(expected_sizes(sum(COUNTS), SHARES, COUNTS), COUNTS)


def _pivotal(expected: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    rng = np.random.default_rng(5)
    return np.array([pivotal_sizes(expected, rng) for _ in range(n)])


def test_pivotal_sizes_round_down_or_up() -> None:
    expected = np.array([0.0, 2.3, 0.4, 5.0, 0.9, 1.4])
    sizes = _pivotal(expected, 5000)
    assert np.all((sizes == np.floor(expected)) | (sizes == np.ceil(expected)))
    assert set(sizes.sum(axis=1)) == {10}
    error = sizes.std(axis=0) / np.sqrt(len(sizes))
    assert np.all(np.abs(sizes.mean(axis=0) - expected) <= 4.5 * error + 1e-12)


@pytest.mark.parametrize("values", [(1, -1, 1, -1, 1), (1, 1, -1, -1, 0), (3, 0, 0, -2, 1)])
@pytest.mark.parametrize("size", [1, 2, 3, 17])
def test_pivotal_sizes_vary_no_more_than_multinomial_ones(
    size: int, values: tuple[int, ...]
) -> None:
    """The sum over draws of a number that each shard has, in an unlucky order, too."""
    shares = np.full(5, 0.2)
    totals = _pivotal(size * shares, 4000) @ np.array(values, float)
    mean = shares @ np.array(values, float)
    most = size * (shares @ np.array(values, float) ** 2 - mean**2)
    squares = (totals - size * mean) ** 2
    assert squares.mean() <= most + 4.5 * squares.std() / np.sqrt(len(totals)) + 1e-9


def test_a_shard_without_weight_draws_nothing() -> None:
    shares = np.array([0.0, 1.0])
    for scheme in SCHEMES:
        allocation = allocate([5], shares, [3, 9], scheme, np.random.default_rng(0))
        assert allocation.sizes.tolist() == [[0, 5]]
        assert np.isfinite(allocation.units).all()
