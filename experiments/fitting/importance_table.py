"""Importances of columns on held-out rows, beside those of the training."""

from __future__ import annotations

import numpy as np

from boostsample.classifier.prediction.held_importances import HeldImportances
from boostsample.estimator import BoostSampleClassifier
from boostsample.experiments.tables.tables import Table


def importance_table(
    model: BoostSampleClassifier, held: HeldImportances | None, n_columns: int
) -> Table | None:
    """The first columns by their importance on held-out rows, or else by their share of training.

    None if the features of the model are not made of columns.
    """
    if not hasattr(model, "feature_importances_"):
        return None
    names, shares = model._groups("column")[1], model.feature_importances_
    if held is None:
        order = np.argsort(-shares, kind="stable")[:n_columns].tolist()
        title = "columns by their share in training; --data gives their importance on other rows"
        rows = [(names[at], f"{100 * shares[at]:.1f}") for at in order]
        return Table(title, ("column", "training %"), tuple(rows))
    means, spreads = held.rises.mean(axis=1), held.rises.std(axis=1, ddof=1)
    cells = [
        (names[at], f"{means[at]:.4f} ({spreads[at]:.4f})", f"{100 * shares[at]:.1f}")
        for at in held.first(n_columns)
    ]
    title = (
        f"importance of columns on {held.n_rows:,} held-out rows: rise of their log loss, "
        f"{held.log_loss:.4f}, if the column is shuffled; mean (std) of {held.rises.shape[1]} "
        "shuffles"
    )
    return Table(title, ("column", "held out", "training %"), tuple(cells))
