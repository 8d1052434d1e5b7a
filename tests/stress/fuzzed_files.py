"""Damaged files of every kind that we read: read correctly, or refused in one clear line.

Files are damaged as `tests.stress.fuzzed_files` does. Another exception than ours, or a pickle that
was loaded, is a fault.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from boostsample import BoostSampleClassifier
from boostsample.banks.bank_forms import make_bank
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.grid import combined_grid, read_grid_file
from boostsample.families import Columns
from boostsample.files.archive import archive_bytes, archive_entries
from tests.damages import Payload, flipped, payload
from tests.damages import damaged as any_damage
from tests.stress.fit_invariants import refusal


class Kind(NamedTuple):
    """Files of a kind: `make` writes good ones into a folder and returns those to damage."""

    make: Callable[[Path], list[str]]
    read: Callable[[Path], object]


def _table() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 30)
    return rng.normal(size=(30, 4)).round(2) + y[:, None], y


def _text(separator: str) -> Callable[[Path], list[str]]:
    def make(folder: Path) -> list[str]:
        X, y = _table()
        rows = ([*map(str, row), f"k{k}"] for row, k in zip(X, y, strict=True))
        lines = [["a", "b", "c d", "e", "y"], *rows]
        name = "data.csv" if separator == "," else "data.tsv"
        (folder / name).write_text("".join(f"{separator.join(line)}\n" for line in lines))
        return [name]

    return make


def _npz(folder: Path) -> list[str]:
    X, y = _table()
    np.savez_compressed(folder / "data.npz", X=X.astype("f4"), y=y)
    return ["data.npz"]


def _svmlight(folder: Path) -> list[str]:
    X, y = _table()
    dump_svmlight_file(sp.csr_matrix(X), y, str(folder / "data.svm"))
    return ["data.svm"]


def _parquet(folder: Path) -> list[str]:
    import pandas as pd

    X, y = _table()
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).to_parquet(folder / "data.parquet")
    return ["data.parquet"]


def _grid(folder: Path) -> list[str]:
    (folder / "grid.toml").write_text(
        'title = "t"\ndata = ["digits", { path = "x.csv", label = "y" }]\nrounds = [1, 10]\n'
        'strategies = ["laminating", { name = "ucb", exploration = [0.02, 2] }]\nbudget = "10N"\n'
        "repeats = 2\nseed = 3\ntune = true\n"
    )
    return ["grid.toml"]


def _model(folder: Path) -> list[str]:
    _fitted("stump").save(folder / "stump.bsm")
    _fitted("tree:n_leaves=3", calibration="temperature").save(folder / "tree.bsm")
    _fitted("product:n_terms=2").save(folder / "product.bsm")
    return ["stump.bsm", "tree.bsm", "product.bsm"]


def _fitted(learner: str, **settings: Any) -> BoostSampleClassifier:
    return BoostSampleClassifier("ucb", learner, n_rounds=5, random_state=0, **settings).fit(
        *_table()
    )


def _checkpoint(folder: Path) -> list[str]:
    _fitted("tree:n_leaves=3", checkpoint=folder / "a.checkpoint", checkpoint_seconds=0)
    return ["a.checkpoint"]


def _bank(folder: Path) -> list[str]:
    _disk_bank(folder)
    return [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]


def _disk_bank(folder: Path) -> Any:
    os.environ["BOOSTSAMPLE_CACHE_DIR"] = str(folder / "cache")
    return make_bank("disk", [Columns(range(4), n_columns=4)], _table()[0])


def _read_bank(folder: Path) -> None:
    """A damaged bank is built again: it never gives other bins."""
    X = _table()[0]
    right = make_bank("memory", [Columns(range(4), n_columns=4)], X)
    bank, every = _disk_bank(folder), np.arange(4)
    assert (bank.take(every, np.arange(30)) == right.take(every, np.arange(30))).all()
    assert (bank.cuts_of(every) == right.cuts_of(every)).all()


def _read_data(name: str) -> Callable[[Path], None]:
    def read(folder: Path) -> None:
        label: dict[str, Any] = {"label": "y"} if name.endswith(("csv", "tsv", "parquet")) else {}
        data = load_dataset(str(folder / name), **label)
        assert data.X.shape[0] == len(data.y)
        assert int(data.y.max()) < len(data.classes)

    return read


def _read_model(folder: Path) -> None:
    for path in sorted(folder.glob("*.bsm")):
        model = BoostSampleClassifier.load(path)
        X = _table()[0]
        assert np.isfinite(model.decision_function(X)).all()
        model.predict(X)
        assert np.isfinite(model.predict_proba(X)).all()


def _read_checkpoint(folder: Path) -> None:
    path = folder / "a.checkpoint"
    model = _fitted("tree:n_leaves=3", checkpoint=path, checkpoint_seconds=60)
    assert np.isfinite(model.decision_function(_table()[0])).all()


KINDS: dict[str, Kind] = {
    "csv": Kind(_text(","), _read_data("data.csv")),
    "tsv": Kind(_text("\t"), _read_data("data.tsv")),
    "npz": Kind(_npz, _read_data("data.npz")),
    "svmlight": Kind(_svmlight, _read_data("data.svm")),
    "parquet": Kind(_parquet, _read_data("data.parquet")),
    "grid": Kind(_grid, lambda folder: combined_grid(read_grid_file(folder / "grid.toml"), {})),
    "model": Kind(_model, _read_model),
    "checkpoint": Kind(_checkpoint, _read_checkpoint),
    "bank": Kind(_bank, _read_bank),
}


def check_file(kind: str, good: Path, names: Sequence[str], number: int, seed: int = 0) -> str:
    """ "read", or the line that refuses the file; AssertionError if it is neither."""
    rng = np.random.default_rng([seed, number, zlib.crc32(kind.encode())])
    with tempfile.TemporaryDirectory() as place:
        folder, marker = Path(place) / "files", Path(place) / "marker"
        shutil.copytree(good, folder)
        path = folder / names[int(rng.integers(len(names)))]
        path.write_bytes(damaged(path.read_bytes(), rng, marker))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", ".* becomes categories, because", RuntimeWarning)
            try:
                KINDS[kind].read(folder)
                text = "read"
            except AssertionError:
                raise
            except Exception as error:
                text = refusal(error, most=1010)  # names and values of the file stand in it
        assert not marker.exists(), "a pickle was loaded"
    return text


_BOMB = 2**30  # bytes of a member that packs a thousand times


def damaged(content: bytes, rng: np.random.Generator, marker: Path) -> bytes:
    """The content with one to three random damages.

    A third of the archives get one wrong entry and a right checksum instead, since a wrong checksum
    hides whatever else is wrong.
    """
    if content[:2] == b"PK" and rng.random() < 1 / 3:
        return _other_values(content, rng)
    for _ in range(rng.integers(1, 4)):
        content = _once(content, rng, marker)
    return content


def _once(content: bytes, rng: np.random.Generator, marker: Path) -> bytes:
    is_zip = content[:2] == b"PK"
    draw = rng.random()
    if is_zip and draw < 0.25:
        return _other_member(content, rng, marker)
    if is_zip and draw < 0.5:
        return _other_values(content, rng)
    if content[:1] == b"{" and draw < 0.5:
        return _other_json(content, rng)
    if draw > 0.98:
        return payload(marker)
    if draw > 0.8:
        at = int(rng.integers(0, len(content) + 1))
        text = (b"[" * 100_000, b'\x00\xff\r\n"')[rng.integers(2)]
        return content[:at] + text + content[at:]
    return _other_number(content, rng) if draw > 0.6 else any_damage(content, content, rng)


def _other_number(content: bytes, rng: np.random.Generator) -> bytes:
    """One of the numbers in a text, or of the words in a header, is another one."""
    numbers = [b"0", b"-1", b"99999999999999999999", b"1e999", b"nan", b"", b"4294967295"]
    places = list(re.finditer(rb"-?[0-9]+", content[:20_000]))
    if not places:
        return content
    place = places[rng.integers(len(places))]
    new = numbers[rng.integers(len(numbers))]
    return content[: place.start()] + new + content[place.end() :]


def _members(content: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except Exception:
        return {}  # damaged before


def _zipped(members: list[tuple[str, bytes]]) -> bytes:
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # two members of one name
        for name, content in members:
            archive.writestr(name, content)
    return stream.getvalue()


def _npy(shape: str, descr: str = "'<f8'") -> bytes:
    """An .npy file whose header says more than there is."""
    head = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(64)


def _other_member(content: bytes, rng: np.random.Generator, marker: Path) -> bytes:
    """One member is missing, swapped, foreign, a bomb, or a pickle."""
    members = _members(content)
    if not members:
        return content
    names = list(members)
    name, other = names[rng.integers(len(names))], names[rng.integers(len(names))]
    objects = io.BytesIO()
    np.save(objects, np.array([Payload(str(marker))], object), allow_pickle=True)
    draw = int(rng.integers(9))
    if draw == 0:
        members.pop(name)
    elif draw == 1:
        members[name], members[other] = members[other], members[name]
    elif draw == 2 and rng.random() < 0.02 and len(content) < _BOMB >> 11:  # seconds for each
        members[name] = members[name][:128].ljust(_BOMB, b"\0")
    elif draw == 3:
        members[name] = objects.getvalue()
    elif draw == 4:
        members[name] = payload(marker)
    elif draw == 5:
        shapes = ("(1000000000000,)", "(-1,)", "(3, -3)", "(" * 200, "(2**70,)", "(0, 99999999999)")
        members[name] = _npy(shapes[rng.integers(len(shapes))])
    elif draw == 6:
        kinds = ("'|O'", "[('a', '<f8')]", "'<U9'", "'V0'", "'<M8[s]'", "__import__('os')")
        members[name] = _npy("(8,)", kinds[rng.integers(len(kinds))])
    elif draw == 7:
        return _zipped([*members.items(), (name, members[other])])
    else:
        members[name] = flipped(members[name], rng, int(rng.integers(1, 9)))
    return _zipped(list(members.items()))


def _other_values(content: bytes, rng: np.random.Generator) -> bytes:
    """An archive of ours with a right checksum and a wrong entry."""
    try:
        entries = dict(archive_entries(content))
    except Exception:
        return content  # damaged before, or not an archive of ours
    name = list(entries)[rng.integers(len(entries))]
    entry = entries[name]
    if entry.dtype == np.uint8 and entry.size and entry.reshape(-1)[0] in b"{[":
        text = _other_json(entry.tobytes(), rng)
        entries[name] = np.frombuffer(text, np.uint8)
        return archive_bytes(entries)
    if entry.dtype.kind not in "biuf":
        return content  # made text before
    wrong: list[Callable[[], Any]] = [
        lambda: entry[:0],
        lambda: entry[..., :-1] if entry.ndim else entry,
        lambda: np.concatenate([entry, entry]) if entry.ndim else entry,
        lambda: entry.astype("f8") * np.nan,
        lambda: entry.astype("f8") * -1e300,
        lambda: (np.zeros_like(entry) - 1).astype(entry.dtype),
        lambda: np.full_like(entry, 127),
        lambda: entry.astype("i8") + 2**40,
        lambda: entry[None],
        lambda: entry.reshape(-1)[::-1].reshape(entry.shape),
        lambda: entry.astype("S4"),
        lambda: rng.permutation(entry) if entry.ndim else entry,
    ]
    with np.errstate(all="ignore"):
        entries[name] = np.asarray(wrong[rng.integers(len(wrong))]())
    return archive_bytes(entries)


def _other_json(content: bytes, rng: np.random.Generator) -> bytes:
    """JSON text with one value replaced, removed or nested deeply."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return content
    holder, key = _place(value, rng)
    if holder is None:
        return content
    others: list[Any] = [
        None,
        True,
        -1,
        10**30,
        1.5,
        float("nan"),
        "",
        "x" * 9,
        "\ud800",
        [],
        {},
        [[]],
        "../x",
    ]
    draw = rng.random()
    if draw < 0.2:
        del holder[key]
    elif draw < 0.25:
        holder[key] = "DEEP"
    else:
        holder[key] = others[rng.integers(len(others))]
    text = json.dumps(value, sort_keys=True)
    return text.replace('"DEEP"', "[" * 20_000 + "]" * 20_000).encode("ascii")


def _place(value: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """A random container inside a JSON value, and one of its keys."""
    place: tuple[Any, Any] = (None, None)
    while isinstance(value, dict | list) and value:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = keys[rng.integers(len(keys))]
        place, value = (value, key), value[key]
        if rng.random() < 0.2:
            break
    return place
