"""Lost shards change no bit, or leave a state; messages and bytes are those of docs/shards.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.banks.bank import FeatureBank
from boostsample.errors import DataError, ShardError
from boostsample.families import Columns
from boostsample.files.json_text import pack_state, unpack_state
from boostsample.loop.checkpoint import Checkpoint
from boostsample.shards.exchange import LocalShards, Lost
from boostsample.shards.server import ArraySource, ShardData
from boostsample.strategies.laminating import laminating_stages
from tests.loop.checkpoint_runs import bits
from tests.shards.shard_runs import LosingShards, random_losses, shard_booster, small_sources

LEARNERS = ("stump", "product:n_terms=2", "tree:n_leaves=4")
STRATEGIES = ("laminating", "mas-1q", "filterboost", "laminating:scheme=distinct")


def trained(booster: Any) -> list[Any]:
    rounds = []
    while not booster.finished:
        rounds.append(booster.next_round())
    return rounds


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_lost_shards_change_no_bit(strategy: str, learner: str, late: bool) -> None:
    straight = bits(trained(shard_booster(strategy, learner)))
    for seed in range(2):
        shards = LosingShards(small_sources(), random_losses(seed, 2000, 3), late)
        booster = shard_booster(strategy, learner, shards)
        assert bits(trained(booster)) == straight
        assert booster.exchange.n_lost == shards.lost > 0


@pytest.mark.parametrize("learner", LEARNERS[::2])
def test_lost_shards_change_no_bit_of_real_values(learner: str) -> None:
    straight = bits(trained(shard_booster(learner=learner, objective="real-mh")))
    shards = LosingShards(small_sources(), random_losses(0, 2000, 3), late=True)
    booster = shard_booster(learner=learner, shards=shards, objective="real-mh")
    assert bits(trained(booster)) == straight
    assert booster.exchange.n_lost == shards.lost > 0


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_exchange_can_be_the_one(learner: str) -> None:
    """Loading, too: each shard is lost at each exchange of a short run."""
    straight = bits(trained(shard_booster(learner=learner, n_rounds=3)))
    n = 0
    while True:
        shards = LosingShards(small_sources(), {n: [n % 3], n + 1: [n % 3]}, late=False)
        assert bits(trained(shard_booster(learner=learner, shards=shards, n_rounds=3))) == straight
        if not shards.lost:
            break
        n += 1
    assert n > 7


class FailingShards(LocalShards):
    """The cluster is gone after some exchanges."""

    left = 10**9

    def exchange(self, messages: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            return {k: Lost("a test") for k in messages}
        return super().exchange(messages)

    def revive(self, lost: Any) -> None:
        raise ShardError("no worker is left")


def without_messages(rounds: list[Any]) -> list[Any]:
    """Rounds as they are without `bytes` and `messages`: the first draw may ask for masses."""
    for done in rounds:
        for row in done.rows:
            row["bytes"] = row["messages"] = 0
    return rounds


@pytest.mark.parametrize("left", [0, 1, 2, 5])
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_lost_cluster_leaves_a_state(learner: str, left: int) -> None:
    """`small_state` needs no shard; another booster goes on from it to the same bits."""
    straight = bits(without_messages(trained(shard_booster(learner=learner))))
    shards = FailingShards(small_sources())
    booster = shard_booster(learner=learner, shards=shards)
    rounds = [booster.next_round() for _ in range(3)]
    shards.left = left
    with pytest.raises(ShardError, match="no worker is left"):
        rounds.extend(iter(booster.next_round, None))
    assert len(rounds) == booster.round < 7
    state = unpack_state(pack_state(booster.small_state()))
    other = shard_booster(learner=learner)
    other.replay([done.terms for done in rounds], [done.edge for done in rounds], state)
    assert bits(without_messages([*rounds, *trained(other)])) == straight


@pytest.mark.parametrize("learner", LEARNERS)
def test_checkpoint_of_a_lost_cluster(learner: str, tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    straight = bits(without_messages(trained(shard_booster(learner=learner))))
    shards = FailingShards(small_sources())
    booster = shard_booster(learner=learner, shards=shards)
    with Checkpoint(path, booster) as checkpoint:
        for _ in range(4):
            checkpoint.next_round()
        shards.left = 1
        with pytest.raises(ShardError):
            list(iter(checkpoint.next_round, None))
    again = shard_booster(learner=learner)
    with Checkpoint(path, again) as checkpoint:
        assert checkpoint.n_resumed == booster.round >= 4
        while not again.finished:
            checkpoint.next_round()
    assert bits(without_messages(checkpoint.rounds)) == straight


@dataclass
class _Changing:
    """A source whose rows, labels or weights change after `n` times."""

    source: Any
    change: str
    n: int

    def load(self) -> Any:
        self.n -= 1
        bank, Y, weight = self.source.load()
        if self.n >= 0:
            return ShardData(bank, Y, weight)
        bins = bank.bins.copy()
        bins[0, 1] += self.change == "bins"
        Y, weight = Y.copy(), np.ones(len(Y))
        Y[1] *= -1 if self.change == "labels" else 1
        weight[1] += 1e-9 * (self.change == "weights")
        return ShardData(FeatureBank(bank.families, bins, bank.cuts, bank.n_bins), Y, weight)


@pytest.mark.parametrize("change", ["bins", "labels", "weights", "nothing"])
def test_a_lost_shard_must_be_loaded_with_the_same_rows(change: str) -> None:
    straight = bits(trained(shard_booster()))
    sources: Any = small_sources()
    sources[1] = _Changing(sources[1], change, 1)
    shards = LosingShards(sources, {9: [1]}, late=False)
    booster = shard_booster(shards=shards)
    if change == "nothing":
        assert bits(trained(booster)) == straight
        assert shards.lost
        return
    with pytest.raises(DataError, match="shard 1 was loaded again with other rows, labels or wei"):
        trained(booster)


def test_a_state_of_other_rows_is_refused() -> None:
    booster = shard_booster()
    rounds = [booster.next_round() for _ in range(3)]
    state = booster.small_state()
    weight = np.ones(120)
    weight[5] = 2.0
    other = shard_booster(shards=LocalShards(small_sources(weight=weight)))
    replayed = [done.terms for done in rounds], [done.edge for done in rounds]
    with pytest.raises(DataError, match="the weights after 3 rounds"):
        other.replay(*replayed, state)
    assert other.finished, "its weights are those of the updates"


class _Broken(Exception):
    pass


class BreakingShards(LocalShards):
    """One exchange is broken off when some shards have answered, as by Ctrl-C."""

    at = -1

    def exchange(self, messages: Any) -> Any:
        self.at -= 1
        if self.at == 0:
            super().exchange({k: message for k, message in messages.items() if k == 1})
            raise _Broken
        return super().exchange(messages)


def test_an_exchange_that_is_broken_off_is_made_good() -> None:
    """Shards that are a message ahead of others are told all again."""
    plain = shard_booster("full")
    plain_rounds, plain_states = [], [plain.state()]
    while not plain.finished:
        plain_rounds.append(plain.next_round())
        plain_states.append(plain.state())
    without_messages(plain_rounds)
    shards = BreakingShards(small_sources())
    booster = shard_booster("full", shards=shards)
    rounds = [booster.next_round() for _ in range(2)]
    for at in (1, 2):
        shards.at = at
        with pytest.raises(_Broken):
            booster.next_round()
        if at == 1:
            assert pack_state(booster.state()) == pack_state(plain_states[booster.round])
        rounds.append(booster.next_round())
    rounds += trained(booster)
    assert bits(without_messages(rounds)) == bits(plain_rounds)


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
