"""A model as a sum of units: products of conditions, signs and votes, for exports.

A unit is w_l times 1 if all conditions of its path hold, else 0, times the signs phi of its
factors. A stump is one unit with itself as factor; a product one with all of its factors; a tree
has one for each leaf, with the path to it. The sum over all units is the score, exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.models.model import Model


class Unit(NamedTuple):
    """A term's position in the model, and +1 or -1 for its side, of each condition.

    Attributes
    ----------
    path : tuple of (int, int)
        Terms and the sides of them that must be taken.
    factors : tuple of int
        Terms whose phi are multiplied.
    votes : ndarray of int64, shape (K,)
        -1 or +1.
    """

    path: tuple[tuple[int, int], ...]
    factors: tuple[int, ...]
    votes: NDArray[np.int64]


def units_of_round(model: Model, number: int) -> list[Unit]:
    """The units of a round, counted from 0."""
    terms = model.terms(number, number + 1)
    children: dict[int, dict[int, list[int]]] = {t: {} for t in range(terms.start, terms.stop)}
    for t in range(terms.start + 1, terms.stop):
        parent = terms.start + int(model.parent[t])
        children[parent].setdefault(int(model.side[t]), []).append(t)
    return list(_units(model, terms.start, children))


def _units(model: Model, t: int, children: dict[int, dict[int, list[int]]]) -> Iterator[Unit]:
    """The units of a term with all that is below it."""
    own, votes = children[t], {1: model.votes[t], -1: model.below[t]}
    if not {-1, 1} & own.keys() and np.array_equal(votes[-1], -votes[1]):
        parts = [[Unit((), (t,), votes[1].astype(np.int64))]]
    else:
        parts = [[]]
        for side in (-1, 1):
            leaf = [Unit((), (), votes[side].astype(np.int64))]
            for unit in _units(model, own[side][0], children) if side in own else leaf:
                parts[0].append(unit._replace(path=((t, side), *unit.path)))
    parts += [list(_units(model, factor, children)) for factor in own.get(0, ())]
    for chosen in itertools.product(*parts):
        path = tuple(one for unit in chosen for one in unit.path)
        factors = tuple(one for unit in chosen for one in unit.factors)
        votes_of_all = np.prod([unit.votes for unit in chosen], axis=0, dtype=np.int64)
        yield Unit(path, factors, votes_of_all)
