"""Parquet files: what they hold, what is refused, and the way out without pyarrow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.data.datasets import load_dataset

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
parquet_files = pytest.importorskip("pyarrow.parquet")

COLUMNS = {
    "ID": ["r0", "r1", "r2"],
    "width": [1.5, None, np.nan],
    "count": [1, 2, 3],
    "wet": [True, False, True],
    "kind": ["b", "a", "b"],
}


def parquet(tmp_path: Path, changes: dict[str, Any], text: str = ":drop=ID", **more: Any) -> Any:
    frame = pandas.DataFrame({**COLUMNS, **changes}, **more)
    frame.to_parquet(tmp_path / "mine.parquet")
    return load_dataset(f"{tmp_path / 'mine.parquet'}{text}")


@pytest.mark.parametrize(
    "kinds", [COLUMNS["kind"], pandas.Categorical(COLUMNS["kind"])], ids=["text", "category"]
)
def test_a_data_frame(tmp_path: Path, kinds: Any) -> None:
    for index in (None, [5, 4, 3], ["x", "y", "z"]):
        data = parquet(tmp_path, {"kind": kinds}, index=index)
        assert data.name == "mine"
        assert data.columns == ("width", "count", "wet")
        assert data.classes == ("a", "b")
        assert data.y.tolist() == [1, 0, 1]
        X = np.array([[1.5, 1, 1], [np.nan, 2, 0], [np.nan, 3, 1]], dtype=np.float32)
        np.testing.assert_array_equal(data.X, X)
        assert data.X.dtype == np.float32


@pytest.mark.parametrize(
    ("changes", "text", "says"),
    [
        ({}, "", "column 'ID' must hold numbers, got large_string; leave that column out by drop="),
        (
            {"kind": ["a", None, "b"]},
            ":drop=ID",
            "must have a label in every row, but contains None",
        ),
        ({"width": [0.5, 1e39, 1]}, ":drop=ID", "'width' must lie within +-3.4e38 (float32), got"),
        ({"kind": [0.5, 1, 2]}, ":drop=ID", "the label column must hold whole numbers or text"),
    ],
)
def test_bad_tables_are_one_clear_line(
    tmp_path: Path, changes: dict[str, Any], text: str, says: str
) -> None:
    with pytest.raises(DataError) as raised:
        parquet(tmp_path, changes, text)
    assert says.replace("large_string", "") in str(raised.value).replace("large_string", "")
    assert "\n" not in str(raised.value)


def test_a_damaged_file_and_one_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    path.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(DataError, match=r"mine\.parquet cannot be read, it is damaged"):
        load_dataset(path)
    whole = pyarrow.table({"width": [1.0, 2.0], "kind": ["wide", "thin"]})
    for about in (b'{"index_columns', b'"\xff"', b"[1]", b'{"index_columns": 7}'):
        parquet_files.write_table(whole.replace_schema_metadata({b"pandas": about}), path)
        with pytest.raises(DataError, match=r"mine\.parquet cannot be read, it is damaged"):
            load_dataset(path)
    pandas.DataFrame({"u": [1.0], "y": [1]})[:0].to_parquet(path)
    with pytest.raises(DataError, match="must have at least one row of data, got none"):
        load_dataset(path)


def test_without_pyarrow_the_message_has_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SettingError, match=r"needs pyarrow, .*; pip install pyarrow, or save the"):
        load_dataset(tmp_path / "mine.parquet")
