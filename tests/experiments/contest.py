"""Prints the tables of docs/CONTEST.md from the small folders and files of docs/results.

    python -m tests.experiments.contest

`tests/experiments/test_contest.py` holds the page to what this prints.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Iterator
from typing import Any

from boostsample.experiments.results.read_folder import read_results
from boostsample.experiments.results.run_curves import curves_of_results
from boostsample.experiments.results.significance import critical_difference, friedman, ranks
from boostsample.experiments.results.titles import is_charged, label_of
from tests.experiments import regret
from tests.paths import ROOT

FOLDER = ROOT / "docs" / "results"
FOLDERS = (
    "df11-mnist",
    "df11-cifar10",
    "contest-usps",
    "contest-tables",
    "contest-mnist",
    "contest-cifar10",
    "contest-modern",
)
METRICS = {"loss": ("log10_loss", "log10 loss"), "error": ("test_error", "test error in percent")}
RANKED = (10, 100, 1000, 10_000)
BUDGETS = (1, 3, 30, 100)

SECONDS = (0.1, 0.3, 1, 3)

Rows = list[dict[str, Any]]
#: Of each strategy, by stumps or seconds, over repetitions.
Values = dict[str, dict[float, list[float]]]


def all_rows() -> dict[str, Rows]:
    """Rows of every data set: of the strategies of the papers, of others and of halving."""
    rows_of_data: dict[str, Rows] = {}
    for folder in FOLDERS:
        for row in read_results(FOLDER / folder).rows:
            rows_of_data.setdefault(str(row["data"]).split("(")[0], []).append(row)
    return rows_of_data


def values_of(rows: Rows, metric: str) -> Values:
    """Values over repetitions, by strategy and stumps."""
    column, _ = METRICS[metric]
    values: Values = {}
    for row in rows:
        label = label_of(row)
        if not is_charged(label):
            values.setdefault(label, {}).setdefault(row["stumps"], []).append(row[column])
    return values


def seconds(metric: str) -> Iterator[tuple[str, Values]]:
    """Values at equal seconds of each data set; not of runs that ended earlier."""
    for curves in curves_of_results(read_results(FOLDER / "contest-seconds")):
        values: Values = {}
        for level in SECONDS:
            for label, by_repetition in curves.at(metric, "seconds", level).items():
                if not any(map(math.isnan, by_repetition.values())):
                    values.setdefault(label, {})[level] = list(by_repetition.values())
        yield curves.data, values


def scores(values: Values, metric: str, unit: str = "stumps") -> Iterator[str]:
    """Mean (std) over repetitions: a row for each strategy, the best mean of a column bold."""
    marks = sorted({mark for by_mark in values.values() for mark in by_mark})
    digits = 3 if metric == "loss" else 2
    best = [
        min(
            round(statistics.fmean(by_mark[mark]), digits)
            for by_mark in values.values()
            if mark in by_mark
        )
        for mark in marks
    ]
    yield "| strategy | " + " | ".join(f"{mark:,} {unit}" for mark in marks) + " |"
    yield "| --- |" + " ---: |" * len(marks)
    for label, by_mark in values.items():
        cells = []
        for mark, least in zip(marks, best, strict=True):
            if mark not in by_mark:
                cells.append("")
                continue
            mean = round(statistics.fmean(by_mark[mark]), digits)
            spread = statistics.stdev(by_mark[mark]) if len(by_mark[mark]) > 1 else 0.0
            text = f"{mean:.{digits}f} ({spread:.{digits}f})"
            cells.append(f"**{text}**" if mean == least else text)
        yield f"| `{label}` | " + " | ".join(cells) + " |"


def mean_ranks(metric: str) -> Iterator[str]:
    """Mean ranks over the data sets of the strategies that are in all, and what is significant."""
    by_mark: list[dict[str, float]] = []
    p_values: list[float] = []
    data = all_rows()
    values = [values_of(rows, metric) for rows in data.values()]
    for mark in RANKED:
        means = [
            {label: statistics.fmean(v[mark]) for label, v in by_label.items()}
            for by_label in values
        ]
        shared = [label for label in means[0] if all(label in by_label for by_label in means)]
        table = [[by_label[label] for label in shared] for by_label in means]
        ranked = ranks(table, lower_is_better=True)
        p_values.append(friedman(table)[1])
        by_mark.append(dict(zip(shared, ranked.tolist(), strict=True)))
    order = sorted(by_mark[-1], key=lambda label: sum(ranks_at[label] for ranks_at in by_mark))
    yield "| strategy | " + " | ".join(f"{mark:,} stumps" for mark in RANKED) + " |"
    yield "| --- |" + " ---: |" * len(RANKED)
    for label in order:
        yield (
            f"| `{label}` | " + " | ".join(f"{ranks_at[label]:.1f}" for ranks_at in by_mark) + " |"
        )
    difference = critical_difference(len(order), len(data))
    yield "| critical difference |" + f" {difference:.1f} |" * len(RANKED)
    yield "| p, Friedman's test | " + " | ".join(f"{p:.2g}" for p in p_values) + " |"


def lead() -> Iterator[str]:
    """The lead of adaptive-halving over laminating, and the share that distinct draws bring."""
    values = values_of(read_results(FOLDER / "contest-variants").rows, "loss")
    ours, distinct, laminating = (
        {mark: statistics.fmean(losses) for mark, losses in values[label].items()}
        for label in ("adaptive-halving", "laminating:scheme=distinct", "laminating")
    )
    yield "| | " + " | ".join(f"{mark:,} stumps" for mark in ours) + " |"
    yield "| --- |" + " ---: |" * len(ours)
    leads = {mark: laminating[mark] - loss for mark, loss in ours.items()}
    yield "| lead over `laminating` | " + " | ".join(f"{x:.3f}" for x in leads.values()) + " |"
    shares = [(laminating[mark] - distinct[mark]) / gap for mark, gap in leads.items()]
    yield "| share of distinct draws | " + " | ".join(f"{100 * x:.0f} %" for x in shares) + " |"


def ablations() -> Iterator[tuple[str, list[str]]]:
    """Variants at the usual budget, and budgets, on MNIST."""
    yield "variants", list(_losses("contest-variants"))
    yield "lead", list(lead())
    for budget in BUDGETS:
        yield f"{budget} N", list(_losses(f"contest-{budget}N"))


def _losses(folder: str) -> Iterator[str]:
    return scores(values_of(read_results(FOLDER / folder).rows, "loss"), "loss")


def other_splits(metric: str) -> Iterator[str]:
    """Mean and standard error over five splits at the last mark: a column for each data set."""
    by_data: dict[str, Rows] = {}
    for row in read_results(FOLDER / "contest-splits").rows:
        by_data.setdefault(str(row["data"]).split(":")[0].split("(")[0], []).append(row)
    digits = 3 if metric == "loss" else 2
    columns: list[dict[str, str]] = []
    for rows in by_data.values():
        values = values_of(rows, metric)
        last = max(mark for by_mark in values.values() for mark in by_mark)
        means = {label: statistics.fmean(by_mark[last]) for label, by_mark in values.items()}
        least = min(round(mean, digits) for mean in means.values())
        texts = {}
        for label, mean in means.items():
            splits = values[label][last]
            error = statistics.stdev(splits) / math.sqrt(len(splits))
            text = f"{mean:.{digits}f} ± {error:.{digits}f}"
            texts[label] = f"**{text}**" if round(mean, digits) == least else text
        columns.append(texts)
    yield "| strategy | " + " | ".join(by_data) + " |"
    yield "| --- |" + " ---: |" * len(by_data)
    for label in columns[0]:
        yield f"| `{label}` | " + " | ".join(texts[label] for texts in columns) + " |"


def blocks() -> dict[str, str]:
    """All tables by their names on the page."""
    made: dict[str, list[str]] = {}
    data = all_rows()
    for metric in METRICS:
        for name, rows in data.items():
            made[f"{name} {metric}"] = list(scores(values_of(rows, metric), metric))
        for name, values in seconds(metric):
            made[f"{name} seconds {metric}"] = list(scores(values, metric, "s"))
        made[f"ranks {metric}"] = list(mean_ranks(metric))
        made[f"splits {metric}"] = list(other_splits(metric))
    shares = regret.tables(FOLDER / "contest-regret.csv")
    made |= {f"regret {name}": lines for name, lines in shares.items()}
    made |= dict(ablations())
    return {name: "\n".join(lines) for name, lines in made.items()}


def main() -> None:
    """Print all tables."""
    for name, table in blocks().items():
        sys.stdout.write(f"<!-- {name} -->\n\n{table}\n\n<!-- end -->\n\n")


if __name__ == "__main__":
    main()
