"""Base classifiers as terms of the model: from the leaves of a learner, and back.

Terms are stumps, parents before children. A term's `side` is -1 or +1 if it decides for the
examples on that side of its parent, 0 if its outputs multiply those of its parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import StrategyError
from boostsample.learner import Targets
from boostsample.records import Term
from boostsample.rows.protocol import Leaf


def terms_of(leaves: Sequence[Targets], alpha: float) -> list[Term]:
    """The terms of the base classifier with these leaves.

    StrategyError if a leaf depends on no stump, or if the leaves are not those of one tree.
    """
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
        stump, me = group[0].path[depth][0], len(terms)
        votes: dict[int, Any] = {}
        for half in (1, -1):
            mine = [leaf for leaf in group if leaf.path[depth] == (stump, half)]
            if len(mine) == 1 and len(mine[0].path) == depth + 1 and not mine[0].stumps:
                votes[half] = mine[0].votes
            elif mine:
                waiting.append((mine, depth + 1, me, half))
        nothing = np.ones(stump.votes.size, np.int8)
        above, below = votes.get(1, nothing), votes.get(-1, nothing)
        terms.append(_term(stump, above, alpha, below, parent, side))
    return terms


def _product(leaf: Targets, at: int, parent: int, side: int, alpha: float) -> list[Term]:
    """The terms of a leaf with stumps: the first has the votes of the leaf, the others multiply."""
    first, *others = leaf.stumps
    votes = first.votes * leaf.votes
    return [
        _term(first, votes, alpha, None, parent, side),
        *(_term(other, other.votes, alpha, None, at, 0) for other in others),
    ]


def _term(
    stump: Any,
    votes: NDArray[np.int8],
    alpha: float,
    below: NDArray[np.int8] | None,
    parent: int,
    side: int,
) -> Term:
    place = stump.search, parent, side
    return Term(stump.feature, stump.threshold, stump.value, votes, alpha, below, *place)


def leaves_of(terms: Sequence[Term], targets: Targets) -> list[Leaf]:
    """The leaves of a base classifier, from its terms and the targets of all examples."""
    leaves, waiting = [], [(targets, 0)]
    while waiting:
        mine, at = waiting.pop()
        term = terms[at]
        children = {one.side: k for k, one in enumerate(terms) if one.parent == at}
        if term.below is None:
            factors = [one for one in terms if one.parent == at and one.side == 0]
            ones = np.ones(term.votes.size, np.int8)
            leaves.append(Leaf(mine.stretch, (*mine.stumps, term, *factors), ones))
            continue
        halves: Any = mine.split(term)  # type: ignore[arg-type]  # of a term: without its sums
        for half, side, votes in zip(halves, (-1, 1), (term.below, term.votes), strict=True):
            if side in children:
                waiting.append((half, children[side]))
            else:
                leaves.append(Leaf(half.stretch, half.stumps, votes))
    return leaves
