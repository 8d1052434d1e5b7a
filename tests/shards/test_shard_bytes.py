"""Messages and bytes of a round: as the formulas of docs/shards.md, and within their limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostsample.banks.bank import FeatureBank
from boostsample.families import Columns
from boostsample.shards.exchange import LocalShards
from boostsample.shards.shard_source import ArraySource
from boostsample.strategies.laminating import laminating_stages
from tests.shards.shard_runs import shard_booster

N_BINS, N_LABELS = 256, 10
#: Bytes of a message and its answer beside their arrays, about.
OVERHEAD = 550


def wide_sources(n: int, n_features: int, n_shards: int) -> list[ArraySource]:
    """Features of 256 bins drawn at random, and ten classes that no feature knows."""
    rng = np.random.default_rng(0)
    few = FeatureBank.build([Columns([0], "x")], np.arange(255, dtype=np.float32)[:, None])
    cuts, n_bins = np.repeat(few.cuts, n_features, axis=0), np.repeat(few.n_bins, n_features)
    assert n_bins[0] == N_BINS
    families = [Columns(range(n_features), "x")]
    sources = []
    for part in np.array_split(np.arange(n), n_shards):
        bins = rng.integers(1, 256, (n_features, part.size)).astype(np.uint8)
        codes = rng.integers(0, N_LABELS, part.size)
        Y = np.where(np.arange(N_LABELS) == codes[:, None], 1, -1).astype(np.int8)
        sources.append(ArraySource(families, bins, cuts, n_bins, Y))
    return sources


def bytes_of(rounds: Any, name: str = "bytes") -> list[int]:
    return [done.rows[0][name] for done in rounds]


def predicted_uniform(n_shards: int, Q: int = 10) -> float:
    """Histograms in float64 and their last bins; 2 K + 4 numbers of the finish."""
    of_search = Q * (N_BINS * N_LABELS * 8 + 1 + 8)
    return n_shards * (of_search + 8 * (2 * N_LABELS + 4) + 2 * OVERHEAD)


def predicted_laminating(n: int, n_features: int, n_shards: int) -> tuple[float, int]:
    """Bytes of a round with equal weights, and exchanges."""
    stages = laminating_stages(None, n, n_features, 10 * n)
    different = [n * (1.0 - (1.0 - 1.0 / n) ** drawn) for _, drawn in stages]
    known_bins = known_weights = 0.0
    total = 0.0
    drawn_before = weights_before = 0
    for (Q, drawn), rows in zip(stages, different, strict=True):
        if drawn == n:
            total += n_shards * Q * (N_BINS * N_LABELS * 8 + 9)
            continue
        of_sums = N_BINS * N_LABELS * 4 * n_shards
        new = drawn - drawn_before
        by_rows = new < of_sums
        by_rows &= Q * (of_sums - new) > (drawn - weights_before) * 4 * N_LABELS
        if by_rows:
            total += Q * (rows - known_bins) + (rows - known_weights) * 4 * N_LABELS
            total += n_shards * Q * 8
            known_bins = known_weights = rows
            drawn_before = weights_before = drawn
        else:
            total += n_shards * Q * (N_BINS * N_LABELS * 4 + 9)
    n_exchanges = len(stages) + 1
    total += n_shards * (8 * (2 * N_LABELS + 4) + n_exchanges * OVERHEAD)
    return total, n_exchanges


@pytest.mark.parametrize("n_shards", [1, 3])
def test_uniform_naive(n_shards: int) -> None:
    shards = LocalShards(wide_sources(3000, 40, n_shards))
    booster = shard_booster("uniform-naive", shards=shards)
    rounds = [booster.next_round() for _ in range(4)]
    assert bytes_of(rounds, "messages") == [2 * n_shards] * 4
    np.testing.assert_allclose(bytes_of(rounds), predicted_uniform(n_shards), rtol=0.05)
    assert max(bytes_of(rounds)) / n_shards <= 250_000


@pytest.mark.parametrize("n_shards", [2, 4])
@pytest.mark.parametrize("n_features", [256, 400])
def test_laminating(n_features: int, n_shards: int) -> None:
    n = 60_000
    shards = LocalShards(wide_sources(n, n_features, n_shards))
    booster = shard_booster("laminating", shards=shards)
    rounds = [booster.next_round() for _ in range(2)]
    total, n_exchanges = predicted_laminating(n, n_features, n_shards)
    assert bytes_of(rounds, "messages") == [n_exchanges * n_shards] * 2
    np.testing.assert_allclose(bytes_of(rounds), total, rtol=0.05)
    assert max(bytes_of(rounds)) / n_shards <= 400_000


def test_messages_of_learners() -> None:
    """2 exchanges for each search of `full`, and one for each split."""
    booster = shard_booster("full", "tree:n_leaves=3")
    first = booster.next_round()
    n_splits = len(first.terms)
    later = booster.next_round()
    assert first.rows[0]["messages"] == 3 * (2 * len(first.rows) + n_splits)
    assert later.rows[0]["messages"] == 3 * (2 * len(later.rows) + len(later.terms))
    booster = shard_booster("full", "product:n_terms=2")
    for _ in range(2):
        done = booster.next_round()
        assert done.rows[0]["messages"] == 3 * 2 * len(done.rows)
