"""`check_learner` passes what is right and finds what is wrong."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from boostsample.errors import StrategyError
from boostsample.learner import Learner, Targets
from boostsample.learners import Product, Stump, Tree
from boostsample.testing import check_learner
from tests.compiled import slow_without_jit

pytestmark = slow_without_jit

GOOD: dict[str, Callable[[], Learner]] = {
    "stump": Stump,
    "product": functools.partial(Product, 3),
    "tree": functools.partial(Tree, 6),
}


@pytest.mark.parametrize("name", GOOD)
def test_the_learners_pass(name: str) -> None:
    check_learner(GOOD[name])


class Half(Learner):
    """Forgets half of the examples."""

    name = "half"

    def learn(self, targets: Targets) -> list[Targets]:
        return [targets.split(targets.search())[0]]


class Drawing(Learner):
    """Draws from a random state of its own."""

    name = "drawing"

    def learn(self, targets: Targets) -> list[Targets]:
        found = targets.search()
        again = np.random.default_rng().random() < 0.5
        return [targets.times(targets.search() if again else found)]


class Counting(Learner):
    """Searches more in every round, so that a run cannot be continued."""

    name = "counting"

    def __init__(self) -> None:
        self.n = 0

    def learn(self, targets: Targets) -> list[Targets]:
        self.n += 1
        found = [targets.search() for _ in range(self.n)]
        return [targets.times(found[-1])]


@pytest.mark.parametrize(
    ("learner", "error", "message"),
    [
        (Half, StrategyError, "each example once"),
        (Drawing, AssertionError, "resumed after round|two different models"),
        (Counting, AssertionError, "resumed after round|two different models"),
    ],
)
def test_wrong_learners_are_found(learner: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        check_learner(learner)
