"""Claims on cells, so that processes that share a folder do not train the same cell.

A claim is a file that only one process can create, atomically and with its content (by a hard link,
which network file systems support, too). Its owner touches it every few seconds. A claim is void
if its owner is dead (same machine, no such process), or if it has not been touched for a minute.
Each process measures this minute with its own clock, so that clocks of different machines need not
agree. If two processes take over the same claim at the same instant, both compute the cell, to the
same bits: claims save work, they do not protect files.
"""

from __future__ import annotations

import json
import os
import platform
import time
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path

from boostsample.files.atomic import temporary_file
from boostsample.files.json_text import read_json
from boostsample.hashing import sha256_of_bytes

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


def _create(path: Path, content: bytes) -> None:
    """Create a file with its content; FileExistsError if it exists."""
    part = temporary_file(path)
    try:
        part.write_bytes(content)
        try:
            os.link(part, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            with path.open("xb") as stream:
                stream.write(content)
    finally:
        with suppress(OSError):
            part.unlink()


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
                _create(self._path(name), content)
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

    def release_all(self) -> None:
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
