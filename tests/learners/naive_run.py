"""Trains the naive products and trees on a data set and prints errors and losses.

    python -m tests.learners.naive_run digits tree:9 300
    python -m tests.learners.naive_run letter product:10 1000 --data-dir FOLDER

The number is that of terms or leaves. The digits are split 1257/540 (scikit-learn's
train_test_split, random_state 0); other sets have their standard split. Features are the raw
pixels or columns; initial weights are balanced ([BK10] eq. 2).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from boostsample.banks.bank import FeatureBank
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.labels import encode, error_percent
from boostsample.registry import families_by_name
from boostsample.rows.weights import initial_weights
from tests.learners.naive_learners import NaiveBooster, NaiveRound

MARKS = (1, 2, 5, 10, 20, 50, 100, 200, 300, 500, 1000, 2000, 5000, 10000)


def split_of(data: Dataset) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Train and test rows."""
    if data.name != "digits":
        return data.split(0, 0)
    train, test = train_test_split(np.arange(data.n_examples), test_size=540, random_state=0)
    return train, test


def bank_for(data: Dataset, train: NDArray[np.int64]) -> FeatureBank:
    """The bank of the raw pixels or columns."""
    name = "identity" if data.is_image else "columns"
    families = families_by_name([name], data.X.shape[1:], column_names=data.columns)
    return FeatureBank.build(families, data.X, train)


def run(data: Dataset, learner: str, size: int, n_rounds: int) -> None:
    """Train, and print a line at each mark and whenever the training error reaches zero."""
    train, test = split_of(data)
    bank = bank_for(data, train)
    Y = encode(data.y[train], data.n_classes)
    test_bins = np.ascontiguousarray(bank.bins[:, test])
    booster = NaiveBooster(
        bank.bins[:, train], bank.n_bins, Y, learner, size, initial_weights(Y, "balanced")
    )
    test_scores = np.zeros((len(test), Y.shape[1]))
    counts: Counter[str] = Counter()
    start, reached_zero = time.monotonic(), False
    say(f"{data.name}: {len(train)} + {len(test)} examples, {bank.n_features} features")
    say("round  searches  train %   test %  log10 loss  seconds")
    for number in range(1, n_rounds + 1):
        done = booster.next_round()
        count(done, counts)
        test_scores += done.alpha * done.outputs(test_bins)
        error = error_percent(booster.scores, data.y[train])
        first_zero = error == 0 and not reached_zero
        reached_zero |= first_zero
        if number in MARKS or number == n_rounds or first_zero or booster.ended:
            say(
                f"{number:5}  {counts['searches']:8}  {error:7.3f}  "
                f"{error_percent(test_scores, data.y[test]):7.3f}  {booster.log10_loss:10.4f}  "
                f"{time.monotonic() - start:7.1f}"
            )
        if booster.ended:
            say("training ends: an edge of 1")
            break
    say(", ".join(f"{name}: {n}" for name, n in counts.items()))


def count(done: NaiveRound, counts: Counter[str]) -> None:
    """Count the searches of a round, those with ties of each kind, and those not in the model."""
    counts["rounds with a label sum below 1e-6"] += done.least_sum < 1e-6
    for found in done.searches:
        counts["searches"] += 1
        counts["not in the model"] += not found.in_model
        counts["tied"] += bool(found.ties)
        counts["lead below 1e-6"] += found.lead < 1e-6
        for kind in found.ties:
            where = "all examples" if found.parent < 0 else "a leaf"
            counts[f"{kind} on {where}"] += 1


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def arguments(description: str | None) -> tuple[Dataset, argparse.Namespace]:
    """The data set and the options of a command line."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", help="digits, pendigits, letter or another named set")
    parser.add_argument("learner", help="stump, product:TERMS or tree:LEAVES")
    parser.add_argument("rounds", type=int)
    parser.add_argument("--data-dir", type=Path)
    given = parser.parse_args()
    return load_dataset(given.data, data_dir=given.data_dir, download=False), given


def main() -> None:
    """Run the command."""
    data, given = arguments(__doc__)
    learner, _, size = given.learner.partition(":")
    run(data, learner, int(size or 1), given.rounds)


if __name__ == "__main__":
    main()
