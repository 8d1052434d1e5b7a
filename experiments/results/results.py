"""The results folder: trained cells, flat rows made of them, and all that is needed to repeat them.

- ``cells`` has one file a cell (`boostsample.experiments.cells.cell`), ``grid.json`` says which there
  have to be, and ``incomplete`` stands there as long as some are missing;
- ``results.csv`` has one row a run and mark, ``curves.csv`` about forty a run
  (`boostsample.experiments.results.curves`), ``history.csv``, if asked for, one a search;
- ``settings.json`` says what was run on what, with a checksum of these. It is written last.

The rows follow from the cells: a folder whose ``settings.json`` is not there yet is read from those
of its cells that are. Without its cells a folder is small, and still has its tables and curves.
Every file is written under a temporary name, flushed to the disk and only then renamed.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from boostsample.errors import DataError
from boostsample.experiments.cells.cell import Cell, DamagedCell
from boostsample.experiments.cells.store import CELLS, read_cell
from boostsample.experiments.common.files import atomic, one_line
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.results.curves import CURVE_COLUMNS, curve_rows
from boostsample.experiments.results.runs import RESULT_COLUMNS, Run
from boostsample.experiments.results.tuning import keep

__all__ = [
    "FORMAT",
    "GRID",
    "SETTINGS",
    "Results",
    "atomic",
    "read_results",
    "read_runs",
    "write_csv",
]

FORMAT = 2
"""Version of the folder's format; readers refuse those that they do not know."""
GRID, SETTINGS = "grid.json", "settings.json"

_TYPES: tuple[type, ...] = (str, str, str, str, int, int, float, float, int, float)
_CURVE_TYPES = (*_TYPES, float, float, float)


class _Text:
    """What csv.writer writes to: a stream of bytes, with their number and checksum."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()
        self.size = 0

    def write(self, text: str) -> int:
        content = text.encode("utf-8", "backslashreplace")
        self._digest.update(content)
        self.size += len(content)
        return self._stream.write(content)

    def facts(self) -> dict[str, Any]:
        return {"bytes": self.size, "sha256": self._digest.hexdigest()}


def write_csv(
    stream: BinaryIO, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Write rows; the size and the checksum of what was written."""
    text = _Text(stream)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([row.get(column) for column in columns] for row in rows)
    return text.facts()


@dataclass(frozen=True)
class Results:
    """A results folder as read.

    Attributes
    ----------
    rows : list of dict
        Result rows with their types.
    settings : dict
        Of ``settings.json``; where that is not there yet, of ``grid.json``.
    history : list of dict or None
        History rows as text.
    missing : int
        Cells that are not there yet; their strategies have no rows in those repetitions.
    curves : list of dict
        Curve rows with their types; none in folders of versions that did not write them.
    """

    rows: list[dict[str, Any]]
    settings: dict[str, Any]
    history: list[dict[str, str]] | None
    missing: int = 0
    curves: list[dict[str, Any]] = field(default_factory=list)


def read_results(path: str | os.PathLike[str]) -> Results:
    """Read a results folder, checksums verified; an incomplete one as far as it goes.

    Raises
    ------
    DataError
        It is missing, damaged, of a later format, or no cell is there.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise DataError(f"'{folder}' is not a folder; name one that boostsample compare has filled")
    if not (folder / SETTINGS).exists() and (folder / GRID).exists():
        return _from_cells(folder)
    try:
        record = _record(folder, SETTINGS)
        texts = {name: _verified(folder / name, facts) for name, facts in record["files"].items()}
        rows = _typed(texts["results.csv"], RESULT_COLUMNS, _TYPES)
        curves = _typed(texts.get("curves.csv", ""), CURVE_COLUMNS, _CURVE_TYPES)
    except FileNotFoundError as error:
        raise DataError(
            f"'{folder}' must be a complete results folder, but "
            f"{Path(error.filename).name} is missing; run it again into a new folder"
        ) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"results in '{folder}' cannot be read: {one_line(error)}") from error
    history = texts.get("history.csv")
    return Results(rows, record, None if history is None else _rows(history), curves=curves)


def _typed(text: str, columns: Sequence[str], types: Sequence[type]) -> list[dict[str, Any]]:
    return [
        {column: kind(row[column]) for column, kind in zip(columns, types, strict=True)}
        for row in _rows(text)
    ]


def _record(folder: Path, name: str) -> dict[str, Any]:
    """The content of a JSON file of the folder, its format known."""
    record: dict[str, Any] = json.loads((folder / name).read_bytes())
    if record["format"] == 1:  # one data set, whose facts stood among the common ones
        own = {key: record[key] for key in ("families", "strategies", "notes")}
        return {**record, "data_sets": [{**record["data"], **own}]}
    if record["format"] != FORMAT:
        raise DataError(
            f"'{folder}' has results in format {record['format']}, this version of boostsample "
            f"reads format {FORMAT}; use the version that wrote it, or run it again"
        )
    return record


def read_grid(folder: Path) -> dict[str, Any] | None:
    """The grid of a folder, None if it has none.

    Raises
    ------
    DataError
        It cannot be read.
    """
    try:
        return _record(folder, GRID)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{GRID} in '{folder}' cannot be read: {one_line(error)}; remove that file, the cells "
            "that are there will be found again"
        ) from error


def read_runs(path: str | os.PathLike[str]) -> dict[str, list[Run]]:
    """The kept runs of a results folder by data set, from its cells, with all that these hold.

    Runs whose cells are not there are left out.

    Raises
    ------
    DataError
        The folder has no grid, or none of its cells is there.
    """
    folder = Path(path)
    record = read_grid(folder)
    runs: dict[str, list[Run]] = {}
    for name, _, kept in _kept_runs(folder, record or {"data_sets": [], "rounds": []}):
        if kept is not None:
            runs.setdefault(name, []).append(kept)
    if not runs:
        raise DataError(
            f"'{folder}' has no cells, which this needs; run the command that made it again, with "
            "--results and this folder"
        )
    return runs


def _kept_runs(folder: Path, record: Mapping[str, Any]) -> Iterator[tuple[str, int, Run | None]]:
    """Data set, missing cells and kept run of each search; no run where a cell is missing."""
    try:
        marks = tuple(record["rounds"])
        for data in record["data_sets"]:
            for search in data["searches"]:
                cells = [
                    _cell(folder, *one) for one in zip(search["files"], search["keys"], strict=True)
                ]
                there = [cell for cell in cells if cell is not None]
                missing = len(cells) - len(there)
                yield data["name"], missing, None if missing else _kept(search, there, marks)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"results in '{folder}' cannot be read: {one_line(error)}") from error


def _from_cells(folder: Path) -> Results:
    """The rows of those strategies and repetitions whose cells are all there."""
    record = read_grid(folder) or {}
    found = Results([], record, [] if record.get("history") else None)
    missing = 0
    for name, lacking, kept in _kept_runs(folder, record):
        missing += lacking
        if kept is not None:
            marks = tuple(record["rounds"])
            kept.make_rows(name, marks)
            found.rows.extend(kept.rows)
            found.curves.extend(curve_rows(kept, name, marks))
            named = {"data": name, **kept.row_names, "repetition": kept.repetition}
            if found.history is not None:
                found.history.extend(
                    {key: str(value) for key, value in {**named, **row}.items()}
                    for row in kept.history
                )
    if not found.rows:
        raise DataError(
            f"'{folder}' has no results yet: {missing:,} cells are missing; run the command that "
            "began it again"
        )
    return replace(found, missing=missing)


def _cell(folder: Path, name: str, key: str) -> Cell | None:
    try:
        return read_cell(folder / CELLS / name, key)
    except (FileNotFoundError, DamagedCell):
        return None


def _kept(search: Mapping[str, Any], cells: Sequence[Cell], marks: tuple[int, ...]) -> Run:
    """The run that is kept of a search, as `boostsample.experiments.run.compare` has it."""
    grid = tuple(Variant(one["name"], one["settings"]) for one in search["grid"])
    variant = Variant(search["name"], search["settings"], grid)
    runs = [
        Run(variant, search["repetition"], budget, trained, cell)
        for trained, budget, cell in zip(variant.trained, search["budgets"], cells, strict=True)
    ]
    return keep(runs, len(runs), marks)


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def _verified(path: Path, facts: Mapping[str, Any]) -> str:
    content = path.read_bytes()
    if len(content) != facts["bytes"] or hashlib.sha256(content).hexdigest() != facts["sha256"]:
        raise DataError(
            f"'{path}' is damaged or was edited: its checksum is another than settings.json says; "
            "remove settings.json and run the same command again, or run it into a new folder"
        )
    return content.decode("utf-8")
