"""Queries of rows: read from svmlight files, never divided by a split, used by the metrics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.errors import DataError
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.metrics import ndcg, pairwise_loss
from boostsample.experiments.run.comparison import compare
from boostsample.labels import encode
from boostsample.loop.booster import Booster
from boostsample.models.model import Model
from tests.experiments.small_runs import prepared
from tests.problems import bank_of


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
