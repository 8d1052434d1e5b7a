"""The page on file formats, docs/data.md, says what the code does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from boostsample.experiments.data import datasets
from boostsample.experiments.data.datasets import dataset_names, load_dataset
from boostsample.experiments.data.table_reader import FILE_OPTIONS, MISSING_MARKS
from boostsample.experiments.plan.grid import combined_grid, read_grid_file
from boostsample.experiments.plan.prepared import prepare_all
from tests.paths import ROOT

PAGE = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)
    return str(found)


def table(section: str) -> list[list[list[str]]]:
    """The code words in the cells of each row of the table of a section."""
    lines = PAGE.split(f"## {section}\n")[1].split("\n## ")[0].splitlines()
    rows = [line.strip("|").split("|") for line in lines if line.startswith("| `")]
    return [[re.findall(r"`([^`]+)`", cell) for cell in row] for row in rows]


def test_the_tables_are_those_of_the_code() -> None:
    listed = {kind: (suffixes, options) for [kind], suffixes, options in table("Formats")}
    assert list(listed) == list(datasets._READERS)
    known = {suffix: kind for kind, (suffixes, _) in listed.items() for suffix in suffixes}
    assert known == datasets._SUFFIXES
    assert {kind: tuple(options) for kind, (_, options) in listed.items()} == datasets.OPTIONS
    assert [name for [name], _ in table("Options")] == list(FILE_OPTIONS)
    assert tuple(name for [name], *_ in table("Named data sets")) == dataset_names()
    marks = PAGE.split("in upper or lower case:")[1].split(". Stumps")[0]
    assert {mark.lower() for mark in re.findall(r"`([^`]+)`", marks)} | {""} == MISSING_MARKS


def test_the_arrays_are_those_of_the_code(tmp_path: Path) -> None:
    (X, y, columns, fixed) = [names for names, _ in table("NumPy archives")]
    data: dict[str, Any] = {
        "X": np.eye(4),
        "y": np.array([0, 1, 0, 1]),
        "columns": np.array(list("abcd")),
    }
    np.savez(tmp_path / "x.npz", **{name: data[name] for [name] in (X, y, columns)})
    assert load_dataset(tmp_path / "x.npz").columns == tuple("abcd")
    np.savez(tmp_path / "x.npz", **{name: data[name[0]] for name in fixed})
    assert load_dataset(tmp_path / "x.npz").n_train == 4


def test_the_function_makes_data() -> None:
    (code,) = re.findall(r"```python\n(# my_sets.py\n.*?)```", PAGE, flags=re.DOTALL)
    Path("my_sets.py").write_text(code, "utf-8")
    (name,) = re.findall(r"--data '(my_sets\S+)'", PAGE)
    data = load_dataset(name)
    assert (data.X.shape, data.classes, data.validation) == ((200, 2), ("False", "True"), 0.2)


def test_the_examples_run() -> None:
    Path("x.csv").write_text(block("text"), "utf-8")
    pandas.read_csv("x.csv").to_parquet("y.parquet")
    Path("grid.toml").write_text(f'{block("toml")}strategies = ["uniform-naive"]\n', "utf-8")
    assert set(tomllib.loads(block("toml"))) == {"data"}
    grid = [one.data for one in prepare_all(combined_grid(read_grid_file("grid.toml"), {}))]
    text, *_ = re.findall(r"compare --data (\S+)", PAGE)
    for data in (*grid, load_dataset(text)):
        assert data.columns == ("width", "height")
        assert data.classes == ("cat", "dog")
        X = np.array([[0.5, 2], [np.nan, 3], [1.5, np.nan], [0.1, 7]], dtype=np.float32)
        np.testing.assert_array_equal(data.X, X)
