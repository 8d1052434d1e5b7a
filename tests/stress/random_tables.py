"""Random small tables, labels and weights, good ones and bad ones: each is a number's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

_DTYPES = (
    *("f8", "f8", "f8", "f8", "f8", "f8", "f4", "f4", "f4", "f2", ">f8", "g"),
    *("i1", "i1", "u1", "i2", "u4", "i8", "i8", "u8", "?", "?", "O", "O"),
)
_SPARSE = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")


def random_examples(rng: np.random.Generator) -> tuple[Any, int, str]:
    """X, its number of rows, and a word for it: a table, images or a frame."""
    draw = rng.random()
    n = int(rng.choice([1, 2, 3, *[5] * 2, *[17] * 9, *[40] * 12, *[70] * 16, *[300] * 4]))
    if draw < 0.03:
        shape = (n, 6, 7) if rng.random() < 0.6 else (n, 8, 8, 3)
        return rng.integers(0, 256, shape).astype(rng.choice(["u1", "f4"])), n, "images"
    if draw < 0.035:
        return rng.normal(size=(n,)), n, "a vector"
    if draw < 0.04:
        return [[0.5] * (1 + row % 2) for row in range(n)], n, "rows of different lengths"
    wide = draw > 0.99
    d = int(rng.choice([1, 2, 5, 12, 30])) if not wide else int(rng.choice([3_000, 200_000]))
    if wide:
        n = min(n, 17)
    values = _values(rng, n, d)
    if draw < 0.15 and not wide:
        return _frame(rng, values), n, "a frame"
    if draw < 0.27:
        return _sparse(rng, values), n, "a sparse matrix"
    dtype = rng.choice(_DTYPES if rng.random() < 0.97 else ("c16", "S3"))
    return _laid_out(rng, _cast(rng, values, dtype)), n, f"{dtype} ({n}, {d})"


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
    if rng.random() < 0.1:
        values[rng.integers(n)] = values[rng.integers(n)]
    if rng.random() < 0.25:
        values[rng.random((n, d)) < rng.choice([0.05, 0.5, 1.0])] = np.nan
    if rng.random() < 0.1:
        values[:, rng.integers(d)] = np.nan
    if rng.random() < 0.03:
        values[rng.integers(n), rng.integers(d)] = rng.choice([np.inf, -np.inf])
    return values


def _cast(rng: np.random.Generator, values: NDArray[np.float64], dtype: str) -> NDArray[Any]:
    if dtype == "O":
        found = values.astype(object)
        if rng.random() < 0.1:
            found[rng.integers(found.shape[0]), 0] = rng.choice(np.array([None, "a", ""], object))
        return found
    if np.dtype(dtype).kind in "iu":
        values = np.clip(np.nan_to_num(values), -100, 100)
    with np.errstate(all="ignore"):
        return values.astype(dtype)


def _laid_out(rng: np.random.Generator, table: NDArray[Any]) -> Any:
    """The table in some memory layout, or as a list."""
    ways: list[Callable[[NDArray[Any]], Any]] = [
        lambda one: one,
        lambda one: one,
        np.asfortranarray,
        lambda one: np.repeat(np.repeat(one, 2, axis=0), 2, axis=1)[::2, ::2],
        lambda one: one[::-1, ::-1],
        lambda one: np.lib.stride_tricks.as_strided(one, writeable=False),
        lambda one: np.broadcast_to(one[:1], one.shape),
    ]
    if table.size < 1000:
        ways.append(lambda one: one.tolist())
    return ways[rng.integers(len(ways))](table)


def _sparse(rng: np.random.Generator, values: NDArray[np.float64]) -> Any:
    """A sparse matrix or array of some format, possibly with explicit zeros or repeated entries."""
    kept = np.where(rng.random(values.shape) < 0.4, values, 0.0)
    dtype = rng.choice(["f8", "f4", "i4", "?"])
    if np.dtype(dtype).kind in "ib":
        kept = np.clip(np.nan_to_num(kept), -9, 9)
    with np.errstate(all="ignore"):
        kept = kept.astype(dtype)
    kind = sp.csr_array if rng.random() < 0.5 else sp.csr_matrix
    found = kind(kept).asformat(_SPARSE[rng.integers(3 if values.size > 9999 else len(_SPARSE))])
    if found.format == "csr" and rng.random() < 0.5:
        if found.nnz:
            found.data[0] = 0
        found.indices, found.indptr = found.indices.astype("i8"), found.indptr.astype("i8")
    if found.format == "coo" and found.nnz and rng.random() < 0.5:
        found = sp.coo_array(
            (np.tile(found.data, 2), (np.tile(found.row, 2), np.tile(found.col, 2))), found.shape
        )
    return found


def _frame(rng: np.random.Generator, values: NDArray[np.float64]) -> Any:
    """A data frame of columns of several types, of pandas or polars."""
    n = values.shape[0]
    whole = np.clip(np.nan_to_num(values), -9, 9).astype(np.int64)
    letters = np.array(["red", "green", "blue", "Ünicode\n", ""], object)[rng.integers(0, 5, n)]
    if rng.random() < 0.3:
        letters[rng.integers(n)] = None
    columns: dict[str, Any] = {f"x_{at}": values[:, at] for at in range(values.shape[1])}
    for name, column in {
        "whole": whole[:, 0],
        "flag": whole[:, 0] > 0,
        "colour": letters,
        "small": values[:, 0].astype(np.float32) if np.abs(values[0]).max() < 1e30 else whole[:, 0],
    }.items():
        if rng.random() < 0.4:
            columns[name] = column
    if rng.random() < 0.4:
        return pl.DataFrame({name: list(column) for name, column in columns.items()}, strict=False)
    frame = pd.DataFrame(columns, index=rng.permutation(n))
    if "colour" in frame and rng.random() < 0.6:
        frame["colour"] = frame["colour"].astype("category")
    if "whole" in frame and rng.random() < 0.4:
        frame["whole"] = frame["whole"].astype("Int64").where(rng.random(n) < 0.7)
    if rng.random() < 0.1:
        frame.columns = [*frame.columns[:-1], frame.columns[0]]
    if rng.random() < 0.1:
        frame.columns = [*range(len(frame.columns))]
    return frame


def random_labels(rng: np.random.Generator, n: int) -> tuple[Any, str]:
    """y and a word for it: classes, labels, or something that is neither."""
    draw = rng.random()
    if draw < 0.2:
        k = int(rng.choice([1, 2, 3, 9, 80]))
        Y = (rng.random((n, k)) < rng.choice([0.0, 0.1, 0.5, 1.0], p=[0.1, 0.4, 0.4, 0.1])) * 1
        if rng.random() < 0.4 and k > 1:
            Y[:, rng.integers(k)] = rng.integers(2)
        if rng.random() < 0.4:
            Y[rng.integers(n)] = 0
        kinds: list[Callable[[Any], Any]] = [
            np.asarray,
            np.asfortranarray,
            sp.csr_matrix,
            sp.csc_array,
        ]
        kinds += [lambda one: one.astype(bool), lambda one: one.astype(float), pd.DataFrame]
        return kinds[rng.integers(len(kinds))](Y), f"multi-label {k}"
    if draw < 0.25:
        return np.arange(n), "one example per class"
    k = int(rng.choice([2, 2, 2, 2, 3, 3, 3, 5, 5, 11])) if rng.random() < 0.98 else 1
    codes = rng.integers(0, k, n) if rng.random() < 0.8 and n > 5 else np.arange(n) % k
    kinds = [
        np.asarray,
        lambda one: one - 7,
        lambda one: one.astype("i1"),
        lambda one: (one * 1000).astype("u8"),
        lambda one: one > 0,
        lambda one: one.astype(float),
        lambda one: one.astype("f2"),
        lambda one: np.array([*list("ba"), "", "Ü\n", "c", "d", *"efghijk"])[one],
        lambda one: np.array([*list("ba"), "", "Ü\n", "c", "d", *"efghijk"], object)[one],
        lambda one: [str(code) for code in one],
        lambda one: pd.Series(one, index=one[::-1]).astype("category"),
        lambda one: pl.Series(one),
        lambda one: one[:, None],
    ]
    y = kinds[rng.integers(len(kinds))](codes)
    if draw > 0.97:
        wrong: list[Callable[[Any], Any]] = [
            lambda one: codes + 0.5,
            lambda one: np.where(codes > 0, np.nan, 1.0),
            lambda one: codes[1:],
            lambda one: codes.astype(complex),
            lambda one: np.stack([codes, codes, codes + 1], axis=1),
            lambda one: None,
            lambda one: np.array([None, *codes[1:]], object),
            lambda one: "abc",
            lambda one: sp.csr_matrix(np.where(codes[:, None] > 0, 2, 1)),
        ]
        return wrong[rng.integers(len(wrong))](y), "wrong"
    return y, f"{k} classes"


def random_weights(rng: np.random.Generator, n: int) -> Any:
    """Example weights, mostly none."""
    if rng.random() < 0.4:
        return None
    some = rng.random(n) + 0.1
    zeros = np.where((rng.random(n) < 0.5) | (np.arange(n) < 8), some, 0.0)
    ways: list[Callable[[], Any]] = [
        lambda: np.ones(n),
        lambda: some,
        lambda: some.astype("f2"),
        lambda: rng.integers(1, 5, n),
        lambda: zeros,
        lambda: zeros.tolist(),
        lambda: some * 1e-310,
        lambda: rng.integers(1, 9, n) * 5e-324,
        lambda: some * 1e308,
        lambda: some * 10.0 ** rng.integers(-22, 1, n),
        lambda: (some > 0.5) | (np.arange(n) < 8),
        lambda: pd.Series(some, index=rng.permutation(n)),
    ]
    wrong: list[Callable[[], Any]] = [
        lambda: some * 10.0 ** rng.integers(-300, 300, n),
        lambda: np.zeros(n),
        lambda: -some,
        lambda: np.where(np.arange(n) == n - 1, np.nan, some),
        lambda: np.where(np.arange(n) == n - 1, np.inf, some),
        lambda: some[:, None],
        lambda: some[1:],
        lambda: ["a"] * n,
        lambda: 2.0,
    ]
    ways = wrong if rng.random() < 0.06 else ways
    return ways[rng.integers(len(ways))]()
