"""Tables of text and of scores, and the numbers in them: means with deviations, levels, digits."""

from __future__ import annotations

import html
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from boostsample.experiments.metrics import METRICS

BEST, TIED = "best", "tied"
"""Flags of entries: the best of its row, and not significantly different; else ``""``."""


@dataclass(frozen=True)
class Table:
    """A table of text entries; the first column names the rows."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    flags: tuple[tuple[str, ...], ...] = ()  # BEST, TIED or empty for each entry of `rows`
    notes: tuple[str, ...] = ()  # to print below: the test, tuning, missing results
    across: str = "row"  # entries compete within their row, or their column if transposed

    @property
    def marked(self) -> bool:
        """Whether any entry has a flag."""
        return any(flag for row in self.flags for flag in row)

    def flagged_rows(self) -> list[list[tuple[str, str]]]:
        """The rows as pairs of an entry and its flag."""
        flags = self.flags or [("",) * len(row) for row in self.rows]
        return [list(zip(*pair, strict=True)) for pair in zip(self.rows, flags, strict=True)]

    def legend(self, best: str, tied: str) -> list[str]:
        """The meaning of the marks, `best` and `tied`; nothing without marks."""
        text = f"{best}best of its {self.across}; {tied}not told apart from the best"
        return [text] if self.marked else []

    def to_html(self) -> str:
        """A ``<table>`` with the title as its caption, without the notes.

        Marked entries have the class ``best`` or ``tied``; best ones are also ``<strong>``, the
        others end in ``=``, so that marks do not depend on colours.
        """
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in self.header)
        rows = [
            f'<tr><th scope="row">{html.escape(name)}</th>'
            f"{''.join(_html_entry(*entry) for entry in entries)}</tr>"
            for (name, _), *entries in self.flagged_rows()
        ]
        caption = f"<caption>{html.escape(self.title)}</caption>"
        head = f"<thead><tr>{head}</tr></thead>\n<tbody>"
        return "\n".join(['<table class="scores">', caption, head, *rows, "</tbody>", "</table>"])

    def _repr_html_(self) -> str:
        below = [*self.legend("bold: ", "=: "), *(f"note: {note}" for note in self.notes)]
        return "\n".join([self.to_html(), *(f"<p>{html.escape(text)}</p>" for text in below)])


def _html_entry(text: str, flag: str) -> str:
    shown = html.escape(text)
    if not flag:
        return f"<td>{shown}</td>"
    return f'<td class="{flag}">{f"<strong>{shown}</strong>" if flag == BEST else f"{shown}="}</td>'


@dataclass(frozen=True)
class Score:
    """One table entry as numbers."""

    level: float  # in stumps, looks or seconds
    strategy: str  # its label; empty where a table has no entry
    values: tuple[float, ...]  # one per repetition; NaN where a run does not reach the level
    flag: str = ""  # BEST, TIED or empty
    p_value: float = math.nan  # of the comparison with the best, with Holm's correction

    @property
    def mean(self) -> float:
        """Mean over repetitions; NaN if one of them has no value."""
        return mean_and_std(self.values)[0]

    @property
    def std(self) -> float:
        """Standard deviation (n - 1); NaN for fewer than two values."""
        return mean_and_std(self.values)[1]


@dataclass(frozen=True)
class ScoreTable(Table):
    """A table of scores of one data set, with marks and notes."""

    data: str = ""
    metric: str = ""
    axis: str = ""
    unit: str = ""  # of the names of the rows, as stumps, looks or budget
    by_level: bool = True  # whether rows, or columns if transposed, are levels
    scores: tuple[Score, ...] = field(default=(), repr=False)  # row by row before it is transposed

    @property
    def columns(self) -> list[tuple[Score, ...]]:
        """The scores of each column."""
        n = len(self.header) - 1
        if self.across == "row":
            return [self.scores[at::n] for at in range(n)]
        n_rows = len(self.rows)
        return [self.scores[at * n_rows :][:n_rows] for at in range(n)]

    def transposed(self) -> ScoreTable:
        """The same table with a row for each strategy and a column for each level."""
        columns = range(1, len(self.header))
        return replace(
            self,
            header=("strategy", *(f"{row[0]} {self.unit}".rstrip() for row in self.rows)),
            rows=tuple((self.header[at], *(row[at] for row in self.rows)) for at in columns),
            flags=tuple(("", *(row[at] for row in self.flags)) for at in columns),
            across="column" if self.across == "row" else "row",
        )


def fixed_decimals(value: float, decimals: int) -> str:
    """A number with a fixed number of decimals, and zero without a sign.

    >>> fixed_decimals(-0.001, 2), fixed_decimals(1234.5, 1)
    ('0.00', '1,234.5')
    """
    shown = f"{value:,.{decimals}f}"
    return shown if shown.strip("-0.,") else shown.removeprefix("-")


def metric_text(value: float, metric: str) -> str:
    """A value of one of `METRICS` as tables show it.

    >>> metric_text(0.04217, "seconds"), metric_text(4217.0, "seconds"), metric_text(0, "seconds")
    ('0.0422', '4,217', '0.00')
    >>> metric_text(599_990.0, "looks"), metric_text(6e6, "looks"), metric_text(0.5, "f1")
    ('599,990', '6.00e+06', '0.5000')
    """
    if metric in ("looks", "values_computed"):  # in full below a million, else three digits
        return f"{value:,.0f}" if not abs(value) >= 1e6 else f"{value:.2e}"
    if (
        metric in ("seconds", "cost") and value and math.isfinite(value)
    ):  # three digits, no exponent
        return f"{value:,.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
    return fixed_decimals(value, METRICS[metric].decimals)


def level_text(level: float) -> str:
    """A level in full, or with an exponent if that is shorter and exact.

    >>> level_text(10_000), level_text(6e9), level_text(5_123_456_789.0), level_text(0.0421)
    ('10,000', '6.00e+09', '5,123,456,789', '0.0421')
    """
    short = f"{level:.2e}"
    full = f"{level:,.0f}" if level % 1 == 0 else f"{level:,}"
    return short if level >= 1e6 and float(short) == level else full


def mean_and_std(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation (n - 1); NaN where undefined or where a value is NaN."""
    mean = statistics.fmean(values) if values else math.nan
    defined = len(values) > 1 and all(map(math.isfinite, values))
    return mean, statistics.stdev(values) if defined else math.nan


def mean_std(values: Sequence[float], metric: str = "loss") -> str:
    """A table entry: the mean and, of two values or more, the standard deviation (n - 1).

    "n/a" without values; "-" if all values are NaN, as where a strategy still pays for its tuning.

    >>> mean_std([-0.33, -0.35]), mean_std([1.5]), mean_std([]), mean_std([math.nan])
    ('-0.34 (0.01)', '1.50', 'n/a', '-')
    """
    if not values:
        return "n/a"
    if all(map(math.isnan, values)):
        return "-"
    mean, std = (metric_text(number, metric) for number in mean_and_std(values))
    return mean if len(values) == 1 else f"{mean} ({std})"
