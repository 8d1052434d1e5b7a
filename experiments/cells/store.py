"""Stores of trained cells: one file per cell in a folder, or memory.

A cell's file is complete and verified, even if the process or the machine that wrote it crashed.
A file that cannot be used (damaged, of another format or of other numerics) is moved to the folder
``aside``, never removed.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from boostsample.errors import DataError, os_fault
from boostsample.experiments.cells.cell_file import Cell, DamagedCell, read_cell_file
from boostsample.experiments.cells.claims import Claims
from boostsample.experiments.cells.tasks import CellTask
from boostsample.files.atomic import atomic_file, remove_stale_files

STORE_FOLDER = "cells"
_ASIDE = "aside"
_LOG = logging.getLogger(__name__)


def key_of_file(name: str) -> str:
    """The key in the name of a cell's file."""
    return name.removesuffix(".npz").rpartition("-")[2]


def _planned(cell: Cell) -> int:
    return int(cell.facts["n_rounds"])


class Store:
    """Cells by their tasks, in memory; subclasses keep them elsewhere and share them."""

    def __init__(self) -> None:
        self._cells: dict[str, Cell] = {}

    def load(self, task: CellTask) -> Cell | None:
        """The cell of a task; None if there is no usable one."""
        return self.find(task.file_name)

    def find(self, file_name: str) -> Cell | None:
        """The cell of the task with this file name."""
        return self._cells.get(file_name)

    def save(self, task: CellTask, cell: Cell) -> None:
        """Store a cell and release its claim."""
        self._cells[task.file_name] = cell

    def begun(self, task: CellTask) -> Cell | None:
        """The longest cell of the run of a task with fewer rounds; None if there is none."""
        found = [cell for cell in self._cells.values() if task.continues(cell.facts)]
        return max(found, key=_planned, default=None)

    def take(self, task: CellTask) -> bool:
        """Claim a cell before training it; False if another process is training it."""
        return True

    def release(self, task: CellTask) -> None:
        """Release the claim on a cell."""

    def beat(self) -> None:
        """Renew the claims; to be called at least every few seconds."""

    def close(self) -> None:
        """Release all claims."""


class FolderStore(Store):
    """Cells in files below ``cells`` of a results folder, which several processes may share.

    The constructor, `load`, `save` and `take` raise DataError if the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / STORE_FOLDER
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            remove_stale_files(self._folder)
        except OSError as error:
            raise DataError(
                f"cells cannot be kept in '{self._folder}': {os_fault(error)}; name another folder"
            ) from error
        self._claims = Claims(self._folder)

    def find(self, file_name: str) -> Cell | None:
        """The cell of a file; an unusable one is moved aside, with a warning."""
        path = self._folder / file_name
        try:
            return read_cell_file(path, key_of_file(file_name))
        except FileNotFoundError:
            return None
        except DamagedCell as error:
            self._set_aside(path, str(error))
            return None

    def _set_aside(self, path: Path, why: str) -> None:
        aside = self._folder / _ASIDE
        target = aside / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{path.name}"
        _LOG.warning(
            "%s cannot be used: %s; it is set aside as %s and computed again",
            path.name,
            why,
            target.relative_to(self._folder.parent),
        )
        with self._writing(path.name):
            aside.mkdir(exist_ok=True)
            with suppress(FileNotFoundError):  # another process has moved it
                os.replace(path, target)

    def begun(self, task: CellTask) -> Cell | None:
        """The longest usable cell of the run of a task with fewer rounds; None if there is none."""
        return max(self._shorter(task).values(), key=_planned, default=None)

    def _shorter(self, task: CellTask) -> dict[Path, Cell]:
        """The usable cells of the run of a task with fewer rounds."""
        found = {}
        for path in self._folder.glob(f"{task.slug}-*.npz"):
            with suppress(FileNotFoundError, DamagedCell):
                key = key_of_file(path.name)
                cell = read_cell_file(path, key) if key != task.key else None
                if cell is not None and task.continues(cell.facts):
                    found[path] = cell
        return found

    def save(self, task: CellTask, cell: Cell) -> None:
        """Write a cell's file atomically, and release its claim.

        The cells of the same run with fewer rounds, which it replaces, are removed.
        """
        with self._writing(task.file_name), atomic_file(self._folder / task.file_name) as stream:
            stream.write(cell.to_bytes())
        with self._writing(task.file_name):
            for path in self._shorter(task):
                path.unlink(missing_ok=True)
        self.release(task)

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        """Turn the OSError of a block into a DataError that names the cell."""
        try:
            yield
        except OSError as error:
            raise DataError(
                f"the cell {name} could not be written to '{self._folder}': {os_fault(error)}; "
                "the existing cells are complete: make room and run the same command with the same "
                "--results again, and only what is missing is computed"
            ) from error

    def take(self, task: CellTask) -> bool:
        """Claim a cell."""
        with self._writing(task.file_name):
            return self._claims.take(task.file_name)

    def release(self, task: CellTask) -> None:
        """Release the claim on a cell."""
        self._claims.release(task.file_name)

    def beat(self) -> None:
        """Touch the claims."""
        self._claims.beat()

    def close(self) -> None:
        """Release all claims."""
        self._claims.release_all()
