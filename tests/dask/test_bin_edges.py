"""Bin edges of a table in parts: the stated procedure, and the error of its quantiles."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.banks.bank import FeatureBank
from boostsample.dask.summary import (
    REFERENCE,
    PartSummary,
    merged,
    sample_size,
    summarise,
)
from boostsample.errors import DataError
from boostsample.families import Columns


def summaries(
    X: NDArray[np.generic], ends: list[int], reference: int = REFERENCE
) -> list[PartSummary]:
    size = sample_size(len(ends) - 1, reference)
    y = np.arange(X.shape[0]) % 2
    return [
        summarise(X[a:b], y[a:b], None, number, size, "balanced")
        for number, (a, b) in enumerate(pairwise(ends))
    ]


def test_small_tables_have_the_edges_of_one_machine(rng: np.random.Generator) -> None:
    X = rng.normal(size=(3000, 3))
    X[:, 1] = rng.integers(0, 300, 3000)
    X[rng.random(X.shape) < 0.05] = np.nan
    whole = FeatureBank.build([Columns(range(3))], X)
    facts = merged(summaries(X, [0, 100, 2900, 3000]), None, REFERENCE)
    assert facts.n_reference == 3000
    np.testing.assert_array_equal(facts.cuts[0], whole.cuts)
    np.testing.assert_array_equal(facts.cuts[1], whole.n_bins)


def test_few_different_values_have_exact_edges_whatever_the_sample(
    rng: np.random.Generator,
) -> None:
    """Rare values are in no sample."""
    X = np.zeros((4000, 3))
    X[:, 0] = rng.normal(size=4000)
    X[:, 1] = rng.integers(0, 4, 4000)
    X[[5, 3999], 1] = -7.5, 1000
    X[77, 1] = np.nan
    X[:, 2] = np.nan
    facts = merged(summaries(X, [0, 1000, 2000, 3000, 4000], 100), None, 100)
    whole = FeatureBank.build([Columns(range(3))], X)
    assert facts.n_reference == 100
    np.testing.assert_array_equal(facts.cuts[0][1:], whole.cuts[1:])
    assert facts.cuts[1].tolist() == [101, 7, 2]


def test_each_part_gives_its_share_of_the_sample() -> None:
    """The first column is the part, the second the row."""
    ends = [0, 1000, 1500, 4000]
    X = np.stack([np.repeat([0, 1, 2], np.diff(ends)), np.arange(4000)], axis=1)
    parts = summaries(X, ends, 800)
    assert [part.sample.shape[0] for part in parts] == [534, 500, 534]
    assert merged(parts, None, 800).n_reference == 800
    for part in parts:
        rows = part.sample[:, 1]
        assert np.unique(rows).size == rows.size
    few = merged(parts, None, 300)
    assert few.n_reference == pytest.approx(300, abs=3)


def test_the_sample_depends_on_part_and_size_alone(rng: np.random.Generator) -> None:
    X = rng.normal(size=(500, 2))
    part, other = (summarise(X, np.arange(500) % 2, None, 3, 40, "uniform") for _ in range(2))
    np.testing.assert_array_equal(part.sample, other.sample)
    rows = np.flatnonzero(np.isin(X[:, 0], part.sample[:, 0]))
    moved = summarise(-X, np.arange(500) % 2, None, 3, 40, "uniform")
    assert np.flatnonzero(np.isin(-X[:, 0], moved.sample[:, 0])).tolist() == rows.tolist()
    next_part = summarise(X, np.arange(500) % 2, None, 4, 40, "uniform")
    assert not np.array_equal(next_part.sample, part.sample)


def test_quantiles_are_off_by_no_more_than_stated() -> None:
    """Ranks are their own quantiles: 24 columns in random orders, 6,000 sampled rows."""
    rng = np.random.default_rng(3)
    n, reference = 60_000, 6000
    X = np.stack([rng.permutation(n) for _ in range(24)], axis=1).astype(np.float32)
    facts = merged(summaries(X, [*range(0, n + 1, 6000)], reference), None, reference)
    off = facts.cuts[0].astype(np.float64) / n - np.arange(1, 255) / 255
    q = np.arange(1, 255) / 255
    deviation = np.sqrt(q * (1 - q) / reference)
    assert np.sqrt((off**2).mean(axis=0) / deviation**2).max() < 1.6
    assert np.abs(off).max() < np.sqrt(np.log(200) / (2 * reference)) + 1 / n
    assert np.sqrt((off**2).mean()) > 0.5 * deviation.mean()  # it is a sample


def test_weights_too_far_apart_in_different_parts_are_an_error() -> None:
    X, y = np.zeros((4, 1)), np.array([0, 1, 0, 1])
    parts = [summarise(X, y, np.full(4, w), at, 4, "uniform") for at, w in enumerate((1e-20, 1e20))]
    with pytest.raises(DataError, match="largest example weight must be at most 1e"):
        merged(parts, None, 10)
