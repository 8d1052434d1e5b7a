"""Prints the tables of docs/CONTEST.md from the small folders and files of docs/results.

    python -m tests.experiments.contest

`tests/experiments/test_published_tables.py` holds the page to what this prints.
"""

from __future__ import annotations

import math
import statistics
import sys

import pandas as pd

from boostsample.experiments.results.read_folder import read_results
from boostsample.experiments.results.run_curves import curves_of_results, uncharged, with_labels
from boostsample.experiments.results.significance import critical_difference, friedman, ranks
from tests.experiments import markdown, regret
from tests.paths import RESULTS

FOLDERS = (
    "df11-mnist",
    "df11-cifar10",
    "contest-usps",
    "contest-tables",
    "contest-mnist",
    "contest-cifar10",
    "contest-modern",
)
METRICS = {"loss": "log10_loss", "error": "test_error"}
DIGITS = {"loss": 3, "error": 2}
RANKED = (10, 100, 1000, 10_000)
BUDGETS = (1, 3, 30, 100)

SECONDS = (0.1, 0.3, 1, 3)


def rows_of(*folders: str) -> pd.DataFrame:
    """The rows of folders with short names of the data sets, and labels; nothing charged."""
    rows = pd.concat([read_results(RESULTS / folder).at_marks for folder in folders])
    rows["data"] = rows["data"].str.extract("^([^:(]*)", expand=False)
    return uncharged(with_labels(rows))


def seconds(metric: str) -> dict[str, pd.DataFrame]:
    """Values at equal seconds of each data set; not of runs that ended earlier."""
    column = METRICS[metric]
    frames = {}
    for curves in curves_of_results(read_results(RESULTS / "contest-seconds")):
        values = [
            {"label": label, "seconds": level, column: value}
            for level in SECONDS
            for label, by_repetition in curves.at(metric, "seconds", level).items()
            if not any(map(math.isnan, by_repetition.values()))
            for value in by_repetition.values()
        ]
        frames[curves.data] = pd.DataFrame(values)
    return frames


def scores(rows: pd.DataFrame, metric: str, axis: str = "stumps", unit: str = "") -> list[str]:
    """Mean (std) over repetitions: a row for each strategy, the best mean of a column bold."""
    values = rows.groupby(["label", axis], sort=False)[METRICS[metric]]
    means, spreads = (
        part.unstack(sort=False).sort_index(axis=1)
        for part in (values.agg(statistics.fmean), values.std().fillna(0.0))
    )
    head = ["strategy", *(f"{mark:,g} {unit or axis}" for mark in means)]
    return markdown.frame_table(head, markdown.best_in_bold(means, spreads, DIGITS[metric]))


def mean_ranks(rows: pd.DataFrame, metric: str) -> list[str]:
    """Mean ranks over the data sets of the strategies that are in all, and what is significant."""
    means = rows.groupby(["stumps", "data", "label"], sort=False)[METRICS[metric]].mean()
    of_marks = {mark: means[mark].unstack(sort=False).dropna(axis=1) for mark in RANKED}
    ranked = pd.DataFrame({k: pd.Series(ranks(v), v.columns) for k, v in of_marks.items()})
    ranked = ranked.loc[ranked.sum(axis=1).sort_values(kind="stable").index]
    lines = markdown.frame_table(
        ["strategy", *(f"{mark:,} stumps" for mark in RANKED)], ranked.map("{:.1f}".format)
    )
    difference = critical_difference(len(ranked), rows["data"].nunique())
    p_values = [f"{friedman(means)[1]:.2g}" for means in of_marks.values()]
    lines.append("| critical difference |" + f" {difference:.1f} |" * len(RANKED))
    return [*lines, f"| p, Friedman's test | {' | '.join(p_values)} |"]


def lead(rows: pd.DataFrame) -> list[str]:
    """The lead of adaptive-halving over laminating, and the share that distinct draws bring."""
    means = rows.groupby(["label", "stumps"])["log10_loss"].mean().unstack()
    leads = means.loc["laminating"] - means.loc["adaptive-halving"]
    shares = (means.loc["laminating"] - means.loc["laminating:scheme=distinct"]) / leads
    texts = (
        ["lead over `laminating`", *(f"{lead:.3f}" for lead in leads)],
        ["share of distinct draws", *(f"{share:.0%}".replace("%", " %") for share in shares)],
    )
    return markdown.table(["", *(f"{mark:,} stumps" for mark in means)], texts)


def other_splits(rows: pd.DataFrame, metric: str) -> list[str]:
    """Mean and standard error over five splits at the last mark: a column for each data set."""
    last = rows[rows["stumps"] == rows.groupby("data")["stumps"].transform("max")]
    values = last.groupby(["label", "data"], sort=False)[METRICS[metric]]
    means, errors = (
        part.unstack(sort=False) for part in (values.agg(statistics.fmean), values.sem())
    )
    texts = markdown.best_in_bold(means, errors, DIGITS[metric], "{} ± {}")
    return markdown.frame_table(["strategy", *texts], texts)


def tables() -> dict[str, list[str]]:
    """All tables by their names on the page."""
    made: dict[str, list[str]] = {}
    rows, splits = rows_of(*FOLDERS), rows_of("contest-splits")
    for metric in METRICS:
        for name, part in rows.groupby("data", sort=False):
            made[f"{name} {metric}"] = scores(part, metric)
        for name, part in seconds(metric).items():
            made[f"{name} seconds {metric}"] = scores(part, metric, "seconds", "s")
        made[f"ranks {metric}"] = mean_ranks(rows, metric)
        made[f"splits {metric}"] = other_splits(splits, metric)
    made["regret mnist"] = regret.table(RESULTS / "contest-regret.csv")
    variants = rows_of("contest-variants")
    made |= {"variants": scores(variants, "loss"), "lead": lead(variants)}
    return made | {f"{n} N": scores(rows_of(f"contest-{n}N"), "loss") for n in BUDGETS}


if __name__ == "__main__":
    sys.stdout.write(markdown.marked(tables()))
