"""Rounds and temperature that a fit chooses by models of a part of its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import log_loss

from boostsample import BoostSampleClassifier, SettingError
from boostsample.classifier.inputs.fit_rows import FitRows, folds
from boostsample.classifier.prediction.calibration import (
    best_temperature,
    largest_score,
    rule_temperature,
)
from boostsample.classifier.prediction.probabilities import probabilities
from boostsample.classifier.training import fit_seed, split_stream
from boostsample.classifier.trial import left_out_parts
from boostsample.labels import encode
from tests.classifier.test_calibration import held_rows
from tests.classifier.test_early_stopping import naive_choice, naive_points

Data = tuple[NDArray[Any], NDArray[Any]]
STUMPS: dict[str, Any] = {
    "strategy": "full",
    "learner": "stump",
    "learning_rate": 1.0,
    "random_state": 3,
}
"""Nothing is drawn but the rows to leave out."""
MOST = 40


@pytest.fixture(autouse=True)
def _few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("boostsample.estimator.MOST_ROUNDS", MOST)


@pytest.fixture(scope="module", params=[2, 3])
def noisy(request: pytest.FixtureRequest) -> Data:
    """Columns of ten values, all of them in every fold, so that all models have the same cuts."""
    r = np.random.default_rng(request.param)
    X = r.integers(0, 10, (240, 3)).astype(float)
    return X, np.clip((X[:, 0] / 4 + 0.6 * r.normal(size=240)).astype(int), 0, request.param - 1)


def edges(model: BoostSampleClassifier) -> list[float]:
    return [float(np.tanh(row["alpha"] / model.learning_rate)) for row in model.history_]


def test_three_models_choose(noisy: Data) -> None:
    X, y = noisy
    model = BoostSampleClassifier(**STUMPS).fit(X, y)
    signs = encode(y)
    parts = folds(signs, 3, split_stream(fit_seed(3)), False)
    every = np.arange(len(y))
    models = [
        BoostSampleClassifier(**STUMPS, n_rounds=MOST).fit(X[rest], y[rest])
        for rest in (np.setdiff1d(every, part) for part in parts)
    ]
    held = np.concatenate(parts)
    staged = [
        list(one.staged_decision_function(X[part])) for one, part in zip(models, parts, strict=True)
    ]
    zeros = np.zeros(signs.shape[1])
    losses, errors, ratios = {}, [], {}
    for at in range(MOST):
        scores = np.concatenate([stages[at] for stages in staged]).reshape(len(held), -1)
        rows = held_rows(signs[held], scores, np.ones(len(held)))
        tops = [np.abs(one.model_.alpha[: at + 1]).sum() for one in models]
        rows.largest = float(np.mean(tops))
        rows.edges = np.mean([edges(one)[: at + 1] for one in models], axis=0).tolist()
        best = best_temperature(rows, zeros, False)
        chances = probabilities(scores, zeros, best, False)
        losses[at + 1] = log_loss(y[held], chances)
        errors.append(100 * np.mean(chances.argmax(axis=1) != y[held]))
        ratios[at + 1] = best / rule_temperature(rows.largest, rows.edges, zeros, False)
    points = naive_points(MOST)
    points += [MOST] * (points[-1] < MOST)
    chosen = naive_choice({at: losses[at] for at in points})
    np.testing.assert_allclose(model.validation_error_, errors)
    assert model.n_rounds_ == chosen < MOST
    shown = [row["validation"] for row in model.history_]
    expected = [losses[at] if at in points else np.nan for at in range(1, chosen + 1)]
    np.testing.assert_allclose(shown, expected, rtol=1e-4)
    whole = BoostSampleClassifier(**STUMPS, n_rounds=chosen).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))
    rule = rule_temperature(largest_score(whole.model_), edges(whole), zeros, False)
    assert model.temperature_ == pytest.approx(ratios[chosen] * rule, rel=1e-3)


@pytest.mark.parametrize(("n", "n_parts", "share"), [(19, 0, 0), (20, 3, 1), (2000, 3, 1)])
def test_parts_that_are_left_out(n: int, n_parts: int, share: float) -> None:
    rng = np.random.default_rng(0)
    rows = FitRows.of(None, encode(np.arange(n) % 2), np.ones(n))
    parts = left_out_parts(rows, 0.1, rng, False)
    assert len(parts) == n_parts
    left = np.concatenate([*parts, np.empty(0, int)])
    assert len(set(left)) == len(left) == (n - 2 if n_parts else 0)
    assert all(abs(len(part) - (n - 2) / 3) < 1 for part in parts)


def test_one_part_of_many_rows() -> None:
    rows = FitRows.of(None, encode(np.arange(2001) % 3), np.ones(2001))
    for fraction in (0.1, 0.3):
        (part,) = left_out_parts(rows, fraction, np.random.default_rng(0), False)
        assert len(part) == round(2001 * fraction)


def test_a_class_of_one_row_is_never_left_out() -> None:
    labels = encode(np.repeat([0, 1, 2], [1, 2, 40]))
    for seed in range(20):
        left = np.concatenate(folds(labels, 3, np.random.default_rng(seed), False))
        assert 0 not in left
        assert len(left) == 40


def test_calibration_none_and_rule_are_kept(noisy: Data) -> None:
    models = {
        kind: BoostSampleClassifier(**STUMPS, calibration=kind).fit(*noisy)
        for kind in ("auto", "rule", None)
    }
    assert len({one.n_rounds_ for one in models.values()}) == 1
    assert models[None].temperature_ == 1.0
    plain = BoostSampleClassifier(**STUMPS, n_rounds=models["rule"].n_rounds_).fit(*noisy)
    assert plain.temperature_ == models["rule"].temperature_ != models["auto"].temperature_


@pytest.mark.parametrize("given", ["X_val", "early_stopping", "many rows"])
def test_held_out_rows_take_the_place_of_a_trial(
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
    else:
        monkeypatch.setattr("boostsample.estimator.MOST_ROWS", 239)
    model = BoostSampleClassifier(**settings).fit(X, y, **held)
    settings |= {"early_stopping": True, "n_rounds": MOST}
    stopped = BoostSampleClassifier(**settings).fit(X, y, **held)
    assert model.n_rounds_ == stopped.n_rounds_
    assert model.temperature_ == stopped.temperature_
    np.testing.assert_array_equal(model.decision_function(X), stopped.decision_function(X))


def test_too_few_rows_have_a_hundred_rounds() -> None:
    X = np.arange(12.0).reshape(-1, 1)
    y = np.arange(12) % 2
    model = BoostSampleClassifier(learner="tree:n_leaves=3", random_state=0).fit(X, y)
    plain = BoostSampleClassifier(learner="tree:n_leaves=3", random_state=0, n_rounds=100)
    assert model.n_rounds_ == 100
    np.testing.assert_array_equal(model.predict_proba(X), plain.fit(X, y).predict_proba(X))
    assert not hasattr(model, "validation_error_")


def test_a_model_that_is_continued_may_know_all_rows(noisy: Data) -> None:
    first = BoostSampleClassifier(**STUMPS, n_rounds=3).fit(*noisy)
    more = BoostSampleClassifier(**STUMPS).fit(*noisy, init_model=first)
    plain = BoostSampleClassifier(**STUMPS, n_rounds=100).fit(*noisy, init_model=first)
    assert more.n_rounds_ == 103
    assert more.temperature_ == plain.temperature_


@pytest.mark.parametrize("metric", ["error", "auc"])
def test_rounds_are_chosen_by_the_metric(noisy: Data, metric: str) -> None:
    model = BoostSampleClassifier(**STUMPS, eval_metric=metric).fit(*noisy)
    values = [row["validation"] for row in model.history_]
    assert all(0 < value < 1 if metric == "auc" else 1 < value < 100 for value in values[:9])


def test_several_labels() -> None:
    X, Y = make_multilabel_classification(120, 6, n_classes=4, random_state=0)
    model = BoostSampleClassifier(learner="stump", random_state=0).fit(X, Y)
    assert 10 <= model.n_rounds_ <= MOST
    error = model.validation_error_[model.n_rounds_ - 1]
    assert 5 < error < 40


def test_a_checkpoint_goes_on_with_the_same_rounds(noisy: Data, tmp_path: Path) -> None:
    settings: dict[str, Any] = STUMPS | {"checkpoint": tmp_path / "fit.ckpt"}
    first = BoostSampleClassifier(**settings).fit(*noisy)
    again = BoostSampleClassifier(**settings).fit(*noisy)
    assert again.n_rounds_ == first.n_rounds_
    assert again.temperature_ == first.temperature_


def test_rounds_to_choose_and_a_warm_start_are_refused(noisy: Data) -> None:
    with pytest.raises(SettingError, match="set n_rounds to a number, or warm_start=False"):
        BoostSampleClassifier(**STUMPS, warm_start=True).fit(*noisy)
    with pytest.raises(SettingError, match="n_rounds must be 'auto' or a whole number, got '200'"):
        BoostSampleClassifier(**STUMPS, n_rounds="200").fit(*noisy)


def test_verbose_shows_both_trainings(noisy: Data, capsys: pytest.CaptureFixture[str]) -> None:
    model = BoostSampleClassifier(**STUMPS, verbose=True).fit(*noisy)
    lines = capsys.readouterr().err.splitlines()
    chosen = [line for line in lines if line.endswith(", to choose the rounds")]
    assert chosen[-1].startswith(f"round {MOST} of {MOST}: log10 loss ")
    assert ", validation 0." in chosen[-1]
    assert lines[-1].startswith(f"round {model.n_rounds_} of {model.n_rounds_}: log10 loss ")
