"""Prints the tables of docs/RESULTS.md: our runs beside the numbers of [DF11], and their orders.

    python -m tests.experiments.reproduction

The runs are those of the small folders beside docs/results/df11.csv, which holds Tables 2 and 3 of
the paper. `tests/experiments/test_published_tables.py` holds the page, and docs/comparing.md's
tables of MNIST, to what this prints.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pandas as pd

from boostsample.experiments.results.read_folder import read_results
from boostsample.experiments.results.run_curves import with_labels
from boostsample.experiments.tables.formats import to_markdown, to_text
from boostsample.experiments.tables.score_tables import plain_table, result_table
from boostsample.experiments.tables.tables import mean_std
from tests.experiments import markdown
from tests.paths import RESULTS

DATA = {"mnist": "MNIST", "cifar10": "CIFAR-10"}
METRICS = {"loss": "log10_loss", "error": "test_error"}
MARKS = (10, 100, 1000, 10000)
ADAPTIVE = ("mas-naive", "mas-1q", "mas-q1", "laminating")
COMPARING_REPETITIONS, COMPARING_MARKS = 3, (10, 100, 1000)
"""Those of the command in docs/comparing.md."""
PAPER_T = {10: 1580, 100: 13030, 1000: 37100, 10000: 43600}
PAPER_Q = {10: 388, 100: 73, 1000: 27, 10000: 19}  # means over all rounds so far, [DF11] 5.3


KEY = ["data", "metric", "stumps", "strategy"]


def differ(first: pd.Series, second: pd.Series) -> bool:
    """Whether means differ by more than two standard deviations (of a difference of two runs)."""
    return bool(abs(first["mean"] - second["mean"]) > 2 * math.hypot(first["std"], second["std"]))


@cache
def paper() -> pd.DataFrame:
    """Mean and standard deviation in Tables 2 and 3, by `KEY`."""
    return pd.read_csv(RESULTS / "df11.csv", index_col=KEY).sort_index()


def strategies() -> list[str]:
    return list(pd.read_csv(RESULTS / "df11.csv")["strategy"].unique())


@cache
def ours() -> pd.DataFrame:
    """Our mean, standard deviation, number of runs and their text, by `KEY`."""
    rows = pd.concat(
        with_labels(read_results(RESULTS / f"df11-{data}").at_marks).assign(data=data)
        for data in DATA
    )
    rows = rows.drop(columns="strategy").rename(columns={"label": "strategy"})
    rows = rows.rename(columns={column: metric for metric, column in METRICS.items()})
    values = rows.melt(["data", "stumps", "strategy"], list(METRICS), "metric")
    groups = values.groupby(KEY)["value"]
    text = groups.agg(lambda group: mean_std(list(group)))
    return groups.agg(["mean", "std", "count"]).assign(text=text)


def printed(metric: str) -> Iterator[tuple[str, list[str]]]:
    """Data set and lines of the tables that `boostsample table --transpose` prints in Markdown."""
    folders = [read_results(RESULTS / f"df11-{data}") for data in DATA]
    for table in result_table(folders, metric, charged=False):
        lines = to_markdown(table.transposed()).splitlines()
        yield table.data, [line for line in lines if line.startswith("|")]


def side_by_side(data: str, metric: str) -> list[str]:
    """A table in Markdown: ours, then the paper's in italics."""
    theirs = paper().loc[(data, metric)].apply("*{0[mean]:.2f} ({0[std]:.2f})*".format, axis=1)
    texts = ours().loc[(data, metric), "text"] + " " + theirs
    table = texts.unstack("stumps").loc[strategies()]
    return markdown.frame_table(["", *(f"{mark:,}" for mark in MARKS)], table)


def orders(metric: str) -> list[str]:
    """A table in Markdown of how the orders agree, and of who is ahead.

    A pair is undecided here if it differs by less than two standard deviations.
    """
    rows = []
    for data, mark in itertools.product(DATA, MARKS[:3]):
        theirs, here = paper().loc[(data, metric, mark)], ours().loc[(data, metric, mark)]
        n_different, n_undecided, turned = 0, 0, []
        for pair in itertools.combinations(strategies(), 2):
            better, worse = sorted(pair, key=theirs["mean"].get)
            if not differ(theirs.loc[better], theirs.loc[worse]):
                continue
            n_different += 1
            if not differ(here.loc[better], here.loc[worse]):
                n_undecided += 1
            elif here.loc[better, "mean"] > here.loc[worse, "mean"]:
                turned.append(f"`{worse}` before `{better}`")
        counts = n_different, n_different - len(turned) - n_undecided, n_undecided
        text = ", ".join(turned) or "none"
        rows.append([DATA[data], f"{mark:,}", *map(str, counts), text])
    head = "stumps", "pairs that differ in the paper", "same order", "undecided here", "reversed"
    return markdown.table(["", *head], rows, left=(0, 5))


def leads() -> list[str]:
    """A table in Markdown: the worst of MAS and Laminating against the best of all others."""
    rows = []
    for data, metric, mark in itertools.product(DATA, METRICS, MARKS):
        scores = ours().loc[(data, metric, mark)]
        worst = scores.loc[list(ADAPTIVE), "mean"].idxmax()
        best = scores["mean"].drop(list(ADAPTIVE)).idxmin()
        first = scores.loc[worst, "text"]
        if scores.loc[worst, "mean"] < scores.loc[best, "mean"]:
            first = f"**{first}**"
        texts = f"{first} `{worst}`", f"{scores.loc[best, 'text']} `{best}`"
        rows.append([DATA[data], metric, f"{mark:,}", *texts])
    head = "metric", "stumps", "worst of MAS and Laminating", "best of the others"
    return markdown.table(["", *head], rows, left=(0, 1))


def sampled() -> list[str]:
    """A table in Markdown: mean Q and T of mas-naive for both settings of its noise."""
    curves = with_labels(read_results(RESULTS / "df11-mnist-noise").table)
    groups = curves.groupby(["stumps", "label"], sort=False)[["features", "examples"]]
    means, stds = groups.mean(), groups.std()
    labels = list(curves["label"].unique())
    rows = []
    for mark in MARKS:
        cells = [f"{mark:,}", f"{PAPER_Q[mark]}", f"{PAPER_T[mark]:,}"]
        for label, column in itertools.product(labels, means):
            mean, std = means.loc[(mark, label), column], stds.loc[(mark, label), column]
            cells.append(f"{mean:,.0f} ({std:,.0f})")
        rows.append(cells)
    head = ["stumps", "[DF11] 5.3: Q", "T"]
    head += [text for label in labels for text in (f"`{label}`: Q", "T")]
    return markdown.table(head, rows, left=())


def blocks() -> dict[str, str]:
    """All tables by the words that introduce them on the page."""
    made: dict[str, list[str]] = {}
    for metric, heading in (("loss", "log10 loss"), ("error", "test error in percent")):
        made |= {f"{DATA[data]}, {heading}": lines for data, lines in printed(metric)}
        made |= {f"{DATA[data]}, {heading}, [DF11]": side_by_side(data, metric) for data in DATA}
    made |= {f"Orders by {metric}": orders(metric) for metric in METRICS}
    made |= {"Who leads": leads(), "Q and T": sampled()}
    return {title: "\n".join(lines) for title, lines in made.items()}


def comparing_tables() -> list[str]:
    """The tables of MNIST in docs/comparing.md: the first repetitions of three of the methods."""
    methods = ("uniform-naive", "mas-naive", "laminating")
    whole = read_results(RESULTS / "df11-mnist")
    table, settings = whole.table, {**whole.settings, "rounds": COMPARING_MARKS}
    first = replace(
        whole, table=table[table["repetition"] < COMPARING_REPETITIONS], settings=settings
    )
    return [to_text(plain_table(first, metric, strategies=methods)) for metric in METRICS]


def main() -> None:
    for table in comparing_tables():
        sys.stdout.write(f"docs/comparing.md:\n\n{table}\n\n")
    for title, table in blocks().items():
        sys.stdout.write(f"**{title}**\n\n{table}\n\n")


if __name__ == "__main__":
    main()
