"""Results have the bits that they had, or NUMERICS says that they have not."""

from __future__ import annotations

from typing import Any

import pytest

from boostsample.loop.numerics import NUMERICS
from tests import numerics

ADVICE = (
    "results changed: raise NUMERICS in boostsample/numerics.py, so that stored cells are computed "
    "again, and refresh the numbers with `python -m tests.numerics`"
)


def complaint(case: str, now: dict[str, Any], before: dict[str, Any], exact: bool) -> str:
    """What has changed; empty if nothing has. On another machine, last bits may differ."""
    for name in ("feature", "threshold"):
        if now[name] != before[name]:
            return f"{case}: {name} {now[name]} instead of {before[name]}; {ADVICE}"
    close = pytest.approx(before["alpha"], rel=1e-12, abs=1e-12)
    if now["alpha"] != (before["alpha"] if exact else close):
        return f"{case}: alpha {now['alpha']} instead of {before['alpha']}; {ADVICE}"
    return ""


@pytest.mark.parametrize("case", numerics.CASES)
def test_every_strategy_finds_what_it_found(case: str) -> None:
    golden = numerics.golden()
    same = golden["environment"] == numerics.environment()
    message = complaint(case, numerics.found(case), golden["cases"][case], exact=same)
    assert not message, message


def test_the_numbers_are_those_of_the_present_numerics() -> None:
    assert numerics.golden()["numerics"] == NUMERICS, (
        "NUMERICS was raised: refresh the numbers with `python -m tests.numerics`"
    )
    assert set(numerics.golden()["cases"]) == set(numerics.CASES)


@pytest.mark.parametrize(
    ("name", "change", "exact"),
    [
        ("feature", 1, False),
        ("threshold", 1, False),
        ("alpha", 1e-11, False),
        ("alpha", 1e-16, True),
    ],
)
def test_a_change_is_seen(name: str, change: float, exact: bool) -> None:
    before = numerics.golden()["cases"]["laminating"]
    now = {**before, name: [*before[name][:-1], before[name][-1] + change]}
    assert now != before
    assert "raise NUMERICS" in complaint("laminating", now, before, exact)
    assert complaint("laminating", dict(before), before, exact=True) == ""
