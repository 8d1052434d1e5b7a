"""Importances on held-out rows: how much the log loss rises when a column is shuffled.

Noise that a model has learned lowers the loss of the training rows, but not that of others, where
its columns have an importance of about 0, above or below.

Cost: for each shuffle of a column, the scores of the rounds that use the column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.classifier.prediction.probabilities import log_probabilities
from boostsample.models.model import Model
from boostsample.registry import registered_class


class HeldImportances(NamedTuple):
    """Importances of the columns of a table on rows that the model has not learned from."""

    names: tuple[str, ...]
    """All columns."""
    rises: NDArray[np.float64]
    """Rise of the log loss in each shuffle, (m, n_repeats); 0 of columns that are not used."""
    log_loss: float
    """Without any shuffle, from `predict_log_proba`."""
    n_rows: int

    def first(self, n_columns: int) -> list[int]:
        """Positions of the columns with the largest mean rises."""
        order = np.argsort(-self.rises.mean(axis=1), kind="stable")
        return [int(at) for at in order[:n_columns]]


def held_importances(
    classifier: Any, X: Any, codes: NDArray[np.int64], *, n_repeats: int = 5, seed: int = 0
) -> HeldImportances:
    """Importances of the columns of X, a table; all indicators of a column are shuffled together.

    `codes` (n,) are the positions of the true classes in `classes_`.
    """
    whole: Model = classifier.model_
    group, names = classifier._groups("column")
    used, feature = np.unique(whole.feature, return_inverse=True)
    examples, group = whole.features(classifier._examples(X), used), group[used]
    families = [registered_class("family", "columns")(range(max(used.size, 1)))]
    model = whole.with_features(families, feature.reshape(-1))
    rows = np.arange(codes.size)

    def loss(scores: NDArray[np.float64]) -> float:
        # The log_loss of scikit-learn checks its input for longer than the model predicts.
        chances = log_probabilities(classifier._decoded(scores), *classifier._odds())
        return -float(chances[rows, codes].mean())

    scores = model.decision_function(examples)
    least = loss(scores)
    rises = np.zeros((len(names), n_repeats))
    rng = np.random.default_rng(seed)
    for column in np.unique(group).tolist():
        part = model.rounds_with(group[model.feature] == column)
        others = scores - part.decision_function(examples)
        values = examples[:, group == column]
        for repeat in range(n_repeats):
            examples[:, group == column] = rng.permutation(values)
            rises[column, repeat] = loss(others + part.decision_function(examples)) - least
        examples[:, group == column] = values
    return HeldImportances(names, rises, least, codes.size)
