"""What strategies learn and expect under trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostsample.loop.booster import Booster
from boostsample.registry import make_strategy
from boostsample.step import Step
from boostsample.strategy import Outcome, Strategy, Stump
from tests.problems import bank_of, noisy_labels, table

N = 400


class Listens(Strategy):
    """Keeps what it is told of each search."""

    def choose(self, step: Step) -> Stump:
        self.whole_ = step.whole
        return step.search(np.arange(10), step.draw(step.n_examples)).best()

    def learn(self, outcome: Outcome) -> None:
        assert outcome.whole == self.whole_
        HEARD.append(outcome)


HEARD: list[Outcome] = []


def tree_of(strategy: Strategy, n_leaves: int = 6) -> Booster:
    """Trees on labels that are mostly noise: edges are small at roots, and large in small nodes."""
    X = table(N, 30, seed=4)
    Y = noisy_labels(N, 1)
    return Booster(bank_of(X, groups=3), None, Y, strategy, f"tree:n_leaves={n_leaves}", rng=0)


def test_an_outcome_says_on_what_it_was_found() -> None:
    HEARD.clear()
    booster = tree_of(Listens(), n_leaves=3)
    rows = [row for _ in range(3) for row in booster.next_round().rows]
    assert [outcome.n_examples for outcome in HEARD] == [row["looks_finish"] for row in rows]
    assert [outcome.whole for outcome in HEARD] == [row["search"] == 0 for row in rows]
    for root, *halves in (HEARD[k : k + 3] for k in (0, 3, 6)):
        assert (root.n_examples, root.weight_share) == (N, 1.0)
        assert sum(half.n_examples for half in halves) == N
        assert sum(half.weight_share for half in halves) == pytest.approx(1.0)
        assert all(0.0 < half.weight_share < 1.0 for half in halves)


@pytest.mark.parametrize("name", ["ucb", "ucbv", "exp3p", "epsilon-greedy", "hedge"])
def test_roots_and_nodes_reward_the_same_arms(name: str) -> None:
    booster = tree_of(make_strategy(name))
    rows = [row for _ in range(4) for row in booster.next_round().rows]
    strategy: Any = booster.strategy
    assert strategy.n_steps_ == len(rows)
