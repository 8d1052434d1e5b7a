"""Checksums of bytes, JSON values, arrays and foreign classes, and seeds from them."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import zlib
from abc import ABC
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Generic, Protocol

import numpy as np

from boostsample.errors import SettingError

_BLOCK_BYTES = 2**24
_PACKAGE = "boostsample"
SOURCE = "__boostsample_source__"
"""Attribute of a module with the bytes that it was made of, if its file is not imported by name."""


def sha256_of_bytes(*parts: bytes) -> str:
    """Checksum of one content, or of several parts, each then preceded by its length."""
    if len(parts) == 1:
        return hashlib.sha256(parts[0]).hexdigest()
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def sha256_of_json(value: Any) -> str:
    """Checksum of a JSON value; the order of keys does not matter."""
    return sha256_of_bytes(json.dumps(value, sort_keys=True).encode())


def hashed_seed(content: bytes) -> np.random.SeedSequence:
    """Seed from the first 128 bits of a checksum, the same on any machine."""
    return np.random.SeedSequence(
        int.from_bytes(bytes.fromhex(sha256_of_bytes(content)[:32]), "little")
    )


def sha256_of_arrays(*arrays: Any) -> str:
    """Checksum of dtypes, shapes and values, whatever the memory order; no array is copied."""
    digest = hashlib.sha256()
    for content in _contents(arrays):
        digest.update(content)
    return digest.hexdigest()


def crc32_of_arrays(*arrays: Any) -> int:
    """CRC-32 of what `sha256_of_arrays` reads: several times faster, against accidents only."""
    crc = 0
    for content in _contents(arrays):
        crc = zlib.crc32(content, crc)
    return crc


def _contents(arrays: tuple[Any, ...]) -> Iterator[Any]:
    for values in arrays:
        array = np.asarray(values)
        yield f"{array.dtype.str}{array.shape}".encode()
        if array.dtype.kind == "O":
            for text in array.ravel().tolist():
                if not isinstance(text, str):
                    raise TypeError(f"expected text, got {type(text).__name__}")
                yield sha256_of_bytes(text.encode("utf-8", "surrogatepass")).encode()
            continue
        step = max(_BLOCK_BYTES // max(array[:1].nbytes, 1), 1)
        for start in range(0, len(array), step):
            yield np.ascontiguousarray(array[start : start + step]).data.cast("B")


def code_of(kind: type) -> str:
    """Checksum of the code of a class of another distribution; empty for a class of ours.

    The code is that of the class and of its base classes outside this distribution: of each the
    file of its module, or only the class if it is defined in a script or a notebook. Other modules
    that these import are not covered. SettingError if the code of a class cannot be read.
    """
    if _is_ours(kind):
        return ""
    # Our results have a version; so have the packages that our base classes come from.
    shared = {base for ours in filter(_is_ours, kind.__mro__) for base in ours.__mro__}
    shared |= {object, ABC, Generic, Protocol}
    parts = (_source(base) for base in kind.__mro__ if base not in shared)
    return sha256_of_bytes(b"".join(dict.fromkeys(parts)))


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == _PACKAGE


def _source(kind: type) -> bytes:
    loaded = getattr(sys.modules.get(kind.__module__), SOURCE, None)
    if loaded is not None:  # the file may have changed since
        return bytes(loaded)
    try:
        file = Path(inspect.getsourcefile(kind) or "")
        # A script also has the call that starts the run: its number of rounds may change.
        if kind.__module__ != "__main__" and file.is_file():
            return file.read_bytes()
        return inspect.getsource(kind).encode()
    except (OSError, TypeError):
        raise SettingError(
            f"to keep a run or a bank on disk, the source code of the class {kind.__qualname__} "
            "must be readable, so that a later version of it is noticed, but it is not; define "
            "the class in a file, or keep nothing on disk"
        ) from None
