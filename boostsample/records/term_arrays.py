"""The terms of a run as arrays, for files, and back.

Of stumps, ``votes`` has K bits each, set for +1; feature and threshold of each term and the edge of
its search complete the model. Of products and trees, ``terms`` is the number of terms of each round
and ``round_edge`` (float64) the edge of its base classifier; ``votes`` and ``below`` have K bits
for each term, and ``term_search``, ``term_parent``, ``term_side`` and ``term_split`` say which
search found it and where it stands: `boostsample.records.Term`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.records.outcome import Round
from boostsample.records.stumps import Term

TERM_INTEGERS = ("terms", "term_search", "term_parent", "term_side", "term_split")
"""Arrays of integers with one element per term, or per round; products and trees only."""
TERM_ARRAYS = (*TERM_INTEGERS, "votes", "below", "round_edge")
"""Arrays with one element per term or per round."""


class Cuts(NamedTuple):
    """Where the stumps of terms cut: feature, bin index and raw threshold of each; (n,)."""

    feature: NDArray[np.int64]
    threshold: NDArray[np.int64]
    value: NDArray[np.float64]


def term_arrays(rounds: Sequence[Round]) -> dict[str, NDArray[Any]]:
    """The arrays of the model of these rounds, at least one; integers as int64."""
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


def terms_each(arrays: Mapping[str, NDArray[Any]], n_rounds: int) -> NDArray[np.int64]:
    """Number of terms of each round: int64 (n_rounds,)."""
    return arrays["terms"].astype(np.int64) if "terms" in arrays else np.ones(n_rounds, np.int64)


def terms_of_arrays(
    arrays: Mapping[str, NDArray[Any]], cuts: Cuts, alphas: NDArray[np.float64], n_labels: int
) -> list[list[Term]]:
    """The terms of each round; `alphas` has one element per round, `cuts` those of each term."""
    votes = _votes(arrays["votes"], n_labels)
    stumps = "terms" not in arrays
    below = votes if stumps else _votes(arrays["below"], n_labels)
    places = np.zeros((len(votes), 4), np.int64)
    places[:, 1] = -1
    if not stumps:
        places = np.stack([arrays[name].astype(np.int64) for name in TERM_INTEGERS[1:]], axis=1)
    features, thresholds, values = (one.tolist() for one in cuts)
    rounds: list[list[Term]] = []
    at = 0
    for alpha, n_terms in zip(
        alphas.tolist(), terms_each(arrays, alphas.size).tolist(), strict=True
    ):
        rounds.append([])
        for t in range(at, at + n_terms):
            search, parent, side, split = places[t].tolist()
            cut = features[t], thresholds[t], values[t]
            other = below[t] if split else None
            rounds[-1].append(Term(*cut, votes[t], alpha, other, search, parent, side))
        at += n_terms
    return rounds
