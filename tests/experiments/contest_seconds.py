"""Test errors of the contest's tables at equal seconds, with LightGBM and XGBoost.

    python -m tests.experiments.contest_seconds FOLDER DATA_DIR

FOLDER is that of `tests.experiments.contest`. One thread; the clock runs in training, which begins
with bins, and not while errors are counted (`benchmarks.race`). Strategies choose stumps within the
budgets of the contest; the peers grow trees with their default settings. It writes
docs/results/contest-seconds.csv.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.race import RaceJob, RaceRules, peer_method, race, strategy_race_method
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.variants import Variant
from tests.experiments import contest_families
from tests.experiments.contest import FAMILIES, FEW_FEATURES
from tests.experiments.markdown import write_rows
from tests.paths import RESULTS

SECONDS = (0.1, 0.3, 1.0)
STRATEGIES = ("uniform-naive", "mas-naive", "adaptive-halving", "cost-aware")
PEERS = (
    "lightgbm:learning_rate=0.1:feature_fraction=1:data_sample_strategy=bagging",
    "xgboost:max_leaves=0:colsample_bytree=1",
)
N_SPLITS = 3
MOST_ROUNDS = 1_000_000


def job_of(data: Dataset, split: int) -> RaceJob:
    """All columns of a table, in the families of the contest."""
    X = data.X.reshape(len(data.X), -1).astype(np.float32)
    train, test = data.split(split, 0)
    n = min(FAMILIES, X.shape[1])
    families = tuple(contest_families.Part(part, n, X.shape[1]) for part in range(n))
    y = data.y.astype(np.int64)
    return RaceJob(
        data.name, X[train], y[train], X[test], y[test], data.n_classes, families,
        n_rounds=MOST_ROUNDS,
    )  # fmt: skip


def errors(data: Dataset, split: int) -> Iterator[dict[str, Any]]:
    """A row for each method: its test errors in percent after some seconds.

    Before the first round, the error is that of the most frequent class.
    """
    job = job_of(data, split)
    budget = "3N" if job.X_train.shape[1] < FEW_FEATURES else "10N"
    plan = Plan(budget=budget)
    methods = [
        *(strategy_race_method(Variant.parse(name), plan) for name in STRATEGIES),
        *(peer_method(Variant.parse(name)) for name in PEERS),
    ]
    rules = RaceRules(error=0.0, limit=SECONDS[-1], repeats=1, seed=split)
    most = np.bincount(job.y_train).argmax()
    before = 100.0 * float(np.mean(job.y_test != most))
    for run in race(job, methods, rules):
        curve = [(0.0, before), *((seconds, error) for _, seconds, error in run.curve)]
        at = {
            f"error_{limit:g}": [error for seconds, error in curve if seconds <= limit][-1]
            for limit in SECONDS
        }
        name = run.method.partition(":")[0]
        yield {"data": data.name, "split": split, "method": name, **at, "rounds": run.iterations}


def main(folder: str, data_dir: str) -> None:
    path = RESULTS / "contest-seconds.csv"
    done = set[tuple[str, int]]()
    if path.exists():
        done = set(pd.read_csv(path)[["data", "split"]].itertuples(index=False, name=None))
    names = [*sorted(map(str, Path(folder, "sets").glob("*.npz"))), "pendigits", "letter"]
    for split in range(N_SPLITS):
        for name in names:
            data = load_dataset(name, data_dir=data_dir)
            if (data.name, split) not in done:
                write_rows(path, list(errors(data, split)), mode="a")


if __name__ == "__main__":
    main(*sys.argv[1:])
