"""Checksums of bytes, JSON values and arrays, and seeds from them."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

_BLOCK_BYTES = 2**24


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
    """Checksum of the dtypes, shapes and values of arrays, whatever their memory order.

    Rows are read in blocks of 16 MiB, so that no array is copied as a whole. Raises TypeError if an
    array of objects holds anything but text.
    """
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
    for given in arrays:
        array = np.asarray(given)
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
