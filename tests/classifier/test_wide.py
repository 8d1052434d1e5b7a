"""Tables of many columns: neither looks nor memory grow beyond their bounds."""

from __future__ import annotations

import tracemalloc

import numpy as np

from boostsample import BoostSampleClassifier


def test_a_table_of_100_000_columns() -> None:
    """The budget of the defaults is 1,000 N looks; a pass over all of them takes 100,000 N."""
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 100_000), np.float32), np.arange(60) % 2
    X[:, 77_777] = y + 0.4 * X[:, 77_777]
    model = BoostSampleClassifier(n_rounds=3, random_state=0)
    model.fit(X[:, :4000], y).predict_proba(X[:, :4000])  # imports modules and loads kernels
    tracemalloc.start()
    model.fit(X, y)
    probabilities = model.predict_proba(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert probabilities.shape == (60, 2)
    assert model.feature_importances_.shape == (100_000,)
    assert all(row["looks_search"] <= 1000 * 60 for row in model.history_)
    assert peak < 10 * X.nbytes  # 4 of them are room for 255 bin edges of each column
