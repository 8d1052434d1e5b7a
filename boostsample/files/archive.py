"""Archives: named arrays in one .npz file with a checksum, read without pickles."""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.files.json_text import read_json
from boostsample.hashing import sha256_of_bytes

_ALWAYS, _TIMES = 2**24, 64
"""Bytes that any archive may unpack to, and how many times its size it may have beyond these."""
_CHUNK = 2**20
"""Bytes to unpack at once."""


def archive_bytes(entries: Mapping[str, NDArray[Any]]) -> bytes:
    """The content of an archive: the entries, and their checksum as the entry ``sha256``.

    Entries that would pack too well to be unpacked by `archive_entries` are not packed.
    """
    checked = {**entries, "sha256": np.frombuffer(_digest(entries), np.uint8)}
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **checked)
    with zipfile.ZipFile(stream) as archive:
        total = sum(file.file_size for file in archive.infolist())
    if total > most_unpacked(len(stream.getvalue())):
        stream = io.BytesIO()
        np.savez(stream, allow_pickle=False, **checked)
    return stream.getvalue()


def most_unpacked(packed: int) -> int:
    """Most bytes that an archive of `packed` bytes may unpack to; ours unpack to 3 to 30 times."""
    return _ALWAYS + _TIMES * packed


def _check_total(files: Sequence[zipfile.ZipInfo], most: int) -> None:
    """DataError if the files of an archive declare more than `most` bytes together."""
    total = sum(file.file_size for file in files)
    if total > most:
        raise DataError(f"its content must have at most {most:,} bytes, got {total:,} unpacked")


def archive_content(path: str | os.PathLike[str]) -> bytes:
    """The content of an archive's file; no more than four bytes if it does not begin as one."""
    with open(path, "rb") as stream:
        head = stream.read(4)
        return head + stream.read() if head.startswith(b"PK") else head


def archive_entries(content: bytes, most_bytes: int | None = None) -> dict[str, NDArray[Any]]:
    """The entries that `archive_bytes` was given.

    No entry is unpacked beyond the size that it declares. DataError if the entries together exceed
    `most_bytes` (None: `most_unpacked`), or are not what the checksum says; the parsers of Python
    and NumPy raise errors of many types on other content.
    """
    entries = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = archive.infolist()
        _check_total(files, most_unpacked(len(content)) if most_bytes is None else most_bytes)
        if len({file.filename for file in files}) < len(files):
            raise DataError("the archive has two entries of one name")
        for file in files:
            if file.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise DataError(f"the archive packs {file.filename!r:.40} in an unknown way")
            with archive.open(file) as stream:  # read() would unpack up to 2 GiB at once
                unpacked = b"".join(iter(partial(stream.read, _CHUNK), b""))
            entries[file.filename.removesuffix(".npy")] = _array(unpacked)
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


def entry_of_kind(
    arrays: Mapping[str, NDArray[Any]], name: str, kinds: str, n_axes: int
) -> NDArray[Any]:
    """An array of one of these kinds of dtypes; DataError if it is missing or another one."""
    array = arrays.get(name)
    if array is None or array.dtype.kind not in kinds or array.ndim != n_axes:
        raise DataError(f"its array {name!r} is missing, or has another type or shape")
    return array


def integers_entry(
    arrays: Mapping[str, NDArray[Any]], name: str, n: int | None = None
) -> NDArray[np.int64]:
    """An array of integers, (n,) if n is given, as int64; DataError if it is another one."""
    return _of_length(entry_of_kind(arrays, name, "iu", 1), name, n).astype(np.int64)


def floats_entry(
    arrays: Mapping[str, NDArray[Any]], name: str, n: int | None = None
) -> NDArray[np.float64]:
    """An array of numbers, (n,) if n is given, as float64; DataError if it is another one."""
    return _of_length(entry_of_kind(arrays, name, "f", 1), name, n).astype(np.float64)


def _of_length(array: NDArray[Any], name: str, n: int | None) -> NDArray[Any]:
    if n is not None and array.size != n:
        raise DataError(f"its array {name!r} must have {n} elements, got {array.size}")
    return array


def bits_entry(arrays: Mapping[str, NDArray[Any]], name: str, n: int) -> NDArray[np.bool_]:
    """An array of one bit for each of n terms; DataError if it is another one."""
    bits = entry_of_kind(arrays, name, "u", 1)
    if bits.dtype != np.uint8 or bits.size != -(-n // 8):
        raise DataError(f"its array {name!r} must have a bit for each of {n} terms")
    return np.asarray(np.unpackbits(bits, count=n) == 1)


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


def rows_of_columns(packed: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows that `rows_by_column` was given."""
    values = {name: iter(column) for name, column in packed["columns"].items()}
    return [
        {name: next(values[name]) for name in packed["kinds"][kind]} for kind in packed["of_row"]
    ]


def _digest(entries: Mapping[str, NDArray[Any]]) -> bytes:
    heads = {name: f"{name}:{array.dtype.str}:{array.shape};" for name, array in entries.items()}
    content = b"".join(heads[name].encode() + entries[name].tobytes() for name in sorted(entries))
    return bytes.fromhex(sha256_of_bytes(content))
