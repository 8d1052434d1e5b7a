"""The data of a race: the same columns of the same rows for every method, computed beforehand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer
from boostsample.errors import DataError, SettingError
from boostsample.experiments.data.dataset import Dataset
from boostsample.families import Columns
from boostsample.registry import default_families

__all__ = ["RaceJob", "make_race_job", "warm_up_race_job"]

_USUAL_COLUMNS = 2000
_WARM_UP_ROWS = 500


class RaceJob(NamedTuple):
    """Columns to learn from and to test on: X float32 (n, F), NaN is missing; y int64 codes."""

    name: str
    X_train: NDArray[np.float32]
    y_train: NDArray[np.int64]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]
    n_classes: int
    families: tuple[Columns, ...]  # the columns of each, as boostsample's strategies see them
    n_jobs: int = 1  # threads of every method
    n_rounds: int = 10_000  # iterations at most


def make_race_job(data: Dataset, n_columns: int | None = None, seed: int = 0) -> RaceJob:
    """Draw columns uniformly from the default families of a data set and compute them.

    `n_columns` None is 2,000, or all features if there are fewer. `seed` is that of the columns,
    the families and the split, the data set's first. SettingError if there are fewer features than
    columns, DataError if rows have several labels.
    """
    if data.is_multilabel:
        raise DataError(
            f"{data.name}: a race needs one class a row, got {data.n_classes} labels a row; "
            "the peers have no multi-label learner"
        )
    families = default_families(data.X.shape[1:], seed=seed, column_names=data.columns)
    first = np.cumsum([0, *(family.n_features for family in families)])
    total = int(first[-1])
    n = check_integer("columns", min(_USUAL_COLUMNS, total) if n_columns is None else n_columns, 1)
    if n > total:
        raise SettingError(
            f"columns must be at most the {total:,} features of the families of {data.name}, got "
            f"{n:,}"
        )
    drawn = np.sort(np.random.default_rng(seed).choice(total, n, replace=False))
    train, test = data.split(0, seed)
    rows = np.concatenate([train, test])
    X, y = data.X[rows], data.y[rows].astype(np.int64)
    matrix = np.empty((rows.size, n), np.float32)
    groups = []
    for number, family in enumerate(families):
        low, high = (int(at) for at in np.searchsorted(drawn, first[number : number + 2]))
        if low < high:
            matrix[:, low:high] = family.compute(X, drawn[low:high] - first[number])
            groups.append(Columns(range(low, high), family.name, n_columns=n))
    (X, X_test), (y, y_test) = np.split(matrix, [train.size]), np.split(y, [train.size])
    return RaceJob(data.name, X, y, X_test, y_test, data.n_classes, tuple(groups))


def warm_up_race_job(job: RaceJob) -> RaceJob:
    """Two iterations on a few hundred rows of all classes."""
    _, first = np.unique(job.y_train, return_index=True)
    rows = np.union1d(first, np.arange(min(_WARM_UP_ROWS, job.y_train.size)))
    small = job._replace(X_train=job.X_train[rows], y_train=job.y_train[rows], n_rounds=2)
    return small._replace(X_test=job.X_test[:_WARM_UP_ROWS], y_test=job.y_test[:_WARM_UP_ROWS])
