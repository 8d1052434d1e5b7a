"""How good predictions are: error, log loss, AUC, Brier score, confusion and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss, recall_score, roc_auc_score

from boostsample.experiments.tables.formats import guarded_text
from boostsample.experiments.tables.tables import ScoreTable

_BINS = 10
_SHOWN = 20  # most classes of a confusion table as text


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
        shown = self.classes[:_SHOWN]
        confusion = [
            (name, *(f"{count:,}" for count in counts[:_SHOWN].tolist()))
            for name, counts in zip(shown, self.confusion, strict=False)
        ]
        bins = [
            (f"{at / _BINS:.1f} to {(at + 1) / _BINS:.1f}", f"{int(n):,}", *map(_three, means))
            for at, (n, *means) in enumerate(self.calibration.tolist())
        ]
        limit = f", the first {_SHOWN} of {len(self.classes):,}"
        return [
            _table(self.rows, ("metric", "value"), metrics),
            _table(
                "true classes below, predicted ones to the right"
                + (limit if len(self.classes) > _SHOWN else ""),
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
            "metric": pandas.DataFrame({"value": self.metrics}),
            "confusion": pandas.DataFrame(self.confusion, names, names),
            "calibration": pandas.DataFrame(self.calibration, edges, ["rows", "mean", "true"]),
        }
        values = {name: table.stack(future_stack=True) for name, table in tables.items()}
        lines = pandas.concat(values, names=["table", "row", "column"]).rename("value")
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
