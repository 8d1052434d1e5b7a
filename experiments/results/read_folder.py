"""Results, and the folders that hold them.

- ``plan.json`` describes the comparison (`boostsample.experiments.results.plan_file`). It is
  written before the first cell and, as the last file, when the results are complete.
- ``cells`` has one file per trained run (`boostsample.experiments.cells.cell_file`).
- ``table.csv`` has a row for each run and scored number of stumps
  (`boostsample.experiments.results.runs`), and ``history.csv``, optional, one per search.

The tables follow from the cells: those of a folder that is not complete are made from its existing
cells. A folder without cells is small, and still has its tables.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boostsample.checks import check_known
from boostsample.errors import DataError, one_line, os_fault
from boostsample.experiments.cells.cell_file import Cell, DamagedCell, read_cell_file
from boostsample.experiments.cells.store import STORE_FOLDER, key_of_file
from boostsample.experiments.metrics import Metric, add_stored, metric_named
from boostsample.experiments.results.plan_file import finished_record, plan_of_bytes, variant_of
from boostsample.experiments.results.runs import (
    RESULT_COLUMNS,
    TABLE_COLUMNS,
    TABLE_SCHEMA,
    Run,
    kept_run,
    table_frame,
)
from boostsample.experiments.results.titles import settings_of_setup, setup_columns
from boostsample.history import Column

if TYPE_CHECKING:
    import pandas as pd

PLAN, TABLE, HISTORY = "plan.json", "table.csv", "history.csv"
_TEXT = ("data", "strategy", "settings", "learner", "family", "stopped")
_TRUTHS = {"True": True, "False": False}
_MALFORMED = (OSError, KeyError, TypeError, AttributeError, ValueError)


@dataclass(frozen=True, eq=False)
class Results:
    """The results of a comparison: of one that has just run, or of a folder.

    If cells are missing, their strategies have no rows in these repetitions.
    """

    settings: dict[str, Any]  # the content of ``plan.json``
    table: pd.DataFrame  # one row per run and scored number of stumps, see `TABLE_SCHEMA`
    history: list[dict[str, Any]] = field(default_factory=list)  # of a folder, values are text
    missing: int = 0  # number of missing cells
    runs: list[Run] = field(default_factory=list)  # of one that has just run

    @cached_property
    def at_marks(self) -> pd.DataFrame:
        """The rows of the table at the marks, with `RESULT_COLUMNS`."""
        columns = [name for name in self.table.columns if name in RESULT_COLUMNS]
        return self.table.loc[self.table["stumps"].isin(self.settings["rounds"]), columns]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The result rows: those of the table at the marks, with `RESULT_COLUMNS`."""
        return list(self.at_marks.to_dict("records"))

    @cached_property
    def curves(self) -> list[dict[str, Any]]:
        """All rows of the table."""
        return list(self.table.to_dict("records"))

    @property
    def names(self) -> list[str]:
        """Names of the data sets that have rows."""
        return [str(name) for name in self.table["data"].unique()]

    @property
    def learners(self) -> tuple[str, ...]:
        """The different learners of the rows."""
        return tuple(self.table["learner"].unique())

    def settings_of(self, data: str) -> Mapping[str, Any]:
        """The entry of one data set in the settings."""
        named: Sequence[Mapping[str, Any]] = self.settings["data_sets"]
        return next(entry for entry in named if entry["name"] == data)

    def to_frame(self, what: str = "rows") -> pd.DataFrame:
        """The result rows, or the rows of ``curves`` or ``history``, as a data frame of pandas.

        Text that holds numbers becomes numbers. Truth values, also as text, are bool, or the
        ``boolean`` of pandas if some rows have none. SettingError for another name, DataError if
        there are no such rows.
        """
        import pandas as pd

        frames = {
            "rows": self.at_marks.reset_index(drop=True),
            "curves": self.table.copy(),
            "history": pd.DataFrame(self.history),
        }
        check_known("table", what, frames)
        frame = frames[what]
        if frame.empty:
            hint = "; run the comparison with --history" if what == "history" else ""
            raise DataError(f"the results must hold {what} for a data frame, got none{hint}")
        for name in frame.columns.difference(_TEXT):
            if pd.api.types.is_numeric_dtype(frame[name]):
                continue
            texts = frame[name].map(str)
            if texts.isin(_TRUTHS).any() and texts.isin((*_TRUTHS, "", "nan")).all():
                truths = texts.map(_TRUTHS).astype("boolean")
                frame[name] = truths if truths.hasnans else truths.astype(bool)
                continue
            try:
                frame[name] = pd.to_numeric(frame[name])
            except (TypeError, ValueError):
                continue
        return frame

    @property
    def setups(self) -> list[Results]:
        """The results of each setup, as if each had a folder; these results if there is one."""
        entries = self.settings["data_sets"]
        if not is_several(self.settings):
            return [self]
        setups: list[dict[str, Any]] = []
        for entry in entries:
            if entry["setup"] not in setups:
                setups.append(entry["setup"])
        parts: list[Results] = []
        for setup in setups:
            of_setup = [dict(entry) for entry in entries if entry["setup"] == setup]
            for entry in of_setup:
                del entry["setup"]
            settings = {**self.settings, **setup, "data_sets": of_setup}
            columns = setup_columns(settings)
            rows = (self.table[list(columns)] == list(columns.values())).all(axis=1)
            runs = [run for run in self.runs if run.setup == columns]
            missing = 0 if parts else self.missing  # so that the sum is that of the whole
            parts.append(
                replace(self, settings=settings, table=self.table[rows], runs=runs, missing=missing)
            )
        return parts

    def part(self, data: str) -> Results:
        """The part on one data set."""
        named = [entry for entry in self.settings["data_sets"] if entry["name"] == data]
        return replace(
            self,
            settings={**self.settings, "data_sets": named},
            table=self.table[self.table["data"] == data],
            runs=[run for run in self.runs if data in (run.data, _spelled(run.data))],
        )


def _spelled(name: str) -> str:
    """A name as tables spell it, with escapes for what is no text."""
    return name.encode("utf-8", "backslashreplace").decode()


def is_several(record: Mapping[str, Any]) -> bool:
    """Whether a record has several setups."""
    return any("setup" in entry for entry in record["data_sets"])


def make_results(
    record: dict[str, Any], load: Callable[[str], Cell | None], *, keep_runs: bool = False
) -> Results:
    """The results of a record from the cells that `load` gives by the names of their files."""
    rows: list[dict[str, Any]] = []
    history: list[dict[str, Any]] = []
    n_missing = 0
    runs: list[Run] = []
    for run, missing in _searched(record, load):
        n_missing += missing
        if run is not None:
            rows += run.table_rows(record["rounds"])
            if record.get("history"):
                history += run.history_rows(is_several(record))
            if keep_runs:
                runs.append(run)
    return Results(record, table_frame(rows), history, n_missing, runs)


def _searched(
    record: Mapping[str, Any], load: Callable[[str], Cell | None]
) -> Iterator[tuple[Run | None, int]]:
    """Kept run, None if cells are missing, and their number, of each search."""
    for data in record["data_sets"]:
        settings = settings_of_setup(record, data)
        for strategy in data["strategies"]:
            for search in strategy.get("searches", ()):
                yield kept_run(variant_of(strategy), search, settings, load)


def read_results(path: str | os.PathLike[str]) -> Results:
    """Read a results folder, an incomplete one as far as its cells exist.

    The tables may have been edited: their checksums are not verified. DataError if the folder does
    not exist, a file is missing or malformed, the format is unknown, or there is no cell.
    """
    folder = Path(path)
    record = read_plan(folder) if folder.is_dir() else None
    if record is None:
        fault = "is not a folder; name one"
        if folder.is_dir():
            fault = f"has no results: {PLAN} is missing; name a folder"
        raise DataError(f"'{folder}' {fault} that boostsample compare has filled")
    try:
        if not record["complete"]:
            results = make_results(record, _loader(folder))
            if results.table.empty:
                raise DataError(
                    f"'{folder}' has no results yet: {results.missing:,} cells are missing; run "
                    "the command that began it again"
                )
            return results
        for data in record["data_sets"]:
            data["name"] = _spelled(data["name"])
        stored = _stored_metrics(record)
        columns = (Column(metric.column, float, metric.about) for metric in stored)
        schema = (*TABLE_SCHEMA, *columns)
        table = _typed(folder / TABLE, schema, record)
        history = _texts(folder / HISTORY) if record.get("history") else []
    except FileNotFoundError as error:
        raise DataError(
            f"'{folder}' must be a complete results folder, but {Path(error.filename).name} is "
            "missing; run it again into a new folder"
        ) from error
    except DataError:
        raise
    except _MALFORMED as error:
        raise DataError(f"results in '{folder}' cannot be read: {one_line(error)}") from error
    return Results(record, table, history)


def metric_of_folders(name: str, folders: Iterable[str | os.PathLike[str]]) -> Metric:
    """A metric by name, also of those that results folders have stored; see `metric_named`."""
    for folder in folders:
        _stored_metrics(read_plan(Path(folder)) or {})
    return metric_named(name)


def _stored_metrics(record: Mapping[str, Any]) -> list[Metric]:
    return list(filter(None, map(add_stored, record.get("metrics", ()))))


def _texts(path: Path) -> list[dict[str, str]]:
    import pandas as pd

    frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    return list(frame.to_dict("records"))


_NEW = {
    **dict.fromkeys(TABLE_COLUMNS[TABLE_COLUMNS.index("examples") + 1 :], math.nan),
    **dict.fromkeys(("values_computed", "cost"), 0),
}
"""Columns that older tables lack, and the value that stands for them."""


def _typed(path: Path, schema: Sequence[Column], record: Mapping[str, Any]) -> pd.DataFrame:
    rows = _texts(path)
    data = [entry["name"] for entry in record["data_sets"]]
    new: dict[str, Any] = dict(_NEW)
    if not is_several(record):  # older tables lack columns of the setup, too
        new |= {name: text for name, text in setup_columns(record).items() if name != "learner"}
    for line, texts in enumerate(rows, start=2):
        place = f"'{path}', line {line}"
        way_out = f"correct the file, or remove {PLAN} and run the same command again"
        for name, kind, _ in schema:
            try:
                texts[name] = kind(texts.get(name, new[name]) if name in new else texts[name])
            except (KeyError, TypeError, ValueError):
                raise DataError(
                    f"{place}: {name} must be of type {kind.__name__}, got {texts.get(name)!r}; "
                    f"{way_out}"
                ) from None
        if texts["data"] not in data:
            raise DataError(
                f"{place}: data must be one of {', '.join(data)}, got {texts['data']!r:.60}; "
                f"{way_out}"
            )
    return table_frame(rows, schema)


def read_plan(folder: Path) -> dict[str, Any] | None:
    """The content of ``plan.json``; None if there is none, DataError if it cannot be read."""
    try:
        return plan_of_bytes((folder / PLAN).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, DataError) as error:
        fault = os_fault(error) if isinstance(error, OSError) else error
        raise DataError(f"results in '{folder}' cannot be read: {fault}") from error


def _loader(folder: Path) -> Callable[[str], Cell | None]:
    """A function that reads a cell of a folder; it changes nothing there."""

    def load(name: str) -> Cell | None:
        if Path(name).name != name:
            raise ValueError(f"the cell {name!r:.80} must be a file name without folders")
        try:
            return read_cell_file(folder / STORE_FOLDER / name, key_of_file(name))
        except (FileNotFoundError, DamagedCell):
            return None

    return load


def read_runs(path: str | os.PathLike[str]) -> dict[str, list[Run]]:
    """The kept runs of a results folder by data set; those with missing cells are left out.

    DataError if the folder has no cell.
    """
    folder = Path(path)
    record = read_plan(folder) or {"data_sets": []}
    runs: dict[str, list[Run]] = {}
    try:
        for run, _ in _searched(record, _loader(folder)):
            if run is not None:
                runs.setdefault(run.data, []).append(run)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"results in '{folder}' cannot be read: {one_line(error)}") from error
    if not runs:
        where = "this folder" if (folder / STORE_FOLDER).is_dir() else "a new folder"
        raise DataError(
            f"'{folder}' has no cells, which this needs; run the command that made it again, with "
            f"--results and {where}"
        )
    return runs


def with_runs(results: Results, path: str | os.PathLike[str]) -> Results:
    """The results of a folder with its runs; DataError if it has no cell."""
    runs = [run for of_data in read_runs(path).values() for run in of_data]
    settings = results.settings
    if not settings["complete"]:
        settings = finished_record(settings, runs)
    return replace(results, settings=settings, runs=runs)


def lost_runs(results: Results) -> int:
    """Number of runs of a folder that are not among its `runs`.

    Their cells are missing, damaged, of other numerics, or without scores that the plan asks for.
    """
    strategies = [s for data in results.settings["data_sets"] for s in data["strategies"]]
    return sum(len(strategy.get("searches", ())) for strategy in strategies) - len(results.runs)
