"""Scores from bins equal the model's scores from raw features."""

from __future__ import annotations

import numpy as np
import pytest

from boostsample.banks.bank import FeatureBank
from boostsample.experiments.cells import evaluation
from boostsample.experiments.cells.evaluation import Scores
from boostsample.families.columns import Columns
from boostsample.models.model import Model
from boostsample.records import Term


@pytest.mark.parametrize("block", [7, 4096])
@pytest.mark.parametrize("n_terms", [1, 255, 256, 700])
def test_scores_equal_the_models(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, n_terms: int, block: int
) -> None:
    monkeypatch.setattr(evaluation, "_BLOCK", block)
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


def test_asking_in_between_changes_nothing(rng: np.random.Generator) -> None:
    X = rng.random((50, 4), dtype=np.float32)
    bank = FeatureBank.build([Columns(range(4))], X)
    curious, patient = (Scores(bank, np.arange(50), 1) for _ in range(2))
    for _ in range(300):
        feature = int(rng.integers(4))
        term = Term(feature, 5, 0.0, np.array([1], np.int8), float(rng.random()))
        for scores in (curious, patient):
            scores.add([term])
        curious.current()
    assert np.array_equal(curious.current(), patient.current())
