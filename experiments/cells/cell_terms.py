"""The model of a cell, from its arrays: see `boostsample.records.term_arrays`.

Feature and raw threshold of a term are those of its search.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.records import Term
from boostsample.records.term_arrays import Cuts, terms_each, terms_of_arrays


def round_edges(arrays: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Edge of the base classifier of each round: float64 (n_rounds,)."""
    return arrays["round_edge"] if "round_edge" in arrays else arrays["edge"]


def rounds_of_cell(
    arrays: dict[str, NDArray[Any]], alphas: NDArray[np.float64], n_labels: int, bank: Bank
) -> list[list[Term]]:
    """The terms of each round of a cell, with thresholds as bins of the bank."""
    first_search = np.concatenate([[0], np.cumsum(arrays["searches"], dtype=np.int64)])
    found = np.repeat(first_search[:-1], terms_each(arrays, alphas.size))
    found = found + arrays.get("term_search", np.zeros(found.size, np.int64))
    feature = arrays["feature"][found].astype(np.int64)
    raw = arrays["threshold"][found]
    threshold = np.empty(found.size, np.int64)
    for at in range(found.size):
        cuts = bank.cuts_of(feature[at : at + 1])[0]
        threshold[at] = 1 + np.searchsorted(cuts, raw[at], side="right")
    cut = Cuts(feature, threshold, raw.astype(np.float64))
    return terms_of_arrays(arrays, cut, alphas, n_labels)
