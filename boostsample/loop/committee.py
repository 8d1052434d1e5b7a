"""A committee: boosters that take turns; the score of their model is the mean of their scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from boostsample.hashing import sha256_of_json
from boostsample.learner import Learner
from boostsample.objective import Objective
from boostsample.records import Round, Term
from boostsample.rows.weights import StepSize
from boostsample.strategy import Strategy
from boostsample.threads import Threads

if TYPE_CHECKING:
    from boostsample.loop.booster import Booster

EXAMPLES_OF_MEMBERS = "training examples of the members"
"""The fact that has their numbers."""


class Committee:
    """Trains a round of each member in turn, as one run: round r, from 0, is that of r mod M.

    Members have the same settings and bank, and other rows. Training ends after a whole turn, when
    one has finished. Several threads train the members of a turn at the same time, to the same
    bits; `small_state` then needs the end of a turn.
    """

    def __init__(self, members: Sequence[Booster], threads: Threads | None = None) -> None:
        self.members = tuple(members)
        self._threads = Threads(1) if threads is None else threads
        self._ahead: list[Round] = []

    @property
    def round(self) -> int:
        """Rounds completed, of all members; those that `next_round` has returned."""
        return sum(member.round for member in self.members) - len(self._ahead)

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
    def objective(self) -> Objective:
        """The objective of the first member; all are equal."""
        return self.members[0].objective

    @property
    def strategy(self) -> Strategy:
        """The strategy of the first member, with its learned state."""
        return self.members[0].strategy

    @property
    def step_size(self) -> StepSize:
        """The step size of the first member; with smoothing, those of others differ by their N."""
        return self.members[0].step_size

    @property
    def start_log_loss(self) -> float:
        """As of a booster, of all members: they continue no model."""
        return 0.0

    def next_round(self) -> Round:
        """Train one more round, of the member whose turn it is."""
        if self._ahead:
            return self._ahead.pop(0)
        at = self.round % len(self.members)
        stretches = self._threads.stretches(range(len(self.members) + 1))
        if at > 0 or len(stretches) == 1:  # the rest of a turn that was resumed, or one thread
            return self.members[at].next_round()
        turn: dict[int, Round] = {}
        # Threads take members as they get free: `next` of the iterator of a range is one step.
        waiting = iter(range(len(self.members)))

        def work() -> None:
            for number in waiting:
                turn[number] = self.members[number].next_round()

        self._threads.run(work, [()] * len(stretches))
        first, *self._ahead = (turn[number] for number in sorted(turn))
        return first

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
    return [
        Term(t.feature, t.threshold, t.value, t.votes, t.alpha / n_members, *_rest(t))
        for t in terms
    ]


def _rest(term: Term) -> tuple[Any, ...]:
    """What follows alpha: `dataclasses.replace` takes ten times as long."""
    return term.below, term.search, term.parent, term.side
