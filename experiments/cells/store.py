"""Where trained cells are kept: one file each in a folder, or in memory.

A cell that is in its file is complete and verified, whatever happened to the process or the machine
that wrote it. A file that cannot be used is set aside, never removed: ``aside`` beside it holds
those that were damaged, of another format, or of other numerics.
"""

from __future__ import annotations

import abc
import logging
import os
import time
from contextlib import suppress
from pathlib import Path

from boostsample.errors import DataError
from boostsample.experiments.cells.cell import Cell, DamagedCell
from boostsample.experiments.cells.claims import Claims
from boostsample.experiments.cells.tasks import Task
from boostsample.experiments.common.files import TEMPORARY, atomic, reason
from boostsample.numerics import NUMERICS

__all__ = ["ASIDE", "CELLS", "FolderStore", "MemoryStore", "Store", "read_cell"]

CELLS = "cells"
ASIDE = "aside"
_STALE = 3600.0
"""Seconds after which a temporary file counts as left behind by a process that was killed."""
_LOG = logging.getLogger(__name__)


def read_cell(path: Path, key: str) -> Cell:
    """Read a cell's file, checksum, key and numerics verified.

    Raises
    ------
    FileNotFoundError
        There is none.
    DamagedCell
        It cannot be used.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DamagedCell(f"it cannot be read ({reason(error)})") from error
    cell = Cell.from_bytes(content)
    if cell.key != key:
        raise DamagedCell("it is another cell under this name")
    number = cell.about.get("numerics")
    if number != NUMERICS:
        raise DamagedCell(f"it was computed with numerics {number}, now they are {NUMERICS}")
    return cell


class Store(abc.ABC):
    """Cells by their tasks."""

    place = ""
    """What messages call it; empty for memory."""

    @abc.abstractmethod
    def load(self, task: Task) -> Cell | None:
        """The cell of a task; None if there is none that can be used."""

    @abc.abstractmethod
    def save(self, task: Task, cell: Cell) -> None:
        """Keep a cell."""

    @abc.abstractmethod
    def take(self, task: Task) -> bool:
        """Claim a cell before training it; False if another process trains it now."""

    @abc.abstractmethod
    def release(self, task: Task) -> None:
        """Give a claim back."""

    @abc.abstractmethod
    def beat(self) -> None:
        """Show that this process is alive; to be called now and then."""

    @abc.abstractmethod
    def close(self) -> None:
        """Give all claims back."""


class MemoryStore(Store):
    """Cells that end with the process."""

    def __init__(self) -> None:
        self._cells: dict[str, Cell] = {}

    def load(self, task: Task) -> Cell | None:
        """The cell of a task, if it was saved."""
        return self._cells.get(task.key)

    def save(self, task: Task, cell: Cell) -> None:
        """Keep a cell."""
        self._cells[task.key] = cell

    def take(self, task: Task) -> bool:
        """Nobody else works here."""
        return True

    def release(self, task: Task) -> None:
        """Nothing was claimed."""

    def beat(self) -> None:
        """Nobody looks."""

    def close(self) -> None:
        """Nothing was claimed."""


class FolderStore(Store):
    """Cells in files of a folder; several processes may use one folder at once.

    Parameters
    ----------
    folder : Path
        The results folder; ``cells`` is made in it.

    Raises
    ------
    DataError
        The folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.place = f"'{folder}'"
        self._folder = folder / CELLS
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._sweep()
        except OSError as error:
            raise DataError(
                f"cells cannot be kept in '{self._folder}': {reason(error)}; name another folder"
            ) from error
        self._claims = Claims(self._folder)

    def _sweep(self) -> None:
        """Remove temporary files of processes that were killed long ago."""
        for path in self._folder.glob(f".*{TEMPORARY}"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _STALE:
                    path.unlink()

    def path(self, task: Task) -> Path:
        """The file of a cell, whether or not it is there."""
        return self._folder / task.file_name

    def load(self, task: Task) -> Cell | None:
        """The cell of a task; a file that cannot be used is set aside, with a message."""
        path = self.path(task)
        try:
            return read_cell(path, task.key)
        except FileNotFoundError:
            return None
        except DamagedCell as error:
            self._set_aside(path, str(error))
            return None

    def _set_aside(self, path: Path, why: str) -> None:
        aside = self._folder / ASIDE
        target = aside / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{path.name}"
        _LOG.warning(
            "%s cannot be used: %s; it is set aside as %s and computed again",
            path.name,
            why,
            target.relative_to(self._folder.parent),
        )
        try:
            aside.mkdir(exist_ok=True)
            with suppress(FileNotFoundError):  # another process was faster
                os.replace(path, target)
        except OSError as error:
            raise self._unwritable(path.name, error) from error

    def save(self, task: Task, cell: Cell) -> None:
        """Write a cell's file, whole and flushed to the disk.

        Raises
        ------
        DataError
            It cannot be written; the cells that are there stay.
        """
        path = self.path(task)
        try:
            with atomic(path) as stream:
                stream.write(cell.to_bytes())
        except OSError as error:
            raise self._unwritable(path.name, error) from error
        self.release(task)

    def _unwritable(self, name: str, error: OSError) -> DataError:
        return DataError(
            f"the cell {name} could not be written to '{self._folder}': {reason(error)}; the cells "
            "that are there are complete: make room and run the same command with the same "
            "--results again, and only what is missing is computed"
        )

    def take(self, task: Task) -> bool:
        """Claim a cell."""
        try:
            return self._claims.take(task.file_name)
        except OSError as error:
            raise self._unwritable(task.file_name, error) from error

    def release(self, task: Task) -> None:
        """Give a claim back."""
        self._claims.release(task.file_name)

    def beat(self) -> None:
        """Touch the claims."""
        self._claims.beat()

    def close(self) -> None:
        """Give all claims back."""
        self._claims.release_all()
