"""What holds for every policy: choice, learning, state, and the checks of what it is given."""

from __future__ import annotations

import inspect
import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample import bandits
from boostsample.bandits import (
    UCB1,
    UCBV,
    EpsilonGreedy,
    Exp3P,
    ExploreThenCommit,
    Hedge,
    IndexPolicy,
    Policy,
)
from boostsample.errors import SettingError

N_STEPS = 1_000
MEANS = np.array([0.3, 0.5, 0.45, 0.2, 0.5, 0.1, 0.35])
BUILDERS: dict[str, Callable[[int], Policy]] = {
    "ucb": UCB1,
    "ucb-narrow": lambda n: UCB1(n, exploration=0.1),
    "ucbv": UCBV,
    "ucbv-multiboost": lambda n: UCBV(n, c=1 / 3),
    "exp3p": lambda n: Exp3P(n, horizon=N_STEPS),
    "exp3p-theory": lambda n: Exp3P(n, N_STEPS, mixing="theory", bonus="theory"),
    "epsilon-greedy": EpsilonGreedy,
    "epsilon-greedy-decreasing": lambda n: EpsilonGreedy(n, schedule="decreasing", initial=0.0),
    "explore-then-commit": lambda n: ExploreThenCommit(n, n_pulls=3),
    "explore-then-commit-turns": lambda n: ExploreThenCommit(n, n_pulls=3, order="round-robin"),
    "hedge": Hedge,
    "hedge-fast": lambda n: Hedge(n, eta=100.0),
}
every_policy = pytest.mark.parametrize("build", BUILDERS.values(), ids=BUILDERS.keys())


def pay(arms: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Rewards in [0, 1] with the means MEANS, some of them 0 and some 1."""
    noise = rng.uniform(-0.5, 0.5, arms.size)
    return np.clip(MEANS[arms] + noise, 0.0, 1.0)


def play(
    policy: Policy, n_steps: int, rng: np.random.Generator, k: int = 1
) -> list[tuple[list[int], list[float]]]:
    log = []
    for _ in range(n_steps):
        arms = policy.select(rng, k)
        rewards = pay(arms, rng)
        policy.update(arms, rewards)
        log.append((arms.tolist(), rewards.tolist()))
    return log


def same_state(one: Policy, other: Policy) -> bool:
    a, b = one.state(), other.state()
    return set(a) == set(b) and all(
        np.array_equal(a[n], b[n]) and np.asarray(a[n]).dtype == np.asarray(b[n]).dtype for n in a
    )


def test_every_policy_is_tested() -> None:
    known = {c for c in vars(bandits).values() if inspect.isclass(c) and issubclass(c, Policy)}
    assert {type(b(2)) for b in BUILDERS.values()} == known - {Policy, IndexPolicy}


@every_policy
def test_selects_exactly_k_different_arms(build: Callable[[int], Policy]) -> None:
    policy, rng = build(7), np.random.default_rng(4)
    for _ in range(300):
        k = int(rng.integers(1, 8))
        arms = policy.select(rng, k)
        assert arms.dtype == np.int64
        assert arms.shape == (k,)
        assert np.unique(arms).size == k
        policy.update(arms, pay(arms, rng))
    assert policy.n_steps_ == 300
    arms = policy.select(rng, 7)
    assert sorted(arms.tolist()) == list(range(7))


@every_policy
def test_rewards_reach_a_policy_only_through_update(build: Callable[[int], Policy]) -> None:
    """No hidden first pass over the arms: pulls are exactly those that were rewarded."""
    policy, rng = build(7), np.random.default_rng(0)
    fresh = policy.state()
    policy.select(rng)
    if not isinstance(policy, Exp3P):
        assert all(np.array_equal(policy.state()[name], fresh[name]) for name in fresh)
        play(policy, 100, rng, 2)
        if not isinstance(policy, Hedge):  # which counts nothing
            assert vars(policy)["counts_"].sum() == 200


@every_policy
def test_the_better_of_two_arms_wins(build: Callable[[int], Policy]) -> None:
    policy, rng = build(2), np.random.default_rng(6)
    pulls = np.zeros(2)
    for _ in range(2_000):
        arms = policy.select(rng)
        policy.update(arms, (rng.random(1) < (0.15, 0.85)[arms[0]]).astype(float))
        pulls[arms] += 1
    assert pulls[1] > 1.8 * pulls[0]


@every_policy
@pytest.mark.parametrize("k", [1, 2])
def test_same_seed_same_pulls(build: Callable[[int], Policy], k: int) -> None:
    log = play(build(7), 100, np.random.default_rng(9), k)
    assert play(build(7), 100, np.random.default_rng(9), k) == log


@every_policy
def test_one_arm(build: Callable[[int], Policy]) -> None:
    policy, rng = build(1), np.random.default_rng(0)
    for _ in range(20):
        assert policy.select(rng).tolist() == [0]
        policy.update(0, 0.5)
    if isinstance(policy, Exp3P | Hedge):
        assert policy.probabilities().tolist() == [1.0]


@every_policy
@pytest.mark.parametrize("k", [1, 3])
def test_a_restored_run_equals_a_straight_one(
    build: Callable[[int], Policy], k: int, tmp_path: Path
) -> None:
    """Through files without pickles; also when the break falls between select and update."""
    straight, rng = build(7), np.random.default_rng(11)
    log = play(straight, 400, rng, k)

    first, rng = build(7), np.random.default_rng(11)
    head = play(first, 199, rng, k)
    arms = first.select(rng, k)

    state = first.state()
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in state.items() if name not in arrays}
    np.savez(tmp_path / "arrays.npz", allow_pickle=False, **arrays)
    (tmp_path / "plain.json").write_text(json.dumps([plain, rng.bit_generator.state]))
    with np.load(tmp_path / "arrays.npz", allow_pickle=False) as file:
        loaded = dict(file)
    plain, generator = json.loads((tmp_path / "plain.json").read_text())

    second, rng = build(7), np.random.default_rng(0)
    second.restore({**plain, **loaded})
    rng.bit_generator.state = generator
    rewards = pay(arms, rng)
    second.update(arms, rewards)
    tail = play(second, 200, rng, k)
    assert [*head, (arms.tolist(), rewards.tolist()), *tail] == log
    assert same_state(second, straight)
    assert same_state(pickle.loads(pickle.dumps(second)), straight)


def test_state_is_a_copy() -> None:
    policy = UCB1(2)
    state = policy.state()
    policy.update(1, 0.5)
    assert state["counts_"].tolist() == [0, 0]
    other = UCB1(2)
    other.restore(state)
    other.update(0, 0.5)
    assert state["counts_"].tolist() == [0, 0]


def test_restore_refuses_what_does_not_fit() -> None:
    policy = UCB1(3)
    with pytest.raises(SettingError, match="has policy 'UCBV'"):
        policy.restore(UCBV(3).state())
    with pytest.raises(SettingError, match="n_arms': 4"):
        policy.restore(UCB1(4).state())
    with pytest.raises(
        SettingError, match="has the parts counts_, n_steps_, sums_; got n_steps_, sums"
    ):
        policy.restore({k: v for k, v in policy.state().items() if k != "counts_"})
    with pytest.raises(SettingError, match=r"sums_ must have shape \(3,\).*damaged"):
        policy.restore({**policy.state(), "n_steps_": 5, "sums_": np.zeros(2)})
    assert policy.n_steps_ == 0


@every_policy
@pytest.mark.parametrize("n_arms", [1, 3])
def test_settings_rebuild_the_policy(build: Callable[[int], Policy], n_arms: int) -> None:
    policy = build(n_arms)
    assert set(policy.settings()) == set(inspect.signature(type(policy)).parameters)
    twin = type(policy)(**policy.settings())
    assert twin.settings() == policy.settings()
    twin.restore(policy.state())
    assert repr(policy).startswith(f"{type(policy).__name__}(n_arms={n_arms}")


@every_policy
def test_selections_are_checked(build: Callable[[int], Policy]) -> None:
    policy, rng = build(3), np.random.default_rng(0)
    with pytest.raises(SettingError, match="k must be an integer at least 1, got 0"):
        policy.select(rng, 0)
    with pytest.raises(SettingError, match="at most the number of arms, 3, got 4; pull fewer"):
        policy.select(rng, 4)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: UCB1(0), "n_arms must be an integer at least 1, got 0"),
        (lambda: UCB1(cast(int, 2.5)), "n_arms must be an integer at least 1, got 2.5"),
        (lambda: UCB1(2, -0.1), "exploration must be at least 0 and finite, got -0.1"),
        (lambda: UCB1(2, math.nan), "exploration must be at least 0 and finite, got nan"),
        (lambda: UCB1(2, math.inf), "exploration must be at least 0 and finite, got inf"),
        (lambda: UCB1(2, cast(float, "wide")), "exploration must be a number, got 'wide'"),
        (lambda: UCBV(2, c=-1), "c must be at least 0"),
        (lambda: UCBV(2, zeta=-1), "zeta must be at least 0"),
        (lambda: Exp3P(2, 0), "horizon must be an integer at least 1, got 0"),
        (lambda: Exp3P(2, 10, 0.0), "mixing must be above 0 and at most 1, got 0"),
        (lambda: Exp3P(2, 10, 1.5), "mixing must be above 0 and at most 1, got 1.5"),
        (
            lambda: Exp3P(2, 10, cast(Any, "best")),
            "mixing must be a number or \"theory\", got 'best'",
        ),
        (lambda: Exp3P(2, 10, bonus=-1.0), "bonus must be at least 0"),
        (lambda: Exp3P(2, 10, delta=0.0), "delta must be above 0"),
        (lambda: Exp3P(2, 10, delta=1.0), "delta must be below 1, got 1"),
        (
            lambda: EpsilonGreedy(2, epsilon=1.1),
            "epsilon must be at least 0 and at most 1, got 1.1",
        ),
        (
            lambda: EpsilonGreedy(2, schedule=cast(Any, "linear")),
            "unknown schedule 'linear'; known: con",
        ),
        (lambda: EpsilonGreedy(2, c=0.0), "c must be above 0"),
        (lambda: EpsilonGreedy(2, d=0.0), "d must be above 0 and at most 1"),
        (lambda: EpsilonGreedy(2, initial=-1.0), "initial must be at least 0"),
        (lambda: ExploreThenCommit(2, 0), "n_pulls must be an integer at least 1, got 0"),
        (
            lambda: ExploreThenCommit(2, order=cast(Any, "any")),
            "unknown order 'any'; known: blocks, round",
        ),
    ],
)
def test_settings_are_checked(build: Callable[[], object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        build()


@pytest.mark.parametrize(
    ("arms", "rewards", "message"),
    [
        ([0, 1], [0.5], r"same length.*got shapes \(2,\) and \(1,\)"),
        ([], [], "at least 1"),
        ([[0, 1]], [[0.1, 0.1]], "two lists"),
        ([0.0], [0.5], "arms must be integers, got float64"),
        ([3], [0.5], "an arm must be between 0 and 2, got 3"),
        ([-1], [0.5], "an arm must be between 0 and 2, got -1"),
        ([1, 1], [0.5, 0.5], r"arms must be different in one step, got \[1, 1\]"),
        ([0], [1.5], r"rewards must be between 0 and 1, got \[1.5\]"),
        ([0], [-0.1], "rewards must be between 0 and 1"),
        ([0], [math.nan], "rewards must be between 0 and 1"),
        ([0, 1], [math.nan, 0.5], "rewards must be between 0 and 1"),
    ],
)
def test_updates_are_checked(arms: Any, rewards: Any, message: str) -> None:
    policy = UCB1(3)
    with pytest.raises(SettingError, match=message):
        policy.update(arms, rewards)
    assert policy.n_steps_ == 0
    assert policy.counts_.sum() == 0
