"""A small comparison that tests of pictures share, with its results as they are read."""

from __future__ import annotations

from functools import cache

from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.variants import parse_names
from boostsample.experiments.results.comparison import Comparison
from boostsample.experiments.results.folder.read_folder import Results
from boostsample.experiments.run.compare import compare

STRATEGIES = ("uniform-q1", "mas-naive", "laminating:n_features=16")


@cache
def comparison(name: str = "digits") -> Comparison:
    """Three strategies, two repetitions, 20 rounds."""
    plan = Plan(strategies=parse_names(STRATEGIES), marks=(2, 20), repeats=2, weights="uniform")
    return compare(load_dataset(name), plan)


def results(name: str = "digits") -> Results:
    """The same as a results folder has it."""
    found = comparison(name)
    settings = {"rounds": [2, 20], "weights": "uniform"}
    return Results(found.rows, settings, None, curves=found.curves)
