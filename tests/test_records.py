"""The account of looks, rows of the history, and records."""

from __future__ import annotations

import numpy as np
import pytest

from boostsample.errors import BudgetExceeded, SettingError
from boostsample.history import HISTORY_COLUMNS, markdown_table
from boostsample.planning.costs import Ledger
from boostsample.step import Step
from boostsample.strategy import FamilyInfo, Stump, sample_members
from tests.paths import ROOT
from tests.problems import booster_of


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


@pytest.mark.parametrize("seed", range(40))
def test_members_are_those_of_one_call_a_family_and_leave_the_same_stream(seed: int) -> None:
    rng = np.random.default_rng(seed)
    largest = (4, 30, 700, 10_000, 10_001, 30_000)[seed % 6]
    sizes = rng.integers(1, largest, rng.integers(1, 6), endpoint=True)
    sizes[-1] = largest
    counts = rng.integers(0, min(largest + 2, 80), sizes.size).tolist()
    first = np.cumsum([0, *sizes[:-1]]).tolist()
    families = [FamilyInfo(str(at), int(n), at) for at, n in zip(first, sizes, strict=True)]
    single, all_at_once = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 1])
    if seed % 2:  # half of a word of the stream is left over
        single.integers(7, dtype=np.int32)
        all_at_once.integers(7, dtype=np.int32)
    want = [family.sample(n, single) for family, n in zip(families, counts, strict=True)]
    got = sample_members(families, counts, all_at_once)
    assert got.dtype == np.int64
    np.testing.assert_array_equal(got, np.concatenate(want))
    assert single.bit_generator.state == all_at_once.bit_generator.state


def test_a_row_has_these_columns_in_this_order_and_of_these_types() -> None:
    def choose(step: Step) -> Stump:
        step.note(belief=1.5)
        return step.search([0], step.draw(5)).best()

    row = booster_of(choose).next_round().rows[0]
    assert list(row) == [*(column.name for column in HISTORY_COLUMNS), "belief"]
    for column in HISTORY_COLUMNS:
        assert type(row[column.name]) is column.kind, column.name


def test_the_documentation_lists_the_columns() -> None:
    assert markdown_table() in (ROOT / "docs" / "columns.md").read_text("utf-8")
