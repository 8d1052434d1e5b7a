"""Reads results folders: rows, curves, settings and runs.

- ``cells`` has one file per trained run (`boostsample.experiments.cells.cell_file`). ``grid.json``
  lists the cells that belong to the grid; ``grid.toml`` is the grid for `boostsample compare
  --grid`. The file ``incomplete`` exists while cells are missing.
- ``results.csv`` has one row per run and mark, ``curves.csv`` about forty per run
  (`boostsample.experiments.results.rows`), and ``history.csv``, optional, one per search.
- ``settings.json`` describes data, settings, versions and machine, and has the checksums of the
  tables as they were written. It is written last.

The rows follow from the cells: a folder without ``settings.json`` is read from its existing cells.
A folder without cells is small, and still has its tables and curves.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boostsample.errors import DataError, one_line
from boostsample.experiments.cells.cell_file import Cell, DamagedCell, read_cell_file
from boostsample.experiments.cells.store import STORE_FOLDER
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.results.folder.record_shape import (
    GRID_SHAPE,
    SETTINGS_SHAPE,
    check_shape,
)
from boostsample.experiments.results.frames import rows_to_frame
from boostsample.experiments.results.rows import (
    CURVE_SCHEMA,
    METRIC_SCHEMA,
    RESULT_SCHEMA,
    curve_rows,
    history_rows,
    result_rows,
)
from boostsample.experiments.results.runs import Run, keep_tuned_run
from boostsample.files.json_text import read_json
from boostsample.history import Column

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 2
"""Version of the folder's format; a newer one raises DataError."""
GRID, GRID_FILE, SETTINGS = "grid.json", "grid.toml", "settings.json"
RESULTS, CURVES, HISTORY = "results.csv", "curves.csv", "history.csv"
INCOMPLETE = "incomplete"
"""File that exists while cells or tables are missing."""
_MALFORMED = (OSError, KeyError, TypeError, AttributeError, ValueError, csv.Error)


@dataclass(frozen=True)
class Results:
    """The content of a results folder.

    If cells are missing, their strategies have no rows in these repetitions. There are no curves in
    folders of early versions.
    """

    rows: list[dict[str, Any]]  # result rows, see `RESULT_SCHEMA`
    settings: dict[str, Any]  # of ``settings.json``; of ``grid.json`` while that is missing
    history: list[dict[str, str]] | None  # history rows, values as text
    missing: int = 0  # number of missing cells
    curves: list[dict[str, Any]] = field(default_factory=list)  # curve rows, see `CURVE_SCHEMA`

    def settings_of(self, data: str) -> Mapping[str, Any]:
        """The entry of one data set in the settings; DataError if there is none."""
        named: Sequence[Mapping[str, Any]] = self.settings["data_sets"]
        for one in named:
            if one["name"] == data:
                return one
        raise DataError(
            f"settings of results must have an entry of each data set, but none of {data!r:.60}; "
            "restore the files of the folder, or run the same command into a new one"
        )

    def to_frame(self, what: str = "rows") -> pd.DataFrame:
        """The result rows, or the rows of ``curves`` or ``history``, as a data frame of pandas.

        SettingError without pandas, DataError if there are no such rows.
        """
        tables = {"rows": self.rows, "curves": self.curves, "history": self.history}
        return rows_to_frame(tables, what)

    def part(self, data: str) -> Results:
        """The part on one data set."""
        named = [one for one in self.settings["data_sets"] if one["name"] == data]
        return replace(
            self,
            rows=[row for row in self.rows if row["data"] == data],
            curves=[row for row in self.curves if row["data"] == data],
            settings={**self.settings, "data_sets": named},
        )


def read_results(path: str | os.PathLike[str]) -> Results:
    """Read a results folder, an incomplete one as far as its cells exist.

    The tables may have been edited: their checksums are not verified.

    Raises
    ------
    DataError
        The folder does not exist, a file is missing or malformed, the format is unknown, or there
        is no cell.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise DataError(f"'{folder}' is not a folder; name one that boostsample compare has filled")
    if not (folder / SETTINGS).exists() and (folder / GRID).exists():
        return _from_cells(folder)
    try:
        record = _record(folder, SETTINGS)
        files = record["files"]
        for one in record["data_sets"]:  # spelled as in the tables, where not all names are text
            one["name"] = one["name"].encode("utf-8", "backslashreplace").decode()
        names = [one["name"] for one in record["data_sets"]]
        rows = _typed(folder / RESULTS, RESULT_SCHEMA, names)
        curves = _typed(folder / CURVES, CURVE_SCHEMA, names) if CURVES in files else []
        history = [row for _, row in _table(folder / HISTORY)] if HISTORY in files else None
    except FileNotFoundError as error:
        missing = Path(error.filename).name
        if not any((folder / name).exists() for name in (SETTINGS, RESULTS, INCOMPLETE)):
            raise DataError(
                f"'{folder}' has no results; name a folder that boostsample compare has filled"
            ) from error
        raise DataError(
            f"'{folder}' must be a complete results folder, but {missing} is missing; run it again "
            "into a new folder"
        ) from error
    except DataError:
        raise
    except _MALFORMED as error:
        raise DataError(f"results in '{folder}' cannot be read: {one_line(error)}") from error
    return Results(rows, record, history, curves=curves)


def _table(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file as text, with their line numbers."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.DictReader(stream)
        for row in reader:
            yield reader.line_num, row


def _typed(path: Path, schema: Sequence[Column], data: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a CSV file with the columns and types of a schema, on the named data sets."""
    rows = []
    for line, texts in _table(path):
        absent = {name for name, _, _ in METRIC_SCHEMA if name not in texts}
        row = {}
        for name, kind, _ in schema:
            try:
                row[name] = math.nan if name in absent else kind(texts[name])
            except (KeyError, TypeError, ValueError):
                raise DataError(
                    f"'{path}', line {line}: {name} must be of type {kind.__name__}, got "
                    f"{texts.get(name)!r}; correct the file, or remove settings.json and run the "
                    "same command again"
                ) from None
        if row["data"] not in data:
            raise DataError(
                f"'{path}', line {line}: data must be one of {', '.join(data)}, got "
                f"{row['data']!r:.60}; correct the file, or remove settings.json and run the same "
                "command again"
            )
        rows.append(row)
    return rows


def _record(folder: Path, name: str) -> dict[str, Any]:
    """The content of one of the folder's JSON files, converted to the present format."""
    record: dict[str, Any] = read_json((folder / name).read_bytes())
    if record["format"] != FORMAT:
        raise DataError(
            f"'{folder}' has results in format {record['format']}, this version of boostsample "
            f"reads format {FORMAT}; use the version that wrote it, or run it again"
        )
    try:
        check_shape(record, SETTINGS_SHAPE if name == SETTINGS else GRID_SHAPE, name)
    except DataError as error:
        raise DataError(
            f"results in '{folder}' cannot be read: {error}; restore the file, or remove it and "
            "run the same command with the same --results again"
        ) from error
    return record


def read_folder_grid(folder: Path) -> dict[str, Any] | None:
    """The content of ``grid.json``; None if there is none, DataError if it cannot be read."""
    try:
        return _record(folder, GRID)
    except FileNotFoundError:
        return None
    except DataError:
        raise
    except _MALFORMED as error:
        raise DataError(
            f"results in '{folder}' cannot be read: {GRID}: {one_line(error)}; remove that file, "
            "the existing cells will be found again"
        ) from error


def read_folder_toml(folder: Path) -> str | None:
    """The content of ``grid.toml``; None if there is none, as in folders of early versions."""
    try:
        return (folder / GRID_FILE).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def read_runs(path: str | os.PathLike[str]) -> dict[str, list[Run]]:
    """The kept runs of a results folder by data set; those with missing cells are left out.

    DataError if the folder has no grid or no cell.
    """
    folder = Path(path)
    runs: dict[str, list[Run]] = {}
    record = read_folder_grid(folder)
    for name, _, kept in _kept_runs(folder, record or {"data_sets": [], "rounds": []}):
        if kept is not None:
            runs.setdefault(name, []).append(kept)
    if not runs:
        where = "a new folder" if record is None else "this folder"
        raise DataError(
            f"'{folder}' has no cells, which this needs; run the command that made it again, with "
            f"--results and {where}"
        )
    return runs


def lost_runs(path: str | os.PathLike[str], runs: Mapping[str, Sequence[Run]]) -> int:
    """Number of runs of a folder's grid that are not among its `read_runs`.

    Their cells are missing, damaged, of other numerics, or without scores that the grid asks for.
    """
    data_sets = (read_folder_grid(Path(path)) or {"data_sets": []})["data_sets"]
    return sum(len(data["searches"]) for data in data_sets) - sum(map(len, runs.values()))


def _kept_runs(folder: Path, record: Mapping[str, Any]) -> Iterator[tuple[str, int, Run | None]]:
    """Data set, number of missing cells, and kept run (None if cells are missing)."""
    try:
        for data in record["data_sets"]:
            for entry in data["searches"]:
                files = zip(entry["files"], entry["keys"], strict=True)
                cells = [_cell(folder, file, key) for file, key in files]
                there = [one for one in cells if one is not None and _serves(one, record, cells)]
                missing = len(cells) - len(there)
                kept = None if missing else _kept(entry, there, tuple(record["rounds"]))
                yield data["name"], missing, kept
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"results in '{folder}' cannot be read: {one_line(error)}") from error


def _from_cells(folder: Path) -> Results:
    """The rows of all strategies and repetitions that have all their cells."""
    record = read_folder_grid(folder) or {}
    found = Results([], record, [] if record.get("history") else None)
    missing = 0
    for _, lacking, kept in _kept_runs(folder, record):
        missing += lacking
        if kept is not None:
            found.rows.extend(result_rows(kept, record["rounds"]))
            found.curves.extend(curve_rows(kept, record["rounds"]))
            if found.history is not None:
                rows = history_rows(kept)
                found.history.extend(map(_as_text, rows))
    if not found.rows:
        raise DataError(
            f"'{folder}' has no results yet: {missing:,} cells are missing; run the command that "
            "began it again"
        )
    return replace(found, missing=missing)


def _as_text(row: Mapping[str, Any]) -> dict[str, str]:
    """A history row as ``history.csv`` has it."""
    return {key: "" if value is None else str(value) for key, value in row.items()}


def _cell(folder: Path, name: str, key: str) -> Cell | None:
    if Path(name).name != name:
        raise ValueError(f"the cell {name!r:.80} must be a file name without folders")
    try:
        return read_cell_file(folder / STORE_FOLDER / name, key)
    except (FileNotFoundError, DamagedCell):
        return None


def _serves(cell: Cell, record: Mapping[str, Any], group: Sequence[Any]) -> bool:
    """Whether a cell of a group has the scores and searches that the rows of the grid need."""
    at = {share for mark in record["rounds"] for share in (mark, mark // len(group)) if share}
    scored = {min(one, cell.n_rounds) for one in at} <= cell.loss_at.keys()
    return scored and (cell.history is not None or not record.get("history"))


def _kept(entry: Mapping[str, Any], cells: Sequence[Cell], marks: tuple[int, ...]) -> Run:
    """The kept run of an entry of ``grid.json``: one strategy in one repetition."""
    variant = Variant.from_record(entry)
    runs = [
        Run(variant, entry["repetition"], budget, trained, cell)
        for trained, budget, cell in zip(variant.trained, entry["budgets"], cells, strict=True)
    ]
    return keep_tuned_run(runs, len(runs), marks)
