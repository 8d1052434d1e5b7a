"""Curves of runs: what each of them had reached, and had spent, along the numbers of stumps.

A curve row is a result row with three more columns: ``auc`` (NaN where it was not taken),
``features`` and ``examples`` (the means of Q and of T over all searches so far). There are about
forty a run, about equally far apart on a log scale, and one at each mark. A tuned strategy has a
second curve, charged for its search: in the row of m stumps the kept run has m / M of them, and all
M runs together have spent what it says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.experiments.plan.variants import CHARGED
from boostsample.experiments.results.runs import RESULT_COLUMNS, Run, charged_stumps

__all__ = ["CURVE_COLUMNS", "curve_rows"]

CURVE_COLUMNS = (*RESULT_COLUMNS, "auc", "features", "examples")


def curve_rows(run: Run, data: str, marks: Sequence[int]) -> list[dict[str, Any]]:
    """The curve of a run, and of its search if it was tuned.

    Parameters
    ----------
    run : Run
    data : str
        Name of the data set.
    marks : sequence of int
        Numbers of stumps at which results are taken; a run that ended early repeats its last state
        at those behind its end.

    Returns
    -------
    list of dict
        With `CURVE_COLUMNS`, ascending in stumps; the charged rows follow.
    """
    means = [_means(run.cell.arrays[name], run) for name in ("n_features", "n_examples")]

    def row(label: str, stumps: int, state: int, spent: tuple[int, float]) -> dict[str, Any]:
        at = min(state, run.n_rounds)
        return {
            "data": data,
            "strategy": label,
            "settings": run.row_names["settings"],
            "learner": run.cell.facts["learner"],
            "repetition": run.repetition,
            "stumps": stumps,
            "log10_loss": run.cell.loss_at[at] if at else math.nan,
            "test_error": run.errors[at] if at else math.nan,
            "looks": spent[0],
            "seconds": spent[1],
            "auc": run.cell.areas.get(at, math.nan),
            "features": float(means[0][at - 1]) if at else math.nan,
            "examples": float(means[1][at - 1]) if at else math.nan,
        }

    name = run.row_names["strategy"]
    points = sorted({*(at for at in run.cell.loss_at if at <= marks[-1]), *marks})
    rows = [row(name, at, at, run.spent_at(at)) for at in points]
    if run.tuning is not None:
        spent, n_runs = run.tuning.spent, len(run.tuning.losses)
        shown = {mark: charged_stumps(mark, n_runs) for mark in marks}
        between = {n_runs * at: at for at in spent if at not in shown.values()}
        for stumps, at in sorted((shown | between).items()):
            if stumps <= marks[-1]:
                rows.append(row(name + CHARGED, stumps, at, spent[at]))
    return rows


def _means(values: NDArray[Any], run: Run) -> NDArray[np.float64]:
    """Means of the values of all searches up to the end of each round: float64 (n_rounds,)."""
    ends = np.cumsum(run.cell.arrays["searches"], dtype=np.int64)
    sums: NDArray[np.int64] = np.cumsum(values, dtype=np.int64)
    return sums[ends - 1] / ends
