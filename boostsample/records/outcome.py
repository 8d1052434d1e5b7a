"""Outcomes of searches and of rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from boostsample.records.stumps import Term


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one search, passed to `Strategy.learn` after the loop has finished the stump.

    Attributes
    ----------
    round : int
        Round, from 1.
    search : int
        Search in the round, from 0.
    feature : int
        Global index of the chosen feature.
    family : int
        Index of its family in `step.families`.
    edge_estimated : float
        Edge on the sample, H.
    edge : float
        Edge on all examples of the search, G.
    alpha : float
        Coefficient of a stump of this edge by a full step, whatever the step size of the run.
    cost : int
        Looks spent in the search, modelling included.
    n_examples : int
        Examples of the search: N, or those of a node of a tree.
    weight_share : float
        Their share of the weight of all N examples.
    whole : bool
        Whether the search was of all N examples, see `Step.whole`.
    """

    round: int
    search: int
    feature: int
    family: int
    edge_estimated: float
    edge: float
    alpha: float
    cost: int
    n_examples: int
    weight_share: float
    whole: bool


@dataclass(frozen=True, slots=True)
class Round:
    """What one round adds: `terms` to the model, `rows` to the history, one for each search.

    `edge` is the edge G of the base classifier that the terms make.
    """

    terms: list[Term]
    rows: list[dict[str, Any]]
    edge: float

    @property
    def last(self) -> bool:
        """Whether training ends: an edge of 1 by a full step, or no search can find one above 0."""
        return bool(self.rows[-1]["stopped"])
