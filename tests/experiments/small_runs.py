"""A small comparison that tests of pictures share, with its results as they are read."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.variants import parse_names
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.run.compare import compare

STRATEGIES = ("uniform-q1", "mas-naive", "laminating:n_features=16")


@cache
def comparison(name: str = "digits") -> Results:
    """Three strategies, two repetitions, 20 rounds."""
    plan = Plan(strategies=parse_names(STRATEGIES), marks=(2, 20), repeats=2, weights="uniform")
    return compare(load_dataset(name), plan)


def results(name: str = "digits") -> Results:
    """The same as a results folder has it."""
    return Results({"rounds": [2, 20], "weights": "uniform"}, comparison(name).table)


def make_incomplete(folder: Path) -> None:
    """Turn a complete results folder into one whose tables were not yet written."""
    plan = json.loads((folder / "plan.json").read_bytes())
    (folder / "plan.json").write_text(json.dumps({**plan, "complete": False}))
    (folder / "table.csv").unlink()


def timeless(results: Results | None) -> list[dict[str, Any]]:
    """The result rows without their seconds."""
    rows = [] if results is None else results.rows
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]
