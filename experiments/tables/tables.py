"""Text tables, and the tables that `boostsample compare` prints: scores, looks and tuning.

A table becomes plain text, or a `rich` table on a terminal. A table wider than the terminal is cut
between columns into several.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from boostsample.errors import unknown
from boostsample.experiments.plan.variants import CHARGED_VARIANT
from boostsample.experiments.results.labels import METRICS, label_of, repetitions_label
from boostsample.experiments.results.runs import LOOKS, Run, Tuning

if TYPE_CHECKING:
    from rich.console import RenderableType

    from boostsample.experiments.results.comparison import Comparison

_GAP = "  "


@dataclass(frozen=True)
class Table:
    """A table of text entries; the first column names the rows."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def fixed_digits(digits: int) -> Callable[[float], str]:
    """A function that writes numbers with a fixed number of decimals, and zero without a sign."""

    def text(value: float) -> str:
        shown = f"{value:,.{digits}f}"
        return shown if shown.strip("-0.") else shown.removeprefix("-")

    return text


_two_decimals = fixed_digits(2)


def mean_and_std(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation (n - 1); NaN where undefined or where a value is NaN."""
    mean = statistics.fmean(values) if values else math.nan
    defined = len(values) > 1 and all(map(math.isfinite, values))
    return mean, statistics.stdev(values) if defined else math.nan


def mean_std(values: Sequence[float], number: Callable[[float], str] = _two_decimals) -> str:
    """A table entry: the mean and, of two values or more, the standard deviation (n - 1).

    "n/a" without values; "-" if all values are NaN, as where a strategy still pays for its tuning.

    >>> mean_std([-0.33, -0.35]), mean_std([1.5]), mean_std([]), mean_std([math.nan])
    ('-0.34 (0.01)', '1.50', 'n/a', '-')
    """
    if not values:
        return "n/a"
    if all(map(math.isnan, values)):
        return "-"
    mean, std = map(number, mean_and_std(values))
    return mean if len(values) == 1 else f"{mean} ({std})"


def score_table(rows: Iterable[Mapping[str, Any]], metric: str = "loss") -> Table:
    """Mean (std) over repetitions: a row for each number of stumps, a column for each strategy.

    Parameters
    ----------
    rows : iterable of mapping
        Result rows, with `boostsample.experiments.results.runs.RESULT_COLUMNS`.
    metric : {"loss", "error"}

    Examples
    --------
    >>> rows = [
    ...     {"strategy": "full", "settings": "", "stumps": 10, "log10_loss": loss}
    ...     for loss in (-0.33, -0.35)
    ... ]
    >>> print(to_text(score_table(rows)))
    log10 loss, mean (std) of 2 repetitions
    stumps          full
    ------  ------------
        10  -0.34 (0.01)
    """
    if metric not in METRICS:
        raise unknown("metric", metric, METRICS)
    column, title = METRICS[metric]
    found: dict[tuple[int, str], list[float]] = {}
    for row in rows:
        found.setdefault((row["stumps"], label_of(row)), []).append(row[column])
    labels = tuple(dict.fromkeys(label for _, label in found))
    counts = [len(values) for values in found.values()] or [1]
    return Table(
        f"{title}, {repetitions_label(max(counts), 'mean (std)', min(counts))}",
        ("stumps", *labels),
        tuple(
            (f"{mark:,}", *(mean_std(found.get((mark, label), [])) for label in labels))
            for mark in sorted({stumps for stumps, _ in found})
        ),
    )


def looks_table(comparison: Comparison) -> Table:
    """Mean looks and milliseconds a round of each strategy, over all rounds and repetitions.

    A tuned strategy has a second row with the cost of all runs of its tuning.
    """
    rows = []
    for variant in comparison.prepared.variants:
        runs = [one for one in comparison.runs if one.variant is variant]
        n_rounds = sum(one.n_rounds for one in runs)
        rows.append((variant.label, *_spent(runs, n_rounds)))
        searches = [one.tuning for one in runs if one.tuning is not None]
        if searches:
            rows.append((variant.label + CHARGED_VARIANT, *_spent(searches, n_rounds)))
    return Table(
        "looks a round, the finish outside the budget; milliseconds",
        ("strategy", "budget", *LOOKS, "ms"),
        tuple(rows),
    )


def _spent(runs: Sequence[Run | Tuning], n_rounds: int) -> tuple[str, ...]:
    return (
        f"{statistics.fmean(one.budget for one in runs):,.0f}",
        *(f"{sum(one.looks[purpose] for one in runs) / n_rounds:,.0f}" for purpose in LOOKS),
        f"{1000 * sum(one.seconds for one in runs) / n_rounds:.2f}",
    )


def tuning_table(comparison: Comparison) -> Table | None:
    """The settings that tuning kept, with how often, and the losses; None if nothing was tuned.

    The losses are those after the last mark: of the kept settings, and of the worst in the tuning
    grid of the same repetition.
    """
    rows = []
    for variant in comparison.prepared.variants:
        kept: dict[str, list[Tuning]] = {}
        for one in comparison.runs:
            if one.variant is variant and one.tuning is not None:
                kept.setdefault(one.trained.settings_text, []).append(one.tuning)
        for settings, searches in sorted(kept.items(), key=lambda item: -len(item[1])):
            rows.append(
                (
                    variant.label,
                    str(len(variant.grid)),
                    settings,
                    str(len(searches)),
                    mean_std([min(search.losses) for search in searches]),
                    mean_std([max(search.losses) for search in searches]),
                )
            )
    if not rows:
        return None
    n_rounds, repeats = comparison.prepared.plan.n_rounds, comparison.prepared.plan.repeats
    return Table(
        f"settings kept by their training loss after {n_rounds:,} stumps, in {repeats} "
        f"repetition{'s' if repeats > 1 else ''}",
        ("strategy", "tried", "kept", "times", "loss", "worst of the grid"),
        tuple(rows),
    )


def to_text(table: Table, width: int | None = None) -> str:
    """Plain text with aligned columns: names to the left, numbers to the right."""
    return "\n\n".join(map(_plain, _parts(table, width)))


def _plain(table: Table) -> str:
    sizes = _sizes(table)
    lines = [
        _GAP.join(
            entry.ljust(size) if at == 0 and not _counts(table) else entry.rjust(size)
            for at, (entry, size) in enumerate(zip(row, sizes, strict=True))
        ).rstrip()
        for row in (table.header, tuple("-" * size for size in sizes), *table.rows)
    ]
    return "\n".join([table.title, *lines])


def to_rich(table: Table, width: int | None = None) -> list[RenderableType]:
    """Titles and tables for a terminal of that width."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    made: list[RenderableType] = []
    for part in _parts(table, width):
        rich = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        for at, name in enumerate(part.header):
            left = at == 0 and not _counts(part)
            rich.add_column(Text(name), justify="left" if left else "right", no_wrap=True)
        for row in part.rows:
            rich.add_row(*map(Text, row))
        made += [Text(part.title, style="bold"), rich, Text()]
    return made


def _parts(table: Table, width: int | None) -> list[Table]:
    """The table, cut between columns if it is wider than `width`."""
    sizes = _sizes(table)
    parts: list[list[int]] = [[]]
    used = sizes[0]
    for at in range(1, len(sizes)):
        if width is not None and parts[-1] and used + len(_GAP) + sizes[at] > width:
            parts.append([])
            used = sizes[0]
        parts[-1].append(at)
        used += sizes[at] + len(_GAP)
    return [
        Table(
            table.title if number == 0 else f"{table.title} (continued)",
            tuple(table.header[at] for at in (0, *part)),
            tuple(tuple(row[at] for at in (0, *part)) for row in table.rows),
        )
        for number, part in enumerate(parts)
    ]


def _sizes(table: Table) -> list[int]:
    """The width of each column."""
    return [max(map(len, column)) for column in zip(table.header, *table.rows, strict=True)]


def _counts(table: Table) -> bool:
    """Whether numbers name the rows; these are aligned to the right."""
    return all(row[0].replace(",", "").isdecimal() for row in table.rows)
