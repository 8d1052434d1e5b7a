"""Staged predictions: those of the models of the first rounds, in memory for 256 rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from boostsample import BoostSampleClassifier
from boostsample.classifier.prediction import prediction_mixin
from tests.classifier.conftest import Data


def targets(kind: str, y: NDArray[Any]) -> NDArray[Any]:
    if kind == "two classes":
        return y > 4
    if kind == "several labels":
        return np.stack([y > 4, y % 2 == 0, y % 3 == 0], axis=1).astype(int)
    return y


@pytest.mark.parametrize("kind", ["classes", "two classes", "several labels"])
@pytest.mark.parametrize("learner", ["stump", "product:n_terms=2", "tree:n_leaves=4"])
def test_each_stage_is_the_model_of_its_rounds(
    digits: Data, kind: str, learner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = digits
    monkeypatch.setattr(prediction_mixin, "_CHUNK", 5)
    model = BoostSampleClassifier(learner=learner, n_rounds=13, random_state=0)
    model.fit(X, targets(kind, y))
    rows, whole = X[:50], model.decision_function(X[:50])
    scores = list(model.staged_decision_function(rows))
    assert len(scores) == model.n_rounds_ == 13
    for n_rounds, stage in enumerate(scores, start=1):
        expected = model.model_.decision_function(rows, n_rounds).reshape(stage.shape)
        np.testing.assert_allclose(stage, expected, atol=1e-12)
    assert scores[-1].shape == whole.shape
    predicted = list(model.staged_predict(rows))
    np.testing.assert_array_equal(predicted[-1], model.predict(rows))
    weight = np.arange(50.0)
    truth = targets(kind, y)[:50]
    assert list(model.staged_score(rows, truth, weight))[-1] == model.score(rows, truth, weight)
    shares = [np.mean((stage == truth).reshape(50, -1).all(axis=1)) for stage in predicted]
    np.testing.assert_allclose(list(model.staged_score(rows, truth)), shares)
    chances = list(model.staged_predict_proba(rows))
    np.testing.assert_allclose(chances[-1], model.predict_proba(rows), atol=1e-12)
    for labels, stage in zip(predicted, chances, strict=True):
        if kind != "several labels":
            np.testing.assert_allclose(stage.sum(axis=1), 1.0)
            np.testing.assert_array_equal(model.classes_[stage.argmax(axis=1)], labels)


def test_the_last_stage_has_the_bits_of_the_model(digits: Data) -> None:
    X, y = digits
    model = BoostSampleClassifier(n_rounds=300, random_state=0).fit(X, y)
    scores = list(model.staged_decision_function(X[:30]))
    np.testing.assert_array_equal(scores[-1], model.decision_function(X[:30]))
    np.testing.assert_array_equal(scores[255], model.model_.decision_function(X[:30], 256))


def test_X_is_checked_at_once(digits: Data) -> None:
    X, y = digits
    model = BoostSampleClassifier(n_rounds=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.staged_predict(X[:, :5])
    with pytest.raises(NotFittedError):
        BoostSampleClassifier().staged_predict(X)
