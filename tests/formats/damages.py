"""Damages files of very wide data at random, and reads them.

    python -m tests.formats.damages plink --times 10000

Each time, one or two files of a whole set are cut, flipped, swapped or made to lie. The set must be
refused by an error of one line, or read exactly as an independent reader reads it, in little
memory.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import math
import re
import resource
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import bed_reader
import h5py
import numpy as np

from boostsample.column_table import ColumnTable
from boostsample.errors import BoostSampleError
from boostsample.formats.h5ad import read_h5ad
from boostsample.formats.plink import PlinkData, read_plink
from tests.damages import CONTENTS, Damage

#: Sets of whole files: damages take files of another set.
_N_SETS = 6
#: Growth of the peak memory that small files may cause (bytes), and seconds for a set.
_MEMORY, _SECONDS = 2**27, 60


class Format(NamedTuple):
    """A format of files.

    `write` writes a set of whole files into an empty folder, of the same names each time; `read`
    and `naive` return what the set holds as a dictionary of arrays, lists and numbers. `damage`
    changes a set, given another one, and returns how.
    """

    write: Callable[[Path, np.random.Generator], None]
    read: Callable[[Path], dict[str, Any]]
    naive: Callable[[Path], dict[str, Any]]
    damage: Callable[[Path, Path, np.random.Generator], str]


def _lines(change: Callable[[list[bytes], np.random.Generator], None]) -> Damage:
    def damage(content: bytes, other: bytes, rng: np.random.Generator) -> bytes:
        lines = content.split(b"\n")
        change(lines, rng)
        return b"\n".join(lines)

    return damage


def _remove(lines: list[bytes], rng: np.random.Generator) -> None:
    del lines[int(rng.integers(len(lines)))]


def _repeat(lines: list[bytes], rng: np.random.Generator) -> None:
    lines.insert(int(rng.integers(len(lines))), lines[int(rng.integers(len(lines)))])


def _swap(lines: list[bytes], rng: np.random.Generator) -> None:
    i, j = rng.integers(len(lines), size=2).tolist()
    lines[i], lines[j] = lines[j], lines[i]


def _join(lines: list[bytes], rng: np.random.Generator) -> None:
    i = int(rng.integers(len(lines)))
    lines[i : i + 2] = [b" ".join(lines[i : i + 2])]


def _longer_line(lines: list[bytes], rng: np.random.Generator) -> None:
    lines[int(rng.integers(len(lines)))] += b"\t1"


#: Contents of a damaged file, from its content and that of the same or another file of another set.
DAMAGES: dict[str, Damage] = {
    **CONTENTS,
    "line removed": _lines(_remove),
    "line repeated": _lines(_repeat),
    "lines swapped": _lines(_swap),
    "lines joined": _lines(_join),
    "line of more columns": _lines(_longer_line),
    "line ends": lambda content, other, rng: content.replace(b"\n", b"\r\n"),
    "blank lines": lambda content, other, rng: content.replace(b"\n", b"\n \n"),
    "no last line end": lambda content, other, rng: content.rstrip(b"\n"),
    "half of another file": lambda content, other, rng: content[: len(other) // 2] + other,
}


def _damage(folder: Path, others: Path, rng: np.random.Generator) -> str:
    """Damage one or two files of a folder; return how."""
    paths = sorted(folder.iterdir())
    texts = []
    for at in rng.choice(len(paths), int(rng.integers(1, 3)), replace=False).tolist():
        path, kind = paths[at], list(DAMAGES)[int(rng.integers(len(DAMAGES)))]
        other = others / (path.name if rng.random() < 0.5 else paths[rng.integers(len(paths))].name)
        path.write_bytes(DAMAGES[kind](path.read_bytes(), other.read_bytes(), rng))
        texts.append(f"{path.name}: {kind}")
    return ", ".join(texts)


_PHENOTYPES = ["1", "2", "1", "2", "0", "-9", "NA"]


def write_plink_set(folder: Path, rng: np.random.Generator) -> None:
    """x.bed, x.bim and x.fam by bed-reader, and x.pheno with two phenotypes of most people."""
    n, m = int(rng.integers(5, 40)), int(rng.integers(1, 50))
    alleles = [rng.choice(list("ACGT"), 2, replace=False) for _ in range(m)]
    people = [[f"F{k // 2}", f"I{k}"] for k in range(n)]
    bed_reader.to_bed(
        folder / "x.bed",
        rng.choice(np.array([0, 1, 2, -127], np.int8), (n, m)),
        properties={
            "fid": [fid for fid, _ in people],
            "iid": [iid for _, iid in people],
            "pheno": ["1", "2", *rng.choice(_PHENOTYPES, n - 2)],
            "sid": [f"rs{k}_{k % 3}" for k in range(m)],
            "bp_position": rng.integers(0, 10**9, m),
            "allele_1": [pair[0] for pair in alleles],
            "allele_2": [pair[1] for pair in alleles],
        },
    )
    lines = [[*ids, rng.choice(_PHENOTYPES), rng.choice(["x", "y", "NA"])] for ids in people]
    lines[1][2:] = "2x"
    order = rng.permutation(n)[: n - 2]
    lines = [["FID", "IID", "a", "b"], *(lines[k] for k in {*order.tolist(), 1})]
    text = "".join(" ".join(line) + "\n" for line in lines)
    (folder / "x.pheno").write_text(text, "utf-8")


def read_with_boostsample(folder: Path) -> dict[str, Any]:
    data = read_plink(folder / "x.bed", labels=False)
    content = {
        "genotypes": data.table.columns_at(np.arange(data.table.shape[1])).T,
        "people": list(zip(data.family_ids.tolist(), data.sample_ids.tolist(), strict=True)),
        "names": data.table.column_names,
        "fam": _classes(read_plink(folder / "x")),
    }
    for name in "ab":
        read = read_plink(folder / "x", phenotype=folder / "x.pheno", phenotype_name=name)
        content[name] = _classes(read)
    return content


def _classes(data: PlinkData) -> dict[Any, Any]:
    assert data.labels is not None
    people = zip(data.family_ids.tolist(), data.sample_ids.tolist(), strict=True)
    return dict(zip(people, data.labels.tolist(), strict=True))


def read_naively(folder: Path) -> dict[str, Any]:
    fam, bim, pheno = (_fields(folder / f"x.{suffix}") for suffix in ("fam", "bim", "pheno"))
    with bed_reader.open_bed(folder / "x.bed", iid_count=len(fam), sid_count=len(bim)) as bed:
        genotypes = bed.read(dtype="float32", num_threads=1)
    people = [(line[0], line[1]) for line in fam]
    content = {
        "genotypes": genotypes,
        "people": people,
        "names": [f"{line[1]}_{'0' if line[4] == '.' else line[4]}" for line in bim],
        "fam": _naive_classes({(line[0], line[1]): line[5] for line in fam}),
    }
    assert {len(line) for line in [*fam, *bim]} == {6}
    for name in "ab":
        by_id = {(line[0], line[1]): line[pheno[0].index(name)] for line in pheno[1:]}
        content[name] = _naive_classes({key: by_id[key] for key in people if key in by_id})
    return content


def _fields(path: Path) -> list[list[str]]:
    lines = path.read_bytes().decode().split("\n")
    fields = [re.split("[ \t]+", line.removesuffix("\r").strip(" \t")) for line in lines]
    return [line for line in fields if line != [""]]


def _naive_classes(texts: dict[Any, str]) -> dict[Any, Any]:
    classes: dict[Any, Any] = {}
    for key, text in texts.items():
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if text.lower() not in ("na", "nan", "none", ".") and number != -9:
            classes[key] = text if math.isnan(number) else int(number)
    if set(classes.values()) <= {0, 1, 2}:
        return {key: value for key, value in classes.items() if value != 0}
    return classes


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


FORMATS = {
    "h5ad": Format(write_h5ad_set, read_h5ad_set, read_h5ad_naively, damage_h5ad_set),
    "plink": Format(write_plink_set, read_with_boostsample, read_naively, _damage),
}


def differences(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """Names of what differs."""
    assert first.keys() == second.keys()
    return [
        name
        for name, value in first.items()
        if not (
            np.array_equal(value, second[name], equal_nan=value.dtype.kind == "f")
            if isinstance(value, np.ndarray)
            else value == second[name]
        )
    ]


def run_damaged(
    kind: str,
    times: int,
    rng: np.random.Generator,
    say: Callable[[str], object] = lambda text: None,
) -> collections.Counter[str]:
    """Read damaged sets; how many were read, and how many refused by which error (its start)."""
    form, outcomes = FORMATS[kind], collections.Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        sets = [Path(name, f"whole{k}") for k in range(_N_SETS)]
        for folder in sets:
            folder.mkdir()
            form.write(folder, rng)
            assert differences(_quietly(form.read, folder), form.naive(folder)) == []
        most = _peak() + _MEMORY
        for k in range(times):
            folder = Path(name, "damaged")
            one, other = rng.choice(_N_SETS, 2, replace=False).tolist()
            shutil.copytree(sets[one], folder)
            how = f"case {k} ({form.damage(folder, sets[other], rng)})"
            try:
                read = _quietly(form.read, folder)
            except BoostSampleError as error:
                text = str(error)
                assert text.isprintable(), f"{how}: {text!r}"
                assert text, f"{how}: an error without a text"
                text = re.sub("[0-9][0-9,]*", "N", text.replace(str(folder), ""))
                outcomes[f"refused: {text:.70}"] += 1
            else:
                assert (wrong := differences(read, form.naive(folder))) == [], f"{how}: {wrong}"
                outcomes["read"] += 1
            assert _peak() < most, f"{how}: the peak of the memory rose to {_peak():,} bytes"
            shutil.rmtree(folder)
            if k % 500 == 499:
                say(f"{k + 1} sets: {outcomes['read']} read, the others refused")
    return outcomes


def _quietly(read: Callable[[Path], dict[str, Any]], folder: Path) -> dict[str, Any]:
    with warnings.catch_warnings(action="ignore"):
        return read(folder)


def _peak() -> int:
    """The largest memory of this process, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def main() -> int:
    """Run it, with a line for each 500 sets, and list the errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("format", choices=sorted(FORMATS))
    parser.add_argument("--times", type=int, default=10_000, help="damaged sets to be read")
    parser.add_argument("--seed", type=int, default=0)
    settings = parser.parse_args()

    def say(text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
        faulthandler.dump_traceback_later(_SECONDS, exit=True)

    say(f"reading damaged files of {settings.format}")
    rng = np.random.default_rng(settings.seed)
    outcomes = run_damaged(settings.format, settings.times, rng, say)
    for text, number in outcomes.most_common(40):
        say(f"{number:6} {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
