"""The work that all methods of a race get: the same columns of the same rows, computed beforehand.

Columns are drawn uniformly from all features of the data set's default families and computed once,
outside of every clock, as one row-major float32 matrix: what scikit-learn's users hold in their
hands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.build import turned
from boostsample.checks import check_integer
from boostsample.errors import DataError, SettingError
from boostsample.experiments.data.datasets import Dataset
from boostsample.families import Columns
from boostsample.registry import default_families

__all__ = ["USUAL_COLUMNS", "Job", "make_job", "warm_up_job"]

USUAL_COLUMNS = 2000
"""Columns drawn if the user does not say how many; all of them where there are fewer."""

_BLOCK = 64
_WARM_UP_ROWS = 500
_SPARE = 1 << 62  # bytes of the copy of X in the families' order: any, it is gone before the race


@dataclass(frozen=True, eq=False)
class Job:
    """A matrix to learn from, another one to be tested on.

    Attributes
    ----------
    name : str
        Of the data set.
    X_train, X_test : ndarray of float32, shape (n, F), C-contiguous
        Values of the columns; NaN is missing.
    y_train, y_test : ndarray of int64, shape (n,)
        Class codes.
    n_classes : int
        K.
    families : tuple of Columns
        The columns by the family that they were drawn from, as boostsample's strategies see them.
    n_jobs : int
        Threads that every method may use.
    n_rounds : int
        Iterations at most.
    """

    name: str
    X_train: NDArray[np.float32]
    X_test: NDArray[np.float32]
    y_train: NDArray[np.int64]
    y_test: NDArray[np.int64]
    n_classes: int
    families: tuple[Columns, ...]
    n_jobs: int = 1
    n_rounds: int = 10_000

    @property
    def n_columns(self) -> int:
        """F."""
        return int(self.X_train.shape[1])


def make_job(
    data: Dataset,
    n_columns: int | None = None,
    *,
    seed: int = 0,
    n_jobs: int = 1,
    n_rounds: int = 10_000,
    progress: Callable[[str, int, int], None] | None = None,
) -> Job:
    """Draw columns and compute them.

    Parameters
    ----------
    data : Dataset
        With one class a row; its first split is used.
    n_columns : int, optional
        F, at most the features of all default families. Default: 2,000, or all if there are fewer.
    seed : int
        Of the columns, the families and the split.
    n_jobs, n_rounds : int
        As attributes of `Job`.
    progress : callable, optional
        Called as progress("columns", done, F).

    Raises
    ------
    SettingError
        There are not so many columns.
    DataError
        Rows have several labels.
    """
    if data.is_multilabel:
        raise DataError(
            f"{data.name}: a race needs one class a row, got {data.n_classes} labels a row; "
            "the peers have no multi-label learner"
        )
    check_integer("seed", seed, 0)
    families = default_families(data.X.shape[1:], seed=seed, column_names=data.columns)
    first = np.cumsum([0, *(family.n_features for family in families)])
    total = int(first[-1])
    if n_columns is None:
        n_columns = min(USUAL_COLUMNS, total)
    check_integer("columns", n_columns, 1)
    if n_columns > total:
        raise SettingError(
            f"columns must be at most the {total:,} features of the families of {data.name}, got "
            f"{n_columns:,}"
        )
    drawn = np.sort(np.random.default_rng(seed).choice(total, n_columns, replace=False))
    train, test = data.split(0, seed)
    rows = np.concatenate([train, test])
    X = turned(data.X[rows], _SPARE)
    matrix = np.empty((rows.size, n_columns), np.float32)
    groups = []
    for number, family in enumerate(families):
        low, high = (int(at) for at in np.searchsorted(drawn, first[number : number + 2]))
        if low == high:
            continue
        for start in range(low, high, _BLOCK):
            part = slice(start, min(start + _BLOCK, high))
            matrix[:, part] = family.compute(X, drawn[part] - first[number])
            if progress is not None:
                progress("columns", part.stop, n_columns)
        groups.append(Columns(range(low, high), family.name, n_columns=n_columns))
    return Job(
        data.name,
        matrix[: train.size],
        matrix[train.size :],
        data.y[train].astype(np.int64),
        data.y[test].astype(np.int64),
        data.n_classes,
        tuple(groups),
        check_integer("n_jobs", n_jobs, 1),
        check_integer("n_rounds", n_rounds, 1),
    )


def warm_up_job(job: Job) -> Job:
    """The same job on a few hundred rows of all classes, to compile and to check settings with."""
    _, first = np.unique(job.y_train, return_index=True)
    spread = np.linspace(0, job.y_train.size - 1, _WARM_UP_ROWS).astype(np.int64)
    rows = np.unique(np.concatenate([first, spread]))
    return Job(
        job.name,
        job.X_train[rows],
        job.X_test[:_WARM_UP_ROWS],
        job.y_train[rows],
        job.y_test[:_WARM_UP_ROWS],
        job.n_classes,
        job.families,
        job.n_jobs,
        2,
    )
