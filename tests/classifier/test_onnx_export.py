"""ONNX models: what onnxruntime computes from them is what the classifier predicts, to the bit."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from boostsample import BoostSampleClassifier, DataError, SettingError, onnx_inputs, to_onnx
from boostsample.classifier.prediction import onnx_export
from boostsample.families import Columns, Haar
from boostsample.models.model import Model
from boostsample.records import Term
from tests.models.random_terms import VALUES, random_round
from tests.problems import table


def run(classifier: Any, X: Any, made: Any = None, **how: Any) -> list[NDArray[Any]]:
    """Label, scores and probabilities of onnxruntime."""
    made = to_onnx(classifier, **how) if made is None else made
    onnx.checker.check_model(made, full_check=True)
    read = {name for node in made.graph.node for name in node.input}
    assert [one.name for one in made.graph.initializer if one.name not in read] == []
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    found: list[NDArray[Any]] = session.run(
        ["label", "scores", "probabilities"], {"X": onnx_inputs(classifier, X, **how)}
    )
    return found


def check(classifier: Any, X: Any, **how: Any) -> None:
    """Labels and scores are equal, probabilities up to rounding, for batches and single rows."""
    label, scores, probabilities = run(classifier, X, **how)
    np.testing.assert_array_equal(label, classifier.predict(X))
    np.testing.assert_array_equal(scores, classifier.decision_function(X))
    np.testing.assert_allclose(probabilities, classifier.predict_proba(X), rtol=0, atol=1e-14)
    assert scores.dtype == probabilities.dtype == np.float64
    np.testing.assert_array_equal(run(classifier, X[:1], **how)[1], scores[:1])


def classifier_of(model: Model, classes: Any, several: bool = False) -> BoostSampleClassifier:
    """A fitted classifier with a given model."""
    made = BoostSampleClassifier()
    fitted = {
        "model_": model,
        "classes_": np.asarray(classes),
        "columns_": None,
        "temperature_": 1.7,
        "offset_": np.linspace(-1, 2, model.n_labels) if several else np.zeros(model.n_labels),
        "_multi_label": several,
        "n_features_in_": sum(family.n_features for family in model.families),
    }
    for name, value in fitted.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize("seed", range(24))
def test_random_models(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    n_labels, n_features = int(rng.integers(1, 6)), int(rng.integers(1, 7))
    monkeypatch.setattr(onnx_export, "_CHUNK", int(rng.integers(1, 12)))
    if seed % 4 == 1:
        rounds = [random_round(rng, n_features, n_labels, (-1, 1), real=True) for _ in range(12)]
        if seed % 8 == 5:
            rounds[:6] = [random_round(rng, n_features, n_labels) for _ in range(6)]
    elif seed % 3:
        rounds = [random_round(rng, n_features, n_labels) for _ in range(12)]
    else:  # stumps
        rounds = [random_round(rng, n_features, n_labels)[:1] for _ in range(12)]
    model = Model([Columns(range(n_features))], [t for one in rounds for t in one], n_labels)
    several = bool(seed % 2) or n_labels == 2
    classes = np.arange(n_labels if several or n_labels > 1 else 2)
    X = rng.choice(np.array(VALUES, np.float32), (40, n_features))
    check(classifier_of(model, classes, several), X)


def test_equal_scores_have_the_first_label() -> None:
    """Sums that are zero only if they are exact, and labels with the same scores."""
    stumps = [(0.1, 1), (0.2, 1), (0.3, -1), (0.7, 1), (0.7, -1)]
    terms = [Term(0, 1, -math.inf, np.full(3, v, np.int8), a) for a, v in stumps]
    model = Model([Columns([0])], terms, 3)
    X = np.zeros((2, 1), np.float32)
    check(classifier_of(model, ["a", "b", "c"]), X)
    assert run(classifier_of(model, ["a", "b", "c"]), X)[0].tolist() == ["a", "a"]
    one = Model([Columns([0])], [Term(0, 1, 0.0, np.array([v], np.int8), 0.1) for v in (1, -1)], 1)
    assert run(classifier_of(one, ["no", "yes"]), X)[0].tolist() == ["no", "no"]


@pytest.mark.parametrize("learner", ["stump", "product", "tree:n_leaves=5"])
@pytest.mark.parametrize("kind", ["words", "truth", "large", "numbers", "labels"])
def test_fitted_classifiers(learner: str, kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = table(80, 6)
    X[rng.random(X.shape) < 0.1] = np.nan
    codes = np.nan_to_num(X[:, 0]).astype(int) % 3
    y: Any = {
        "words": np.array(["one", "zw\u00f6lf", ""])[codes],
        "truth": codes == 1,
        "large": codes.astype(np.uint64) + np.uint64(2**63),
        "numbers": codes.astype(float),
        "labels": np.stack([codes == 0, codes == 2], axis=1).astype(int),
    }[kind]
    settings: dict[str, Any] = {"n_rounds": 15, "learner": learner, "random_state": 0}
    model = BoostSampleClassifier(learning_rate=0.1 if kind == "words" else 1.0, **settings)
    check(model.fit(X, y), X)
    made = to_onnx(model, tmp_path / "a.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == made.SerializeToString()
    with pytest.raises(SettingError, match="must be new"):
        to_onnx(model, tmp_path / "a.onnx")
    to_onnx(model, tmp_path / "a.onnx", overwrite=True)


def test_groups_of_columns_and_sparse_tables() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    X, y = table(60, 6), np.arange(60) % 3
    groups = {"b": [5, 1], "a": [0, 2]}
    model = BoostSampleClassifier(n_rounds=10, families=groups, random_state=0)
    check(model.fit(X, y), X)
    model.fit(sparse.csr_matrix(X), y)
    np.testing.assert_array_equal(run(model, sparse.csr_matrix(X))[1], model.decision_function(X))


def test_features_that_onnx_does_not_compute() -> None:
    import pandas

    images, y = table(60, 64).reshape(-1, 8, 8), np.arange(60) % 3
    model = BoostSampleClassifier(n_rounds=10, families=[Haar((8, 8))], random_state=0)
    model.fit(images, y)
    for call in (to_onnx, lambda one: onnx_inputs(one, images)):
        with pytest.raises(SettingError, match="'haar' computes features that ONNX does not"):
            call(model)
    check(model, images, computed=True)
    frame = pandas.DataFrame({"colour": ["red", "blue", "green"] * 20})
    model = BoostSampleClassifier(n_rounds=3, random_state=0).fit(frame, y == 1)
    with pytest.raises(SettingError, match="categories and dates become features"):
        to_onnx(model)
    check(model, frame, computed=True)


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = BoostSampleClassifier(n_rounds=2, random_state=0).fit(table(30), np.arange(30) % 2)
    with pytest.raises(DataError, match="must be finite as float32"):
        onnx_inputs(model, table(30) * np.float64(1e300))
    with pytest.raises(SettingError, match=r"must end in \.onnx"):
        to_onnx(model, tmp_path / "a.bsm")
    with pytest.raises(NotFittedError):
        to_onnx(BoostSampleClassifier())
    model.classes_ = np.array(["2020-01-01", "2021-01-01"], "M8[D]")
    with pytest.raises(SettingError, match="knows classes of text, numbers and truth values"):
        to_onnx(model)
    monkeypatch.setitem(sys.modules, "onnx", None)  # it cannot be imported
    with pytest.raises(SettingError, match=r"pip install 'boostsample\[onnx\]'"):
        to_onnx(model)
