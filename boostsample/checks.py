"""Settings in range, or a SettingError that gives name, rule and value."""

from __future__ import annotations

import math
import operator
from typing import Any

from boostsample.errors import SettingError

__all__ = ["check_integer", "check_number"]


def check_integer(name: str, value: Any, low: int, high: int | None = None, hint: str = "") -> int:
    """A setting as int within low .. high (both included), or a SettingError.

    `hint` is the way out, appended to the message.
    """
    rule = f"at least {low}" if high is None else f"between {low} and {high}"
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if isinstance(value, bool) or number < low or (high is not None and number > high):
        raise SettingError(f"{name} must be an integer {rule}, got {value!r}{hint and '; ' + hint}")
    return number


def check_number(
    name: str, value: Any, low: float, high: float = math.inf, *, above: bool = False
) -> float:
    """`value` as a finite float from `low` (or above it) to `high`, or a SettingError."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise SettingError(f"{name} must be a number, got {value!r}") from None
    if not (low < number if above else low <= number) or not number <= high or math.isinf(number):
        rule = f"{'above' if above else 'at least'} {low:g}"
        rule += f" and at most {high:g}" if high < math.inf else " and finite"
        raise SettingError(f"{name} must be {rule}, got {number:g}")
    return number
