"""Decision trees with vote vectors at the leaves ([BK10] section 2.1, Hamming trees).

A leaf has votes of its own. So a cut with the label sums L and R of w_il y_il on its sides is worth
sum_l (abs(L_l) + abs(R_l)), as blocks of a partition are in [SS99] section 4.1. The edge of a stump
with opposite votes, sum_l abs(R_l - L_l), is that for one label only. With several, it prefers cuts
near the ends of a node whose labels are far from balanced.
"""

from __future__ import annotations

from boostsample.checks import check_integer, check_number
from boostsample.errors import SettingError
from boostsample.learner import Found, LeafLimits, Learner, Targets

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
    min_leaf : int
        Fewest training examples of a leaf, at least 1; a row counts once, whatever its weight, and
        not at all if it has none. 1 is no limit.
    min_weight : float
        Least weight of a leaf, between 0 and 0.5: the share of the weight of all examples that it
        has in its round. 0 is no limit.
    max_depth : int or None
        Most cuts on the way to a leaf, at least 1; None is no limit.

    Notes
    -----
    A round has at most 2 n_leaves - 3 searches: both halves of a split are searched before the
    next split is chosen. Leaves of one example, pure ones, and those that limits do not let divide
    are not searched.

    Limits do not change what a strategy searches. A cut with a side that holds too little is
    replaced by the best one that is admissible, see `Targets.search`; without any, the node remains
    a leaf. A root without any makes the base classifier a constant.
    """

    name = "tree"

    def __init__(
        self,
        n_leaves: int = 8,
        min_leaf: int = 1,
        min_weight: float = 0.0,
        max_depth: int | None = None,
    ) -> None:
        self.n_leaves = check_integer("n_leaves", n_leaves, 2)
        self.min_leaf = check_integer("min_leaf", min_leaf, 1, hint="1 is no limit")
        self.min_weight = check_number("min_weight", min_weight, 0.0, 0.5, hint="0 is no limit")
        if max_depth is not None:
            max_depth = check_integer("max_depth", max_depth, 1, hint="None is no limit")
        self.max_depth = max_depth

    def growth(self) -> int:
        """The number of leaves, if there is no other limit."""
        limits = self.min_leaf, self.min_weight, self.max_depth
        same = type(self).learn is Tree.learn and limits == (1, 0.0, None)
        return self.n_leaves if same else 0

    def learn(self, targets: Targets) -> list[Targets]:
        """Split the leaf of the largest gain until the tree is complete."""
        most = max(targets.n_examples // 2, 1)
        if self.min_leaf > most:
            raise SettingError(
                f"min_leaf must be at most half of the {targets.n_examples:,} training examples, "
                f"got {self.min_leaf}; use {most} or less"
            )
        limits = None
        if self.min_leaf > 1 or self.min_weight > 0.0:
            limits = LeafLimits(self.min_leaf, self.min_weight)
        root = targets.search(True, limits)
        leaves = list(targets.split(root))
        fresh, found, gains = list(leaves), dict[Targets, Found](), dict[Targets, float]()
        while len(leaves) < self.n_leaves and root.admissible:
            for leaf in fresh:
                if self._may_divide(leaf):
                    stump = leaf.search(True, limits)
                    gain = stump.gain
                    if gain > _LEAST_GAIN or _may_gain_below(leaf, stump):
                        found[leaf], gains[leaf] = stump, gain
            best = max(gains, key=gains.__getitem__, default=None)
            if best is None:
                break
            del gains[best]
            fresh = list(best.split(found.pop(best)))
            at = leaves.index(best)
            leaves[at : at + 1] = fresh
        return leaves

    def _may_divide(self, leaf: Targets) -> bool:
        """Whether a leaf is worth a search: it can have two leaves, and is not pure."""
        return (
            (self.max_depth is None or len(leaf.path) < self.max_depth)
            and leaf.n_examples >= 2 * self.min_leaf
            and leaf.edge < (1.0 - _PURE) * leaf.mass
            and (self.min_weight == 0.0 or leaf.mass >= 2.0 * self.min_weight)
        )


def _may_gain_below(leaf: Targets, stump: Found) -> bool:
    """Whether a stump without gain, the best of all features, ties with the constant leaf."""
    tied = stump.worth >= leaf.edge / leaf.mass - _SAME
    return stump.complete and stump.divides and tied and leaf.mass - leaf.edge > _LEAST_GAIN
