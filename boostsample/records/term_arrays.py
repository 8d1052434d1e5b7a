"""The terms of whole rounds as arrays of the narrowest types, for models, checkpoints and cells.

Each term has ``votes``, K bits, set for +1, or float64 (M, K), values of an objective with real
values. Terms of products and trees also have ``parent``,
``side`` and ``split``, one bit; ``below``, as ``votes``, exists for the terms that are split: the
votes of the others are opposite on both sides. ``n_terms`` is the number of terms of each round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.files.archive import bits_entry, entry_of_kind, integers_entry, narrowest
from boostsample.records import Term


class TermColumns(NamedTuple):
    """The attributes of terms as arrays with one element, or row, per term; see `Term`."""

    feature: NDArray[np.int64]
    votes: NDArray[Any]
    below: NDArray[Any]
    parent: NDArray[np.int64]
    side: NDArray[np.int64]
    alpha: NDArray[np.float64]


def columns_of_terms(terms: Sequence[Term], n_labels: int) -> TermColumns:
    """The columns of terms; `below` is always filled in."""
    below = [-term.votes if term.below is None else term.below for term in terms]
    real = any(term.votes.dtype.kind == "f" for term in terms)
    kind = np.float64 if real else np.int8
    return TermColumns(
        np.array([term.feature for term in terms], np.int64),
        np.array([term.votes for term in terms], kind).reshape(-1, n_labels),
        np.array(below, kind).reshape(-1, n_labels),
        np.array([term.parent for term in terms], np.int64),
        np.array([term.side for term in terms], np.int64),
        np.array([term.alpha for term in terms], np.float64),
    )


def term_arrays(columns: TermColumns, split: NDArray[np.bool_] | None) -> dict[str, NDArray[Any]]:
    """The arrays of the module; `split` (M,) says which terms are split, None: all are stumps."""
    arrays: dict[str, NDArray[Any]] = {"votes": _entry(columns.votes)}
    if split is not None:
        first = np.flatnonzero(columns.parent < 0)
        arrays["n_terms"] = narrowest(np.diff(np.append(first, columns.parent.size)))
        arrays["parent"] = narrowest(columns.parent)
        arrays["side"] = narrowest(columns.side)
        arrays["split"] = np.packbits(split)
        arrays["below"] = _entry(columns.below[split])
    return arrays


def _entry(votes: NDArray[Any]) -> NDArray[Any]:
    """Votes (M, K) as bits, or values as they are."""
    return votes if votes.dtype.kind == "f" else np.packbits(votes > 0, axis=1)


class TermPlaces(NamedTuple):
    """What `term_arrays` has stored: terms of each round (R,), and columns of terms."""

    n_terms: NDArray[np.int64]
    votes: NDArray[Any]
    below: NDArray[Any]
    parent: NDArray[np.int64]
    side: NDArray[np.int64]
    split: NDArray[np.bool_]


def places_of_arrays(arrays: Mapping[str, NDArray[Any]], n: int, n_labels: int) -> TermPlaces:
    """The n terms of `term_arrays`; DataError if the arrays are not those of whole rounds."""
    if "votes" not in arrays:
        raise DataError("its array 'votes' is missing")
    votes = _votes(arrays, "votes", n, n_labels)
    if "n_terms" not in arrays:
        ones, zeros = np.ones(n, np.int64), np.zeros(n, np.int64)
        return TermPlaces(ones, votes, -votes, -ones, zeros, np.zeros(n, np.bool_))
    n_terms = integers_entry(arrays, "n_terms")
    if (n_terms.size and n_terms.min() < 1) or n_terms.sum() != n or n_terms.max(initial=0) > n:
        raise DataError("its rounds must have all of the terms")
    parent, side = integers_entry(arrays, "parent"), integers_entry(arrays, "side")
    _check_trees(n_terms, parent, side)
    split, below = bits_entry(arrays, "split", n), -votes
    below[split] = _votes(arrays, "below", int(split.sum()), n_labels)
    return TermPlaces(n_terms, votes, below, parent, side, split)


def _votes(arrays: Mapping[str, NDArray[Any]], name: str, n: int, n_labels: int) -> NDArray[Any]:
    if arrays["votes"].dtype.kind == "f":
        values = entry_of_kind(arrays, name, "f", 2).astype(np.float64)
        if values.shape != (n, n_labels) or not np.isfinite(values).all():
            raise DataError(f"its array {name!r} must have {n_labels} values for each of {n} terms")
        return values
    bits = entry_of_kind(arrays, name, "u", 2)
    if bits.dtype != np.uint8 or bits.shape != (n, -(-n_labels // 8)):
        raise DataError(f"its array {name!r} must have {n_labels} bits for each of {n} terms")
    plus = np.unpackbits(bits, axis=1, count=n_labels) == 1
    return np.where(plus, np.int8(1), np.int8(-1))


def _check_trees(
    n_terms: NDArray[np.int64], parent: NDArray[np.int64], side: NDArray[np.int64]
) -> None:
    """DataError unless each term but the first of its round stands below an earlier one."""
    n = int(n_terms.sum())
    if parent.shape != (n,) or side.shape != (n,):
        raise DataError("its terms must have a parent and a side each")
    root = np.repeat(np.cumsum(n_terms) - n_terms, n_terms)
    place = np.arange(n) - root
    later = place > 0
    good = np.where(later, (parent >= 0) & (parent < place), parent == -1)
    good &= np.where(later, np.abs(side) <= 1, side == 0)
    half = later & (side != 0)
    slots = 3 * (root + parent) + side
    if not good.all() or np.unique(slots[half]).size < int(half.sum()):
        raise DataError("its terms must be trees, parents before children")
