r"""The cache folder, and the list of the feature banks in it.

The folder is ``$BOOSTSAMPLE_CACHE_DIR`` if that is set, else the user's cache folder of the
platform: ``$XDG_CACHE_HOME/boostsample`` or ``~/.cache/boostsample`` (Linux),
``~/Library/Caches/boostsample`` (macOS), ``%LOCALAPPDATA%\boostsample\Cache`` (Windows). Each
feature bank is a folder in ``banks``, named by a hash of its content; `boostsample.banks.disk`
describes the files in it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boostsample.errors import DataError, SettingError
from boostsample.files.json_text import read_json
from boostsample.hashing import sha256_of_json

DISK_HEADER = "header.json"
_BUILDING = ".building-"
_TRASH = ".trash-"
_STALE = 3600.0
"""Seconds without a write after which an unfinished bank counts as abandoned."""


class DamagedBank(DataError):
    """A cached feature bank that cannot be used; the message is a phrase with the reason."""


def cache_dir() -> Path:
    """Return the cache folder (see the top of this module); it may not exist yet."""
    chosen = os.environ.get("BOOSTSAMPLE_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
        return Path(base) / "boostsample" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "boostsample"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "boostsample"


def banks_dir() -> Path:
    """Return the folder of the cached feature banks; it may not exist yet."""
    return cache_dir() / "banks"


def building_in_cache(key: str) -> Path:
    """A new path in the folder of the banks where a bank can be built."""
    return banks_dir() / f"{_BUILDING}{key}-{uuid.uuid4().hex}"


@dataclass(frozen=True)
class CacheEntry:
    """A feature bank in the cache, described by its header; the bins are not read."""

    key: str  # name of its folder: a hash of everything that its bits depend on
    folder: Path
    size: int  # bytes on disk
    last_used: float  # seconds since the epoch
    header: Mapping[str, Any]  # empty if it cannot be read
    problem: str = ""  # why the header cannot be read; empty if it can


def cache_entries() -> list[CacheEntry]:
    """All feature banks in the cache, the most recently used one first."""
    entries = []
    for folder in _folders(""):
        header: Mapping[str, Any] = {}
        problem = ""
        try:
            header = read_bank_header(folder)
        except DamagedBank as error:
            problem = str(error)
        with suppress(OSError):  # another process may be removing it
            used = (folder if problem else folder / DISK_HEADER).stat().st_mtime
            entries.append(
                CacheEntry(folder.name, folder, cache_entry_size(folder), used, header, problem)
            )
    return sorted(entries, key=lambda bank: (-bank.last_used, bank.key))


def find_cache_entries(keys: list[str] | tuple[str, ...]) -> list[CacheEntry]:
    """The banks whose keys begin with these texts; SettingError if one fits none, or several."""
    known = cache_entries()
    by_key = {}
    for key in keys:
        fitting = [bank for bank in known if key and bank.key.startswith(key.lower())]
        if len(fitting) != 1:
            short = ", ".join(bank.key[:12] for bank in fitting or known) or "none"
            rule = "is the beginning of several" if fitting else "is no cached feature bank"
            raise SettingError(f"in the cache folder, {key!r} {rule}; there are: {short}")
        by_key[fitting[0].key] = fitting[0]
    return list(by_key.values())


def unfinished_in_cache() -> tuple[list[Path], list[Path]]:
    """Folders of interrupted builds and removals: abandoned ones, and ones that may be in use."""
    stale: list[Path] = []
    fresh: list[Path] = []
    for folder in [*_folders(_BUILDING), *_folders(_TRASH)]:
        times = [0.0]
        with suppress(OSError):
            times = [path.stat().st_mtime for path in [folder, *folder.iterdir()]]
        (stale if time.time() - max(times) > _STALE else fresh).append(folder)
    return stale, fresh


def remove_from_cache(folder: Path) -> None:
    """Remove a bank in one step; on POSIX systems, processes that read it are not disturbed.

    OSError if the system does not allow it, on Windows also while a process uses the bank.
    """
    trash = folder.with_name(f"{_TRASH}{uuid.uuid4().hex}")
    with suppress(FileNotFoundError):  # removed by another process
        folder.rename(trash)
        shutil.rmtree(trash)


def cache_entry_size(folder: Path) -> int:
    """Total size in bytes of the files in a folder."""
    with suppress(OSError):
        return sum(path.stat().st_size for path in folder.iterdir())
    return 0


def _folders(prefix: str) -> list[Path]:
    """Folders in the folder of the banks by a prefix of their names; "" means finished banks."""
    with suppress(OSError):
        return sorted(
            path
            for path in banks_dir().iterdir()
            if path.name.startswith(prefix or tuple("0123456789abcdef")) and path.is_dir()
        )
    return []


def write_bank_header(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write `header.json` with a checksum over its content."""
    text = json.dumps({**facts, "sha256": sha256_of_json(facts)}, indent=2)
    with (folder / DISK_HEADER).open("x", encoding="ascii") as stream:
        stream.write(f"{text}\n")
        stream.flush()
        os.fsync(stream.fileno())


def read_bank_header(folder: Path) -> dict[str, Any]:
    """Read `header.json`; DamagedBank unless `write_bank_header` wrote it for this bank."""
    try:
        facts: dict[str, Any] = read_json((folder / DISK_HEADER).read_bytes())
        intact = facts.pop("sha256") == sha256_of_json(facts)
        key = facts["key"]
    except FileNotFoundError:
        raise DamagedBank(f"{DISK_HEADER} is missing") from None
    except OSError as error:
        raise DamagedBank(f"{DISK_HEADER} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedBank(f"{DISK_HEADER} is damaged") from error
    if not intact:
        raise DamagedBank(f"{DISK_HEADER} is damaged or was edited")
    if key != folder.name:
        raise DamagedBank(f"it is the bank {key[:12]} under another name")
    return facts
