"""Prints the readings of Figure 3 of [BK10] in docs/BK10.md: how often useful features are chosen.

    python -m tests.experiments.figure3 [--train [READING ...]]

With --train it first trains all readings, or those named, which takes about half an hour, and
writes their figures to docs/results/bk10-readings.csv. Each run has data of its own.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostsample.bandits import REWARDS
from boostsample.banks.bank import FeatureBank
from boostsample.experiments.data.datasets import make_chess, make_diagonal
from boostsample.experiments.tables.tables import mean_and_std
from boostsample.families import Columns
from boostsample.loop.checkpoint import boost
from boostsample.loop.smoothed import is_complete, window_ends
from tests.experiments import markdown
from tests.paths import RESULTS

FIGURES = RESULTS / "bk10-readings.csv"
COLUMNS: tuple[str, ...] = ("reading", "data", "method", "run", "useful", "nats")
BANDITS = {"UCB": "ucb", "UCBV": "ucbv", "EXP3.P": "exp3p:mixing=0.3:bonus=0.3"}
USEFUL = {"diagonal": 4, "chess": 3}
N_HELD_OUT = 250
NAMES = ("round", "feature", "alpha")


@dataclass(frozen=True)
class Reading:
    """What [BK10] may have done; the defaults are what it says."""

    text: str
    rounds: int = 10_000
    runs: int = 4
    n: int = 1_000
    q: float = 0.1
    learner: str = "stump"
    bandit: str = ""  # settings of the bandits
    counted: str = "rounds"  # or alpha, or the rounds up to the T of validation
    trained: str = ""  # the reading whose runs are counted; empty: its own
    data: tuple[str, ...] = tuple(USEFUL)
    bandits: dict[str, str] | None = None


READINGS = {
    "written": Reading("as written", runs=12),
    "validated": Reading("up to the T of validation", runs=12, counted="T", trained="written"),
    "alpha": Reading("weighted by alpha", runs=12, counted="alpha", trained="written"),
    "edge": Reading("reward: the edge", bandit=":reward=edge"),
    "theory": Reading(
        "lambda and eta of eq. 13", bandits={"EXP3.P": "exp3p:mixing=theory:bonus=theory"}
    ),
    "clean": Reading("no noise, q = 0", q=0.0, data=("diagonal",)),
    "clean-edge": Reading(
        "q = 0; reward: the edge", q=0.0, data=("diagonal",), bandit=":reward=edge"
    ),
    "clean-100": Reading(
        "q = 0; rewards x 100", q=0.0, data=("diagonal",), bandit=":reward_scale=100"
    ),
    "large": Reading("n = 100,000", rounds=1_000, runs=2, n=100_000),
    "product3": Reading("products of 3 terms", rounds=1_000, learner="product:n_terms=3"),
    "product10": Reading("products of 10 terms", rounds=300, learner="product:n_terms=10"),
    "tree8": Reading("trees of 8 leaves", rounds=1_000, learner="tree:n_leaves=8"),
    "tree32": Reading("trees of 32 leaves", rounds=300, runs=2, learner="tree:n_leaves=32"),
}


@dataclass(frozen=True)
class Trained:
    """The searches of a run: round, feature and alpha of each; errors on the points held out."""

    round: NDArray[np.int64]
    feature: NDArray[np.int64]
    alpha: NDArray[np.float64]
    errors: NDArray[np.float64]
    nats: float  # by which the logarithm of the loss has fallen: the sum of all rewards of stumps

    def useful(self, n_useful: int, counted: str) -> float:
        """Percent of the searches, or of their alphas, that chose a useful feature."""
        last = best_rounds(self.errors) if counted == "T" else self.round[-1]
        weight = self.alpha if counted == "alpha" else np.ones(self.round.size)
        weight = np.where(self.round <= last, weight, 0.0)
        return float(100.0 * weight[self.feature < n_useful].sum() / weight.sum())


def train(reading: Reading, data: str, strategy: str, run: int) -> Trained:
    rng, size = np.random.default_rng([run, data == "chess"]), reading.n + N_HELD_OUT
    made = make_chess(rng, n=size) if data == "chess" else make_diagonal(rng, q=reading.q, n=size)
    X, y = made[0], np.where(made[1] == 1, 1, -1).astype(np.int8)
    train_rows = np.arange(reading.n)
    bank = FeatureBank.build([Columns(range(X.shape[1]))], X, train_rows)
    named: dict[str, Any] = {"learner": reading.learner, "n_rounds": reading.rounds, "rng": run}
    rows: list[dict[str, Any]] = []
    scores, errors = np.zeros(N_HELD_OUT), []
    for done in boost(bank, train_rows, y[: reading.n, None], strategy, **named):
        rows += done.rows
        if reading.learner == "stump":
            (term,) = done.terms
            above = X[reading.n :, term.feature] >= term.value
            scores += term.alpha * term.votes[0] * np.where(above, 1.0, -1.0)
            errors.append(float(np.mean(np.where(scores >= 0.0, 1, -1) != y[reading.n :])))
    number, feature, alpha = (np.array([row[name] for row in rows]) for name in NAMES)
    nats = -math.log(10.0) * float(rows[-1]["log10_loss"])
    return Trained(number, feature, alpha, np.array(errors), nats)


def best_rounds(errors: NDArray[np.float64]) -> int:
    """The T with the smallest smoothed error, from 5 on."""
    sums = np.concatenate([[0.0], np.cumsum(errors)])
    smoothed = {}
    for rounds in range(5, errors.size):
        if is_complete(rounds, errors.size):
            first, last = window_ends(rounds)
            smoothed[rounds] = (sums[last] - sums[first - 1]) / (last - first + 1)
    return min(smoothed, key=smoothed.__getitem__)


def methods(reading: Reading) -> dict[str, str]:
    single, arms = "n_features=1", ":arms=feature:n_features=1"
    chosen = BANDITS if reading.bandits is None else reading.bandits
    strategies = {name: text + arms + reading.bandit for name, text in chosen.items()}
    if reading.bandit or reading.bandits is not None:  # FULL and RANDOM are those of "written"
        return strategies
    return {"FULL": "full", "RANDOM": f"uniform-naive:{single}", **strategies}


def figures_of(name: str) -> Iterator[dict[str, Any]]:
    """The figures of a reading, and of those that count its runs in another way."""
    reading = READINGS[name]
    counts = [name, *(other for other, its in READINGS.items() if its.trained == name)]
    for data in reading.data:
        for method, strategy in methods(reading).items():
            for run in range(reading.runs):
                trained = train(reading, data, strategy, run)
                for other in counts:
                    useful = trained.useful(USEFUL[data], READINGS[other].counted)
                    row = other, data, method, run, f"{useful:.4g}", f"{trained.nats:.4g}"
                    yield dict(zip(COLUMNS, row, strict=True))


def write(names: list[str]) -> None:
    """Train readings and write their figures among those of the others."""
    REWARDS["edge"] = np.abs
    for name in names:
        figures = pd.DataFrame(figures_of(name))
        if FIGURES.exists():
            others = pd.read_csv(FIGURES, dtype=str)
            figures = pd.concat(
                [others[~others["reading"].isin(figures["reading"])], figures], ignore_index=True
            )
        order = figures["reading"].map(list(READINGS).index).sort_values(kind="stable").index
        figures.loc[order].to_csv(FIGURES, index=False, lineterminator="\n")


def table(data: str) -> list[str]:
    """Percent of useful features by reading and method, mean and standard deviation; Markdown."""
    figures = pd.read_csv(FIGURES).query("data == @data")
    groups = figures.groupby(["reading", "method"], sort=False)["useful"]
    texts = groups.apply(lambda useful: "{:.1f} ({:.1f})".format(*mean_and_std(list(useful))))
    of_readings = texts.unstack(sort=False, fill_value="")[["FULL", "RANDOM", *BANDITS]]
    rows = []
    for key, cells in of_readings.iterrows():
        reading = READINGS[str(key)]
        rounds = "T" if reading.counted == "T" else f"{reading.rounds:,}"
        rows.append([reading.text, rounds, *cells])
    chance = 100 * USEFUL[data] // 10
    return markdown.table([f"{data.upper()}, chance is {chance}", "rounds", *of_readings], rows)


def main() -> None:
    if sys.argv[1:2] == ["--train"]:
        write(sys.argv[2:] or [name for name, reading in READINGS.items() if not reading.trained])
    for data in USEFUL:
        sys.stdout.write("\n".join([*table(data), "", ""]))


if __name__ == "__main__":
    main()
