"""The classifier with output codes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from boostsample import BoostSampleClassifier, DataError, SettingError
from tests.compiled import slow_without_jit
from tests.naive_objectives import hamming_decoding, loss_based_decoding

pytestmark = slow_without_jit

NAMES = np.array(["a", "b", "c", "d"])
CODES = ("binary", "dense", "sparse:6", "exhaustive", "one-vs-rest")


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 240)
    X = rng.normal(size=(240, 6)).round(2)
    X[:, :4] += 1.5 * (y[:, None] == np.arange(4))
    return X, NAMES[y]


def fitted(rows: Any, **settings: Any) -> BoostSampleClassifier:
    usual: dict[str, Any] = {"strategy": "full", "learner": "stump", "n_rounds": 12}
    return BoostSampleClassifier(**{**usual, "random_state": 0, **settings}).fit(*rows)


@pytest.mark.parametrize("objective", ["mh", "real-mh", "info", "gentle"])
@pytest.mark.parametrize("decoding", ["loss", "hamming"])
@pytest.mark.parametrize("code", CODES)
def test_predictions_are_decoded(rows: Any, code: str, decoding: str, objective: str) -> None:
    model = fitted(rows, code=code, decoding=decoding, objective=objective, learning_rate=0.5)
    X, y = rows
    bits = model.model_.decision_function(X.astype(np.float32))
    if model.code_ is None:
        assert (code, decoding) == ("one-vs-rest", "loss")
        matrix = 2 * np.eye(4, dtype=np.int8) - 1
    else:
        matrix = model.code_.matrix
    twin = {"loss": loss_based_decoding, "hamming": hamming_decoding}[decoding]
    np.testing.assert_array_equal(model.predict(X), NAMES[twin(bits, matrix)])
    assert model.decision_function(X).shape == (240, 4)
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_array_equal(NAMES[chances.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(np.log(chances), model.predict_log_proba(X), rtol=1e-6)
    assert model.score(X, y) > 0.4
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, model.predict(X))


def test_a_matrix_of_the_user(rows: Any) -> None:
    named = fitted(rows, code="exhaustive")
    assert named.code_ is not None
    same = fitted(rows, code=named.code_.matrix.tolist())
    np.testing.assert_array_equal(same.decision_function(rows[0]), named.decision_function(rows[0]))
    with pytest.raises(SettingError, match=r"must have shape \(4, B\)"):
        fitted(rows, code=[[1], [-1]])


def test_random_codes_come_from_the_seed(rows: Any) -> None:
    codes = [fitted(rows, code="dense:5", random_state=seed).code_ for seed in (0, 0, 1)]
    first, same, other = (code.matrix for code in codes if code is not None)
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    "settings",
    [
        {"n_rounds": "auto", "learner": "auto", "strategy": "uniform-naive"},
        {"early_stopping": True, "n_rounds": 40},
        {"calibration": "temperature", "eval_metric": "error"},
        {"early_stopping": True, "eval_metric": "auc", "n_rounds": 20},
    ],
)
@pytest.mark.parametrize("decoding", ["loss", "hamming"])
def test_held_rows_are_decoded(rows: Any, settings: dict[str, Any], decoding: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a constant model in the first rounds
        model = fitted(rows, code="sparse:6", decoding=decoding, **settings)
    assert model.code_ is not None
    assert model.score(*rows) > 0.5
    assert model.temperature_ != 1.0


@pytest.mark.parametrize("objective", ["mh", "real-mh"])
def test_files_checkpoints_and_warm_starts(rows: Any, tmp_path: Path, objective: str) -> None:
    how: dict[str, Any] = {"code": "sparse:6", "objective": objective}
    model = fitted(rows, **how)
    model.save(tmp_path / "model.bsm")
    loaded = BoostSampleClassifier.load(tmp_path / "model.bsm")
    assert loaded.code_ is not None
    assert loaded.get_params()["code"] == "sparse:6"
    scores = model.predict_proba(rows[0])
    np.testing.assert_array_equal(loaded.predict_proba(rows[0]), scores)
    path = tmp_path / "run"
    fitted(rows, **how, checkpoint=path, checkpoint_seconds=0.0, n_rounds=5)
    resumed = fitted(rows, **how, checkpoint=path)
    np.testing.assert_array_equal(resumed.predict_proba(rows[0]), scores)
    warm = BoostSampleClassifier(**resumed.get_params()).set_params(checkpoint=None, n_rounds=5)
    warm.set_params(warm_start=True).fit(*rows).set_params(n_rounds=12).fit(*rows)
    np.testing.assert_array_equal(warm.predict_proba(rows[0]), scores)
    with pytest.raises(SettingError, match="decoding loss, now hamming"):
        warm.set_params(decoding="hamming").fit(*rows)


def test_importances_and_contributions(rows: Any) -> None:
    model = fitted(rows, code="binary")
    base, values, _ = model.contributions(rows[0])
    bits = model.model_.decision_function(rows[0].astype(np.float32))
    np.testing.assert_allclose(base + values.sum(axis=1), bits, atol=1e-9)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_refusals(rows: Any) -> None:
    coded, plain = fitted(rows, code="binary"), fitted(rows)
    X, y = rows
    with pytest.raises(SettingError, match="init_model continues the scores of classes"):
        coded.fit(X, y, init_model=plain)
    with pytest.raises(SettingError, match="init_model continues the scores of classes"):
        BoostSampleClassifier(n_rounds=2, random_state=0).fit(X, y, init_model=coded)
    several = (y[:, None] == NAMES).astype(int)
    with pytest.raises(SettingError, match="y has several labels"):
        BoostSampleClassifier(n_rounds=2, code="binary", random_state=0).fit(X, several)
    with pytest.raises(DataError, match="needs one class for each example"):
        fitted(rows, code="dense", objective="samme")
    with pytest.raises(SettingError, match="for two classes, got 2 labels"):
        fitted(rows, code="binary", objective="rank")


def test_onnx_refuses_codes(rows: Any) -> None:
    from boostsample.classifier.prediction.onnx_export import to_onnx

    with pytest.raises(SettingError, match="an output code of 2 bits; fit with"):
        to_onnx(fitted(rows, code="binary"))


def test_two_classes() -> None:
    X, y = load_iris(return_X_y=True)
    two = X[y > 0], y[y > 0]
    plain, coded = fitted(two), fitted(two, code="binary")
    np.testing.assert_allclose(coded.predict_proba(X), plain.predict_proba(X), rtol=1e-9)
    assert coded.decision_function(X).shape == (150,)
