"""Validation as in [BK10] 4.2: rounds and settings chosen on held-out rows, and their test errors.

Of each strategy, with each learner, the number of stumps T and the settings with the smallest
smoothed error (`boostsample.loop.smoothed`), mean over repetitions, on a data set
with the option ``validation``. Test errors come from other results, which the choice does not read.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from boostsample.errors import DataError, SettingError
from boostsample.experiments.data.dataset import validation_base
from boostsample.experiments.plan.variants import TUNED_VARIANT
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.run_curves import error_curve, scored_points
from boostsample.experiments.results.titles import is_charged, label_of
from boostsample.loop.smoothed import smoothed_error, window

_NEAR_END = 0.95
"""A minimum at this part of the last possible number of stumps, or later, is at the end."""
_SAME = ("weights", "budget", "seed")
"""Settings that the two results must share."""


class _Key(NamedTuple):
    """A variant of a strategy, with a learner."""

    strategy: str
    label: str  # with its settings
    learner: str


_Runs = Mapping[_Key, Sequence[Mapping[int, float]]]


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

    @property
    def settings(self) -> str:
        """The settings in the label; empty if there are none."""
        return self.label.removeprefix(self.strategy).removeprefix(":")

    @property
    def base(self) -> str:
        """Name of the data set without the option."""
        return validation_base(self.data) or ""


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

    By data set, then strategy and learner. Of equal errors, the first variant and the smallest
    number of stumps is chosen.

    Raises
    ------
    SettingError
        No data set has the option.
    DataError
        The results are incomplete, without curves, or have too few rounds for a window.
    """
    names = [name for name in _data_names(validation) if validation_base(name)]
    if not names:
        raise SettingError(
            "the validation results must be of a data set with the option validation, got "
            f"{', '.join(_data_names(validation))}; run boostsample compare --data "
            f"{_data_names(validation)[0]}:validation=0.2"
        )
    _check_complete(validation, "validation")
    return [choice for name in names for choice in _choices_of(name, validation)]


def _choices_of(data: str, validation: Results) -> Iterator[Choice]:
    runs = _error_curves(validation, data)
    for strategy, learner in dict.fromkeys((key.strategy, key.learner) for key in runs):
        keys = [key for key in runs if (key.strategy, key.learner) == (strategy, learner)]
        least, chosen = math.inf, None
        for key in keys:
            curves = runs[key]
            points = _defined(curves)
            for stumps in points:
                errors = tuple(smoothed_error(curve, stumps) for curve in curves)
                mean = statistics.fmean(errors)
                if mean < least:
                    least = mean
                    chosen = Choice(
                        data,
                        strategy,
                        key.label,
                        learner,
                        len(keys),
                        stumps,
                        errors,
                        _n_scored(curves, stumps),
                        stumps >= _NEAR_END * points[-1],
                    )
        if chosen is None:
            raise DataError(
                f"{strategy} of {data} must have rounds up to 6/5 of a scored number of stumps, "
                "got too few; train more rounds"
            )
        yield chosen


def _defined(curves: Sequence[Mapping[int, float]]) -> list[int]:
    """Numbers of stumps at which all curves have an error and a complete window, ascending."""
    shared = set.intersection(*(set(curve) for curve in curves))
    return sorted(at for at in shared if all(window(tuple(curve), at) for curve in curves))


def _n_scored(curves: Sequence[Mapping[int, float]], stumps: int) -> int:
    return min(len(window(tuple(curve), stumps)) for curve in curves)


def score_choices(
    choices: Sequence[Choice], validation: Results, test: Results
) -> list[ChoiceScore]:
    """The test results of choices made on `validation`.

    Raises
    ------
    SettingError
        The results are not of the same data, features or settings, or a choice is missing.
    DataError
        The test results are incomplete, or have too few rounds or scores for a choice.
    """
    names = _data_names(test)
    _check_complete(test, "test")
    for choice in choices:
        if choice.base not in names:
            raise SettingError(
                f"the test results must have the data set {choice.base}, as {choice.data} holds "
                f"out its training rows, got {', '.join(names)}; name the folder of boostsample "
                f"compare --data {choice.base}"
            )
        _check_same(choice, validation, test)
    curves = {choice.base: _error_curves(test, choice.base) for choice in choices}
    lacking = [choice for choice in choices if _key(choice) not in curves[choice.base]]
    if lacking:
        listed = ", ".join(f"{choice.label} with {choice.learner}" for choice in lacking)
        raise SettingError(
            f"the test results lack what validation chose: {listed}; train it on "
            f"{' and '.join(dict.fromkeys(one.base for one in lacking))} by boostsample compare "
            f"--strategies {','.join(one.label.replace(TUNED_VARIANT, '') for one in lacking)}"
        )
    return [_tested(choice, curves[choice.base][_key(choice)], test) for choice in choices]


def _tested(choice: Choice, curves: Sequence[Mapping[int, float]], test: Results) -> ChoiceScore:
    stumps = choice.stumps
    if not all(window(tuple(curve), stumps) for curve in curves):
        needed = -(-6 * stumps // 5)
        raise DataError(
            f"the test results of {choice.label} on {choice.base} must have {needed:,} rounds or "
            f"more and scores near {stumps:,} stumps, got {max(curves[0]):,} rounds; train it by "
            f"boostsample compare with --rounds {needed} or more and --score-every 1"
        )
    rows = list(_runs_of(test, choice.base)[_key(choice)].values())
    return ChoiceScore(
        tuple(smoothed_error(curve, stumps) for curve in curves),
        _n_scored(curves, stumps),
        statistics.fmean(_spent(run, "looks", stumps) for run in rows),
        statistics.fmean(_spent(run, "seconds", stumps) for run in rows),
        len(rows) > 1 and test.settings_of(choice.base).get("split") == "drawn",
    )


def _spent(rows: Sequence[Mapping[str, Any]], column: str, stumps: int) -> float:
    """What a run had spent, linear between two rows."""
    at = [row["stumps"] for row in rows]
    return float(np.interp(stumps, at, [row[column] for row in rows]))


def _key(choice: Choice) -> _Key:
    return _Key(choice.strategy, choice.label, choice.learner)


def _data_names(results: Results) -> list[str]:
    return [data["name"] for data in results.settings["data_sets"]]


def _check_complete(results: Results, role: str) -> None:
    if results.missing or not results.curves:
        fault = f"{results.missing:,} runs missing" if results.missing else "none"
        raise DataError(
            f"the {role} results must have the curves of all runs, got {fault}; complete them by "
            "the command that made them"
        )


def _check_same(choice: Choice, validation: Results, test: Results) -> None:
    """Raise SettingError unless both results are of the same data, features and settings."""
    pairs = [(name, validation.settings.get(name), test.settings.get(name)) for name in _SAME]
    ours, theirs = validation.settings_of(choice.data), test.settings_of(choice.base)
    pairs += [(name, ours.get(name), theirs.get(name)) for name in ("sha256", "families")]
    for name, value, other in pairs:
        if value != other:
            shown = "" if name == "families" else f", got {value} and {other}"
            title = {"sha256": "rows (sha256)", "weights": "weight_init"}.get(name, name)
            raise SettingError(
                f"the results of {choice.data} and of {choice.base} must have the same {title}"
                f"{shown}; run one of them again like the other"
            )


def _runs_of(results: Results, data: str) -> dict[_Key, dict[int, list[Mapping[str, Any]]]]:
    """The curve rows of a data set by variant and repetition, charged ones apart."""
    runs: dict[_Key, dict[int, list[Mapping[str, Any]]]] = {}
    for row in results.curves:
        if row["data"] == data and not is_charged(row["strategy"]):
            key = _Key(row["strategy"], label_of(row), row["learner"])
            runs.setdefault(key, {}).setdefault(row["repetition"], []).append(row)
    return runs


def _error_curves(results: Results, data: str) -> _Runs:
    """The errors by number of stumps, one curve a repetition, by variant."""
    runs = _runs_of(results, data)
    points = scored_points(rows for repetitions in runs.values() for rows in repetitions.values())
    return {
        key: [error_curve(rows, points) for rows in repetitions.values()]
        for key, repetitions in runs.items()
    }
