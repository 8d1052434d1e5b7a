"""AnnData files that are damaged in their bytes or by h5py, and a plain reader of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from boostsample.column_table import ColumnTable
from boostsample.formats.h5ad import read_h5ad
from tests.damages import CONTENTS

FILES = Path(__file__).with_name("files")
NAMES = ("dense", "chunked", "csr", "csc", "concatenated", "scanpy", "old")


def write_h5ad_set(folder: Path, rng: np.random.Generator) -> None:
    """x.h5ad, one of the files of anndata, and the name of a layer of it in layer.txt."""
    source = FILES / f"{NAMES[rng.integers(len(NAMES))]}.h5ad"
    shutil.copy(source, folder / "x.h5ad")
    with h5py.File(source) as file:
        layers = ["", *file["layers"], *(["raw"] if "raw" in file else [])]
    layer = layers[rng.integers(len(layers))]
    # lzf leaves bytes undefined where a chunk is damaged.
    (folder / "layer.txt").write_text("" if layer == "lzf" else layer, "utf-8")


def read_h5ad_set(folder: Path) -> dict[str, Any]:
    """What `read_h5ad` reads."""
    table = read_h5ad(folder / "x.h5ad", "kind", layer=_layer(folder))
    X = table.X
    if isinstance(X, ColumnTable):
        columns = np.random.default_rng(0).permutation(X.shape[1])
        values = np.empty(X.shape, np.float32)
        values[:, columns] = X.columns_at(columns).T
    else:
        values = X.toarray()
    assert table.y is not None
    return {"X": values, "y": table.y.tolist()}


def _layer(folder: Path) -> str | None:
    return (folder / "layer.txt").read_text("utf-8") or None


# ----------------------------------------------------------------------------------------- damages


def _members(file: Any) -> list[Any]:
    members: list[Any] = []
    file.visititems(lambda name, item: members.append(item))
    return members


def _arrays(file: Any) -> list[Any]:
    members = (item for item in _members(file) if isinstance(item, h5py.Dataset))
    return [item for item in members if item.ndim and item.size]


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
    data = _arrays(file)
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
    data = _arrays(file)
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
        chunks = tuple(min(n, int(rng.choice([10, 1000]))) for n in shape)
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


def damage_h5ad_set(folder: Path, others: Path, rng: np.random.Generator) -> str:
    """Damage x.h5ad; return how."""
    path = folder / "x.h5ad"
    kind = int(rng.integers(len(CONTENTS) + len(LIES)))
    if kind < len(LIES):
        with h5py.File(path, "r+") as file:
            LIES[kind](file, rng)
        return LIES[kind].__name__
    name = list(CONTENTS)[kind - len(LIES)]
    other = (others / "x.h5ad").read_bytes()
    path.write_bytes(CONTENTS[name](path.read_bytes(), other, rng))
    return name


def read_h5ad_naively(folder: Path) -> dict[str, Any]:
    """The matrix (n, d) and the labels of a file, by plain loops, without any check."""
    layer = _layer(folder)
    with h5py.File(folder / "x.h5ad") as file:
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
        return {"X": values, "y": [texts[code] for code in codes.tolist()]}


def _bytes(matrix: Any) -> bytes:
    encoding = matrix.attrs["encoding-type"]
    return encoding.encode() if isinstance(encoding, str) else bytes(encoding)
