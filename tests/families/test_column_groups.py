"""Groups of columns: by name, by prefix, by the types of a data frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from boostsample.errors import DataError, SettingError
from boostsample.families import Columns, column_groups


def columns_of(families: list[Columns]) -> dict[str, tuple[int, ...]]:
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
