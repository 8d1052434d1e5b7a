"""The model of a cell: its terms as arrays, and back.

Of stumps, ``votes`` has K bits each, set for +1; ``threshold``, ``feature`` and ``edge`` of the
searches complete the model. Of products and trees, ``terms`` is the number of terms of each round
and ``round_edge`` (float64) the edge of its base classifier; ``votes`` and ``below`` have K bits
for each term, and ``term_search``, ``term_parent``, ``term_side`` and ``term_split`` say which
search found it and where it stands: `boostsample.records.Term`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.records import Round, Term

__all__ = ["TERM_ARRAYS", "TERM_INTEGERS", "round_edges", "rounds_of_cell", "term_arrays"]

TERM_INTEGERS = ("terms", "term_search", "term_parent", "term_side", "term_split")
"""Arrays of integers with one element per term, or per round; products and trees only."""
TERM_ARRAYS = (*TERM_INTEGERS, "votes", "below", "round_edge")
"""Arrays with one element per term or per round."""


def term_arrays(rounds: Sequence[Round]) -> dict[str, NDArray[Any]]:
    """The arrays of the model of these rounds; integers as int64."""
    terms = [term for one in rounds for term in one.terms]
    votes = _bits([term.votes for term in terms])
    if all(len(one.rows) == len(one.terms) == 1 for one in rounds) and all(
        term.below is None for term in terms
    ):
        return {"votes": votes}
    integers = {
        "terms": [len(one.terms) for one in rounds],
        "term_search": [term.search for term in terms],
        "term_parent": [term.parent for term in terms],
        "term_side": [term.side for term in terms],
        "term_split": [term.below is not None for term in terms],
    }
    below = [-term.votes if term.below is None else term.below for term in terms]
    return {
        **{name: np.array(values, np.int64) for name, values in integers.items()},
        "votes": votes,
        "below": _bits(below),
        "round_edge": np.array([one.edge for one in rounds], np.float64),
    }


def _bits(votes: Sequence[NDArray[np.int8]]) -> NDArray[np.uint8]:
    return np.packbits(np.array(votes).reshape(len(votes), -1) > 0, axis=1)


def _votes(bits: NDArray[np.uint8], n_labels: int) -> NDArray[np.int8]:
    return np.where(np.unpackbits(bits, axis=1, count=n_labels) == 1, 1, -1).astype(np.int8)


def round_edges(arrays: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Edge of the base classifier of each round: float64 (n_rounds,)."""
    return arrays["round_edge"] if "round_edge" in arrays else arrays["edge"]


def rounds_of_cell(
    arrays: dict[str, NDArray[Any]], alphas: NDArray[np.float64], n_labels: int, bank: Bank
) -> list[list[Term]]:
    """The terms of each round of a cell, with thresholds as bins of the bank."""
    feature, raw = arrays["feature"].astype(np.int64), arrays["threshold"]
    votes = _votes(arrays["votes"], n_labels)
    stumps = "terms" not in arrays
    counts = np.ones(alphas.size, np.int64) if stumps else arrays["terms"].astype(np.int64)
    first_search = np.concatenate([[0], np.cumsum(arrays["searches"], dtype=np.int64)])
    below = votes if stumps else _votes(arrays["below"], n_labels)
    places = np.zeros((len(votes), 4), np.int64)
    places[:, 1] = -1
    if not stumps:
        places = np.stack([arrays[name].astype(np.int64) for name in TERM_INTEGERS[1:]], axis=1)
    rounds: list[list[Term]] = []
    at = 0
    for number, n_terms in enumerate(counts.tolist()):
        rounds.append([])
        for t in range(at, at + n_terms):
            search, parent, side, split = places[t].tolist()
            found = int(first_search[number]) + search
            cuts = bank.cuts_of(feature[found : found + 1])[0]
            threshold = 1 + int(np.searchsorted(cuts, raw[found], side="right"))
            stump = int(feature[found]), threshold, float(raw[found])
            other = below[t] if split else None
            alpha = float(alphas[number])
            rounds[-1].append(Term(*stump, votes[t], alpha, other, search, parent, side))
        at += n_terms
    return rounds
