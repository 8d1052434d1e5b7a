"""Archives: named arrays in one .npz file with a checksum, read without pickles."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.hashing import sha256_of_bytes

__all__ = [
    "archive_bytes",
    "archive_entries",
    "json_entry",
    "read_json_entry",
    "rows_by_column",
    "rows_of_columns",
    "text_entry",
]


def archive_bytes(entries: Mapping[str, NDArray[Any]]) -> bytes:
    """The content of an archive: the entries, and their checksum as the entry ``sha256``."""
    checked = {**entries, "sha256": np.frombuffer(_digest(entries), np.uint8)}
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **checked)
    return stream.getvalue()


def archive_entries(content: bytes) -> dict[str, NDArray[Any]]:
    """The entries that `archive_bytes` was given.

    Raises DataError if they are not what the checksum says; NumPy's parsers raise errors of many
    types on other content.
    """
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        entries = {name: archive[name] for name in archive.files}
    if entries.pop("sha256").tobytes() != _digest(entries):
        raise DataError("the checksum does not fit the content")
    return entries


def text_entry(text: str) -> NDArray[np.uint8]:
    """ASCII text as an entry."""
    return np.frombuffer(text.encode("ascii"), np.uint8)


def json_entry(value: Any) -> NDArray[np.uint8]:
    """A JSON value as an entry; the order of keys does not matter."""
    return text_entry(json.dumps(value, sort_keys=True))


def read_json_entry(entry: NDArray[Any]) -> Any:
    """The value of a `json_entry`."""
    return json.loads(entry.tobytes())


def rows_by_column(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Rows by column, which compresses better, and the columns of each row."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    kinds: dict[tuple[str, ...], int] = {}
    of_row = [kinds.setdefault(tuple(row), len(kinds)) for row in rows]
    return {
        "kinds": [list(kind) for kind in kinds],
        "of_row": of_row,
        "columns": {name: [row[name] for row in rows if name in row] for name in names},
    }


def rows_of_columns(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows that `rows_by_column` was given."""
    values = {name: iter(column) for name, column in found["columns"].items()}
    return [{name: next(values[name]) for name in found["kinds"][kind]} for kind in found["of_row"]]


def _digest(entries: Mapping[str, NDArray[Any]]) -> bytes:
    heads = {name: f"{name}:{one.dtype.str}:{one.shape};" for name, one in entries.items()}
    content = b"".join(heads[name].encode() + entries[name].tobytes() for name in sorted(entries))
    return bytes.fromhex(sha256_of_bytes(content))
