"""Prints the tables of docs/BK10.md: our smoothed test errors beside Table 1 of [BK10].

    python -m tests.experiments.table1 [FOLDER]

The runs are those of the small folders bk10-* in docs/results, or in FOLDER: results of the grids
in docs/bk10. docs/results/bk10.csv holds Table 1 of the paper.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

from boostsample.experiments.results.read_folder import read_results
from boostsample.experiments.results.validation import Choice, ChoiceScore, choose, score_choices
from tests.paths import ROOT

RESULTS = ROOT / "docs" / "results"
METHODS = {
    "full": "FULL",
    "uniform-naive": "RANDOM",
    "ucb": "UCB",
    "ucbv": "UCBV",
    "exp3p": "EXP3.P",
}
NAMES = {
    "mnist": "MNIST",
    "usps-smoothed": "USPS, smoothed",
    "usps": "USPS",
    "pendigits": "pendigits",
    "letter": "letter",
}


def paper() -> dict[tuple[str, str, str], float]:
    """Table 1 by learner, strategy and data set."""
    with (RESULTS / "bk10.csv").open(newline="", encoding="ascii") as stream:
        return {
            (row["learner"], row["strategy"], row["data"]): float(row["error"])
            for row in csv.DictReader(stream)
        }


def found(folder: Path) -> Iterator[tuple[Choice, ChoiceScore]]:
    """What validation chose in all folders of results, with its test errors."""
    for one in sorted(folder.glob("bk10-*/results.csv")):
        results = read_results(one.parent)
        if any(":validation" in data["name"] for data in results.settings["data_sets"]):
            choices = choose(results)
            yield from zip(choices, score_choices(choices, results, results), strict=True)


def table(folder: Path) -> Iterator[str]:
    """The table in Markdown: our error, T, and the paper's error in italics."""
    yield "| learner | data | " + " | ".join(METHODS.values()) + " |"
    yield "| --- | --- |" + " ---: |" * len(METHODS)
    theirs = paper()
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for choice, test in found(folder):
        kind = choice.learner.partition(":")[0]
        name = choice.base.partition("-")[0]
        published = theirs.get((kind, choice.strategy, name))
        falling = "+" if choice.at_end else ""
        text = f"{test.errors[0]:.2f} ({choice.stumps:,}{falling})"
        text += "" if published is None else f" *{published:.2f}*"
        cells.setdefault((choice.learner, choice.base), {})[choice.strategy] = text
    order = sorted(cells, key=lambda key: (("stu", "pro", "tre").index(key[0][:3]), key[1]))
    for learner, data in order:
        mine = cells[learner, data]
        entries = " | ".join(mine.get(method, "") for method in METHODS)
        yield f"| `{learner}` | {NAMES.get(data, data)} | {entries} |"


if __name__ == "__main__":
    lines = table(Path(sys.argv[1]) if sys.argv[1:] else RESULTS)
    sys.stdout.write("\n".join(lines) + "\n")
