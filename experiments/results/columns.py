"""Names, types and meanings of the columns of ``results.csv`` and ``curves.csv``."""

from __future__ import annotations

from boostsample.history import Column

__all__ = ["CURVE_COLUMNS", "CURVE_SCHEMA", "RESULT_COLUMNS", "RESULT_SCHEMA", "Column"]

RESULT_SCHEMA = (
    Column("data", str, "data set"),
    Column("strategy", str, "name; label with `*` if tuned, ` charged` if looks include tuning"),
    Column("settings", str, "settings of the strategy, for a tuned one those that were kept"),
    Column("learner", str, "learner"),
    Column("repetition", int, "repetition, counted from 0"),
    Column("stumps", int, "number of stumps (rounds)"),
    Column("log10_loss", float, "log10 of the exponential loss on the training examples"),
    Column("test_error", float, "error on the test examples in percent"),
    Column("looks", int, "looks so far for search and modelling, without the finish"),
    Column("seconds", float, "seconds of training so far, without evaluation"),
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
