"""Committees: the mean of models without a part of the rows each, which choose the rounds."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss

from boostsample import BoostSampleClassifier, DataError, SettingError
from boostsample.classifier.fit_run import fit_seed, split_stream
from boostsample.classifier.inputs.held_rows import FitRows, folds
from boostsample.classifier.prediction.probabilities import best_temperature, probabilities
from boostsample.labels import encode
from boostsample.loop.booster import Booster
from boostsample.loop.run_file import read_checkpoint
from tests.classifier.conftest import Data
from tests.classifier.test_calibration import held_rows, rule_of_votes
from tests.classifier.test_early_stopping import naive_choice, naive_points

STUMPS: dict[str, Any] = {
    "strategy": "full",
    "learner": "stump",
    "learning_rate": 1.0,
    "random_state": 3,
}
"""Nothing is drawn but the rows to leave out."""
MOST = 60


@pytest.fixture(autouse=True)
def _few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("boostsample.estimator.MOST_ROUNDS", MOST)


@pytest.fixture(scope="module", params=[2, 3])
def noisy(request: pytest.FixtureRequest) -> Data:
    """Columns of ten values, all of them in every fold, so that all models have the same cuts."""
    r = np.random.default_rng(request.param)
    X = r.integers(0, 10, (240, 3)).astype(float)
    return X, np.clip((X[:, 0] / 4 + 0.7 * r.normal(size=240)).astype(int), 0, request.param - 1)


def edges(model: BoostSampleClassifier) -> list[float]:
    return [float(np.tanh(row["alpha"] / model.learning_rate)) for row in model.history_]


def test_the_mean_of_five_models(noisy: Data) -> None:
    X, y = noisy
    model = BoostSampleClassifier(**STUMPS).fit(X, y)
    signs = encode(y)
    parts = folds(signs, 5, split_stream(fit_seed(3)), False)
    every = np.arange(len(y))
    models = [
        BoostSampleClassifier(**STUMPS, n_rounds=MOST).fit(X[rest], y[rest])
        for rest in (np.setdiff1d(every, part) for part in parts)
    ]
    held = np.concatenate(parts)
    staged = [
        list(member.staged_decision_function(X[part]))
        for member, part in zip(models, parts, strict=True)
    ]
    rule = rule_of_votes(signs.shape[1])
    losses, errors, temperatures = {}, [], {}
    for at in range(MOST):
        scores = np.concatenate([stages[at] for stages in staged]).reshape(len(held), -1)
        rows = held_rows(signs[held], scores, np.ones(len(held)))
        tops = [np.abs(member.model_.alpha[: at + 1]).sum() for member in models]
        rows.largest = float(np.mean(tops))
        rows.edges = np.mean([edges(member)[: at + 1] for member in models], axis=0).tolist()
        temperatures[at + 1] = best_temperature(rows, rule)
        chances = probabilities(scores, rule.offsets, temperatures[at + 1], False)
        losses[at + 1] = log_loss(y[held], chances)
        errors.append(100 * np.mean(chances.argmax(axis=1) != y[held]))
    points = naive_points(MOST)
    points += [MOST] * (points[-1] < MOST)
    chosen = naive_choice({at: losses[at] for at in points})
    np.testing.assert_allclose(model.validation_error_, errors)
    assert model.n_members_ == 5
    assert model.n_rounds_ == 5 * chosen < 5 * MOST
    assert [row["member"] for row in model.history_] == list(range(5)) * MOST
    shown = [row["validation"] for row in model.history_[::5]]
    expected = [losses[at] if at in points else np.nan for at in range(1, MOST + 1)]
    np.testing.assert_allclose(shown, expected, rtol=1e-4)
    for number in (1, chosen):
        stages_of_models = [
            list(member.staged_decision_function(X))[number - 1] for member in models
        ]
        mean = list(model.staged_decision_function(X))[5 * number - 1]
        np.testing.assert_allclose(mean, np.mean(stages_of_models, axis=0), rtol=1e-9, atol=1e-12)
    assert model.temperature_ == pytest.approx(temperatures[chosen], rel=1e-3)
    of_members = [member.term_importances_[:chosen] / 5 for member in models]
    np.testing.assert_allclose(model.term_importances_, np.stack(of_members, axis=1).ravel())


@pytest.mark.parametrize("n", [20, 2000])
def test_parts_that_are_left_out(n: int) -> None:
    rng = np.random.default_rng(0)
    rows = FitRows.of(None, encode(np.arange(n) % 2), np.ones(n)).left_out(5, rng, False)
    assert len(rows.held) == 5
    left = np.concatenate(rows.held)
    assert len(set(left)) == len(left) == n - 2
    assert all(abs(len(part) - (n - 2) / 5) < 1 for part in rows.held)
    assert rows.train.size == n


def test_a_class_of_one_row_is_never_left_out() -> None:
    labels = encode(np.repeat([0, 1, 2], [1, 2, 40]))
    for seed in range(20):
        left = np.concatenate(folds(labels, 3, np.random.default_rng(seed), False))
        assert 0 not in left
        assert len(left) == 40


@pytest.mark.parametrize("given", ["X_val", "early_stopping", "many rows", "few features"])
def test_one_model_with_held_out_rows(
    noisy: Data, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = noisy
    settings = dict(STUMPS)
    held: Any = {}
    if given == "X_val":
        held = {"X_val": X[:60], "y_val": y[:60]}
        X, y = X[60:], y[60:]
    elif given == "early_stopping":
        settings["early_stopping"] = True
    elif given == "few features":
        settings["max_model_features"] = 2
    else:
        monkeypatch.setattr("boostsample.classifier.defaults.MOST_ROWS", 239)
    model = BoostSampleClassifier(**settings).fit(X, y, **held)
    settings |= {"early_stopping": True, "n_rounds": MOST}
    stopped = BoostSampleClassifier(**settings).fit(X, y, **held)
    assert model.n_members_ == 1
    assert model.n_rounds_ == stopped.n_rounds_
    assert model.temperature_ == stopped.temperature_
    np.testing.assert_array_equal(model.decision_function(X), stopped.decision_function(X))


def test_a_temperature_of_held_out_rows_has_some_of_few_rows() -> None:
    X = np.arange(19.0).reshape(-1, 1)
    y = np.arange(19) % 2
    settings: dict[str, Any] = {"calibration": "temperature", "random_state": 0}
    model = BoostSampleClassifier(**settings).fit(X, y)
    stopped = BoostSampleClassifier(**settings, early_stopping=True).fit(X, y)
    assert np.count_nonzero(model.example_weights_ == 0.0) == 2
    np.testing.assert_array_equal(model.predict_proba(X), stopped.predict_proba(X))
    # One row of each class stays with all members.
    with pytest.raises(DataError, match=r"validation_fraction=0.1 of 20 rows must leave rows of"):
        BoostSampleClassifier(**settings).fit(np.arange(20.0).reshape(-1, 1), np.arange(20))


def test_too_few_rows_have_a_hundred_rounds() -> None:
    X = np.arange(19.0).reshape(-1, 1)
    y = np.arange(19) % 2
    settings: dict[str, Any] = {"learner": "tree:n_leaves=3"}
    model = BoostSampleClassifier(**settings, random_state=0).fit(X, y)
    plain = BoostSampleClassifier(**settings, random_state=0, n_rounds=100)
    assert model.n_rounds_ == 100
    np.testing.assert_array_equal(model.predict_proba(X), plain.fit(X, y).predict_proba(X))
    assert not hasattr(model, "validation_error_")


def test_a_model_that_is_continued_may_know_all_rows(noisy: Data) -> None:
    first = BoostSampleClassifier(**STUMPS, n_rounds=3).fit(*noisy)
    more = BoostSampleClassifier(**STUMPS).fit(*noisy, init_model=first)
    plain = BoostSampleClassifier(**STUMPS, n_rounds=100).fit(*noisy, init_model=first)
    assert more.n_rounds_ == 103
    assert more.temperature_ == plain.temperature_


def test_a_checkpoint_goes_on_in_the_middle_of_a_turn(
    noisy: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"learner": "tree:n_leaves=4", "random_state": 0}
    settings |= {"learning_rate": 0.5, "smoothing": 2.0}
    plain = BoostSampleClassifier(**settings).fit(*noisy)
    settings |= {"checkpoint": tmp_path / "fit.ckpt", "checkpoint_seconds": 0.0}
    next_round = Booster.next_round
    calls = itertools.count()

    def interrupted(booster: Booster) -> Any:
        if next(calls) == 33:
            raise KeyboardInterrupt
        return next_round(booster)

    with monkeypatch.context() as patch:
        patch.setattr(Booster, "next_round", interrupted)
        with pytest.raises(KeyboardInterrupt):
            BoostSampleClassifier(**settings).fit(*noisy)
    saved = read_checkpoint(settings["checkpoint"])
    assert saved is not None
    assert saved.state["round"] == 33
    settings["checkpoint_seconds"] = 60.0
    again = BoostSampleClassifier(**settings).fit(*noisy)
    assert again.n_rounds_ == plain.n_rounds_
    assert again.temperature_ == plain.temperature_
    np.testing.assert_array_equal(again.predict_proba(noisy[0]), plain.predict_proba(noisy[0]))
    for name in ("edge", "validation", "member"):
        resumed, whole = ([row[name] for row in member.history_] for member in (again, plain))
        np.testing.assert_array_equal(resumed, whole)


def test_sets_that_are_scored_have_the_mean(noisy: Data) -> None:
    X, y = noisy
    model = BoostSampleClassifier(**STUMPS).fit(X, y, eval_set=[(X[:50], y[:50])])
    stages = list(model.staged_decision_function(X[:50]))
    rows = held_rows(encode(y[:50]), stages[-1].reshape(50, -1), np.ones(50))
    n_turns = model.n_rounds_ // 5
    rows.largest = float(np.abs(model.model_.alpha).sum())
    rows.edges = np.mean(np.reshape(edges(model), (-1, 5))[:n_turns], axis=1).tolist()
    rule = rule_of_votes(rows.labels.shape[1])
    chances = probabilities(rows.scores, rule.offsets, best_temperature(rows, rule), False)
    shown = model.history_[5 * n_turns - 1]["eval_set_0"]
    assert math.isnan(shown) or shown == pytest.approx(log_loss(y[:50], chances), rel=1e-4)
    assert not math.isnan(model.history_[5 * 16 - 1]["eval_set_0"])


def test_rounds_to_choose_and_a_warm_start_are_refused(noisy: Data) -> None:
    model = BoostSampleClassifier(**STUMPS).fit(*noisy)
    with pytest.raises(SettingError, match="its model is the mean of several"):
        model.set_params(n_rounds=MOST, warm_start=True).fit(*noisy)
    with pytest.raises(SettingError, match="set n_rounds to a number, or warm_start=False"):
        BoostSampleClassifier(**STUMPS, warm_start=True).fit(*noisy)
    with pytest.raises(SettingError, match="n_rounds must be 'auto' or a whole number, got '200'"):
        BoostSampleClassifier(**STUMPS, n_rounds="200").fit(*noisy)


def test_many_features_for_their_rows_have_ten_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("boostsample.classifier.defaults.MOST_ROWS_WIDE", 40)
    r = np.random.default_rng(0)
    X, y = r.standard_normal((42, 3001)), np.tile([0, 1], 21)
    for n, d, n_members in ((40, 100, 5), (40, 101, 10), (42, 3000, 5), (42, 3001, 10)):
        model = BoostSampleClassifier(**STUMPS).fit(X[:n, :d], y[:n])
        assert model.n_members_ == n_members
