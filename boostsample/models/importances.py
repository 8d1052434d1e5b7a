"""Importances: how much of the fall of the log loss each term, column and family has brought.

A round multiplies the exponential loss by (1 + G) / 2 exp(-alpha) + (1 - G) / 2 exp(alpha), G the
edge of its base classifier. Its importance is the fall of the log loss, -log sqrt(1 - G^2) =
log cosh(alpha) by a full step, shared equally by its terms. A term without a threshold (-inf) votes
the same for all values and so reads nothing, unless values are missing: otherwise it has no
importance, and the other terms of its round share it. A constant, a term alone with the same votes
on both sides, has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.family import Family
from boostsample.models.model import Model
from boostsample.records import Term
from boostsample.rows.weights import FULL_STEP, StepSize

_LOG_2 = float(np.log(2.0))


def log_loss_falls(
    alpha: NDArray[np.float64], step_size: StepSize = FULL_STEP
) -> NDArray[np.float64]:
    """Falls of the log loss by rounds with these coefficients: -log sqrt(1 - G^2) by full steps.

    >>> bool(np.isclose(log_loss_falls(np.arctanh([0.6]))[0], -np.log(0.8)))
    True
    """
    if step_size.is_full:
        return np.asarray(np.logaddexp(alpha, -alpha) - _LOG_2)
    edges = map(step_size.edge, alpha.tolist())
    changes = np.array([step_size.log_loss_change(edge) for edge in edges], np.float64)
    return np.maximum(-changes, 0.0)  # an edge near 0 may round to less


def term_importances(
    rounds: Sequence[Sequence[Term]],
    bank: Bank,
    rows: NDArray[np.int64],
    step_size: StepSize = FULL_STEP,
) -> NDArray[np.float64]:
    """Importances of the terms of all rounds: float64 (M,), at least 0.

    `bank` and `rows` are those of the training, to see whether a feature has missing values.
    """
    reader = bank.reader(rows)
    missing: dict[int, bool] = {}

    def reads(term: Term) -> bool:
        if term.value > -np.inf:
            return True
        if term.feature not in missing:
            taken = reader.take(np.array([term.feature], np.int64), rows)
            missing[term.feature] = bool(np.any(taken == 0))
        return missing[term.feature]

    falls = log_loss_falls(np.array([terms[0].alpha for terms in rounds]), step_size)
    shared: list[float] = []
    for fall, terms in zip(falls.tolist(), rounds, strict=True):
        votes = terms[0].votes, terms[0].below
        constant = len(terms) == 1 and np.array_equal(*votes)  # type: ignore[arg-type]  # not None
        readers = [not constant and reads(term) for term in terms]
        shared += [fall / sum(readers) if reads_it else 0.0 for reads_it in readers]
    return np.array(shared, np.float64)


def model_importances(
    model: Model, reads: NDArray[np.bool_] | None = None, step_size: StepSize = FULL_STEP
) -> NDArray[np.float64]:
    """Importances of the terms of a model without its training rows: float64 (M,).

    `reads` (M,) says which terms read their feature. If it is not known, they are those with a
    threshold, as if no value were missing. The model must come from steps of this size.
    """
    number = np.cumsum(model.parent < 0) - 1  # round of each term
    if reads is None:
        varies = np.any(model.votes != model.below, axis=1) | (np.bincount(number)[number] > 1)
        reads = np.asarray((model.threshold > -np.inf) & varies)
    readers = np.bincount(number[reads], minlength=len(model))[number]
    falls = log_loss_falls(model.alpha, step_size)
    return np.asarray(np.where(reads, falls / np.maximum(readers, 1), 0.0))


def family_importances(model: Model, importances: NDArray[np.float64]) -> dict[str, float]:
    """Share of each family in the importances, by name; they sum to 1, or are all 0."""
    owner = np.searchsorted(_ends(model.families), model.feature, side="right")
    sums = np.bincount(owner, importances, len(model.families))
    names = [family.name for family in model.families]
    return dict(zip(names, _shares(sums).tolist(), strict=True))


def column_importances(
    model: Model, importances: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Share of each column of a table in the importances: float64, up to the last column in use.

    None if the features of a family are not columns, see `feature_columns`.
    """
    column = feature_columns(model)
    return None if column is None else _shares(np.bincount(column[model.feature], importances))


def feature_columns(model: Model) -> NDArray[np.int64] | None:
    """The column of each feature of families that have the attribute `columns`; else None."""
    columns = [getattr(family, "columns", None) for family in model.families]
    if any(
        columns_of is None or len(columns_of) != family.n_features
        for columns_of, family in zip(columns, model.families, strict=True)
    ):
        return None
    return np.concatenate([np.asarray(columns_of, np.int64) for columns_of in columns])


def _ends(families: Sequence[Family]) -> NDArray[np.int64]:
    return np.cumsum([family.n_features for family in families], dtype=np.int64)


def _shares(sums: NDArray[Any]) -> NDArray[np.float64]:
    total = sums.sum()
    return np.asarray(sums / total if total > 0 else sums)
