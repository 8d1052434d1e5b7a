"""A classifier whose rounds are one search each, for tests that count them."""

from __future__ import annotations

from typing import Any

from boostsample import BoostSampleClassifier


def classifier(**settings: Any) -> BoostSampleClassifier:
    """Stumps, whose rounds are one search each."""
    stumps = {"strategy": "laminating:scheme=distinct", "learner": "stump"}
    return BoostSampleClassifier(**{**stumps, **settings})
