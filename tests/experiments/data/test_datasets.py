"""Data sets: checks, splits, queries, rows held out for validation, the synthetic tasks."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError
from boostsample.experiments.cells.tasks import task_groups
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.metrics import ndcg, pairwise_loss
from boostsample.experiments.plan.grid import combined_grid, grid_entries, read_grid_file
from boostsample.experiments.plan.plan import DataSource
from boostsample.experiments.plan.prepared import prepare_all
from boostsample.experiments.run.comparison import compare
from boostsample.labels import encode
from boostsample.loop.booster import Booster
from boostsample.models.model import Model
from tests.experiments.small_runs import prepared, refused
from tests.problems import bank_of

NAN, INF = np.nan, np.inf


def table(n: int = 8, d: int = 2) -> NDArray[np.float32]:
    return np.arange(n * d, dtype=np.float32).reshape(n, d)


def made(**changes: Any) -> Dataset:
    settings = {"name": "toy", "X": table(), "y": np.arange(8) % 2, "classes": ("no", "yes")}
    return Dataset(**{**settings, **changes})


def with_value(X: NDArray[np.float32], place: tuple[int, ...], value: float) -> NDArray[np.float32]:
    X = X.copy()
    X[place] = value
    return X


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"X": table().astype(np.float64)}, "got float64 of shape (8, 2)"),
        ({"X": table(0)}, "X must have rows and features, got shape (0, 2)"),
        (
            {"X": with_value(table(), (5, 1), -INF), "columns": ("a", "b")},
            "got -inf in row 5, column 'b'",
        ),
        (
            {"X": with_value(table(8, 4).reshape(8, 2, 2), (7, 1, 0), NAN)},
            "must be finite, got nan in row 7, pixel (1, 0)",
        ),
        ({"X": np.zeros((8, 2), dtype=np.float32)}, "all 8 are the same"),
        ({"columns": ("a", "a")}, "got 2 (1 different)"),
        ({"X": table(8, 4).reshape(8, 2, 2), "columns": ("a", "b")}, "columns of a table"),
        ({"y": np.arange(7) % 2}, "y must be int64 of shape (8,)"),
        ({"y": np.array([0, 1, 0, NAN, 1, 0, 1, 1])}, "got NaN in row 3"),
        ({"y": np.arange(8) % 3}, "y must hold codes from 0 to 1, got 2"),
        ({"y": np.ones(8, dtype=np.int64)}, "got one class, 'yes'"),
        ({"y": np.ones((8, 2), dtype=np.int8)}, "got one set of labels"),
        (
            {"classes": ("no",), "y": np.zeros(8, dtype=np.int64)},
            "two different classes, got 'no';",
        ),
        ({"n_train": 8}, "n_train must be between 1 and 7, got 8"),
    ],
)
def test_bad_data_is_one_clear_line(changes: dict[str, Any], says: str) -> None:
    assert refused(DataError, says, made, **changes).startswith("toy: ")


def test_the_standard_cut_is_the_same_for_every_repetition() -> None:
    data = made(n_train=5)
    for repetition, seed in ((0, 0), (3, 9)):
        train, test = data.split(repetition, seed)
        assert train.tolist() == [0, 1, 2, 3, 4]
        assert test.tolist() == [5, 6, 7]
        assert train.dtype == test.dtype == np.int64


def test_a_drawn_split_is_a_stratified_quarter() -> None:
    counts = np.array([1, 2, 3, 40, 401])
    y = np.random.default_rng(5).permutation(np.repeat(np.arange(5), counts))
    data = made(X=table(len(y)), y=y, classes=tuple("abcde"))
    for repetition in range(50):
        train, test = data.split(repetition, seed=3)
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(len(y)))
        assert (np.diff(train) > 0).all()
        assert (np.diff(test) > 0).all()
        tested = np.bincount(y[test], minlength=5)
        assert tested[0] == 0
        assert (np.abs(tested - counts / 4) < 1).all()
        assert (np.bincount(y[train], minlength=5) > 0).all()


def test_every_row_is_tested_equally_often() -> None:
    data = made(X=table(40), y=np.repeat([0, 1, 2], [3, 2, 35]), classes=("a", "b", "c"))
    tested = np.zeros(40)
    for repetition in range(1000):
        tested[data.split(repetition, seed=0)[1]] += 1
    # Binomial with 1000 draws of probability 1/4: five standard deviations are 68.
    assert np.abs(tested - 250).max() < 68


def test_the_split_depends_on_name_seed_and_repetition_alone() -> None:
    X, y = table(200), np.arange(200) % 2
    keys = [("toy", 0, 0), ("toy", 0, 1), ("toy", 1, 0), ("other", 0, 0)]
    tests = [
        made(name=name, X=X, y=y).split(repetition, seed)[1].tolist()
        for name, seed, repetition in keys
    ]
    assert len({tuple(rows) for rows in tests}) == 4
    assert made(X=X + 1, y=y).split(0, 0)[1].tolist() == tests[0]
    zero: Any = np.int64(0)
    assert made(X=X, y=y).split(zero, zero)[1].tolist() == tests[0]
    # Recorded once: the draw must not change between versions and machines.
    assert tests[0][:5] == [0, 3, 19, 20, 26]


def test_multilabel_rows_are_split_by_their_set_of_labels() -> None:
    y = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1], [0, 0, 0]] * 20, dtype=np.int8)
    data = made(X=table(80), y=y, classes=("a", "b", "c"))
    _, test = data.split(0, 0)
    kinds = [int((y[test] == kind).all(axis=1).sum()) for kind in ([1, 0, 1], [0, 1, 0], [0, 0, 0])]
    assert kinds == [10, 5, 5]


@pytest.mark.parametrize(("repetition", "seed"), [(-1, 0), (0, -1), (0.5, 0), (0, True)])
def test_repetition_and_seed_are_whole_numbers(repetition: Any, seed: Any) -> None:
    with pytest.raises(SettingError, match=r"must be .* at least 0, got"):
        made().split(repetition, seed)


def test_diagonal_follows_its_definition() -> None:
    data = load_dataset("diagonal(d=6, J=2, q=0.2, n=20000)", seed=4)
    assert data.name == "diagonal(d=6,J=2,q=0.2,n=20000)"
    assert data.X.shape == (20000, 6)
    assert data.columns == ("x1", "x2", "x3", "x4", "x5", "x6")
    assert data.classes == ("-1", "1")
    assert (data.X.min() >= 0, data.X.max() < 1) == (True, True)
    above = data.X[:, 0].astype(float) + data.X[:, 1] > 1
    turned = (data.y == 1) != above
    for side in (above, ~above):  # five standard deviations of a share of 0.2 of 10000 are 0.02
        assert abs(turned[side].mean() - 0.2) < 0.02
    clean = load_dataset("diagonal", d=6, J=2, q=0, n=500, seed=4)
    assert ((clean.y == 1) == (clean.X[:, :2].sum(axis=1, dtype=float) > 1)).all()


def test_chess_follows_its_definition() -> None:
    data = load_dataset("chess(d=5,J=3)", seed=4, L=4, n=300)
    assert data.name == "chess(d=5,J=3,L=4,n=300)"
    for x, y in zip(data.X.tolist(), data.y, strict=True):
        squares = [sum(value >= edge / 4 for edge in (1, 2, 3)) for value in x[:3]]
        assert y == (sum(squares) % 2 == 0)


def test_wide_follows_its_definition() -> None:
    data = load_dataset("wide(d=50, J=5, shift=2, n=4000)", seed=4)
    assert data.X.shape == (4000, 50)
    apart = data.X[data.y == 1].mean(axis=0) - data.X[data.y == 0].mean(axis=0)
    assert apart == pytest.approx([2.0] * 5 + [0.0] * 45, abs=0.16)  # five standard deviations
    assert data.X.std(axis=0)[5:] == pytest.approx(np.ones(45), abs=0.06)
    assert abs(data.y.mean() - 0.5) < 0.04
    assert load_dataset("wide(d=60)").X.shape == (2000, 60)


def test_synthetic_sets_have_the_papers_defaults_and_depend_on_the_seed() -> None:
    assert load_dataset("diagonal").name == "diagonal(d=10,J=4,q=0.1,n=1000)"
    assert load_dataset("chess").name == "chess(d=10,J=3,L=3,n=1000)"
    one, same, other = (load_dataset("chess", seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.X, same.X)
    assert np.array_equal(one.y, same.y)
    assert not np.array_equal(one.X, other.X)
    assert not np.array_equal(one.X, load_dataset("diagonal", seed=1).X)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("diagonal(d=3)", {}, "J, the number of useful features, must be at most d = 3, got 4"),
        (
            "diagonal(q=0.6)",
            {},
            "q, the share of flipped labels, must be between 0 and 0.5, got 0.6",
        ),
        ("diagonal(n=3)", {}, "n must be an integer at least 4, got 3"),
        ("wide(shift=-1)", {}, "shift, the difference of means, must be at least 0, got -1"),
        ("chess(d=2.5)", {}, "chess: d must be a whole number, got '2.5'"),
        ("chess(d=4)", {"d": 5}, "chess: d must be given once, got it twice"),
        ("chess(q=0.1)", {}, "unknown setting 'q' of data set chess; known: d, J, L, n"),
        ("digit", {}, "unknown data set 'digit' (did you mean 'digits'?); known: digits, mnist"),
        ("iris", {}, "or a file (.csv, .tsv, .parquet, .npz, .svmlight, .bed, .h5ad, .jsonl), as"),
    ],
)
def test_names_and_settings_are_checked(name: str, options: dict[str, Any], says: str) -> None:
    refused(SettingError, says, load_dataset, name, **options)


def ranked(n: int = 120, n_groups: int = 12, **more: Any) -> Dataset:
    """Two classes; groups in any order, of different sizes."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (n, 4)).astype(np.float32), rng.integers(0, 2, n)
    X[:, 0] += 3 * y
    groups = 5 * np.sort(rng.integers(0, n_groups, n)) - 7
    groups[-1] = groups[0]
    return Dataset("ranked", X, y, ("a", "b"), **{"groups": groups, **more})


def test_groups_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.svm"
    path.write_text("1 qid:7 1:1\n-1 qid:7 2:1\n-1 qid:2 1:2\n")
    data = load_dataset(path)
    assert data.groups is not None
    assert data.groups.tolist() == [7, 7, 2]
    path.write_text("1,2 qid:7 1:1\n2 qid:1 2:1\n")
    labelled = load_dataset(path, multilabel=True)
    assert labelled.groups is not None
    assert labelled.groups.tolist() == [7, 1]
    path.write_text("1 1:1\n-1 2:1\n")
    assert load_dataset(path).groups is None


@pytest.mark.parametrize("validation", [None, 0.3])
def test_splits_do_not_divide_a_group(validation: float | None) -> None:
    data = ranked(validation=validation)
    assert data.groups is not None
    splits = [data.split(repetition, 3) for repetition in range(6)]
    for train, test in splits:
        both = train, test
        parts = [np.unique(data.groups[rows]).tolist() for rows in both]
        assert not set(parts[0]) & set(parts[1])
        assert all((np.diff(rows) > 0).all() for rows in both)
        n_groups = len(parts[0]) + len(parts[1])
        assert (n_groups, len(parts[1])) in ([(12, 3)] if validation is None else [(9, 2), (9, 3)])
        if validation is None:
            assert len(train) + len(test) == data.n_examples
    assert len({tuple(test.tolist()) for _, test in splits}) > 3
    again = data.split(2, 3)
    assert [rows.tolist() for rows in again] == [rows.tolist() for rows in splits[2]]


def test_groups_are_drawn_whatever_the_labels() -> None:
    data = ranked()
    other = replace(data, y=1 - data.y)
    assert data.split(0, 0)[1].tolist() == other.split(0, 0)[1].tolist()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"groups": np.zeros(120, np.int64)}, "at least two groups, since a split divides none"),
        ({"groups": np.zeros(119, np.int64)}, r"groups must be int64 of shape \(120,\), got int64"),
        ({"groups": np.arange(120.0)}, "groups must be int64 .*, got float64"),
        ({"n_train": 50}, "n_train must not divide a group, got rows of group -7 on both sides"),
    ],
)
def test_wrong_groups_are_refused(more: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says):
        ranked(**more)


def test_validation_needs_groups_on_both_sides() -> None:
    data = ranked(groups=np.arange(120) // 60, validation=0.5)
    with pytest.raises(DataError, match="some of the 1 training groups and leave others"):
        data.split(0, 0)


def test_groups_are_part_of_the_key() -> None:
    data = ranked()
    assert data.groups is not None
    sets = data, replace(data, groups=data.groups + 1), replace(data, groups=None), ranked()
    digests = [prepared(each, "full", marks=(2,)).data.digest for each in sets]
    assert len(set(digests)) == 3
    assert digests[3] == digests[0]


def test_metrics_are_those_of_the_test_groups() -> None:
    data, marks = ranked(), (1, 5)
    assert data.groups is not None
    setup = prepared(data, "full", marks=marks, repeats=1)
    rows = {row["stumps"]: row for row in compare(data, setup.plan).curves}
    train, test = data.split(0, 0)
    bank = bank_of(data.X, train)
    booster = Booster(bank, train, encode(data.y[train], 2), "full", n_rounds=5, rng=0)
    terms = [term for _ in range(5) for term in booster.next_round().terms]
    model = Model(setup.families, terms, 1)
    for mark in marks:
        scores = model.decision_function(data.X[test], mark).reshape(-1, 1)
        of_test = data.y[test], data.groups[test]
        assert rows[mark]["pairwise_loss"] == pytest.approx(pairwise_loss(scores, *of_test))
        assert rows[mark]["ndcg"] == pytest.approx(ndcg(scores, *of_test))
        assert rows[mark]["pairwise_loss"] != pairwise_loss(scores, data.y[test])
        assert np.isnan(rows[mark]["coverage"])


def csv_file(folder: Path) -> Path:
    rows = (f"{k},{k % 7},{'ab'[k % 2]}" for k in range(80))
    (folder / "x.csv").write_text("\n".join(["p,q,label", *rows]) + "\n")
    return folder / "x.csv"


def held_out(counts: list[int], share: float, n_train: int | None = None) -> Dataset:
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
    data = held_out([30, 50, 41], 0.3, n_train=100)
    parts = [data.split(repetition, 0) for repetition in range(3)]
    assert all(max(train.max(), scored.max()) < 100 for train, scored in parts)
    assert len({scored.tobytes() for _, scored in parts}) == 3
    assert data.draws_splits


@pytest.mark.parametrize("share", [0.01, 0.5])
def test_each_class_keeps_rows_to_train_on(share: float) -> None:
    data = held_out([1, 2, 3, 40, 401], share, n_train=447 - 10)
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
