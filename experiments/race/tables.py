"""What a race is told as: its tables, and a JSON file of all runs that can be read again."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from boostsample.errors import DataError
from boostsample.experiments.cells.environment import machine, version_of, versions
from boostsample.experiments.common.files import atomic, one_line, unwritable
from boostsample.experiments.race.runs import Race, Rules, Run
from boostsample.experiments.tables.tables import Table

__all__ = [
    "busy_note",
    "curve_table",
    "facts_of",
    "grid_tables",
    "read_race",
    "result_table",
    "settings_table",
    "write_race",
]

FORMAT = 1
"""Version of the file's format."""
MARKS = (0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 3000, 5000)
"""Seconds at which the curve is told."""
BUSY = 0.05
"""Share of all cores that other processes may take before it is told."""
_PEERS = ("lightgbm", "xgboost", "xgboost-cpu")


def result_table(race: Race) -> Table:
    """The time of each method: the median of the final runs of its best settings."""
    base = race.result(race.methods[0])
    rows = []
    for method in race.methods:
        run = race.result(method)
        n_final = len(race.of(method, final=True))
        rows.append(
            (
                method,
                _seconds(run.prepared),
                _time(run),
                str(n_final),
                f"{run.iterations:,}",
                f"{run.lowest:.2f}",
                _ratio(run, base),
            )
        )
    return Table(
        f"seconds to a test error of {race.rules.error:g} %, bins or data set included; the ratio "
        f"is to {race.methods[0]}",
        ("method", "bins", "seconds", "runs", "iterations", "error", "ratio"),
        tuple(rows),
    )


def settings_table(race: Race) -> Table | None:
    """The settings that a grid's method was timed with; None if no method had a grid."""
    rows = []
    for method in race.methods:
        tries = race.of(method, final=False)
        if tries:
            reached = sum(run.reached for run in tries)
            rows.append(
                (method, str(len(tries)), str(reached), race.result(method).settings or "-")
            )
    if not rows:
        return None
    return Table(
        "settings tried, how many of them reached the error, and the best",
        ("method", "tried", "reached", "best"),
        tuple(rows),
    )


def grid_tables(race: Race) -> list[Table]:
    """All tries of each method with a grid, the fastest first."""
    made = []
    for method in race.methods:
        tries = sorted(
            race.of(method, final=False), key=lambda run: (not run.reached, run.seconds, run.lowest)
        )
        if tries:
            made.append(
                Table(
                    f"{method}: all settings; a try ends when it is slower than the best so far",
                    ("settings", "bins", "seconds", "iterations", "lowest error"),
                    tuple(
                        (
                            run.settings or "-",
                            _seconds(run.prepared),
                            _time(run),
                            f"{run.iterations:,}",
                            f"{run.lowest:.2f}",
                        )
                        for run in tries
                    ),
                )
            )
    return made


def curve_table(race: Race) -> Table:
    """Test error after so many seconds, in the run that the table of results shows."""
    results = {method: race.result(method) for method in race.methods}
    longest = max(run.seconds for run in results.values())
    marks = [mark for mark in MARKS if mark < longest]
    return Table(
        'test error in percent after so many seconds; "-": no iteration is done, "end": the run is',
        ("seconds", *race.methods),
        tuple(
            (f"{mark:,}", *(_error_at(results[method], mark) for method in race.methods))
            for mark in marks
        ),
    )


def _error_at(run: Run, seconds: float) -> str:
    if run.seconds <= seconds:
        return "end"
    before = [error for _, at, error in run.curve if at <= seconds]
    return f"{before[-1]:.2f}" if before else "-"


def busy_note(race: Race) -> str:
    """That other processes ran meanwhile, if they did; else empty."""
    shares = [(race.result(method).others, method) for method in race.methods]
    worst, method = max(((s, m) for s, m in shares if not math.isnan(s)), default=(0.0, ""))
    if worst < BUSY:
        return ""
    return (
        f"other processes took {100 * worst:.0f} % of all cores while {method} ran; threads that "
        "wait for each other suffer most, so repeat this on a quiet machine before you rely on it"
    )


def _seconds(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"


def _time(run: Run) -> str:
    """Seconds to the error, or what they are above, or why there will never be any."""
    if run.reached:
        return f"{run.seconds:.2f}"
    if run.ended in ("rounds", "nothing left"):
        return f"never ({run.ended})"
    return f"> {run.seconds:.2f} ({run.ended})"


def _ratio(run: Run, base: Run) -> str:
    if not base.reached or run.ended in ("rounds", "nothing left"):
        return "-"
    return f"{'' if run.reached else '> '}{run.seconds / base.seconds:.2f}"


def facts_of(race: Race, **more: Any) -> dict[str, Any]:
    """Everything of a race as JSON takes it, and what it ran on.

    Parameters
    ----------
    **more
        What the caller knows besides: data set, number of columns, options.
    """
    return {
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "settings": more,
        "rules": asdict(race.rules),
        "methods": list(race.methods),
        "runs": [_without_nan(asdict(run)) for run in race.runs],
        "versions": {
            **versions(),
            **{name: found for name in _PEERS if (found := version_of(name)) is not None},
        },
        "machine": machine(),
    }


def _without_nan(run: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN."""
    return {key: None if _is_nan(value) else value for key, value in run.items()}


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def write_race(facts: Mapping[str, Any], path: Path) -> None:
    """Write the facts of a race, as a whole or not at all.

    Raises
    ------
    DataError
        The file cannot be written.
    """
    try:
        with atomic(path) as stream:
            stream.write((json.dumps(facts, indent=1, allow_nan=False) + "\n").encode())
    except OSError as error:
        raise unwritable(path, "runs", error) from error


def read_race(path: str | os.PathLike[str]) -> tuple[Race, dict[str, Any]]:
    """Read what `write_race` wrote: the race, and all its facts.

    Raises
    ------
    DataError
        The file is missing, of another format, or no file of a race.
    """
    try:
        facts: dict[str, Any] = json.loads(Path(path).read_bytes())
        if facts["format"] != FORMAT:
            raise DataError(
                f"'{path}' is in format {facts['format']}, this version of boostsample reads "
                f"format {FORMAT}; use the version that wrote it"
            )
        return (
            Race(
                Rules(**facts["rules"]),
                tuple(facts["methods"]),
                _runs(facts["runs"]),
            ),
            facts,
        )
    except FileNotFoundError as error:
        raise DataError(f"there is no file '{path}' of a race") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"'{path}' is no file of a race: {one_line(error)}") from error


def _runs(rows: Sequence[Mapping[str, Any]]) -> tuple[Run, ...]:
    names = [field.name for field in fields(Run)]
    made = []
    for row in rows:
        values: dict[str, Any] = {
            name: math.nan if row[name] is None else row[name] for name in names
        }
        values["curve"] = tuple((int(n), float(s), float(e)) for n, s, e in row["curve"])
        made.append(Run(**values))
    return tuple(made)
