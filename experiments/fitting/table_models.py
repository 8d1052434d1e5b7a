"""Fits a classifier to a table in a file, predicts with it, and describes both in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from boostsample.errors import DataError
from boostsample.estimator import BoostSampleClassifier
from boostsample.experiments.fitting.frames import (
    check_columns,
    read_frame,
    split_target,
    take_columns,
)

__all__ = ["TrainingTable", "describe_model", "predictions", "read_training_table", "try_out"]

_TRIED_ROWS = 200
"""Rows of each class that a dry run trains on."""
_SHOWN = 8
"""Names that a description lists before it says how many more there are."""


@dataclass(frozen=True)
class TrainingTable:
    """A table to train on: its file, columns X and target y."""

    path: Path
    target: str
    X: Any
    y: Any

    def lines(self) -> list[str]:
        """What it holds, in words."""
        kinds = {
            "of numbers": [name for name in self.X.columns if _is_number(self.X[name])],
            "of categories": [name for name in self.X.columns if not _is_number(self.X[name])],
        }
        parts = []
        for kind, names in kinds.items():
            if names:
                listed = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
                parts.append(f"{len(names):,} {kind} ({listed})")
        missing = int(self.X.isna().to_numpy().sum())
        counts = self.y.value_counts().sort_index()
        classes = [f"{name} {count:,}" for name, count in counts.items()]
        shown = ", ".join(classes[:_SHOWN]) + (", ..." if len(classes) > _SHOWN else "")
        return [
            f"{self.path.name}: {len(self.X):,} rows; columns: {', '.join(parts)}"
            + (f"; missing values: {missing:,}" if missing else ""),
            f"target {self.target}: {len(classes):,} classes: {shown}",
        ]


def read_training_table(
    path: str | Path, target: str, *, drop: Sequence[str] = (), category: Sequence[str] = ()
) -> TrainingTable:
    """The table of a file, its target apart; errors as from `read_frame` and `split_target`.

    The columns `category` are categories, whatever they hold; SettingError if one is unknown.
    """
    frame = read_frame(path, texts=category)
    check_columns(category, frame, path)
    X, y = split_target(frame, target, drop, path)
    return TrainingTable(Path(path), target, X, y)


def try_out(model: BoostSampleClassifier, table: TrainingTable) -> int:
    """Fit one round on a few rows of each class, so that errors show; returns the rows taken."""
    some = table.y.groupby(table.y, observed=True).head(_TRIED_ROWS).index
    alone = {"early_stopping": False, "calibration": None, "checkpoint": None, "verbose": False}
    few = clone(model).set_params(n_rounds=1, **alone)
    few.fit(table.X.loc[some], table.y.loc[some])
    return len(some)


def predictions(
    model: BoostSampleClassifier, path: str | Path, target: str | None, *, chances: bool
) -> tuple[Any, float | None]:
    """A data frame of predictions for the rows of a file, and their error in percent or None.

    The columns are ``prediction`` and, with `chances`, ``probability of C`` for each class C.
    Columns that the model does not know are passed over.
    """
    import pandas

    names = getattr(model, "feature_names_in_", None)
    columns = [] if model.columns_ is None else model.columns_.columns
    texts = [one.name for one in columns if isinstance((*one.categories, None)[0], str)]
    if names is None:
        raise DataError(
            "the model was fitted without names of columns, so that a table cannot be matched; "
            "predict in Python with BoostSampleClassifier.load(...).predict(X)"
        )
    frame = read_frame(path, texts=texts)
    X = take_columns(frame, list(names), path)
    found = pandas.DataFrame({"prediction": model.predict(X)})
    if chances:
        for name, chance in zip(model.classes_, model.predict_proba(X).T, strict=True):
            found[f"probability of {name}"] = chance
    if target is None:
        return found, None
    truth = split_target(frame, target, (), path)[1].astype(str).to_numpy()
    return found, 100 * float(np.mean(found["prediction"].astype(str).to_numpy() != truth))


def describe_model(model: BoostSampleClassifier, table: TrainingTable) -> list[str]:
    """What was trained, in words: strategy, rounds and errors."""
    looks = sum(row["looks_search"] + row["looks_modelling"] for row in model.history_)
    wrong = np.mean(model.predict(table.X) != np.asarray(table.y))
    size = f"{len(model.model_):,} rounds, {len(model.model_.feature):,} terms"
    lines = [f"{model.strategy_!r}: {size}, {looks:,} looks"]
    if hasattr(model, "validation_error_"):
        held = model.validation_error_[len(model.model_) - 1]
        lines.append(f"wrong on the rows held out: {held:.2f} %")
    return [*lines, f"wrong on all rows of the table: {100 * float(wrong):.2f} %"]


def _is_number(column: Any) -> bool:
    return getattr(column.dtype, "kind", "O") in "biuf"
