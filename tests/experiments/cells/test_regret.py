"""Regret: edges of chosen stumps against the best edge of all features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.errors import SettingError
from boostsample.experiments.cells.store import Store
from boostsample.experiments.cells.tasks import rounds_of_regret, task_groups
from boostsample.experiments.cells.training import TrainingSplit, TrainingWatch, train_cell
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import Prepared
from boostsample.experiments.plan.variants import Variant
from boostsample.loop.booster import Booster
from tests.experiments import small_runs
from tests.experiments.conftest import CommandLine

TREE = "tree:n_leaves=4"


def prepared_for(**settings: Any) -> Prepared:
    names, usual = "full,uniform-naive:n_features=1", {"marks": (3, 9), "repeats": 1}
    return small_runs.prepared("chess(d=3,J=3,n=80)", names, **{**usual, **settings})


def naive_best_edge(
    bins: np.ndarray, Y: np.ndarray, weights: np.ndarray, two_sided: bool = False
) -> float:
    """The largest edge of all stumps, or pairs of leaves, by its definition; `weights` sum to 1."""
    best = 0.0
    if two_sided:
        for column in bins:
            for threshold in range(int(column.max()) + 1):
                above = column >= threshold
                sides = ((weights * Y)[side].sum(axis=0) for side in (above, ~above))
                best = max(best, float(sum(np.abs(sums).sum() for sums in sides)))
        return best
    for column in bins:
        for threshold in range(int(column.max()) + 1):
            phi = np.where(column >= threshold, 1, -1)
            best = max(best, float(np.abs((weights * Y * phi[:, None]).sum(axis=0)).sum()))
    return best


def test_the_best_edge_is_that_of_the_definition() -> None:
    split = TrainingSplit(prepared_for(), 0)
    Y = split.labels
    bins = np.array([split.bank.column(j)[split.train_rows] for j in range(split.bank.n_features)])
    booster = Booster(
        split.bank, split.train_rows, Y, "uniform-naive:n_features=1", n_rounds=9, rng=0
    )
    weights = np.full(Y.shape, 1 / Y.size)
    for _ in range(9):
        assert booster.best_edge() == pytest.approx(naive_best_edge(bins, Y, weights), abs=1e-6)
        (term,) = booster.next_round().terms
        phi = np.where(bins[term.feature] >= term.threshold, 1, -1)
        weights *= np.exp(-term.alpha * Y * phi[:, None] * np.asarray(term.votes))
        weights /= weights.sum()


def test_the_regret_of_a_tree_is_that_of_its_root() -> None:
    """The first search of a round is that of the root, with the weights before the round."""
    prepared = prepared_for(regret=1, learner=TREE)
    split = TrainingSplit(prepared, 0)
    Y = split.labels
    bins = np.array([split.bank.column(j)[split.train_rows] for j in range(split.bank.n_features)])
    ((full,), (task,)) = task_groups(prepared)
    assert max(train_cell(split, full, TrainingWatch()).regret.values()) < 1e-6
    cell = train_cell(split, task, TrainingWatch())
    booster, roots = split.booster(task, task.variant.stream("chess(d=3,J=3,L=3,n=80)", 0, 0)), []
    for number in range(1, 10):
        best = naive_best_edge(bins, Y, booster.example_weights()[:, None], two_sided=True)
        assert booster.best_edge(two_sided=True) == pytest.approx(best, abs=1e-6)
        assert cell.best_edges[number] == booster.best_edge(two_sided=True)
        roots.append(booster.next_round().rows[0]["edge"])
    parts = 1 - np.array(roots) / list(cell.best_edges.values())
    assert cell.regret[9] == pytest.approx(parts[-1])
    assert 0.01 < max(cell.regret.values()) <= 1


@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=4"])
def test_a_run_has_the_same_key_and_bits_with_regret(learner: str) -> None:
    cells = []
    for settings in ({}, {"regret": 2}):
        prepared = prepared_for(learner=learner, **settings)
        ((task,), (other,)) = task_groups(prepared)
        cells.append(
            [
                train_cell(TrainingSplit(prepared, 0), each, TrainingWatch())
                for each in (task, other)
            ]
        )
    for plain, measured in zip(*cells, strict=True):
        assert plain.key == measured.key
        assert not plain.regret
        assert not plain.has((3, 9), (3, 9), history=False, regret=0)
        assert measured.has((3, 9), (3, 9), history=False, regret=2)
        for name in plain.arrays.keys() - {"microseconds"}:
            np.testing.assert_array_equal(plain.arrays[name], measured.arrays[name])
    full, random = cells[1]
    assert set(full.best_edges) == rounds_of_regret(full.errors, 9, 2)
    assert max(full.regret.values()) < 1e-6
    assert 0.01 < max(random.regret.values()) <= 1
    before = max(point for point in random.errors if point < 9)
    shares = [
        random.arrays["edge"][random.round == at][0] / best
        for at, best in random.best_edges.items()
        if before < at <= 9
    ]
    assert random.regret[9] == pytest.approx(1 - np.mean(shares))


def test_a_cell_without_regret_is_trained_again() -> None:
    store = Store()
    small_runs.filled(prepared_for(), store)
    for marks in ((3, 9), (3, 9, 20)):
        results = small_runs.filled(prepared_for(regret=0, marks=marks), store)
        assert results.table["regret"].notna().all()


def test_where_it_is_not_defined() -> None:
    undefined: tuple[dict[str, Any], ...] = (
        {"learner": "product"},
        {"learner": "tree:min_leaf=2"},
        {"objective": "oc"},
        {"bank": Variant("lazy")},
    )
    for settings in undefined:
        with pytest.raises(SettingError, match="regret is measured with the"):
            Plan(regret=0, **settings)
    with pytest.raises(SettingError, match="regret"):
        Plan(regret=-1)


def test_the_command_says_that_it_is_not_charged(cli: CommandLine) -> None:
    out = cli(
        "compare --data chess(d=3,n=80) --strategies full,uniform-naive --rounds 2,4 --repeats 1 "
        "--regret 3 --results new --quiet"
    )
    assert "regret, 1 - edge / best edge of all features (not charged)" in out
    assert "not charged" in out.split("note:")[1]
    assert "0.0000" in cli("table new --metric regret")
    cli("plot new --metric regret -o regret.svg")
    assert Path("regret.svg").is_file()
    cli("compare --data chess(d=3,n=80) --rounds 2,4 --repeats 1 --results plain --quiet")
    assert "run boostsample compare with --regret" in cli.refused(
        "table plain --metric regret", code=1
    )
