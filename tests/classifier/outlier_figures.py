"""Prints the table of docs/outliers.md: flipped labels among the heaviest rows.

python -m tests.classifier.outlier_figures
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from boostsample import BoostSampleClassifier

N_SEEDS = 5
DATA = {"digits": load_digits, "breast cancer": load_breast_cancer}
SHARES = (0.05, 0.1)


def flipped(
    y: NDArray[Any], share: float, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Labels 0 to K - 1 of which a share is changed to another class, and the changed rows."""
    rows = rng.choice(y.size, round(share * y.size), replace=False)
    n_classes = int(y.max()) + 1
    changed = y.copy()
    changed[rows] = (y[rows] + rng.integers(1, n_classes, rows.size)) % n_classes
    return changed, rows


def share_found(suspicion: NDArray[np.float64], rows: NDArray[np.int64]) -> float:
    """Share of these rows among as many most suspicious ones."""
    heaviest = np.argsort(-suspicion, kind="stable")[: rows.size]
    return float(np.isin(heaviest, rows).mean())


def weights(**settings: Any) -> Callable[[Any, Any, int], NDArray[np.float64]]:
    """Suspicion by the weights of a fit."""

    def of(X: Any, y: Any, seed: int) -> NDArray[np.float64]:
        model = BoostSampleClassifier(random_state=seed, **settings).fit(X, y)
        return np.asarray(model.example_weights_)

    return of


def improbable(make: Callable[[int], Any]) -> Callable[[Any, Any, int], NDArray[np.float64]]:
    """Suspicion by 1 - the out-of-fold probability of the label, in five folds."""

    def of(X: Any, y: Any, seed: int) -> NDArray[np.float64]:
        chances = cross_val_predict(make(seed), X, y, cv=5, method="predict_proba")
        return np.asarray(1.0 - chances[np.arange(y.size), y])

    return of


WAYS = {
    "random rows": lambda X, y, seed: np.random.default_rng(100 + seed).random(y.size),
    "heavy rows of the default fit": weights(),
    'heavy rows of `learner="stump", n_rounds=200`': weights(learner="stump", n_rounds=200),
    "improbable labels by logistic regression, out of fold": improbable(
        lambda seed: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    ),
    "improbable labels by a random forest, out of fold": improbable(
        lambda seed: RandomForestClassifier(200, random_state=seed)
    ),
}


def table() -> Iterator[str]:
    """The lines of the table: means and standard deviations over seeds, in percent."""
    tasks = [(name, share) for name in DATA for share in SHARES]
    yield "| " + " | ".join(["suspicious are", *(f"{name}, {s:.0%}" for name, s in tasks)]) + " |"
    yield "| --- " * (len(tasks) + 1) + "|"
    for way, suspicion in WAYS.items():
        cells = []
        for name, share in tasks:
            X, y = DATA[name](return_X_y=True)
            found = []
            for seed in range(N_SEEDS):
                labels, rows = flipped(y, share, np.random.default_rng(seed))
                found.append(share_found(suspicion(X, labels, seed), rows))
            cells.append(f"{100 * np.mean(found):.0f} ± {100 * np.std(found, ddof=1):.0f}")
        yield "| " + " | ".join([way, *cells]) + " |"


if __name__ == "__main__":
    for line in table():
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
