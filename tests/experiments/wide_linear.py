"""Linear classifiers of tables with more columns than rows, at their best: docs/WIDE.md.

All of them read blocks of columns, make no second table, and choose their settings by the log loss
of inner folds. Dense columns are standardised, their missing values are the mean; sparse columns
stay as they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse, stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

BLOCK = 4096  # columns of a block
N_FOLDS = 5
VERSION = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
LIBLINEAR: dict[str, Any] = {
    "solver": "liblinear",
    "intercept_scaling": 10.0,
    "max_iter": 1000,
    "random_state": 0,
    **({"l1_ratio": 1.0} if VERSION >= (1, 8) else {"penalty": "l1"}),
}

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Standardized:
    """Columns of a table (n, d) by blocks, with the means and scales of its training rows."""

    def __init__(self, X: Any, rows: Integers) -> None:
        self.is_sparse = sparse.issparse(X)
        self.n, self.d = len(rows), X.shape[1]
        self.X = sparse.csc_matrix(X[rows]) if self.is_sparse else X
        self.rows = np.arange(self.n) if self.is_sparse else rows
        self.mean, self.scale = np.zeros(self.d, np.float32), np.ones(self.d, np.float32)
        if not self.is_sparse:
            for block in self.blocks():
                values = X[:, block][rows]
                n_known = np.maximum((~np.isnan(values)).sum(axis=0), 1)
                mean = np.nansum(values, axis=0, dtype=np.float64) / n_known
                values -= mean.astype(np.float32)
                variance = np.nansum(values * values, axis=0, dtype=np.float64) / n_known
                self.mean[block] = mean
                self.scale[block] = np.where(variance > 1e-12, np.sqrt(variance), np.inf)

    def blocks(self) -> Iterator[slice]:
        width = self.d if self.is_sparse else BLOCK
        return (slice(first, first + width) for first in range(0, self.d, width))

    def take(self, columns: Any, X: Any = None, rows: Any = None) -> Any:
        """Some columns of the training rows, or of rows of another table: float32 (n, q)."""
        if X is None:
            X, rows = self.X, self.rows
        values = X[:, columns] if rows is None else X[:, columns][rows]
        if self.is_sparse:
            return values
        values = values - self.mean[columns]
        values /= self.scale[columns]
        return np.nan_to_num(values, copy=False)

    def products(self, vectors: Floats) -> Floats:
        parts = [self.take(block).T @ vectors.astype(np.float32) for block in self.blocks()]
        return np.concatenate(parts).astype(np.float64)

    def gram(self, X: Any = None) -> Floats:
        """Products of rows, or of those of another table, with the training rows: (n', n)."""
        total: Any = 0.0
        for block in self.blocks():
            columns = self.take(block)
            total = total + (columns if X is None else self.take(block, X)) @ columns.T
        return np.asarray(total, np.float64)

    def separation(self, y: Integers) -> Floats:
        """Part of the variance between classes, which orders columns as F tests do: (d,)."""
        indicators = (y[:, None] == np.unique(y)).astype(np.float32)
        sizes, parts = indicators.sum(axis=0), []
        for block in self.blocks():
            columns = self.take(block)
            squares = columns.multiply(columns) if self.is_sparse else columns * columns
            sums = columns.T @ indicators
            centre = sums.sum(axis=1) ** 2 / self.n
            total = np.asarray(squares.sum(axis=0)).ravel() - centre
            between = (sums**2 / sizes).sum(axis=1) - centre
            parts.append(np.where(total > 1e-6, between / np.maximum(total, 1e-6), 0.0))
        return np.concatenate(parts).astype(np.float64)


def inner_folds(y: Integers) -> list[tuple[Integers, Integers]]:
    """Five folds by class, or as many as the smallest class has rows."""
    n_folds = max(2, min(N_FOLDS, int(np.bincount(y).min())))
    return list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(y, y))


def logistic(strength: float) -> LogisticRegression:
    """A logistic regression with a penalty of 1 / `strength`."""
    return LogisticRegression(C=strength, max_iter=1000)


def chances_of(model: LogisticRegression, X: Any) -> Floats:
    return np.asarray(model.predict_proba(X), np.float64)


class LinearClassifier:
    """What these classifiers share: `fit`, probabilities, and the size of the coefficients.

    After `fit`, `columns_` are the columns in use and `coef_` (k, q) their coefficients, of
    standardised columns; all other coefficients are 0.
    """

    classes_: Integers
    columns_: Integers
    coef_: Floats

    def feature_importances(self) -> Floats:
        """Length of the coefficients of each column: (d,)."""
        sizes = np.zeros(self.n_features_)
        sizes[self.columns_] = np.sqrt((self.coef_**2).sum(axis=0))
        return sizes

    n_features_: int

    def _start(self, X: Any, y: Integers) -> Standardized:
        self.classes_, self.n_features_ = np.unique(y), X.shape[1]
        self._table = Standardized(X, np.arange(len(y)))
        return self._table


class RankedColumns(LinearClassifier):
    """Logistic regression on the first columns by F test."""

    n_columns = (20, 50, 200, 1000)
    strengths = (0.01, 0.1, 1.0)

    def fit(self, X: Any, y: Integers) -> Self:
        losses = dict.fromkeys(itertools.product(self.n_columns, self.strengths), 0.0)
        for train, test in inner_folds(y):
            table = Standardized(X, train)
            order = first_columns(table.separation(y[train]), max(self.n_columns))
            values, held = table.take(order), table.take(order, X, test)
            for n_columns, strength in losses:
                model = logistic(strength).fit(values[:, :n_columns], y[train])
                chances = model.predict_proba(held[:, :n_columns])
                losses[n_columns, strength] += log_loss(y[test], chances, labels=model.classes_)
        n_columns, strength = min(losses, key=losses.__getitem__)
        table = self._start(X, y)
        self.columns_ = first_columns(table.separation(y), n_columns)
        self._model = logistic(strength).fit(table.take(self.columns_), y)
        self.coef_ = self._model.coef_
        return self

    def predict_proba(self, X: Any) -> Floats:
        return chances_of(self._model, self._table.take(self.columns_, X))


def first_columns(values: Floats, n_columns: int) -> Integers:
    return np.argsort(-values, kind="stable")[:n_columns]


class RidgeLogistic(LinearClassifier):
    """Logistic regression with a squared penalty.

    The solution is a combination of the rows. So a dense table is replaced by the coordinates of
    its rows along their principal axes, at most n of them, which changes no prediction.
    """

    strengths = tuple(10.0 ** np.arange(-3, 4))
    """In units in which a dense row has the mean squared length 1."""

    def fit(self, X: Any, y: Integers) -> Self:
        table = self._start(X, y)
        if table.is_sparse:
            rows: Any = X
        else:
            values, axes = np.linalg.eigh(table.gram() / table.d)
            is_used = values > 1e-7 * values[-1]
            self._axes = axes[:, is_used] / np.sqrt(values[is_used])
            rows = axes[:, is_used] * np.sqrt(values[is_used])
        losses = dict.fromkeys(self.strengths, 0.0)
        for (train, test), strength in itertools.product(inner_folds(y), self.strengths):
            model = logistic(strength).fit(rows[train], y[train])
            chances = model.predict_proba(rows[test])
            losses[strength] += log_loss(y[test], chances, labels=model.classes_)
        self._model = logistic(min(losses, key=losses.__getitem__)).fit(rows, y)
        self.columns_ = np.arange(table.d)
        self.coef_ = self._model.coef_
        if not table.is_sparse:
            self.coef_ = table.products(self._axes @ self.coef_.T / table.d).T
        return self

    def predict_proba(self, X: Any) -> Floats:
        if not self._table.is_sparse:
            X = self._table.gram(X) / self._table.d @ self._axes
        return chances_of(self._model, X)


class LassoPath:
    """Logistic regressions of two classes with an absolute penalty, from strong to weak ones.

    liblinear fits columns that may have coefficients; a pass over all columns adds those whose
    gradient exceeds the penalty, until there are none. Then the coefficients are those of a fit of
    all columns.
    """

    most_added = 1000
    tolerance = 1e-3

    def __init__(self, table: Standardized, y: NDArray[np.bool_]) -> None:
        self.table, self.y = table, y.astype(np.float64)
        self.columns = np.empty(0, np.int64)
        self.gradient = self._gradient(np.full(table.n, self.y.mean()))
        self.largest = max(float(np.abs(self.gradient).max()), 1e-12)
        self.penalty = self.largest

    def go_to(self, ratio: float) -> LogisticRegression:
        """The model of a penalty of 1 / ratio of that with which all coefficients are 0."""
        penalty, before = self.largest / ratio, self.penalty
        self.penalty = penalty
        self._add(2 * penalty - before)  # the sequential strong rule of Tibshirani et al. (2012)
        while True:
            model = LogisticRegression(C=1 / penalty, **LIBLINEAR)
            values = self.table.take(self.columns)
            model.fit(values, self.y)
            self.gradient = self._gradient(model.predict_proba(values)[:, 1])
            if not self._add((1 + self.tolerance) * penalty):
                return model

    def _gradient(self, chances: Floats) -> Floats:
        return self.table.products((self.y - chances)[:, None])[:, 0]

    def _add(self, least: float) -> bool:
        """Add columns with a larger gradient, the largest first; False if there are none."""
        sizes = np.abs(self.gradient)
        sizes[self.columns] = 0.0
        order = first_columns(sizes, self.most_added)
        added = order[sizes[order] > max(least, 0.0)]
        if not len(added) and not len(self.columns):
            added = order[:1]
        self.columns = np.concatenate([self.columns, added])
        return len(added) > 0


class LassoLogistic(LinearClassifier):
    """Logistic regression with an absolute penalty; each of several classes against the rest."""

    ratios = (1.25, 1.6, 2.0, 3.0, 5.0, 8.0, 13.0, 20.0, 40.0, 80.0, 160.0)
    """Largest useful penalty over the penalties that are tried, until the loss of the folds has
    risen by a twentieth."""

    def fit(self, X: Any, y: Integers) -> Self:
        folds = [(Standardized(X, train), train, test) for train, test in inner_folds(y)]
        paths = [list(lasso_paths(table, y[train])) for table, train, _ in folds]
        losses: list[float] = []
        for ratio in self.ratios:
            loss = 0.0
            for (table, _, test), of_classes in zip(folds, paths, strict=True):
                models = [path.go_to(ratio) for path in of_classes]
                chances = [
                    model.predict_proba(table.take(path.columns, X, test))[:, 1]
                    for model, path in zip(models, of_classes, strict=True)
                ]
                loss += log_loss(y[test], shares(chances), labels=np.unique(y))
            losses.append(loss)
            if loss > 1.05 * min(losses):
                break
        ratios = self.ratios[: int(np.argmin(losses)) + 1]
        table = self._start(X, y)
        self._models, coefficients = [], []
        for path in lasso_paths(table, y):
            model = [path.go_to(ratio) for ratio in ratios][-1]
            self._models.append((model, path.columns))
            coefficients.append(np.zeros(table.d))
            coefficients[-1][path.columns] = model.coef_[0]
        self.columns_ = np.flatnonzero(np.any(coefficients, axis=0))
        self.coef_ = np.asarray(coefficients)[:, self.columns_]
        return self

    def predict_proba(self, X: Any) -> Floats:
        return shares(
            [m.predict_proba(self._table.take(columns, X))[:, 1] for m, columns in self._models]
        )


def lasso_paths(table: Standardized, y: Integers) -> Iterator[LassoPath]:
    """The path of the second of two classes, or that of each class against the rest."""
    labels = np.unique(y)
    return (LassoPath(table, y == label) for label in (labels[1:] if len(labels) == 2 else labels))


def shares(chances: Any) -> Floats:
    """Probabilities (n, K) of one class of two, or of each class against the rest, as shares."""
    columns = np.stack(chances, axis=1)
    columns = np.hstack([1 - columns, columns]) if columns.shape[1] == 1 else columns
    return np.asarray(columns / columns.sum(axis=1, keepdims=True), np.float64)


class PolygenicScore(LinearClassifier):
    """Sum of alleles times their marginal effects, of variants that are clumped and significant.

    From the least p value on, variants with a squared correlation of 0.2 or more with an earlier
    one are left out. Ten principal axes are covariates, of effects and of probabilities. The limit
    of the p values is chosen by inner folds, whose scores also give the probabilities (Choi, Mak,
    O'Reilly, Nature Protocols 15, 2020).
    """

    limits = (1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.5)
    linked = 0.2
    n_axes = 10

    def fit(self, X: Any, y: Integers) -> Self:
        scores = np.zeros((len(y), len(self.limits)))
        for train, test in inner_folds(y):
            table = Standardized(X, train)
            columns, effects, p_values = self._effects(table, y[train])
            values = table.take(columns, X, test)
            for at, limit in enumerate(self.limits):
                scores[test, at] = values @ (effects * (p_values <= limit))
        table = self._start(X, y)
        self._axes = principal_axes(table, self.n_axes)
        axes = table.gram() @ self._axes
        losses, models = [], []
        for score in scores.T:
            rows = np.column_stack([score, axes])
            models.append(logistic(1e3).fit(rows, y))
            losses.append(log_loss(y, models[-1].predict_proba(rows)))
        best = int(np.argmin(losses))
        self._model = models[best]
        columns, effects, p_values = self._effects(table, y)
        is_used = p_values <= self.limits[best]
        self.columns_, self.coef_ = columns[is_used], effects[None, is_used]
        return self

    def _effects(self, table: Standardized, y: Integers) -> tuple[Integers, Floats, Floats]:
        """Clumped variants, their effects and p values."""
        axes = table.gram() @ principal_axes(table, self.n_axes)
        axes /= np.sqrt((axes**2).sum(axis=0))
        target = y - y.mean()
        target = target - axes @ (axes.T @ target)
        left = np.maximum(table.n - (table.products(axes) ** 2).sum(axis=1), 1e-3 * table.n)
        products = table.products(target[:, None])[:, 0]
        chi_squares = products**2 / (left * target.var())
        p_values = stats.chi2.sf(chi_squares, 1)
        order = first_columns(chi_squares, table.d)
        order = order[p_values[order] <= self.limits[-1]]
        values = table.take(order)
        is_open, chosen = np.ones(len(order), bool), []
        for at in range(len(order)):
            if is_open[at]:
                chosen.append(at)
                correlations = values[:, at] @ values[:, at:] / table.n
                is_open[at:] &= correlations**2 < self.linked
        columns = order[chosen]
        return columns, products[columns] / left[columns], p_values[columns]

    def predict_proba(self, X: Any) -> Floats:
        scores = self._table.take(self.columns_, X) @ self.coef_[0]
        rows = np.column_stack([scores, self._table.gram(X) @ self._axes])
        return chances_of(self._model, rows)


def principal_axes(table: Standardized, n_axes: int) -> Floats:
    """Combinations of products of rows (n, k) that are principal coordinates of variance 1."""
    values, vectors = np.linalg.eigh(table.gram())
    return np.asarray(vectors[:, -n_axes:] / values[-n_axes:] * np.sqrt(table.n), np.float64)
