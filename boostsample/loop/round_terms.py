"""Terms of a base classifier from the leaves of its learner, and leaves from its terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import StrategyError
from boostsample.learner import Targets
from boostsample.records import Term
from boostsample.rows.protocol import Leaf


def terms_of(leaves: Sequence[Targets], alpha: float) -> list[Term]:
    """The terms of the base classifier with these leaves."""
    if len(leaves) == 1 and leaves[0].stumps and not leaves[0].path:
        return _product(leaves[0], 0, -1, 0, alpha)
    terms: list[Term] = []
    waiting = [(list(leaves), 0, -1, 0)]
    while waiting:
        group, depth, parent, side = waiting.pop()
        if any(len(leaf.path) == depth for leaf in group):
            if len(group) > 1 or not group[0].stumps:
                raise StrategyError(
                    "learn() must return the leaves of one tree, each the result of split() or "
                    "times(); return for example [targets.times(targets.search())]"
                )
            terms += _product(group[0], len(terms), parent, side, alpha)
            continue
        stump, place = group[0].path[depth][0], len(terms)
        votes: dict[int, Any] = {}
        for half in (1, -1):
            side_leaves = [leaf for leaf in group if leaf.path[depth] == (stump, half)]
            if not side_leaves:
                continue
            first = side_leaves[0]
            if len(side_leaves) == 1 and len(first.path) == depth + 1 and not first.stumps:
                votes[half] = first.votes
            else:
                waiting.append((side_leaves, depth + 1, place, half))
        # Placeholders of sides with a child, whose output counts instead.
        nothing = np.ones(stump.votes.size, np.int8)
        if stump.votes.dtype.kind == "f":
            nothing = np.zeros_like(stump.votes)
        above, below = votes.get(1, nothing), votes.get(-1, nothing)
        terms.append(_term(stump, above, alpha, below, parent, side))
    return terms


def _product(leaf: Targets, at: int, parent: int, side: int, alpha: float) -> list[Term]:
    """The terms of a leaf with stumps: the first has the votes of the leaf, the others multiply."""
    first, *others = leaf.stumps
    best = leaf.times_found is first
    votes = first.votes if best else first.votes * leaf.votes
    return [
        _term(first, votes, alpha, first.below if best else None, parent, side),
        *(_term(other, other.votes, alpha, None, at, 0) for other in others),
    ]


def _term(
    stump: Any,
    votes: NDArray[Any],
    alpha: float,
    below: NDArray[Any] | None,
    parent: int,
    side: int,
) -> Term:
    place = stump.search, parent, side
    return Term(stump.feature, stump.threshold, stump.value, votes, alpha, below, *place)


def votes_of_colors(terms: list[Term], signs: NDArray[np.int8]) -> list[Term]:
    """Terms with votes of one label, multiplied by the signs of the classes."""
    if signs.size == 1:
        return terms
    return [_with_votes(term, lambda votes: votes * signs) for term in terms]


def votes_of_bit(terms: Sequence[Term], signs: NDArray[np.int8]) -> Sequence[Term]:
    """The terms of which `votes_of_colors` made these."""
    if signs.size == 1:
        return terms
    return [_with_votes(term, lambda votes: votes[:1] * signs[:1]) for term in terms]


def _with_votes(term: Term, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Term:
    below = None if term.below is None else change(term.below)
    return replace(term, votes=change(term.votes), below=below)


def leaves_of(terms: Sequence[Term], targets: Targets) -> list[Leaf]:
    """The leaves of a base classifier, from its terms and the targets of all examples."""
    leaves, waiting = [], [(targets, 0)]
    while waiting:
        part, at = waiting.pop()
        term = terms[at]
        children = {child.side: k for k, child in enumerate(terms) if child.parent == at}
        if term.below is None:
            factors = [child for child in terms if child.parent == at and child.side == 0]
            ones = np.ones(term.votes.size, np.int8)
            leaves.append(Leaf(part.stretch, (*part.stumps, term, *factors), ones))
            continue
        halves: Any = part.split(term)  # type: ignore[arg-type]  # of a term: without its sums
        for half, side, votes in zip(halves, (-1, 1), (term.below, term.votes), strict=True):
            if side in children:
                waiting.append((half, children[side]))
            else:
                leaves.append(Leaf(half.stretch, half.stumps, votes))
    return leaves
