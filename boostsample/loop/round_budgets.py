"""Budgets that vary by round and have the total of equal ones.

A growing budget of mean B rises linearly from B/2 in the first of n rounds to 3/2 B in the last, a
shrinking one is the same backwards. The sum of the first t of the unrounded budgets is

    C_t = B t (n + t - 2) / (2 (n - 1)),

and round t has floor(C_t) - floor(C_{t-1}) looks: integers whose sum is n B.
"""

from __future__ import annotations

from boostsample.checks import check_known, parse_budget
from boostsample.errors import SettingError

EQUAL = "equal"
BUDGET_KINDS = (EQUAL, "growing", "shrinking")
"""Each round has the mean budget, or more than the round before, or less."""
_VERBS = {"growing": "grow", "shrinking": "shrink"}


def split_budget(budget: str | int) -> tuple[str | int, str]:
    """The mean of a budget and its kind, one of `BUDGET_KINDS`; SettingError for another kind.

    >>> split_budget("10N:growing"), split_budget("10N")
    (('10N', 'growing'), ('10N', 'equal'))
    """
    mean, colon, kind = str(budget).partition(":")
    if not colon:
        return budget, EQUAL
    check_known("kind of a budget", kind, _VERBS)
    return mean, kind


def round_budget(mean: int, kind: str, number: int, n_rounds: int) -> int:
    """The looks of each search of a round, counted from 1; those of all rounds have this mean.

    >>> [round_budget(10, "growing", number, 4) for number in (1, 2, 3, 4)]
    [5, 8, 12, 15]
    """
    if kind == EQUAL:
        return mean
    t = number if kind == "growing" else n_rounds + 1 - number
    first, last = (mean * end * (n_rounds + end - 2) // (2 * (n_rounds - 1)) for end in (t - 1, t))
    return last - first


def least_budget(mean: int, kind: str, n_rounds: int) -> int:
    """The smallest budget of a round; SettingError if the mean or the rounds are too few."""
    check_known("kind of a budget", kind, BUDGET_KINDS)
    if kind != EQUAL and (mean < 2 or n_rounds < 2):
        raise SettingError(
            f"a {kind} budget must have a mean of at least 2 looks and 2 rounds, got {mean:,} and "
            f"{n_rounds:,}; give more, or the same budget in each round"
        )
    return round_budget(mean, kind, 1 if kind == "growing" else n_rounds, n_rounds)


def round_budgets_note(budget: str | int) -> str:
    """A sentence on how a budget varies; empty if it does not.

    >>> round_budgets_note("10N:growing")
    'budget 10N:growing: budgets grow from 5 N to 15 N over the rounds; the total is that of 10 N'
    """
    mean, kind = split_budget(budget)
    if kind == EQUAL:
        return ""
    number, times_n = parse_budget(mean)
    low, mid, high = (
        f"{float(number * part / 2):,g} {'N' if times_n else 'looks'}" for part in (1, 2, 3)
    )
    ends = (low, high) if kind == "growing" else (high, low)
    return (
        f"budget {budget}: budgets {_VERBS[kind]} from {' to '.join(ends)} over the rounds; the "
        f"total is that of {mid}"
    )
