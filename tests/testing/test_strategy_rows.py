"""The checks of beliefs find strategies that expect the impossible, or learn from nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostsample.step import Step
from boostsample.strategy import Outcome, Pool, Strategy, Stump
from boostsample.testing import check_strategy_beliefs


class Expects(Strategy):
    """Ten features on examples whose number the last edge decides; notes it."""

    apart = True

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        self.edge_ = 0.5

    def choose(self, step: Step) -> Stump:
        step.note(expected_edge=self.expected())
        features = step.rng.choice(step.n_features, 10, replace=False)
        return step.search(features, step.draw(1 + int(0.09 * step.budget * self.edge_))).best()

    def expected(self) -> float:
        return self.edge_

    def learn(self, outcome: Outcome) -> None:
        if outcome.whole or not self.apart:
            self.edge_ = outcome.edge


class LearnsFromNodes(Expects):
    apart = False


class ExpectsTooMuch(Expects):
    def expected(self) -> float:
        return self.edge_ + 0.8


class ExpectsTooLittle(Expects):
    def expected(self) -> float:
        return self.edge_ - 0.8


def test_right_beliefs_pass() -> None:
    check_strategy_beliefs(Expects)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (LearnsFromNodes, r"round 2: .* learn nothing from them, or apart \(Step.whole\)"),
        (
            ExpectsTooMuch,
            r"search 0: noted expected_edge = 1.3, which must be in \[0, 1\]",
        ),
        (ExpectsTooLittle, r"noted expected_edge = -0.3"),
    ],
)
def test_wrong_beliefs_are_found(kind: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=f"strategy {kind.__name__}: .*{message}"):
        check_strategy_beliefs(kind)
