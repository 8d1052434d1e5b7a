"""Columns of every dtype are read or named in an error; merged float32 values are warned of."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone

from boostsample import BoostSampleClassifier, DataError
from boostsample.checks import columns_merged_by_float32

polars: Any = pytest.importorskip("polars", reason="polars is in the extra 'dev'")

MODEL = BoostSampleClassifier("full", "stump", n_rounds=2, random_state=0)
Y = [0, 1, 1, 0, 1, 0]
NAN = float("nan")
NUMBERS = [1.5, NAN, 2.0, 0.0, 2.0, 1.5]
WHOLE = [1, None, 2, 0, 2, 1]
TEXTS = ["x", None, "y", "x", "y", "x"]


def decimals() -> list[Any]:
    return [None if value != value else Decimal(str(value)) for value in NUMBERS]


def arrow_dictionary(values: list[Any]) -> Any:
    """Indices without null, of a dictionary that holds null and its values twice."""
    known = [*dict.fromkeys(values), *dict.fromkeys(values)]
    at = [known.index(value) + 3 * (row % 2) for row, value in enumerate(values)]
    return pa.DictionaryArray.from_arrays(pa.array(at, pa.int8()), pa.array(known))


ARROW: dict[str, tuple[Any, Any]] = {
    "float16": (pa.array(np.array(NUMBERS, np.float16)), NUMBERS),
    "int8": (pa.array(WHOLE, pa.int8()), WHOLE),
    "bool": (pa.array([True, None, False] * 2), [1, None, 0] * 2),
    "decimal128": (pa.array(decimals(), pa.decimal128(10, 3)), NUMBERS),
    "null": (pa.nulls(6), [None] * 6),
    "text": (pa.array(TEXTS), TEXTS),
    "view of text": (pa.array(TEXTS, pa.string_view()), TEXTS),
    "dictionary with null": (arrow_dictionary(TEXTS), TEXTS),
    "dictionary in chunks": (
        pa.chunked_array([pa.array(part).dictionary_encode() for part in (TEXTS[:2], TEXTS[2:])]),
        TEXTS,
    ),
    "list": (pa.array([[1], [2]] * 3), list),
    "struct": (pa.array([{"x": 1}, None] * 3), dict),
    "binary": (pa.array([b"x", b"y"] * 3), bytes),
    "timestamp": (pa.array([1, 2] * 3, pa.timestamp("s")), datetime.datetime),
    "date32": (pa.array([1, 2] * 3, pa.date32()), datetime.date),
    "duration": (pa.array([1, 2] * 3, pa.duration("s")), datetime.timedelta),
}
"""Values of Arrow types, and what they are: numbers, texts, or the type of what is refused."""

PANDAS: dict[str, tuple[Any, Any]] = {
    **{name: (pandas.Series(WHOLE, dtype=name), WHOLE) for name in ("Float64", "Int64", "object")},
    "boolean": (pandas.Series([True, None, False] * 2, dtype="boolean"), [1, None, 0] * 2),
    "long double": (np.array(NUMBERS, np.longdouble), NUMBERS),
    "Decimal": (decimals(), NUMBERS),
    "sparse, filled by 2": (pandas.arrays.SparseArray(NUMBERS, fill_value=2.0), NUMBERS),
    **{
        f"texts as {name}": (pandas.Series(TEXTS, dtype=name), TEXTS)
        for name in ("object", "string", "category")
    },
    "complex": (np.ones(6) * 1j, complex),
    "huge integers": (pandas.Series([10**400, 1] * 3, dtype="object"), OverflowError),
    "times": (pandas.date_range("2020", periods=6), datetime.datetime),
    "periods": (pandas.period_range("2020", periods=6), pandas.Period),
    "dates": ([datetime.date(2020, 1, 1), None] * 3, datetime.date),
    "lists": ([[1], None] * 3, list),
}

POLARS: dict[str, tuple[Any, Any]] = {
    "Int128": (polars.Series("a", WHOLE, polars.Int128), OverflowError),
    "Object": (polars.Series([object()] * 6, dtype=polars.Object), object),
    "Enum": (polars.Series(TEXTS, dtype=polars.Enum(["y", "x", "z"])), TEXTS),
}


def frames() -> list[Any]:
    """Frames of a column "b" of numbers and a column "a" of each dtype."""
    rows = np.arange(6.0)
    cases = []
    for name, (values, meaning) in ARROW.items():
        dtype = pandas.ArrowDtype(values.type)
        of_pandas = pandas.DataFrame({"b": rows, "a": pandas.array(values, dtype=dtype)})
        cases.append(pytest.param(of_pandas, meaning, id=f"pandas of Arrow: {name}"))
        cases.append(pytest.param(pa.table({"b": rows, "a": values}), meaning, id=f"Arrow: {name}"))
        of_polars = polars.DataFrame({"b": rows, "a": polars.from_arrow(values)})
        cases.append(pytest.param(of_polars, meaning, id=f"polars of Arrow: {name}"))
    for name, (values, meaning) in PANDAS.items():
        frame = pandas.DataFrame({"b": rows, "a": values})
        cases.append(pytest.param(frame, meaning, id=f"pandas: {name}"))
    for name, (values, meaning) in POLARS.items():
        frame = polars.DataFrame({"b": rows, "a": values})
        cases.append(pytest.param(frame, meaning, id=f"polars: {name}"))
    return cases


def with_category(frame: Any) -> Any:
    """The frame with a column of categories, by which all columns are read one by one."""
    if isinstance(frame, pa.Table):
        return frame.append_column("c", pa.array(["u", "v"] * 3))
    if isinstance(frame, pandas.DataFrame):
        return frame.assign(c=["u", "v"] * 3)
    return frame.with_columns(c=polars.Series(["u", "v"] * 3))


@pytest.mark.parametrize("mixed", [False, True], ids=["alone", "with a category"])
@pytest.mark.parametrize(("frame", "meaning"), frames())
def test_each_dtype_is_read_or_refused_by_name(frame: Any, meaning: Any, mixed: bool) -> None:
    if mixed:
        frame = with_category(frame)
    if meaning in (datetime.date, datetime.datetime):
        columns = clone(MODEL).fit(frame, Y).columns_
        assert columns.columns[1].kind in ("date", "datetime")
        assert columns.names[1:4] == ("a.days", "a.year", "a.month")
        return
    if isinstance(meaning, type):
        rule = "cannot be read" if meaning is OverflowError else "must hold numbers, text, truth"
        with pytest.raises(DataError, match=rf"column 'a' \(.+\) {rule}.* drop it") as raised:
            clone(MODEL).fit(frame, Y)
        assert "\n" not in str(raised.value)
        return
    model = clone(MODEL).fit(frame, Y)
    if meaning is TEXTS:
        assert model.columns_.names[1:3] == ("a=x", "a=y")
        indicators = {"x": (1, 0), "y": (0, 1), None: (NAN, NAN)}
        want = np.column_stack([np.arange(6), [indicators[value] for value in TEXTS]])
    else:
        want = np.column_stack([np.arange(6), np.array(meaning, float)])
    if mixed:
        want = np.column_stack([want, [1, 0] * 3, [0, 1] * 3])
    same = clone(MODEL).fit(want, Y)
    np.testing.assert_array_equal(model.decision_function(frame), same.decision_function(want))


@pytest.mark.parametrize(("frame", "meaning"), frames())
def test_prediction_reads_numbers_of_every_dtype(frame: Any, meaning: Any) -> None:
    """A model of float64 columns takes the same numbers in other dtypes, and nothing else."""
    table = pandas.DataFrame({"b": np.arange(6.0), "a": NUMBERS})
    model = clone(MODEL).fit(table, Y)
    if isinstance(meaning, type) or meaning is TEXTS:
        with pytest.raises(DataError, match=r"column 'a' \(.{3,}\) .*(as before|drop it|replace)"):
            model.predict(frame)
    else:
        want = table.assign(a=np.array(meaning, float))
        np.testing.assert_array_equal(model.decision_function(frame), model.decision_function(want))


def test_sparse_frames_filled_by_zero_stay_sparse() -> None:
    matrix = sparse.csr_array(np.array([[0, 1], [2, 0], [0, 0], [0, 3], [1, 0], [0, 1]], float))
    frame = pandas.DataFrame.sparse.from_spmatrix(matrix)
    model = clone(MODEL).fit(frame, Y)
    assert model.columns_ is None
    np.testing.assert_array_equal(model.predict(frame), model.predict(matrix))


ONE_ROUND = BoostSampleClassifier("full", "stump", n_rounds=1, random_state=0)
ROWS = 300
UNIT = np.random.default_rng(0).random((ROWS, 3))
HALVES = (UNIT[:, 0] > 0.5).astype(int)
LOST = {
    "x + 1e9": UNIT[:, 0] + 1e9,
    "x * 1e-50": UNIT[:, 0] * 1e-50,
    "seconds of an hour": 1.7e9 + np.round(3600 * UNIT[:, 0]),
    "a zero beside": np.where(np.arange(ROWS) % 3, UNIT[:, 0] + 1e9, 0.0),
    "missing beside": np.where(np.arange(ROWS) % 3, UNIT[:, 0] + 1e9, np.nan),
    "one row differs": 1e9 + (np.arange(ROWS) == 171),
}
UNCHANGED = {
    "x": UNIT[:, 0],
    "x * 1e-30": UNIT[:, 0] * 1e-30,
    "tenths": np.round(UNIT[:, 0], 1),
    "with rounding": np.where(UNIT[:, 0] > 0.5, 0.1 + 0.2, 0.3),
    "rounding of a constant": 0.3 + 1e-16 * (np.arange(ROWS) % 5),
    "seconds of a year": 1.7e9 + np.round(3e7 * UNIT[:, 0]),
    "constant": np.full(ROWS, 1e9 + 0.3),
    "steps of float32": 1e9 + 64.0 * (np.arange(ROWS) % 7),
}
CONTAINERS: dict[str, Any] = {
    "array": lambda column: np.column_stack([UNIT[:, 1], column, UNIT[:, 2]]),
    "Fortran": lambda column: np.asfortranarray(np.column_stack([UNIT[:, 1], column, UNIT[:, 2]])),
    "sparse": lambda column: sparse.csr_array(np.column_stack([UNIT[:, 1], column, UNIT[:, 2]])),
    "pandas with text": lambda column: pandas.DataFrame(
        {"b": UNIT[:, 1], "a": column, "c": ["u", "v", "v"] * (ROWS // 3)}
    ),
    "polars": lambda column: polars.DataFrame({"b": UNIT[:, 1], "a": column, "c": UNIT[:, 2]}),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_fit_names_columns_that_lose_values(container: str) -> None:
    name = "column 1" if container in ("array", "Fortran", "sparse") else "a"
    rule = rf"different values as float32 .* in 1 of them some become equal: '{name}'; subtract"
    for case, column in LOST.items():
        with pytest.warns(RuntimeWarning) as caught:
            clone(ONE_ROUND).fit(CONTAINERS[container](column), HALVES)
        assert [bool(re.search(rule, str(one.message))) for one in caught] == [True], case
    for column in UNCHANGED.values():
        clone(ONE_ROUND).fit(CONTAINERS[container](column), HALVES)  # warnings are errors


def test_warnings_count_columns_and_predictions_are_silent() -> None:
    table = np.column_stack([LOST["x + 1e9"]] * 7 + [UNIT[:, 0]])
    with pytest.warns(RuntimeWarning, match=r"in 7 of them .*'column 0', .*'column 4', \.\.\.; "):
        model = clone(ONE_ROUND).fit(table, HALVES)
    model.predict(table)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_whole_numbers_that_float64_does_not_hold(dtype: Any) -> None:
    table = np.column_stack([2**62 + np.arange(ROWS, dtype=dtype), np.arange(ROWS, dtype=dtype)])
    assert columns_merged_by_float32(table) == [0]
    assert columns_merged_by_float32(table.astype(np.float32)) == []
