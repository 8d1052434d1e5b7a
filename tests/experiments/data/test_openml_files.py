"""Tasks of OpenML from files: ARFF files written by liac-arff, XML as the server writes it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import arff
import numpy as np
import pytest

from boostsample.errors import BoostSampleError, DataError
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from tests.experiments.conftest import CommandLine

OML = 'xmlns:oml="http://openml.org/openml"'
TASK = f"""<oml:task {OML}>
  <oml:task_id>5</oml:task_id>
  <oml:input name="source_data"><oml:data_set>
    <oml:data_set_id>7</oml:data_set_id>
    <oml:target_feature>class</oml:target_feature>
  </oml:data_set></oml:input>
  <oml:input name="estimation_procedure"><oml:estimation_procedure>
    <oml:type>crossvalidation</oml:type>
  </oml:estimation_procedure></oml:input>
</oml:task>
"""
DESCRIPTION = f"""<oml:data_set_description {OML}>
  <oml:id>7</oml:id><oml:name>toy</oml:name>
  <oml:default_target_attribute>other</oml:default_target_attribute>
  <oml:row_id_attribute>id</oml:row_id_attribute>
  <oml:ignore_attribute>late</oml:ignore_attribute>
  <oml:ignore_attribute>later</oml:ignore_attribute>
</oml:data_set_description>
"""
ATTRIBUTES = [
    ("id", "INTEGER"),
    ("size", "REAL"),
    ("a colour", ["red", "dark blue", "green"]),
    ("words", "STRING"),
    ("class", ["p", "n"]),
    ("late", "NUMERIC"),
    ("later", "NUMERIC"),
]
N = 12
COLOURS = [None if i == 4 else ATTRIBUTES[2][1][i % 3] for i in range(N)]
ROWS = [[i, None if i == 3 else i / 2, COLOURS[i], "it's, a", "pn"[i % 2], 1, 2] for i in range(N)]


def folds(n_repeats: int = 2) -> list[list[Any]]:
    """Three folds; the last repeat comes first in the file."""
    return [
        ["TEST" if (row + repeat) // 2 % 3 == fold else "TRAIN", row, repeat, fold]
        for repeat in reversed(range(n_repeats))
        for fold in range(3)
        for row in range(N)
    ]


def write(
    folder: Path,
    rows: Sequence[Any] = ROWS,
    splits: Sequence[Any] | None = None,
    attributes: Sequence[Any] = ATTRIBUTES,
) -> None:
    for name in ("datasets/7", "tasks/5"):
        (folder / name).mkdir(parents=True)
    (folder / "datasets/7/description.xml").write_text(DESCRIPTION, "utf-8")
    (folder / "tasks/5/task.xml").write_text(TASK, "utf-8")
    data = {"relation": "toy", "attributes": list(attributes), "data": rows, "description": ""}
    (folder / "datasets/7/dataset.arff").write_text(arff.dumps(data), "utf-8")
    columns = [("type", ["TRAIN", "TEST"]), *((n, "INTEGER") for n in ("rowid", "repeat", "fold"))]
    split = {
        "relation": "splits",
        "attributes": columns,
        "data": folds() if splits is None else splits,
        "description": "",
    }
    (folder / "tasks/5/datasplits.arff").write_text(arff.dumps(split), "utf-8")


def test_a_task(tmp_path: Path) -> None:
    write(tmp_path)
    data = load_dataset(f"{tmp_path}:kind=openml:task=5")
    assert (data.name, data.classes) == ("toy-task-5", ("n", "p"))
    assert data.y.tolist() == [1, 0] * 6
    assert data.columns is not None
    assert data.columns[0] == "size"
    assert len(data.columns) == 4  # an indicator for each colour
    size = np.arange(N) / 2
    size[3] = np.nan
    np.testing.assert_array_equal(data.X[:, 0], size.astype(np.float32))
    colour = dict(zip(data.columns, data.X.T, strict=True))
    (blue,) = (name for name in data.columns if "dark blue" in name)
    assert np.flatnonzero(colour[blue] == 1).tolist() == [1, 7, 10]


def test_repetitions_are_repeats_and_folds(tmp_path: Path) -> None:
    write(tmp_path)
    data = load_dataset(f"{tmp_path}:kind=openml:task=5")
    for repetition in range(6):
        repeat, fold = divmod(repetition, 3)
        train, test = data.split(repetition, seed=9)
        wanted = [row for row in range(N) if (row + repeat) // 2 % 3 == fold]
        assert test.tolist() == wanted
        assert sorted([*train, *test]) == [*range(N)]
    with pytest.raises(DataError, match=r"there are 6 fixed splits, .*got repetition 7; ask for 6"):
        data.split(6, 0)
    held = load_dataset(f"{tmp_path}:kind=openml:task=5:validation=0.5")
    train, scored = held.split(2, 0)
    assert sorted([*train, *scored]) == data.split(2, 0)[0].tolist()
    assert len(scored) == 4


def test_sparse_numbers_stay_sparse(tmp_path: Path) -> None:
    X = np.zeros((N, 3))
    X[::2, 0], X[3, 1], X[:, 2] = 1.5, -2.0, np.arange(N) % 2  # class p is not stored
    attributes = [("u", "REAL"), ("v", "REAL"), ("class", ["p", "n"])]
    rows: Any = [
        {j: ("n" if j == 2 else value) for j, value in enumerate(row) if value}
        for row in X.tolist()
    ]
    rows[5][1] = None
    write(tmp_path, rows, attributes=attributes)
    assert "{" in (tmp_path / "datasets/7/dataset.arff").read_text("utf-8")
    data = load_dataset(f"{tmp_path}:kind=openml:task=5")
    assert data.is_sparse
    X[5, 1] = np.nan
    np.testing.assert_array_equal(data.X.toarray(), X[:, :2].astype(np.float32))
    assert [data.classes[code] for code in data.y] == ["p", "n"] * 6


@pytest.mark.parametrize("kind", ["INTEGER", "integer \t"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_values_of_integer_attributes_are_not_cut(
    tmp_path: Path, is_sparse: bool, kind: str
) -> None:
    values = [-0.5, 1.5, 1e12, 0.25] * 3
    rows: Any = [[value, "pn"[i % 2]] for i, value in enumerate(values)]
    if is_sparse:
        rows = [dict(enumerate(row)) for row in rows]
    write(tmp_path, rows, attributes=[("an Integer", "REAL"), ("class", ["p", "n"])])
    changed(tmp_path, "datasets/7/dataset.arff", "REAL", kind)
    X: Any = load_dataset(f"{tmp_path}:kind=openml:task=5").X
    dense = X.toarray() if is_sparse else X
    np.testing.assert_array_equal(dense[:, 0], np.array(values, np.float32))


def test_labels_of_an_integer_attribute_are_whole_numbers(tmp_path: Path) -> None:
    rows = [[i / 2, i % 3] for i in range(N)]
    write(tmp_path, rows, attributes=[("u", "REAL"), ("class", "INTEGER")])
    data = load_dataset(f"{tmp_path}:kind=openml:task=5")
    assert data.classes == ("0", "1", "2")


def test_infinite_values_of_integer_attributes_are_refused(tmp_path: Path) -> None:
    rows = [[float("inf") if i == 3 else i, "pn"[i % 2]] for i in range(N)]
    write(tmp_path, rows, attributes=[("u", "INTEGER"), ("class", ["p", "n"])])
    with pytest.raises(DataError, match="must be finite"):
        load_dataset(f"{tmp_path}:kind=openml:task=5")


def test_options_choose_other_columns(tmp_path: Path) -> None:
    write(tmp_path)
    data = load_dataset(tmp_path, kind="openml", task=5, label="id", drop=["a colour", -1])
    assert data.columns is not None
    assert data.columns[0] == "size"
    assert data.classes == tuple(map(str, range(N)))
    with pytest.raises(DataError, match=r"must have a label in every row.*row 4"):
        load_dataset(tmp_path, kind="openml", task=5, label="a colour")


def changed(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / file
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("tasks/5/task.xml", "feature>class", "feature>clas", "unknown attribute 'clas'"),
        ("tasks/5/task.xml", "</oml:task>", "", "task.xml must be XML"),
        ("tasks/5/task.xml", "data_set_id", "no_id", "must have data_set_id and target_feature"),
        ("tasks/5/datasplits.arff", "TRAIN,11,", "TRAIN,99,", "TEST, got TRAIN 99.0 of repeat"),
        ("tasks/5/datasplits.arff", "TRAIN,11,", "TRAIN,1.5,", "TEST, got TRAIN 1.5 of repeat"),
        ("tasks/5/datasplits.arff", "TRAIN,11,", "TRAIN,?,", "TEST, got TRAIN None of repeat"),
        ("tasks/5/datasplits.arff", "TRAIN,2,0", "TRAIN,2,0.5", "of repeat 0.5, fold"),
        ("tasks/5/datasplits.arff", "rowid", "row", "must have the attributes type, rowid"),
        ("tasks/5/datasplits.arff", "TRAIN,2,0", "TRAIN,3,0", "must have rows to train"),
        ("datasets/7/dataset.arff", "REAL", "DATE", "must be ARFF with numeric, nominal"),
        ("datasets/7/dataset.arff", "p,1,2", "q,1,2", "must be ARFF with numeric, nominal"),
    ],
)
def test_damaged_files(tmp_path: Path, file: str, old: str, new: str, says: str) -> None:
    write(tmp_path)
    changed(tmp_path, file, old, new)
    with pytest.raises(BoostSampleError) as raised:
        load_dataset(f"{tmp_path}:kind=openml:task=5")
    assert says in str(raised.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(BoostSampleError, match="needs a task, as in task=59"):
        load_dataset(f"{tmp_path}:kind=openml")
    with pytest.raises(DataError, match=r"task.xml must be an existing file; there is none"):
        load_dataset(f"{tmp_path}:kind=openml:task=6")
    (tmp_path / "datasets/7/dataset.arff").unlink()
    with pytest.raises(DataError, match=r"dataset.arff must be an existing file"):
        load_dataset(f"{tmp_path}:kind=openml:task=5")


def test_compare_takes_a_task(cli: CommandLine) -> None:
    write(Path("www"))
    command = "compare --data www:kind=openml:task=5 --rounds 2 --strategies uniform-naive --quiet"
    assert "toy-task-5" in cli(f"{command} --repeats 6 --results one")
    assert "there are 6 fixed splits" in cli.refused(f"{command} --repeats 7 --results two", code=1)
    cli("compare --grid one/plan.json --results three --quiet")


def test_compare_takes_all_tasks_of_a_folder(cli: CommandLine) -> None:
    write(Path("www"))
    shutil.copytree("www/tasks/5", "www/tasks/11")
    command = "compare --data www:kind=openml --rounds 2 --strategies uniform-naive --quiet"
    shown = cli(f"{command} --repeats 2 --results all")
    assert shown.index("toy-task-5") < shown.index("toy-task-11")
    grid = 'data = ["www:kind=openml"]\nstrategies = ["uniform-naive"]\n'
    Path("grid.toml").write_text(grid, "utf-8")
    shown = cli("compare --grid grid.toml --rounds 2 --repeats 2 --quiet --results same")
    assert shown.index("toy-task-5") < shown.index("toy-task-11")
    shutil.rmtree("www/tasks")
    assert "must have tasks of OpenML" in cli.refused(f"{command} --results none", code=1)


def test_splits_of_a_data_set_are_checked() -> None:
    X, y = np.arange(8, dtype=np.float32)[:, None], np.arange(8) % 2
    rows = np.arange(8)

    def made(*splits: Any, **more: Any) -> Dataset:
        pairs = tuple((np.array(a, np.int64), np.array(b, np.int64)) for a, b in splits)
        return Dataset("x", X, y, ("a", "b"), splits=pairs, **more)

    assert made((rows[:6], rows[6:])).draws_splits
    for splits, more, says in (
        ([(rows, [])], {}, "split 0 must have rows"),
        ([(rows[:6], rows[5:])], {}, "split 0 must have rows"),
        ([(rows[:6], [8])], {}, "split 0 must have rows from 0 to 7, got 0 to 8"),
        ([(rows[:6], rows[6:]), ([0, 2], [1])], {}, "at least two classes, got one class, 'a'"),
        ([(rows[:6], rows[6:])], {"n_train": 4}, "no n_train"),
        ([(rows[:6], rows[6:])], {"groups": rows // 4}, "split 0 must not divide a group"),
        ([], {}, "at least one pair"),
    ):
        with pytest.raises(DataError, match=says):
            made(*splits, **more)


def test_a_matrix_of_no_entries_is_refused(tmp_path: Path) -> None:
    attributes = [("u", "REAL"), ("class", ["p", "n"])]
    write(tmp_path, [{1: "pn"[i % 2]} for i in range(N)], attributes=attributes)
    with pytest.raises(DataError, match="some feature must differ"):
        load_dataset(f"{tmp_path}:kind=openml:task=5")
