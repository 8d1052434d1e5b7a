"""Strategies, families and learners by name, of this and of other distributions."""

from __future__ import annotations

import inspect
import re
from importlib.metadata import EntryPoint
from typing import Any

import pytest

import boostsample.families
import boostsample.strategies
from boostsample import registry
from boostsample.errors import SettingError
from boostsample.families import Haar
from boostsample.learners import LEARNERS, Stump, make_learner
from boostsample.registry import (
    FAMILIES,
    STRATEGIES,
    families_by_name,
    make_strategy,
    registered_class,
    registered_names,
    strategy_names,
)
from boostsample.strategy import Strategy


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_name_leads_to_an_exported_strategy(name: str) -> None:
    kind = registered_class("strategy", name)
    assert issubclass(kind, Strategy)
    assert getattr(boostsample.strategies, kind.__name__) is kind
    assert kind.__module__.rpartition(".")[2] == name.replace("-", "_")
    assert type(make_strategy(name)) is kind


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(
        SettingError, match=r"'laminate' \(did you mean 'laminating'\?\); known: full"
    ):
        registered_class("strategy", "laminate")
    with pytest.raises(SettingError, match="unknown strategy ''"):
        make_strategy("")


def test_settings() -> None:
    assert make_strategy("laminating", n_features=64, scheme="distinct").get_params() == {
        "n_features": 64,
        "new_samples": False,
        "scheme": "distinct",
    }
    with pytest.raises(SettingError, match=r"'n_feature'.*did you mean 'n_features'"):
        make_strategy("uniform-naive", n_feature=3)
    with pytest.raises(SettingError, match="'full' has no settings, got 'Q'"):
        make_strategy("full", Q=3)


def test_a_text_has_settings_as_on_the_command_line() -> None:
    assert make_strategy("ucb:exploration=0.1").get_params()["exploration"] == 0.1
    assert make_strategy("laminating:n_features=64", scheme="distinct").scheme == "distinct"
    with pytest.raises(SettingError, match=r"exploration=1\|2 are alternatives, which only"):
        make_strategy("ucb:exploration=1|2")


def test_every_family_and_learner_is_registered() -> None:
    exported = {
        kind
        for kind in map(vars(boostsample.families).get, boostsample.families.__all__)
        if inspect.isclass(kind) and not inspect.isabstract(kind)
    }
    assert {registered_class("family", name) for name in FAMILIES} == exported
    for name in FAMILIES:
        default = inspect.signature(registered_class("family", name)).parameters["name"].default
        assert default in (name, f"{{family}}-{name}")
    assert {name: registered_class("learner", name) for name in registry.LEARNERS} == LEARNERS


class Desk(Stump):
    """Stumps from a desk. They are like others."""

    def __init__(self, n: int = 1) -> None:
        self.n = n


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    places = {
        "boostsample.strategies": {
            "mine": "boostsample.strategies.full:Full",
            "broken": "no_such_module:Thing",
            "laminating": "boostsample.strategies.full:Full",
            "odd": "boostsample.families.images.haar:Haar",
        },
        "boostsample.families": {"waves": "boostsample.families.images.haar:Haar"},
        "boostsample.learners": {"desk": f"{__name__}:Desk"},
    }

    def entry_points(group: str) -> Any:
        return [EntryPoint(name, place, group) for name, place in places[group].items()]

    monkeypatch.setattr(registry, "entry_points", entry_points)


@pytest.mark.usefixtures("foreign")
def test_other_distributions_add_theirs() -> None:
    assert strategy_names() == (*STRATEGIES, "broken", "mine", "odd")
    assert registered_class("strategy", "mine") is boostsample.strategies.Full
    assert registered_names("family") == (*FAMILIES, "waves")
    assert registered_class("family", "waves") is Haar
    assert make_learner("desk:n=3").n == 3
    with pytest.raises(SettingError, match="unknown setting of desk 'm'; known: n"):
        make_learner("desk:m=3")


@pytest.mark.usefixtures("foreign")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broken", r"'broken' of \(unnamed\) cannot be loaded from 'no_such_module:Thing'"),
        (
            "odd",
            r"must be a subclass of boostsample.Strategy, got 'boostsample.families.+\.haar:Haar",
        ),
        ("laminating", "the name of the strategy 'laminating' is taken by boostsample, but"),
    ],
)
def test_entry_points_that_cannot_be_used(name: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        registered_class("strategy", name)
    with pytest.raises(SettingError, match=message):
        make_strategy(name)
    (entry,) = [foreign for foreign in registry.foreign_entries("strategy") if foreign.name == name]
    assert re.match(f"broken: .*{message}", registry.describe_foreign("strategy", entry))


def test_two_distributions_may_not_share_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [registry.Foreign("x", "a:A", "one"), registry.Foreign("x", "b:B", "two")]
    monkeypatch.setattr(registry, "foreign_entries", lambda kind: entries)
    with pytest.raises(SettingError, match="'x' is taken by one, but two registers b:B under it"):
        registered_class("strategy", "x")
    assert all("broken" in registry.describe_foreign("strategy", entry) for entry in entries)


@pytest.mark.usefixtures("foreign")
def test_families_by_name() -> None:
    haar, waves, mine = families_by_name(
        ["haar:levels=2", ("waves", {"levels": 1}), Haar((8, 8), name="mine")], (8, 8)
    )
    assert (haar.settings()["levels"], waves.name, waves.settings()["levels"]) == (2, "waves", 1)
    assert mine.name == "mine"
    assert families_by_name(["haar"], (8, 8, 3))[0].n_features == 8 * 8 * 3


@pytest.mark.usefixtures("foreign")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("haa", "unknown family of these examples 'haa' .did you mean 'haar'.*, waves$"),
        ("haar:level=1", "unknown setting of family 'haar' 'level'"),
        ("haar:levels=99", "levels must be"),
        ("haar:levels=1|2", "alternatives, which only strategies take"),
        ("waves:level=1", "unknown setting of family 'waves' 'level'"),
        ("text", "family 'text' does not fit these examples: .*vocabulary"),
    ],
)
def test_families_that_there_are_not(name: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        families_by_name([name], (8, 8))


def test_a_family_that_is_named_like_a_default_one_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = registry.Foreign("lbp-intensity", "a:A", "theirs")
    monkeypatch.setattr(registry, "foreign_entries", lambda kind: [entry])
    with pytest.raises(SettingError, match="taken by boostsample, but theirs registers a:A"):
        families_by_name(["lbp-intensity"], (8, 8, 3))
