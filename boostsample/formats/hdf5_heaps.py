"""The heaps of an HDF5 file, of texts and of names, are checked before HDF5 reads any.

HDF5, up to 2.0 at least, does not end on some damaged heaps, and takes memory that others declare,
whatever the file has. A heap of texts is ``GCOL``, a version, its size (8 bytes at 8) and objects
of an index, a size and data; a reference is a length (4 bytes), the address of a heap (8) and an
index (4). A heap of the names of members is ``HEAP``, a version, the size of its data (8 bytes at
8), where in them the first free part is (8), and their address (8). A free part begins with the
place of the next one, 1 at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from boostsample.errors import DataError

_BIG = 2**24
"""Bytes of a file from which on the numbers of large datasets are not searched."""
_WINDOW, _OVERLAP = 2**22, 2**16
"""Bytes that are searched at once; the most that an attribute takes."""
_HEAP, _HEAD = b"GCOL\x01", 16
_NAMES, _NAMES_HEAD, _NO_PART = b"HEAP\0\0\0\0", 32, 1
_REFERENCE = np.dtype([("length", "<u4"), ("heap", "<u8"), ("index", "<u4")])
_TEXT = bytes.fromhex("10000000 10000000 01000000 00000800 00000000")
"""In the header of an attribute: 16 bytes for each value, which is a text of any length."""


def check_heaps(file: Any, path: Path) -> None:
    """DataError if a heap of a file, or a text of an attribute, is damaged.

    Searches all of the file that does not hold the numbers of large datasets. Of a file from 16 MiB
    on, HDF5 reads the names of all members before.
    """
    size, heaps, names = path.stat().st_size, set[int](), set[int]()
    with path.open("rb") as stream:
        for start, stop in _ranges_without_numbers(file, size):
            for at, window in _windows(stream, start, stop):
                heaps.update(at + place for place in _occurrences(_HEAP, window))
                names.update(at + place for place in _occurrences(_NAMES, window))
                _check_lengths(_attribute_lengths(window), size, path)
        for address in sorted(heaps):
            if not _is_whole(stream, address, size):
                raise DataError(
                    f"{path} is damaged: its heap of texts at byte {address:,} is broken"
                )
        for address in sorted(names):
            if _is_endless(stream, address):
                raise DataError(
                    f"{path} is damaged: its heap of names at byte {address:,} is broken"
                )


def check_texts(item: Any, path: Path) -> None:
    """DataError if the texts of a dataset declare more bytes than the file has.

    They are not checked where they are compressed.
    """
    if item.chunks is None:
        ranges = [(item.id.get_offset(), _REFERENCE.itemsize * item.size)]
    elif item.id.get_create_plist().get_nfilters():
        return
    else:
        chunks = map(item.id.get_chunk_info, range(item.id.get_num_chunks()))
        ranges = [(chunk.byte_offset, chunk.size) for chunk in chunks]
    n_bytes = 0
    with path.open("rb") as stream:
        for start, length in ranges:
            if start is not None:  # or it lies in the header of the dataset, or nowhere
                stream.seek(start)
                content = stream.read(length)
                n_bytes += _n_bytes(content[: len(content) // 16 * 16])
    _check_lengths([n_bytes], path.stat().st_size, path)


def _n_bytes(references: bytes) -> int:
    return int(np.frombuffer(references, _REFERENCE)["length"].sum(dtype=np.int64))


def _check_lengths(lengths: Iterable[int], size: int, path: Path) -> None:
    if any(length > size for length in lengths):
        raise DataError(f"{path} is damaged: a text declares more bytes than the file has")


def _ranges_without_numbers(file: Any, size: int) -> list[tuple[int, int]]:
    """Ranges of bytes, all but those of the numbers of large datasets."""
    import h5py

    numbers: list[tuple[int, int]] = []

    def add(name: str, item: Any) -> None:
        if not isinstance(item, h5py.Dataset) or item.id.get_storage_size() < _BIG // 64:
            return
        if h5py.check_string_dtype(item.dtype) is not None:
            return
        if item.chunks is None:
            if item.id.get_offset() is not None:
                numbers.append((item.id.get_offset(), item.id.get_storage_size()))
        elif hasattr(item.id, "chunk_iter"):  # with HDF5 1.14
            item.id.chunk_iter(lambda chunk: numbers.append((chunk.byte_offset, chunk.size)))

    if size >= _BIG:
        file.visititems(add)
    ranges, end = [], 0
    for start, length in sorted(numbers):
        if start > end:
            ranges.append((end, start))
        end = max(end, start + length)
    return [*ranges, (end, size)]


def _windows(stream: BinaryIO, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """Parts of a range of bytes, which overlap, with their places."""
    while start < stop:
        stream.seek(start)
        yield start, stream.read(min(_WINDOW + _OVERLAP, stop - start))
        start += _WINDOW


def _occurrences(part: bytes, window: bytes) -> Iterator[int]:
    at = window.find(part)
    while at >= 0:
        yield at
        at = window.find(part, at + 1)


def _attribute_lengths(window: bytes) -> Iterator[int]:
    """Bytes of the texts of each attribute whose header is of the first version."""
    for at in _occurrences(_TEXT, window):
        shape = at + len(_TEXT)  # version, number of axes, 1 if limits follow, zeros; the axes
        version, n_axes, has_limits = window[shape : shape + 3].ljust(3, b"\0")
        if version == 1 and n_axes <= 1 and not any(window[shape + 3 : shape + 8]):
            start = shape + 8 * (1 + n_axes * (1 + has_limits % 2))
            n = int.from_bytes(window[shape + 8 : shape + 16], "little") if n_axes else 1
            part = window[start : start + 16 * min(n, _OVERLAP // 16)]
            yield _n_bytes(part[: len(part) // 16 * 16])


def _is_whole(stream: BinaryIO, address: int, size: int) -> bool:
    """Whether the objects of a heap lead to its end."""
    stream.seek(address)
    head = stream.read(_HEAD)
    length = int.from_bytes(head[8:], "little")
    if not len(head) == _HEAD <= length <= size - address:
        return False
    heap, at = head + stream.read(length - _HEAD), _HEAD
    while at <= length - _HEAD:
        n_bytes = int.from_bytes(heap[at + 8 : at + 16], "little")
        if heap[at] or heap[at + 1]:
            at += _HEAD + -(-n_bytes // 8) * 8
        elif n_bytes:  # free space with its head
            at += n_bytes
        else:
            return False
    return at <= length


def _is_endless(stream: BinaryIO, address: int) -> bool:
    """Whether the free parts of a heap of names lead back to one of them."""
    stream.seek(address)
    head = stream.read(_NAMES_HEAD).ljust(_NAMES_HEAD, b"\0")
    n_bytes, part, data = np.frombuffer(head, "<u8", 3, 8).tolist()
    known = set[int]()
    while part != _NO_PART and part < n_bytes and part not in known:
        known.add(part)
        stream.seek(min(data + part, 2**62))
        part = int.from_bytes(stream.read(8).ljust(8, b"\1"), "little")
    return part in known
