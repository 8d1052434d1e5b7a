"""Names files, writes them atomically, and checks beforehand that they can be written."""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from boostsample.errors import DataError, SettingError, one_line, os_fault

TEMPORARY = ".tmp"
"""Suffix of files being written; a killed process leaves them behind."""
_STALE = 3600.0
"""Seconds after which a temporary file is taken for that of a killed process."""
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
"""Errors of a full disk, a limit on files and a full quota."""
_LEAST_SIZE = 1024
"""Bytes that nearly every file has."""
_MOST_PROBED = 2**20
"""Bytes that are written to see whether there is room; for more the system is asked."""


def temporary_file(path: Path) -> Path:
    """Return a new hidden name beside `path`, ending in `TEMPORARY`."""
    return path.with_name(f"{_temporary_prefix(path)}{uuid.uuid4().hex}{TEMPORARY}")


def _temporary_prefix(path: Path) -> str:
    return f".{path.name[:50]}."  # at most 202 bytes, of the 255 that a name may have


def remove_stale_files(folder: Path, path: Path | None = None) -> None:
    """Remove old temporary files of killed processes from a folder: of one file, or of all."""
    prefix = "." if path is None else _temporary_prefix(path)
    for part in folder.glob(f".*{TEMPORARY}"):
        with suppress(OSError):
            if part.name.startswith(prefix) and time.time() - part.stat().st_mtime > _STALE:
                part.unlink()


@contextmanager
def atomic_file(path: Path, *, sync: bool = True) -> Iterator[BinaryIO]:
    """Open a file for writing that appears under its name only when it is complete.

    The content is written under a temporary name, flushed to the disk and renamed, so that it
    survives a power failure, unless `sync` is False; processes that write the same file do not
    disturb each other. After any exception the temporary file is removed.
    """
    part = temporary_file(path)
    try:
        with part.open("xb") as stream:
            yield stream
            if sync:
                stream.flush()
                os.fsync(stream.fileno())
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    if sync and os.name == "posix":  # the rename, too, must reach the disk
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            with suppress(OSError):  # some network file systems refuse this for folders
                os.fsync(folder)
        finally:
            os.close(folder)


def write_file(path: Path, content: str | bytes, what: str) -> None:
    """Write a file of `what` with `atomic_file`, text as UTF-8; DataError if that fails."""
    if isinstance(content, str):
        content = content.encode("utf-8", "backslashreplace")
    try:
        with atomic_file(path) as stream:
            stream.write(content)
    except OSError as error:
        raise _unwritable_file(path, what, error) from error


def _unwritable_file(path: Path, what: str, error: OSError) -> DataError:
    """Return the error of a file of `what` that cannot be written."""
    room = "make room or " if error.errno in _NO_ROOM else ""
    return DataError(
        f"the file of {what} '{path}' cannot be written: {os_fault(error)}; {room}name another file"
    )


def check_writable_file(
    path: str | os.PathLike[str],
    ending: str,
    what: str,
    *,
    overwrite: bool = False,
    size: int = _LEAST_SIZE,
) -> Path:
    """Check that a file of `what` can be written, before any work is done; return its path.

    SettingError if the name does not end in `ending`, or if the file exists and is not to
    `overwrite`; DataError if it cannot be written, as when its folder has no room for `size` bytes.
    """
    target = Path(path)
    if target.suffix.lower() != ending:
        raise SettingError(f"the file of {what} must end in {ending}, got '{target}'")
    if target.is_file() and not overwrite:
        raise SettingError(
            f"the file of {what} must be new, but '{target}' exists; name another file, or "
            "replace it with --overwrite (in Python overwrite=True)"
        )
    probe = temporary_file(target)
    try:
        try:
            room = shutil.disk_usage(target.parent).free
            probe.write_bytes(bytes(min(size, _MOST_PROBED)))
            if size > room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            probe.unlink(missing_ok=True)
        if target.is_dir():
            raise IsADirectoryError(f"'{target}' is a folder")
    except OSError as error:
        raise _unwritable_file(target, what, error) from error
    return target


def slug(text: str) -> str:
    """Turn a text into a name for addresses and files: letters and digits, joined by hyphens.

    >>> slug("chess(d=5,n=400)")
    'chess-d-5-n-400'
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()[:60].rstrip("-") or "data"


@contextmanager
def readable_file(path: Path) -> Iterator[None]:
    """Turn any exception of a library that reads a damaged file into a DataError of one line."""
    try:
        yield
    except (DataError, SettingError):
        raise
    except Exception as error:  # parsers raise anything on garbage
        fault = "is damaged or in another format"
        if isinstance(error, MemoryError) or "out of memory" in str(error):
            fault = "needs more memory than there is, or is damaged"
        raise DataError(f"{path} cannot be read, it {fault}: {one_line(error)}") from error
