"""Loads data sets by name, or of a file or function of the user, with their train/test splits.

>>> from boostsample.experiments.data.datasets import load_dataset
>>> data = load_dataset("chess(d=4,J=2,L=2,n=200)", seed=1)
>>> train, test = data.split(repetition=0, seed=0)
>>> data.X.shape, data.classes, len(train), len(test)
((200, 4), ('-1', '1'), 150, 50)

`DATASETS` lists the named sets: scikit-learn's digits, benchmark sets read from their original
files, and synthetic tasks with known useful features: DIAGONAL and CHESS of [BK10] sec. 4.1, and
WIDE. Of the first two, n >= 4 points x are uniform in the d-dimensional unit cube; the class
depends on the first J features alone. Labels follow from x as stored, in float32.

Files are tables, matrices and documents (docs/data.md). A missing label, a row of another length,
an infinite value or a damaged file raises a DataError that names the place; missing values are kept
as NaN.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import MOST_SEED, check_integer, check_known, warn_of_merged_columns
from boostsample.errors import DataError, SettingError, unknown
from boostsample.experiments.data.arrays import numbers_of_frame
from boostsample.experiments.data.dataset import DataContent, Dataset, check_share, validation_name
from boostsample.experiments.data.documents import (
    DOCUMENT_FOLDERS,
    DOCUMENT_OPTIONS,
    DOCUMENT_SUFFIXES,
    read_terms,
)
from boostsample.experiments.data.function_sets import (
    function_set,
    is_function_set,
    load_function_set,
    registered_sets,
    split_settings,
)
from boostsample.experiments.data.matrix_files import (
    MATRIX_OPTIONS,
    MATRIX_SUFFIXES,
    read_matrix_file,
)
from boostsample.experiments.data.openml_files import KIND, OPENML_OPTIONS, read_task, task_name
from boostsample.experiments.data.originals import KDD_POSITIVES, load_original
from boostsample.experiments.data.table_reader import (
    TABLE_OPTIONS,
    TABLE_SUFFIXES,
    LabelledTable,
    TableOptions,
    check_file_option,
    check_row_numbers,
    file_suffix,
    number_classes,
    read_csv,
    read_flag,
    read_parquet,
    read_whole,
    split_data_text,
    split_label,
)
from boostsample.hashing import hashed_seed
from boostsample.names import short_name

_FILE_SEED_NAME = "file"
"""`Dataset.seed_name` of every file: the same rows have the same splits under any name."""


def make_diagonal(
    rng: np.random.Generator, d: int = 10, J: int = 4, q: float = 0.1, n: int = 1000
) -> DataContent:
    """A diagonal cut through J of d features with a share q of flipped labels, [BK10] DIAGONAL.

    P(Y = 1 | x) = q + (1 - 2q) I{x_1 + ... + x_J > J/2} with q between 0 and 0.5.
    """
    if not 0 <= q <= 0.5:
        raise SettingError(f"q, the share of flipped labels, must be between 0 and 0.5, got {q}")
    _check_sizes(d, J, n)
    X = rng.random((n, d), dtype=np.float32)
    above = X[:, :J].sum(axis=1, dtype=np.float64) > J / 2
    return _binary(X, above ^ (rng.random(n) < q))


def make_chess(
    rng: np.random.Generator, d: int = 10, J: int = 3, L: int = 3, n: int = 1000
) -> DataContent:
    """A chess board with L squares along each of J of d features, [BK10] CHESS.

    y = 1 if floor(L x_1) + ... + floor(L x_J) is even, else -1; L >= 2.
    """
    check_integer("L", L, 2)
    _check_sizes(d, J, n)
    X = rng.random((n, d), dtype=np.float32)
    squares = np.floor(X[:, :J].astype(np.float64) * L)  # in float32, L x could round up to L
    return _binary(X, squares.sum(axis=1) % 2 == 0)


def make_wide(
    rng: np.random.Generator, d: int = 10_000, J: int = 50, shift: float = 0.5, n: int = 2000
) -> DataContent:
    """Two classes and d normal columns; the means of the first J differ by `shift` deviations."""
    if not 0 <= shift < np.inf:
        raise SettingError(f"shift, the difference of means, must be at least 0, got {shift}")
    _check_sizes(d, J, n)
    y = rng.integers(0, 2, n)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X[:, :J] += np.float32(shift) * y[:, None].astype(np.float32)
    return _binary(X, y == 1)


def _check_sizes(d: int, J: int, n: int) -> None:
    check_integer("d", d, 1)
    check_integer("n", n, 4)
    if check_integer("J", J, 1) > d:
        raise SettingError(f"J, the number of useful features, must be at most d = {d}, got {J}")


def _binary(X: NDArray[np.float32], positive: NDArray[np.bool_]) -> DataContent:
    columns = tuple(f"x{j}" for j in range(1, X.shape[1] + 1))
    return DataContent(X, positive.astype(np.int64), ("-1", "1"), columns, None)


SYNTHETIC: dict[str, Callable[..., DataContent]] = {
    "diagonal": make_diagonal,
    "chess": make_chess,
    "wide": make_wide,
}


class NamedDataset(NamedTuple):
    """A named set: `load` takes ``data_dir``, ``download``, ``seed`` and the settings by name.

    `settings` has the default of each setting, as in ``chess(d=10,J=3)``.
    """

    description: str
    load: Callable[..., DataContent]
    settings: Mapping[str, int | float] = MappingProxyType({})


def _digits(**_: Any) -> DataContent:
    from sklearn.datasets import load_digits

    digits = load_digits()
    y = digits.target.astype(np.int64)
    return DataContent(digits.images.astype(np.uint8), y, tuple("0123456789"), None, None)


def _original(name: str, description: str) -> NamedDataset:
    def load(data_dir: str | os.PathLike[str] | None, download: bool, **_: Any) -> DataContent:
        return load_original(name, data_dir, download)

    return NamedDataset(description, load)


def _synthetic(name: str) -> NamedDataset:
    make = SYNTHETIC[name]
    parameters = inspect.signature(make).parameters.values()

    def load(seed: int, data_dir: object, download: bool, **settings: Any) -> DataContent:
        return make(np.random.default_rng(hashed_seed(repr((name, seed)).encode())), **settings)

    return NamedDataset(
        (make.__doc__ or "").partition("\n")[0].rstrip("."),
        load,
        {parameter.name: parameter.default for parameter in parameters if parameter.name != "rng"},
    )


_ORIGINALS = {
    "mnist": "60000 + 10000 grey 28x28 images, 10 digits",
    "cifar10": "50000 + 10000 colour 32x32 images, 10 classes",
    "usps": "7291 + 2007 grey 16x16 images, 10 digits",
    "usps-smoothed": "7291 + 2007 grey 16x16 images, 10 digits, smoothed",
    "pendigits": "7494 + 3498 rows of 16 numbers, 10 digits",
    "letter": "16000 + 4000 rows of 16 numbers, 26 letters",
    "isolet": "6238 + 1559 rows of 617 numbers, 26 spoken letters; not downloaded",
    **{
        f"kdd2009-{task}": "50000 rows of 190 numbers and 40 categories, 2 classes: KDD Cup 2009, "
        f"{task}; not downloaded"
        for task in KDD_POSITIVES
    },
}
DATASETS: dict[str, NamedDataset] = {
    "digits": NamedDataset("1797 grey 8x8 images, 10 digits; included in scikit-learn", _digits),
    **{name: _original(name, description) for name, description in _ORIGINALS.items()},
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
    """Load a named data set, or one of a file or a function of the user.

    Parameters
    ----------
    name_or_path : str or path
        One of `dataset_names`, for a synthetic set with optional settings as in
        ``diagonal(d=20,q=0)``; the path of a file, or a function in a Python file as in
        ``my_file.py:points(n=500)`` or of the entry-point group `boostsample.datasets`, see
        docs/data.md. A text may end in options as in ``x.csv:label=target:drop=ID``; a
        `pathlib.Path` is a path as a whole.
    data_dir : path or None
        Folder of original files, each in ``data_dir`` or ``data_dir/<name of the set>``
        (``data_dir/kdd2009`` for the three sets of the KDD Cup 2009).
    download : bool
        Whether missing original files may be downloaded into the cache folder; isolet and the sets
        of the KDD Cup 2009 never are.
    seed : int
        Seed of the synthetic sets, and of functions that take one; no other set depends on it.
    **options
        For any data set ``validation``, the share of training rows of each repetition to score in
        place of the test rows, as in ``usps:validation=0.2``. Settings of a synthetic set or a
        function. Options of a file, see docs/data.md.

    SettingError if the name or an option is unknown, or a setting is out of range; DataError if
    the data are missing, damaged, or cannot be learned from.
    """
    seed = check_integer("seed", seed, 0, MOST_SEED)
    text, chosen = os.fspath(name_or_path), dict(options)
    if isinstance(name_or_path, str):
        text, written = split_data_text(text)
        for twice in written.keys() & chosen.keys():
            raise SettingError(f"{text}: {twice} must be given once, got it twice")
        chosen |= written
    share = chosen.pop("validation", None)
    share = None if share is None else check_share(share)
    match = re.fullmatch(r"\s*([A-Za-z][\w-]*)\s*(?:\((.*)\))?\s*", text)
    name: Any
    seed_name: str | None = _FILE_SEED_NAME
    if match and match[1] in DATASETS and isinstance(name_or_path, str):
        base, known = match[1], DATASETS[match[1]]
        settings = _settings(base, known.settings, match[2] or "", chosen)
        content = known.load(data_dir=data_dir, download=download, seed=seed, **settings)
        name, seed_name = shown_name(base, settings), None
    elif isinstance(name_or_path, str) and is_function_set(text):
        base, written_settings = split_settings(text)
        function, defaults = function_set(base)
        name = chosen.pop("name", None)
        settings = _settings(base, defaults, written_settings, chosen)
        content = load_function_set(base, function, settings, data_dir=data_dir, seed=seed)
        name = shown_name(short_name(base), settings) if name is None else name
    else:
        path = Path(text).expanduser()
        if "kind" not in chosen and not is_dataset_file(path) and not path.is_file():
            files = ".csv, .tsv, .parquet, .npz, .svmlight, .bed, .h5ad, .jsonl"
            hint = f"or a file ({files}), as in x.csv:label=target"
            known_names = [*DATASETS, *registered_sets()]
            raise SettingError(f"{unknown('data set', text, known_names)}, {hint}")
        name = chosen.pop("name", None)
        plain = path.name.removesuffix(".gz").removesuffix(".bz2")
        if name is None and chosen.get("kind") == KIND and "task" in chosen:
            name = task_name(path, check_file_option("task", chosen["task"]))
        name = check_file_option("name", Path(plain).stem if name is None else name)
        content = read_dataset_file(path, **chosen)
    data = Dataset(check_file_option("name", name), **content._asdict(), seed_name=seed_name)
    if share is None:
        return data
    name = validation_name(data.name, share)
    return replace(data, name=name, seed_name=data.seeded_by, validation=share)


def shown_name(base: str, settings: Mapping[str, Any]) -> str:
    """The name of a data set with all its settings."""
    shown = ",".join(f"{key}={value}" for key, value in settings.items())
    return f"{base}({shown})" if shown else base


def _settings(
    base: str, defaults: Mapping[str, Any], text: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    chosen = dict(options)
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, _, value = (side.strip() for side in part.partition("="))
        if key in chosen:
            raise SettingError(f"{base}: {key} must be given once, got it twice")
        chosen[key] = value
    for key, value in chosen.items():
        if key not in defaults:
            known = f"known: {', '.join(defaults)}" if defaults else "it has none"
            raise SettingError(f"unknown setting {key!r} of data set {base}; {known}")
        rule, read = _READ[type(defaults[key])]
        try:
            chosen[key] = read(value)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise SettingError(f"{base}: {key} must be {rule}, got {value!r}") from None
    return {**defaults, **chosen}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


_READ: dict[type, tuple[str, Callable[[Any], Any]]] = {
    bool: ("true or false", read_flag),
    int: ("a whole number", read_whole),
    float: ("a number", float),
    str: ("text", _text),
}
"""Rule and reader of settings by the type of their default."""


_SUFFIXES = {**TABLE_SUFFIXES, **MATRIX_SUFFIXES, **DOCUMENT_SUFFIXES}
OPTIONS = {**TABLE_OPTIONS, **MATRIX_OPTIONS, **DOCUMENT_OPTIONS, **OPENML_OPTIONS}
"""Options of each kind of files."""


def is_dataset_file(path: Path) -> bool:
    """Return whether `read_dataset_file` recognises the suffix."""
    return file_suffix(path) in _SUFFIXES


def read_dataset_file(path: Path, *, kind: str | None = None, **options: Any) -> DataContent:
    """Read a file in the format of its suffix, or a file or folder of the kind `kind`.

    `options` are those of `OPTIONS`, also as text; None is the default. SettingError if one is
    unknown.
    """
    if kind is None:
        if not is_dataset_file(path):
            raise SettingError(
                f"cannot tell the format of {path} from its suffix, known: {', '.join(_SUFFIXES)}; "
                f"give kind=, one of {', '.join(_READERS)}"
            )
        kind = _SUFFIXES[file_suffix(path)]
    check_known("kind of data file", kind, _READERS)
    known = OPTIONS[kind]
    for option in options:
        if option not in known:
            raise unknown(f"option of {kind} files", option, ["kind", "name", "validation", *known])
    checked = {
        name: check_file_option(name, value) for name, value in options.items() if value is not None
    }
    is_folder = kind in (*DOCUMENT_FOLDERS, *OPENML_OPTIONS)
    if not (path.is_dir() if is_folder else path.is_file()):
        place = "folder" if is_folder else "file"
        raise DataError(f"data {place} {str(path)!r} must be an existing {place}; there is none")
    return _READERS[kind](path, **checked)


def _read_table(
    read: Callable[[Path, TableOptions], LabelledTable], path: Path, **options: Any
) -> DataContent:
    """The numbers that the classifier makes of a table; categories are those of all rows."""
    table = read(path, TableOptions(**{"label": -1, "header": None, **options}))
    assert table.label is not None
    frame, values = split_label(table.frame, table.label, path)
    check_row_numbers(frame, path)
    try:
        X, merged, names = numbers_of_frame(frame)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    warn_of_merged_columns([f"{path}: column {name!r}" for name in merged])
    columns = names if table.has_names or len(names) > frame.shape[1] else None
    return DataContent(X, *number_classes(values, f"{path}: the label"), columns, None)


def _read_matrix(kind: str, path: Path, **options: Any) -> DataContent:
    X, y, columns, n_train, labels, groups = read_matrix_file(kind, path, **options)
    assert y is not None
    codes, classes = (y, labels) if labels else number_classes(y, f"{path}: y")
    X = X.tocsc() if hasattr(X, "tocsc") else X
    return DataContent(X, codes, classes, columns, n_train, groups)


_READERS: dict[str, Callable[..., DataContent]] = {
    "csv": partial(_read_table, read_csv),
    "parquet": partial(_read_table, read_parquet),
    **{kind: partial(_read_matrix, kind) for kind in MATRIX_OPTIONS},
    **{kind: partial(read_terms, kind) for kind in DOCUMENT_OPTIONS},
    KIND: read_task,
}
