"""The option `validation` of data sets: rows to score are training rows, never test rows."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from boostsample.errors import SettingError
from boostsample.experiments.cells.tasks import task_groups
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.grid import combined_grid, grid_entries, read_grid_file
from boostsample.experiments.plan.plan import DataSource
from boostsample.experiments.plan.prepared import prepare_all


def csv_file(folder: Path) -> Path:
    rows = (f"{k},{k % 7},{'ab'[k % 2]}" for k in range(80))
    (folder / "x.csv").write_text("\n".join(["p,q,label", *rows]) + "\n")
    return folder / "x.csv"


def made(counts: list[int], share: float, n_train: int | None = None) -> Dataset:
    y = np.random.default_rng(5).permutation(np.repeat(np.arange(len(counts)), counts))
    X = np.arange(2 * len(y), dtype=np.float32).reshape(-1, 2)
    return Dataset("toy", X, y, tuple("abcdefg"[: len(counts)]), None, n_train, None, None, share)


@pytest.mark.parametrize("name", ["digits", "chess(d=4,n=80)", "file"])
def test_the_rows_to_score_are_training_rows_of_the_same_repetition(
    name: str, tmp_path: Path
) -> None:
    text = f"{csv_file(tmp_path)}:label=label" if name == "file" else name
    plain, held = load_dataset(text), load_dataset(f"{text}:validation=0.2")
    for repetition in range(3):
        train, test = plain.split(repetition, 4)
        fitted, scored = held.split(repetition, 4)
        assert np.array_equal(np.sort(np.concatenate([fitted, scored])), train)
        assert not np.isin(scored, test).any()
        assert fitted.dtype == scored.dtype == np.int64
        counts, chosen = np.bincount(plain.y[train]), np.bincount(plain.y[scored])
        assert (np.abs(chosen - 0.2 * counts) < 1).all()
    assert held.name == f"{plain.name}:validation=0.2"


def test_a_fixed_split_keeps_its_test_rows_out_of_every_repetition() -> None:
    data = made([30, 50, 41], 0.3, n_train=100)
    parts = [data.split(repetition, 0) for repetition in range(3)]
    assert all(max(train.max(), scored.max()) < 100 for train, scored in parts)
    assert len({scored.tobytes() for _, scored in parts}) == 3
    assert data.draws_splits


@pytest.mark.parametrize("share", [0.01, 0.5])
def test_each_class_keeps_rows_to_train_on(share: float) -> None:
    data = made([1, 2, 3, 40, 401], share, n_train=447 - 10)
    for repetition in range(30):
        train, scored = data.split(repetition, 1)
        counts = np.bincount(data.y[:437], minlength=5)
        held = np.bincount(data.y[scored], minlength=5)
        assert (held <= np.ceil(share * counts)).all()
        assert (held >= np.floor(share * counts) * (counts > 1)).all()
        assert (np.bincount(data.y[train], minlength=5) > 0)[counts > 0].all()
        drawable = int(counts[counts > 1].sum())
        assert len(scored) in (math.floor(share * drawable), math.ceil(share * drawable))


def test_several_labels_a_row_are_held_out_by_their_sets() -> None:
    y = np.array([[1, 0], [0, 1], [1, 1], [0, 0]] * 10, np.int8)
    X = np.arange(80, dtype=np.float32).reshape(-1, 2)
    train, scored = Dataset("toy", X, y, ("a", "b"), None, 32, None, None, 0.25).split(0, 0)
    assert np.unique(y[scored], axis=0, return_counts=True)[1].tolist() == [2, 2, 2, 2]
    assert train.size == 24


@pytest.mark.parametrize("value", ["0", "0.6", "much"])
def test_a_share_out_of_range_is_one_clear_line(value: object) -> None:
    with pytest.raises(SettingError, match=r"above 0 and at most 0\.5, got"):
        load_dataset("digits", validation=value)
    with pytest.raises(SettingError, match=r"above 0 and at most 0\.5, got"):
        DataSource.parse(f"digits:validation={value}")


def test_grid_files_take_the_option_as_text_and_in_tables(tmp_path: Path) -> None:
    path = csv_file(tmp_path)
    entries = [
        '"chess(d=3,n=60)"',
        '"chess(d=3,n=60):validation=0.2"',
        '{ name = "digits", validation = 0.25 }',
        f'{{ path = "{path.as_posix()}", label = "label", validation = 0.5 }}',
    ]
    text = f'data = [{", ".join(entries)}]\nstrategies = ["uniform-naive"]\nrounds = [2]\n'
    (tmp_path / "grid.toml").write_text(text)
    grid = combined_grid(read_grid_file(tmp_path / "grid.toml"), {})
    prepared = prepare_all(grid)
    names = [part.data.name for part in prepared]
    assert names[1:] == [f"{names[0]}:validation=0.2", "digits:validation=0.25", "x:validation=0.5"]
    (tmp_path / "again.json").write_text(json.dumps({"entries": grid_entries(grid, prepared)}))
    again = prepare_all(combined_grid(read_grid_file(tmp_path / "again.json"), {}))
    assert [part.data.name for part in again] == names
    keys = [[task.key for group in task_groups(p) for task in group] for p in prepared]
    assert keys == [[task.key for group in task_groups(p) for task in group] for p in again]
    assert len({key for part in keys for key in part}) == sum(map(len, keys))
