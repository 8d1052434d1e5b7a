"""Archives: named arrays in one .npz file with a checksum, read without pickles."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.files.json_text import read_json
from boostsample.hashing import sha256_of_bytes

__all__ = [
    "archive_bytes",
    "archive_entries",
    "json_entry",
    "narrowest",
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


def archive_entries(content: bytes, most_bytes: int | None = None) -> dict[str, NDArray[Any]]:
    """The entries that `archive_bytes` was given.

    Sizes are checked before anything is unpacked. Raises DataError if the entries together exceed
    `most_bytes`, or are not what the checksum says; the parsers of Python and NumPy raise errors of
    many types on other content.
    """
    entries = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = archive.infolist()
        total = sum(one.file_size for one in files)
        if most_bytes is not None and total > most_bytes:
            raise DataError(f"its content must have at most {most_bytes:,} bytes, got {total:,}")
        if len({one.filename for one in files}) < len(files):
            raise DataError("the archive has two entries of one name")
        for one in files:
            if one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise DataError(f"the archive packs {one.filename!r:.40} in an unknown way")
            entries[one.filename.removesuffix(".npy")] = _array(archive.read(one))
    if entries.pop("sha256").tobytes() != _digest(entries):
        raise DataError("the checksum does not fit the content")
    return entries


def _array(content: bytes) -> NDArray[Any]:
    """The array of an .npy file; its header must fit the size of the file."""
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise DataError("an array of the archive is in another format")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.hasobject or dtype.itemsize == 0:
        raise DataError(f"the archive has an array of {dtype}, which is never written")
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(stream.read()):
        raise DataError("the size of an array of the archive does not fit its shape")
    values = np.frombuffer(content[len(content) - math.prod(shape) * dtype.itemsize :], dtype)
    return values.reshape(shape, order="F" if fortran else "C").copy()


def narrowest(values: Any) -> NDArray[Any]:
    """Integers as an array of the narrowest type that holds them.

    >>> narrowest([0, 300]).dtype, narrowest([-1]).dtype
    (dtype('uint16'), dtype('int8'))
    """
    array = np.asarray(values, np.int64)
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    for kind in ("u1", "u2", "u4", "i1", "i2", "i4"):
        bounds = np.iinfo(kind)
        if bounds.min <= low and high <= bounds.max:
            return array.astype(kind)
    return array


def text_entry(text: str) -> NDArray[np.uint8]:
    """ASCII text as an entry."""
    return np.frombuffer(text.encode("ascii"), np.uint8)


def json_entry(value: Any) -> NDArray[np.uint8]:
    """A JSON value as an entry; the order of keys does not matter."""
    return text_entry(json.dumps(value, sort_keys=True))


def read_json_entry(entry: NDArray[Any]) -> Any:
    """The value of a `json_entry`."""
    return read_json(entry.tobytes())


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
