"""Checksums of what a bank holds, of the examples, and of the header of a bank on disk."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError
from boostsample.files.json_text import read_json
from boostsample.hashing import sha256_of_arrays, sha256_of_json

DISK_HEADER = "header.json"


class DamagedBank(DataError):
    """A cached feature bank that cannot be used; the message is a phrase with the reason."""


def feature_checksums(bins: NDArray[np.uint8], cuts: NDArray[np.float32]) -> tuple[int, int]:
    """CRC-32 of the bins and of the cuts of one feature, both contiguous."""
    return zlib.crc32(bins.data), zlib.crc32(cuts.data)


def digest_of_examples(X: Any, what: str) -> str:
    """Checksum of an array of numbers or texts, or of a sparse matrix in any format.

    SettingError if X holds other objects; `what` says what needs the checksum.
    """
    if hasattr(X, "tocsr"):
        rows = X.tocsr()
        return sha256_of_arrays(rows.data, rows.indices, rows.indptr)
    try:
        return sha256_of_arrays(X)
    except TypeError as error:
        raise SettingError(
            f"examples of {what} must be numbers or texts: {error}; use the bank in memory"
        ) from None


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
