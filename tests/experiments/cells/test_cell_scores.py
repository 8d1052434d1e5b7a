"""Scores, errors, class metrics, ROC areas and margins agree with their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from boostsample.banks.bank import FeatureBank
from boostsample.experiments.cells import training
from boostsample.experiments.cells.training import (
    MARGIN_BINS,
    Scores,
    area_under_roc,
    evaluate_cell,
    evaluate_margins,
)
from boostsample.families import Columns
from boostsample.labels import encode, error_percent
from boostsample.loop.booster import Booster
from boostsample.models.model import Model
from boostsample.records import Term
from boostsample.strategies import UniformNaive


def test_labels_of_one_sign_do_not_count() -> None:
    scores = np.array([[0.1, 1.0], [0.2, 2.0], [0.3, 3.0]])
    signs = np.array([[-1, 1], [1, 1], [1, 1]], np.int8)
    assert area_under_roc(scores, signs) == 1.0
    assert np.isnan(area_under_roc(scores[:, 1:], signs[:, 1:]))


def test_margins_are_counted_over_the_whole_range() -> None:
    scores = np.array([[2.0, -2.0, 0.0], [1.0, -0.5, 2.0 + 1e-15]])
    signs = np.array([[1, 1, -1], [-1, -1, 1]], np.int8)
    counts = evaluate_margins(scores, signs, 2.0)
    assert counts.sum() == 6
    assert (counts[0], counts[-1]) == (1, 2)
    assert counts[MARGIN_BINS // 2] == 1
    assert counts[MARGIN_BINS // 4] == 1
    assert evaluate_margins(scores, signs, 0.0)[MARGIN_BINS // 2] == 6


def test_scores_are_those_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "_MOST_TRAINING", 30)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4)).astype(np.float32)
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5]).astype(np.int64)
    train, test = np.arange(80), np.arange(80, 120)
    families = [Columns(range(4))]
    bank = FeatureBank.build(families, X, train)
    booster = Booster(bank, train, encode(y[train], 3), UniformNaive(n_features=2), rng=0)
    rounds = [booster.next_round().terms for _ in range(12)]
    model = Model(families, [term for terms in rounds for term in terms], 3)
    scores = evaluate_cell(bank, train, test, y, 3, rounds, (1, 5), (7, 99), lambda: None)
    assert scores["points"].tolist() == [1, 5, 7, 12]
    assert scores["marks"].tolist() == [7, 12]
    for at, error in zip((1, 5, 7, 12), scores["error"].tolist(), strict=True):
        assert error == error_percent(model.decision_function(X[test], at), y[test])
    for number, at in enumerate((7, 12)):
        total = float(model.alpha[:at].sum())
        for part, rows in enumerate((train[::3], test)):
            counts = evaluate_margins(
                model.decision_function(X[rows], at), encode(y[rows], 3), total
            )
            np.testing.assert_array_equal(scores["margins"][part, number], counts)
        area = area_under_roc(model.decision_function(X[test], at), encode(y[test], 3))
        assert scores["auc"][number] == area


def test_error_percent() -> None:
    scores = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    assert error_percent(scores, [0, 1, 1, 0]) == 50.0
    assert error_percent(scores - 0.5, np.array([[1, 0], [0, 1], [1, 0], [1, 1]])) == 12.5
    assert error_percent(np.array([[1.0], [-1.0]]), [1, 1]) == 50.0
    for y in ([0, 1, 2], [2, 0, 1]):
        assert error_percent(encode(y).astype(float), y) == 0.0


@pytest.mark.parametrize("block", [7, 4096])
@pytest.mark.parametrize("n_terms", [1, 255, 256, 700])
def test_scores_equal_the_models(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, n_terms: int, block: int
) -> None:
    monkeypatch.setattr(training, "_BLOCK", block)
    X = rng.integers(0, 9, (60, 5)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    bank = FeatureBank.build([Columns(range(5))], X, np.arange(40))
    test_rows = np.array([59, 3, 41, 42, 57, 50, 48, 44, 10])
    terms = []
    for _ in range(n_terms):
        feature = int(rng.integers(5))
        b = int(rng.integers(1, bank.n_bins[feature]))
        votes = rng.choice([-1, 1], 3).astype(np.int8)
        terms.append(Term(feature, b, bank.threshold(feature, b), votes, float(rng.random())))
    scores = Scores(bank, test_rows, 3)
    assert not scores.current().any()
    for at, term in enumerate(terms):
        scores.add([term])
        if at in (0, 100, 254, 255, 256, 600, n_terms - 1):
            model = Model(bank.families, terms[: at + 1], 3)
            np.testing.assert_allclose(
                scores.current(), model.decision_function(X[test_rows]), rtol=0, atol=1e-9
            )
