"""How much of the best feature's gain strategies get: the regret tables of docs/CONTEST.md.

    python -m tests.experiments.regret measure --data-dir DIR -o FILE.csv
    python -m tests.experiments.regret print FILE.csv

At some rounds, all features are searched on all examples, which is charged to nobody. The gain of a
round of edge G is -log(1 - G^2) / 2, by which it reduces the log of the loss; the share is the gain
of the strategy's stump over that of the best stump of all.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.problem import loaded_problem
from boostsample.loop.booster import Booster

DATA = ("mnist",)
STRATEGIES = (
    "uniform-naive",
    "mas-naive",
    "laminating",
    "successive-halving",
    "adaptive-halving",
)
MARKS = (10, 100, 1000)
COLUMNS: tuple[str, ...] = (
    "data",
    "strategy",
    "repetition",
    "stumps",
    "edge",
    "best_edge",
    "log10_loss",
)


def best_edge(booster: Booster) -> float:
    """The largest edge of a stump of any feature, on all examples, under the present weights."""
    rows: Any = booster._rows
    features = np.arange(rows.n_features)
    return float(rows.searcher.search(features, rows.weights.exact(), True).edge.max())


def measured(data_dir: str | None, n_repetitions: int, n_searched: int) -> Iterator[dict[str, Any]]:
    """Rows of all runs: `n_searched` rounds from each mark on."""
    for data in DATA:
        problem = loaded_problem(data, data_dir)
        for repetition in range(n_repetitions):
            for strategy in STRATEGIES:
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
                wanted = {mark + more for mark in MARKS for more in range(n_searched)}
                while not booster.finished:
                    best = best_edge(booster) if booster.round + 1 in wanted else 0.0
                    row = booster.next_round().rows[0]
                    if best:
                        yield {
                            "data": data,
                            "strategy": strategy,
                            "repetition": repetition,
                            "stumps": row["round"],
                            "edge": row["edge"],
                            "best_edge": best,
                            "log10_loss": row["log10_loss"],
                        }


def gain(edge: float) -> float:
    """-log(1 - G^2) / 2."""
    return -0.5 * math.log1p(-(edge**2))


def tables(path: Path) -> dict[str, list[str]]:
    """Markdown tables by data set: mean shares of the best stump's gain, and its mean edge."""
    with path.open(newline="", encoding="ascii") as stream:
        rows = list(csv.DictReader(stream))
    lines: dict[str, list[str]] = {}
    for data in dict.fromkeys(row["data"] for row in rows):
        cells: list[list[str]] = []
        for strategy in dict.fromkeys(row["strategy"] for row in rows):
            line = [f"`{strategy}`"]
            for mark in MARKS:
                shares = [
                    row
                    for row in rows
                    if (row["data"], row["strategy"]) == (data, strategy)
                    and mark <= int(row["stumps"]) < 10 * mark
                ]
                edges = [(float(row["edge"]), float(row["best_edge"])) for row in shares]
                share = statistics.fmean(gain(edge) / gain(best) for edge, best in edges)
                best = statistics.fmean(best for _, best in edges)
                line.append(f"{100 * share:.0f} % of {best:.3f}")
            cells.append(line)
        head = ["strategy", *(f"from round {mark:,}" for mark in MARKS)]
        rule = ["---"] + ["---:"] * len(MARKS)
        lines[data] = ["| " + " | ".join(line) + " |" for line in (head, rule, *cells)]
    return lines


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
        for data, lines in tables(options.file).items():
            sys.stdout.write("\n".join([data, *lines, ""]))
        return
    with options.output.open("w", newline="", encoding="ascii") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        for row in measured(options.data_dir, options.repetitions, options.searched):
            writer.writerow(row)
            stream.flush()
            sys.stderr.write(f"{row}\n")


if __name__ == "__main__":
    main()
