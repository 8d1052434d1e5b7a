"""scikit-learn's conventions: all of its checks, for every way to search and every learner.

Expected failures have a reason that scikit-learn's own AdaBoostClassifier shares.
"""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from boostsample import BoostSampleClassifier
from boostsample.registry import registered_names

STRATEGIES = ("full", "uniform-1q", "ucb", "laminating", "adaptive-halving", "weight-trimming")
"""One of each way to search: all, at random, by a bandit, by races, and on a part of the rows."""

#: A part of the same reason: with few rounds, other strategies find the same stumps by chance.
DRAWS_MATTER = ("auto", "weight-trimming")
#: Three rounds on the heaviest examples are too few for the blobs of `check_classifiers_train`.
MORE_ROUNDS = {"weight-trimming": 20}

ESTIMATORS = [
    BoostSampleClassifier(n_rounds=20),
    *(
        BoostSampleClassifier(name, "stump", n_rounds=MORE_ROUNDS.get(name, 3), learning_rate=1.0)
        for name in STRATEGIES
    ),
    *(
        BoostSampleClassifier("uniform-q1", name, n_rounds=3, learning_rate=1.0)
        for name in registered_names("learner")
        if name != "stump"
    ),
]


def expected_failures(estimator: BoostSampleClassifier) -> dict[str, str]:
    failures = {}
    if estimator.strategy in DRAWS_MATTER:
        for kind in ("dense", "sparse"):  # in scikit-learn's list for AdaBoostClassifier, too
            failures[f"check_sample_weight_equivalence_on_{kind}_data"] = (
                "sample_weight is not equivalent to removing or repeating samples: they are drawn "
                "at random, and T = 10 N / Q changes with the number of rows"
            )
    if estimator.learner == "tree":
        failures["check_class_weight_classifiers"] = (
            "a leaf that holds examples of one class alone votes for it, whatever its weight; so "
            "do the trees of scikit-learn's AdaBoostClassifier"
        )
    if estimator.learner == "product":
        failures["check_class_weight_classifiers"] = (
            "weights 10^7 apart: each further term is right on some light examples, and raises the "
            "edge of 1 - 2e-7 by 5e-9"
        )
    return failures


@pytest.mark.global_random
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    ESTIMATORS, expected_failed_checks=expected_failures
)
def test_scikit_learn_conventions(estimator: Any, check: Any) -> None:
    check(estimator)
