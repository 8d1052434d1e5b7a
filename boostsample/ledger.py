"""Ledger of the looks spent in one weak-learner search.

A look is a feature value of an example that a search reads, whatever it does with it: a search of
some labels (`Step.search`) spends as many looks as one of all. What it saves is time, about in
proportion to the labels, and nominal cost. The searches count their looks themselves too; the loop
ends a run whose ledger holds another number.
"""

from __future__ import annotations

from boostsample.errors import BudgetExceeded, SettingError


class Ledger:
    """Looks spent in one search, by purpose; `cost` is what searches and draws cost."""

    #: Purposes within the budget; the finish has a separate column.
    PURPOSES = ("search", "modelling")

    __slots__ = ("_budget", "_spent", "_strategy", "cost")

    def __init__(self, strategy: str, budget: int) -> None:
        self._strategy = strategy
        self._budget = budget
        self.cost = 0.0
        self._spent: dict[str, int] = dict.fromkeys(self.PURPOSES, 0)

    @property
    def budget(self) -> int:
        """Looks that may be spent in this search."""
        return self._budget

    @property
    def spent(self) -> int:
        """Looks spent so far, modelling included."""
        return sum(self._spent.values())

    def of(self, purpose: str) -> int:
        """Looks spent so far on one purpose."""
        return self._spent[purpose]

    def charge(self, cost: int, purpose: str) -> None:
        """Enter `cost` looks under `purpose`, or raise BudgetExceeded and enter nothing."""
        if purpose not in self.PURPOSES:
            raise SettingError(
                f"purpose must be one of {', '.join(self.PURPOSES)}, got {purpose!r}"
            )
        if cost < 0:
            raise SettingError(f"a cost must be 0 looks or more, got {cost}")
        spent = self.spent
        if cost > self._budget - spent:
            raise BudgetExceeded(
                f"strategy {self._strategy!r} asks for {cost:,} looks, but {spent:,} of its "
                f"budget of {self._budget:,} looks are already spent; "
                "search fewer features or draw fewer examples"
            )
        self._spent[purpose] += cost
