"""Stores of trained cells: one file per cell in a folder, or memory.

A cell's file is complete and verified, even if the process or the machine that wrote it crashed.
A file that cannot be used (damaged, of another format or of other numerics) is moved to the folder
``aside``, never removed.

Processes that share a folder claim cells, so that each is trained once. A claim is a file that only
one process can create; its owner touches it every few seconds. A claim is void if its owner is dead
(same machine, no such process), or if it has not been touched for a minute by the clock of the
process that asks. If two processes take over the same claim at the same instant, both compute the
cell, to the same bits: claims save work, they do not protect files.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from boostsample.errors import DataError, os_fault
from boostsample.experiments.cells.cell_file import Cell, DamagedCell, read_cell_file
from boostsample.experiments.cells.tasks import CellTask
from boostsample.files.atomic import atomic_file, remove_stale_files
from boostsample.files.json_text import read_json
from boostsample.hashing import sha256_of_bytes

STORE_FOLDER = "cells"
_ASIDE = "aside"
_LOG = logging.getLogger(__name__)
_ENDING = ".claim"
_BEAT = 5.0  # seconds between two touches by the owner
_DEAD = 60.0  # seconds without a touch after which a claim is void


@cache
def _place() -> str:
    """Scope of process numbers: a hash of host, boot and namespace."""
    parts = [platform.node()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii"))
    with suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))
    return sha256_of_bytes("|".join(parts).encode("utf-8", "replace"))[:16]


def _is_alive(number: int) -> bool:
    if os.name != "posix":  # on Windows, os.kill would end the process
        return True
    try:
        os.kill(number, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


class Claims:
    """Claims of this process on names, kept in an existing folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mine: dict[str, bytes] = {}
        self._seen: dict[str, tuple[int, float]] = {}
        self._beaten = time.monotonic()

    def take(self, name: str) -> bool:
        """Claim a name; False if another process holds it, OSError if it cannot be written."""
        if name in self._mine:
            return True
        owner = {"place": _place(), "process": os.getpid(), "id": uuid.uuid4().hex}
        content = json.dumps(owner).encode()
        for _ in range(2):
            try:
                with self._path(name).open("xb") as stream:
                    stream.write(content)
            except FileExistsError:
                if not self._is_void(name):
                    return False
                with suppress(FileNotFoundError):
                    self._path(name).unlink()
            else:
                self._mine[name] = content
                return True
        return False

    def release(self, name: str) -> None:
        """Release a claim, if this process holds it."""
        content = self._mine.pop(name, None)
        with suppress(OSError):  # another process may have taken it over and released it
            if content is not None and self._path(name).read_bytes() == content:
                self._path(name).unlink()

    def close(self) -> None:
        """Release all claims of this process and remove void ones of others."""
        for name in list(self._mine):
            self.release(name)
        for path in self._folder.glob(f"*{_ENDING}"):
            if self._is_void(path.name.removesuffix(_ENDING)):
                with suppress(OSError):
                    path.unlink()

    def beat(self) -> None:
        """Touch the claims of this process if the last touch was `_BEAT` seconds ago."""
        now = time.monotonic()
        if now - self._beaten < _BEAT:
            return
        self._beaten = now
        for name in self._mine:
            with suppress(OSError):
                os.utime(self._path(name))

    def _is_void(self, name: str) -> bool:
        """Whether the owner of a claim is dead, as far as this process can determine."""
        path = self._path(name)
        try:
            content, touched = path.read_bytes(), path.stat().st_mtime_ns
        except OSError:
            return True  # it has been released
        with suppress(ValueError, KeyError, TypeError):
            owner = read_json(content)
            number = int(owner["process"])
            if owner["place"] == _place() and (number == os.getpid() or not _is_alive(number)):
                return True
        before = self._seen.get(name)
        if before is None or before[0] != touched:
            self._seen[name] = (touched, time.monotonic())
            return False
        return time.monotonic() - before[1] > _DEAD

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}{_ENDING}"


def key_of_file(name: str) -> str:
    """The key in the name of a cell's file."""
    return name.removesuffix(".npz").rpartition("-")[2]


class Store:
    """Cells by their tasks, in memory; subclasses keep them elsewhere and share them."""

    def __init__(self) -> None:
        self._cells: dict[str, Cell] = {}

    def find(self, name: str) -> Cell | None:
        """The cell of the task with this `file_name`; None if there is no usable one."""
        return self._cells.get(name)

    def save(self, task: CellTask, cell: Cell) -> None:
        """Store a cell and release its claim."""
        self._cells[task.file_name] = cell

    def begun(self, task: CellTask) -> Cell | None:
        """The longest usable cell of the run of a task with fewer rounds; None if there is none."""
        shorter = self._shorter(task).values()
        return max(shorter, key=lambda cell: int(cell.facts["n_rounds"]), default=None)

    def _shorter(self, task: CellTask) -> Mapping[str, Cell]:
        """The usable cells of the run of a task with fewer rounds, by the names of their files."""
        return {name: cell for name, cell in self._cells.items() if task.continues(cell.facts)}

    def take(self, name: str) -> bool:
        """Claim a cell before training it; False if another process is training it."""
        return True

    def release(self, name: str) -> None:
        """Release the claim on a cell."""

    def beat(self) -> None:
        """Renew the claims; to be called at least every few seconds."""

    def close(self) -> None:
        """Release all claims."""


class FolderStore(Claims, Store):
    """Cells in files below ``cells`` of a results folder, which several processes may share.

    DataError if the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / STORE_FOLDER)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            remove_stale_files(self._folder)
        except OSError as error:
            raise DataError(
                f"cells cannot be kept in '{self._folder}': {os_fault(error)}; name another folder"
            ) from error

    def find(self, name: str) -> Cell | None:
        """The cell of a file; an unusable one is moved aside, with a warning."""
        path = self._folder / name
        try:
            return read_cell_file(path, key_of_file(name))
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

    def _shorter(self, task: CellTask) -> Mapping[str, Cell]:
        shorter = {}
        for path in self._folder.glob(f"{task.slug}-*.npz"):
            with suppress(FileNotFoundError, DamagedCell):
                key = key_of_file(path.name)
                cell = read_cell_file(path, key) if key != task.key else None
                if cell is not None and task.continues(cell.facts):
                    shorter[path.name] = cell
        return shorter

    def save(self, task: CellTask, cell: Cell) -> None:
        """Write a cell's file atomically, and release its claim.

        The cells of the same run with fewer rounds, which it replaces, are removed.
        """
        with self._writing(task.file_name), atomic_file(self._folder / task.file_name) as stream:
            stream.write(cell.to_bytes())
        with self._writing(task.file_name):
            for name in self._shorter(task):
                (self._folder / name).unlink(missing_ok=True)
        self.release(task.file_name)

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DataError(
                f"the cell {name} could not be written to '{self._folder}': {os_fault(error)}; "
                "the existing cells are complete: make room and run the same command with the same "
                "--results again, and only what is missing is computed"
            ) from error

    def take(self, name: str) -> bool:
        """Claim a cell."""
        with self._writing(name):
            return super().take(name)
