"""Writes results folders: creates or continues a folder, keeps its cells, completes its tables."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from boostsample.errors import DataError, SettingError
from boostsample.experiments.cells.cell_store import STORE_FOLDER, FolderStore
from boostsample.experiments.common.faults import os_fault
from boostsample.experiments.common.files import TEMPORARY, atomic_file
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.results.columns import CURVE_COLUMNS, RESULT_COLUMNS
from boostsample.experiments.results.read_folder import (
    CURVES,
    FORMAT,
    GRID,
    GRID_FILE,
    HISTORY,
    RESULTS,
    SETTINGS,
    read_folder_grid,
    read_results,
)
from boostsample.hashing import sha256_of_bytes

__all__ = ["INCOMPLETE", "ResultsFolder"]

Rows = Sequence[Mapping[str, Any]]
INCOMPLETE = "incomplete"
"""File that exists while cells or tables are missing."""
_MARK = """\
A run is writing its results here, or was stopped. They are complete when settings.json is there; to
compute what is missing, run the same command with --results and this folder again.
"""
_TABLES = {RESULTS, CURVES, HISTORY, SETTINGS}
_OURS = {STORE_FOLDER, GRID, GRID_FILE, INCOMPLETE, *_TABLES}


class ResultsFolder:
    """A folder for results: new, empty, or begun before and continued.

    It is created if it does not exist, parents included. As a context manager it is removed again
    if the run fails before anything is kept. SettingError if it contains other files, DataError if
    it cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._made: list[Path] = []
        self._begun = False
        try:
            if self.path.is_dir():
                self._check_content()
            missing = [one for one in (self.path, *self.path.parents) if not one.is_dir()]
            for one in reversed(missing):
                one.mkdir(exist_ok=True)
                self._made.append(one)
            self._mark()
        except OSError as error:
            self.discard()
            raise DataError(
                f"results cannot be written to the folder '{self.path}': {os_fault(error)}; name "
                "another folder"
            ) from error

    @classmethod
    def new(cls, parent: str | os.PathLike[str], name: str) -> ResultsFolder:
        """A new folder ``parent/<name>-<date and time>``."""
        slug = re.sub(r"[^\w.=-]+", "-", name).strip("-.")[:80] or "data"
        stem = f"{slug}-{datetime.now():%Y%m%d-%H%M%S}"
        for attempt in range(1, 1000):
            path = Path(parent) / (stem if attempt == 1 else f"{stem}-{attempt}")
            if not path.exists():
                return cls(path)
        raise DataError(f"no free name like {stem} in '{parent}'; name a folder yourself")

    def _content(self) -> set[str]:
        """Names in the folder, without temporary files."""
        names = {entry.name for entry in self.path.iterdir()}
        return {name for name in names if not (name[0] == "." and name.endswith(TEMPORARY))}

    def _check_content(self) -> None:
        found = self._content()
        foreign = sorted(found - _OURS)
        if not foreign and found & _TABLES and GRID not in found:
            foreign = sorted(found)  # a small folder, without cells
        if foreign:
            raise SettingError(
                f"the results folder must be new, empty, or one that was begun with the same "
                f"settings, but '{self.path}' holds {', '.join(foreign[:3])}"
                f"{', ...' if foreign[3:] else ''}; name another folder"
            )

    def _mark(self) -> None:
        """Create the file `INCOMPLETE`, unless the results are complete."""
        if not (self.path / SETTINGS).exists():
            with suppress(FileExistsError), (self.path / INCOMPLETE).open("x") as file:
                self._begun = True
                file.write(_MARK)

    def begin(self, record: Mapping[str, Any], grid_file: str) -> FolderStore:
        """Write ``grid.json`` and ``grid.toml`` with this content, and open the store of cells.

        SettingError if the folder was begun with a grid that is not part of this one, DataError if
        it cannot be written.
        """
        before = read_folder_grid(self.path)
        wanted = {"format": FORMAT, **record}
        if before is not None:
            _check_growth(before, wanted, f"'{self.path}'")
        if before != wanted:
            with self._writing(INCOMPLETE):
                (self.path / SETTINGS).unlink(missing_ok=True)  # the rows are made again
                self._mark()
            self._write(GRID, (json.dumps(wanted, indent=1) + "\n").encode())
        if before != wanted or not (self.path / GRID_FILE).exists():
            self._write(GRID_FILE, grid_file.encode("utf-8", "replace"))
        return FolderStore(self.path)

    def cells(self) -> int:
        """Number of cells in the folder."""
        return len(list((self.path / STORE_FOLDER).glob("*.npz")))

    def __enter__(self) -> ResultsFolder:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self.discard()

    def discard(self) -> None:
        """Remove what this object has created, unless there is a cell or a result."""
        with suppress(OSError):
            if self._content() & _TABLES or self.cells():
                return
            for name in (INCOMPLETE, GRID, GRID_FILE) if self._begun else ():
                with suppress(OSError):
                    (self.path / name).unlink()
            with suppress(OSError):
                (self.path / STORE_FOLDER).rmdir()
        for path in reversed(self._made):
            with suppress(OSError):
                path.rmdir()

    def write(
        self,
        rows: Rows,
        settings: Mapping[str, Any],
        history: Rows | None = None,
        curves: Rows = (),
    ) -> None:
        """Write all tables, then `settings.json`; nothing if they exist with the same rows.

        DataError if a file cannot be written; the files written before it are complete.
        """
        if self._is_written(rows, history, curves):
            return
        tables = {RESULTS: _csv(RESULT_COLUMNS, rows), CURVES: _csv(CURVE_COLUMNS, curves)}
        if history is not None:
            tables[HISTORY] = _csv(dict.fromkeys(key for row in history for key in row), history)
        with self._writing(SETTINGS):
            (self.path / SETTINGS).unlink(missing_ok=True)
        for name, content in tables.items():
            self._write(name, content)
        files = {
            name: {"bytes": len(content), "sha256": sha256_of_bytes(content)}
            for name, content in tables.items()
        }
        record = {"format": FORMAT, **settings, "files": files}
        self._write(SETTINGS, (json.dumps(record, indent=2) + "\n").encode())
        with self._writing(INCOMPLETE):
            (self.path / INCOMPLETE).unlink(missing_ok=True)

    def _is_written(self, rows: Rows, history: Rows | None, curves: Rows) -> bool:
        """Whether the folder is complete with these rows."""
        if not (self.path / SETTINGS).exists() or (self.path / INCOMPLETE).exists():
            return False
        try:
            found = read_results(self.path)
        except DataError:
            return False
        same = repr([found.rows, found.curves]) == repr([list(rows), list(curves)])
        return same and len(found.history or ()) == len(history or ())

    def _write(self, name: str, content: bytes) -> None:
        with self._writing(name), atomic_file(self.path / name) as stream:
            stream.write(content)

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        """Turn the OSError of a block into a DataError that names the file."""
        try:
            yield
        except OSError as error:
            kept = self.cells()
            what = f"its {kept:,} cells are complete" if kept else "no cell is kept there"
            raise DataError(
                f"{name} could not be written to '{self.path}': {os_fault(error)}; {what}; "
                "make room and run the same command with the same --results again, only what is "
                "missing is computed"
            ) from error


def _check_growth(old: Mapping[str, Any], new: Mapping[str, Any], place: str) -> None:
    """Raise SettingError, with the difference, if the old grid has rows that the new one lacks."""
    before, now = _groups(old), _groups(new)
    lost = before - now
    shrunk = bool(old["history"]) and not new["history"]
    if not lost and set(old["rounds"]) <= set(new["rounds"]) and not shrunk:
        return
    faults = [
        f"{name} was {_text(old[name])}, is {_text(value)}"
        for name, value in new.items()
        if name not in ("format", "data_sets") and old[name] != value
    ]
    names = sorted({group[:3] for group in lost} - {group[:3] for group in now})
    if names and not faults:
        faults.append(f"{' '.join(map(str, names[0]))} is not in the new one")
    raise SettingError(
        f"the results folder {place} holds another grid: {'; '.join(faults) or 'other data'}; a "
        "grid may grow there (more strategies, data sets, repetitions or rows between), but must "
        "keep all its rows: name another folder"
    )


def _text(value: Any) -> str:
    if isinstance(value, dict):
        settings = (f"{key}={one}" for key, one in value.items() if key != "form")
        return ":".join([str(value["form"]), *settings])
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _groups(record: Mapping[str, Any]) -> set[tuple[str, str, int, tuple[str, ...]]]:
    """Data set, strategy, repetition and keys of each task group of a ``grid.json``."""
    return {
        (
            data["name"],
            Variant(group["name"], group["settings"]).label,
            group["repetition"],
            tuple(group["keys"]),
        )
        for data in record["data_sets"]
        for group in data["searches"]
    }


def _csv(columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = list(columns)
    writer.writerow(names)
    writer.writerows([row.get(name) for name in names] for row in rows)
    return stream.getvalue().encode("utf-8", "backslashreplace")
