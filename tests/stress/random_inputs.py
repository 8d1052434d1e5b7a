"""Random small inputs for the classifier: each is fitted well, or refused in one clear line.

Input `number` of a seed is always the same. The invariants are in `tests.stress.fit_invariants`.
"""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from boostsample import BoostSampleClassifier
from boostsample.registry import STRATEGIES
from boostsample.strategies import Laminating, UniformNaive
from tests.stress.fit_invariants import check_fit

_LEARNERS = ("stump", "stump", "product", "product:n_terms=2", "tree", "tree:n_leaves=3")
_BUDGETS: tuple[Any, ...] = (None, None, None, "10N", "0.5N", 1, 3, 40, 10**15, "2N")
_BANKS = ("memory", "memory", "memory:reference=3", "lazy", "lazy:reference=2", "disk")
_SETTINGS = {
    "laminating": (":scheme=distinct", ":n_features=4", ":scheme=stratified", ""),
    "ucb": (":exploration=0.1", ":arms=feature", ""),
    "mas-naive": (":noise=deconvolved", ":n_components=1", ""),
    "uniform-naive": (":n_features=2", ""),
}
_WRONG: tuple[tuple[str, Any], ...] = (
    ("n_rounds", 0),
    ("n_rounds", 2.5),
    ("n_rounds", None),
    ("budget", 0),
    ("budget", "N10"),
    ("budget", -5),
    ("budget", "1e-30N"),
    ("learner", "tree:n_leaves=1"),
    ("learner", 3),
    ("strategy", "laminate"),
    ("strategy", "ucb:exploration=-1"),
    ("strategy", "laminating:n_features=3"),
    ("strategy", Laminating),
    ("weight_init", "even"),
    ("bank", "tape"),
    ("bank", "lazy:reference=0"),
    ("n_jobs", 0),
    ("n_jobs", "two"),
    ("random_state", "seed"),
    ("random_state", -1),
    ("families", []),
    ("families", {}),
    ("families", "wavelets"),
    ("families", {"first": [0], "other": "999-1000"}),
    ("families", "dtype"),
    ("families", "prefix"),
    ("families", 7),
    ("class_weight", "even"),
    ("class_weight", {"none of them": 2.0}),
    ("class_weight", -1),
    ("early_stopping", "yes"),
    ("validation_fraction", 1.5),
    ("eval_metric", "accuracy"),
    ("max_model_features", 0),
    ("learning_rate", 0.0),
    ("smoothing", -1.0),
)


class Case(NamedTuple):
    """One input."""

    number: int
    settings: dict[str, Any]
    X: Any
    y: Any
    sample_weight: Any
    words: str


def random_case(number: int, seed: int = 0) -> Case:
    """Input `number` of a seed."""
    rng = np.random.default_rng([seed, number])
    X, n, table = random_examples(rng)
    y, labels = random_labels(rng, n)
    settings = _settings(rng, n)
    words = f"{table}, {labels}, {settings}"
    return Case(number, settings, X, y, random_weights(rng, n), words)


def _settings(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Settings of the classifier for n rows, seldom wrong ones."""
    names = list(STRATEGIES)
    name = names[rng.integers(len(names))]
    strategy: Any = name + str(rng.choice(_SETTINGS.get(name, ("",))))
    if rng.random() < 0.05:
        strategy = [Laminating(n_features=2), UniformNaive()][rng.integers(2)]
    settings: dict[str, Any] = {
        "strategy": strategy,
        "learner": str(rng.choice(_LEARNERS)),
        "n_rounds": int(rng.choice([1, 2, 6, 15])),
        "budget": _BUDGETS[rng.integers(len(_BUDGETS))],
        "weight_init": str(rng.choice(["balanced", "uniform"])),
        "bank": str(rng.choice(_BANKS)),
        "n_jobs": int(rng.choice([1, 1, 2])),
        "random_state": int(rng.integers(2**31)),
    }
    if name in ("full", "quickboost", "adaptive-pruning") and rng.random() < 0.9:
        settings["budget"] = None  # all others are too few looks
    draw = rng.random()
    for key in ("strategy", "learner", "budget") if draw < 0.2 else ("strategy",) * (draw < 0.25):
        del settings[key]
    few = n < 40 and rng.random() < 0.95  # rows to hold some out of
    known = inspect.signature(BoostSampleClassifier).parameters
    more: dict[str, tuple[Any, ...]] = {
        "class_weight": (None, None, "balanced"),
        "early_stopping": (False, False, False, few is False),
        "max_model_features": (None, None, 1, 3),
        "calibration": ("auto", "rule", "rule" if few else "temperature"),
        "eval_metric": ("log_loss", "error", "balanced_error"),
        "learning_rate": (None, None, 0.1, 0.5),
        "smoothing": (None, None, None, 0.01, 1.0),
    }
    for key, values in more.items():
        value = values[rng.integers(len(values))]
        if key in known and value is not None:
            settings[key] = value
    if rng.random() < 0.06:
        key, value = _WRONG[rng.integers(len(_WRONG))]
        if key in known:
            settings[key] = value
    return settings


def check_case(case: Case) -> str:
    """ "fit", or the line that refuses the input; AssertionError if it is neither."""
    return check_fit(case.settings, case.X, case.y, case.sample_weight)


_DTYPES = ("f8", "f8", "f8", "f8", "f4", "f2", ">f8", "i1", "u4", "i8", "?", "O")


def _one_of(rng: np.random.Generator, values: list[Any]) -> Any:
    return values[rng.integers(len(values))]


def random_examples(rng: np.random.Generator) -> tuple[Any, int, str]:
    """X, its number of rows, and a word for it: a table, images or a frame."""
    draw = rng.random()
    n = int(rng.choice([1, 2, 3, *[5] * 2, *[17] * 9, *[40] * 12, *[70] * 16, *[300] * 4]))
    if draw < 0.03:
        return rng.integers(0, 256, (n, 6, 7)).astype(rng.choice(["u1", "f4"])), n, "images"
    if draw < 0.04:
        return rng.normal(size=(n,)), n, "a vector"
    values = _values(rng, n, int(rng.choice([1, 2, 5, 12, 30])))
    if draw < 0.15:
        return _frame(rng, values), n, "a frame"
    if draw < 0.27:
        kind = _one_of(rng, [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array])
        return kind(np.where(rng.random(values.shape) < 0.4, values, 0.0)), n, "a sparse matrix"
    dtype = rng.choice(_DTYPES if rng.random() < 0.97 else ("c16", "S3"))
    if np.dtype(dtype).kind in "iu":
        values = np.clip(np.nan_to_num(values), -100, 100)
    with np.errstate(all="ignore"):
        table = values.astype(dtype)
    ways = [table, table, np.asfortranarray(table), table[::-1, ::-1], table.tolist()]
    return _one_of(rng, ways), n, f"{dtype} {table.shape}"


def _values(rng: np.random.Generator, n: int, d: int) -> NDArray[np.float64]:
    """Float64 (n, d), of any scale, with ties, duplicates, constants and missing values."""
    values = rng.normal(size=(n, d))
    if rng.random() < 0.4:
        values = np.round(values * 2)
    if rng.random() < 0.3:
        values *= 10.0 ** rng.integers(-320, 37) if rng.random() < 0.95 else 10.0**300
    if rng.random() < 0.2:
        values += 10.0 ** rng.integers(0, 20)
    if rng.random() < 0.2:
        values[:, rng.integers(d)] = rng.choice([0.0, -0.0, 1.5, 5e-324, 3e38])
    if rng.random() < 0.2:
        values[:, rng.integers(d)] = values[:, rng.integers(d)]
    if rng.random() < 0.25:
        values[rng.random((n, d)) < rng.choice([0.05, 0.5, 1.0])] = np.nan
    if rng.random() < 0.03:
        values[rng.integers(n), rng.integers(d)] = rng.choice([np.inf, -np.inf])
    return values


def _frame(rng: np.random.Generator, values: NDArray[np.float64]) -> Any:
    """A data frame of columns of several types, of pandas or polars."""
    n = values.shape[0]
    whole = np.clip(np.nan_to_num(values[:, 0]), -9, 9).astype(np.int64)
    letters = np.array(["red", "green", "blue", "Ünicode\n", "", None], object)
    columns: dict[str, Any] = {f"x_{at}": values[:, at] for at in range(values.shape[1])}
    columns |= {"whole": whole, "flag": whole > 0, "colour": letters[rng.integers(0, 6, n)]}
    if rng.random() < 0.4:
        return pl.DataFrame({name: list(column) for name, column in columns.items()}, strict=False)
    frame = pd.DataFrame(columns, index=rng.permutation(n))
    if rng.random() < 0.6:
        frame["colour"] = frame["colour"].astype("category")
    if rng.random() < 0.4:
        frame["whole"] = frame["whole"].astype("Int64").where(rng.random(n) < 0.7)
    if rng.random() < 0.1:
        frame.columns = [*frame.columns[:-1], frame.columns[0]]
    return frame


def random_labels(rng: np.random.Generator, n: int) -> tuple[Any, str]:
    """y and a word for it: classes, labels, or something that is neither."""
    draw = rng.random()
    if draw < 0.2:
        k = int(rng.choice([1, 2, 3, 9, 80]))
        Y = (rng.random((n, k)) < rng.choice([0.0, 0.1, 0.5, 1.0], p=[0.1, 0.4, 0.4, 0.1])) * 1
        ways = [Y, np.asfortranarray(Y), sp.csr_matrix(Y), Y.astype(bool), pd.DataFrame(Y)]
        return _one_of(rng, ways), f"multi-label {k}"
    if draw < 0.25:
        return np.arange(n), "one example per class"
    k = int(rng.choice([2, 2, 2, 2, 3, 3, 3, 5, 5, 11])) if rng.random() < 0.98 else 1
    codes = rng.integers(0, k, n) if rng.random() < 0.8 and n > 5 else np.arange(n) % k
    if draw > 0.97:
        wrong = [codes + 0.5, np.where(codes > 0, np.nan, 1.0), codes[1:], None, "abc"]
        return _one_of(rng, wrong), "wrong"
    names = np.array([*list("ba"), "", "Ü\n", "c", "d", *"efghijk"], object)[codes]
    kinds: list[Any] = [codes, codes - 7, codes.astype("i1"), codes > 0, codes.astype(float), names]
    kinds += [names.astype(str), list(names), pl.Series(codes), codes[:, None]]
    kinds += [pd.Series(codes, index=codes[::-1]).astype("category")]
    return _one_of(rng, kinds), f"{k} classes"


def random_weights(rng: np.random.Generator, n: int) -> Any:
    """Example weights, mostly none."""
    if rng.random() < 0.4:
        return None
    some, row = rng.random(n) + 0.1, np.arange(n)
    if rng.random() < 0.06:
        wrong = [some * 10.0 ** rng.integers(-300, 300, n), np.zeros(n), -some, some[1:], 2.0]
        return _one_of(rng, [*wrong, np.where(row == n - 1, np.nan, some), ["a"] * n])
    ways = [some, rng.integers(1, 5, n), np.where((some < 0.6) | (row < 8), some, 0.0)]
    ways += [some * 1e-310, rng.integers(1, 9, n) * 5e-324, some * 1e308]
    ways += [some * 10.0 ** rng.integers(-22, 1, n), pd.Series(some, index=rng.permutation(n))]
    return _one_of(rng, ways)
