"""Learners by name; a learner builds what one boosting round adds to the model."""

from __future__ import annotations

from boostsample.errors import unknown
from boostsample.learner import Found, Learner, alpha_of
from boostsample.learners.stump import Stump
from boostsample.records import Term

__all__ = ["LEARNERS", "Found", "Learner", "Stump", "Term", "alpha_of", "make_learner"]

LEARNERS: dict[str, type[Learner]] = {Stump.name: Stump}


def make_learner(learner: str | Learner | None) -> Learner:
    """A learner from its name; None is a stump."""
    if isinstance(learner, Learner):
        return learner
    name = Stump.name if learner is None else learner
    if name not in LEARNERS:
        raise unknown("learner", name, LEARNERS)
    return LEARNERS[name]()
