"""Decision stumps, one a round ([BK10] eq. 9)."""

from __future__ import annotations

from boostsample.learner import Learner, Targets


class StumpLearner(Learner):
    """One decision stump a round ([BK10] eq. 9)."""

    name = "stump"
    one_search = True

    def learn(self, targets: Targets) -> list[Targets]:
        """The stump that the strategy chooses."""
        return [targets.times(targets.search())]
