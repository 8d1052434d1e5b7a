"""Checks of numeric settings: SettingError with name, rule and value, or the number itself."""

from __future__ import annotations

import math
import operator
from typing import Any

from boostsample.errors import SettingError

__all__ = ["check_integer", "check_number"]


def check_integer(name: str, value: Any, low: int, high: int | None = None, hint: str = "") -> int:
    """A whole number from `low` to `high` as int, or SettingError.

    Accepts Python and NumPy integers; bools, floats and strings are errors. `high` None is no upper
    limit. `hint`, the way out, ends the message.

    >>> check_integer("seed", -1, 0, hint="use 0 or more")
    Traceback (most recent call last):
    ...
    boostsample.errors.SettingError: seed must be an integer at least 0, got -1; use 0 or more
    """
    try:
        number = low - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = low - 1
    if number < low or (high is not None and number > high):
        rule = f"at least {low}" if high is None else f"between {low} and {high}"
        raise SettingError(f"{name} must be an integer {rule}, got {value!r}{hint and '; ' + hint}")
    return number


def check_number(
    name: str, value: Any, low: float, high: float = math.inf, *, above: bool = False
) -> float:
    """A finite number from `low` to `high` as float, or SettingError; `above` excludes `low`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise SettingError(f"{name} must be a number, got {value!r}") from None
    if not (low < number if above else low <= number) or not number <= high or math.isinf(number):
        rule = f"{'above' if above else 'at least'} {low:g}"
        rule += f" and at most {high:g}" if high < math.inf else " and finite"
        raise SettingError(f"{name} must be {rule}, got {number:g}")
    return number
