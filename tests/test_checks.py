"""Checks of settings and data: what they take, and the line that refuses the rest."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from boostsample.checks import (
    budget_looks,
    check_choices,
    check_count,
    check_example_rows,
    check_example_weight,
    check_features,
    check_flag,
    check_integer,
    check_known,
    check_n_features,
    check_number,
    check_rows,
    check_scores,
    parse_budget,
)
from boostsample.errors import BoostSampleError, DataError, SettingError

NO_NUMBERS: tuple[Any, ...] = (
    *("3", " 3 ", "1_0", "nan", "", b"3", np.str_("3"), np.array("3"), np.array("3", object)),
    *(True, np.False_, np.array(True), None, [3], np.array([3]), [[1], [1, 2]], {}, object()),
    *(1j, np.complex128(1), np.datetime64("2020"), np.timedelta64(3, "D")),
)
HUGE = (10**400, -(10**400), 10**5000, -(10**5000))
"""Whole numbers above all floats, and with more digits than Python writes."""

CHECKS: dict[str, Callable[[Any], Any]] = {
    "number": lambda value: check_number("x", value, 0.0, hint="None is no limit"),
    "integer": lambda value: check_integer("x", value, 1, hint="None is no limit"),
    "count": lambda value: check_count("x", value, 100),
    "flag": lambda value: check_flag("x", value, numbers=True),
    "n_features": lambda value: check_n_features(value, 50, 90),
    "budget": parse_budget,
    "looks": lambda value: budget_looks(value, 90),
    "features": lambda value: check_features(value, 10),
    "known": lambda value: check_known("code", value, ["dense", "binary"]),
    "choices": lambda value: check_choices("x", "kind", value, ["dense", "binary"]),
    "rows": lambda value: check_rows(value, 10),
    "rows of a bank": lambda value: check_example_rows(value, 10),
    "weights": lambda value: check_example_weight(value, 2),
    "scores": lambda value: check_scores(value, (2,)),
}


def kind(value: object) -> str:
    return type(value).__name__


def refusal(check: Callable[[Any], Any], value: Any) -> str:
    """The message by which a check refuses a value; empty if it takes it."""
    try:
        check(value)
    except BoostSampleError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "value", [*NO_NUMBERS, *HUGE, *([number] for number in HUGE), np.arange(2000)], ids=kind
)
@pytest.mark.parametrize("check", CHECKS)
def test_values_are_taken_or_refused_by_one_line(check: str, value: Any) -> None:
    message = refusal(CHECKS[check], value)
    assert "\n" not in message
    assert not message or ", got " in message or message.startswith("unknown ")


@pytest.mark.parametrize("value", NO_NUMBERS, ids=kind)
def test_a_number_is_no_text_bool_date_or_array(value: Any) -> None:
    with pytest.raises(SettingError, match=r"^x must be a number, got .*; None is no limit$"):
        check_number("x", value, 0.0, hint="None is no limit")


@pytest.mark.parametrize(
    "value", [3, 3.0, np.int8(3), np.float16(3), np.array(3), Fraction(3), Decimal(3)], ids=kind
)
def test_numbers_of_all_types(value: Any) -> None:
    number = check_number("x", value, 3.0, 3.0)
    assert (type(number), number) == (float, 3.0)


@pytest.mark.parametrize(
    ("value", "high", "message"),
    [
        (1.0000001, 1.0, "x must be at least 0 and at most 1, got 1.0000001"),
        (1, np.nextafter(1.0, 0.0), "x must be at least 0 and at most 0.9999999999999999, got 1"),
        (np.float64("nan"), 1.0, "x must be at least 0 and at most 1, got nan"),
        (10**30, 1.0, "x must be at least 0 and at most 1, got 1e+30"),
        (10**400, np.inf, "x must be at least 0 and finite, got 1000"),
        pytest.param(-(10**5000), np.inf, "x must be at least 0 and finite, got int of", id="huge"),
    ],
)
def test_a_number_out_of_range_is_shown_as_it_is(value: Any, high: float, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        check_number("x", value, 0.0, float(high))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ("1" + "0" * 30, "at most 1,152,921,504,606,846,976 looks, got '1000"),
        (10**30, "at most 1,152,921,504,606,846,976 looks, got 1000"),
        pytest.param(
            10**5000, "at most 1,152,921,504,606,846,976 looks, got int of more than", id="huge"
        ),
        ("1" + "0" * 30 + "N", "at most 1,152,921,504,606,846,976 looks, got '1000"),
        ("1." + "3" * 20 + "N", "have at most 19 digits after the point, got .*; leave digits out"),
        (-(10**30), "be a whole number of at least 1 look, or .* got -1000"),
        ("0" * 30, "be a whole number of at least 1 look"),
        (np.array("3"), "be a whole number of at least 1 look"),
        (3.0, "be a whole number of at least 1 look, or .* got 3.0"),
    ],
)
def test_budgets_that_are_refused(budget: Any, message: str) -> None:
    with pytest.raises(SettingError, match=f"^budget must (be )?{message}"):
        budget_looks(budget, 1)


def test_budgets_up_to_the_largest() -> None:
    assert budget_looks(2**60, 90) == budget_looks(str(2**60), 90) == 2**60
    assert budget_looks("0" * 30 + "90", 90) == budget_looks("001.0N", 90) == 90
    number: Any = np.int64(7)
    assert budget_looks(number, 90) == 7


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, r"unknown code 3 \(did you mean '3'\?\); known: 3, dense"),
        (b"dense", "unknown code b'dense'"),
        (None, "unknown code None; known"),
        ("dens", r"unknown code 'dens' \(did you mean 'dense'\?\)"),
    ],
)
def test_an_unknown_value_is_shown_with_its_type(value: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        check_known("code", value, ["3", "dense"])


@pytest.mark.parametrize("value", [3, None, True, np.array("dense"), (), []])
def test_choices_are_texts(value: Any) -> None:
    with pytest.raises(SettingError, match="x must be one or more different ones of a, b, got "):
        check_choices("x", "kind", value, ["a", "b"])


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        (["1", "2"], "'1' in row 0"),
        (np.array([1, "2"], object), "'2' in row 1"),
        ("12", "'12' in row 0"),
        (np.array(["2020", "2021"], "M8[Y]"), ".* in row 0"),
        (np.array([1, 2], "m8[D]"), ".* in row 0"),
        ([1, 2j], "2j in row 1"),
        ([1, 10**400], "1000.* in row 1"),
        ([1, [2, 3]], r"\[2, 3\] in row 1"),
    ],
)
def test_weights_and_scores_are_real_numbers(values: Any, wrong: str) -> None:
    with pytest.raises(DataError, match=f"^example weights must be real numbers, got {wrong}; "):
        check_example_weight(values, 2)
    with pytest.raises(DataError, match=f"^scores must be real numbers, got {wrong}; "):
        check_scores(values, (2,))


def test_weights_and_scores_may_be_objects_that_are_numbers() -> None:
    assert check_example_weight(np.array([True, Fraction(1, 2)], object), 2).tolist() == [1.0, 0.5]
    numbers = [[1, Decimal("0.5")], [np.float32(3), False]]
    scores = check_scores(np.array(numbers, object), (2, 2))
    assert scores.tolist() == [[1.0, 0.5], [3.0, 0.0]]


def test_indices_are_shown_as_they_are() -> None:
    with pytest.raises(SettingError, match=f"between 0 and 9, got {2**63}; "):
        check_features(np.array([1, 2**63], np.uint64), 10)
    ragged: Any = [[1], [1, 2]]
    with pytest.raises(DataError, match="rows must be a vector of row numbers, got object"):
        check_rows(ragged, 10)
