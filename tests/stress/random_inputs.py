"""Random small inputs for the classifier: each is fitted well, or refused in one clear line.

    python -m tests.stress.random_inputs --n 3000 --seed 0
    python -m tests.stress.random_inputs --only 17

Input `number` of a seed is always the same. The invariants are in `tests.stress.fit_invariants`.
"""

from __future__ import annotations

import argparse
import inspect
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from boostsample import BoostSampleClassifier
from boostsample.registry import STRATEGIES
from boostsample.strategies import Laminating, UniformNaive
from tests.stress.fit_invariants import check_fit
from tests.stress.forked import outcomes
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Check many inputs in forked processes; the exit code says whether there was a fault."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--n", type=int, default=3000, help="number of inputs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--only", type=int, help="one input, in this process")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BOOSTSAMPLE_CACHE_DIR"] = str(Path(folder) / "cache")
        if options.only is not None:
            case = random_case(options.only, options.seed)
            sys.stdout.write(f"{case.words}\n{check_case(case)}\n")
            return 0
        return _check_many(options.first, options.n, options.seed)


def _check_many(first: int, n: int, seed: int) -> int:
    counts: Counter[str] = Counter()
    for outcome in outcomes(
        lambda number: check_case(random_case(number, seed)), range(first, first + n), seconds=120
    ):
        kind = (
            "fits" if outcome.text == "fit" else "refused" if outcome.kind == "ok" else outcome.kind
        )
        counts[kind] += 1
        if outcome.kind != "ok":
            words = random_case(outcome.number, seed).words
            sys.stdout.write(f"{outcome.number} {outcome.kind}: {words}\n{outcome.text}\n")
        elif kind == "refused":
            sys.stdout.write(f"{outcome.number} {outcome.text}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{n} inputs of seed {seed}: {dict(sorted(counts.items()))}\n")
    return int(counts["fits"] + counts["refused"] < n)


if __name__ == "__main__":
    sys.exit(main())
