"""Decision trees with vote vectors at the leaves ([BK10] section 2.1, Hamming trees).

A leaf has votes of its own. So a cut with the label sums L and R of w_il y_il on its sides is worth
sum_l (abs(L_l) + abs(R_l)), as blocks of a partition are in [SS99] section 4.1. The edge of a stump
with opposite votes, sum_l abs(R_l - L_l), is that for one label only. With several, it prefers cuts
near the ends of a node whose labels are far from balanced.
"""

from __future__ import annotations

from boostsample.checks import check_integer
from boostsample.learner import Found, Learner, Targets

__all__ = ["Tree"]

#: A split must raise the edge by more than this.
_LEAST_GAIN = 1e-9
#: Edges, in units of the weight of a leaf, are equal up to this: float32 weights round by 6e-8.
_SAME = 1e-7
#: Leaves whose weights agree up to this share are not searched.
_PURE = 1e-12


class Tree(Learner):
    """A tree of stumps, grown best first by the gain in edge over constant leaves.

    The edge of a tree is the sum of abs(sum_i w_il y_il) over its leaves and labels. Each node is a
    two-sided search on the examples that reach it, with its share of the budget, for the cut whose
    two leaves have the largest edge; the leaf whose split gains most is split next. The root is
    always split. Other splits without gain come last: of leaves that no stump of any feature
    improves, but whose best stump divides them, as in an XOR. So a tree of two leaves is a stump
    with votes of its own on each side.

    Parameters
    ----------
    n_leaves : int
        Maximum number of leaves, at least 2.

    Notes
    -----
    A round has at most 2 n_leaves - 3 searches: both halves of a split are searched before the
    next split is chosen. Leaves of one example, and pure ones, are not searched.
    """

    name = "tree"

    def __init__(self, n_leaves: int = 8) -> None:
        self.n_leaves = check_integer("n_leaves", n_leaves, 2)

    def learn(self, targets: Targets) -> list[Targets]:
        """Split the leaf of the largest gain until the tree is complete."""
        leaves = list(targets.split(targets.search(two_sided=True)))
        fresh, found, gains = list(leaves), dict[Targets, Found](), dict[Targets, float]()
        while len(leaves) < self.n_leaves:
            for leaf in fresh:
                if leaf.n_examples > 1 and leaf.edge < (1.0 - _PURE) * leaf.mass:
                    stump = leaf.search(two_sided=True)
                    if stump.gain > _LEAST_GAIN or _may_gain_below(leaf, stump):
                        found[leaf], gains[leaf] = stump, stump.gain
            best = max(gains, key=gains.__getitem__, default=None)
            if best is None:
                break
            del gains[best]
            fresh = list(best.split(found.pop(best)))
            at = leaves.index(best)
            leaves[at : at + 1] = fresh
        return leaves


def _may_gain_below(leaf: Targets, stump: Found) -> bool:
    """Whether a stump without gain, the best of all features, ties with the constant leaf."""
    tied = stump.edge >= leaf.edge / leaf.mass - _SAME
    return stump.complete and stump.divides and tied and leaf.mass - leaf.edge > _LEAST_GAIN
