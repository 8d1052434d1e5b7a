"""Records exchanged by strategies, learners and loop: stumps, samples, pools, outcomes."""

from boostsample.records.pool import FamilyInfo, Pool, family_infos, sample_members
from boostsample.records.terms import (
    Outcome,
    Round,
    Sample,
    Stump,
    Stumps,
    Term,
    arrays_of,
)

__all__ = [
    "FamilyInfo",
    "Outcome",
    "Pool",
    "Round",
    "Sample",
    "Stump",
    "Stumps",
    "Term",
    "arrays_of",
    "family_infos",
    "sample_members",
]
