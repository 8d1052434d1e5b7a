"""Tables of results: mean (std) of each strategy at each level, with the best ones marked.

As [DF11] Tables 2 and 3. Rows are numbers of stumps, looks or seconds
(`boostsample.experiments.results.curves`). Each row marks the best mean, and the strategies that a
test cannot tell from it (`boostsample.experiments.results.significance`). Charged strategies are
not compared: they repeat the values of other strategies at a higher cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from boostsample.errors import SettingError, unknown
from boostsample.experiments.results.curves import (
    MEASURES,
    Curves,
    check_disjoint_curves,
    curves_of_results,
)
from boostsample.experiments.results.labels import (
    counted,
    is_charged,
    label_of,
    learners_of,
    repetitions,
    with_learner,
)
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.significance import Verdict, told_apart
from boostsample.experiments.tables.choices import chosen_data, chosen_strategies
from boostsample.experiments.tables.notebook import notebook_html
from boostsample.experiments.tables.notes import overlap_for_notes, table_notes
from boostsample.experiments.tables.number_formats import (
    NUMBER_FORMATS,
    level_text,
    mean_and_std,
    mean_std,
)
from boostsample.experiments.tables.tables import Table

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
    unit: str = ""  # what levels count: stumps, rounds, looks or seconds
    scores: tuple[Score, ...] = field(default=(), repr=False)  # row by row
    across: str = "row"

    @property
    def marked(self) -> bool:
        """Whether any entry has a flag."""
        return any(flag for row in self.flags for flag in row)

    def legend(self, best: str, tied: str) -> list[str]:
        """The meaning of the marks, `best` and `tied`; nothing without marks."""
        text = f"{best}best of its {self.across}; {tied}not told apart from the best"
        return [text] if self.marked else []

    def _repr_html_(self) -> str:
        """The table as notebooks show it."""
        notes = [*self.legend("bold: ", "=: "), *(f"note: {note}" for note in self.notes)]
        return notebook_html(self.title, self.header, self.rows, self.flags, notes)

    def transposed(self) -> ScoreTable:
        """The same table with a row for each strategy and a column for each level."""
        columns = range(1, len(self.header))
        return replace(
            self,
            header=("strategy", *(f"{row[0]} {self.unit}" for row in self.rows)),
            rows=tuple((self.header[at], *(row[at] for row in self.rows)) for at in columns),
            flags=tuple(("", *(row[at] for row in self.flags)) for at in columns),
            across="column" if self.across == "row" else "row",
        )


def score_table(rows: Iterable[Mapping[str, Any]], metric: str = "loss") -> Table:
    """Mean (std) over repetitions: a row for each mark, a column for each strategy.

    Parameters
    ----------
    rows : iterable of mapping
        Result rows, or curve rows for the metrics that only they have
        (`boostsample.experiments.results.rows`).
    metric : str
        One of `boostsample.experiments.results.curves.MEASURES`.

    Examples
    --------
    >>> from boostsample.experiments.tables.formats import to_text
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
    if metric not in MEASURES:
        raise unknown("metric", metric, MEASURES)
    column, title = MEASURES[metric].column, MEASURES[metric].title
    number = NUMBER_FORMATS[metric]
    found: dict[tuple[int, str], list[float]] = {}
    rows = list(rows)
    for row in rows:
        found.setdefault((row["stumps"], label_of(row)), []).append(row[column])
    labels = tuple(dict.fromkeys(label for _, label in found))
    counts = [len(values) for values in found.values()] or [1]
    return Table(
        f"{title}, {repetitions(max(counts), 'mean (std)', min(counts))}",
        (counted(learners_of(rows)), *labels),
        tuple(
            (f"{mark:,}", *(mean_std(found.get((mark, label), []), number) for label in labels))
            for mark in sorted({mark for mark, _ in found})
        ),
    )


def result_table(
    results: Sequence[Results],
    metric: str,
    axis: str = "stumps",
    levels: Sequence[float] | None = None,
    charged: bool = False,
    *,
    strategies: Sequence[str] | None = None,
    data: Sequence[str] | None = None,
) -> list[ScoreTable]:
    """Make one table for each data set: a row for each level, a column for each strategy.

    Parameters
    ----------
    results : sequence of Results
        See `boostsample.experiments.results.read_folder.read_results`.
    metric : str
        One of `boostsample.experiments.results.curves.MEASURES`.
    axis : str
        One of `boostsample.experiments.results.curves.AXES`.
    levels : sequence of float, optional
        Levels on the axis; default: `Curves.levels` of each data set.
    charged : bool
        Also show tuned strategies with the cost of their tuning.
    strategies : sequence of str, optional
        Strategies to show, in this order, by label or by name for all its variants; default: all.
    data : sequence of str, optional
        Data sets to show, in this order; default: all.

    Raises
    ------
    SettingError
        The metric is not available on this axis (`Curves.at`), there is no level or no column to
        show, two folders have the same data set, or a strategy or data set is not in the results.
    DataError
        The metric needs curves, or scores, that the results lack.

    Examples
    --------
    >>> from boostsample.experiments.results.read_folder import Results
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
    parts = [(one, curves) for one in results for curves in curves_of_results(one)]
    check_disjoint_curves(curves.data for _, curves in parts)
    if data is not None:
        by_name = {curves.data: (one, curves) for one, curves in parts}
        parts = [by_name[name] for name in chosen_data(data, by_name)]
    if strategies is not None:
        every = dict.fromkeys(label for _, curves in parts for label in curves.runs)
        wanted = chosen_strategies(strategies, every)
        parts = [(one, curves.chosen(wanted)) for one, curves in parts]
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
    if not labels:
        raise SettingError(
            f"{', '.join(curves.runs)} of {curves.data} are shown with the cost of tuning only; "
            "add --charged (in Python charged=True), or choose other strategies"
        )
    shown = curves.levels(axis, metric) if levels is None else levels
    if not shown:
        raise SettingError(
            f"the runs of {curves.data} share no level of {axis}; train more rounds, or compare "
            "them at equal stumps"
        )
    overlap = overlap_for_notes(results.settings_of(curves.data))
    scores: list[list[Score]] = []
    verdicts: list[Verdict] = []
    for level in shown:
        values = curves.at(metric, axis, level)
        verdicts.append(_verdict(values, metric, overlap))
        scores.append([_score(level, label, values[label], verdicts[-1]) for label in labels])
    counts = [len(curves.runs[label]) for label in labels]
    spread = repetitions(max(counts), "mean (std)", min(counts))
    unit = curves.counted if axis == "stumps" else axis
    return ScoreTable(
        title=f"{with_learner(curves.data, curves.learners)}: {MEASURES[metric].title}, {spread}",
        header=(unit, *labels),
        rows=tuple(
            (level_text(row[0].level), *(_entry(one, NUMBER_FORMATS[metric]) for one in row))
            for row in scores
        ),
        flags=tuple(("", *(one.flag for one in row)) for row in scores),
        notes=table_notes(results, curves, labels, metric, axis, levels, verdicts),
        data=curves.data,
        metric=metric,
        axis=axis,
        unit=unit,
        scores=tuple(one for row in scores for one in row),
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
