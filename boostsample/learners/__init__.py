"""Learners by name; a learner builds what one boosting round adds to the model."""

from __future__ import annotations

from boostsample.errors import SettingError
from boostsample.learner import Found, Learner, Targets, alpha_of
from boostsample.learners.product import Product
from boostsample.learners.stump import Stump
from boostsample.learners.tree import Tree
from boostsample.records import Term
from boostsample.registry import make_registered

__all__ = [
    "LEARNERS",
    "Found",
    "Learner",
    "Product",
    "Stump",
    "Targets",
    "Term",
    "Tree",
    "alpha_of",
    "make_learner",
]

LEARNERS: dict[str, type[Learner]] = {one.name: one for one in (Stump, Product, Tree)}
"""The learners of this distribution; others by the entry-point group `boostsample.learners`."""


def make_learner(learner: str | Learner | None) -> Learner:
    """A learner from its name, with settings as in ``name:setting=value``; None is a stump.

    SettingError if the name or a setting is unknown, or if it is neither a name nor a learner.
    """
    if isinstance(learner, Learner):
        return learner
    name = Stump.name if learner is None else learner
    if not isinstance(name, str):
        raise SettingError(
            f"learner must be a name or an instance of Learner, got {name!r}; "
            "pass an instance, as in MyLearner()"
        )
    made: Learner = make_registered("learner", name)
    return made
