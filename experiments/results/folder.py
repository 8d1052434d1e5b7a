"""A results folder while it is being filled: opened, continued, completed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from boostsample.errors import DataError, SettingError
from boostsample.experiments.cells.store import CELLS, FolderStore
from boostsample.experiments.common.files import TEMPORARY, atomic, reason
from boostsample.experiments.results.curves import CURVE_COLUMNS
from boostsample.experiments.results.record import check_growth
from boostsample.experiments.results.results import (
    FORMAT,
    GRID,
    SETTINGS,
    read_grid,
    read_results,
    write_csv,
)
from boostsample.experiments.results.runs import RESULT_COLUMNS

__all__ = ["INCOMPLETE", "ResultsFolder"]

INCOMPLETE = "incomplete"
"""File that stands in a folder as long as cells are missing; a killed run leaves it behind."""
_MARK = """\
A run is writing its results here, or was stopped. They are complete when settings.json is there;
run the same command with --results and this folder again to have what is missing.
"""
_CURVES, _HISTORY, _RESULTS = "curves.csv", "history.csv", "results.csv"
_OURS = {CELLS, GRID, SETTINGS, INCOMPLETE, _CURVES, _HISTORY, _RESULTS}


class ResultsFolder:
    """A folder for results: a new or empty one, or one that was begun and is continued.

    As a context manager it takes back what it has made when the run fails before anything was kept.

    Parameters
    ----------
    path : path
        Made if it is not there, parents included.

    Raises
    ------
    SettingError
        It holds something else.
    DataError
        It cannot be written to.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._made: list[Path] = []
        self._begun = False
        try:
            if self.path.is_dir():
                self._check_content()
            else:
                self._make(self.path)
            self._mark()
        except OSError as error:
            self.discard()
            raise DataError(
                f"results cannot be written to the folder '{self.path}': {reason(error)}; name "
                "another folder"
            ) from error

    @classmethod
    def new(cls, parent: str | os.PathLike[str], name: str) -> ResultsFolder:
        """A folder ``parent/<name>-<date and time>`` that nobody else has."""
        slug = re.sub(r"[^\w.=-]+", "-", name).strip("-.")[:80] or "data"
        stem = f"{slug}-{datetime.now():%Y%m%d-%H%M%S}"
        for attempt in range(1, 1000):
            path = Path(parent) / (stem if attempt == 1 else f"{stem}-{attempt}")
            with suppress(FileExistsError):
                if not path.exists():
                    return cls(path)
        raise DataError(f"no free name like {stem} in '{parent}'; name a folder yourself")

    def _check_content(self) -> None:
        found = {entry.name for entry in self.path.iterdir() if not self._is_temporary(entry)}
        foreign = sorted(found - _OURS)
        if not foreign and found & {_CURVES, _HISTORY, _RESULTS, SETTINGS} and GRID not in found:
            foreign = sorted(found)  # results of an earlier version, which kept no cells
        if foreign:
            raise SettingError(
                f"the results folder must be new, empty, or one that was begun with the same "
                f"settings, but '{self.path}' holds {', '.join(foreign[:3])}"
                f"{', ...' if foreign[3:] else ''}; name another folder"
            )

    @staticmethod
    def _is_temporary(entry: Path) -> bool:
        return entry.name.startswith(".") and entry.name.endswith(TEMPORARY)

    def _make(self, path: Path) -> None:
        if not path.parent.is_dir():
            self._make(path.parent)
        path.mkdir(exist_ok=True)
        self._made.append(path)

    def _mark(self) -> None:
        if (self.path / SETTINGS).exists():
            return
        with (
            suppress(FileExistsError),
            (self.path / INCOMPLETE).open("x", encoding="ascii") as file,
        ):
            self._begun = True
            file.write(_MARK)

    def begin(self, record: Mapping[str, Any]) -> FolderStore:
        """Say which grid is to fill the folder; its cells.

        Parameters
        ----------
        record : mapping
            As `boostsample.experiments.results.record.grid_record` makes it.

        Raises
        ------
        SettingError
            The folder was begun with another grid, which this one does not include.
        DataError
            The folder cannot be written to.
        """
        before = read_grid(self.path)
        wanted = {"format": FORMAT, **record}
        if before is not None:
            check_growth(before, wanted, f"'{self.path}'")
        try:
            if before != wanted:
                with suppress(FileNotFoundError):  # rows of the smaller grid are made anew
                    (self.path / SETTINGS).unlink()
                self._mark()
                with atomic(self.path / GRID) as stream:
                    stream.write((json.dumps(wanted, indent=1) + "\n").encode())
        except OSError as error:
            raise self._unwritten(GRID, error) from error
        return FolderStore(self.path)

    def cells(self) -> int:
        """Cells that are there."""
        return len(list((self.path / CELLS).glob("*.npz")))

    def __enter__(self) -> ResultsFolder:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self.discard()

    def discard(self) -> None:
        """Take back what was made, if no cell and no result is there."""
        with suppress(OSError):
            left = {entry.name for entry in self.path.iterdir() if not self._is_temporary(entry)}
            if left & {_CURVES, _HISTORY, _RESULTS, SETTINGS} or self.cells():
                return
            for name in (INCOMPLETE, GRID) if self._begun else ():
                with suppress(OSError):
                    (self.path / name).unlink()
            with suppress(OSError):
                (self.path / CELLS).rmdir()
        for path in reversed(self._made):
            with suppress(OSError):
                path.rmdir()

    def write(
        self,
        rows: Sequence[Mapping[str, Any]],
        settings: Mapping[str, Any],
        history: Sequence[Mapping[str, Any]] | None = None,
        curves: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Write the rows, `settings.json` last; where they are there already, nothing.

        Raises
        ------
        DataError
            A file could not be written. Those before it are complete.
        """
        if self._is_written(rows, history, curves):
            return
        tables: dict[str, tuple[Sequence[str], Sequence[Mapping[str, Any]]]] = {
            _RESULTS: (RESULT_COLUMNS, rows),
            _CURVES: (CURVE_COLUMNS, curves),
        }
        if history is not None:
            columns = dict.fromkeys(key for row in history for key in row)
            tables[_HISTORY] = (tuple(columns), history)
        files: dict[str, dict[str, Any]] = {}
        name = SETTINGS
        try:
            with suppress(FileNotFoundError):
                (self.path / SETTINGS).unlink()
            for name, table in tables.items():
                with atomic(self.path / name) as stream:
                    files[name] = write_csv(stream, *table)
            name = SETTINGS
            record = {"format": FORMAT, **settings, "files": files}
            with atomic(self.path / name) as stream:
                stream.write((json.dumps(record, indent=2) + "\n").encode())
            with suppress(FileNotFoundError):
                (self.path / INCOMPLETE).unlink()
        except OSError as error:
            raise self._unwritten(name, error) from error

    def _is_written(
        self,
        rows: Sequence[Mapping[str, Any]],
        history: Sequence[Mapping[str, Any]] | None,
        curves: Sequence[Mapping[str, Any]],
    ) -> bool:
        """Whether the folder is complete with these very rows."""
        if not (self.path / SETTINGS).exists() or (self.path / INCOMPLETE).exists():
            return False
        try:
            found = read_results(self.path)
        except DataError:
            return False
        return repr([found.rows, found.curves]) == repr([list(rows), list(curves)]) and len(
            found.history or ()
        ) == len(history or ())

    def _unwritten(self, name: str, error: OSError) -> DataError:
        kept = self.cells()
        what = f"its {kept:,} cells are complete" if kept else "no cell is kept there"
        return DataError(
            f"{name} could not be written to '{self.path}': {reason(error)}; {what}; make room and "
            "run the same command with the same --results again, only what is missing is computed"
        )
