"""What the strategy adds to its policy: the bound of [BK10] eq. 12 for the arms of the run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from boostsample.bandits.exp3p import exp3p_iteration_bound
from boostsample.strategies.exp3p import Exp3P
from boostsample.strategy import FamilyInfo, Pool

THEORY: dict[str, Any] = {"mixing": "theory", "bonus": "theory"}
POOL = Pool((FamilyInfo("a", 3, 0), FamilyInfo("b", 4, 3)), 7, 60)


def bound(**settings: Any) -> float:
    strategy = Exp3P(**settings)
    strategy.start(POOL, 600, 50, np.random.default_rng(0))
    return strategy.iteration_bound(0.1, 60, 3)


def test_the_bound_is_that_of_the_arms() -> None:
    families = 4 * (math.sqrt(64) + math.sqrt(54 * math.log(2)) + 16) / 0.1**2
    assert bound(**THEORY) == pytest.approx(families**4)
    assert bound(arms="feature", delta=0.2, **THEORY) == exp3p_iteration_bound(7, 0.2, 0.1, 60, 3)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"mixing": "theory"},
        {"bonus": "theory"},
        {**THEORY, "reward_scale": 2.0},
        {**THEORY, "reward": "root"},
        {**THEORY, "pulls": "Q.1"},
    ],
)
def test_no_bound_where_the_theorem_does_not_hold(settings: dict[str, Any]) -> None:
    assert bound(**settings) == math.inf
