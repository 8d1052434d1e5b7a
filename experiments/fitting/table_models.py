"""Fits a classifier to a table in a file, predicts with it, and describes both in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from boostsample.checks import budget_looks, check_integer
from boostsample.errors import DataError, printable
from boostsample.estimator import BoostSampleClassifier
from boostsample.experiments.data.table_files import may_be_index
from boostsample.experiments.fitting.frames import (
    check_columns,
    read_frame,
    split_target,
    take_columns,
)
from boostsample.files.atomic import check_writable_file
from boostsample.labels import class_codes, foreign_labels
from boostsample.loop.checkpoint import checkpoint_notes

__all__ = ["TrainingTable", "describe_model", "predictions", "read_training_table", "try_out"]

_TRIED_ROWS = 200
"""Rows of each class that a dry run trains on."""
_IN_PYTHON = "predict in Python with BoostSampleClassifier.load(...).predict(X)"
_SHOWN = 8
"""Names that a description lists before it says how many more there are."""


@dataclass(frozen=True)
class TrainingTable:
    """A table to train on: its file, columns X and class values y of the target."""

    path: Path
    target: str
    X: Any
    y: NDArray[Any]

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
        counts = zip(*np.unique(self.y, return_counts=True), strict=True)
        classes = [f"{name} {count:,}" for name, count in counts]
        shown = ", ".join(classes[:_SHOWN]) + (", ..." if len(classes) > _SHOWN else "")
        lines = [
            f"{self.path.name}: {len(self.X):,} rows; columns: {', '.join(parts)}"
            + (f"; missing values: {missing:,}" if missing else ""),
            f"target {self.target}: {len(classes):,} classes: {shown}",
        ]
        return [printable(line) for line in lines]


def read_training_table(
    path: str | Path, target: str, *, drop: Sequence[str] = (), category: Sequence[str] = ()
) -> TrainingTable:
    """The table of a file, its target apart; errors as from `read_frame` and `split_target`.

    The columns `category` are categories, whatever they hold; SettingError if one is unknown.
    DataError if a column without a name numbers the rows.
    """
    frame = read_frame(path, texts=category, target=target)
    check_columns(category, frame, path)
    X, y = split_target(frame, target, drop, path)
    for name, column in X.items():
        numbers = column.to_numpy(float, na_value=np.nan) if _is_number(column) else None
        if may_be_index(name, numbers):
            raise DataError(
                f"{path}: features must not number the rows, but the column {name!r} had no name, "
                "as the index that to_csv of pandas writes; leave it out with --drop "
                f"{name!r}, or give it a name"
            )
    return TrainingTable(Path(path), target, X, y)


def try_out(
    model: BoostSampleClassifier, table: TrainingTable, start: BoostSampleClassifier | None
) -> int:
    """Fit one round on a few rows of each class, so that errors show; returns the rows taken."""
    check_integer("n_rounds", model.n_rounds, 1)
    if model.checkpoint is not None:
        checkpoint_notes(model.checkpoint)
        ending = Path(model.checkpoint).suffix.lower()
        check_writable_file(model.checkpoint, ending, "checkpoints", overwrite=True)
    holds_out = model.early_stopping or model.calibration == "temperature"
    if isinstance(model.budget, str) and not holds_out:
        budget_looks(model.budget, len(table.y))
    some = np.flatnonzero(table.X.groupby(table.y).cumcount() < _TRIED_ROWS)
    few = clone(model).set_params(n_rounds=1, checkpoint=None, verbose=False)
    few.fit(table.X.iloc[some], table.y[some], init_model=start)
    return int(some.size)


def predictions(
    model: BoostSampleClassifier, path: str | Path, target: str | None, *, chances: bool
) -> tuple[Any, float | None]:
    """A data frame of predictions for the rows of a file, and their error in percent or None.

    The columns are ``prediction`` and, with `chances`, ``probability of C`` for each class C.
    Columns that the model does not know are passed over. DataError if the model cannot be used on
    tables, or if no row has a class of the model in the column `target`.
    """
    import pandas

    names = getattr(model, "feature_names_in_", None)
    columns = [] if model.columns_ is None else model.columns_.columns
    texts = [one.name for one in columns if isinstance((*one.categories, None)[0], str)]
    if names is None:
        raise DataError(
            "the model was fitted without names of columns, so that a table cannot be matched; "
            f"{_IN_PYTHON}"
        )
    if target is not None and isinstance(model.classes_[0], str):
        texts.append(target)
    frame = read_frame(path, texts=texts)
    X = take_columns(frame, list(names), path)
    predicted = model.predict(X)
    if predicted.ndim > 1:
        raise DataError(f"the model predicts several labels of each row; {_IN_PYTHON}")
    found = pandas.DataFrame({"prediction": predicted})
    if chances:
        for name, chance in zip(model.classes_, model.predict_proba(X).T, strict=True):
            found[f"probability of {name}"] = chance
    if target is None:
        return found, None
    truth = split_target(frame, target, (), path)[1]
    codes = class_codes(truth, model.classes_, f"{path}: the target {target!r}")
    if not (codes >= 0).any():
        raise foreign_labels(truth, model.classes_, f"{path}: the target {target!r}")
    return found, 100 * float(np.mean(codes != class_codes(predicted, model.classes_)))


def describe_model(
    model: BoostSampleClassifier, table: TrainingTable, start: BoostSampleClassifier | None
) -> list[str]:
    """What was trained, after the rounds of `start`, in words: strategy, rounds and errors."""
    looks = sum(row["looks_search"] + row["looks_modelling"] for row in model.history_)
    wrong = np.mean(model.predict(table.X) != table.y)
    size = f"{len(model.model_):,} rounds, {len(model.model_.feature):,} terms"
    lines = [f"{model.strategy_!r}: {size}, {looks:,} looks"]
    if hasattr(model, "validation_error_"):
        before = 0 if start is None else len(start.model_)
        held = model.validation_error_[len(model.model_) - before - 1]
        lines.append(f"wrong on the rows held out: {held:.2f} %")
    return [*lines, f"wrong on all rows of the table: {100 * float(wrong):.2f} %"]


def _is_number(column: Any) -> bool:
    return getattr(column.dtype, "kind", "O") in "biuf"
