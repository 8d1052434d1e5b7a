"""Tables of what validation chose, with the smoothed test errors of the choices."""

from __future__ import annotations

from collections.abc import Sequence

from boostsample.experiments.metrics import SMOOTHED
from boostsample.experiments.results.titles import repetitions
from boostsample.experiments.results.validation import Choice, ChoiceScore
from boostsample.experiments.tables.formats import csv_text
from boostsample.experiments.tables.tables import ScoreTable, mean_and_std, mean_std, metric_text

VALIDATION_COLUMNS = (
    *("data", "strategy", "settings", "learner", "variants", "T", "still_falling"),
    *("validation_n", "validation_mean", "validation_std", "test_n", "test_mean", "test_std"),
    *("looks", "seconds"),
)
"""Columns of `validation_csv`."""


def validation_tables(
    choices: Sequence[Choice], tests: Sequence[ChoiceScore] | None = None
) -> list[ScoreTable]:
    """One table a data set, a row for each strategy and learner; without `tests`, the choices."""
    pairs = _pairs(choices, tests)
    names = dict.fromkeys(choice.data for choice in choices)
    return [_table([pair for pair in pairs if pair[0].data == name]) for name in names]


def _pairs(
    choices: Sequence[Choice], tests: Sequence[ChoiceScore] | None
) -> list[tuple[Choice, ChoiceScore | None]]:
    return list(zip(choices, [None] * len(choices) if tests is None else tests, strict=True))


def _table(pairs: Sequence[tuple[Choice, ChoiceScore | None]]) -> ScoreTable:
    choices = [choice for choice, _ in pairs]
    several = len({choice.learner for choice in choices}) > 1
    tests = [test for _, test in pairs if test is not None]
    header = [
        *("strategy", *(["learner"] if several else [])),
        *("settings", "variants", "T", "validation error"),
        *(["test error", "looks", "seconds"] if tests else []),
    ]
    rows = []
    for choice, test in pairs:
        row = [choice.name, *([choice.learner] if several else []), choice.settings or "-"]
        row += [f"{choice.n_variants:,}", f"{choice.stumps:,}{'+' if choice.at_end else ''}"]
        row.append(mean_std(choice.errors))
        if test is not None:
            row.append(mean_std(test.errors))
            row += [metric_text(getattr(test, name), name) for name in ("looks", "seconds")]
        rows.append(tuple(row))
    spread = repetitions(len((tests or choices)[0].errors), "mean (std)")
    return ScoreTable(
        title=f"{choices[0].data}: smoothed errors in percent, {spread}",
        header=tuple(header),
        rows=tuple(rows),
        notes=_notes(choices, tests),
        data=choices[0].data,
        metric=SMOOTHED,
        axis="stumps",
    )


def _notes(choices: Sequence[Choice], tests: Sequence[ChoiceScore]) -> tuple[str, ...]:
    held_out = "T and the settings have the smallest smoothed error on the training rows held out"
    notes = [f"{held_out}; test rows had no influence" if tests else held_out]
    if any(test.overlap for test in tests):
        notes = [f"{held_out}; test rows of one repetition are among the training rows of others"]
    if any(choice.at_end for choice in choices):
        notes.append(
            "+: the smallest error is at the end of the run, still falling; more rounds may lower "
            "it"
        )
    scored = f"{min(choice.n_scored for choice in choices):,} validation errors"
    if tests:
        scored += f" and {min(test.n_scored for test in tests):,} test errors"
    notes.append(
        f"a smoothed error is a mean of at least {scored}, from 4T/5 to 6T/5 stumps; compare "
        "--score-every 1 scores more"
    )
    if tests:
        notes.append("looks (search and modelling) and seconds of training are those at T stumps")
    return tuple(notes)


def validation_csv(choices: Sequence[Choice], tests: Sequence[ChoiceScore] | None = None) -> str:
    """One line a choice with `VALIDATION_COLUMNS`; what is not known is empty."""
    return csv_text(
        VALIDATION_COLUMNS,
        (
            (
                *(choice.data, choice.name, choice.settings, choice.learner),
                *(choice.n_variants, choice.stumps, int(choice.at_end)),
                *_numbers(choice.errors),
                *_numbers(() if test is None else test.errors),
                *((None, None) if test is None else (test.looks, test.seconds)),
            )
            for choice, test in _pairs(choices, tests)
        ),
    )


def _numbers(errors: Sequence[float]) -> list[float | int | None]:
    mean, std = mean_and_std(errors)
    return [len(errors) or None, mean if errors else None, std if len(errors) > 1 else None]
