"""Who works on which cell, when several processes share a folder.

A claim is a file that only one process can create, with its content at once (a hard link, which
network file systems make atomically, too). Its owner touches it every few
seconds. A claim is given up when its owner is known to be dead (same machine, no such process), or
when it was not touched for a minute by the clock of whoever looks at it: the clocks of the machines
that share a folder need not agree. Should two processes take the same claim over in the same
instant, both compute the cell, to the same bits: claims save work, they guard nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path

from boostsample.experiments.common.files import TEMPORARY

__all__ = ["Claims"]

_ENDING = ".claim"
_BEAT = 5.0
"""Seconds between two touches of the owner."""
_DEAD = 60.0
"""Seconds without a touch after which a claim counts as given up."""


@cache
def _place() -> str:
    """Where process numbers mean the same: a hash of host, boot and namespace."""
    parts = [platform.node()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii"))
    with suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("|".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def _is_alive(number: int) -> bool:
    if os.name != "posix":  # there, os.kill would end the process
        return True
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _create(path: Path, content: bytes) -> None:
    """Create a file with its content; FileExistsError if there is one."""
    temporary = path.with_name(f".{path.name[:100]}.{uuid.uuid4().hex}{TEMPORARY}")
    try:
        temporary.write_bytes(content)
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            with path.open("xb") as stream:
                stream.write(content)
    finally:
        with suppress(OSError):
            temporary.unlink()


class Claims:
    """Claims of this process on names, in a folder.

    Parameters
    ----------
    folder : Path
        Must exist when something is claimed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mine: dict[str, bytes] = {}
        self._seen: dict[str, tuple[int, float]] = {}
        self._beaten = time.monotonic()

    def take(self, name: str) -> bool:
        """Claim a name; False if another process works on it.

        Raises
        ------
        OSError
            The folder cannot be written.
        """
        if name in self._mine:
            return True
        content = json.dumps(
            {"place": _place(), "process": os.getpid(), "id": uuid.uuid4().hex}
        ).encode()
        path = self._path(name)
        for _ in range(2):
            try:
                _create(path, content)
            except FileExistsError:
                if not self._given_up(name):
                    return False
                with suppress(FileNotFoundError):
                    path.unlink()
            else:
                self._mine[name] = content
                return True
        return False

    def release(self, name: str) -> None:
        """Give a claim back."""
        content = self._mine.pop(name, None)
        if content is None:
            return
        path = self._path(name)
        with suppress(OSError):  # somebody who took it over may have ended by now
            if path.read_bytes() == content:
                path.unlink()

    def release_all(self) -> None:
        """Give all claims back, and remove those that the dead have left behind."""
        for name in list(self._mine):
            self.release(name)
        for path in self._folder.glob(f"*{_ENDING}"):
            if self._given_up(path.name.removesuffix(_ENDING)):
                with suppress(OSError):
                    path.unlink()

    def beat(self) -> None:
        """Touch the claims of this process, if it is time to."""
        now = time.monotonic()
        if now - self._beaten < _BEAT:
            return
        self._beaten = now
        for name in self._mine:
            with suppress(OSError):
                os.utime(self._path(name))

    def _given_up(self, name: str) -> bool:
        """Whether the owner of a claim is dead, as far as can be told."""
        path = self._path(name)
        try:
            content, touched = path.read_bytes(), path.stat().st_mtime_ns
        except OSError:
            return True  # it is gone already
        with suppress(ValueError, KeyError, TypeError):
            told = json.loads(content)
            if told["place"] == _place() and not (
                _is_alive(int(told["process"])) and int(told["process"]) != os.getpid()
            ):
                return True
        before = self._seen.get(name)
        if before is None or before[0] != touched:
            self._seen[name] = (touched, time.monotonic())
            return False
        return time.monotonic() - before[1] > _DEAD

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}{_ENDING}"
