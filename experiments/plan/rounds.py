"""The rounds of a plan: the numbers of stumps to report, or marks; the last is that of rounds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from boostsample.checks import check_integer
from boostsample.errors import SettingError

__all__ = ["check_rounds", "parse_marks"]


def parse_marks(text: str) -> tuple[int, ...]:
    """Parse numbers of stumps and sort them.

    >>> parse_marks("100,10")
    (10, 100)
    """
    try:
        return tuple(sorted(int(part) for part in text.split(",")))
    except ValueError:
        raise SettingError(
            f"rounds must be whole numbers separated by commas, as in 10,100,300, got {text!r}"
        ) from None


def check_rounds(marks: Sequence[int]) -> None:
    """Raise SettingError unless these are increasing numbers of stumps, one or more."""
    if not marks:
        raise SettingError("rounds must name at least one number of stumps, got none")
    for mark in marks:
        check_integer("each of the rounds", mark, 1)
    if any(a >= b for a, b in itertools.pairwise(marks)):
        raise SettingError(f"rounds must rise and differ, got {', '.join(map(str, marks))}")
