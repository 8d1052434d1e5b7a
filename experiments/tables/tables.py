"""Tables of results: mean (std) over repetitions, as in [DF11] Table 2.

A table is text cells under a header; it becomes plain text, or a `rich` table on a terminal, and is
cut into several side by side where it is wider than that.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from boostsample.errors import unknown
from boostsample.experiments.plan.variants import CHARGED
from boostsample.experiments.results.comparison import Comparison
from boostsample.experiments.results.labels import METRICS, label_of, repetitions
from boostsample.experiments.results.runs import LOOKS, Run, Tuning

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = [
    "Table",
    "looks_table",
    "score_table",
    "to_rich",
    "to_text",
    "tuning_table",
]

_GAP = "  "


@dataclass(frozen=True)
class Table:
    """Cells of text; the first column names the rows."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def score_table(rows: Iterable[Mapping[str, Any]], metric: str = "loss") -> Table:
    """Mean (std) over repetitions: a row for each number of stumps, a column for each strategy.

    Parameters
    ----------
    rows : iterable of mapping
        Result rows, see `boostsample.experiments.run.compare.RESULT_COLUMNS`.
    metric : str
        One of `METRICS`.

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
    cells: dict[tuple[int, str], list[float]] = {}
    for row in rows:
        cells.setdefault((row["stumps"], label_of(row)), []).append(row[column])
    labels = tuple(dict.fromkeys(label for _, label in cells))
    marks = sorted({stumps for stumps, _ in cells})
    counts = [len(values) for values in cells.values()] or [1]
    return Table(
        f"{title}, {repetitions(max(counts), 'mean (std)', min(counts))}",
        ("stumps", *labels),
        tuple(
            (f"{mark:,}", *(mean_std(cells.get((mark, label), [])) for label in labels))
            for mark in marks
        ),
    )


def mean_std(values: Sequence[float], digits: int = 2) -> str:
    """A cell: the mean, and the standard deviation (n - 1) where there are two values or more.

    No run gives "n/a"; "-" stands where no number can be (NaN in all runs), as in the first rows of
    a strategy that still pays for its tuning.

    >>> mean_std([-0.33, -0.35]), mean_std([1.5]), mean_std([]), mean_std([math.nan])
    ('-0.34 (0.01)', '1.50', 'n/a', '-')
    """
    if not values:
        return "n/a"
    if all(map(math.isnan, values)):
        return "-"
    mean = _number(statistics.fmean(values), digits)
    if len(values) == 1:
        return mean
    spread = statistics.stdev(values) if all(map(math.isfinite, values)) else math.nan
    return f"{mean} ({_number(spread, digits)})"


def _number(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if not float(text) else text


def looks_table(comparison: Comparison) -> Table:
    """Looks and milliseconds a round of each strategy: means over all rounds and repetitions.

    A tuned strategy has a second row, with all runs of its search for each round of the kept one.
    """
    rows = []
    for variant in comparison.prepared.variants:
        runs = [one for one in comparison.runs if one.variant is variant]
        n_rounds = sum(one.n_rounds for one in runs)
        rows.append((variant.label, *_spent(runs, n_rounds)))
        searches = [one.tuning for one in runs if one.tuning is not None]
        if searches:
            rows.append((variant.label + CHARGED, *_spent(searches, n_rounds)))
    return Table(
        "looks a round, the finish outside the budget; milliseconds",
        ("strategy", "budget", *LOOKS, "ms"),
        tuple(rows),
    )


def _spent(runs: Sequence[Run | Tuning], n_rounds: int) -> tuple[str, ...]:
    """Budget, looks and milliseconds a round."""
    return (
        f"{statistics.fmean(one.budget for one in runs):,.0f}",
        *(f"{sum(one.looks[purpose] for one in runs) / n_rounds:,.0f}" for purpose in LOOKS),
        f"{1000 * sum(one.seconds for one in runs) / n_rounds:.2f}",
    )


def tuning_table(comparison: Comparison) -> Table | None:
    """The settings that were kept, and how much they matter; None if nothing was tuned.

    A row for each setting that was kept, with the number of repetitions in which it was, its final
    training loss there, and the largest one that another setting of the grid had.
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


def _parts(table: Table, width: int | None, padding: int) -> list[Table]:
    """The table, cut between columns where it is wider than `width`."""
    wide = [max(map(len, column)) for column in zip(table.header, *table.rows, strict=True)]
    parts: list[list[int]] = [[]]
    room = used = wide[0]
    for at in range(1, len(wide)):
        if width is not None and parts[-1] and used + padding + wide[at] > width:
            parts.append([])
            used = room
        parts[-1].append(at)
        used += wide[at] + padding
    return [
        Table(
            table.title if number == 0 else f"{table.title} (continued)",
            tuple(table.header[at] for at in (0, *part)),
            tuple(tuple(row[at] for at in (0, *part)) for row in table.rows),
        )
        for number, part in enumerate(parts)
    ]


def to_text(table: Table, width: int | None = None) -> str:
    """Plain text, columns aligned: names to the left, numbers to the right."""
    return "\n\n".join(_plain(part) for part in _parts(table, width, len(_GAP)))


def _plain(table: Table) -> str:
    wide = [max(map(len, column)) for column in zip(table.header, *table.rows, strict=True)]
    left = not _counts(table)
    lines = [
        _GAP.join(
            cell.ljust(size) if at == 0 and left else cell.rjust(size)
            for at, (cell, size) in enumerate(zip(row, wide, strict=True))
        ).rstrip()
        for row in (table.header, tuple("-" * size for size in wide), *table.rows)
    ]
    return "\n".join([table.title, *lines])


def _counts(table: Table) -> bool:
    """Whether rows are named by numbers, which stand to the right."""
    return all(row[0].replace(",", "").isdecimal() for row in table.rows)


def to_rich(table: Table, width: int | None = None) -> list[RenderableType]:
    """Titles and tables for a terminal of that width."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    made: list[RenderableType] = []
    for part in _parts(table, width, len(_GAP)):
        rich = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        for at, name in enumerate(part.header):
            left = at == 0 and not _counts(part)
            rich.add_column(Text(name), justify="left" if left else "right", no_wrap=True)
        for row in part.rows:
            rich.add_row(*(Text(cell) for cell in row))
        made += [Text(part.title, style="bold"), rich, Text()]
    return made
