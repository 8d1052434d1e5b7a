"""Learners by name; a learner builds what one boosting round adds to the model."""

from __future__ import annotations

from boostsample.learner import Found, Learner, Targets, alpha_of
from boostsample.learners.oblivious_tree import ObliviousTree
from boostsample.learners.product import Product
from boostsample.learners.stump import StumpLearner
from boostsample.learners.tree import Tree
from boostsample.records import Term
from boostsample.registry import make_learner

__all__ = [
    "LEARNERS",
    "Found",
    "Learner",
    "ObliviousTree",
    "Product",
    "Stump",
    "StumpLearner",
    "Targets",
    "Term",
    "Tree",
    "alpha_of",
    "make_learner",
]

Stump = StumpLearner
LEARNERS: dict[str, type[Learner]] = {
    one.name: one for one in (StumpLearner, Product, Tree, ObliviousTree)
}
"""The learners of this distribution; others by the entry-point group `boostsample.learners`."""
