"""Explanations: shares are those of the definition, and the words fit the numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from boostsample import SettingError
from boostsample.experiments.plots.explained import explain_figure
from boostsample.families import Columns
from boostsample.models.importances import explain
from boostsample.models.model import Model
from boostsample.records import Term

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
