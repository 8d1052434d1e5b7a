"""The ledger charges before the work, or not at all."""

from __future__ import annotations

import pytest

from boostsample.errors import BudgetExceeded, SettingError
from boostsample.ledger import Ledger


def test_charges_add_up_by_purpose() -> None:
    ledger = Ledger("laminating", 100)
    assert (ledger.budget, ledger.spent) == (100, 0)
    ledger.charge(30, "search")
    ledger.charge(20, "modelling")
    ledger.charge(50, "search")
    assert (ledger.of("search"), ledger.of("modelling"), ledger.spent) == (80, 20, 100)
    assert Ledger.PURPOSES == ("search", "modelling")


def test_overspending_names_everything_and_enters_nothing() -> None:
    ledger = Ledger("laminating", 2000)
    ledger.charge(1500, "modelling")
    with pytest.raises(
        BudgetExceeded, match=r"'laminating' asks for 501 looks, but 1,500 .* 2,000"
    ):
        ledger.charge(501, "search")
    assert (ledger.spent, ledger.of("search")) == (1500, 0)
    ledger.charge(500, "search")
    with pytest.raises(BudgetExceeded, match=r"1 looks"):
        ledger.charge(1, "modelling")


def test_a_negative_cost_gives_nothing_back() -> None:
    ledger = Ledger("x", 10)
    ledger.charge(10, "search")
    with pytest.raises((SettingError, AssertionError)):
        ledger.charge(-5, "search")
    assert ledger.spent == 10


def test_the_budget_is_fixed() -> None:
    ledger = Ledger("x", 10)
    for name in ("budget", "spent"):
        with pytest.raises(AttributeError):
            setattr(ledger, name, 10**9)
    with pytest.raises(AttributeError):
        ledger.more = 1  # type: ignore[attr-defined] # slots: nothing can be added
