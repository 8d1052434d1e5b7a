"""Objectives by name; an objective says what is boosted."""

from __future__ import annotations

from boostsample.objective import AdaBoostMH, Objective, RealObjective
from boostsample.objectives.classes import SAMME, AdaBoostM1
from boostsample.objectives.coding import AdaBoostOC
from boostsample.objectives.ensembles import Bagging, RankBoost
from boostsample.objectives.real import GentleBoost, InfoBoost, RealMH
from boostsample.registry import make_objective

__all__ = [
    "OBJECTIVES",
    "SAMME",
    "AdaBoostM1",
    "AdaBoostMH",
    "AdaBoostOC",
    "Bagging",
    "GentleBoost",
    "InfoBoost",
    "Objective",
    "RankBoost",
    "RealMH",
    "RealObjective",
    "make_objective",
]

OBJECTIVES: dict[str, type[Objective]] = {
    kind.name: kind
    for kind in (
        *(AdaBoostMH, RealMH, InfoBoost, GentleBoost, AdaBoostM1, SAMME),
        *(RankBoost, Bagging, AdaBoostOC),
    )
}
"""The objectives of this distribution; others by the entry-point group `boostsample.objectives`."""
