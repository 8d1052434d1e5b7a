"""How much of the best feature's gain strategies get: the regret table of docs/CONTEST.md.

    python -m tests.experiments.regret measure --data-dir DIR -o FILE.csv
    python -m tests.experiments.regret print FILE.csv

At some rounds, all features are searched on all examples, which is charged to nobody. The gain of a
round of edge G is -log(1 - G^2) / 2, by which it reduces the log of the loss; the share is the gain
of the strategy's stump over that of the best stump of all.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.problem import loaded_problem
from boostsample.loop.booster import Booster
from tests.experiments import markdown

DATA = "mnist"
STRATEGIES = (
    "uniform-naive",
    "mas-naive",
    "laminating",
    "successive-halving",
    "adaptive-halving",
)
MARKS = (10, 100, 1000)


def best_edge(booster: Booster) -> float:
    """The largest edge of a stump of any feature, on all examples, under the present weights."""
    rows: Any = booster._rows
    features = np.arange(rows.n_features)
    return float(rows.searcher.search(features, rows.weights.exact(), True).edge.max())


def measured(data_dir: str | None, n_repetitions: int, n_searched: int) -> Iterator[dict[str, Any]]:
    """Rows of all runs: `n_searched` rounds from each mark on."""
    problem = loaded_problem(DATA, data_dir)
    searched = {mark + more for mark in MARKS for more in range(n_searched)}
    for repetition, strategy in itertools.product(range(n_repetitions), STRATEGIES):
        booster = Booster(
            problem.bank,
            problem.rows,
            problem.Y,
            strategy,
            n_rounds=MARKS[-1] + n_searched,
            budget="10N",
            weight_init="uniform",
            rng=repetition,
        )
        while not booster.finished:
            best = best_edge(booster) if booster.round + 1 in searched else 0.0
            row = booster.next_round().rows[0]
            if best:
                yield {
                    "data": DATA,
                    "strategy": strategy,
                    "repetition": repetition,
                    "stumps": row["round"],
                    "edge": row["edge"],
                    "best_edge": best,
                    "log10_loss": row["log10_loss"],
                }


def table(path: Path) -> list[str]:
    """A Markdown table: mean shares of the best stump's gain, and its mean edge."""
    figures = pd.read_csv(path)
    gains = -np.log1p(-(figures[["edge", "best_edge"]] ** 2)) / 2
    figures["share"] = 100 * gains["edge"] / gains["best_edge"]
    figures["mark"] = pd.cut(figures["stumps"], [*MARKS, np.inf], right=False, labels=MARKS)
    groups = figures.groupby(["strategy", "mark"], sort=False, observed=True)
    means = groups[["share", "best_edge"]].mean()
    texts = [f"{share:.0f} % of {best:.3f}" for share, best in means.to_numpy()]
    of_marks = pd.Series(texts, means.index).unstack(sort=False)
    return markdown.frame_table(["strategy", *(f"from round {mark:,}" for mark in MARKS)], of_marks)


def main(arguments: list[str] | None = None) -> None:
    """Measure or print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("action", choices=("measure", "print"))
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--data-dir")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--searched", type=int, default=5, help="rounds searched from each mark on")
    options = parser.parse_args(arguments)
    if options.action == "print":
        sys.stdout.write("\n".join([*table(options.file), ""]))
    else:
        rows = measured(options.data_dir, options.repetitions, options.searched)
        markdown.write_rows(options.output, rows)


if __name__ == "__main__":
    main()
