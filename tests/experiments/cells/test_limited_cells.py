"""Cells of runs that end at a limit: keys, rows after the end, and grids that grow."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from boostsample.experiments.cells.store import FolderStore, Store
from tests.experiments.cells.test_continued import (
    FEW,
    MANY,
    cells_of,
    filled,
    prepared_for,
    rounds,
    timeless,
)

__all__ = ["rounds"]

STRATEGIES = "uniform-naive:n_features=2,mas-naive"


@pytest.mark.parametrize(("share", "trained"), [(0.4, 4), (0.7, 6), (2.0, 8)])
def test_a_limit_of_looks_gives_the_same_bits_straight_or_resumed(
    tmp_path: Path, share: float, trained: int
) -> None:
    """Eight rounds in all; the limit is reached before the grid has grown, after it, or never."""
    whole = filled(prepared_for(MANY, STRATEGIES), Store())
    cell = whole.runs[0].cell
    looks = int(share * (cell.looks("search") + cell.looks("modelling"))[-1])
    few, many = (prepared_for(marks, STRATEGIES, max_looks=looks) for marks in (FEW, MANY))
    filled(few, FolderStore(tmp_path))
    grown = filled(many, FolderStore(tmp_path))
    straight = filled(many, Store())
    assert timeless(grown) == timeless(straight)
    run = straight.runs[0]
    assert run.n_rounds == trained
    assert run.cell.about["stopped"] == ("" if share > 1 else f"max_looks={looks:,} is reached")
    np.testing.assert_array_equal(run.cell.arrays["edge"], cell.arrays["edge"][:trained])
    last = next(row for row in straight.rows if row["stumps"] == 8)
    assert last["looks"] == run.spent_at(trained)[0]
    assert last["log10_loss"] == run.cell.loss_at[trained]


@pytest.mark.parametrize(("share", "trained"), [(0.4, 3), (0.7, 5), (0.01, 1), (1.0, 8)])
def test_a_run_ends_with_the_last_round_within_its_cost(
    tmp_path: Path, share: float, trained: int
) -> None:
    """The same bits straight or resumed; four of the eight rounds are trained first."""
    whole = filled(prepared_for(MANY, STRATEGIES, regret=1), Store())
    for run in whole.runs:
        limit = share * float(run.cell.cost[-1])
        within = max(1, int((run.cell.cost <= limit).sum()))
        label = run.variant.label
        few, many = (prepared_for(marks, label, max_cost=limit, regret=1) for marks in (FEW, MANY))
        filled(few, FolderStore(tmp_path))
        grown, straight = filled(many, FolderStore(tmp_path)), filled(many, Store())
        assert timeless(grown) == timeless(straight)
        (short,) = straight.runs
        assert short.n_rounds == within == trained
        assert short.cell.about["stopped"] == (
            "" if share == 1 else f"max_cost={limit:g} is reached"
        )
        assert short.cell.best_edges.keys() == set(range(1, within + 1))
        np.testing.assert_array_equal(short.cell.arrays["edge"], run.cell.arrays["edge"][:within])
        last = next(row for row in straight.curves if row["stumps"] == 8)
        assert last["cost"] == run.cell.cost[within - 1]
        assert last["log10_loss"] == run.cell.loss_at[within]


def test_a_cell_that_has_spent_its_seconds_is_not_trained_further(
    tmp_path: Path, rounds: Counter[int]
) -> None:
    filled(prepared_for(FEW, "full", max_seconds=1e-9), FolderStore(tmp_path))
    (before,) = cells_of(tmp_path).values()
    assert (before.n_rounds, before.about["stopped"]) == (1, "max_seconds=1e-09 is reached")
    rounds.clear()
    filled(prepared_for(MANY, "full", max_seconds=1e-9), FolderStore(tmp_path))
    (after,) = cells_of(tmp_path).values()
    assert not rounds
    assert after.n_rounds == 1
    assert after.about["stopped"] == "max_seconds=1e-09 is reached"


def test_seconds_of_the_rounds_before_count(tmp_path: Path) -> None:
    """Five rounds of 1.3 seconds each, trained by another process."""
    store = Store()
    few, many = (prepared_for(marks, "full", max_seconds=6) for marks in (FEW, MANY))
    filled(few, store)
    ((name, cell),) = store._cells.items()
    seconds = [{**row, "seconds": 1.3} for row in cell.history or ()]
    store._cells[name] = replace(cell, history=seconds)
    (run,) = filled(many, store).runs
    assert (run.n_rounds, run.cell.about["stopped"]) == (5, "max_seconds=6 is reached")
