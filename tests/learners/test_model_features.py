"""A limit on the different features of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample import BoostSampleClassifier
from boostsample.errors import SettingError
from boostsample.loop.booster import Booster
from boostsample.models.model import Model
from boostsample.registry import strategy_names
from tests.problems import bank_of, noisy_labels, resumed, rows_of, table

N, F = 120, 9


def booster(strategy: str = "full", learner: str = "stump", **settings: Any) -> Booster:
    bank = bank_of(table(N, F), groups=2)
    defaults: dict[str, Any] = {"rng": 0, "n_rounds": 8, "max_model_features": 3, **settings}
    return Booster(bank, None, noisy_labels(N, 3), strategy, learner, **defaults)


@pytest.mark.parametrize("learner", ["stump", "product:n_terms=3", "tree:n_leaves=5"])
@pytest.mark.parametrize("strategy", strategy_names())
def test_a_model_uses_no_more_features(strategy: str, learner: str) -> None:
    rows = rows_of(booster(strategy, learner), 8)
    assert len({row["feature"] for row in rows}) <= 3
    assert len({row["feature"] for row in rows_of(booster("full", "stump"), 8)}) == 3


@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=5"])
def test_later_rounds_are_those_of_a_bank_of_the_chosen_features(learner: str) -> None:
    run = booster(learner=learner, n_rounds=12)
    first, chosen = [], set[int]()
    while len(chosen) < 3:
        first.append(run.next_round())
        chosen |= {row["feature"] for row in first[-1].rows}
    later = [run.next_round() for _ in range(12 - len(first))]
    assert later
    X, Y = table(N, F), noisy_labels(N, 3)
    families = bank_of(X, groups=2).families
    model = Model(families, [term for done in first for term in done.terms], 3)
    small = bank_of(np.ascontiguousarray(X[:, sorted(chosen)]))
    other = Booster(small, None, Y, "full", learner, n_rounds=12, scores=model.decision_function(X))
    for done in later:
        same = other.next_round()
        names = [sorted(chosen)[term.feature] for term in same.terms]
        assert [term.feature for term in done.terms] == names
        assert done.edge == pytest.approx(same.edge, abs=1e-6)


@pytest.mark.parametrize("strategy", ["ucb", "laminating", "mas-naive", "exp3p:arms=feature"])
def test_any_round_continues_to_identical_bits(strategy: str) -> None:
    for straight, run in resumed(lambda seed: booster(strategy, "tree:n_leaves=4", rng=seed), 8):
        assert run.small_state()["weights"] == straight.small_state()["weights"]


def test_a_strategy_that_needs_more_features_is_refused_at_once() -> None:
    with pytest.raises(SettingError, match=r"max_model_features=3 leaves the strategy too few"):
        booster("uniform-naive:n_features=5")
    with pytest.raises(SettingError, match="max_model_features must be an integer at least 1"):
        booster(max_model_features=0)


def test_a_classifier_with_a_limit(tmp_path: Path) -> None:
    X = table(N, 40)
    y = np.where(X[:, :6].sum(axis=1) > np.median(X[:, :6].sum(axis=1)), "a", "b")
    settings: dict[str, Any] = {"max_model_features": 4, "random_state": 0, "n_rounds": 20}
    model = BoostSampleClassifier(**settings).fit(X, y)
    assert np.count_nonzero(model.feature_importances_) <= 4
    halves = BoostSampleClassifier(**{**settings, "n_rounds": 7, "warm_start": True}).fit(X, y)
    halves.set_params(n_rounds=20).fit(X, y)
    assert np.array_equal(halves.decision_function(X), model.decision_function(X))
    saved = {**settings, "checkpoint": tmp_path / "run", "checkpoint_seconds": 0}
    BoostSampleClassifier(**{**saved, "n_rounds": 7}).fit(X, y)
    resumed = BoostSampleClassifier(**saved).fit(X, y)
    assert np.array_equal(resumed.decision_function(X), model.decision_function(X))
    with pytest.raises(SettingError, match="max_model_features counts the features of one fit"):
        BoostSampleClassifier(**settings).fit(X, y, init_model=model)
    halves.set_params(max_model_features=5)
    with pytest.raises(SettingError, match="max_model_features"):
        halves.fit(X, y)
