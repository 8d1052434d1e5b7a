"""Learners and alpha."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from boostsample.errors import SettingError
from boostsample.learner import EDGE_GAP
from boostsample.learners import LEARNERS, Found, Stump, Term, alpha_of, make_learner


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
    assert all(kind.name == name for name, kind in LEARNERS.items())
