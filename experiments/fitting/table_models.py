"""Fits a classifier to the rows of a file, predicts, and says how good it is, in words."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss, recall_score, roc_auc_score

from boostsample.checks import budget_looks, check_integer
from boostsample.classifier.defaults import choose_objective, chooses_rounds
from boostsample.classifier.inputs.fit_inputs import make_families
from boostsample.classifier.inputs.frames import SeenColumns, is_frame, is_number
from boostsample.classifier.inputs.held_rows import query_folds
from boostsample.classifier.prediction.held_importances import HeldImportances
from boostsample.errors import DataError, SettingError, printable
from boostsample.estimator import BoostSampleClassifier
from boostsample.experiments.data.table_reader import (
    check_columns,
    check_row_numbers,
    read_table,
    split_data_text,
    split_label,
)
from boostsample.experiments.fitting.matrix_rows import (
    check_target,
    is_matrix,
    matrix_lines,
    missing_columns,
    named_rows,
    read_matrix,
    read_matrix_rows,
)
from boostsample.experiments.tables.formats import guarded_text
from boostsample.experiments.tables.tables import ScoreTable, Table
from boostsample.family import Family
from boostsample.files.atomic import check_writable_file
from boostsample.labels import class_codes, foreign_labels
from boostsample.loop.checkpoint import checkpoint_notes
from boostsample.registry import make_objective

_TRIED_ROWS = 200  # rows of each class that a dry run trains on
_FOLDS = 5
_CROSS_CHECKED = 1000  # most rows of a table whose held-out score takes five fits
_FEWEST_IDS = 20  # fewer rows than these may well have different values
_ID = re.compile(r"(?i:(^|[ _.-])(id|key|index|row|no|nr|number)$)|[a-z]I[dD]$")
"""Names of columns of ids."""
_IN_PYTHON = "predict in Python with BoostSampleClassifier.load(...).predict(X)"
_BLOCK, _LISTED = 4096, 20  # columns to look at together, and names that a note lists
_SHOWN = 8  # names that a description lists before it says how many more there are
_BINS = 10
_SHOWN_CLASSES = 20  # most classes of a confusion table as text


@dataclass(frozen=True)
class TrainingTable:
    """Rows to train on: their file, X, and class values y of the target.

    X is a data frame, or the array or sparse matrix of a file that is no table. `families` are
    those of columns whose names X itself does not have; `queries` (n,) those of a svmlight file.
    """

    path: Path
    target: str
    X: Any
    y: NDArray[Any]
    families: tuple[Family, ...] | None = None
    queries: NDArray[np.int64] | None = None

    def lines(self) -> list[str]:
        """What it holds, in words."""
        counts = zip(*np.unique(self.y, return_counts=True), strict=True)
        classes = [f"{name} {count:,}" for name, count in counts]
        target = f"{self.target}: {len(classes):,} classes: {_listed(classes)}"
        if not is_frame(self.X):
            return [*map(printable, [*matrix_lines(self.path, self.X), target])]
        kinds: dict[str, list[str]] = {"numbers": [], "dates": [], "categories": []}
        for name, dtype in zip(self.X.columns, self.X.dtypes, strict=True):
            kind = "dates" if _is_date(dtype) else "categories"
            kinds["numbers" if is_number(dtype) else kind].append(name)
        parts = [f"{len(of):,} of {kind} ({_listed(of)})" for kind, of in kinds.items() if of]
        missing = int(self.X.isna().to_numpy().sum())
        lines = [
            f"{self.path.name}: {len(self.X):,} rows; columns: {', '.join(parts)}"
            + (f"; missing values: {missing:,}" if missing else ""),
            target,
        ]
        constant, ids = _useless_columns(self.X)
        for shared, names in (
            ("the same value in all rows", constant),
            ("another value in each row, as ids have", ids),
        ):
            if names:
                listed = ", ".join(names[:_LISTED])
                more = f", ... ({len(names):,} in all)" if len(names) > _LISTED else ""
                lines.append(f"{shared}: {listed}{more}; --drop leaves such columns out")
        return [printable(line) for line in lines]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")


def read_training_table(
    path: str | Path,
    target: str | None,
    *,
    drop: Sequence[str] = (),
    category: Sequence[str] = (),
    groups: str | None = None,
) -> TrainingTable:
    """The rows of a file, its target apart; `target` as of `check_target`.

    `groups` is the setting `families` of the classifier. Errors as from `read_table`,
    `split_label` and `read_matrix`.
    """
    check_target(path, target)
    if is_matrix(path):
        matrix = read_matrix(path, target, drop=drop, category=category)
        assert matrix.y is not None
        X, names = named_rows(matrix, path), matrix.columns
        families = None
        if names is not None and hasattr(X, "tocsc"):
            families = tuple(make_families(groups or None, X, X, SeenColumns.of(None, names)))
        where = "labels" if target is None else f"labels {target}"
        return TrainingTable(_file_of(path), where, X, matrix.y, families, matrix.groups)
    assert target is not None
    frame = read_table(path, label=target, drop=drop, category=category)
    file = _file_of(path)
    X, y = split_label(frame, target, file)
    check_row_numbers(X, file)
    return TrainingTable(file, f"target {target}", X, y)


def fit_rows(
    model: BoostSampleClassifier,
    table: TrainingTable,
    rows: NDArray[np.intp] | None = None,
    start: BoostSampleClassifier | None = None,
) -> BoostSampleClassifier:
    """Fit on some rows of a table, or on all; an objective that ranks does so within queries."""
    X, y, queries = table.X, table.y, table.queries
    if queries is not None and not make_objective(choose_objective(model.objective)).ranks:
        queries = None
    if rows is not None:
        X, y = _rows_at(X, rows), y[rows]
        queries = None if queries is None else queries[rows]
    return model.fit(X, y, init_model=start, groups=queries)


def try_out(
    model: BoostSampleClassifier, table: TrainingTable, start: BoostSampleClassifier | None
) -> int:
    """Fit one round on a few rows of each class, so that errors show; returns the rows taken."""
    if not chooses_rounds(model.n_rounds, model.warm_start):
        check_integer("n_rounds", model.n_rounds, 1)
    if model.checkpoint is not None:
        checkpoint_notes(model.checkpoint)
        ending = Path(model.checkpoint).suffix.lower()
        check_writable_file(model.checkpoint, ending, "checkpoints", overwrite=True)
    holds_out = model.early_stopping or model.calibration == "temperature"
    if isinstance(model.budget, str) and not holds_out:
        budget_looks(model.budget, len(table.y))
    codes = np.unique(table.y, return_inverse=True)[1].reshape(-1)
    order = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[order], codes[order])
    some = np.sort(order[np.arange(order.size) - first < _TRIED_ROWS])
    few = clone(model).set_params(n_rounds=1, checkpoint=None, verbose=False)
    fit_rows(few, table, some, start)
    return int(some.size)


def read_rows(
    model: BoostSampleClassifier, path: str | Path, target: str | None, *, only_known: bool = False
) -> tuple[Any, NDArray[np.int64] | None]:
    """The columns of a file that a model reads, and the positions of the true classes or None.

    -1 is the position of classes that the model does not have. DataError if the model cannot be
    used on tables, or if no row has a class of the model in the column `target`; with `only_known`,
    if any row has another.
    """
    file = _file_of(path)
    if model._multi_label:
        raise DataError(f"the model predicts several labels of each row; {_IN_PYTHON}")
    if is_matrix(path):
        X, truth = read_matrix_rows(model, path, target, needs_labels=only_known)
        if truth is None or not (only_known or target is not None):
            return X, None
        where = f"{file}: the labels"
    else:
        X, truth = _table_rows(model, path, file, target)
        if truth is None:
            return X, None
        where = f"{file}: the label {target!r}"
    codes = class_codes(truth, model.classes_, where)
    if not (codes >= 0).any():
        raise foreign_labels(truth, model.classes_, where)
    if only_known and (codes < 0).any():
        first = int(np.argmax(codes < 0))
        raise DataError(
            f"{where} must hold classes of the model only, but "
            f"{int((codes < 0).sum()):,} of {codes.size:,} rows have others, the first is "
            f"{truth[first : first + 1].tolist()[0]!r:.60} in data row {first + 1}; leave these "
            "rows out"
        )
    return X, codes


def _table_rows(
    model: BoostSampleClassifier, path: str | Path, file: Path, target: str | None
) -> tuple[Any, NDArray[Any] | None]:
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise DataError(
            "the model was fitted without names of columns, so that a table cannot be matched; "
            f"{_IN_PYTHON}"
        )
    columns = [] if model.columns_ is None else model.columns_.columns
    texts = [column.name for column in columns if isinstance((*column.categories, None)[0], str)]
    if target is not None and isinstance(model.classes_[0], str):
        texts.append(target)
    frame = read_table(path, label=target, category=texts, only=names)
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise missing_columns(file, len(names), missing)
    return frame[list(names)], None if target is None else split_label(frame, target, file)[1]


def predictions(
    model: BoostSampleClassifier,
    path: str | Path,
    target: str | None,
    *,
    chances: bool,
    keep: Sequence[str] = (),
) -> tuple[Any, float | None]:
    """A data frame of predictions for the rows of a file, and their error in percent or None.

    The columns are those to `keep`, as text, ``prediction`` and, with `chances`, ``probability of
    C`` for each class C.
    """
    if keep and is_matrix(path):
        raise SettingError(f"--keep copies columns of tables, but {path} is none; leave it out")
    X, codes = read_rows(model, path, target)
    predicted = model.predict(X)
    of_rows = {"prediction": predicted}
    if chances:
        names = (f"probability of {name}" for name in model.classes_)
        of_rows |= dict(zip(names, model.predict_proba(X).T, strict=True))
    if len(set(keep)) < len(keep):
        raise SettingError(f"--keep must name each column once, got {', '.join(map(repr, keep))}")
    taken = next((name for name in keep if name in of_rows), None)
    if taken is not None:
        raise SettingError(
            f"--keep must name no column of the predictions, got {taken!r}; rename that column of "
            "the table"
        )
    table = pd.DataFrame(of_rows)
    if keep:
        frame = read_table(path, category=keep, only=keep, as_written=True)
        if len(frame.columns) < len(keep):
            check_columns(keep, read_table(path), _file_of(path))  # names all columns
        table = pd.concat([frame[list(keep)], table], axis=1)
    if codes is None:
        return table, None
    return table, 100 * float(np.mean(codes != class_codes(predicted, model.classes_)))


@dataclass(frozen=True)
class Evaluation:
    """True classes of rows and what a model predicts."""

    rows: str  # names the rows in titles
    classes: tuple[str, ...]
    truth: NDArray[np.int64]  # (n,), positions in `classes`
    predicted: NDArray[np.int64]
    chances: NDArray[np.float64]  # (n, C), probabilities of the classes

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Metrics by name; NaN if the rows do not define one.

        - balanced error: 1 less the mean recall of the classes that the rows have, in percent;
        - AUC: of more than two classes, the mean of each against the others;
        - Brier score: mean of (p - y)^2 of the second of two classes; of more, the mean over rows
          of its sum over the classes, as in scikit-learn.
        """
        there, counts = np.unique(self.truth, return_counts=True)
        recall = recall_score(self.truth, self.predicted, labels=there, average="macro")
        several = len(self.classes) > 2
        against = [k for k, n in zip(there.tolist(), counts, strict=True) if n < self.truth.size]
        areas = [
            roc_auc_score(self.truth == k, self.chances[:, k]) for k in against if several or k == 1
        ]
        squares = (self.chances - np.eye(len(self.classes))[self.truth]) ** 2
        return {
            "error %": 100 - 100 * float(accuracy_score(self.truth, self.predicted)),
            "balanced error %": 100 - 100 * float(recall),
            "log loss": float(log_loss(self.truth, self.chances, labels=range(len(self.classes)))),
            "AUC": float(np.mean(areas)) if areas else float("nan"),
            "Brier score": float(np.mean(squares.sum(axis=1) / (1 if several else 2))),
        }

    @cached_property
    def confusion(self) -> NDArray[np.int64]:
        """Rows of each true class that are predicted as each class: int64 (C, C)."""
        labels = range(len(self.classes))
        return np.asarray(confusion_matrix(self.truth, self.predicted, labels=labels))

    @property
    def event(self) -> str:
        """What the calibration judges the probability of."""
        if len(self.classes) == 2:
            return f"the class {self.classes[1]}"
        return "the predicted class"

    @cached_property
    def calibration(self) -> NDArray[np.float64]:
        """Rows, mean probability and share of the event of ten equal bins: float64 (10, 3).

        Bins are closed to the right, as in scikit-learn. NaN in a bin without rows.
        """
        if len(self.classes) == 2:
            chance, event = self.chances[:, 1], self.truth == 1
        else:
            chance = self.chances[np.arange(self.truth.size), self.predicted]
            event = self.truth == self.predicted
        at = np.searchsorted(np.linspace(0, 1, _BINS + 1)[1:-1], chance)
        counts = np.bincount(at, minlength=_BINS).astype(float)
        with np.errstate(invalid="ignore"):
            means = [np.bincount(at, values, _BINS) / counts for values in (chance, event)]
        return np.stack([counts, *means], axis=1)

    def summary(self) -> str:
        """The metrics in a line, the error with its standard error."""
        error = self.metrics["error %"]
        spread = (error * (100 - error) / self.truth.size) ** 0.5
        texts = []
        for name, value in self.metrics.items():
            unit = " %" if name.endswith(" %") else ""
            texts.append(f"{name.removesuffix(unit)} {_number(name, value)}{unit}")
        return ", ".join([f"{texts[0]} (std. error {spread:.2f})", *texts[1:]])

    def tables(self) -> list[ScoreTable]:
        """Tables of metrics, confusion and calibration."""
        metrics = [(name, _number(name, value)) for name, value in self.metrics.items()]
        shown = self.classes[:_SHOWN_CLASSES]
        confusion = [
            (name, *(f"{count:,}" for count in counts[:_SHOWN_CLASSES].tolist()))
            for name, counts in zip(shown, self.confusion, strict=False)
        ]
        bins = [
            (f"{at / _BINS:.1f} to {(at + 1) / _BINS:.1f}", f"{int(n):,}", *map(_three, means))
            for at, (n, *means) in enumerate(self.calibration.tolist())
        ]
        limit = f", the first {_SHOWN_CLASSES} of {len(self.classes):,}"
        return [
            _table(self.rows, ("metric", "value"), metrics),
            _table(
                "true classes below, predicted ones to the right"
                + (limit if len(self.classes) > _SHOWN_CLASSES else ""),
                ("true", *shown),
                confusion,
            ),
            _table(
                f"calibration: the probability of {self.event}, and how often it is true",
                ("probability", "rows", "mean", "true"),
                bins,
            ),
        ]

    def csv(self) -> str:
        """All numbers with all digits: table, row, column and value, a line each."""
        names = [*map(guarded_text, self.classes)]
        edges = [f"{at / _BINS:.1f}" for at in range(_BINS)]
        tables = {
            "metric": pd.DataFrame({"value": self.metrics}),
            "confusion": pd.DataFrame(self.confusion, names, names),
            "calibration": pd.DataFrame(self.calibration, edges, ["rows", "mean", "true"]),
        }
        values = {name: table.stack(future_stack=True) for name, table in tables.items()}
        lines = pd.concat(values, names=["table", "row", "column"]).rename("value")
        text: str = lines.to_csv(float_format="%.16g", lineterminator="\n")
        return text


def _table(title: str, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> ScoreTable:
    return ScoreTable(title, header, tuple(rows), tuple(("",) * len(header) for _ in rows))


def _number(name: str, value: float) -> str:
    if value != value:
        return "-"
    return f"{value:.2f}" if name.endswith("%") else f"{value:.4f}"


def _three(value: float) -> str:
    return "-" if value != value else f"{value:.3f}"


def evaluation(model: BoostSampleClassifier, path: str | Path, target: str | None) -> Evaluation:
    """The predictions for the rows of a file beside their true classes."""
    X, codes = read_known_rows(model, path, target)
    rows = f"{_file_of(path).name}: {len(codes):,} rows"
    return _evaluation(model, rows, X, codes)


def read_known_rows(
    model: BoostSampleClassifier, path: str | Path, target: str | None
) -> tuple[Any, NDArray[np.int64]]:
    """As `read_rows`; DataError if a row has a class that the model does not know."""
    check_target(path, target)
    X, codes = read_rows(model, path, target, only_known=True)
    assert codes is not None
    return X, codes


def _evaluation(
    model: BoostSampleClassifier, rows: str, X: Any, codes: NDArray[np.int64]
) -> Evaluation:
    predicted = class_codes(model.predict(X), model.classes_)
    classes = tuple(map(str, model.classes_.tolist()))
    return Evaluation(rows, classes, codes, predicted, model.predict_proba(X))


def held_out_fits(table: TrainingTable) -> int:
    """Fits that the held-out score of a table takes."""
    return _FOLDS if len(table.y) <= _CROSS_CHECKED else 1


def held_out_score(model: BoostSampleClassifier, table: TrainingTable) -> str:
    """Metrics of rows that fits with the settings of the model have not seen, in words.

    A fit leaves out a fifth of the rows of each class and predicts them, or a fifth of the queries.
    Up to `_CROSS_CHECKED` rows there are five such fits, and every row is predicted once, except
    that of a class with one row, which is never left out. DataError or SettingError if the other
    rows are too few.
    """
    codes = class_codes(table.y, model.classes_)
    n_fits = held_out_fits(table)
    fold_of = _folds(codes, table.queries)
    parts = []
    for fold in range(n_fits):
        held, others = np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)
        if np.unique(codes[others]).size < len(model.classes_):
            raise DataError("a fifth of the queries has all rows of a class")
        fitted = clone(model).set_params(checkpoint=None, verbose=False)
        with warnings.catch_warnings(action="ignore"):  # the fit of the model has warned
            fit_rows(fitted, table, others)
        parts.append(_evaluation(fitted, "", _rows_at(table.X, held), codes[held]))
    joined: Any = zip(*((part.truth, part.predicted, part.chances) for part in parts), strict=True)
    whole = Evaluation("", parts[0].classes, *map(np.concatenate, joined))
    how = f"{n_fits} fits without them" if n_fits > 1 else "a fit without them"
    rows = f"{whole.truth.size:,} of {codes.size:,} rows"
    return f"held out: {rows}, predicted by {how}: {whole.summary()}"


def _folds(codes: NDArray[np.int64], queries: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """The fold that leaves out each row, -1 for none; DataError if rows or queries are too few."""
    rng = np.random.default_rng(0)
    if queries is not None:
        different, numbers = np.unique(queries, return_inverse=True)
        if different.size < _FOLDS:
            raise DataError(f"at least {_FOLDS} queries are needed, got {different.size}")
        return query_folds(numbers, _FOLDS, rng)
    order = rng.permutation(codes.size)
    order = order[np.argsort(codes[order], kind="stable")]
    order = order[np.bincount(codes)[codes[order]] > 1]
    if order.size < _FOLDS:
        raise DataError(
            f"at least {_FOLDS} rows of classes with more rows are needed, got {order.size}"
        )
    fold_of = np.full(codes.size, -1)
    fold_of[order] = np.arange(order.size) % _FOLDS
    return fold_of


def describe_model(model: BoostSampleClassifier, start: BoostSampleClassifier | None) -> list[str]:
    """What was trained, after the rounds of `start`, in words: strategy and rounds."""
    looks = sum(row["looks_search"] + row["looks_modelling"] for row in model.history_)
    size = f"{len(model.model_):,} rounds, {len(model.model_.feature):,} terms"
    if model.n_members_ > 1:
        size = f"{size} of {model.n_members_} models without a part of the rows each"
    ended = f"; training ended early: {model.stopped_}" if model.stopped_ else ""
    lines = [f"{model.strategy_!r}: {size}, {looks:,} looks{ended}"]
    if hasattr(model, "validation_error_"):
        before = 0 if start is None else len(start.model_)
        n_turns = (len(model.model_) - before) // model.n_members_
        held = model.validation_error_[n_turns - 1]
        lines.append(f"wrong on the rows that chose the number of rounds: {held:.2f} %")
    return lines


def _rows_at(X: Any, rows: NDArray[Any]) -> Any:
    return X.iloc[rows] if is_frame(X) else X[rows]


def _file_of(path: str | Path) -> Path:
    """The file of a path that may end in options."""
    return Path(split_data_text(path)[0]) if isinstance(path, str) else path


def importance_table(
    model: BoostSampleClassifier, held: HeldImportances | None, n_columns: int
) -> Table | None:
    """The first columns by their importance on held-out rows, or else by their share of training.

    None if the features of the model are not made of columns.
    """
    if not hasattr(model, "feature_importances_"):
        return None
    names, shares = model._groups("column")[1], model.feature_importances_
    if held is None:
        order = np.argsort(-shares, kind="stable")[:n_columns].tolist()
        title = "columns by their share in training; --data gives their importance on other rows"
        rows = [(names[at], f"{100 * shares[at]:.1f}") for at in order]
        return Table(title, ("column", "training %"), tuple(rows))
    means, spreads = held.rises.mean(axis=1), held.rises.std(axis=1, ddof=1)
    cells = [
        (names[at], f"{means[at]:.4f} ({spreads[at]:.4f})", f"{100 * shares[at]:.1f}")
        for at in held.first(n_columns)
    ]
    title = (
        f"importance of columns on {held.n_rows:,} held-out rows: rise of their log loss, "
        f"{held.log_loss:.4f}, if the column is shuffled; mean (std) of {held.rises.shape[1]} "
        "shuffles"
    )
    return Table(title, ("column", "held out", "training %"), tuple(cells))


def _useless_columns(X: Any) -> tuple[list[str], list[str]]:
    dtypes = X.dtypes.to_numpy()
    constant, ids = [], []
    plain = np.array(
        [isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in dtypes], bool
    )
    for dtype in dict.fromkeys(dtypes[plain].tolist()):  # a block of a wide table at once
        places = np.flatnonzero(plain & (dtypes == dtype))
        for part in np.array_split(places, places.size // _BLOCK + 1):
            values = X.iloc[:, part].to_numpy()
            first = values[:1]
            with np.errstate(invalid="ignore"):  # of infinity
                is_equal = (values == first) | ((values != values) & (first != first))
                # Whole numbers that all differ have at least this range.
                numbers = values.astype(np.float64)
                may_be_id = (numbers % 1 == 0).all(axis=0) & (np.ptp(numbers, axis=0) > len(X) - 2)
            constant += part[is_equal.all(axis=0)].tolist()
            ids += part[may_be_id].tolist()
    for at in np.flatnonzero(~plain).tolist():
        if X.iloc[:, at].nunique(dropna=False) < 2:
            constant.append(at)
        ids.append(at)
    ids = [at for at in ids if _looks_like_id(X.columns[at], X.iloc[:, at])]
    return [X.columns[at] for at in sorted(constant)], [X.columns[at] for at in sorted(ids)]


def _looks_like_id(name: str, column: Any) -> bool:
    if len(column) < _FEWEST_IDS or column.isna().any() or not column.is_unique:
        return False
    if not is_number(column.dtype):
        return not _is_date(column.dtype)
    values = column.to_numpy(float)
    named = _ID.search(name) is not None
    return bool((values % 1 == 0).all()) and (named or np.ptp(values) < 10 * values.size)


def _is_date(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") == "M" or str(dtype).startswith("date")
