from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample import DataError
from boostsample.column_table import ColumnTable


class ArrayTable(ColumnTable):
    """A table of an array."""

    def __init__(self, array: NDArray[np.float32], names: list[str] | None) -> None:
        super().__init__(array.shape[0], array.shape[1], names)
        self.array = array

    def read(self, columns: NDArray[np.int64]) -> Any:
        assert (np.diff(columns) > 0).all()
        return np.ascontiguousarray(self.array[:, columns].T)


ARRAY = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_columns_are_found_by_their_names() -> None:
    table = ArrayTable(ARRAY, list("abcd"))[1:].aligned(["d", "b", "a"])
    assert table.shape == (2, 3)
    np.testing.assert_array_equal(table.columns_at(np.array([2, 0])), ARRAY[1:, [0, 3]].T)
    again = table.aligned(["b", "d"])
    np.testing.assert_array_equal(again.columns_at(np.arange(2)), ARRAY[1:, [1, 3]].T)
    with pytest.raises(DataError, match="the 2 columns"):
        again.aligned(["a", "b"])


def test_a_missing_column_is_an_error_when_it_is_needed() -> None:
    table = ArrayTable(ARRAY, list("abcd"))
    with pytest.raises(DataError, match=r"2 are missing: 'x', 'y'; add them"):
        table.aligned(["x", "a", "y"])
    aligned = table.aligned(["x", "a", "y"], needed=np.array([1]))
    np.testing.assert_array_equal(aligned.columns_at(np.array([1])), ARRAY[:, :1].T)
    with pytest.raises(DataError, match="must have the column 'y' to read it"):
        aligned.columns_at(np.array([1, 2]))
    with pytest.raises(DataError, match="must have names"):
        ArrayTable(ARRAY, None).aligned(["a"])
