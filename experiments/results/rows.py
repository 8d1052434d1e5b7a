"""Rows of a run: result rows, curve rows and history rows, with their columns.

A run has a result row at each mark, and about forty curve rows, about equally far apart on a log
scale. A tuned strategy has a second, charged curve: in the row of m stumps the kept run has m / M
of them, and looks and seconds are those of all M runs together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from boostsample.experiments.results.runs import Run
from boostsample.history import Column

METRIC_SCHEMA = (
    Column("balanced_accuracy", float, "balanced accuracy on the test examples, 0 to 1"),
    Column("f1", float, "macro F1 on the test examples, 0 to 1"),
    Column("log_loss", float, "log loss (natural logarithm) on the test examples"),
)
"""Columns that the tables of earlier versions lack; they are read as NaN."""
RESULT_SCHEMA = (
    Column("data", str, "data set"),
    Column("strategy", str, "name; label with `*` if tuned, ` charged` if looks include tuning"),
    Column("settings", str, "settings of the strategy, for a tuned one those that were kept"),
    Column("learner", str, "learner"),
    Column("repetition", int, "repetition, counted from 0"),
    Column(
        "stumps",
        int,
        "number of rounds, each a base classifier: with the learner `stump`, of stumps",
    ),
    Column("log10_loss", float, "log10 of the exponential loss on the training examples"),
    Column("test_error", float, "error on the test examples in percent"),
    Column("looks", int, "looks so far for search and modelling, without the finish"),
    Column("seconds", float, "seconds of training so far, without evaluation"),
    *METRIC_SCHEMA,
)
"""Columns of ``results.csv``: one row per run and mark."""
CURVE_SCHEMA = (
    *RESULT_SCHEMA,
    Column("auc", float, "area under the ROC curve on the test examples; NaN except at marks"),
    Column("features", float, "features searched (Q), mean over all searches so far"),
    Column("examples", float, "examples drawn (T), mean over all searches so far"),
)
"""Columns of ``curves.csv``: about forty rows per run."""
RESULT_COLUMNS = tuple(column.name for column in RESULT_SCHEMA)
CURVE_COLUMNS = tuple(column.name for column in CURVE_SCHEMA)


def result_rows(run: Run, marks: Sequence[int]) -> list[dict[str, Any]]:
    """One row per mark, with `RESULT_COLUMNS`; the charged rows of a tuned strategy follow."""
    rows = [run.row(mark) for mark in marks]
    if run.tuning is not None:
        n_runs = len(run.tuning.losses)
        rows += [run.row(mark, mark // n_runs) for mark in marks]
    return rows


def curve_rows(run: Run, marks: Sequence[int]) -> list[dict[str, Any]]:
    """The curve of a run, ascending in stumps; the charged curve of a tuned strategy follows.

    Up to the last one of the marks; a run that ended earlier repeats its last state.
    """
    features, examples = run.cell.mean("n_features"), run.cell.mean("n_examples")

    def row(stumps: int, own: int | None = None) -> dict[str, Any]:
        at = min(stumps if own is None else own, run.n_rounds)
        return {
            **run.row(stumps, own),
            "auc": run.cell.areas.get(at, math.nan),
            "features": float(features[at - 1]) if at else math.nan,
            "examples": float(examples[at - 1]) if at else math.nan,
        }

    rows = [row(at) for at in sorted({*(at for at in run.cell.loss_at if at <= marks[-1]), *marks})]
    if run.tuning is not None:
        n_runs = len(run.tuning.losses)
        shown = {mark: mark // n_runs for mark in marks}
        between = {n_runs * at: at for at in run.tuning.spent if at not in shown.values()}
        charged = sorted((shown | between).items())
        rows += [row(stumps, own) for stumps, own in charged if stumps <= marks[-1]]
    return rows


def history_rows(run: Run) -> list[dict[str, Any]]:
    """The history rows of a run, if it has any, preceded by data set, strategy and repetition."""
    data = run.cell.facts["data"]["name"]
    names = {"data": data, **run.row_names, "repetition": run.repetition}
    return [{**names, **row} for row in run.cell.history or ()]
