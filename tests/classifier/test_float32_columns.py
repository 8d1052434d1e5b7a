"""Columns whose different values become equal as float32 are named by a warning."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn.base import clone

from boostsample import BoostSampleClassifier
from boostsample.checks import columns_merged_by_float32

polars: Any = pytest.importorskip("polars", reason="polars is in the extra 'dev'")

MODEL = BoostSampleClassifier("full", "stump", n_rounds=1, random_state=0)
N = 300
X = np.random.default_rng(0).random((N, 3))
Y = (X[:, 0] > 0.5).astype(int)
LOST = {
    "x + 1e9": X[:, 0] + 1e9,
    "x * 1e-50": X[:, 0] * 1e-50,
    "seconds of an hour": 1.7e9 + np.round(3600 * X[:, 0]),
    "a zero beside": np.where(np.arange(N) % 3, X[:, 0] + 1e9, 0.0),
    "missing beside": np.where(np.arange(N) % 3, X[:, 0] + 1e9, np.nan),
    "one row differs": 1e9 + (np.arange(N) == 171),
}
WHOLE = {
    "x": X[:, 0],
    "x * 1e-30": X[:, 0] * 1e-30,
    "tenths": np.round(X[:, 0], 1),
    "with rounding": np.where(X[:, 0] > 0.5, 0.1 + 0.2, 0.3),
    "rounding of a constant": 0.3 + 1e-16 * (np.arange(N) % 5),
    "seconds of a year": 1.7e9 + np.round(3e7 * X[:, 0]),
    "constant": np.full(N, 1e9 + 0.3),
    "steps of float32": 1e9 + 64.0 * (np.arange(N) % 7),
}
CONTAINERS: dict[str, Any] = {
    "array": lambda column: np.column_stack([X[:, 1], column, X[:, 2]]),
    "Fortran": lambda column: np.asfortranarray(np.column_stack([X[:, 1], column, X[:, 2]])),
    "sparse": lambda column: sparse.csr_array(np.column_stack([X[:, 1], column, X[:, 2]])),
    "pandas with text": lambda column: pandas.DataFrame(
        {"b": X[:, 1], "a": column, "c": ["u", "v", "v"] * (N // 3)}
    ),
    "polars": lambda column: polars.DataFrame({"b": X[:, 1], "a": column, "c": X[:, 2]}),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_fit_names_columns_that_lose_values(container: str) -> None:
    name = "column 1" if container in ("array", "Fortran", "sparse") else "a"
    rule = rf"different values as float32 .* in 1 of them some become equal: '{name}'; subtract"
    for case, column in LOST.items():
        with pytest.warns(RuntimeWarning) as caught:
            clone(MODEL).fit(CONTAINERS[container](column), Y)
        assert [bool(re.search(rule, str(one.message))) for one in caught] == [True], case
    for column in WHOLE.values():
        clone(MODEL).fit(CONTAINERS[container](column), Y)  # warnings are errors


def test_warnings_count_columns_and_predictions_are_silent() -> None:
    table = np.column_stack([LOST["x + 1e9"]] * 7 + [X[:, 0]])
    with pytest.warns(RuntimeWarning, match=r"in 7 of them .*'column 0', .*'column 4', \.\.\.; "):
        model = clone(MODEL).fit(table, Y)
    model.predict(table)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_whole_numbers_that_float64_does_not_hold(dtype: Any) -> None:
    table = np.column_stack([2**62 + np.arange(N, dtype=dtype), np.arange(N, dtype=dtype)])
    assert columns_merged_by_float32(table) == [0]
    assert columns_merged_by_float32(table.astype(np.float32)) == []
