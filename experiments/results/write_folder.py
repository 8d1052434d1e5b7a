"""Writes and continues results folders; see `boostsample.experiments.results.read_folder`."""

from __future__ import annotations

import csv
import io
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from boostsample.errors import DataError, SettingError, os_fault
from boostsample.experiments.cells.store import STORE_FOLDER, FolderStore, key_of_file
from boostsample.experiments.plan.prepared import Prepared
from boostsample.experiments.results.plan_file import check_growth, plan_bytes, plan_record
from boostsample.experiments.results.read_folder import (
    HISTORY,
    PLAN,
    TABLE,
    Results,
    read_plan,
    read_results,
)
from boostsample.files.atomic import TEMPORARY, atomic_file
from boostsample.hashing import sha256_of_bytes


class ResultsFolder:
    """A folder for results: new, empty, or begun before and continued.

    It is created if it does not exist, parents included. As a context manager it is removed again
    if the run fails before anything is kept. SettingError if it contains other files, DataError if
    it cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._made: list[Path] = []
        self._wrote_plan = False
        self._record: dict[str, Any] = {}
        self._about: Mapping[str, Any] = {}
        try:
            if self.path.is_dir():
                self._check_content()
            missing = [one for one in (self.path, *self.path.parents) if not one.is_dir()]
            for folder in reversed(missing):
                folder.mkdir(exist_ok=True)
                self._made.append(folder)
            with tempfile.TemporaryFile(dir=self.path):  # an error now, not after loading data
                pass
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
        names = {entry.name for entry in self.path.iterdir()}
        return {name for name in names if not (name[0] == "." and name.endswith(TEMPORARY))}

    def _check_content(self) -> None:
        names = self._content()
        foreign = sorted(names - {STORE_FOLDER, PLAN, TABLE, HISTORY})
        if not foreign and TABLE in names and STORE_FOLDER not in names:
            foreign = sorted(names)  # a small folder, which cannot be continued
        if foreign:
            raise SettingError(
                f"the results folder must be new, empty, or one that was begun with the same "
                f"settings, but '{self.path}' holds {', '.join(foreign[:3])}"
                f"{', ...' if foreign[3:] else ''}; name another folder"
            )

    def begin(
        self, prepared: Sequence[Prepared], about: Mapping[str, Any] | None = None
    ) -> FolderStore:
        """Write ``plan.json`` and open the store of cells; `about` has more entries of the plan.

        SettingError if the folder was begun with a grid that is not part of this one, DataError if
        it cannot be written.
        """
        before = read_plan(self.path)
        if before is not None:
            check_growth(before, prepared, f"'{self.path}'")
        self._about = about or {}
        self._record = record = {**plan_record(prepared), **self._about}
        if before is None or _wanted(before) != _wanted(record):
            self._write(PLAN, plan_bytes(record))  # not complete: the tables are made again
            self._wrote_plan = before is None
        return FolderStore(self.path)

    def _cells(self) -> list[Path]:
        return list((self.path / STORE_FOLDER).glob("*.npz"))

    def cells_of_grid(self) -> int:
        """Number of cells in the folder that belong to the grid of `begin`."""
        keys = {
            key_of_file(file)
            for data in self._record["data_sets"]
            for strategy in data["strategies"]
            for search in strategy["searches"]
            for file in search["files"]
        }
        return sum(key_of_file(path.name) in keys for path in self._cells())

    def __enter__(self) -> ResultsFolder:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self.discard()

    def discard(self) -> None:
        """Remove what this object has created, unless there is a result, a cell or its claim."""
        with suppress(OSError):
            if TABLE in self._content() or [*(self.path / STORE_FOLDER).glob("*")]:
                return
            if self._wrote_plan:
                (self.path / PLAN).unlink(missing_ok=True)
            with suppress(OSError):
                (self.path / STORE_FOLDER).rmdir()
        for path in reversed(self._made):
            with suppress(OSError):
                path.rmdir()

    def write(self, results: Results) -> None:
        """Write the tables, then the complete ``plan.json``; nothing if they exist already.

        DataError if a file cannot be written; the files written before it are complete.
        """
        with suppress(DataError):
            before = read_results(self.path)
            same_rows = before.table.equals(results.table)
            same_length = len(before.history) == len(results.history)
            if before.settings["complete"] and same_rows and same_length:
                return
        tables = {TABLE: _csv(results.table.columns, results.table.to_dict("records"))}
        if results.settings.get("history"):
            columns = dict.fromkeys(key for row in results.history for key in row)
            tables[HISTORY] = _csv(columns, results.history)
        for name, content in tables.items():
            self._write(name, content)
        files = {
            name: {"bytes": len(content), "sha256": sha256_of_bytes(content)}
            for name, content in tables.items()
        }
        record = {**results.settings, **self._about, "complete": True, "files": files}
        self._write(PLAN, plan_bytes(record))

    def _write(self, name: str, content: bytes) -> None:
        try:
            with atomic_file(self.path / name) as stream:
                stream.write(content)
        except OSError as error:
            n_cells = len(self._cells())
            fate = f"its {n_cells:,} cells are complete" if n_cells else "no cell is kept there"
            raise DataError(
                f"{name} could not be written to '{self.path}': {os_fault(error)}; {fate}; "
                "make room and run the same command with the same --results again, only what is "
                "missing is computed"
            ) from error


def _wanted(record: Mapping[str, Any]) -> list[Any]:
    """What the tables of a record have: marks, other scored stumps, searches, and cells."""
    cells = [
        (data["name"], data.get("setup"), strategy["strategy"], strategy.get("searches"))
        for data in record["data_sets"]
        for strategy in data["strategies"]
    ]
    optional = [record.get(name) for name in ("score_every", "history", "metrics")]
    return [record["rounds"], *optional, cells]


def _csv(columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = list(columns)
    writer.writerow(names)
    writer.writerows([row.get(name) for name in names] for row in rows)
    return stream.getvalue().encode("utf-8", "backslashreplace")
