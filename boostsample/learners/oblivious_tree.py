"""Oblivious decision trees: all leaves of a level are divided by one cut (Kohavi 1994)."""

from __future__ import annotations

from boostsample.checks import check_integer
from boostsample.errors import SettingError
from boostsample.learner import Learner, Targets

#: A tree of so many levels has 4,096 leaves.
MOST_LEVELS = 12


class ObliviousTree(Learner):
    """A tree whose leaves of one level share a feature and a threshold, as the trees of CatBoost.

    There are far fewer such trees than trees of as many leaves, so that leaves of few examples fit
    noise less. A level is one search, on one sample of different examples, for the cut that
    maximises the sum over its leaves and labels of S^2 / (M + 1/1000), where S is the label sum of
    a leaf and M its weight: the fall of the squared error if leaves predict their mean labels.
    Leaves have votes, or values, as the objective has them.

    Parameters
    ----------
    depth : int
        Levels, 1 to 12: at most 2^depth leaves.

    Notes
    -----
    A round has up to `depth` searches, each with the budget of the round. Growth ends before where
    no cut gains. It is one compiled call on one thread: the strategy must search on one sample of
    different examples, as ``uniform-naive:n_features=10:scheme=distinct`` does, and the bank must
    be in the memory of one process. It needs 1,024 K 2^depth bytes for K labels beside the bank.
    """

    name = "oblivious-tree"

    def __init__(self, depth: int = 6) -> None:
        self.depth = check_integer("depth", depth, 1)
        if depth > MOST_LEVELS:
            raise SettingError(f"depth must be between 1 and {MOST_LEVELS}, got {depth}")

    def n_levels(self) -> int:
        """The depth."""
        return self.depth

    def learn(self, targets: Targets) -> list[Targets]:
        """Not called: the loop grows the tree."""
        raise NotImplementedError  # `n_levels` tells the loop to grow it in one call
