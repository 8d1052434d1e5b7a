"""Damages AnnData files at random, and reads them.

    python -m tests.formats.h5ad_damages --times 10000

Each file must give one DataError or SettingError of one line, or the values that it holds, as
`naive_values` reads them, within `MEMORY` bytes and `SECONDS`. A process reads many files; one that
crashes or takes too long is counted, and the next goes on.
"""

from __future__ import annotations

import argparse
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from boostsample.column_table import ColumnTable
from boostsample.errors import BoostSampleError
from boostsample.formats.h5ad import AnnotatedTable, read_h5ad

FILES = Path(__file__).with_name("files")
NAMES = ("dense", "chunked", "csr", "csc", "concatenated", "scanpy", "old")
MEMORY, SECONDS = 2**29, 6
"""What reading a file of a few KB may take, beside what the process has."""


# ----------------------------------------------------------------------------------------- damages


def _flip(content: bytearray, rng: np.random.Generator) -> None:
    for _ in range(rng.integers(1, 20)):
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))


def _flip_near(content: bytearray, rng: np.random.Generator) -> None:
    """Change bytes beside each other, as of one structure."""
    first = int(rng.integers(len(content)))
    for at in range(first, min(first + int(rng.integers(1, 9)), len(content))):
        content[at] = (0, 1, 255, int(rng.integers(256)))[rng.integers(4)]


def _cut(content: bytearray, rng: np.random.Generator) -> None:
    del content[rng.integers(len(content)) :]


def _swap(content: bytearray, rng: np.random.Generator) -> None:
    size = int(rng.choice([8, 64, 512, 4096]))
    a, b = (int(at) for at in rng.integers(0, len(content) // size, 2) * size)
    content[a : a + size], content[b : b + size] = content[b : b + size], content[a : a + size]


def _zeros(content: bytearray, rng: np.random.Generator) -> None:
    size, first = int(rng.choice([8, 64, 512, 4096])), int(rng.integers(len(content)))
    content[first : first + size] = bytes(len(content[first : first + size]))


def _without_a_part(content: bytearray, rng: np.random.Generator) -> None:
    first = int(rng.integers(len(content)))
    del content[first : first + int(rng.choice([1, 8, 512, 4096]))]


BYTES: tuple[Callable[[bytearray, np.random.Generator], None], ...] = (
    _flip,
    _flip_near,
    _cut,
    _swap,
    _zeros,
    _without_a_part,
)


def _members(file: Any) -> list[Any]:
    members: list[Any] = []
    file.visititems(lambda name, item: members.append(item))
    return members


def _numbers(size: int, rng: np.random.Generator) -> Any:
    kind = rng.integers(4)
    if kind == 0:
        return rng.integers(-(2**62), 2**62, size)
    if kind == 1:
        return rng.normal(0, 1, size) * 10.0 ** rng.integers(-50, 50)
    if kind == 2:
        return rng.choice(np.array([-1, 0, 1, 13, 14, 29, 30, 2**31 - 1]), size)
    return rng.choice(np.array([np.nan, np.inf, -np.inf, 0, 1e39]), size)


def _wrong_values(file: Any, rng: np.random.Generator) -> None:
    data = [item for item in _members(file) if isinstance(item, h5py.Dataset) and item.size]
    item = data[rng.integers(len(data))]
    values = item[()].reshape(-1)
    places = rng.integers(values.size, size=rng.integers(1, 4))
    with np.errstate(all="ignore"):
        if item.dtype.kind == "O":
            values[places] = [b"\xff\xfe", b"", values[0], b"x" * 1000][rng.integers(4)]
        else:
            values[places] = _numbers(places.size, rng).astype(values.dtype)
    item[...] = values.reshape(item.shape)


def _other_dataset(file: Any, rng: np.random.Generator) -> None:
    """Give a member another shape or dtype, or declare what is not stored."""
    data = [item for item in _members(file) if isinstance(item, h5py.Dataset) and item.size]
    item = data[rng.integers(len(data))]
    name, parent, attributes = item.name, item.parent, dict(item.attrs)
    old, dtype = item[()], item.dtype
    del file[name]
    kind = rng.integers(4)
    if kind == 0:
        shape = tuple(int(n) for n in rng.choice([0, 1, 13, 14, 29, 30, 31], old.ndim))
        item = parent.create_dataset(name, shape, dtype)
    elif kind == 1:
        shape = tuple(int(n) for n in rng.choice([30, 10**6, 10**12], old.ndim))
        chunks = tuple(min(n, int(rng.choice([10, 10**4]))) for n in shape)
        packing = (None, "gzip")[rng.integers(2)]
        item = parent.create_dataset(name, shape, dtype, chunks=chunks, compression=packing)
        if rng.integers(2):
            item[tuple(0 for _ in shape)] = old.reshape(-1)[0]
    elif kind == 2:
        other = rng.choice(["i1", "u8", "f2", "f4", "f8", "?", "S3", ">i4", "c8"])
        values = np.ones(old.shape) if old.dtype.kind == "O" else old
        item = parent.create_dataset(name, data=values.astype(other))
    else:
        item = parent.create_dataset(name, data=old.reshape(-1)[: old.size // 2], dtype=dtype)
    item.attrs.update(attributes)


def _other_attribute(file: Any, rng: np.random.Generator) -> None:
    items = [item for item in (file, *_members(file)) if len(item.attrs)]
    item = items[rng.integers(len(items))]
    name = list(item.attrs)[rng.integers(len(item.attrs))]
    wrong = [b"\xff", "array", "csr_matrix", "csc_matrix", "categorical", "dataframe", -1, 1e9]
    wrong += [[30, 13], [-1, 14], [2**40, 2**40], [14, 30], [30.0, 14.0], [30], "", "_index", "X"]
    kind = rng.integers(len(wrong) + 1)
    if kind == len(wrong):
        del item.attrs[name]
    else:
        item.attrs[name] = wrong[kind]


def _moved(file: Any, rng: np.random.Generator) -> None:
    """Remove a member, or put one of another place there."""
    members = _members(file)
    first, second = (members[at].name for at in rng.integers(len(members), size=2))
    if first.startswith(second) or second.startswith(first) or rng.integers(2):
        del file[first]
    else:
        del file[first]
        file[first] = file[second]


LIES: tuple[Callable[[Any, np.random.Generator], None], ...] = (
    _wrong_values,
    _other_dataset,
    _other_attribute,
    _moved,
)


def damage(seed: int, folder: Path) -> tuple[Path, str | None]:
    """A damaged file, and the layer to read; the same for the same seed."""
    rng = np.random.default_rng(seed)
    name = NAMES[seed % len(NAMES)]
    source = FILES / f"{name}.h5ad"
    with h5py.File(source) as file:
        layers = [None, *file["layers"], *(["raw"] if "raw" in file else [])]
    layer = layers[rng.integers(len(layers))]
    content = bytearray(source.read_bytes())
    kind = rng.integers(len(BYTES) + len(LIES))
    if kind < len(BYTES):
        BYTES[kind](content, rng)
    path = folder / "x.h5ad"
    path.write_bytes(content)
    if kind >= len(BYTES):
        with h5py.File(path, "r+") as file:
            LIES[kind - len(BYTES)](file, rng)
    return path, layer


# ----------------------------------------------------------------------------------------- reading


def naive_values(path: Path, layer: str | None) -> tuple[Any, list[Any]]:
    """The matrix (n, d) and the labels of a file, by plain loops, without any check."""
    with h5py.File(path) as file:
        place = "X" if layer is None else "raw/X" if layer == "raw" else f"layers/{layer}"
        matrix, kind = file[place], file["obs/kind"]
        if isinstance(matrix, h5py.Dataset):
            with np.errstate(over="ignore"):
                values = matrix[()].astype(np.float32)
        else:
            values = np.zeros([int(n) for n in matrix.attrs["shape"]], np.float32)
            indptr, by_row = matrix["indptr"][()].tolist(), b"csr" in _bytes(matrix)
            indices, data = matrix["indices"][()].tolist(), matrix["data"][()].tolist()
            for major in range(len(indptr) - 1):
                for at in range(indptr[major], indptr[major + 1]):
                    cell = (major, indices[at]) if by_row else (indices[at], major)
                    values[cell] += np.float32(data[at])
        if isinstance(kind, h5py.Group):
            codes, categories = kind["codes"][()], kind["categories"][()]
        elif "categories" in kind.attrs:
            codes, categories = kind[()], file[kind.attrs["categories"]][()]
        else:
            codes, categories = np.arange(kind.size), kind[()]
        texts = [text.decode() if isinstance(text, bytes) else text for text in categories.tolist()]
        return values, [texts[code] for code in codes.tolist()]


def _bytes(matrix: Any) -> bytes:
    encoding = matrix.attrs["encoding-type"]
    return encoding.encode() if isinstance(encoding, str) else bytes(encoding)


def outcome(seed: int, folder: Path) -> str:
    """How reading a damaged file ends; AssertionError if it is not as it must be."""
    path, layer = damage(seed, folder)
    try:
        table = read_h5ad(path, "kind", layer=layer)
        X = table.X
        if isinstance(X, ColumnTable):
            columns = np.random.default_rng(seed).permutation(X.shape[1])
            values = np.empty(X.shape, np.float32)
            values[:, columns] = X.columns_at(columns).T
        else:
            values = X.toarray()
    except BoostSampleError as error:
        message = str(error)
    else:
        return _compared(path, layer, table, values)
    assert "\n" not in message, message
    assert "memory alloc" not in message, message
    assert "more memory" not in message, message
    return "refused"


def _compared(path: Path, layer: str | None, table: AnnotatedTable, values: Any) -> str:
    expected, labels = naive_values(path, layer)
    assert table.y is not None
    if layer != "lzf":  # which leaves bytes undefined where they are damaged
        np.testing.assert_allclose(values, expected, rtol=1e-6)
    assert table.y.tolist() == labels
    return "read"


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _work(first: int, last: int) -> None:
    """Read the files of some seeds; print the seed before, and how it ended after."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, last):
            _write(f"{seed} ")
            signal.alarm(SECONDS)
            try:
                _write(outcome(seed, Path(folder)) + "\n")
            except Exception:
                _write(f"WRONG {traceback.format_exc()!r}\n")
            signal.alarm(0)


def main() -> int:
    """Read damaged files in processes; return how many ended as they must not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--work", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        _work(*options.work)
        return 0
    counts, first, last = Counter[str](), options.first, options.first + options.times
    while first < last:
        command = [sys.executable, "-W", "ignore", "-m", "tests.formats.h5ad_damages", "--work"]
        run = subprocess.run(
            [*command, str(first), str(last)], stdout=subprocess.PIPE, text=True, check=False
        )
        for line in run.stdout.splitlines():
            seed, _, how = line.partition(" ")
            first = int(seed) + 1
            how = how or f"CRASHED ({run.returncode})"
            counts[how.split()[0]] += 1
            if how not in ("read", "refused"):
                _write(f"{seed} {how}\n")
        if not run.stdout:
            _write(f"nothing was read: {run.returncode}\n")
            return 1
    _write(f"{dict(counts)}\n")
    return counts.total() - counts["read"] - counts["refused"]


if __name__ == "__main__":
    sys.exit(min(main(), 1))
