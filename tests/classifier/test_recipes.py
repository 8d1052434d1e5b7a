"""What scikit-learn's users do with a classifier: each recipe with ours in place of theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    TunedThresholdClassifierCV,
    cross_val_predict,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from boostsample import BoostSampleClassifier

Data = tuple[NDArray[Any], NDArray[Any]]
CV: dict[str, Any] = {"cv": 3}
MODEL = BoostSampleClassifier("full", "stump", n_rounds=40, learning_rate=1.0, random_state=0)
MODELS = [("ours", MODEL), ("linear", LogisticRegression())]


@pytest.fixture(scope="module")
def data() -> Data:
    """Eight columns, of which the first two are useful."""
    X = np.random.default_rng(0).normal(size=(300, 8))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


def useful(importances: Any) -> bool:
    """Whether the two useful columns have the largest importances, or are the chosen ones."""
    return set(np.argsort(np.asarray(importances, float))[-2:].tolist()) == {0, 1}


def rises(curve: tuple[Any, ...]) -> bool:
    return bool(curve[2].mean(axis=1)[-1] > curve[2].mean(axis=1)[0] - 0.05)


RECIPES: dict[str, Callable[[Any, Any], Any]] = {
    "soft voting": lambda X, y: VotingClassifier(MODELS, voting="soft").fit(X, y).score(X, y) > 0.9,
    "stacking": lambda X, y: StackingClassifier(MODELS, **CV).fit(X, y).score(X, y) > 0.9,
    "a pipeline": lambda X, y: (
        make_pipeline(StandardScaler(), clone(MODEL)).fit(X, y).score(X, y) == MODEL.score(X, y)
    ),
    "calibration": lambda X, y: (
        log_loss(y, CalibratedClassifierCV(MODEL, **CV).fit(X, y).predict_proba(X)) < 0.4
    ),
    "a threshold": lambda X, y: (
        TunedThresholdClassifierCV(MODEL, scoring="recall", **CV).fit(X, y).predict(X)[y == 1].all()
    ),
    "cross_val_predict": lambda X, y: (
        log_loss(y, cross_val_predict(MODEL, X, y, method="predict_proba", **CV)) < 0.4
    ),
    "learning_curve": lambda X, y: rises(learning_curve(MODEL, X, y, train_sizes=[0.2, 1], **CV)),
    "permutation_importance": lambda X, y: useful(
        permutation_importance(MODEL, X, y, random_state=0).importances_mean
    ),
    "partial_dependence": lambda X, y: (
        np.ptp(partial_dependence(MODEL, X, [0], grid_resolution=5)["average"])
        > np.ptp(partial_dependence(MODEL, X, [7], grid_resolution=5)["average"])
    ),
    "SelectFromModel": lambda X, y: useful(
        SelectFromModel(MODEL, max_features=2).fit(X, y).get_support()
    ),
    "RFE": lambda X, y: useful(RFE(MODEL, n_features_to_select=2).fit(X, y).support_),
}


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_of_scikit_learn(recipe: str, data: Data) -> None:
    MODEL.fit(*data)
    assert RECIPES[recipe](*data)
