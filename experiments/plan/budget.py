"""Budgets of a search: looks, or a multiple of the number of training examples as in ``10N``."""

from __future__ import annotations

import re
from fractions import Fraction

from boostsample.errors import SettingError

__all__ = ["looks_of_budget", "parse_budget"]


def parse_budget(given: str | int) -> tuple[Fraction, bool]:
    """Return a number, and whether it multiplies the number of training examples."""
    match = re.fullmatch(r"([0-9]{1,18}(\.[0-9]{1,18})?)(N?)", str(given).replace("_", ""))
    if not match or (match[2] and not match[3]) or not Fraction(match[1]):
        raise SettingError(
            "budget must be a whole number of at least 1 look, or a multiple of the number of "
            f"training examples N as in 10N, got {str(given)!r}"
        )
    return Fraction(match[1]), bool(match[3])


def looks_of_budget(budget: str | int, n_examples: int) -> int:
    """Return the looks per search on N training examples; SettingError if it is less than one."""
    number, times_n = parse_budget(budget)
    looks = int(number * n_examples) if times_n else int(number)
    if looks < 1:
        raise SettingError(
            f"budget must be at least 1 look, got {budget}, which is less for "
            f"N = {n_examples:,} training examples; give more"
        )
    return looks
