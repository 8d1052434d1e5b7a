"""Records exchanged by strategies, learners and loop: stumps, samples, pools, outcomes."""

from boostsample.records.outcome import Outcome, Round
from boostsample.records.pool import FamilyInfo, Pool, family_infos, sample_members
from boostsample.records.stumps import Sample, Stump, Stumps, Term

__all__ = [
    "FamilyInfo",
    "Outcome",
    "Pool",
    "Round",
    "Sample",
    "Stump",
    "Stumps",
    "Term",
    "family_infos",
    "sample_members",
]
