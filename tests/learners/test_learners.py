"""Learners and alpha."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from boostsample.banks.bank import FeatureBank
from boostsample.errors import SettingError, StrategyError
from boostsample.families import Columns
from boostsample.learner import EDGE_GAP
from boostsample.learners import LEARNERS, Found, Learner, Stump, Term, alpha_of, make_learner
from boostsample.loop.booster import Booster
from tests.paths import ROOT


@pytest.mark.parametrize("edge", [0.0, 1e-300, 1e-12, 0.1, 0.93, 1 - 1e-9])
def test_alpha(edge: float) -> None:
    assert alpha_of(edge) == pytest.approx(math.atanh(edge), rel=1e-14)


def test_alpha_is_capped() -> None:
    cap = math.atanh(1 - 1e-12)
    for edge in (1 - 1e-12, 1 - 1e-13, 1.0):
        assert alpha_of(edge) == pytest.approx(cap, rel=1e-9)
    assert EDGE_GAP == 1e-12
    assert alpha_of(1 - 1e-11) < cap - 1


def test_a_stump_is_one_search() -> None:
    term = Term(3, 2, 0.5, np.ones(1, np.int8), 0.1)
    asked = []

    def search(index: int) -> Found:
        asked.append(index)
        return Found(term, 0.1, {})

    weights: Any = None  # a stump needs none
    found = Stump().learn(weights, search)
    assert asked == [0]
    assert [one.term for one in found] == [term]


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

    def learn(self, weights: Any, search: Callable[[int], Found]) -> list[Found]:
        search(0)
        found: list[Found] = self.value
        return found


@pytest.mark.parametrize(
    ("value", "given"), [([], "an empty list"), (None, "None"), ([3], r"\[3\]")]
)
def test_a_learner_that_returns_no_results_is_a_clear_line(value: Any, given: str) -> None:
    X = np.arange(12.0, dtype=np.float32)[:, None]
    Y = np.where(np.arange(12) % 3 > 0, 1, -1)[:, None]
    bank = FeatureBank.build([Columns(range(1))], X)
    booster = Booster(bank, None, Y, "uniform-naive", Returns(value), n_rounds=2)
    with pytest.raises(StrategyError, match=f"learner Returns must return .* got {given} in round"):
        booster.next_round()
    assert booster.round == 0


def test_the_guide_runs() -> None:
    text = (ROOT / "docs" / "adding_a_learner.md").read_text("utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    module: dict[str, Any] = {}
    exec(block, module)
    terms = [Found(Term(k, 2, 0.5, np.ones(1, np.int8), 0.1), edge, {}) for k, edge in
             enumerate((0.1, 0.3, 0.2))]  # fmt: skip
    assert module["BestOf"](3).learn(None, lambda index: terms[index]) == [terms[1]]
