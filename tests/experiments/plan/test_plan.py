"""Plans are checked as a whole, and names, rounds and budgets are read."""

from __future__ import annotations

from typing import Any

import pytest

from boostsample.errors import SettingError
from boostsample.experiments.plan.plan import Plan, parse_marks
from boostsample.experiments.plan.variants import Variant, parse_names


@pytest.mark.parametrize(
    ("text", "settings", "label"),
    [
        ("full", {}, "full"),
        (" a : x = 1 ", {"x": 1}, "a:x=1"),
        ("a:y=none:x=True", {"x": True, "y": None}, "a:x=True:y=None"),
    ],
)
def test_names_carry_settings(text: str, settings: dict[str, Any], label: str) -> None:
    variant = Variant.parse(text)
    assert (variant.settings, variant.label) == (settings, label)
    assert Variant.parse(variant.label) == variant


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("a,,b", "separated by single commas"),
        ("a:b", "must be written as name:setting=value, got 'a:b'"),
        ("a:x=1:x=2", "x must be given once"),
        (["a", "b,a"], "'a' twice"),
    ],
)
def test_names_that_cannot_be_read(texts: str | list[str], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        parse_names(texts)


@pytest.mark.parametrize("text", ["", "1,", "ten", "1.5"])
def test_marks_that_cannot_be_read(text: str) -> None:
    with pytest.raises(SettingError, match="rounds must be whole numbers separated by commas"):
        parse_marks(text)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"marks": ()}, "at least one number of stumps"),
        ({"marks": (0, 1)}, "each of the rounds must be an integer at least 1, got 0"),
        ({"marks": (2, 2)}, "rounds must rise and differ, got 2, 2"),
        ({"repeats": 0}, "repeats must be an integer at least 1, got 0"),
        ({"seed": -1}, "seed must be an integer at least 0, got -1"),
        ({"n_jobs": 0}, "jobs must be 1 or more, or -1 for all cores, got 0"),
        ({"weights": "unifrom"}, "unknown initial weights 'unifrom' .* known: uniform, balanced"),
        ({"strategies": parse_names("laminate")}, "unknown strategy 'laminate' .*known: full, "),
        ({"strategies": parse_names("laminating:q=1")}, "'q'.*known: n_features, scheme"),
        *(
            ({"budget": budget}, f"budget must be a whole number .* as in 10N, got '{budget}'")
            for budget in ("", "0", "0.0N", "-3", "1.5", "10M", "N", "ten", "1e6", 10**30)
        ),
    ],
)
def test_settings_out_of_range(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Plan(**settings)


@pytest.mark.parametrize(
    ("budget", "looks"), [(None, None), (7, 7), ("1_000", 1000), ("10N", 600), ("0.05N", 3)]
)
def test_budgets_in_looks_and_in_multiples_of_the_examples(
    budget: str | int | None, looks: int | None
) -> None:
    assert Plan(budget=budget).looks(60) == looks


def test_streams_differ_by_each_part_of_their_name_and_by_nothing_else() -> None:
    base = Variant("a", {"x": 1, "y": 2})
    streams = [
        base.stream("data", 0, 0),
        base.stream("other", 0, 0),
        base.stream("data", 1, 0),
        base.stream("data", 0, 1),
        Variant("b", base.settings).stream("data", 0, 0),
        Variant("a", {"x": 1}).stream("data", 0, 0),
    ]
    assert len({stream.entropy for stream in streams}) == len(streams)
    turned = Variant("a", {"y": 2, "x": 1}).stream("data", 0, 0)
    assert turned.entropy == streams[0].entropy


def test_a_stream_is_the_same_on_any_machine() -> None:
    assert Variant("full").stream("digits", 0, 0).entropy == 50606694733173272002410741383393135263
