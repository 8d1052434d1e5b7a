"""Constants of our strategies by their areas on sets outside the contest.

    pip download --no-deps scikit-image==0.26.0 -d WHEELS
    python -m tests.experiments.contest_tuning WHEELS

The sets are the tables of `tests.experiments.default_choice` of more than ten columns, with the
budgets of the contest, and patches of ten photographs that scikit-image ships: which photograph is
it? It writes docs/results/contest-tuning.csv: areas under log10 loss from 10 to 1,000 rounds, and
against cost from the largest one after 1 round to the least one after 1,000.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostsample.banks.bank import FeatureBank
from boostsample.families import Columns, families_for
from boostsample.labels import encode
from boostsample.loop.booster import Booster
from tests.experiments.contest import FEW_FEATURES, areas
from tests.experiments.default_choice import NARROW, VERY_WIDE, WIDE
from tests.paths import RESULTS

CHOICES: dict[str, dict[str, Any]] = {
    "adaptive-halving": {},
    "adaptive-halving, eta 2": {"eta": 2},
    "adaptive-halving, eta 8": {"eta": 8},
    "adaptive-halving, at least 5 examples": {"adaptive_halving._LEAST_EXAMPLES": 5},
    "adaptive-halving, at least 30 examples": {"adaptive_halving._LEAST_EXAMPLES": 30},
    "cost-aware": {},
    "cost-aware, hope 1": {"cost_aware._HOPE": 1.0},
    "cost-aware, hope 2": {"cost_aware._HOPE": 2.0},
    "cost-aware, spread 0.3": {"cost_aware._SPREAD": 0.3},
    "cost-aware, spread 1": {"cost_aware._SPREAD": 1.0},
    "uniform-naive": {},
    "mas-naive": {},
    "successive-halving": {},
}
"""Strategies with their settings and constants, those of the package first."""
ROUNDS, REPEATS = 1000, 2
PHOTOGRAPHS = (
    "astronaut.png", "coffee.png", "chelsea.png", "grass.png", "gravel.png", "brick.png",
    "camera.png", "hubble_deep_field.jpg", "retina.jpg", "coins.png",
)  # fmt: skip
PATCHES = {"patches of 28 x 28": (6000, 28), "patches of 16 x 16": (800, 16)}
"""Patches of each photograph, and their side."""


class Problem(NamedTuple):
    """Features and labels (N,) to choose constants with, and the budget in N."""

    name: str
    bank: FeatureBank
    y: NDArray[np.int64]
    budget: int


def patches(wheels: str, n_each: int, side: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Random grey patches of the photographs (n, side, side), and which one each is from (n,)."""
    from PIL import Image

    rng = np.random.default_rng(3)
    archive = zipfile.ZipFile(next(Path(wheels).glob("scikit_image*.whl")))
    parts = []
    for name in PHOTOGRAPHS:
        photograph = Image.open(io.BytesIO(archive.read(f"skimage/data/{name}")))
        grey = np.asarray(photograph.convert("L"))
        rows = rng.integers(0, grey.shape[0] - side, n_each)
        columns = rng.integers(0, grey.shape[1] - side, n_each)
        corners = zip(rows, columns, strict=True)
        parts.append(np.stack([grey[i : i + side, j : j + side] for i, j in corners]))
    y = np.repeat(np.arange(len(PHOTOGRAPHS)), n_each)
    order = rng.permutation(y.size)
    return np.concatenate(parts)[order], y[order]


def problems(wheels: str) -> Iterator[Problem]:
    for loaders in (NARROW, WIDE, VERY_WIDE):
        for name, load in loaders.items():
            X, y = load()
            if isinstance(X, pd.DataFrame):
                X = pd.get_dummies(X, dtype=np.float32)
            X = np.ascontiguousarray(np.asarray(X, np.float32))
            if X.shape[1] > 10:
                bank = FeatureBank.build([Columns(range(X.shape[1]))], X)
                budget = 3 if X.shape[1] < FEW_FEATURES else 10
                yield Problem(name, bank, np.unique(y, return_inverse=True)[1], budget)
    for name, (n_each, side) in PATCHES.items():
        images, y = patches(wheels, n_each, side)
        yield Problem(name, FeatureBank.build(families_for(images.shape[1:]), images), y, 10)


def curve(problem: Problem, choice: str, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Cost so far and log10 loss after each round, both of shape (ROUNDS,)."""
    settings = {k: v for k, v in CHOICES[choice].items() if "." not in k}
    name = choice.partition(",")[0] + "".join(f":{k}={v}" for k, v in settings.items())
    n = problem.y.size
    with ExitStack() as stack:
        for place, value in CHOICES[choice].items():
            if "." in place:
                stack.enter_context(patch(f"boostsample.strategies.{place}", value))
        booster = Booster(
            problem.bank, None, encode(problem.y, int(problem.y.max()) + 1), name,
            budget=problem.budget * n, n_rounds=ROUNDS, rng=seed,
        )  # fmt: skip
        rows = [booster.next_round().rows for _ in range(ROUNDS) if not booster.finished]
    cost = np.cumsum([sum(row["cost"] for row in of_round) for of_round in rows])
    loss = np.array([of_round[-1]["log10_loss"] for of_round in rows])
    missing = ROUNDS - loss.size
    return np.pad(cost, (0, missing), "edge"), np.pad(loss, (0, missing), "edge")


def measured(problem: Problem) -> Iterator[dict[str, Any]]:
    runs = {(c, k): curve(problem, c, k) for c in CHOICES for k in range(REPEATS)}
    start = max(cost[0] for cost, _ in runs.values())
    end = min(cost[-1] for cost, _ in runs.values())
    rounds = np.arange(1.0, ROUNDS + 1)
    for (choice, run), (cost, loss) in runs.items():
        against = {"rounds": areas(rounds, loss, 10, ROUNDS), "cost": areas(cost, loss, start, end)}
        yield {"data": problem.name, "choice": choice, "run": run, **against}


def main(wheels: str) -> None:
    rows: list[dict[str, Any]] = []
    for problem in problems(wheels):
        rows += measured(problem)
        sys.stdout.write(f"{problem.name}\n")
        sys.stdout.flush()
    pd.DataFrame(rows).round(5).to_csv(RESULTS / "contest-tuning.csv", index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
