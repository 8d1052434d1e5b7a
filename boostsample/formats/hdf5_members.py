"""Members of HDF5 files that may be damaged: read only if the file holds what they declare.

A member must lie in the file itself, not in another one that the file names; its shape must agree
with the bytes that are stored for it; its filters must be at hand. Every fault is a DataError of
one line.

Heaps, of texts and of names, are checked before HDF5 reads any: HDF5, up to 2.0 at least, does not
end on some damaged ones, and takes memory that others declare, whatever the file has. A heap of
texts is ``GCOL``, a version, its size (8 bytes at 8) and objects of an index, a size and data; a
reference is a length (4 bytes), the address of a heap (8) and an index (4). A heap of the names of
members is ``HEAP``, a version, the size of its data (8 bytes at 8), where in them the first free
part is (8), and their address (8). A free part begins with the place of the next one, 1 at the end.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.tile_layout import free_memory
from boostsample.errors import DataError, SettingError
from boostsample.files.atomic import readable_file

_MOST_PACKED = 1100
"""Bytes that one stored byte may stand for: deflate packs 1,032 into one."""
_SMALL = 2**20
"""Bytes that a dataset may declare whatever is stored for it."""
_TEXTS_AT_ONCE = 4096
_TEXT_BYTES = 100
"""Memory of a short Python string in a list, roughly."""
_FILTERS = {32001: "blosc", 32004: "lz4", 32008: "bitshuffle", 32015: "zstd", 32026: "blosc2"}
_KINDS = {"b": "truth values", "i": "whole numbers", "u": "whole numbers", "f": "numbers"}

FileStamp = tuple[int, int]
"""Size in bytes and time of the last change in ns."""


def file_stamp(path: Path) -> FileStamp:
    """The stamp of a file; DataError if there is none."""
    try:
        status = path.stat()
    except OSError:
        raise DataError(f"the file '{path}' does not exist") from None
    return status.st_size, status.st_mtime_ns


@contextmanager
def open_hdf5(path: Path, stamp: FileStamp | None = None) -> Iterator[Any]:
    """An HDF5 file, open for reading; DataError for any fault while it is.

    `stamp` is that of an earlier opening: DataError if the file has changed since.
    """
    try:
        import h5py
    except ImportError:
        raise SettingError(
            f"'{path}' is read by the package h5py; install it: pip install 'boostsample[h5ad]'"
        ) from None

    if file_stamp(path) != (stamp or file_stamp(path)):
        raise DataError(f"{path} has changed since it was opened; open it anew")
    with readable_file(path):
        try:
            file = h5py.File(path, "r")
        except BlockingIOError:
            raise DataError(
                f"{path} is open for writing in another program; close it there"
            ) from None
        with file:
            yield file


def attribute(item: Any, name: str) -> Any:
    """An attribute of a member, bytes as text; None if there is none.

    DataError unless it is text, numbers or a reference: h5py crashes on some damaged types.
    """
    import h5py

    if name not in item.attrs:  # get() takes a damaged one for none
        return None
    stored = item.attrs.get_id(name)
    dtype, size = stored.dtype, int(np.prod(stored.shape or (), dtype=object))
    is_known = h5py.check_string_dtype(dtype) or h5py.check_ref_dtype(dtype)
    if not (is_known or dtype.kind in "biufS") or size * dtype.itemsize > _SMALL:
        raise DataError(
            f"{item.file.filename}: the attribute {name!r} of {item.name!r:.60} must be text or "
            f"numbers, got {size:,} of {dtype}"
        )
    value = item.attrs[name]
    return value.decode() if isinstance(value, bytes) else value


def member(parent: Any, name: str, where: str) -> Any:
    """The member `name` of a group, or of groups within it as in ``raw/X``.

    `where` stands for the group in the DataError if there is none, or if it is a link.
    """
    import h5py

    item = parent
    for part in name.split("/"):
        link = item.get(part, getlink=True) if isinstance(item, h5py.Group) else None
        if link is None:
            raise DataError(f"{where} must hold {name!r}, but does not")
        if not isinstance(link, h5py.HardLink):
            raise DataError(
                f"{where} must hold {name!r} itself, but has a link to it; copy the data into the "
                "file"
            )
        item = item[part]
    return item


def check_dataset(item: Any, where: str, ndim: int, kinds: str = "biuf") -> Any:
    """A dataset of this number of axes that the file can hold, of these kinds of dtype.

    Texts are of the kind "O". DataError, beginning with `where`, for any other member.
    """
    import h5py

    if not isinstance(item, h5py.Dataset):
        raise DataError(f"{where} must be an array, got a group")
    dtype = item.dtype
    is_text = h5py.check_string_dtype(dtype) is not None
    kind = "O" if is_text else dtype.kind if dtype.kind in "biuf" else ""
    if not kind or kind not in kinds:
        wanted = ", ".join(dict.fromkeys(_KINDS.get(letter, "text") for letter in kinds))
        raise DataError(f"{where} must hold {wanted}, got {'text' if is_text else dtype}")
    if item.shape is None or len(item.shape) != ndim:
        raise DataError(f"{where} must have {ndim} axes, got the shape {item.shape}")
    if item.external or item.is_virtual:
        raise DataError(f"{where} must lie in the file itself, but names other files")
    plan = item.id.get_create_plist()
    for at in range(plan.get_nfilters()):
        code = plan.get_filter(at)[0]
        if not h5py.h5z.filter_avail(code):
            raise DataError(
                f"{where} is compressed by {_FILTERS.get(code, 'a filter')} (HDF5 filter {code}), "
                "which h5py lacks; import hdf5plugin before, or write the file anew by "
                'adata.write_h5ad(path, compression="gzip")'
            )
    declared, stored = item.size * dtype.itemsize, item.id.get_storage_size()
    chunk = dtype.itemsize * int(np.prod(item.chunks or (0,), dtype=object))
    if max(declared, chunk) > _SMALL + _MOST_PACKED * stored:
        raise DataError(
            f"{where} declares {declared:,} bytes in chunks of {chunk:,}, but the file stores "
            f"{stored:,} for it; it is damaged"
        )
    if stored > os.path.getsize(item.file.filename):
        raise DataError(f"{where} declares {stored:,} bytes, more than the file has; it is damaged")
    return item


def check_memory(needed: int, where: str, way_out: str) -> None:
    """DataError unless this many bytes of memory are free."""
    free = free_memory()
    if 0 < free < needed:
        raise DataError(
            f"{where} needs {needed / 2**30:,.1f} GiB of memory, {free / 2**30:,.1f} GiB are free; "
            f"{way_out}"
        )


def read_texts(item: Any, where: str) -> NDArray[np.object_]:
    """A dataset of text as an array of str; DataError if it is not UTF-8."""
    check_dataset(item, where, 1, "O")
    check_memory(_TEXT_BYTES * item.size, where, "leave out some")
    texts = np.empty(item.size, object)
    if item.dtype.kind == "O":
        check_texts(item, Path(item.file.filename))
    most, read = os.path.getsize(item.file.filename), 0
    for start in range(0, item.size, _TEXTS_AT_ONCE):
        part = item[start : start + _TEXTS_AT_ONCE]
        read += sum(map(len, part))
        if read > most and item.dtype.kind == "O":
            raise DataError(f"{where} holds more text than the file has; it is damaged")
        for at, text in enumerate(part, start):
            try:
                texts[at] = text.decode()
            except UnicodeDecodeError:
                raise DataError(f"{where} must be UTF-8, got {text!r:.60} at {at}") from None
    return texts


def read_column(item: Any, n: int, where: str) -> NDArray[Any]:
    """A column of `obs` or `var` as n values: numbers, truth values, or objects.

    Texts and values of a column with missing ones are objects, None where missing.
    """
    import h5py

    encoding = check_encoding(item, where)
    if isinstance(item, h5py.Group):
        if encoding == "categorical":
            categories = _plain_values(member(item, "categories", where), where)
            return _decoded(member(item, "codes", where), categories, n, where)
        if not encoding.startswith("nullable-"):
            raise DataError(
                f"{where} must be a column of text, numbers, truth values or categories, got "
                f"{encoding or 'a group'}"
            )
        values = _plain_values(member(item, "values", where), where, n)
        mask = check_dataset(member(item, "mask", where), where, 1, "b")
        _check_length(mask, n, where)
        missing = mask[()]
        if missing.any():
            values = values.astype(object)
            values[missing] = None
        return values
    categories = attribute(item, "categories")
    if categories is None:
        return _plain_values(item, where, n)
    if not isinstance(categories, h5py.Reference) or not categories:
        raise DataError(f"{where} must refer to its categories, got {categories!r:.60}")
    return _decoded(item, _plain_values(item.file[categories], where), n, where)


def _plain_values(item: Any, where: str, n: int | None = None) -> NDArray[Any]:
    check_dataset(item, where, 1, "biufO")
    if n is not None:
        _check_length(item, n, where)
    if item.dtype.kind in "biuf":
        values: NDArray[Any] = item[()]
        return values
    return read_texts(item, where)


def _check_length(item: Any, n: int, where: str) -> None:
    if item.shape != (n,):
        raise DataError(f"{where} must have {n:,} values, got {item.shape[0]:,}")


def _decoded(item: Any, categories: NDArray[Any], n: int, where: str) -> NDArray[Any]:
    """Values of codes, -1 for missing ones."""
    _check_length(check_dataset(item, where, 1, "iu"), n, where)
    codes = item[()]
    if n and (codes.min() < -1 or codes.max() >= categories.size):
        raise DataError(
            f"{where} must hold codes from -1 to {categories.size - 1}, the last of its "
            f"categories, got {codes.min()} to {codes.max()}"
        )
    if np.unique(categories).size < categories.size:
        raise DataError(f"{where} must have categories that differ, got some twice")
    if n and codes.min() < 0:  # code -1 is the last
        categories = np.array([*categories.tolist(), None], object)
    values: NDArray[Any] = categories[codes]
    return values


_VERSIONS = {
    "anndata": {"0.1.0"},
    "raw": {"0.1.0"},
    "dict": {"0.1.0"},
    "array": {"0.2.0"},
    "string-array": {"0.2.0"},
    "csr_matrix": {"0.1.0"},
    "csc_matrix": {"0.1.0"},
    "dataframe": {"0.1.0", "0.2.0"},
    "categorical": {"0.2.0"},
    "nullable-integer": {"0.1.0"},
    "nullable-boolean": {"0.1.0"},
    "nullable-string-array": {"0.1.0"},
}


def check_encoding(item: Any, where: str) -> str:
    """The encoding of a member of an AnnData file, empty if it names none.

    DataError if it is none of those known here, or of another version.
    """
    encoding, version = attribute(item, "encoding-type"), attribute(item, "encoding-version")
    if encoding is None:
        return ""
    if not isinstance(encoding, str) or str(version) not in _VERSIONS.get(encoding, ()):
        raise DataError(
            f"{where} has the encoding {encoding!r:.60} {version!r:.60}, which is unknown here; "
            "write it as an array, a sparse matrix or a column of a data frame"
        )
    return encoding


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
