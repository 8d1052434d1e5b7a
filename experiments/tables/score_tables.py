"""Tables of results: mean (std) of each strategy at each level, with the best ones marked.

As [DF11] Tables 2 and 3. Rows are numbers of stumps, looks or seconds
(`boostsample.experiments.results.run_curves`). Each row marks the best mean, and the strategies
that a test cannot tell from it (`boostsample.experiments.results.significance`). Charged ones are
not compared: they repeat the values of other strategies at a higher cost. Notes below a table say
how it was tested and tuned, and what is missing.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from boostsample.checks import check_known
from boostsample.errors import SettingError, unknown
from boostsample.experiments.metrics import AREA, METRICS, SMOOTHED
from boostsample.experiments.plan.variants import CHARGED_VARIANT, TUNED_VARIANT, is_tuned_variant
from boostsample.experiments.results.joined import setup_label
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.run_curves import (
    Curves,
    check_disjoint_curves,
    curves_of_results,
    with_labels,
)
from boostsample.experiments.results.significance import LEVEL, Verdict, told_apart
from boostsample.experiments.results.titles import (
    budgets_note,
    cells_of,
    is_charged,
    label_of,
    repetitions,
    with_learner,
)
from boostsample.experiments.tables.tables import (
    BEST,
    TIED,
    Score,
    ScoreTable,
    level_text,
    mean_std,
)
from boostsample.loop.smoothed import window
from boostsample.names import split_name


def result_table(
    results: Sequence[Results],
    metric: str,
    axis: str = "stumps",
    levels: Sequence[float] | None = None,
    charged: bool = True,
    *,
    strategies: Sequence[str] | None = None,
    data: Sequence[str] | None = None,
    rows: str | None = None,
) -> list[ScoreTable]:
    """Make one table for each data set: a row for each level, a column for each strategy.

    With `rows`, a table has a row for each value of an axis of the grid, or each strategy, and a
    column for each combination of the others; there is one for each of the `levels`, by default
    for the last one.

    Parameters
    ----------
    results : sequence of Results
        See `boostsample.experiments.results.read_folder.read_results`.
    metric : str
        One of `boostsample.experiments.metrics.METRICS`.
    axis : str
        One of `boostsample.experiments.results.run_curves.AXES`.
    levels : sequence of float, optional
        Levels on the axis; default: `Curves.levels` of each data set.
    charged : bool
        Also show tuned strategies with the cost of their tuning.
    strategies : sequence of str, optional
        Strategies to show, in this order, by label or by name for all its variants; default: all.
    data : sequence of str, optional
        Data sets to show, in this order; default: all.
    rows : str, optional
        "strategy", or an axis in which joined results differ, see
        `boostsample.experiments.results.joined`.

    Raises
    ------
    SettingError
        The metric is not available on this axis (`Curves.at`), there is no level or no column to
        show, two folders have the same data set, or a strategy or data set is not in the results.
    DataError
        The metric needs curves that the results lack.
    """
    parts = [(folder, curves) for folder in results for curves in curves_of_results(folder)]
    check_disjoint_curves([curves.data for _, curves in parts])
    if data is not None:
        by_name = {curves.data: (folder, curves) for folder, curves in parts}
        for name in data:
            check_known("data set of these results", name, by_name)
        parts = [by_name[name] for name in data]
    if strategies is not None:
        labels = dict.fromkeys(label for _, curves in parts for label in curves.labels)
        chosen = chosen_strategies(strategies, labels)
        parts = [(folder, curves.chosen(chosen)) for folder, curves in parts]
    return [
        table
        for part in parts
        for table in _tables(*part, metric, axis, levels, charged=charged, by=rows)
    ]


def plain_table(results: Results, metric: str, **chosen: Any) -> ScoreTable:
    """The table of results on one data set without its name, marks and notes.

    `chosen` are the `levels`, by default the marks, and `strategies` of `result_table`.
    """
    (table,) = result_table([results], metric, **chosen)
    subject = f"{with_learner(table.data, results.learners)}: "
    return replace(table, title=table.title.removeprefix(subject), flags=(), notes=())


def split_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Names separated by commas; commas in parentheses are part of a name.

    >>> split_names(["digits, chess(d=3,J=3)", "usps"])
    ('digits', 'chess(d=3,J=3)', 'usps')
    """
    parts = (part for text in texts for part in re.split(r",(?![^(]*\))", text))
    return tuple(dict.fromkeys(part.strip() for part in parts))


def chosen_strategies(names: Sequence[str], labels: Collection[str]) -> tuple[str, ...]:
    """The labels that are chosen by name, in the order of `names`.

    A label means itself, without its learner in parentheses all learners; another name, without
    settings, means all its variants. Charged ones go with their own. SettingError if one is not
    there.

    >>> chosen_strategies(["ucb", "full"], ["full", "ucb*", "ucb:exploration=1"])
    ('ucb*', 'ucb:exploration=1', 'full')
    """
    chosen: dict[str, None] = {}
    for name in names:
        if name in labels:
            matches = [label for label in (name, f"{name}{CHARGED_VARIANT}") if label in labels]
        else:
            matches = [label for label in labels if name in _names(label)]
        if not matches:
            raise unknown("strategy of these results", name, labels)
        chosen |= dict.fromkeys(matches)
    return tuple(chosen)


def _names(label: str) -> tuple[str, ...]:
    """The label without its learner; without settings; and without the mark of tuning."""
    strategy = label.removesuffix(CHARGED_VARIANT).partition(" (")[0]
    name = split_name(strategy)[0]
    return strategy, name, name.removesuffix(TUNED_VARIANT)


@dataclass(frozen=True)
class _Row:
    name: str
    level: float
    labels: Mapping[str, str]


def _tables(
    results: Results,
    curves: Curves,
    metric: str,
    axis: str,
    levels: Sequence[float] | None,
    *,
    charged: bool,
    by: str | None,
) -> Iterator[ScoreTable]:
    curves.check(metric, axis)
    labels = [label for label in curves.labels if charged or not is_charged(label)]
    if not labels:
        raise SettingError(
            f"{', '.join(curves.labels)} of {curves.data} are shown with the cost of tuning only; "
            "leave out --uncharged (in Python charged=True), or choose other strategies"
        )
    shown = list(dict.fromkeys(curves.levels(axis, metric) if levels is None else levels))
    if not shown:
        raise SettingError(
            f"the runs of {curves.data} share no level of {axis}; train more rounds, or compare "
            "them at equal stumps"
        )
    facts = results.settings_of(curves.data)
    unit = curves.counted if axis == "stumps" else axis
    counts = [curves.n_runs[label] for label in labels]
    subject = f"{with_learner(curves.data, curves.learners)}: {METRICS[metric].title}"
    common: dict[str, Any] = {
        "notes": (
            *_metric_notes(curves, metric, axis, levels),
            *filter(None, [budgets_note(facts, labels)]),
            *_tuning_notes(axis, labels, facts),
            *_missing_notes(results, curves, labels, facts),
        ),
        "data": curves.data,
        "metric": metric,
        "axis": axis,
    }
    spread = repetitions(max(counts), "mean (std)", min(counts))
    if by is None:
        rows = [_Row(level_text(level), level, {name: name for name in labels}) for level in shown]
        base = ScoreTable(f"{subject}, {spread}", (unit, *labels), (), unit=unit, **common)
        yield _filled(base, rows, curves, facts)
        return
    heads, columns, places = _places(curves, labels, by, axis)
    for level in shown[-1:] if levels is None else shown:
        where = f"at {level_text(level)} {axis}"
        if axis == "stumps":
            where = f"after {level:,g} {curves.counted}"
        rows = [
            _Row(head, level, {c: places[head, c] for c in columns if (head, c) in places})
            for head in heads
        ]
        base = ScoreTable(f"{subject} {where}, {spread}", (by, *columns), (), **common)
        base = replace(base, unit="" if by == "strategy" else by, by_level=False)
        yield _filled(base, rows, curves, facts)


def _places(
    curves: Curves, labels: Sequence[str], by: str, axis: str
) -> tuple[list[str], list[str], dict[tuple[str, str], str]]:
    axes = list(dict.fromkeys(name for label in labels for name in curves.parts[label]))
    check_known("axis of these results", by, axes)
    others = [name for name in axes if name not in (by, "strategy")]
    places: dict[tuple[str, str], str] = {}
    for label in labels:
        part = curves.parts[label]
        column = setup_label(part, others)
        if by != "strategy":
            column = f"{part['strategy']} ({column})" if column else part["strategy"]
        column = f"{column or axis}{CHARGED_VARIANT if is_charged(label) else ''}"
        places[part[by], column] = label
    heads, columns = (list(dict.fromkeys(key[at] for key in places)) for at in (0, 1))
    return heads, columns, places


def _filled(
    table: ScoreTable, rows: Sequence[_Row], curves: Curves, facts: Mapping[str, Any]
) -> ScoreTable:
    overlap, cells = _overlap(facts), cells_of(facts)
    levels = {row.level for row in rows}
    values = {level: curves.at(table.metric, table.axis, level) for level in levels}
    verdicts, scores = [], []
    for row in rows:
        of_row = {column: values[row.level][label] for column, label in row.labels.items()}
        of_cells = {column: cells.get(label, (column,)) for column, label in row.labels.items()}
        verdict = _verdict(of_row, table.metric, overlap, of_cells)
        verdicts.append(verdict)
        scores.append(
            [
                Score(
                    row.level,
                    row.labels.get(column, ""),
                    tuple(of_row.get(column, {}).values()),
                    BEST if column == verdict.best else TIED if column in verdict.tied else "",
                    verdict.p_values.get(column, math.nan),
                )
                for column in table.header[1:]
            ]
        )
    return replace(
        table,
        rows=tuple(
            (row.name, *(_entry(score, table.metric) for score in of_row))
            for row, of_row in zip(rows, scores, strict=True)
        ),
        flags=tuple(("", *(score.flag for score in of_row)) for of_row in scores),
        notes=(*_test_notes(verdicts, overlap), *table.notes),
        scores=tuple(score for of_row in scores for score in of_row),
    )


def _verdict(
    values: Mapping[str, Mapping[int, float]],
    metric: str,
    overlap: float,
    cells: Mapping[str, tuple[str, ...]],
) -> Verdict:
    """Compare the strategies of a row, except charged ones and those with a missing value.

    Those with the same `cells` are one comparison.
    """
    better = METRICS[metric].better
    if not better:
        return Verdict()
    compared = {
        label: runs
        for label, runs in values.items()
        if runs and not is_charged(label) and not any(map(math.isnan, runs.values()))
    }
    first: dict[tuple[str, ...], str] = {}
    same = {label: first.setdefault(cells.get(label, (label,)), label) for label in compared}
    different = {label: compared[label] for label in first.values()}
    verdict = told_apart(different, lower_is_better=better < 0, overlap=overlap)
    best = next(iter(first.values())) if len(different) == 1 < len(same) else verdict.best
    if best is None:
        return verdict
    others = {label: like for label, like in same.items() if label != best}
    p_values, tied = {best: 1.0, **verdict.p_values}, {best, *verdict.tied}
    return Verdict(
        best,
        frozenset(label for label, like in others.items() if like in tied),
        {label: p_values[like] for label, like in others.items() if like in p_values},
        frozenset(label for label, like in others.items() if like in verdict.untested),
    )


def _entry(score: Score, metric: str) -> str:
    """Mean (std); "-" if a run does not reach the level: a mean of the others would be biased."""
    return "-" if any(map(math.isnan, score.values)) else mean_std(score.values, metric)


def _overlap(facts: Mapping[str, Any]) -> float:
    """n_test / n_train if each repetition draws a split, 0 if all share one."""
    if facts["split"] == "fixed":
        return 0.0
    sizes = zip(facts["n_test"], facts["n_train"], strict=True)
    return statistics.fmean(n_test / n_train for n_test, n_train in sizes)


def _test_notes(verdicts: Sequence[Verdict], overlap: float) -> list[str]:
    if all(verdict.best is None for verdict in verdicts):
        return []
    if not any(verdict.p_values for verdict in verdicts):
        return ["no difference is tested, which takes at least two repetitions"]
    if overlap:
        variance = (
            "its variance corrected for training sets that overlap between repetitions, by n_test "
            f"/ n_train = {overlap:.2f} (Nadeau and Bengio 2003)"
        )
    else:
        variance = "all of them on the same split, so that it holds for this split only"
    method = (
        "the best is compared with each other strategy by a two-sided paired t-test over the "
        f"repetitions that both have, {variance}; Holm's correction (1979) for the comparisons "
        f"with one best; level {LEVEL}"
    )
    notes = [method]
    untested = sorted({label for verdict in verdicts for label in verdict.untested})
    if untested:
        names = ", ".join(untested)
        notes.append(f"not tested, with fewer than two repetitions beside the best: {names}")
    return notes


def _metric_notes(
    curves: Curves, metric: str, axis: str, levels: Sequence[float] | None
) -> list[str]:
    notes = []
    if metric in ("loss", AREA) and any("objective" in part for part in curves.parts.values()):
        notes.append("objectives have different losses: compare objectives by errors")
    if metric == SMOOTHED:
        points = curves.smoothed_points()
        n_scored = len(window(curves.points, points[-1])) if points else 0
        notes.append(
            "a smoothed error is the mean of the test errors at the scored numbers of stumps from "
            "4/5 to 6/5 of its own ([BK10] 4.2), so that it ends at 5/6 of the rounds, there a "
            f"mean of {n_scored:,}; compare --score-every 1 scores more"
        )
    if axis != "stumps":
        notes.append(
            f"values at equal {axis} are interpolated along each run; '-' where a run has none, "
            f"before its first {curves.counted.removesuffix('s')} or after its end"
        )
        if levels is None:
            notes[-1] += (
                f"; the levels of {axis} are the least that any run had spent at each mark, "
                "rounded down"
            )
    return notes


def _tuning_notes(axis: str, labels: Sequence[str], facts: Mapping[str, Any]) -> list[str]:
    notes = [note for note in facts["notes"] if _concerns(note, labels)]
    if any(map(is_charged, labels)) and axis != "stumps":
        notes.append(
            "a column 'charged' has the same runs with the cost of all M runs of their search, at "
            "the level"
        )
    return notes


def _concerns(note: str, labels: Sequence[str]) -> bool:
    if note.startswith("strategies with a *"):
        return any(map(is_tuned_variant, labels))
    label, ended, _ = note.partition(": training ended early")
    return not ended or label in labels


def _missing_notes(
    results: Results, curves: Curves, labels: Sequence[str], facts: Mapping[str, Any]
) -> list[str]:
    notes = []
    counts = {label: curves.n_runs[label] for label in labels if not is_charged(label)}
    most = max([int(results.settings.get("repeats", 0)), *counts.values()])
    fewer = [f"{label} {count}" for label, count in counts.items() if count < most]
    if fewer:
        notes.append(f"fewer than {most} repetitions: {', '.join(fewer)}")
    planned = dict.fromkeys(label_of(strategy) for strategy in facts["strategies"])
    there = set(with_labels(results.part(curves.data).table)["label"])
    absent = [label for label in planned if label not in there]
    if absent:
        notes.append(f"without a result yet: {', '.join(absent)}")
    return notes
