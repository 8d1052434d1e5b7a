"""Searches of some labels are those of a table of these labels, in plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostsample.errors import SettingError
from boostsample.loop.booster import Booster
from boostsample.step import Step
from boostsample.strategies import LabelSampling, UniformNaive
from boostsample.strategy import Stump
from tests.problems import Do, bank_of, booster_of, local_rows, noisy_labels, rows_of, table

N, F = 70, 5


def naive_best(X: Any, signed: Any, labels: list[int]) -> list[tuple[float, list[int]]]:
    """For each feature the largest sum of |label sums| over these labels, and its votes."""
    best = []
    for j in range(X.shape[1]):
        found = (-1.0, [0])
        for value in [-np.inf, *np.unique(X[:, j])[1:].tolist()]:
            sums = []
            for label in labels:
                pairs = zip(X[:, j].tolist(), signed[:, label].tolist(), strict=True)
                sums.append(sum(w if x >= value else -w for x, w in pairs))
            edge = sum(abs(total) for total in sums)
            if edge > found[0] + 1e-9:
                found = (edge, [1 if total >= 0 else -1 for total in sums])
        best.append(found)
    return best


@pytest.mark.parametrize("n_labels", [1, 3, 19])
@pytest.mark.parametrize("wanted", [[0], [2, 0], [0, 17, 4, 8, 9, 18]])
def test_a_search_of_some_labels_is_exact(n_labels: int, wanted: list[int]) -> None:
    labels = [label for label in wanted if label < n_labels]
    X, Y = table(N, F, top=6), noisy_labels(N, n_labels)
    weight = np.random.default_rng(5).random(N)

    def choose(step: Step) -> Stump:
        stumps = step.search(np.arange(F), step.draw(N), labels=labels)
        signed = weight[:, None] * Y / n_labels / weight.sum()
        for k, (edge, votes) in enumerate(naive_best(X, signed, labels)):
            assert stumps.edge[k] == pytest.approx(edge, abs=1e-6)
            assert stumps.votes[k, labels].tolist() == votes
            others = np.delete(stumps.votes[k], labels)
            assert (others == 1).all()
        assert step.spent == F * N
        return stumps.best()

    settings: dict[str, Any] = {"weight_init": "uniform", "example_weight": weight, "rng": 0}
    row = Booster(bank_of(X), None, Y, Do(choose), n_rounds=1, **settings).next_round().rows[0]
    assert row["looks_search"] == F * N
    assert row["edge"] >= row["edge_estimated"] - 1e-6  # of all labels, finished by the loop


def test_all_labels_are_a_search_without_labels() -> None:
    def choose(step: Step) -> Stump:
        for size, scheme in ((20, "iid"), (30, "distinct"), (80, "iid")):
            sample = step.draw(size, scheme)
            some, every = (step.search([0, 3, 5], sample, labels=k) for k in ([0, 1, 2], None))
            assert some.threshold.tolist() == every.threshold.tolist()
            np.testing.assert_allclose(some.edge, every.edge, atol=1e-6)
            assert some.votes.tolist() == every.votes.tolist()
        return every.best()

    booster_of(choose).next_round()


def test_labels_are_drawn_by_weight() -> None:
    counts = np.zeros(3)

    def choose(step: Step) -> Stump:
        for _ in range(3000):
            counts[step.sample_labels(1)] += 1
        assert step.sample_labels(2).size == 2
        assert step.sample_labels(9).tolist() == [0, 1, 2]
        return step.search([0], step.draw(80)).best()

    Y = np.where(np.arange(80)[:, None] % [2, 5, 40] == 0, 1, -1)
    X, s = table(80, 4), np.where(np.arange(80) % 2, 1.0, 3.0)
    booster = Booster(
        bank_of(X), None, Y.astype(np.int8), Do(choose), rng=0, example_weight=s,
        weight_init="balanced",
    )  # fmt: skip
    masses = local_rows(booster).searcher.label_masses()
    booster.next_round()
    expected = 3000 * masses / masses.sum()
    assert (np.abs(counts - expected) < 4.5 * np.sqrt(expected)).all()


@pytest.mark.parametrize("labels", [[], [3], [-1], [0, 0], [0.5], [[0]]])
def test_bad_labels(labels: Any) -> None:
    with pytest.raises(SettingError, match="labels must be different integers from 0 to 2"):
        booster_of(lambda s: s.search([0], s.draw(80), labels=labels).best()).next_round()


@pytest.mark.parametrize("objective", ["m1", "samme"])
def test_objectives_of_one_class_refuse(objective: str) -> None:
    with pytest.raises(SettingError, match="labels must be None with objectives that vote for one"):
        booster_of(LabelSampling(n_labels=1), objective=objective).next_round()


@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=4"])
def test_the_strategy_with_all_labels_is_uniform_naive(learner: str) -> None:
    kinds = LabelSampling(n_labels=3), UniformNaive()
    one, other = (rows_of(booster_of(kind, learner=learner), 5) for kind in kinds)
    assert one == other
