"""Scores of a model after each of its rounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.models.model import Model

_CHUNK = 256
"""Rounds whose features are in memory at a time, as in `Model.decision_function`."""


def staged_scores(model: Model, X: Any) -> Iterator[NDArray[np.float64]]:
    """Scores float64 (n, K) after round 1, 2, ..., the last; each an array of its own.

    All rounds together cost about two `Model.decision_function`, and memory for the features of 256
    rounds. At the ends of these chunks, the last round included, the scores are summed as by
    `Model.decision_function`; the others differ from it by rounding.
    """
    done = np.zeros((X.shape[0], model.n_labels))
    for start in range(0, len(model), _CHUNK):
        end = min(start + _CHUNK, len(model))
        part = model.terms(start, end)
        different, at = np.unique(model.feature[part], return_inverse=True)
        values = model.features(X, different)
        sides = (values[:, at] >= model.threshold[part].astype(np.float32)).T
        scores = done.copy()
        for number in range(start, end - 1):
            own = model.terms(number, number + 1)
            model.add_scores(sides[own.start - part.start : own.stop - part.start], own, scores)
            yield scores.copy()
        model.add_scores(sides, part, done)
        yield done.copy()
