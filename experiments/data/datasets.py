"""Loads data sets by name or from the user's own file, with their standard train/test splits.

>>> from boostsample.experiments.data.datasets import load_dataset
>>> data = load_dataset("chess(d=4,J=2,L=2,n=200)", seed=1)
>>> train, test = data.split(repetition=0, seed=0)
>>> data.X.shape, data.classes, len(train), len(test)
((200, 4), ('-1', '1'), 150, 50)

`DATASETS` lists the named sets: scikit-learn's digits, benchmark sets read from their original
files (`boostsample.experiments.data.originals`), and the two synthetic tasks of [BK10] sec. 4.1.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer
from boostsample.errors import DataError, SettingError, unknown
from boostsample.experiments.data.content import DataContent
from boostsample.experiments.data.dataset_files import is_dataset_file, read_user_file
from boostsample.experiments.data.downloads import locate_file, read_verified
from boostsample.experiments.data.originals import ORIGINALS, READERS
from boostsample.experiments.data.synthetic import SYNTHETIC
from boostsample.hashing import seed_of

__all__ = ["DATASETS", "Dataset", "NamedSet", "dataset_names", "load_dataset"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Examples with their labels, checked on construction.

    Parameters
    ----------
    name : str
        Shown in tables; part of the seed of the splits.
    X : float32 array (n, d), or uint8 or float32 array (n, h, w) or (n, h, w, c)
        A table, in which NaN is a missing value, or images.
    y : int64 array (n,) or int8 array (n, K)
        Class codes 0 to K-1, or 0 and 1 for each of K labels.
    classes : tuple of K str
        Names of the classes.
    columns : tuple of d str or None
        Names of the columns of a table.
    n_train : int or None
        The standard split: the first `n_train` rows train, the others test. None: there is none.

    Raises
    ------
    DataError
        The arrays do not fit each other, are empty or constant, hold infinite values, or the
        training rows have fewer than two classes.
    """

    name: str
    X: NDArray[np.uint8] | NDArray[np.float32]
    y: NDArray[np.int64] | NDArray[np.int8]
    classes: tuple[str, ...]
    columns: tuple[str, ...] | None = None
    n_train: int | None = None

    def __post_init__(self) -> None:
        self._check_features()
        self._check_labels()
        n_train = self.n_examples if self.n_train is None else self.n_train
        if self.n_train is not None and not 1 <= n_train < self.n_examples:
            raise self._error(
                f"n_train must be between 1 and {self.n_examples - 1}, got {n_train}; both train "
                "and test rows are needed"
            )
        y = self.y[:n_train]
        if (y == y[0]).all():
            what = "set of labels" if y.ndim == 2 else f"class, {self.classes[int(y[0])]!r}"
            raise self._error(
                f"the training rows must have at least two classes, got one {what}; add examples "
                "of another"
            )
        missing_equal = self.X.dtype.kind == "f"
        if all(np.array_equal(x, self.X[0], equal_nan=missing_equal) for x in self.X[:n_train]):
            raise self._error(
                f"some feature must differ between the training rows, but all {n_train} are the "
                "same; there is nothing to learn from"
            )

    def _error(self, text: str) -> DataError:
        return DataError(f"{self.name}: {text}")

    def _check_features(self) -> None:
        X = self.X
        allowed = (np.float32,) if X.ndim == 2 else (np.uint8, np.float32)
        if X.ndim not in (2, 3, 4) or X.dtype not in allowed:
            raise self._error(
                "X must be a float32 table (n, d), or uint8 or float32 images (n, h, w) or "
                f"(n, h, w, c), got {X.dtype} of shape {X.shape}"
            )
        if X.size == 0:
            raise self._error(f"X must have rows and features, got shape {X.shape}")
        if self.columns is not None and (
            X.ndim != 2 or len(self.columns) != X.shape[1] or len(set(self.columns)) != X.shape[1]
        ):
            raise self._error(
                f"columns must be different names, one for each of the columns of a table, got "
                f"{len(self.columns)} ({len(set(self.columns))} different) for X of shape {X.shape}"
            )
        if X.dtype == np.uint8:
            return
        bad = np.isinf(X) if X.ndim == 2 else ~np.isfinite(X)
        for row, *place in np.argwhere(bad)[:1].tolist():
            where = f"pixel {tuple(place)}" if X.ndim > 2 else f"column {place[0]}"
            if self.columns is not None:
                where = f"column {self.columns[place[0]]!r}"
            raise self._error(
                f"values must be finite{' or NaN (missing)' if X.ndim == 2 else ''}, got "
                f"{X[(row, *place)]} in row {row}, {where}; replace or leave out that value"
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
                f"y must have a label in every row, got NaN in row {int(np.isnan(y).argmax())}; "
                "leave out the rows without one"
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

    @property
    def n_examples(self) -> int:
        """Number of rows, train and test together."""
        return len(self.X)

    @property
    def n_classes(self) -> int:
        """Number of classes or labels, K."""
        return len(self.classes)

    @property
    def is_image(self) -> bool:
        """Whether the examples are images, not rows of a table."""
        return self.X.ndim > 2

    @property
    def is_multilabel(self) -> bool:
        """Whether a row may have any number of labels."""
        return self.y.ndim == 2

    @property
    def image_shape(self) -> tuple[int, ...] | None:
        """(h, w) or (h, w, c) of one image; None for a table."""
        return tuple(self.X.shape[1:]) if self.is_image else None

    def split(self, repetition: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows to train and to test on, each int64 and in increasing order.

        With a standard split, that one in every repetition. Otherwise a quarter of the rows is
        drawn for testing, stratified by class (by set of labels if a row has several): a quarter of
        every class, rounded up or down; a class with a single row keeps it for training. The draw
        depends on the name of the data set, `seed` and `repetition` only. SettingError if one of
        these is below 0.
        """
        seed = check_integer("seed", seed, 0)
        repetition = check_integer("repetition", repetition, 0)
        rows = np.arange(self.n_examples, dtype=np.int64)
        if self.n_train is not None:
            return rows[: self.n_train], rows[self.n_train :]
        rng = _stream(self.name, seed, repetition)
        order = rng.permutation(self.n_examples)
        if self.is_multilabel:
            group = np.unique(self.y, axis=0, return_inverse=True)[1].reshape(-1)
        else:
            group = self.y.astype(np.intp)
            order = order[np.bincount(group)[group[order]] > 1]
        order = order[np.argsort(group[order], kind="stable")]
        if not len(order):
            raise self._error("a split needs a class with at least two rows, got none")
        test = np.zeros(self.n_examples, dtype=bool)
        test[order[int(rng.integers(min(4, len(order)))) :: 4]] = True
        return rows[~test], rows[test]


def _stream(*key: object) -> np.random.Generator:
    """Return a generator that depends on the key only, on any machine."""
    return np.random.default_rng(seed_of(repr(key).encode()))


class NamedSet(NamedTuple):
    """An entry of `DATASETS`.

    `load` takes ``data_dir``, ``download`` and ``seed`` of `load_dataset` and the settings, by
    name; `settings` holds the default of each setting, as in ``chess(d=10,J=3)``.
    """

    description: str
    load: Callable[..., DataContent]
    settings: Mapping[str, int | float] = MappingProxyType({})


def _digits(**_: Any) -> DataContent:
    from sklearn.datasets import load_digits

    digits = load_digits()
    y = digits.target.astype(np.int64)
    return DataContent(digits.images.astype(np.uint8), y, tuple("0123456789"), None, None)


def _original(name: str) -> Callable[..., DataContent]:
    def load(data_dir: str | os.PathLike[str] | None, download: bool, **_: Any) -> DataContent:
        original = ORIGINALS[name]
        paths = locate_file(original, data_dir, download)
        return READERS[name](lambda file: read_verified(original, file, paths[file]))

    return load


def _synthetic(name: str) -> NamedSet:
    make = SYNTHETIC[name]
    parameters = inspect.signature(make).parameters.values()

    def load(seed: int, data_dir: object, download: bool, **settings: Any) -> DataContent:
        return make(_stream(name, seed), **settings)

    return NamedSet(
        (make.__doc__ or "").splitlines()[0].rstrip("."),
        load,
        {one.name: one.default for one in parameters if one.name != "rng"},
    )


DATASETS: dict[str, NamedSet] = {
    "digits": NamedSet("1797 grey 8x8 images, 10 digits; included in scikit-learn", _digits),
    "mnist": NamedSet("60000 + 10000 grey 28x28 images, 10 digits", _original("mnist")),
    "cifar10": NamedSet("50000 + 10000 colour 32x32 images, 10 classes", _original("cifar10")),
    "usps": NamedSet("7291 + 2007 grey 16x16 images, 10 digits", _original("usps")),
    "pendigits": NamedSet("7494 + 3498 rows of 16 numbers, 10 digits", _original("pendigits")),
    "letter": NamedSet("16000 + 4000 rows of 16 numbers, 26 letters", _original("letter")),
    **{name: _synthetic(name) for name in SYNTHETIC},
}


def dataset_names() -> tuple[str, ...]:
    """Return the names of `DATASETS`."""
    return tuple(DATASETS)


def load_dataset(
    name_or_path: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    download: bool = True,
    seed: int = 0,
    **options: Any,
) -> Dataset:
    """Load a named data set or the user's own file.

    Parameters
    ----------
    name_or_path : str or path
        One of `dataset_names`, for a synthetic set with optional settings as in
        ``diagonal(d=20,q=0)``; or the path of a file, see
        `boostsample.experiments.data.dataset_files`.
    data_dir : path or None
        Folder of original files, each in ``data_dir`` or ``data_dir/<name of the set>``.
    download : bool
        Whether missing original files may be downloaded into the cache folder.
    seed : int
        Seed of the synthetic sets; no other set depends on it.
    **options
        Settings of a synthetic set; for a file ``file_format``, and ``label``, ``header`` and
        ``delimiter`` (CSV) or ``multilabel`` (svmlight).

    Raises
    ------
    SettingError
        The name or an option is unknown, or a setting is out of range.
    DataError
        The data are missing, damaged, or cannot be learned from.
    """
    seed = check_integer("seed", seed, 0)
    text = os.fspath(name_or_path)
    match = re.fullmatch(r"\s*([A-Za-z][\w-]*)\s*(?:\((.*)\))?\s*", text)
    if match and match[1] in DATASETS and isinstance(name_or_path, str):
        base = match[1]
        settings = _settings(base, match[2] or "", options)
        shown = ",".join(f"{key}={value}" for key, value in settings.items())
        content = DATASETS[base].load(data_dir=data_dir, download=download, seed=seed, **settings)
        return Dataset(f"{base}({shown})" if shown else base, *content)
    path = Path(text).expanduser()
    if "file_format" not in options and not is_dataset_file(path) and not path.is_file():
        hint = "or the path of an .npz, .csv or .svmlight file"
        raise SettingError(f"{unknown('data set', text, DATASETS)}, {hint}")
    name = path.name.removesuffix(".gz")
    return Dataset(Path(name).stem, *read_user_file(path, **options))


def _settings(base: str, text: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Merge defaults, settings in a name, and options; a setting may be given once."""
    defaults = DATASETS[base].settings
    given = dict(options)
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, _, value = (side.strip() for side in part.partition("="))
        if key in given:
            raise SettingError(f"{base}: {key} must be given once, got it twice")
        given[key] = value
    for key, value in given.items():
        if key not in defaults:
            known = f"known: {', '.join(defaults)}" if defaults else "it has none"
            raise SettingError(f"unknown setting {key!r} of data set {base}; {known}")
        kind = type(defaults[key])
        try:
            given[key] = kind(value)
        except (TypeError, ValueError):
            given[key] = None
        if given[key] is None or (kind is int and given[key] != float(value)):
            what = "a whole number" if kind is int else "a number"
            raise SettingError(f"{base}: {key} must be {what}, got {value!r}")
    return {**defaults, **given}
