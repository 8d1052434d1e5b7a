"""The model predicts from raw features, and computes those in use only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from boostsample.errors import DataError
from boostsample.families import Columns
from boostsample.loop.booster import Booster
from boostsample.models.model import Model
from boostsample.records import Term
from boostsample.strategies import UniformNaive
from tests.problems import bank_of, noisy_labels, table


def term(feature: int, value: float, votes: list[int], alpha: float) -> Term:
    return Term(feature, 1, value, np.array(votes, np.int8), alpha)


def naive_scores(X: NDArray[Any], terms: list[Term], n_labels: int) -> NDArray[np.float64]:
    scores = np.zeros((len(X), n_labels))
    for i, row in enumerate(X.tolist()):
        for stump in terms:
            above = not math.isnan(row[stump.feature]) and row[stump.feature] >= stump.value
            for label in range(n_labels):
                scores[i, label] += stump.alpha * int(stump.votes[label]) * (1 if above else -1)
    return scores


class Watched(Columns):
    """Columns that remember which features were computed."""

    asked: list[int]

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        self.asked = [*getattr(self, "asked", []), *np.asarray(features).tolist()]
        return super().compute(X, features)


def test_scores() -> None:
    rng = np.random.default_rng(0)
    X = table(30, 6)
    X[rng.random(X.shape) < 0.2] = np.nan
    families = [Watched(range(2), "a"), Watched([2, 3], "b"), Watched([5, 4], "c")]
    terms = [
        term(0, 3.5, [1, -1, 1], 0.5),
        term(1, -np.inf, [1, 1, -1], 0.25),
        term(0, 3.5, [-1, -1, 1], 2.0),
        term(3, 4.0, [1, 1, 1], 0.125),  # a value at the threshold is above it
    ]
    model = Model(families, terms, 3)
    assert len(model) == 4
    np.testing.assert_allclose(model.decision_function(X), naive_scores(X, terms, 3), atol=1e-12)
    assert [sorted(set(getattr(f, "asked", []))) for f in families] == [[0, 1], [1], []]
    for used in range(5):
        want = naive_scores(X, terms[:used], 3)
        np.testing.assert_allclose(model.decision_function(X, used), want, atol=1e-12)
    with pytest.raises(DataError, match="between 0 and 4, got 5"):
        model.decision_function(X, 5)


def test_many_stumps_and_new_rows() -> None:
    """More stumps than a chunk; the stumps of a real run on rows that it never saw."""
    X, Y = table(60, 8), noisy_labels(60)
    X += np.float32(0.1) * np.random.default_rng(0).normal(size=X.shape).astype(np.float32)
    rows = np.arange(0, 60, 2)
    bank = bank_of(X, rows, groups=2)
    booster = Booster(bank, rows, Y[rows], UniformNaive(), n_rounds=600, rng=0)
    terms = []
    while not booster.finished:
        terms.extend(booster.next_round().terms)
    assert len(terms) == 600
    model = Model(bank.families, terms, 3)
    want = naive_scores(X, terms, 3)
    np.testing.assert_allclose(model.decision_function(X), want, atol=1e-9)
    # The same from the bins of the bank: raw thresholds and bins never disagree.
    by_bins = np.zeros_like(want)
    for stump in terms:
        phi = np.where(bank.bins[stump.feature] >= stump.threshold, 1, -1)
        by_bins += stump.alpha * phi[:, None] * stump.votes
    np.testing.assert_allclose(by_bins, want, atol=1e-9)


def test_a_model_is_shown_in_notebooks() -> None:
    families = [Columns(range(2), n_columns=4, name="a"), Columns([2, 3], n_columns=4, name="<b>")]
    terms = [term(at % 4, -math.inf if at == 1 else 0.5, [1, -1], 0.25) for at in range(12)]
    shown = Model(families, terms, 2)._repr_html_()
    assert "12 stumps, 2 votes each; the first 10 are shown" in shown
    assert shown.count("<tr>") == 1 + 10
    assert "<td>1</td><td>a</td>" in shown
    assert "<td>4</td><td>&lt;b&gt;</td>" in shown
    assert "<td>-inf</td><td>0.2500</td><td>+-</td>" in shown
