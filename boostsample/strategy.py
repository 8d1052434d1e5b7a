"""Base class of sampling strategies.

A strategy chooses the features and examples of one weak-learner search. `choose` gets a `Step`,
which draws and searches, and returns a `Stump`; `learn` gets the `Outcome`. The loop owns the rest:
weights, votes, edges on all examples, alpha and the ledger.
"""

from __future__ import annotations

import abc
import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from boostsample.errors import StrategyError
from boostsample.records import (
    FamilyInfo,
    NodeFeatures,
    Outcome,
    Pool,
    Sample,
    Stump,
    Stumps,
    sample_members,
)
from boostsample.step import Step

__all__ = [
    "FamilyInfo",
    "NodeFeatures",
    "Outcome",
    "Pool",
    "Sample",
    "Strategy",
    "Stump",
    "Stumps",
    "sample_members",
]


class OneSample(NamedTuple):
    """Searches of up to `n_features` features on one sample of a scheme.

    The sample has a `part` of the examples at most. With `of_nodes`, only searches of nodes are so.
    """

    n_features: int
    scheme: str
    part: float = 1.0
    of_nodes: bool = False


class Strategy(BaseEstimator, abc.ABC):  # type: ignore[misc]  # scikit-learn ships no annotations
    """Base class of all strategies; only `choose` must be written.

    `__init__` stores the settings unchanged and `start` checks them (scikit-learn's convention).
    State learned in a run is kept in attributes whose names end in `_`. They hold only arrays,
    scalars, strings, lists and dicts of these, so that a run can be saved and resumed bit for bit.
    """

    #: Why a search may leave a tenth of what it could spend, for strategies that stop early.
    leaves_budget: ClassVar[str] = ""
    #: Why nodes of trees change what whole searches have taught, for strategies that mix the two.
    learns_from_nodes: ClassVar[str] = ""
    #: Settings added later, with the value that earlier runs had: keys and reports omit it there.
    added_settings: ClassVar[Mapping[str, Any]] = {}

    def default_budget(self, pool: Pool) -> int:
        """Looks for each search if the user sets no budget: 10 N ([DF11] section 5.3)."""
        return 10 * pool.n_examples

    def tuning_grid(self) -> Mapping[str, Sequence[Any]]:  # an optional hook
        """Values to try for each setting worth tuning, for ``boostsample compare --tune``.

        All combinations are trained; there are none by default. Settings that the user fixed may be
        listed; leave out settings that have no effect beside them.
        """
        return {}

    def settings_in_use(self, pool: Pool, budget: int, n_rounds: int) -> Mapping[str, Any]:
        """The settings with the values that a run uses, for reports.

        Override it if a setting such as None stands for a value that depends on the data.
        """
        params, added = self.get_params(deep=False), self.added_settings
        return {name: params[name] for name in params if params[name] != added.get(name, ...)}

    def searched_labels(self, n_labels: int) -> int:
        """How many of the K labels its searches read, K by default.

        Kernels for so many labels are compiled before the first round.
        """
        return n_labels

    def one_sample(self, pool: Pool, budget: int) -> OneSample | None:  # an optional hook
        """Q and a scheme, if all searches are of Q features on one sample of budget // Q examples.

        The features are all, or drawn first by
        `boostsample.rows.sampling_schemes.random_features`. The best stump is chosen, without
        notes or other random numbers. The loop may then make the searches of a tree in one call, to
        the same bits. None for others.

        If only searches of nodes are so (`of_nodes`), of features that
        `boostsample.rows.sampling_schemes.node_features` draws as `features_of_nodes` says, on
        min(budget // Q, part * n) of their n examples, at least one, the loop may make those of a
        tree after that of all examples; `learn` gets their outcomes afterwards, in their order.
        """
        return None

    def features_of_nodes(self) -> NodeFeatures:  # an optional hook
        """How the nodes of the next tree draw their features, with `of_nodes` of `one_sample`."""
        raise StrategyError(
            f"features_of_nodes() of {type(self).__name__} must be written, since its one_sample() "
            "has of_nodes; return a NodeFeatures"
        )

    def start(  # an optional hook that does nothing by default
        self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator
    ) -> None:
        """Check the settings and reset the learned state; called once before the first round.

        Work to be done once, such as compiling, belongs here: no round is charged with it.
        """

    @abc.abstractmethod
    def choose(self, step: Step) -> Stump:
        """Return one of the stumps searched in this step; spend at most `step.budget` looks."""

    def learn(self, outcome: Outcome) -> None:  # an optional hook, see above
        """Learn from the finished stump; called after each search.

        Edges of nodes of trees are of other examples and often near 1. What is learned from
        searches of all examples must not depend on nodes: learn nothing from these, or in a state
        apart (`outcome.whole`, `step.whole`), or give the reason in `learns_from_nodes`.
        """

    def state(self) -> dict[str, Any]:
        """A copy of the learned state: attributes whose names end, and do not begin, with `_`."""
        return copy.deepcopy({name: vars(self)[name] for name in vars(self) if is_learned(name)})

    def restore(self, state: Mapping[str, Any]) -> None:
        """Replace the learned state by a `state()`."""
        for name in state:  # a file must not replace methods
            if not is_learned(name):
                raise StrategyError(
                    f"a learned attribute must end, and not begin, with _, got {name!r:.40}"
                )
        for name in self.state():
            delattr(self, name)
        for name, value in copy.deepcopy(dict(state)).items():
            setattr(self, name, value)


def is_learned(name: Any) -> bool:
    """Whether `Strategy.state` holds an attribute of this name."""
    return isinstance(name, str) and name.endswith("_") and not name.startswith("_")
