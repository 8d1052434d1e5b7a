"""Importances of columns on held-out rows, beside those of the training."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from boostsample.classifier.prediction.held_importances import held_importances
from boostsample.errors import SettingError
from boostsample.estimator import BoostSampleClassifier
from boostsample.experiments.fitting.table_models import read_known_rows
from boostsample.experiments.tables.tables import Table

__all__ = ["importance_table"]


def importance_table(
    model: BoostSampleClassifier, data: str | None, target: str | None, n_columns: int
) -> Table | None:
    """The first columns by their importance on the rows of a file, or by their share of training.

    None if the features of the model are not made of columns. SettingError if only one of `data`
    and `target` is given.
    """
    if (data is None) != (target is None):
        raise SettingError("--data TABLE and --target COLUMN must be given together")
    if data is not None and target is not None:
        X, codes = read_known_rows(model, data, target)
        names, rises, least = held_importances(model, X, codes)
        means, spread = rises.mean(axis=1), rises.std(axis=1, ddof=1)
        shares = model.feature_importances_
        order = np.argsort(-means, kind="stable")[:n_columns].tolist()
        shown = [f"{means[at]:.4f} ({spread[at]:.4f})" for at in order]
        title = (
            f"importance of columns on held-out rows: rise of the log loss, {least:.4f} for the "
            f"{codes.size:,} rows of {Path(data).name}, if the column is shuffled; mean (std) of "
            f"{rises.shape[1]} shuffles"
        )
    elif hasattr(model, "feature_importances_"):
        names, shares = model._groups("column")[1], model.feature_importances_
        order = np.argsort(-shares, kind="stable")[:n_columns].tolist()
        title = "columns by their share in training; --data gives their importance on other rows"
    else:
        return None
    named = [(names[at], f"{100 * shares[at]:.1f}") for at in order]
    if data is None:
        return Table(title, ("column", "training %"), tuple(named))
    rows = ((name, of_held, share) for (name, share), of_held in zip(named, shown, strict=True))
    return Table(title, ("column", "held out", "training %"), tuple(rows))
