"""Writes the kept model files of the present format: `python -m tests.classifier.keep_models`.

Run it once when the format changes, and commit the new files; those of earlier formats stay.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample import BoostSampleClassifier
from boostsample.classifier.file import FORMAT

FOLDER = Path(__file__).parent / "kept_models"
ROUNDS = 12


def problem(name: str) -> tuple[NDArray[np.float32], Any, dict[str, Any]]:
    """Training examples, labels and settings of a kept model."""
    rng = np.random.default_rng(20)
    images = rng.integers(0, 9, (60, 6, 6)).astype(np.float32)
    total = images.sum(axis=(1, 2))
    codes = np.digitize(total, np.quantile(total, [0.3, 0.6]))
    if name == "images":
        words = np.array(["few", "some", "many"])
        return images, words[codes], {"learner": "tree:n_leaves=3"}
    if name == "labels":
        table = images.reshape(60, -1)
        table[rng.random(table.shape) < 0.05] = np.nan
        return table, np.stack([codes == 0, codes == 2], axis=1).astype(int), {}
    return images.reshape(60, -1)[:, :9], codes == 1, {"learner": "product:n_terms=2"}


NAMES = ("images", "labels", "binary")

if __name__ == "__main__":
    for name in NAMES:
        X, y, settings = problem(name)
        given = {"strategy": "laminating:scheme=distinct", "learner": "stump", **settings}
        model = BoostSampleClassifier(n_rounds=ROUNDS, random_state=0, **given).fit(X, y)
        model.save(FOLDER / f"format-{FORMAT}-{name}.bsm")
        scores, labels = model.decision_function(X), model.predict(X)
        path = FOLDER / f"format-{FORMAT}-{name}.npz"
        np.savez_compressed(path, allow_pickle=False, X=X, scores=scores, labels=labels)
