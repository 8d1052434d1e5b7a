"""What must hold after every fit of the classifier, whatever it was given."""

from __future__ import annotations

import inspect
import math
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

from boostsample import BoostSampleClassifier
from boostsample.errors import BoostSampleError
from boostsample.loop.booster import Booster
from boostsample.rows.weights import initial_weights


def refusal(error: Exception, most: int = 600) -> str:
    """The line of an error that is ours, or of one of scikit-learn's checks of its input.

    AssertionError for any other, and for more than one line or `most` characters.
    """
    text = str(error)
    clear = 0 < len(text) <= most and text.isprintable()
    if not isinstance(error, BoostSampleError):
        place = traceback.extract_tb(error.__traceback__)[-1].filename
        clear = clear and type(error) in (ValueError, TypeError) and "/sklearn/" in place
    assert clear, f"not one clear line: {type(error).__name__}: {text}"
    return f"{type(error).__name__}: {text}"


def check_fit(settings: dict[str, Any], X: Any, y: Any, sample_weight: Any) -> str:
    """ "fit", or the line that refuses the input; AssertionError if it is neither."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # scikit-learn's own, for y in a column and for as many classes as examples
        warnings.simplefilter("ignore", DataConversionWarning)
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%")
        # columns that float32 merges, and labels that no stump helps to predict
        warnings.filterwarnings("ignore", "columns must keep their different values")
        warnings.filterwarnings("ignore", "the model of the .* rounds that early stopping has kept")
        warnings.simplefilter("ignore", ConvergenceWarning)
        made = _Recorded()
        classifier = BoostSampleClassifier(**settings)
        with mock.patch.object(Booster, "__init__", made.init):
            try:
                classifier.fit(X, y, sample_weight)
            except Exception as error:
                return refusal(error)
        _check_history(classifier, made)
        scores = _check_predictions(classifier, X)
        _check_weights(classifier, made)
        _check_loss(classifier, made, scores, sample_weight)
        _check_repeated(classifier, settings, (X, y, sample_weight), scores)
        _check_file(classifier, X, scores)
    return "fit"


class _Recorded:
    """The booster that a fit made, and what it was given."""

    def __init__(self) -> None:
        self.booster: Any = None
        self.given: dict[str, Any] = {}
        constructor = Booster.__init__

        def init(booster: Booster, *args: Any, **settings: Any) -> None:
            self.booster = booster
            bound = inspect.signature(constructor).bind(booster, *args, **settings)
            self.given = {**bound.arguments}
            constructor(booster, *args, **settings)

        self.init = init


def _check_history(classifier: Any, made: _Recorded) -> None:
    rows = classifier.history_
    stumps = "term" not in rows[0]
    numbers = [row["round"] for row in rows]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(1, made.booster.round + 1))
    assert 1 <= len(classifier.model_) <= made.booster.round <= classifier.n_rounds
    losses = [row["log10_loss"] for row in rows]
    assert all(np.isfinite(losses))
    assert all(np.diff(losses) <= 0)
    by_feature = getattr(classifier, "feature_importances_", [0.0])  # images have none
    values = np.array([*by_feature, *classifier.family_importances_.values()])
    assert np.isfinite(values).all()
    assert values.min() >= 0
    product = 0.0
    for row in rows:
        assert 0.0 <= row["edge"] <= 1.0 + 1e-12
        assert row["edge_estimated"] <= 1.0 + 1e-5
        assert 0.0 <= row["alpha"] <= made.booster.step_size.alpha(1.0)
        assert row["looks_search"] + row["looks_modelling"] <= made.booster.budget
        assert row["n_examples"] <= made.booster._rows.n_examples
        assert not math.isnan(row["threshold"])
        assert row["stopped"] == "" or row["round"] == numbers[-1]
        if stumps:
            alpha = made.booster.step_size.alpha(row["edge"])
            assert math.isclose(row["alpha"], alpha, rel_tol=1e-9)
            right, wrong = 0.5 + 0.5 * row["edge"], 0.5 - 0.5 * row["edge"]
            product += math.log10(right * math.exp(-alpha) + max(wrong, 0.0) * math.exp(alpha))
            assert math.isclose(row["log10_loss"], product, rel_tol=1e-9, abs_tol=1e-12)


def _check_predictions(classifier: Any, X: Any) -> NDArray[np.float64]:
    scores = classifier.decision_function(X)
    n = scores.shape[0]
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    most = sum(term.alpha for term in _alphas(classifier))
    assert np.abs(scores).max(initial=0.0) <= most * (1 + 1e-9) + 1e-12
    predicted = classifier.predict(X)
    if scores.ndim == 2 and predicted.ndim == 2:
        assert set(np.unique(predicted)) <= {0, 1}
    else:
        assert predicted.shape == (n,)
        assert set(predicted.tolist()) <= set(classifier.classes_.tolist())
    shares, logs = classifier.predict_proba(X), classifier.predict_log_proba(X)
    assert np.isfinite(shares).all()
    assert np.isfinite(logs).all()
    assert shares.min(initial=0.0) >= 0.0
    assert shares.max(initial=0.0) <= 1.0
    np.testing.assert_allclose(np.exp(logs), shares, rtol=1e-6, atol=1e-12)
    if predicted.ndim == 1:
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-9)
        assert (classifier.classes_[shares.argmax(axis=1)] == predicted).all()
    return np.asarray(scores.reshape(n, -1))


def _alphas(classifier: Any) -> Any:
    model = classifier.model_
    return (mock.Mock(alpha=model.alpha[first]) for first in model.first)


def _check_weights(classifier: Any, made: _Recorded) -> None:
    """The weights of the last round are positive and sum to 1."""
    weights = made.booster.state()["weights"]
    sizes = np.abs(weights["values"].astype(np.float64))
    assert np.isfinite(sizes).all()
    assert math.isclose(sizes.sum(), weights["mass"], rel_tol=1e-6)
    if any(row["alpha"] > 0 and not row["stopped"] for row in classifier.history_):
        assert math.isclose(weights["mass"], 1.0, rel_tol=1e-4)


def _check_loss(
    classifier: Any, made: _Recorded, scores: NDArray[np.float64], sample_weight: Any
) -> None:
    """The loss of the history is that of the scores of the training rows."""
    last = classifier.history_[-1]
    Y = np.asarray(made.given["Y"])
    weight = made.given.get("example_weight")
    weight = np.ones(len(Y)) if weight is None else np.asarray(weight, np.float64)
    if last["log10_loss"] < -20 or len(classifier.model_) < made.booster.round:  # early stopping
        return
    if sample_weight is not None:
        scores = scores[np.asarray(sample_weight, np.float64) > 0]
    scores = scores[made.given["rows"]]
    shares = initial_weights(Y, classifier.weight_init) * weight[:, None]
    margins = Y * scores
    loss = (logsumexp(-margins, b=shares) - math.log(math.fsum(shares.ravel()))) / math.log(10)
    if last["stopped"]:
        assert loss <= last["log10_loss"] + 1e-3
    else:
        assert abs(loss - last["log10_loss"]) < 1e-4, f"{loss} and {last['log10_loss']}"


def _check_repeated(
    classifier: Any, settings: dict[str, Any], data: Any, scores: NDArray[np.float64]
) -> None:
    """The same seed has the same bits, with another number of threads, too."""
    again = BoostSampleClassifier(**{**settings, "n_jobs": 3 - min(2, settings["n_jobs"])})
    again.fit(*data)
    assert _timeless(again.history_) == _timeless(classifier.history_)
    repeated = again.decision_function(data[0])
    assert repeated.tobytes() == scores.tobytes()


def _timeless(rows: list[dict[str, Any]]) -> str:
    left_out = ("seconds", "values_computed")
    return repr([{key: row[key] for key in row if key not in left_out} for row in rows])


def _check_file(classifier: Any, X: Any, scores: NDArray[np.float64]) -> None:
    """A saved model predicts the same bits."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.bsm"
        classifier.save(path)
        loaded = BoostSampleClassifier.load(path)
    assert loaded.decision_function(X).tobytes() == scores.tobytes()
