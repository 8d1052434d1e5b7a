"""Prints the tables of docs/RESULTS.md: our runs beside the numbers of [DF11], and their orders.

    python -m tests.experiments.reproduction

The runs are those of the small folders beside docs/results/df11.csv, which holds Tables 2 and 3 of
the paper. `tests/experiments/test_reproduction.py` holds the page, and docs/comparing.md's
tables of MNIST, to what this prints.
"""

from __future__ import annotations

import csv
import itertools
import math
import statistics
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from boostsample.experiments.results.read_folder import read_results
from boostsample.experiments.results.titles import label_of
from boostsample.experiments.tables.formats import to_markdown, to_text
from boostsample.experiments.tables.score_tables import result_table, score_table
from boostsample.experiments.tables.tables import mean_std
from tests.paths import ROOT

FOLDER = ROOT / "docs" / "results"
DATA = {"mnist": "MNIST", "cifar10": "CIFAR-10"}
METRICS = {"loss": "log10_loss", "error": "test_error"}
MARKS = (10, 100, 1000, 10000)
ADAPTIVE = ("mas-naive", "mas-1q", "mas-q1", "laminating")
COMPARING_REPETITIONS, COMPARING_MARKS = 3, (10, 100, 1000)
"""Those of the command in docs/comparing.md."""
PAPER_T = {10: 1580, 100: 13030, 1000: 37100, 10000: 43600}
PAPER_Q = {10: 388, 100: 73, 1000: 27, 10000: 19}
"""Means over all rounds so far, [DF11] 5.3."""


@dataclass(frozen=True)
class Score:
    """Mean and standard deviation over repetitions."""

    mean: float
    std: float

    def differs_from(self, other: Score) -> bool:
        """Whether the difference exceeds two standard deviations (of a difference of two runs)."""
        return abs(self.mean - other.mean) > 2 * math.hypot(self.std, other.std)


@cache
def paper() -> dict[tuple[str, str, int, str], Score]:
    """Tables 2 and 3 by data set, metric, stumps and strategy."""
    with (FOLDER / "df11.csv").open(newline="", encoding="ascii") as stream:
        return {
            (row["data"], row["metric"], int(row["stumps"]), row["strategy"]): Score(
                float(row["mean"]), float(row["std"])
            )
            for row in csv.DictReader(stream)
        }


@cache
def runs(data: str) -> dict[tuple[str, int, str], list[float]]:
    """Our values over repetitions by metric, stumps and strategy."""
    values: dict[tuple[str, int, str], list[float]] = {}
    for row in read_results(FOLDER / f"df11-{data}").rows:
        for metric, column in METRICS.items():
            values.setdefault((metric, row["stumps"], label_of(row)), []).append(row[column])
    return values


def ours(data: str, metric: str, stumps: int, strategy: str) -> Score:
    """Our mean and standard deviation."""
    values = runs(data)[metric, stumps, strategy]
    return Score(statistics.fmean(values), statistics.stdev(values))


def strategies() -> list[str]:
    """The ten methods in the order of the paper."""
    return list(dict.fromkeys(strategy for *_, strategy in paper()))


def printed(metric: str) -> Iterator[tuple[str, list[str]]]:
    """Data set and lines of the tables that `boostsample table --transpose` prints in Markdown."""
    folders = [read_results(FOLDER / f"df11-{data}") for data in DATA]
    for table in result_table(folders, metric):
        lines = to_markdown(table.transposed()).splitlines()
        yield table.data, [line for line in lines if line.startswith("|")]


def side_by_side(data: str, metric: str) -> Iterator[str]:
    """A table in Markdown: ours, then the paper's in italics."""
    yield "| " + " | ".join(["", *(f"{mark:,}" for mark in MARKS)]) + " |"
    yield "| --- |" + " ---: |" * len(MARKS)
    for strategy in strategies():
        cells = []
        for mark in MARKS:
            theirs = paper()[data, metric, mark, strategy]
            score = mean_std(runs(data)[metric, mark, strategy])
            cells.append(f"{score} *{theirs.mean:.2f} ({theirs.std:.2f})*")
        yield "| " + " | ".join([f"`{strategy}`", *cells]) + " |"


def order(data: str, metric: str, mark: int) -> tuple[int, list[tuple[str, str]], list[str]]:
    """The number of pairs that differ in the paper, those reversed here, and undecided ones.

    A pair is undecided here if it differs by less than two standard deviations.
    """
    told = 0
    reversed_, undecided = [], []
    for first, other in itertools.combinations(strategies(), 2):
        a, b = (paper()[data, metric, mark, name] for name in (first, other))
        if not a.differs_from(b):
            continue
        told += 1
        better, worse = (first, other) if a.mean < b.mean else (other, first)
        x, y = (ours(data, metric, mark, name) for name in (better, worse))
        if not x.differs_from(y):
            undecided.append(f"{better} < {worse}")
        elif x.mean > y.mean:
            reversed_.append((better, worse))
    return told, reversed_, undecided


def orders(metric: str) -> Iterator[str]:
    """A table in Markdown of how the orders agree, and of who is ahead."""
    yield "| | stumps | pairs that differ in the paper | same order | undecided here | reversed |"
    yield "| --- | ---: | ---: | ---: | ---: | --- |"
    for data, name in DATA.items():
        for mark in MARKS[:3]:
            told, reversed_, undecided = order(data, metric, mark)
            same = told - len(reversed_) - len(undecided)
            text = ", ".join(f"`{worse}` before `{better}`" for better, worse in reversed_)
            yield f"| {name} | {mark:,} | {told} | {same} | {len(undecided)} | {text or 'none'} |"


def ahead(data: str, metric: str, mark: int) -> tuple[str, Score, str, Score]:
    """The worst of MAS and Laminating and the best of all others."""
    scores = {name: ours(data, metric, mark, name) for name in strategies()}
    worst = max(ADAPTIVE, key=lambda name: scores[name].mean)
    best = min((n for n in scores if n not in ADAPTIVE), key=lambda name: scores[name].mean)
    return worst, scores[worst], best, scores[best]


def leads() -> Iterator[str]:
    """A table in Markdown: the worst of MAS and Laminating against the best of all others."""
    yield "| | metric | stumps | worst of MAS and Laminating | best of the others |"
    yield "| --- | --- | ---: | ---: | ---: |"
    for data, name in DATA.items():
        for metric, mark in itertools.product(METRICS, MARKS):
            worst, adaptive, best, other = ahead(data, metric, mark)
            first, second = (f"{s.mean:.2f} ({s.std:.2f})" for s in (adaptive, other))
            if adaptive.mean < other.mean:
                first = f"**{first}**"
            yield f"| {name} | {metric} | {mark:,} | {first} `{worst}` | {second} `{best}` |"


def sampled() -> Iterator[str]:
    """A table in Markdown: mean Q and T of mas-naive for both settings of its noise."""
    curves = read_results(FOLDER / "df11-mnist-noise").curves
    labels = list(dict.fromkeys(label_of(row) for row in curves))
    yield "| stumps | [DF11] 5.3: Q | T |" + "".join(f" `{label}`: Q | T |" for label in labels)
    yield "| ---: |" + " ---: | ---: |" * (1 + len(labels))
    for mark in MARKS:
        cells = [f"{PAPER_Q[mark]}", f"{PAPER_T[mark]:,}"]
        for label in labels:
            rows = [r for r in curves if (label_of(r), r["stumps"]) == (label, mark)]
            for column in ("features", "examples"):
                values = [row[column] for row in rows]
                cells.append(f"{statistics.fmean(values):,.0f} ({statistics.stdev(values):,.0f})")
        yield "| " + " | ".join([f"{mark:,}", *cells]) + " |"


def blocks() -> dict[str, str]:
    """All tables by the words that introduce them on the page."""
    made: dict[str, Iterable[str]] = {}
    for metric, heading in (("loss", "log10 loss"), ("error", "test error in percent")):
        made |= {f"{DATA[data]}, {heading}": lines for data, lines in printed(metric)}
        made |= {f"{DATA[data]}, {heading}, [DF11]": side_by_side(data, metric) for data in DATA}
    made |= {f"Orders by {metric}": orders(metric) for metric in METRICS}
    made |= {"Who leads": leads(), "Q and T": sampled()}
    return {title: "\n".join(lines) for title, lines in made.items()}


def comparing_tables() -> list[str]:
    """The tables of MNIST in docs/comparing.md: the first repetitions of three of the methods."""
    methods = ("uniform-naive", "mas-naive", "laminating")
    rows = [
        row
        for row in read_results(FOLDER / "df11-mnist").rows
        if row["repetition"] < COMPARING_REPETITIONS and row["stumps"] in COMPARING_MARKS
    ]
    chosen = [row for name in methods for row in rows if label_of(row) == name]
    return [to_text(score_table(chosen, metric)) for metric in METRICS]


def main() -> None:
    """Print all tables."""
    for table in comparing_tables():
        sys.stdout.write(f"docs/comparing.md:\n\n{table}\n\n")
    for title, table in blocks().items():
        sys.stdout.write(f"**{title}**\n\n{table}\n\n")


if __name__ == "__main__":
    main()
