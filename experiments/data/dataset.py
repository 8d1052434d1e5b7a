"""A data set: its arrays as read, and `Dataset`, which checks them and splits the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import MOST_SEED, check_integer
from boostsample.column_table import ColumnTable
from boostsample.errors import DataError, SettingError
from boostsample.hashing import hashed_seed, sha256_of_arrays, sha256_of_bytes

_VALIDATION = ":validation="


def check_share(value: Any) -> float:
    """The share of training rows to hold out for validation, also from its text; SettingError else.

    >>> check_share("0.2")
    0.2
    """
    try:
        share = float(value)
    except (TypeError, ValueError):
        share = math.nan
    if isinstance(value, bool) or not 0 < share <= 0.5:
        raise SettingError(
            "validation must be the share of training rows to hold out, above 0 and at most 0.5, "
            f"got {value!r}"
        )
    return share


def validation_name(name: str, share: float) -> str:
    """The name of a data set whose training rows are split for validation."""
    return f"{name}{_VALIDATION}{share!r}"


def validation_base(name: str) -> str | None:
    """The name without its validation option; None if it has none.

    >>> validation_base(validation_name("usps", 0.2)), validation_base("usps")
    ('usps', None)
    """
    base, option, _ = name.rpartition(_VALIDATION)
    return base if option else None


class DataContent(NamedTuple):
    """Arrays of a data set as read, see `Dataset`."""

    X: Any
    y: NDArray[np.int64] | NDArray[np.int8]
    classes: tuple[str, ...]
    columns: tuple[str, ...] | None
    n_train: int | None
    groups: NDArray[np.int64] | None = None
    splits: tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...] | None = None


@dataclass(frozen=True, eq=False)
class Dataset:
    """Examples with their labels, checked on construction.

    Parameters
    ----------
    name : str
        Shown in tables.
    X : float32 array (n, d), or uint8 or float32 array (n, h, w) or (n, h, w, c)
        A table, in which NaN is a missing value, or images. Or a table as a SciPy matrix (n, d) in
        CSC format, float32, with sorted indices and no repeats; what it does not store is 0. Or a
        `ColumnTable`, whose values are not looked at here.
    y : int64 array (n,) or int8 array (n, K)
        Class codes 0 to K-1, or 0 and 1 for each of K labels.
    classes : tuple of K str
        Names of the classes.
    columns : tuple of d str or None
        Names of the columns of a table.
    n_train : int or None
        The standard split: the first `n_train` rows train, the others test. None: there is none.
    groups : int64 array (n,) or None
        Queries of the rows, within which examples are ranked. A split never divides one.
    seed_name : str or None
        Part of the seeds of the splits and of the strategies' random streams, the same for all
        files. None: `name`.
    validation : float or None
        Share of the training rows of each repetition that `split` holds out to be scored, in place
        of the test rows, which are then in neither part. `name` should say so. None: the test rows
        are scored.
    splits : tuple of pairs of int64 arrays, or None
        The rows to train and to test on of each repetition, in increasing order. Then there is no
        `n_train`.

    DataError if the arrays do not fit each other, are empty or constant, hold infinite values, or
    the training rows have fewer than two classes.
    """

    name: str
    X: Any
    y: NDArray[np.int64] | NDArray[np.int8]
    classes: tuple[str, ...]
    columns: tuple[str, ...] | None = None
    n_train: int | None = None
    groups: NDArray[np.int64] | None = None
    seed_name: str | None = None
    validation: float | None = None
    splits: tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...] | None = None

    def __post_init__(self) -> None:
        if self.validation is not None:
            check_share(self.validation)
        self._check_features()
        self._check_labels()
        self._check_groups()
        n_train = self.n_examples if self.n_train is None else self.n_train
        if self.n_train is not None and not 1 <= n_train < self.n_examples:
            raise self._error(
                f"n_train must be between 1 and {self.n_examples - 1}, got {n_train}; both train "
                "and test rows are needed"
            )
        self._check_splits()
        trained = [self.y[:n_train], *(self.y[train] for train, _ in self.splits or ())]
        for y in trained:
            if (y == y[0]).all():
                same = "set of labels" if y.ndim == 2 else f"class, {self.classes[int(y[0])]!r}"
                raise self._error(
                    f"the training rows must have at least two classes, got one {same}; add "
                    "examples of another"
                )
        if self._has_equal_rows(n_train):
            raise self._error(
                f"some feature must differ between the training rows, but all {n_train} are the "
                "same; there is nothing to learn from"
            )

    def _error(self, text: str) -> DataError:
        return DataError(f"{self.name}: {text}")

    def _has_equal_rows(self, n_train: int) -> bool:
        if isinstance(self.X, ColumnTable):
            return False
        if not self.is_sparse:
            missing_equal = self.X.dtype.kind == "f"
            rows = self.X[:n_train]
            return all(np.array_equal(x, rows[0], equal_nan=missing_equal) for x in rows)
        rows = self.X[:n_train].tocsr()
        first = slice(int(rows.indptr[1]))
        return bool(
            (np.diff(rows.indptr) == rows.indptr[1]).all()
            and (rows.indices.reshape(n_train, -1) == rows.indices[first]).all()
            and np.array_equal(rows.data, np.tile(rows.data[first], n_train), equal_nan=True)
        )

    def _check_features(self) -> None:
        X = self.X
        allowed = (np.float32,) if X.ndim == 2 else (np.uint8, np.float32)
        if X.ndim not in (2, 3, 4) or X.dtype not in allowed:
            raise self._error(
                "X must be a float32 table (n, d), or uint8 or float32 images (n, h, w) or "
                f"(n, h, w, c), got {X.dtype} of shape {X.shape}"
            )
        if 0 in X.shape:
            raise self._error(f"X must have rows and features, got shape {X.shape}")
        if self.columns is not None and (
            X.ndim != 2 or len(self.columns) != X.shape[1] or len(set(self.columns)) != X.shape[1]
        ):
            raise self._error(
                f"columns must be different names, one for each of the columns of a table, got "
                f"{len(self.columns)} ({len(set(self.columns))} different) for X of shape {X.shape}"
            )
        if X.dtype == np.uint8 or isinstance(X, ColumnTable):
            return
        if self.is_sparse:
            if X.format != "csc" or not X.has_canonical_format:
                raise self._error("a sparse X must be in CSC format with sorted, different indices")
            stored = X.tocoo()
            infinite = np.flatnonzero(np.isinf(stored.data))
            places = sorted((stored.row[at], stored.col[at]) for at in infinite)[:1]
        else:
            bad = np.isinf(X) if X.ndim == 2 else ~np.isfinite(X)
            places = np.argwhere(bad)[:1].tolist()
        for row, *place in places:
            where = f"pixel {tuple(place)}" if X.ndim > 2 else f"column {place[0]}"
            if self.columns is not None:
                where = f"column {self.columns[place[0]]!r}"
            raise self._error(
                f"values must be finite{' or NaN (missing)' if X.ndim == 2 else ''}, got "
                f"{X[(row, *place)]} in row {row}, {where}; replace it, leave that row out of the "
                "data set, or rescale values above 3.4e38 (float32)"
            )

    def _check_labels(self) -> None:
        y, n_classes = self.y, len(self.classes)
        if n_classes < 2 or len(set(self.classes)) != n_classes:
            raise self._error(
                "there must be at least two different classes, got "
                f"{', '.join(repr(name) for name in self.classes)}; add examples of another"
            )
        if y.dtype.kind == "f" and np.isnan(y).any():
            raise self._error(
                "y must have a label in every row of the data set, got NaN in row "
                f"{int(np.isnan(y).argmax())}; leave out the rows without one"
            )
        multilabel = y.ndim == 2
        shape = (self.n_examples, n_classes) if multilabel else (self.n_examples,)
        if y.shape != shape or y.dtype != (np.int8 if multilabel else np.int64):
            raise self._error(
                f"y must be int64 of shape ({self.n_examples},), or int8 of shape "
                f"({self.n_examples}, {n_classes}) for several labels a row, got {y.dtype} of "
                f"shape {y.shape}"
            )
        top = 1 if multilabel else n_classes - 1
        for wrong in y[(y < 0) | (y > top)][:1]:
            raise self._error(f"y must hold codes from 0 to {top}, got {wrong}")

    def _check_groups(self) -> None:
        if self.groups is None:
            return
        if self.groups.shape != (self.n_examples,) or self.groups.dtype != np.int64:
            raise self._error(
                f"groups must be int64 of shape ({self.n_examples},), got {self.groups.dtype} of "
                f"shape {self.groups.shape}"
            )
        if len(np.unique(self.groups)) < 2:
            raise self._error(
                "there must be at least two groups, since a split divides none, got one; give no "
                "groups (qid:) to rank all examples together"
            )
        if self.n_train is not None:
            both = np.intersect1d(self.groups[: self.n_train], self.groups[self.n_train :])
            for divided in both[:1]:
                raise self._error(
                    f"n_train must not divide a group, got rows of group {divided} on both sides"
                )

    def _check_splits(self) -> None:
        if self.splits is None:
            return
        if self.n_train is not None or not self.splits:
            raise self._error("splits need at least one pair of rows, and no n_train")
        for number, (train, test) in enumerate(self.splits):
            rows = np.concatenate([train, test])
            if not len(train) or not len(test) or len(np.unique(rows)) < len(rows):
                raise self._error(
                    f"split {number} must have rows to train and others to test on, each once, got "
                    f"{len(train)} and {len(test)} with {len(np.unique(rows))} different rows"
                )
            if rows.min() < 0 or rows.max() >= self.n_examples:
                raise self._error(
                    f"split {number} must have rows from 0 to {self.n_examples - 1}, got "
                    f"{rows.min()} to {rows.max()}"
                )
            if self.groups is not None and np.isin(self.groups[train], self.groups[test]).any():
                raise self._error(f"split {number} must not divide a group")

    @property
    def seeded_by(self) -> str:
        """The name in the seeds of splits and random streams: `seed_name`, or else `name`."""
        return self.name if self.seed_name is None else self.seed_name

    @property
    def draws_splits(self) -> bool:
        """Whether repetitions have splits of their own."""
        return self.n_train is None or self.validation is not None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of examples, labels and groups, in hexadecimal."""
        X, y = self.X, self.y
        if self.is_sparse:
            examples = sha256_of_arrays(np.array(X.shape), X.indptr, X.indices, X.data, y)
        elif isinstance(X, ColumnTable):
            examples = sha256_of_bytes(X.digest().encode(), sha256_of_arrays(y).encode())
        else:
            examples = sha256_of_arrays(X, y)
        if self.groups is None:
            return examples
        return sha256_of_bytes(examples.encode(), sha256_of_arrays(self.groups).encode())

    @property
    def n_examples(self) -> int:
        """Number of rows, train and test together."""
        return int(self.X.shape[0])

    @property
    def n_classes(self) -> int:
        """Number of classes or labels, K."""
        return len(self.classes)

    @property
    def is_image(self) -> bool:
        """Whether the examples are images, not rows of a table."""
        return len(self.X.shape) > 2

    @property
    def is_sparse(self) -> bool:
        """Whether X is a sparse matrix."""
        return hasattr(self.X, "tocsc")

    @property
    def is_multilabel(self) -> bool:
        """Whether a row may have any number of labels."""
        return self.y.ndim == 2

    @property
    def image_shape(self) -> tuple[int, ...] | None:
        """(h, w) or (h, w, c) of one image; None for a table."""
        return tuple(self.X.shape[1:]) if self.is_image else None

    def split(self, repetition: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows to train and to test on, each int64 and in increasing order.

        With a standard split, that one in every repetition; with `splits`, that of the repetition,
        and DataError if there are not so many. Otherwise a quarter of every class (set
        of labels if a row has several), rounded up or down, is drawn for testing; a class with a
        single row keeps it for training. With groups, a quarter of the groups is drawn instead. The
        draw depends on the labels or groups, `seeded_by`, `seed` and `repetition` only. With
        `validation`, that share of these training rows or groups, drawn in the same way, takes the
        place of the test rows; DataError if that is less than one row, or all.
        """
        seed = check_integer("seed", seed, 0, MOST_SEED)
        repetition = check_integer("repetition", repetition, 0)
        rows = np.arange(self.n_examples, dtype=np.int64)
        if self.splits is not None:
            if repetition >= len(self.splits):
                raise self._error(
                    f"there are {len(self.splits)} fixed splits, one for each repetition, got "
                    f"repetition {repetition + 1}; ask for {len(self.splits)} repetitions or fewer"
                )
            train, test = self.splits[repetition]
        elif self.n_train is not None:
            train, test = rows[: self.n_train], rows[self.n_train :]
        else:
            rng = self._split_stream(seed, repetition)
            order = self._drawn_units(rows, rng)
            tested = order[int(rng.integers(min(4, len(order)))) :: 4]
            train, test = self._divided(rows, tested)
        if self.validation is None:
            return train, test
        rng = self._split_stream(seed, repetition, "validation")
        order = self._drawn_units(train, rng)
        steps = np.floor(np.arange(len(order) + 1) * self.validation + rng.random())
        held_out = order[np.diff(steps) > 0]
        if self.groups is not None and not 0 < len(held_out) < len(order):
            raise self._error(
                f"validation must hold out some of the {len(order)} training groups and leave "
                f"others, got a share of {self.validation}; add groups, or change the share"
            )
        if not len(held_out):
            raise self._error(
                f"validation must hold out at least one row, got a share of {self.validation} of "
                f"{len(order)} training rows of classes with two rows or more; raise the share"
            )
        return self._divided(train, held_out)

    def _drawn_units(self, rows: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """What splits are drawn from: rows by class, or the groups of the rows, shuffled."""
        if self.groups is None:
            return self._by_class(rows, rng)
        return rng.permutation(np.unique(self.groups[rows]))

    def _divided(
        self, rows: NDArray[np.int64], drawn: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The other rows, and those that were drawn, or whose groups were drawn."""
        if self.groups is None:
            return np.setdiff1d(rows, drawn), np.sort(drawn)
        inside = np.isin(self.groups[rows], drawn)
        return rows[~inside], rows[inside]

    def _split_stream(self, *key: int | str) -> np.random.Generator:
        return np.random.default_rng(hashed_seed(repr((self.seeded_by, *key)).encode()))

    def _by_class(self, rows: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Rows by class, shuffled within each; without those of classes that have one row."""
        order = rng.permutation(len(rows))
        if self.is_multilabel:
            group = np.unique(self.y[rows], axis=0, return_inverse=True)[1].reshape(-1)
        else:
            group = self.y[rows].astype(np.intp)
            order = order[np.bincount(group)[group[order]] > 1]
        if not len(order):
            raise self._error("a split needs a class with at least two rows, got none")
        return rows[order[np.argsort(group[order], kind="stable")]]
