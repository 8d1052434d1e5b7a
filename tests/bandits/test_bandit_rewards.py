"""Rewards against their formulas, and the parameters of the theorem."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from boostsample.bandits import REWARDS, exp3p_theory, reward
from boostsample.errors import SettingError
from boostsample.strategies import Exp3P
from tests.bandits.rules import started


@pytest.mark.parametrize(
    ("kind", "formula"),
    [
        ("log-edge", lambda g: min(1.0, -math.log(math.sqrt(1 - g * g)))),
        ("root", lambda g: 1 - math.sqrt(1 - g * g)),
        ("squared-edge", lambda g: g * g),
    ],
)
def test_rewards_are_their_formulas(kind: str, formula: Callable[[float], float]) -> None:
    edges = np.concatenate([np.linspace(-0.999, 0.999, 401), [0.9298, 0.9299, 0.93]])
    wanted = np.array([formula(g) for g in edges])
    np.testing.assert_allclose(reward(edges, kind), wanted, rtol=1e-11, atol=1e-16)
    scaled = np.minimum(1.0, 7.0 * wanted)
    np.testing.assert_allclose(reward(edges, kind, 7.0), scaled, rtol=1e-11, atol=1e-15)
    for edge in (0.0, 1.0, -1.0, 1.0 + 1e-12):
        paid = reward(edge, kind)
        assert isinstance(paid, float)
        assert paid == (0.0 if edge == 0.0 else 1.0)
    # Small edges keep their digits: the leading term is gamma^2 / 2, or gamma^2.
    small = reward(1e-9, kind)
    assert small == pytest.approx(1e-18 if kind == "squared-edge" else 0.5e-18, rel=1e-8, abs=0)
    assert reward(np.empty((0, 2)), kind).shape == (0, 2)
    assert reward(np.full((2, 3), 0.5), kind).shape == (2, 3)


def test_reward_names_are_known() -> None:
    assert list(REWARDS) == ["log-edge", "root", "squared-edge"]
    with pytest.raises(
        SettingError, match=r"unknown reward 'logedge'.*known: log-edge, root, squared"
    ):
        reward(0.1, "logedge")


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan])
def test_reward_scale_is_checked(scale: float) -> None:
    with pytest.raises(SettingError, match="reward_scale must be positive and finite"):
        reward(0.1, scale=scale)


@pytest.mark.parametrize("edge", [1.1, -1.001, math.nan, math.inf])
def test_edges_are_checked(edge: float) -> None:
    with pytest.raises(SettingError, match="an edge must be between -1 and 1"):
        reward(np.array([0.1, edge]))


def test_theory_values_are_equation_13() -> None:
    lam, eta = exp3p_theory(100, 10_000, 0.1)
    assert lam == pytest.approx(2 * math.sqrt(0.6 * 100 * math.log(100) / 10_000))
    assert eta == pytest.approx(2 * math.sqrt(math.log(100 * 10_000 / 0.1)))
    assert exp3p_theory(100, 10, 0.1)[0] == 0.6
    rule = started(Exp3P("theory", "theory", delta=0.1), 100, 10_000)
    assert (rule.mixing_, rule.bonus_) == (lam, eta)
