"""Continues a trained run: restores its booster, and joins the old rounds with the new ones.

A run can be continued to the bit if its state was kept and its strategy does not depend on the
number of rounds planned: it neither reads `Step.n_rounds` nor starts in another state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import BoostSampleError
from boostsample.experiments.cells.cell_file import (
    PREDICTED,
    SEARCH_INTEGERS,
    Cell,
    alphas_of_edges,
    losses_of_edges,
)
from boostsample.experiments.cells.cell_terms import round_edges
from boostsample.files.archive import narrowest
from boostsample.files.booster_state import pack_state
from boostsample.loop.booster import Booster
from boostsample.records import Term
from boostsample.records.term_arrays import TERM_ARRAYS, TERM_INTEGERS

_DERIVED = ("alpha", "log10_loss")
"""Arrays that are stored only if they do not follow from the edges."""
PLANS_ROUNDS = "the strategy depends on the number of rounds planned"


def saved_state(booster: Booster, own_learner: bool) -> tuple[dict[str, Any] | None, str]:
    """The state to keep of a trained run; None with the reason if it would be of no use.

    `own_learner` is whether the learner is of this distribution: others may have a state.
    """
    if booster.plans_rounds:
        return None, PLANS_ROUNDS
    if not own_learner:
        return None, "a learner of another distribution may have a state of its own"
    state = booster.small_state()
    try:
        pack_state(state)
    except TypeError as error:
        return None, f"the state of the strategy cannot be saved: {error}"
    return state, ""


def resume_booster(
    new: Booster,
    old: Booster,
    cell: Cell,
    rounds: Sequence[Sequence[Term]],
    history: bool,
) -> str:
    """Set a new booster to the end of a trained run; the reason why not if it cannot be continued.

    `old` is a new booster for the number of rounds of the cell, with the same seed; `rounds` are
    the terms of the cell.
    """
    if cell.state is None:
        return str(cell.about.get("stateless", "it was saved without the state of its booster"))
    if history and cell.history is None:
        return "it was saved without history rows"
    if not _same(new.small_state(), old.small_state()):
        return PLANS_ROUNDS
    try:
        new.replay(rounds, round_edges(cell.arrays).tolist(), cell.state)
    except BoostSampleError as error:
        return str(error)
    return ""


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two states are equal to the bit; False if they hold what cannot be compared."""
    try:
        return pack_state(one) == pack_state(other)
    except TypeError:
        return False


def joined_cells(before: Cell, after: Cell) -> Cell:
    """The cell of the whole run, from those of its first rounds and of the others.

    `after` has the scores of the whole run. If training ended in `before`, it has no other arrays.
    """
    if "edge" not in after.arrays:
        arrays = {**before.arrays, **after.arrays}
    else:
        arrays = _joined_arrays(before, after)
    history = None if after.history is None else [*(before.history or ()), *after.history]
    about = {**after.about, "started": before.about["started"]}
    return Cell(after.facts, about, arrays, history, after.state)


def _joined_arrays(before: Cell, after: Cell) -> dict[str, NDArray[Any]]:
    """The arrays of `after`, with those of all searches, typed as if they were trained at once."""
    cells = (before, after)
    arrays = {name: one for name, one in after.arrays.items() if name not in _DERIVED}
    joined = [*SEARCH_INTEGERS, "threshold", "edge", "excess", *TERM_ARRAYS]
    for name in (name for name in joined if name in arrays):
        both = np.concatenate([before.arrays[name], arrays[name]])
        integers = name in SEARCH_INTEGERS or name in TERM_INTEGERS
        arrays[name] = narrowest(both) if integers else both
    if any(PREDICTED in cell.arrays for cell in cells):
        parts = [cell.arrays.get(PREDICTED, _unknown(cell)) for cell in cells]
        arrays[PREDICTED] = np.concatenate(parts)
    edges = round_edges(arrays)
    alpha = np.concatenate([cell.alpha for cell in cells])
    if not np.array_equal(alpha, alphas_of_edges(edges)):
        arrays["alpha"] = alpha
    loss = np.concatenate([cell.loss for cell in cells])
    if not np.array_equal(loss, losses_of_edges(edges)):
        arrays["log10_loss"] = loss
    return arrays


def _unknown(cell: Cell) -> NDArray[np.float16]:
    return np.full(cell.arrays["edge"].size, np.nan, np.float16)
