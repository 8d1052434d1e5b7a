"""Columns of a table: selection, missing values, overflow, groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostsample.errors import DataError, SettingError
from boostsample.families import Columns, column_groups


def test_values_are_the_columns() -> None:
    table = np.random.default_rng(0).normal(size=(10_000, 7))  # more rows than one block
    family = Columns([6, 0, 3])
    values = family.compute(table, [2, 0, 0])
    np.testing.assert_array_equal(values, table[:, [3, 6, 6]].astype(np.float32))
    assert values.T.flags.c_contiguous


def test_missing_values_pass_through() -> None:
    values = Columns(range(2)).compute([[np.nan, 1], [2, np.nan]], [1, 0])
    np.testing.assert_array_equal(values, np.array([[1, np.nan], [np.nan, 2]], np.float32))


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300, -4e38])
def test_infinite_and_overflowing_values_are_refused(value: float) -> None:
    table = np.ones((5000, 3))
    table[4321, 2] = value
    family = Columns([0, 2], column_names=["age", "sex", "height"])
    with pytest.raises(DataError, match=r"height holds .* in row 4321"):
        family.compute(table, [0, 1])
    assert family.compute(table, [0]).shape == (5000, 1)  # other columns are not looked at


def test_column_without_a_name_is_named_by_number() -> None:
    with pytest.raises(DataError, match="column 2 holds inf in row 0"):
        Columns([2]).compute([[0, 0, np.inf]], [0])


@pytest.mark.parametrize(
    ("columns", "want"),
    [
        (2, (2,)),
        (range(2, 5), (2, 3, 4)),
        ([4, range(2), np.int64(3)], (4, 0, 1, 3)),
        (np.array([1, 0]), (1, 0)),
        (["c", "a", 1], (2, 0, 1)),
        ("b", (1,)),
    ],
)
def test_selections(columns: Any, want: tuple[int, ...]) -> None:
    assert Columns(columns, column_names=list("abcde")).columns == want


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"columns": []}, "at least one column"),
        ({"columns": [1, 1]}, "got 1 twice"),
        ({"columns": [0, range(2)]}, "got 0 twice"),
        ({"columns": [-1]}, "each column must be an integer at least 0, got -1"),
        ({"columns": [3], "n_columns": 3}, "between 0 and 2, got 3"),
        ({"columns": [True]}, "got True"),
        ({"columns": [1.0]}, "got 1.0"),
        ({"columns": ["age"]}, "needs column_names"),
        ({"columns": ["ag"], "column_names": ["age", "sex"]}, "unknown column 'ag'.*age, sex"),
        ({"columns": [0], "column_names": ["a", "a"]}, "got 'a' twice"),
        ({"columns": [0], "column_names": []}, "one text a column"),
        ({"columns": [0], "column_names": [1]}, "one text a column"),
        ({"columns": [0], "column_names": ["a"], "n_columns": 2}, "name all 2 columns, got 1"),
        ({"columns": [0], "n_columns": 0}, "n_columns must be an integer at least 1"),
        ({"columns": [0], "name": " "}, "not blank"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Columns(**settings)


@pytest.mark.parametrize(
    ("family", "shape"),
    [
        (Columns([0, 3]), (5, 3)),
        (Columns([0, 3], n_columns=5), (5, 4)),
        (Columns([0, 3], n_columns=5), (5, 6)),
        (Columns([0]), (5, 3, 1)),
        (Columns([0], n_columns=1), (5,)),
    ],
)
def test_other_tables_are_refused(family: Columns, shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match=r"family 'columns' takes .* got shape"):
        family.compute(np.zeros(shape), [0])


def test_a_table_may_be_wider_where_its_width_is_not_given() -> None:
    assert Columns([0, 3]).compute(np.eye(4, 9), [1]).ravel().tolist() == [0, 0, 0, 1]


def test_groups() -> None:
    families = column_groups({"x": [0, 2], "all": range(3)}, n_columns=5, rest="others")
    assert [(f.name, f.columns) for f in families] == [
        ("x", (0, 2)),
        ("all", (0, 1, 2)),
        ("others", (3, 4)),
    ]
    assert families[2].compute([[0, 1, 2, 3, 4]], [0, 1]).tolist() == [[3, 4]]


def test_columns_in_no_group_are_left_out() -> None:
    assert column_groups({"x": range(2)}, n_columns=5) == [Columns([0, 1], "x", 5)]


def test_groups_by_name_without_a_rest() -> None:
    families = column_groups({"x": ["b"], "y": "a"}, column_names=["a", "b"], rest="others")
    assert [(f.name, f.columns, f.feature_name(0)) for f in families] == [
        ("x", (1,), "b"),
        ("y", (0,), "a"),
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"groups": {}, "n_columns": 3}, "at least one group"),
        ({"groups": {"a": [0]}}, "needs n_columns or column_names"),
        ({"groups": {"a": [0]}, "n_columns": 3, "rest": "a"}, "another name"),
        ({"groups": {"a": [3]}, "n_columns": 3}, "family 'a': each column .* got 3"),
    ],
)
def test_bad_groups(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        column_groups(**settings)
