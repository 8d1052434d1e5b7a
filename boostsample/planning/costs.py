"""Costs of searches: the ledger of looks, and nominal microseconds by constants and not by a clock.

A look is a feature value of an example that a search reads, whatever it does with it: a search of
some labels (`Step.search`) spends as many looks as one of all. What it saves is time, about in
proportion to the labels, and nominal cost. The searches count their looks themselves too; the loop
ends a run whose ledger holds another number.

The constants are those of one thread of an AMD EPYC at 2.45 GHz with AVX2. N examples, K labels of
rows padded to P numbers, T drawn examples, Q features:

- finish: Python, the label sums of the stump and the update of all weights;
- draw: the weights of all examples, a pass over them, and each drawn example;
- search: Python, the looks, and a sweep over the thresholds of each feature; on a sample, a cache
  line for each example and 64 features that lie together, or the columns of the features.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from boostsample.errors import BudgetExceeded, SettingError
from boostsample.jit.vectors import LANES
from boostsample.kernels.array_layout import row_layout


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


#: Microseconds of a round, of a search and of a draw, whatever their sizes: Python, mostly.
_ROUND, _SEARCH, _DRAW = 150.0, 40.0, 30.0
#: Nanoseconds of the finish, for each example and for each number of its row.
_FINISH = 0.5, 0.55
#: Nanoseconds of the sum of a row, for each of its numbers.
_ROW_SUM = 0.09
#: Nanoseconds of a draw, for each of all examples and for each one drawn; of other schemes.
_DRAWS = {"iid": (0.4, 17.0), "stratified": (0.4, 17.0), "order": (0.8, 14.0)}
_OTHER_DRAW = 6.0, 5.0
#: Nanoseconds to copy and weigh a row, for each of its numbers.
_COPY = 0.5
#: Nanoseconds of a look, and for each number of the row; of a sweep, likewise.
_LOOK, _SWEEP = (0.33, 0.07), (100.0, 60.0)
#: Fewer features than this take half as much again for each look at all examples.
_FEWEST, _ALONE = 5, 1.5
#: Nanoseconds of a cache line of a tile, of 64 features, and of the next one of a column.
_TILE_LINE, _COLUMN_LINE, _LINE = 18.0, 5.0, 64


@lru_cache(maxsize=4096)
def finish_cost(n_examples: int, n_labels: int) -> float:
    """Nominal microseconds of a round, or of a search of several, beside draws and searches."""
    each, number = _FINISH
    return _ROUND + 1e-3 * n_examples * (each + number * _width(n_labels))


@lru_cache(maxsize=4096)
def draw_cost(scheme: str, size: int, n_examples: int, n_labels: int) -> float:
    """Nominal microseconds of a draw of `size` examples, nested ones included; 0 for all."""
    if size >= n_examples:
        return 0.0
    width = _width(n_labels)
    every, each = _DRAWS.get(scheme, _OTHER_DRAW)
    of_all = n_examples * (every + _ROW_SUM * width)
    return _DRAW + 1e-3 * (of_all + size * (each + _COPY * width))


def copy_cost(size: int, n_labels: int) -> float:
    """Nominal microseconds to copy some labels of `size` rows of K labels."""
    return 1e-3 * size * _COPY * _width(n_labels)


@lru_cache(maxsize=4096)
def search_cost(n_features: int, size: int, n_examples: int, n_labels: int) -> float:
    """Nominal microseconds of a search of some features on `size` of all examples."""
    width = _width(n_labels)
    look, sweep = (first + more * width for first, more in (_LOOK, _SWEEP))
    lines = 0.0
    if size < n_examples:
        of_tiles = -(-n_features // _LINE) * size * _TILE_LINE
        of_columns = n_features * min(size, -(-n_examples // _LINE)) * _COLUMN_LINE
        lines = min(of_tiles, of_columns)
    elif n_features < _FEWEST:
        look *= _ALONE
    return _SEARCH + 1e-3 * (n_features * (size * look + sweep) + lines)


def values_cost(looks_of_a_value: float, n_values: int) -> float:
    """Nominal microseconds to compute values on demand, each in the time of so many looks.

    The looks are those of `Family.cost`: at all examples, of ten labels.
    """
    return 1e-3 * looks_of_a_value * n_values * (_LOOK[0] + _LOOK[1] * _width(10))


def round_cost(
    stages: Sequence[tuple[int, int]], scheme: str, n_examples: int, n_labels: int
) -> float:
    """Nominal microseconds of a round of searches on nested samples: (Q, T) of each stage.

    Without values computed on demand.
    """
    most = max((size for _, size in stages if size < n_examples), default=n_examples)
    cost = finish_cost(n_examples, n_labels) + draw_cost(scheme, most, n_examples, n_labels)
    return cost + sum(search_cost(q, size, n_examples, n_labels) for q, size in stages)


def _width(n_labels: int) -> int:
    blocks, tail = row_layout(n_labels)
    return LANES * blocks + tail
