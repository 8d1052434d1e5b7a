"""Damages to the content of files: random bytes, and what a foe would write."""

from __future__ import annotations

import io
import json
import re
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from boostsample.files.archive import archive_bytes, archive_entries
from tests.damages import Payload, flipped, payload
from tests.damages import damaged as any_damage

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
