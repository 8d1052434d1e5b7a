"""Strategies by name."""

from __future__ import annotations

import importlib
from importlib.metadata import EntryPoint
from typing import Any

import pytest

import boostsample.strategies
from boostsample import registry
from boostsample.errors import SettingError
from boostsample.registry import STRATEGIES, make_strategy, strategy_class, strategy_names
from boostsample.strategy import Strategy


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_name_leads_to_an_exported_strategy(name: str) -> None:
    kind = strategy_class(name)
    assert issubclass(kind, Strategy)
    assert getattr(boostsample.strategies, kind.__name__) is kind
    module = importlib.import_module(kind.__module__)
    assert kind.__name__ in module.__all__
    assert kind.__module__.rpartition(".")[2] == name.replace("-", "_")
    assert type(make_strategy(name)) is kind


def test_the_names_that_the_design_fixes() -> None:
    wanted = {"full", "uniform-naive", "uniform-1q", "uniform-q1", "laminating"}
    assert wanted <= set(strategy_names())


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(
        SettingError, match=r"'laminate' \(did you mean 'laminating'\?\); known: full"
    ):
        strategy_class("laminate")
    with pytest.raises(SettingError, match="unknown strategy ''"):
        make_strategy("")


def test_settings() -> None:
    assert make_strategy("laminating", n_features=64, scheme="distinct").get_params() == {
        "n_features": 64,
        "scheme": "distinct",
    }
    with pytest.raises(SettingError, match=r"'n_feature'.*did you mean 'n_features'"):
        make_strategy("uniform-naive", n_feature=3)
    with pytest.raises(SettingError, match="'full' has no settings, got 'Q'"):
        make_strategy("full", Q=3)


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("mine", "boostsample.strategies.full:Full", registry.ENTRY_POINTS),
        EntryPoint("broken", "no_such_module:Thing", registry.ENTRY_POINTS),
    ]

    def entry_points(group: str) -> Any:
        assert group == "boostsample.strategies"
        return points

    monkeypatch.setattr(registry, "entry_points", entry_points)


@pytest.mark.usefixtures("foreign")
def test_other_distributions_add_theirs() -> None:
    assert strategy_names() == (*STRATEGIES, "broken", "mine")
    assert strategy_class("mine") is boostsample.strategies.Full


@pytest.mark.usefixtures("foreign")
def test_a_broken_entry_point_is_named() -> None:
    with pytest.raises(SettingError, match="broken"):
        strategy_class("broken")
