"""Columns of a table: selection, missing values, overflow, sparse tables, and groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from boostsample.errors import DataError, SettingError
from boostsample.families import Columns, column_groups


def test_values_are_the_columns() -> None:
    table = np.random.default_rng(0).normal(size=(10_000, 7))  # more rows than one block
    family = Columns([6, 0, 3])
    values = family.compute(table, [2, 0, 0])
    np.testing.assert_array_equal(values, table[:, [3, 6, 6]].astype(np.float32))
    assert values.T.flags.c_contiguous


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300, -4e38])
def test_infinite_and_overflowing_values_are_refused(value: float) -> None:
    table = np.ones((5000, 3))
    table[4321, 2] = value
    family = Columns([0, 2], column_names=["age", "sex", "height"])
    with pytest.raises(DataError, match=r"height holds .* in row 4321"):
        family.compute(table, [0, 1])
    assert family.compute(table, [0]).shape == (5000, 1)  # other columns are not looked at


def test_a_text_that_is_a_name_means_that_column() -> None:
    names = ["0-1", "a*", "ab", "1"]
    assert Columns(["0-1", "a*", "1"], column_names=names).columns == (0, 1, 3)


@pytest.mark.parametrize(
    ("columns", "want"),
    [
        (range(2, 5), (2, 3, 4)),
        ([4, range(2), np.int64(3)], (4, 0, 1, 3)),
        ("b", (1,)),
        (np.int64(1), (1,)),
        (slice(1, 4), (1, 2, 3)),
        ("1-3", (1, 2, 3)),
        ([" 3 - 3 ", "a"], (3, 0)),
        ("*", (0, 1, 2, 3, 4)),
        (["[bd]", 0], (1, 3, 0)),
    ],
)
def test_selections(columns: Any, want: tuple[int, ...]) -> None:
    assert Columns(columns, column_names=list("abcde")).columns == want


def test_very_many_consecutive_columns_are_a_range() -> None:
    family = Columns([*range(7, 200_000)], n_columns=10**12)
    assert (family.columns, family.n_features) == (range(7, 200_000), 199_993)
    assert family.settings()["columns"] == "7-199999"
    for other in (family.settings()["columns"], range(7, 200_000), slice(7, 200_000)):
        assert Columns(other, n_columns=10**12) == family
    assert family.feature_name(199_992) == "column 199999"
    assert Columns([*range(199_999, 6, -1)], n_columns=10**12) != family
    assert Columns(range(10**12)).n_features == 10**12  # takes no memory
    with pytest.raises(SettingError, match="between 0 and 199998, got 199999"):
        Columns(range(7, 200_000), n_columns=199_999)


@pytest.mark.parametrize("names", [[*map(str, range(9, 20_009))], [f"s{k}" for k in range(20_000)]])
def test_very_many_columns_with_names_are_made_again_by_their_settings(names: list[str]) -> None:
    family = Columns(range(1, 20_000), column_names=names)
    again = Columns(**family.settings())
    assert again == family
    assert again.columns == range(1, 20_000)
    table = np.arange(40_000.0).reshape(2, -1)
    assert again.compute(table, [0, 19_998]).tolist() == [[1, 19_999], [20_001, 39_999]]


@pytest.mark.parametrize(
    ("family", "shape"),
    [
        (Columns([0, 3]), (5, 3)),
        (Columns([0, 3], n_columns=5), (5, 6)),
        (Columns([0], n_columns=1), (5,)),
    ],
)
def test_other_tables_are_refused(family: Columns, shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match=r"family 'columns' takes .* got shape"):
        family.compute(np.zeros(shape), [0])


@pytest.mark.parametrize("name", ["csr_array", "csc_array", "coo_array", "lil_matrix"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, bool])
def test_sparse_tables_have_the_values_of_dense_ones(name: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    table = (rng.integers(-3, 4, (50, 9)) * (rng.random((50, 9)) < 0.3)).astype(dtype)
    if dtype == np.float64:
        table[3, 4] = np.nan
    family = Columns([8, range(5)], n_columns=9)
    features = [5, 0, 0, 2, 5]
    values = family.compute(getattr(sparse, name)(table), features)
    np.testing.assert_array_equal(values, family.compute(table, features))
    assert values.dtype == np.float32
    assert values.T.flags.c_contiguous
    for rows, wanted in ((0, [1, 0]), (50, [])):
        part = family.compute(sparse.csc_array(table[:rows]), wanted)
        assert part.shape == (rows, len(wanted))


def test_a_sparse_table_is_not_modified_and_its_doubles_are_added() -> None:
    matrix = sparse.csc_array((np.ones(3), [1, 1, 0], [0, 2, 2, 3]), shape=(2, 3))
    assert Columns(range(3)).compute(matrix, range(3)).tolist() == [[0, 0, 1], [2, 0, 0]]
    assert matrix.nnz == 3


@pytest.mark.parametrize("value", [np.inf, 1e300])
def test_infinite_values_of_sparse_tables_are_refused(value: float) -> None:
    table = np.zeros((20, 3))
    table[13, 2] = value
    with pytest.raises(DataError, match=r"column 2 holds .* in row 13"):
        Columns([0, 2]).compute(sparse.csc_array(table), [0, 1])


def test_other_sparse_tables_are_refused() -> None:
    with pytest.raises(DataError, match=r"family 'columns' takes .* \(n, 4\), got shape \(5, 3\)"):
        Columns([0, 3], n_columns=4).compute(sparse.csc_array((5, 3)), [0])
    with pytest.raises(DataError, match="takes real numbers, got dtype complex128"):
        Columns([0, 3], n_columns=4).compute(sparse.csc_array((5, 4), dtype=complex), [0])


def columns_of(families: list[Columns]) -> dict[str, Sequence[int]]:
    return {family.name: family.columns for family in families}


def frame() -> Any:
    import pandas

    return pandas.DataFrame(
        {
            "pen_x": [0.5, 1.5],
            "age": [3, 4],
            "pen_y": np.array([1, 2], np.float32),
            "member": [True, False],
            "visits": pandas.array([1, None], dtype="Int64"),
            "known": pandas.array([True, None], dtype="boolean"),
        }
    )


def test_groups() -> None:
    families = column_groups({"x": [0, 2], "all": "0-2"}, n_columns=5, rest="others")
    assert columns_of(families) == {"x": (0, 2), "all": (0, 1, 2), "others": (3, 4)}
    assert families[2].compute([[0, 1, 2, 3, 4]], [0, 1]).tolist() == [[3, 4]]


@pytest.mark.parametrize(
    "table", [np.zeros((2, 4)), [[0] * 4, [0] * 4], sparse.csr_array((2, 4))], ids=type
)
def test_a_table_tells_its_width(table: Any) -> None:
    families = column_groups({"x": slice(1, None)}, table, rest="others")
    assert columns_of(families) == {"x": (1, 2, 3), "others": (0,)}
    assert families[0].n_columns == 4


def test_a_data_frame_tells_its_names() -> None:
    families = column_groups({"pen": "pen_*", "years": "age"}, frame(), rest="others")
    assert columns_of(families) == {"pen": (0, 2), "years": (1,), "others": (3, 4, 5)}
    assert families[0].feature_name(1) == "pen_y"
    numbered = frame().set_axis(range(6), axis=1)
    assert column_groups({"a": [1]}, numbered)[0].feature_name(0) == "column 1"


def test_types_of_a_data_frame() -> None:
    families = column_groups("dtype", frame())
    assert columns_of(families) == {"float": (0, 2), "integer": (1, 4), "bool": (3, 5)}


@pytest.mark.parametrize("kind", ["category", "string", "datetime64[ns]"])
def test_columns_without_numbers_have_no_group(kind: str) -> None:
    table = frame().assign(when=["2001-01-01", "2002-01-01"]).astype({"when": kind})
    with pytest.raises(DataError, match=rf"column 'when' \({kind[:6]}.*OneHotEncoder"):
        column_groups("dtype", table)


def test_prefixes() -> None:
    names = ["pixel_0_1", "age", "pixel_1", "x1", "x2", "7", "8", "pixel", "_y"]
    assert columns_of(column_groups("prefix", column_names=names)) == {
        "pixel": (0, 2, 7),
        "age": (1,),
        "x": (3, 4),
        "columns": (5, 6, 8),
    }
    assert columns_of(column_groups("prefix", column_names=["a.b", "a_c"], separator=".")) == {
        "a": (0,),
        "a_c": (1,),
    }


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"groups": {}, "n_columns": 3}, "at least one group"),
        ({"groups": {"a": [0]}}, "needs a table, n_columns or column_names, got none"),
        ({"groups": {"a": [0]}, "n_columns": 3, "rest": "a"}, "another name"),
        ({"groups": {"a": [3]}, "n_columns": 3}, "family 'a': each column .* got 3"),
        ({"groups": "types", "n_columns": 3}, "way to group columns 'types'.*dtype, prefix"),
        ({"groups": "dtype", "table": np.eye(3)}, "need a table with a dtype .* got ndarray"),
        ({"groups": "prefix", "table": np.eye(3)}, "prefix need column_names"),
        ({"groups": "prefix", "column_names": ["a"], "separator": ""}, "at least one character"),
        ({"groups": {"a": 0}, "table": np.eye(3), "n_columns": 4}, "table, 3, got 4"),
    ],
)
def test_bad_groups(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        column_groups(**settings)
