"""Validation as in [BK10] 4.2: rounds and settings chosen on held-out rows, and their test errors.

Of each strategy, with each learner, in each setup of a grid with axes, the number of stumps T and
the settings with the smallest smoothed error (`boostsample.loop.smoothed`), mean over repetitions,
on a data set with the option ``validation``. Test errors come from other results, which the choice
does not read.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from boostsample.errors import DataError, SettingError
from boostsample.experiments.data.dataset import validation_base
from boostsample.experiments.plan.variants import TUNED_VARIANT
from boostsample.experiments.results.joined import setup_label
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.run_curves import curves_of_data, error_curve, uncharged
from boostsample.experiments.results.significance import comparable
from boostsample.experiments.results.titles import SETUP_COLUMNS, setup_columns
from boostsample.loop.smoothed import smoothed_error, window

if TYPE_CHECKING:
    import pandas as pd

_NEAR_END = 0.95
"""A minimum at this part of the last possible number of stumps, or later, is at the end."""
_SAME = {
    "weights": "weight_init",
    "budget": "budget",
    "seed": "seed",
    "sha256": "rows (sha256)",
    "families": "families",
}
"""Settings that the two results must share, in words."""
_Variant = tuple[str, str, str]  # strategy, its label with settings, and learner
_ErrorCurves = Sequence[Mapping[int, float]]  # errors by number of stumps, for each repetition


@dataclass(frozen=True)
class Choice:
    """The variant and the number of stumps that validation chose for a strategy and a learner."""

    data: str  # name of the validation data set
    strategy: str
    label: str  # the strategy with the settings that were chosen
    learner: str
    n_variants: int  # that were compared
    stumps: int  # T
    errors: tuple[float, ...]  # smoothed validation errors at T in percent, by repetition
    n_scored: int  # fewest errors in a window
    at_end: bool  # the minimum is at the end of the run: the error may still fall
    setup: Mapping[str, str] = field(default_factory=dict)  # columns of its rows, see `titles`
    axes: tuple[str, ...] = ()  # those of `setup` in which setups differ, without the learner

    @property
    def name(self) -> str:
        """The strategy, with the setup if there are several."""
        values = setup_label(self.setup, self.axes)
        return f"{self.strategy} ({values})" if values else self.strategy

    @property
    def settings(self) -> str:
        """The settings in the label; empty if there are none."""
        return self.label.removeprefix(self.strategy).removeprefix(":")

    @property
    def base(self) -> str:
        """Name of the data set without the option."""
        return validation_base(self.data) or ""

    @property
    def variant(self) -> _Variant:
        """Strategy, label and learner."""
        return self.strategy, self.label, self.learner


@dataclass(frozen=True)
class ChoiceScore:
    """The test result of a choice."""

    errors: tuple[float, ...]  # smoothed test errors at T in percent, by repetition
    n_scored: int  # fewest errors in a window
    looks: float  # spent at T: search and modelling, mean over repetitions
    seconds: float  # of training at T, mean over repetitions
    overlap: bool  # test rows of one repetition are training rows of others


def choose(validation: Results) -> list[Choice]:
    """The choices for all data sets of the results that have the option ``validation``.

    By setup, data set, then strategy and learner. Of equal errors, the first variant and the
    smallest number of stumps is chosen. SettingError if no data set has the option; DataError if
    the results are incomplete, or have too few rounds for a window.
    """
    known = validation.names
    names = [name for name in known if validation_base(name)]
    if not names:
        raise SettingError(
            "the validation results must be of a data set with the option validation, got "
            f"{', '.join(known)}; run boostsample compare --data {known[0]}:validation=0.2"
        )
    _check_complete(validation, "validation")
    parts = validation.setups
    setups = [setup_columns(part.settings) for part in parts]
    axes = tuple(name for name in SETUP_COLUMNS[1:] if len({of[name] for of in setups}) > 1)
    return [
        replace(choice, setup=setup, axes=axes)
        for part, setup in zip(parts, setups, strict=True)
        for name in names
        for choice in _choices_of(name, part)
    ]


def _choices_of(data: str, validation: Results) -> Iterator[Choice]:
    curves = _error_curves(validation, data)
    for strategy, learner in dict.fromkeys((variant[0], variant[2]) for variant in curves):
        tried = {v: c for v, c in curves.items() if (v[0], v[2]) == (strategy, learner)}
        candidates = [
            (comparable(statistics.fmean(errors)), variant, stumps, errors)
            for variant, of_variant in tried.items()
            for stumps in _defined(of_variant)
            for errors in [_smoothed(of_variant, stumps)]
        ]
        if not candidates:
            raise DataError(
                f"{strategy} of {data} must have rounds up to 6/5 of a scored number of stumps, "
                "got too few; train more rounds"
            )
        _, variant, stumps, errors = min(candidates, key=itemgetter(0))
        yield Choice(
            data,
            *variant,
            len(tried),
            stumps,
            errors,
            _n_scored(curves[variant], stumps),
            stumps >= _NEAR_END * _defined(curves[variant])[-1],
        )


def _defined(curves: _ErrorCurves) -> list[int]:
    """Numbers of stumps at which all curves have an error and a complete window, ascending."""
    shared = set.intersection(*map(set, curves))
    return sorted(stumps for stumps in shared if _n_scored(curves, stumps))


def _smoothed(curves: _ErrorCurves, stumps: int) -> tuple[float, ...]:
    return tuple(smoothed_error(curve, stumps) for curve in curves)


def _n_scored(curves: _ErrorCurves, stumps: int) -> int:
    return min(len(window(tuple(curve), stumps)) for curve in curves)


def score_choices(
    choices: Sequence[Choice], validation: Results, test: Results
) -> list[ChoiceScore]:
    """The test results of choices made on `validation`; of several setups, in the same one.

    SettingError if the results are not of the same data, features or settings, or a choice is
    missing; DataError if they are incomplete, or have too few rounds or scores for a choice.
    """
    _check_complete(test, "test")
    scores: list[ChoiceScore] = []
    for setup, of_setup in itertools.groupby(choices, key=lambda choice: choice.setup):
        known, tested = _in_setup(validation, setup), _in_setup(test, setup)
        scores += _scored(list(of_setup), known, tested)
    return scores


def _in_setup(results: Results, setup: Mapping[str, str]) -> Results:
    parts = {str(setup_columns(part.settings)): part for part in results.setups}
    if len(parts) > 1 and str(setup) not in parts:
        raise SettingError(
            f"the test results must have the setup {setup_label(setup, SETUP_COLUMNS)}, which "
            "validation has; train it by boostsample compare, too"
        )
    return parts.get(str(setup), results)


def _scored(choices: Sequence[Choice], validation: Results, test: Results) -> list[ChoiceScore]:
    names = test.names
    for choice in choices:
        if choice.base not in names:
            raise SettingError(
                f"the test results must have the data set {choice.base}, as {choice.data} holds "
                f"out its training rows, got {', '.join(names)}; name the folder of boostsample "
                f"compare --data {choice.base}"
            )
        _check_same(choice, validation, test)
    curves = {choice.base: _error_curves(test, choice.base) for choice in choices}
    lacking = [choice for choice in choices if choice.variant not in curves[choice.base]]
    if lacking:
        listed = ", ".join(f"{choice.label} with {choice.learner}" for choice in lacking)
        raise SettingError(
            f"the test results lack what validation chose: {listed}; train it on "
            f"{' and '.join(dict.fromkeys(choice.base for choice in lacking))} by boostsample "
            "compare --strategies "
            f"{','.join(choice.label.replace(TUNED_VARIANT, '') for choice in lacking)}"
        )
    return [_tested(choice, curves[choice.base][choice.variant], test) for choice in choices]


def _tested(choice: Choice, curves: _ErrorCurves, test: Results) -> ChoiceScore:
    stumps = choice.stumps
    if not _n_scored(curves, stumps):
        needed = -(-6 * stumps // 5)
        raise DataError(
            f"the test results of {choice.label} on {choice.base} must have {needed:,} rounds or "
            f"more and scores near {stumps:,} stumps, got {max(curves[0]):,} rounds; train it by "
            f"boostsample compare with --rounds {needed} or more and --score-every 1"
        )
    runs = _runs_of(test, choice.base)[choice.variant]
    looks, seconds = (
        statistics.fmean(float(np.interp(stumps, run["stumps"], run[column])) for run in runs)
        for column in ("looks", "seconds")
    )
    overlap = len(runs) > 1 and test.settings_of(choice.base)["split"] == "drawn"
    return ChoiceScore(
        _smoothed(curves, stumps), _n_scored(curves, stumps), looks, seconds, overlap
    )


def _check_complete(results: Results, role: str) -> None:
    if results.missing:
        raise DataError(
            f"the {role} results must have the curves of all runs, got {results.missing:,} runs "
            "missing; complete them by the command that made them"
        )


def _check_same(choice: Choice, validation: Results, test: Results) -> None:
    ours = {**validation.settings, **validation.settings_of(choice.data)}
    theirs = {**test.settings, **test.settings_of(choice.base)}
    for name, title in _SAME.items():
        value, other = ours.get(name), theirs.get(name)
        if value != other:
            shown = "" if name == "families" else f", got {value} and {other}"
            raise SettingError(
                f"the results of {choice.data} and of {choice.base} must have the same {title}"
                f"{shown}; run one of them again like the other"
            )


def _runs_of(results: Results, data: str) -> dict[_Variant, list[pd.DataFrame]]:
    columns = ["strategy", "label", "learner", "repetition"]
    table = uncharged(curves_of_data([results.part(data)])[data].table)
    runs: dict[_Variant, list[pd.DataFrame]] = {}
    for (strategy, label, learner, _), run in table.groupby(columns, sort=False):
        runs.setdefault((strategy, label, learner), []).append(run)
    return runs


def _error_curves(results: Results, data: str) -> dict[_Variant, _ErrorCurves]:
    runs = _runs_of(results, data)
    scored = (run["stumps"].tolist() for of_variant in runs.values() for run in of_variant)
    points = sorted(set().union(*scored))
    return {
        variant: [error_curve(run, points) for run in of_variant]
        for variant, of_variant in runs.items()
    }
