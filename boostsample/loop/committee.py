"""A committee: boosters that take turns; the score of their model is the mean of their scores."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from boostsample.hashing import sha256_of_json
from boostsample.learner import Learner
from boostsample.records import Round, Term
from boostsample.rows.weights import StepSize
from boostsample.strategy import Strategy

if TYPE_CHECKING:
    from boostsample.loop.booster import Booster

EXAMPLES_OF_MEMBERS = "training examples of the members"
"""The fact that has their numbers."""


class Committee:
    """Trains a round of each member in turn, as one run: round r, from 0, is that of r mod M.

    Members have the same settings and bank, and other rows. Training ends after a whole turn, when
    one has finished.
    """

    def __init__(self, members: Sequence[Booster]) -> None:
        self.members = tuple(members)

    @property
    def round(self) -> int:
        """Rounds completed, of all members."""
        return sum(member.round for member in self.members)

    @property
    def n_rounds(self) -> int:
        """Rounds planned, of all members."""
        return sum(member.n_rounds for member in self.members)

    @property
    def finished(self) -> bool:
        """Whether a member has finished, and the others have as many rounds."""
        whole = self.round % len(self.members) == 0
        return whole and any(member.finished for member in self.members)

    @property
    def stopped(self) -> str:
        """Why training has ended early, of the first member that has; empty if none has."""
        return next((member.stopped for member in self.members if member.stopped), "")

    @property
    def plans_rounds(self) -> bool:
        """As of a booster, of any member."""
        return any(member.plans_rounds for member in self.members)

    @property
    def learner(self) -> Learner:
        """The learner of the first member; all are equal."""
        return self.members[0].learner

    @property
    def strategy(self) -> Strategy:
        """The strategy of the first member, with its learned state."""
        return self.members[0].strategy

    @property
    def step_size(self) -> StepSize:
        """The step size of the first member; with smoothing, those of others differ by their N."""
        return self.members[0].step_size

    def next_round(self) -> Round:
        """Train one more round, of the member whose turn it is."""
        return self.members[self.round % len(self.members)].next_round()

    def facts(self) -> dict[str, Any]:
        """The facts of the first member; training examples, and a checksum of the facts, of all."""
        facts = [member.facts() for member in self.members]
        return {
            **facts[0],
            EXAMPLES_OF_MEMBERS: [of_member["training examples"] for of_member in facts],
            "facts of the members": f"sha256:{sha256_of_json(facts)}",
        }

    def small_state(self) -> dict[str, Any]:
        """The states for `replay` of all members, by number; the strategy is that of the first."""
        states = [member.small_state() for member in self.members]
        members = {str(number): state for number, state in enumerate(states)}
        return {"round": self.round, "strategy": states[0]["strategy"], "members": members}

    def replay(
        self, rounds: Sequence[Sequence[Term]], edges: Sequence[float], state: dict[str, Any]
    ) -> None:
        """`Booster.replay` of each member; a DataError leaves earlier members changed."""
        n = len(self.members)
        for number, member in enumerate(self.members):
            member.replay(rounds[number::n], edges[number::n], state["members"][str(number)])


def mean_terms(rounds: Sequence[Round], n_members: int) -> list[Term]:
    """The terms of the model whose score is the mean over the members."""
    terms = [term for finished in rounds for term in finished.terms]
    if n_members == 1:
        return terms
    return [dataclasses.replace(term, alpha=term.alpha / n_members) for term in terms]
