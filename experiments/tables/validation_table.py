"""Tables of what validation chose, with the smoothed test errors of the choices."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from boostsample.experiments.results.labels import repetitions
from boostsample.experiments.results.smoothed import SMOOTHED
from boostsample.experiments.results.validation import Choice, ChoiceScore
from boostsample.experiments.tables.formats import guarded_text
from boostsample.experiments.tables.number_formats import NUMBER_FORMATS, mean_and_std, mean_std
from boostsample.experiments.tables.score_tables import ScoreTable

VALIDATION_COLUMNS = (
    "data",
    "strategy",
    "settings",
    "learner",
    "variants",
    "T",
    "still_falling",
    *(f"{rows}_{what}" for rows in ("validation", "test") for what in ("n", "mean", "std")),
    "looks",
    "seconds",
)
"""Columns of `validation_csv`."""


def validation_tables(
    choices: Sequence[Choice], tests: Sequence[ChoiceScore] | None = None
) -> list[ScoreTable]:
    """One table a data set, a row for each strategy and learner; without `tests`, the choices."""
    paired = _paired(choices, tests)
    names = dict.fromkeys(one.data for one in choices)
    return [_table([pair for pair in paired if pair[0].data == name]) for name in names]


def _paired(
    choices: Sequence[Choice], tests: Sequence[ChoiceScore] | None
) -> list[tuple[Choice, ChoiceScore | None]]:
    if tests is None:
        return [(choice, None) for choice in choices]
    return list(zip(choices, tests, strict=True))


def _table(paired: Sequence[tuple[Choice, ChoiceScore | None]]) -> ScoreTable:
    choices = [choice for choice, _ in paired]
    several = len({one.learner for one in choices}) > 1
    tests = [test for _, test in paired if test is not None]
    header = [
        *("strategy", *(["learner"] if several else [])),
        *("settings", "variants", "T", "validation error"),
        *(["test error", "looks", "seconds"] if tests else []),
    ]
    rows = []
    for choice, test in paired:
        row = [choice.strategy, *([choice.learner] if several else []), choice.settings or "-"]
        row += [f"{choice.n_variants:,}", f"{choice.stumps:,}{'+' if choice.at_end else ''}"]
        row.append(mean_std(choice.errors))
        if test is not None:
            row.append(mean_std(test.errors))
            row += [NUMBER_FORMATS[one](getattr(test, one)) for one in ("looks", "seconds")]
        rows.append(tuple(row))
    spread = repetitions(len((tests or choices)[0].errors), "mean (std)")
    return ScoreTable(
        title=f"{choices[0].data}: smoothed errors in percent, {spread}",
        header=tuple(header),
        rows=tuple(rows),
        flags=tuple(("",) * len(header) for _ in rows),
        notes=_notes(choices, tests),
        data=choices[0].data,
        metric=SMOOTHED,
        axis="stumps",
    )


def _notes(choices: Sequence[Choice], tests: Sequence[ChoiceScore]) -> tuple[str, ...]:
    held_out = "T and the settings have the smallest smoothed error on the training rows held out"
    notes = [f"{held_out}; test rows had no influence" if tests else held_out]
    if any(one.overlap for one in tests):
        notes = [f"{held_out}; test rows of one repetition are among the training rows of others"]
    if any(one.at_end for one in choices):
        notes.append(
            "+: the smallest error is at the end of the run, still falling; more rounds may lower "
            "it"
        )
    scored = f"{min(one.n_scored for one in choices):,} validation errors"
    if tests:
        scored += f" and {min(one.n_scored for one in tests):,} test errors"
    notes.append(
        f"a smoothed error is a mean of at least {scored}, from 4T/5 to 6T/5 stumps; compare "
        "--score-every 1 scores more"
    )
    if tests:
        notes.append("looks (search and modelling) and seconds of training are those at T stumps")
    return tuple(notes)


def validation_csv(choices: Sequence[Choice], tests: Sequence[ChoiceScore] | None = None) -> str:
    """One line a choice with `VALIDATION_COLUMNS`; what is not known is empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(VALIDATION_COLUMNS)
    for choice, test in _paired(choices, tests):
        spent = [None, None] if test is None else [test.looks, test.seconds]
        writer.writerow(
            [
                *map(
                    guarded_text,
                    (choice.data, choice.strategy, choice.settings, choice.learner),
                ),
                *(choice.n_variants, choice.stumps, int(choice.at_end)),
                *_numbers(choice.errors),
                *_numbers(() if test is None else test.errors),
                *spent,
            ]
        )
    return stream.getvalue().rstrip("\n")


def _numbers(errors: Sequence[float]) -> list[float | int | None]:
    """Number of errors, their mean and standard deviation; None where there is none."""
    mean, std = mean_and_std(errors)
    return [len(errors) or None, mean if errors else None, std if len(errors) > 1 else None]
