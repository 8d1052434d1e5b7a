"""Random small inputs for the classifier: each is fitted well, or refused in one clear line.

Input `number` of a seed is always the same. The invariants are in `tests.stress.fit_invariants`.
"""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np

from boostsample import BoostSampleClassifier
from boostsample.registry import STRATEGIES
from boostsample.strategies import Laminating, UniformNaive
from tests.stress.fit_invariants import check_fit
from tests.stress.random_tables import random_examples, random_labels, random_weights

_LEARNERS = ("stump", "stump", "product", "product:n_terms=2", "tree", "tree:n_leaves=3")
_BUDGETS: tuple[Any, ...] = (None, None, None, "10N", "0.5N", 1, 3, 40, 10**15, "2N")
_BANKS = ("memory", "memory", "memory:reference=3", "lazy", "lazy:reference=2", "disk")
_SETTINGS = {
    "laminating": (":scheme=distinct", ":n_features=4", ":scheme=stratified", ""),
    "ucb": (":exploration=0.1", ":arms=feature", ""),
    "mas-naive": (":noise=deconvolved", ":n_components=1", ""),
    "uniform-naive": (":n_features=2", ""),
}
_WRONG: tuple[tuple[str, Any], ...] = (
    ("n_rounds", 0),
    ("n_rounds", 2.5),
    ("n_rounds", None),
    ("budget", 0),
    ("budget", "N10"),
    ("budget", -5),
    ("budget", "1e-30N"),
    ("learner", "tree:n_leaves=1"),
    ("learner", 3),
    ("strategy", "laminate"),
    ("strategy", "ucb:exploration=-1"),
    ("strategy", "laminating:n_features=3"),
    ("strategy", Laminating),
    ("weight_init", "even"),
    ("bank", "tape"),
    ("bank", "lazy:reference=0"),
    ("n_jobs", 0),
    ("n_jobs", "two"),
    ("random_state", "seed"),
    ("random_state", -1),
    ("families", []),
    ("families", {}),
    ("families", "wavelets"),
    ("families", {"first": [0], "other": "999-1000"}),
    ("families", "dtype"),
    ("families", "prefix"),
    ("families", 7),
    ("class_weight", "even"),
    ("class_weight", {"none of them": 2.0}),
    ("class_weight", -1),
    ("early_stopping", "yes"),
    ("validation_fraction", 1.5),
    ("eval_metric", "accuracy"),
    ("max_model_features", 0),
    ("learning_rate", 0.0),
    ("smoothing", -1.0),
)


class Case(NamedTuple):
    """One input."""

    number: int
    settings: dict[str, Any]
    X: Any
    y: Any
    sample_weight: Any
    words: str


def random_case(number: int, seed: int = 0) -> Case:
    """Input `number` of a seed."""
    rng = np.random.default_rng([seed, number])
    X, n, table = random_examples(rng)
    y, labels = random_labels(rng, n)
    settings = _settings(rng, n)
    words = f"{table}, {labels}, {settings}"
    return Case(number, settings, X, y, random_weights(rng, n), words)


def _settings(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Settings of the classifier for n rows, seldom wrong ones."""
    names = list(STRATEGIES)
    name = names[rng.integers(len(names))]
    strategy: Any = name + str(rng.choice(_SETTINGS.get(name, ("",))))
    if rng.random() < 0.05:
        strategy = [Laminating(n_features=2), UniformNaive()][rng.integers(2)]
    settings: dict[str, Any] = {
        "strategy": strategy,
        "learner": str(rng.choice(_LEARNERS)),
        "n_rounds": int(rng.choice([1, 2, 6, 15])),
        "budget": _BUDGETS[rng.integers(len(_BUDGETS))],
        "weight_init": str(rng.choice(["balanced", "uniform"])),
        "bank": str(rng.choice(_BANKS)),
        "n_jobs": int(rng.choice([1, 1, 2])),
        "random_state": int(rng.integers(2**31)),
    }
    if name in ("full", "quickboost") and rng.random() < 0.9:
        settings["budget"] = None  # all others are too few looks
    draw = rng.random()
    for key in ("strategy", "learner", "budget") if draw < 0.2 else ("strategy",) * (draw < 0.25):
        del settings[key]
    few = n < 40 and rng.random() < 0.95  # rows to hold some out of
    known = inspect.signature(BoostSampleClassifier).parameters
    more: dict[str, tuple[Any, ...]] = {
        "class_weight": (None, None, "balanced"),
        "early_stopping": (False, False, False, few is False),
        "max_model_features": (None, None, 1, 3),
        "calibration": ("auto", "rule", "rule" if few else "temperature"),
        "eval_metric": ("log_loss", "error", "balanced_error"),
        "learning_rate": (None, None, 0.1, 0.5),
        "smoothing": (None, None, None, 0.01, 1.0),
    }
    for key, values in more.items():
        value = values[rng.integers(len(values))]
        if key in known and value is not None:
            settings[key] = value
    if rng.random() < 0.06:
        key, value = _WRONG[rng.integers(len(_WRONG))]
        if key in known:
            settings[key] = value
    return settings


def check_case(case: Case) -> str:
    """ "fit", or the line that refuses the input; AssertionError if it is neither."""
    return check_fit(case.settings, case.X, case.y, case.sample_weight)
