"""Labels y in every form that scikit-learn takes; weights of examples and of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.class_weight import compute_sample_weight

from boostsample import BoostSampleClassifier, DataError, SettingError

polars: Any = pytest.importorskip("polars", reason="polars is in the extra 'dev'")

MODEL = BoostSampleClassifier("uniform-q1", "stump", n_rounds=10, random_state=0)
IRIS, SPECIES = load_iris(return_X_y=True)
SEVERAL = np.stack([SPECIES == 0, SPECIES > 0, IRIS[:, 1] > 3], axis=1).astype(int)


def scores(y: Any, weight: Any = None, **settings: Any) -> NDArray[np.float64]:
    model = clone(MODEL).set_params(**settings)
    found: NDArray[np.float64] = model.fit(IRIS, y, sample_weight=weight).decision_function(IRIS)
    return found


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["a", "b"], ["a"]] * 75, "MultiLabelBinarizer"),
        (np.linspace(0, 1, 150), "Unknown label type.*; cut a measured quantity into classes"),
        (None, "requires y to be passed, but the target y is None"),
        (SPECIES[:-1], "inconsistent numbers of samples"),
    ],
)
def test_labels_that_cannot_be_learned(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        clone(MODEL).fit(IRIS, y)


def test_a_column_of_labels_is_one_label() -> None:
    with pytest.warns(sklearn.exceptions.DataConversionWarning):
        found = scores(sparse.csr_array(SPECIES[:, None] > 0))
    np.testing.assert_array_equal(found, scores(SPECIES > 0))


NAMES = np.array(["a", "b", "c"])[SPECIES]


@pytest.mark.parametrize(
    ("y", "class_weight"),
    [
        (NAMES[20:], "balanced"),
        (SPECIES[20:] == 1, "balanced"),
        (NAMES[20:], {"a": 3, "b": 0.5, "c": 1}),
        (NAMES[20:], {"c": 4}),
        (SEVERAL[20:], "balanced"),
        (SEVERAL[20:], [{0: 1, 1: 2}, {0: 3, 1: 1}, {1: 4}]),
    ],
)
def test_class_weights_are_those_of_scikit_learn(y: Any, class_weight: Any) -> None:
    weight = compute_sample_weight(class_weight, y)
    model = clone(MODEL).fit(IRIS[20:], y, sample_weight=weight).decision_function(IRIS)
    same = clone(MODEL).set_params(class_weight=class_weight).fit(IRIS[20:], y)
    np.testing.assert_array_equal(same.decision_function(IRIS), model)
    given = np.arange(len(y)) % 3 + 1.0
    with_both = clone(same).fit(IRIS[20:], y, sample_weight=given).decision_function(IRIS)
    assert not np.array_equal(with_both, model)


def test_balanced_weights_count_weights_of_examples() -> None:
    weight = np.where(np.arange(150) % 4, 1.0, 0.0)
    weighted = weight > 0
    part = clone(MODEL).set_params(class_weight="balanced").fit(IRIS[weighted], SPECIES[weighted])
    whole = scores(SPECIES, weight, class_weight="balanced")
    np.testing.assert_array_equal(part.decision_function(IRIS), whole)
    heavy = np.where(SPECIES == 0, 8.0, 1.0)
    np.testing.assert_array_equal(scores(SPECIES, heavy, class_weight="balanced"), scores(SPECIES))


@pytest.mark.parametrize(
    ("y", "class_weight", "error", "message"),
    [
        (NAMES, "even", SettingError, "class_weight must be None, 'balanced' or a mapping"),
        (SEVERAL, {0: 1}, SettingError, "a list of 3 mappings, one for each label"),
        (NAMES, {"a": 1, "x": 2}, SettingError, "classes of y, got 'x' and no weight of 'b'"),
        (NAMES, {"a": 0, "b": 0}, DataError, r"got 1 class \('c'\) in the rows of weight above 0"),
        (NAMES, {"a": -1}, SettingError, "class_weight of 'a' must be at least 0 .* got -1"),
        (NAMES, {"a": "x"}, SettingError, "class_weight of 'a' must be a number, got 'x'"),
    ],
)
def test_wrong_class_weights(
    y: Any, class_weight: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        scores(y, class_weight=class_weight)


def test_weights_are_routed() -> None:
    weight = np.random.default_rng(0).random(150)
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(MODEL).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        piped = make_pipeline(MinMaxScaler(), model).fit(IRIS, SPECIES, sample_weight=weight)
        searched = GridSearchCV(model, {"n_rounds": [3, 10]}, cv=2)
        searched.fit(IRIS, SPECIES, sample_weight=weight)
        silent = clone(MODEL).set_fit_request(sample_weight=False)
        with pytest.raises(TypeError, match=r"unexpected argument.*sample_weight"):
            make_pipeline(silent).fit(IRIS, SPECIES, sample_weight=weight)
    scaled = MinMaxScaler().fit_transform(IRIS)
    by_hand = clone(MODEL).fit(scaled, SPECIES, sample_weight=weight)
    np.testing.assert_array_equal(piped.decision_function(IRIS), by_hand.decision_function(scaled))
    best = clone(MODEL).set_params(**searched.best_params_).fit(IRIS, SPECIES, weight)
    np.testing.assert_array_equal(searched.decision_function(IRIS), best.decision_function(IRIS))
