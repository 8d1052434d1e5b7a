"""Files that appear whole or not at all, and survive a loss of power once they are there."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from boostsample.errors import DataError, SettingError

__all__ = ["TEMPORARY", "atomic", "check_file", "one_line", "reason", "sync_folder", "unwritable"]

TEMPORARY = ".tmp"
"""How the names of files end that are being written; a killed process leaves them behind."""


def one_line(error: BaseException) -> str:
    """Return an exception's message, or else its class, on one line of at most 200 characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else text[:197] + "..."


@contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that appears under its name only when it is complete.

    It is written under a temporary name, flushed to the disk and renamed; then the folder is
    flushed, too.

    Raises
    ------
    OSError
        It cannot be written; no trace of it is left then.
    """
    temporary = path.with_name(f".{path.name[:100]}.{uuid.uuid4().hex}{TEMPORARY}")
    try:
        with temporary.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Flush the names in a folder to the disk, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:  # some network file systems refuse this for folders
        pass
    finally:
        os.close(handle)


def reason(error: OSError) -> str:
    """What went wrong with a file, in a few words."""
    if isinstance(error, FileExistsError):
        return f"'{error.filename}' is a file"
    return error.strerror or one_line(error)


def check_file(path: str | os.PathLike[str], ending: str, what: str, *, new: bool = True) -> Path:
    """The path of a file of `what` that can be written, checked before any work is done.

    Raises
    ------
    SettingError
        It does not end in `ending`, or is there although it must be `new`.
    DataError
        It cannot be written.
    """
    target = Path(path)
    if target.suffix.lower() != ending:
        raise SettingError(f"the file of {what} must end in {ending}, got '{target}'")
    if new and target.exists():
        raise SettingError(
            f"the file of {what} must be new, but '{target}' is there; results are never "
            "overwritten, name another file"
        )
    probe = target.with_name(f".{target.name[:100]}.{uuid.uuid4().hex}{TEMPORARY}")
    try:
        with probe.open("xb"):
            pass
        probe.unlink()
        if target.is_dir():
            raise IsADirectoryError(f"there is a folder of that name: '{target}'")
    except OSError as error:
        raise unwritable(target, what, error) from error
    return target


def unwritable(path: Path, what: str, error: OSError) -> DataError:
    """The error of a file of `what` that cannot be written."""
    return DataError(
        f"the file of {what} '{path}' cannot be written: {reason(error)}; name another file"
    )
