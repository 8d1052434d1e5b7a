"""Learners and alpha."""

from __future__ import annotations

import math
from typing import Any

import pytest

from boostsample.errors import SettingError
from boostsample.learner import EDGE_GAP
from boostsample.learners import LEARNERS, Stump, alpha_of, make_learner


def test_alpha() -> None:
    for edge in (0.0, 1e-300, 1e-12, 0.1, 0.93, 1 - 1e-9):
        assert alpha_of(edge) == pytest.approx(math.atanh(edge), rel=1e-14)
    for edge in (1 - 1e-12, 1 - 1e-13, 1.0):
        assert alpha_of(edge) == pytest.approx(math.atanh(1 - EDGE_GAP), rel=1e-9)


def test_learners_by_name() -> None:
    assert isinstance(make_learner("stump"), Stump)
    assert isinstance(make_learner(None), Stump)
    stump = Stump()
    assert make_learner(stump) is stump
    with pytest.raises(SettingError, match=r"unknown learner 'stomp'.*stump"):
        make_learner("stomp")
    with pytest.raises(SettingError, match="'stump' has no settings, got 'n'"):
        make_learner("stump:n=2")
    kind: Any = Stump
    with pytest.raises(SettingError, match="must be a name or an instance of Learner, got <class"):
        make_learner(kind)
    assert all(kind.name == name for name, kind in LEARNERS.items())
