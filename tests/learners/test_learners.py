"""Learners and alpha."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from boostsample.banks.bank import FeatureBank
from boostsample.errors import SettingError, StrategyError
from boostsample.families import Columns
from boostsample.learner import EDGE_GAP
from boostsample.learners import LEARNERS, Learner, Stump, Targets, alpha_of, make_learner
from boostsample.loop.booster import Booster


@pytest.mark.parametrize("edge", [0.0, 1e-300, 1e-12, 0.1, 0.93, 1 - 1e-9])
def test_alpha(edge: float) -> None:
    assert alpha_of(edge) == pytest.approx(math.atanh(edge), rel=1e-14)


def test_alpha_is_capped() -> None:
    cap = math.atanh(1 - 1e-12)
    for edge in (1 - 1e-12, 1 - 1e-13, 1.0):
        assert alpha_of(edge) == pytest.approx(cap, rel=1e-9)
    assert EDGE_GAP == 1e-12
    assert alpha_of(1 - 1e-11) < cap - 1


def test_learners_by_name() -> None:
    assert isinstance(make_learner("stump"), Stump)
    assert isinstance(make_learner(None), Stump)
    mine = Stump()
    assert make_learner(mine) is mine
    with pytest.raises(SettingError, match=r"unknown learner 'stomp'.*stump"):
        make_learner("stomp")
    with pytest.raises(SettingError, match="'stump' has no settings, got 'n'"):
        make_learner("stump:n=2")
    kind: Any = Stump
    with pytest.raises(SettingError, match="must be a name or an instance of Learner, got <class"):
        make_learner(kind)
    assert all(kind.name == name for name, kind in LEARNERS.items())


class Returns(Learner):
    """A learner that returns something wrong."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def learn(self, targets: Targets) -> list[Targets]:
        found = targets.search()
        halves = targets.split(found)
        wrong: dict[str, Any] = {
            "half": [halves[0]],
            "twice": [targets, halves[1].times(found)],
            "not a tree": [targets],
        }
        named = isinstance(self.value, str)
        returned: list[Targets] = wrong[self.value] if named else self.value
        return returned


@pytest.mark.parametrize(
    ("value", "given"),
    [
        ([], "must return a list of .* got an empty list in round"),
        (None, "must return a list of .* got None in round"),
        ([3], r"must return a list of .* got \[3\] in round"),
        ("half", "must return leaves that hold each example once"),
        ("twice", "must return leaves that hold each example once"),
        ("not a tree", "must return the leaves of one tree"),
    ],
)
def test_a_learner_that_returns_no_results_is_a_clear_line(value: Any, given: str) -> None:
    X = np.arange(12.0, dtype=np.float32)[:, None]
    Y = np.where(np.arange(12) % 3 > 0, 1, -1)[:, None]
    bank = FeatureBank.build([Columns(range(1))], X)
    booster = Booster(bank, None, Y, "uniform-naive", Returns(value), n_rounds=2)
    with pytest.raises(StrategyError, match=given):
        booster.next_round()
    assert booster.round == 0
