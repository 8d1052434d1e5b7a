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
        values_of_objects = values.astype(object)
        if rng.random() < 0.1:
            values_of_objects[rng.integers(values_of_objects.shape[0]), 0] = rng.choice(
                np.array([None, "a", ""], object)
            )
        return values_of_objects
    if np.dtype(dtype).kind in "iu":
        values = np.clip(np.nan_to_num(values), -100, 100)
    with np.errstate(all="ignore"):
        return values.astype(dtype)


def _laid_out(rng: np.random.Generator, table: NDArray[Any]) -> Any:
    """The table in some memory layout, or as a list."""
    ways: list[Callable[[NDArray[Any]], Any]] = [
        lambda table: table,
        lambda table: table,
        np.asfortranarray,
        lambda table: np.repeat(np.repeat(table, 2, axis=0), 2, axis=1)[::2, ::2],
        lambda table: table[::-1, ::-1],
        lambda table: np.lib.stride_tricks.as_strided(table, writeable=False),
        lambda table: np.broadcast_to(table[:1], table.shape),
    ]
    if table.size < 1000:
        ways.append(np.ndarray.tolist)
    return ways[rng.integers(len(ways))](table)


def _sparse(rng: np.random.Generator, values: NDArray[np.float64]) -> Any:
    """A sparse matrix or array of some format, possibly with explicit zeros or repeated entries."""
    dense = np.where(rng.random(values.shape) < 0.4, values, 0.0)
    dtype = rng.choice(["f8", "f4", "i4", "?"])
    if np.dtype(dtype).kind in "ib":
        dense = np.clip(np.nan_to_num(dense), -9, 9)
    with np.errstate(all="ignore"):
        dense = dense.astype(dtype)
    kind = sp.csr_array if rng.random() < 0.5 else sp.csr_matrix
    matrix = kind(dense).asformat(_SPARSE[rng.integers(3 if values.size > 9999 else len(_SPARSE))])
    if matrix.format == "csr" and rng.random() < 0.5:
        if matrix.nnz:
            matrix.data[0] = 0
        matrix.indices, matrix.indptr = matrix.indices.astype("i8"), matrix.indptr.astype("i8")
    if matrix.format == "coo" and matrix.nnz and rng.random() < 0.5:
        matrix = sp.coo_array(
            (np.tile(matrix.data, 2), (np.tile(matrix.row, 2), np.tile(matrix.col, 2))),
            matrix.shape,
        )
    return matrix


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
        kinds += [
            lambda labels: labels.astype(bool),
            lambda labels: labels.astype(float),
            pd.DataFrame,
        ]
        return kinds[rng.integers(len(kinds))](Y), f"multi-label {k}"
    if draw < 0.25:
        return np.arange(n), "one example per class"
    k = int(rng.choice([2, 2, 2, 2, 3, 3, 3, 5, 5, 11])) if rng.random() < 0.98 else 1
    codes = rng.integers(0, k, n) if rng.random() < 0.8 and n > 5 else np.arange(n) % k
    kinds = [
        np.asarray,
        lambda labels: labels - 7,
        lambda labels: labels.astype("i1"),
        lambda labels: (labels * 1000).astype("u8"),
        lambda labels: labels > 0,
        lambda labels: labels.astype(float),
        lambda labels: labels.astype("f2"),
        lambda labels: np.array([*list("ba"), "", "Ü\n", "c", "d", *"efghijk"])[labels],
        lambda labels: np.array([*list("ba"), "", "Ü\n", "c", "d", *"efghijk"], object)[labels],
        lambda labels: [str(code) for code in labels],
        lambda labels: pd.Series(labels, index=labels[::-1]).astype("category"),
        lambda labels: pl.Series(labels),
        lambda labels: labels[:, None],
    ]
    y = kinds[rng.integers(len(kinds))](codes)
    if draw > 0.97:
        wrong: list[Callable[[Any], Any]] = [
            lambda labels: codes + 0.5,
            lambda labels: np.where(codes > 0, np.nan, 1.0),
            lambda labels: codes[1:],
            lambda labels: codes.astype(complex),
            lambda labels: np.stack([codes, codes, codes + 1], axis=1),
            lambda labels: None,
            lambda labels: np.array([None, *codes[1:]], object),
            lambda labels: "abc",
            lambda labels: sp.csr_matrix(np.where(codes[:, None] > 0, 2, 1)),
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
