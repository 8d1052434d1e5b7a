"""Importances: equal to the formula, round by round, and usable for selection."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris

from boostsample import BoostSampleClassifier, SettingError
from boostsample.experiments.plots.explained import explain_figure
from boostsample.families import Columns, Haar, Identity
from boostsample.models.importances import explain, model_importances
from boostsample.models.model import Model
from boostsample.records import Term
from boostsample.rows.weights import StepSize


def naive_shares(model: Any, X: NDArray[Any], kind: str) -> dict[Any, float]:
    """Shares from the history rows: the loss of each round falls by the factor of its loss."""
    rounds: dict[int, list[dict[str, Any]]] = {}
    for row in model.history_:
        if row.get("term", 0) >= 0:
            rounds.setdefault(row["round"], []).append(row)
    sums: dict[Any, float] = {}
    before = 0.0
    for rows in rounds.values():
        fall = (before - rows[0]["log10_loss"]) * math.log(10)
        before = rows[0]["log10_loss"]
        reading = [
            row
            for row in rows
            if row["threshold"] > -math.inf or np.isnan(X[:, row["feature"]]).any()
        ]
        for row in reading:
            sums[row[kind]] = sums.get(row[kind], 0.0) + fall / len(reading)
    total = sum(sums.values())
    return {key: value / total for key, value in sums.items()}


@pytest.mark.parametrize("weight_init", ["balanced", "uniform"])
@pytest.mark.parametrize("learner", ["stump", "product:n_terms=3", "tree:n_leaves=4"])
@pytest.mark.parametrize("step_size", [(1.0, 0.0), (0.1, 0.0), (0.5, 2.0)])
def test_shares_are_those_of_the_formula(
    learner: str, weight_init: str, step_size: tuple[float, float]
) -> None:
    X, y = load_digits(return_X_y=True)
    X = X[:300].copy()
    X[::7, 20:24] = np.nan
    families = {"top": "0-31", "bottom": "32-63"}
    model = BoostSampleClassifier(
        learner=learner,
        n_rounds=15,
        weight_init=weight_init,
        families=families,
        random_state=1,
        learning_rate=step_size[0],
        smoothing=step_size[1],
    ).fit(X, y[:300])
    expected = naive_shares(model, X, "feature")
    importances = model.feature_importances_
    assert importances.shape == (64,)
    np.testing.assert_allclose(importances, [expected.get(j, 0.0) for j in range(64)], atol=1e-5)
    by_family = naive_shares(model, X, "family")
    assert model.family_importances_ == pytest.approx(
        {name: by_family.get(name, 0.0) for name in families}, abs=1e-5
    )
    assert importances.sum() == pytest.approx(1.0)


def test_a_constant_stump_reads_no_column() -> None:
    """With uniform weights the first stump votes -1 for all classes, with any feature."""
    X, y = load_digits(return_X_y=True)
    how: Any = {"n_rounds": 3, "weight_init": "uniform", "random_state": 0}
    how |= {"learning_rate": 1.0}
    model = BoostSampleClassifier("full", "stump", **how).fit(X[:200], y[:200])
    assert model.model_.threshold[0] == -np.inf
    assert model.term_importances_[0] == 0.0
    assert np.all(model.term_importances_[1:] > 0.0)


def test_a_stump_that_sees_missing_values_reads_a_column() -> None:
    y = np.arange(40) % 2
    X = np.stack([np.where(y == 0, np.nan, 1.0), np.zeros(40)], axis=1)
    model = BoostSampleClassifier("full", n_rounds=2, random_state=0).fit(X, y)
    assert model.model_.threshold[0] == -np.inf
    assert model.feature_importances_.tolist() == [1.0, 0.0]


def test_columns_in_two_families_are_added() -> None:
    X, y = load_iris(return_X_y=True)
    families = {"petal": [2, 3], "length": [0, 2]}
    model = BoostSampleClassifier(n_rounds=20, families=families, random_state=0).fit(X, y)
    expected = np.zeros(4)
    columns = [2, 3, 0, 2]
    for feature, share in zip(model.model_.feature, model.term_importances_, strict=True):
        expected[columns[feature]] += share
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum())
    assert model.feature_importances_[1] == 0.0


def test_images_have_importances_of_families_only() -> None:
    X, y = load_digits(return_X_y=True)
    families = [Identity((8, 8)), Haar((8, 8))]
    model = BoostSampleClassifier(n_rounds=10, families=families, random_state=0)
    model.fit(X[:200].reshape(-1, 8, 8), y[:200])
    assert set(model.family_importances_) == {"identity", "haar"}
    assert sum(model.family_importances_.values()) == pytest.approx(1.0)
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(AttributeError, match="see family_importances_"):
        _ = model.feature_importances_


@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=4"])
def test_those_of_a_model_alone_need_no_rows(learner: str) -> None:
    X, y = load_digits(return_X_y=True)
    model = BoostSampleClassifier(
        learner=learner, n_rounds=10, weight_init="uniform", random_state=0
    ).fit(X[:200], y[:200])
    importances = model_importances(model.model_, step_size=StepSize(model.learning_rate, 0.0, 200))
    np.testing.assert_allclose(importances, model.term_importances_)


NAMES = ["height", "width", "age", "price"]


def term(feature: int, value: float, votes: list[int], alpha: float, *place: Any) -> Term:
    return Term(feature, 1, value, np.array(votes, np.int8), alpha, *place)


@pytest.fixture
def model() -> Model:
    """Three stumps, two of them with the same threshold, and a product of two terms."""
    families = [
        Columns([0, 1], "size", column_names=NAMES),
        Columns([2, 3], "rest", column_names=NAMES),
    ]
    terms = [
        term(0, 1.5, [1, -1, -1], 0.5),
        term(3, -math.inf, [1, 1, -1], 0.1),
        term(0, 1.5, [1, 1, -1], 0.25),
        term(2, 7.0, [1, -1, 1], 0.2),
        term(0, 2.5, [1, 1, 1], 0.2, None, 0, 0, 0),
    ]
    return Model(families, terms, 3)


def test_shares_are_falls_of_the_log_loss(model: Model) -> None:
    edges = np.tanh([0.5, 0.1, 0.25, 0.2])
    falls = -np.log(np.sqrt(1 - edges**2))
    want = np.array([falls[0], 0.0, falls[2], falls[3] / 2, falls[3] / 2])
    want /= want.sum()
    explanation = explain(model, ["a", "b", "c"])
    assert [use.name for use in explanation.families] == ["size", "rest"]
    assert explanation.families[0].share == pytest.approx(want[[0, 2, 4]].sum(), rel=1e-12)
    assert [use.n_used for use in explanation.families] == [1, 2]
    assert [use.name for use in explanation.features] == ["height", "age", "price"]
    assert [use.n_terms for use in explanation.features] == [3, 1, 1]
    assert [cut.threshold for cut in explanation.features[0].cuts] == [1.5, 2.5]
    score = explanation.features[0].cuts[0].score
    assert score is not None
    np.testing.assert_allclose(score, [0.75, -0.25, -0.75])
    assert explanation.features[0].cuts[1].score is None


def test_the_words(model: Model) -> None:
    text = str(explain(model, ["a", "b", "c"], n_features=3))
    assert "A model of 4 rounds with 5 terms that reads 3 features." in text
    assert "size: 1 of 2 features in 3 terms" in text
    assert "height (size), 3 terms" in text
    assert "at least 1.5: for a; against c, b" in text
    assert "at least 2.5: 1 term of products or trees" in text
    assert "not missing: for a, b; against c" in text
    assert "label 0" in str(explain(model))
    binary = Model(model.families, [term(0, 2.0, [-1], 0.5)], 1)
    assert "at least 2: against yes" in str(explain(binary, ["no", "yes"]))


def test_importances_may_be_given(model: Model) -> None:
    explanation = explain(model, n_features=1, importances=np.array([0, 0, 0, 3.0, 1.0]))
    assert [(use.name, use.share) for use in explanation.families] == [
        ("rest", 0.75),
        ("size", 0.25),
    ]
    assert [use.name for use in explanation.features] == ["age"]
    with pytest.raises(SettingError, match="importances must be one for each of 5 terms"):
        explain(model, importances=np.ones(4))
    with pytest.raises(SettingError, match="classes must name the 3 labels of the model, got 2"):
        explain(model, ["a", "b"])
    with pytest.raises(SettingError, match="n_features must be an integer at least 0, got -1"):
        explain(model, n_features=-1)


def test_the_picture(model: Model) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra 'report'")
    explanation = explain(model, ["a", "b", "c"])
    figure = explain_figure(explanation)
    widths = [[bar.get_width() for bar in axes.containers[0]] for axes in figure.axes]
    assert widths[0] == [100 * use.share for use in explanation.families]
    assert widths[1] == [100 * use.share for use in explanation.features]
    assert "height" in str(figure.get_label())
