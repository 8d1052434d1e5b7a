"""Temperatures beside each other, on made and real tables: the table of docs/probabilities.md.

    python -m tests.experiments.temperatures [--step 1 0.3 0.1]

Prints the mean of log(loss / least loss of any temperature) over tables, learners and two splits; a
few minutes on one core.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from boostsample import BoostSampleClassifier
from boostsample.classifier.prediction.probabilities import probabilities
from tests.experiments.default_choice import mixture

TABLES: dict[str, tuple[int, Callable[[], Any]]] = {
    "90 rows, 3 classes": (90, lambda: mixture(21, 3_090, 12, 5, 3)),
    "150 rows, 300 columns": (150, lambda: mixture(22, 3_150, 300, 8, 2)),
    "400 rows, linear": (400, lambda: linear(23, 3_400)),
    "1,000 rows, random labels": (1_000, lambda: at_random(24, 4_000)),
    "1,000 rows, 500 columns": (1_000, lambda: mixture(25, 4_000, 500, 20, 2)),
    "2,000 rows, 20 % noise": (2_000, lambda: mixture(26, 5_000, 20, 6, 2, flip_y=0.4)),
    "3,000 rows, 2.3 % positives": (
        3_000,
        lambda: mixture(27, 6_000, 20, 6, 2, weights=[0.977], flip_y=0.005),
    ),
    "3,000 rows, 5 classes": (3_000, lambda: mixture(28, 6_000, 40, 12, 5, class_sep=0.7)),
    "3,000 rows, 26 classes": (3_000, lambda: mixture(29, 6_000, 16, 14, 26, class_sep=1.5)),
    "20,000 rows, shells": (
        20_000,
        lambda: datasets.make_gaussian_quantiles(
            n_samples=23_000, n_features=10, n_classes=3, random_state=30
        ),
    ),
    "breast cancer": (400, lambda: datasets.load_breast_cancer(return_X_y=True)),
    "digits": (1_200, lambda: datasets.load_digits(return_X_y=True)),
}
"""Training rows and table; the other rows are for testing."""
LEARNERS = ("auto", "stump")
FOLDS, SPLITS = 3, 2


def show(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def linear(seed: int, n: int) -> Any:
    """Labels by a logistic model of ten columns; the best error is near 20 %."""
    r = np.random.default_rng(seed)
    X, slopes = r.normal(size=(n, 10)), r.normal(size=10)
    chance = 1 / (1 + np.exp(-2 * X @ slopes / np.linalg.norm(slopes)))
    return X, (r.random(n) < chance).astype(int)


def at_random(seed: int, n: int) -> Any:
    r = np.random.default_rng(seed)
    return r.normal(size=(n, 15)), r.integers(2, size=n)


def splits(name: str) -> Iterator[tuple[Any, ...]]:
    """X_train, X_test, y_train and y_test of each split."""
    n, load = TABLES[name]
    X, y = load()
    for seed in range(SPLITS):
        yield train_test_split(X, y, train_size=n, stratify=y, random_state=seed)


def fitted(X: Any, y: Any, **settings: Any) -> BoostSampleClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of constant models and of training that ends
        return BoostSampleClassifier(random_state=0, **settings).fit(X, y)


def loss_at(model: BoostSampleClassifier, X: Any, y: Any, temperature: float) -> float:
    scores = np.asarray(model.decision_function(X)).reshape(len(X), -1)
    chances = probabilities(scores, np.zeros(scores.shape[1]), temperature, False)
    chances = np.clip(chances, 1e-15, 1)
    return float(log_loss(y, chances / chances.sum(axis=1, keepdims=True), labels=model.classes_))


def cross_fitted(X: Any, y: NDArray[Any], **settings: Any) -> float:
    """Geometric mean of the temperatures of models that are each fitted without a fold."""
    fold = np.random.default_rng(0).permutation(len(y)) % FOLDS
    logs = []
    for at in range(FOLDS):
        model = BoostSampleClassifier(calibration="temperature", random_state=0, **settings)
        rest = {"X_val": X[fold == at], "y_val": y[fold == at]}
        logs.append(math.log(model.fit(X[fold != at], y[fold != at], **rest).temperature_))
    return math.exp(float(np.mean(logs)))


def calibration(steps: list[float]) -> None:
    for step in steps:
        excess: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for name in TABLES:
            for X, X_test, y, y_test in splits(name):
                for learner in LEARNERS:
                    settings = {"learner": learner, "learning_rate": step}
                    model = fitted(X, y, **settings)
                    held = fitted(X, y, calibration="temperature", **settings)
                    losses = {
                        "none": loss_at(model, X_test, y_test, 1.0),
                        "rule": loss_at(model, X_test, y_test, model.temperature_),
                        "held-out tenth": loss_at(held, X_test, y_test, held.temperature_),
                        "held-out tenth, refit": loss_at(model, X_test, y_test, held.temperature_),
                    }
                    if len(y) <= 5_000:
                        crossed = cross_fitted(X, y, **settings)
                        losses["3 folds"] = loss_at(model, X_test, y_test, crossed)
                    grid = np.geomspace(0.2, 500, 60)
                    best = min(loss_at(model, X_test, y_test, one) for one in grid)
                    for way, loss in losses.items():
                        excess[way][name].append(math.log(loss / best))
        show(f"\nstep {step:g}\n")
        show("| table | " + " | ".join(excess) + " |\n| --- |" + " ---: |" * len(excess))
        for name in TABLES:
            cells = [f"{np.mean(of[name]):.3f}" if name in of else "" for of in excess.values()]
            show(f"| {name} | " + " | ".join(cells) + " |")
        means = [np.mean([np.mean(one) for one in of.values()]) for of in excess.values()]
        show("| mean | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", type=float, nargs="+", default=[1.0, 0.3, 0.1])
    calibration(parser.parse_args().step)
