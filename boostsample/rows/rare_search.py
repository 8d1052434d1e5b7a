"""Exact searches on columns with most rows in one bin, from lists of the other rows."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from boostsample.kernels.array_layout import Rows, SearchOutput, part_of, row_layout
from boostsample.kernels.rare_rows import (
    RareRoom,
    RareRows,
    number_rows,
    rare_room,
    rare_search_kernel,
)
from boostsample.threads import Threads

#: A list of more rows than are searched, and this many, is slower than the bins, at 50 features
#: and one label; with more labels, or fewer rows, a longer list is.
_LISTED_BESIDES = 200
#: Up to this many listed rows, 20 to 50 us, one thread searches alone.
_MOST_ALONE = 20_000


class RareSearch:
    """The search kernel for lists of rare rows, for the rows of a run or some of them.

    `columns` int32 (n,) are the bank columns of the rows of the run, empty if they follow each
    other; the bank has `n_bank` of them.
    """

    def __init__(
        self, n_labels: int, threads: Threads, n_bank: int, columns: NDArray[np.int32]
    ) -> None:
        self._n_labels, self._threads = n_labels, threads
        self._n_bank, self._columns = n_bank, columns
        self._kernel = rare_search_kernel(*row_layout(n_labels))
        self._rooms: list[RareRoom] = []
        self._is_numbered = False

    @cached_property
    def possible(self) -> bool:
        """Whether no row is in the run more than once: a row of the bank has one number."""
        return np.unique(self._columns).size == self._columns.size

    @cached_property
    def _numbers(self) -> NDArray[np.int32]:
        return np.full(self._n_bank, -1, np.int32)

    def is_faster(self, sizes: NDArray[np.int32], n_rows: int) -> NDArray[np.bool_]:
        """For which lists, by their sizes, a search of this many rows is faster: bool (Q,)."""
        return (sizes >= 0) & (sizes <= n_rows + _LISTED_BESIDES)

    def write(
        self, rare: RareRows, at: NDArray[np.int64], rows: Rows, tie: float, output: SearchOutput
    ) -> None:
        """Write the best stump of each feature, whose lists are `at` of `rare`, to `output`."""
        most = rare.rows.shape[1]
        if not self._rooms or self._rooms[0].at.size <= most:
            self._rooms = [rare_room(self._n_labels, most) for _ in range(self._threads.n)]
        if self._is_numbered:  # an interrupt has left them
            self._numbers.fill(-1)
        self._is_numbered = True
        number_rows(rows.examples, self._numbers, False)
        calls, stretches = [], [(0, at.size)]
        if self._threads.n > 1 and rare.sizes[at].sum() > _MOST_ALONE:
            stretches = [*self._threads.stretches(range(at.size + 1))]
        for room, ends in zip(self._rooms, stretches, strict=False):
            part = slice(*ends)
            calls.append((rare, at[part], rows, self._numbers, tie, room, part_of(output, part)))
        self._threads.run(self._kernel, calls)
        number_rows(rows.examples, self._numbers, True)
        self._is_numbered = False
