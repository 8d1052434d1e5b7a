"""Tables of results: mean (std) of each strategy at each level, with the best ones marked.

As [DF11] Tables 2 and 3. Rows are numbers of stumps, looks or seconds
(`boostsample.experiments.results.levels`). Each row marks the best mean, and the strategies that a
test cannot tell from it (`boostsample.experiments.results.significance`). Charged strategies are
not compared: they repeat the values of other strategies at a higher cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from boostsample.experiments.results.labels import is_charged, repetitions_label
from boostsample.experiments.results.levels import (
    MEASURES,
    Curves,
    check_disjoint_levels,
    curves_for_levels,
)
from boostsample.experiments.results.results import Results
from boostsample.experiments.results.significance import Verdict, told_apart
from boostsample.experiments.tables.notes import facts_for_notes, overlap_for_notes, table_notes
from boostsample.experiments.tables.tables import Table, fixed_digits, mean_and_std, mean_std

__all__ = ["BEST", "TIED", "Score", "ScoreTable", "level_text", "result_table", "transposed_table"]

BEST, TIED = "best", "tied"
"""Flags of entries: the best of its row, and not significantly different; else ``""``."""


@dataclass(frozen=True)
class Score:
    """One table entry as numbers."""

    level: float  # in stumps, looks or seconds
    strategy: str  # its label
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
    """A table of scores of one data set, with marks and notes.

    Entries compete within their `across`: the row, or the column of a transposed table.
    """

    flags: tuple[tuple[str, ...], ...] = ()  # BEST, TIED or empty for each entry of `rows`
    notes: tuple[str, ...] = ()  # to print below: the test, tuning, missing results
    data: str = ""
    metric: str = ""
    axis: str = ""
    scores: tuple[Score, ...] = field(default=(), repr=False)  # row by row
    across: str = "row"

    @property
    def marked(self) -> bool:
        """Whether any entry has a flag."""
        return any(flag for row in self.flags for flag in row)


def result_table(
    results: Sequence[Results],
    metric: str,
    axis: str = "stumps",
    levels: Sequence[float] | None = None,
    charged: bool = False,
) -> list[ScoreTable]:
    """Make one table for each data set: a row for each level, a column for each strategy.

    Parameters
    ----------
    results : sequence of Results
        See `boostsample.experiments.results.results.read_results`.
    metric : str
        One of `boostsample.experiments.results.levels.MEASURES`.
    axis : str
        One of `boostsample.experiments.results.levels.AXES`.
    levels : sequence of float, optional
        Levels on the axis; default: `Curves.levels` of each data set.
    charged : bool
        Also show tuned strategies with the cost of their tuning.

    Raises
    ------
    SettingError
        The metric is not available on this axis (`Curves.at`), or two folders have the same data
        set.
    DataError
        The metric needs curves, and the results have none.

    Examples
    --------
    >>> from boostsample.experiments.results.results import Results
    >>> rows = [
    ...     {"data": "made", "strategy": name, "settings": "", "stumps": 10, "repetition": r,
    ...      "log10_loss": loss + 0.02 * r}
    ...     for name, loss in (("full", -0.5), ("laminating", -0.3)) for r in (0, 1)
    ... ]  # fmt: skip
    >>> settings = {"rounds": [10], "data_sets": [{"name": "made", "split": "fixed"}]}
    >>> (table,) = result_table([Results(rows, settings, None)], "loss")
    >>> table.title, table.rows, table.flags
    ('made: log10 loss, mean (std) of 2 repetitions', (('10', '-0.49 (0.01)', '-0.29 (0.01)'),),
     (('', 'best', ''),))
    """
    parts = [(one, curves) for one in results for curves in curves_for_levels(one)]
    check_disjoint_levels(curves.data for _, curves in parts)
    return [_table(one, curves, metric, axis, levels, charged) for one, curves in parts]


def _table(
    results: Results,
    curves: Curves,
    metric: str,
    axis: str,
    levels: Sequence[float] | None,
    charged: bool,
) -> ScoreTable:
    curves.check(metric, axis)
    labels = [one for one in curves.runs if charged or not is_charged(one)]
    overlap = overlap_for_notes(facts_for_notes(results, curves.data))
    scores: list[list[Score]] = []
    verdicts: list[Verdict] = []
    for level in curves.levels(axis) if levels is None else levels:
        values = curves.at(metric, axis, level)
        verdicts.append(_verdict(values, metric, overlap))
        scores.append([_score(level, label, values[label], verdicts[-1]) for label in labels])
    counts = [len(curves.runs[label]) for label in labels]
    spread = repetitions_label(max(counts), "mean (std)", min(counts))
    return ScoreTable(
        title=f"{curves.data}: {MEASURES[metric].title}, {spread}",
        header=(axis, *labels),
        rows=tuple(
            (level_text(row[0].level), *(_entry(one, _NUMBERS[metric]) for one in row))
            for row in scores
        ),
        flags=tuple(("", *(one.flag for one in row)) for row in scores),
        notes=table_notes(results, curves, labels, axis, levels, verdicts),
        data=curves.data,
        metric=metric,
        axis=axis,
        scores=tuple(one for row in scores for one in row),
    )


def transposed_table(table: ScoreTable) -> ScoreTable:
    """The same table with a row for each strategy and a column for each level."""
    columns = range(1, len(table.header))
    return replace(
        table,
        header=("strategy", *(f"{row[0]} {table.axis}" for row in table.rows)),
        rows=tuple((table.header[at], *(row[at] for row in table.rows)) for at in columns),
        flags=tuple(("", *(row[at] for row in table.flags)) for at in columns),
        across="column" if table.across == "row" else "row",
    )


def _verdict(values: Mapping[str, Mapping[int, float]], metric: str, overlap: float) -> Verdict:
    """Compare the strategies of a row, except charged ones and those with a missing value."""
    better = MEASURES[metric].better
    if not better:
        return Verdict()
    compared = {
        label: mine
        for label, mine in values.items()
        if not is_charged(label) and not any(map(math.isnan, mine.values()))
    }
    return told_apart(compared, lower_is_better=better < 0, overlap=overlap)


def _score(level: float, label: str, mine: Mapping[int, float], verdict: Verdict) -> Score:
    flag = BEST if label == verdict.best else TIED if label in verdict.tied else ""
    p_value = verdict.p_values.get(label, math.nan)
    return Score(level, label, tuple(mine.values()), flag, p_value)


def _entry(score: Score, number: Callable[[float], str]) -> str:
    """Mean (std); "-" if a run does not reach the level: a mean of the others would be biased."""
    if any(map(math.isnan, score.values)):
        return "-"
    return mean_std(score.values, number)


def _three_digits(value: float) -> str:
    """Three significant digits without an exponent: 0.0421, 4.21, 421, 4,210.

    >>> [_three_digits(value) for value in (0.04217, 4.2, 421.7, 4217.0, 0.0)]
    ['0.0422', '4.20', '422', '4,217', '0.00']
    """
    if not value or not math.isfinite(value):
        return f"{value:.2f}"
    places = 2 - math.floor(math.log10(abs(value)))
    return f"{value:,.{max(0, places)}f}"


def _large(value: float) -> str:
    """Whole numbers: in full below a million, else with three digits.

    >>> _large(599_990.0), _large(6e6)
    ('599,990', '6.00e+06')
    """
    return f"{value:,.0f}" if not abs(value) >= 1e6 else f"{value:.2e}"


_NUMBERS: Mapping[str, Callable[[float], str]] = {
    "loss": fixed_digits(2),
    "error": fixed_digits(2),
    "auc": fixed_digits(4),
    "looks": _large,
    "seconds": _three_digits,
    "features": fixed_digits(0),
    "examples": fixed_digits(0),
}


def level_text(level: float) -> str:
    """A level in full, or with an exponent if that is shorter and exact.

    >>> level_text(10_000), level_text(6e9), level_text(5_123_456_789.0), level_text(0.0421)
    ('10,000', '6.00e+09', '5,123,456,789', '0.0421')
    """
    short = f"{level:.2e}"
    full = f"{level:,.0f}" if level % 1 == 0 else f"{level:,}"
    return short if level >= 1e6 and float(short) == level else full
