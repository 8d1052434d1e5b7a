"""Damages to the content of any file, and a pickle that shows that somebody has loaded it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Damage = Callable[[bytes, bytes, np.random.Generator], bytes]


class Payload:
    """Unpickling it writes a file: whoever loads it executes what a file says."""

    def __init__(self, marker: str) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return (Path.touch, (Path(self.marker),))


def payload(marker: Path) -> bytes:
    """A pickle that writes the file `marker` when it is loaded."""
    return pickle.dumps(Payload(str(marker)))


def flipped(content: bytes, rng: np.random.Generator, n_bits: int) -> bytes:
    """The content with some bits changed."""
    changed = bytearray(content)
    for bit in rng.choice(8 * len(content), min(n_bits, 8 * len(content)), replace=False).tolist():
        changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def _neighbours(content: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes beside each other, as of one structure, are others."""
    changed = bytearray(content)
    first = int(rng.integers(len(content) or 1))
    for at in range(first, min(first + int(rng.integers(1, 9)), len(content))):
        changed[at] = (0, 1, 255, int(rng.integers(256)))[rng.integers(4)]
    return bytes(changed)


def _blocks(content: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Two blocks of one size have changed places."""
    changed, size = bytearray(content), int(rng.choice([8, 64, 512, 4096]))
    a, b = (int(at) for at in rng.integers(0, len(content) // size + 1, 2) * size)
    changed[a : a + size], changed[b : b + size] = content[b : b + size], content[a : a + size]
    return bytes(changed)


def _parts(join: Callable[[bytes, bytes, bytes, np.random.Generator], bytes]) -> Damage:
    """What a function makes of three parts of the content, the middle one of few bytes or many."""

    def damage(content: bytes, other: bytes, rng: np.random.Generator) -> bytes:
        first, end = sorted(rng.integers(0, len(content) + 1, 2).tolist())
        end = min(end, first + int(rng.choice([1, 8, 64, 512, 4096, len(content)])))
        return join(content[:first], content[first:end], content[end:], rng)

    return damage


#: Contents of a damaged file, from its content and that of another file.
CONTENTS: dict[str, Damage] = {
    "bit": lambda content, other, rng: flipped(content, rng, 1),
    "bits": lambda content, other, rng: flipped(content, rng, int(rng.integers(2, 40))),
    "neighbours": _neighbours,
    "blocks swapped": _blocks,
    "a part removed": _parts(lambda first, middle, last, rng: first + last),
    "a part doubled": _parts(lambda first, middle, last, rng: first + middle + middle + last),
    "parts in another order": _parts(lambda first, middle, last, rng: last + middle + first),
    "a part of zeros": _parts(lambda first, middle, last, rng: first + bytes(len(middle)) + last),
    "a part of noise": _parts(
        lambda first, middle, last, rng: first + rng.bytes(int(rng.integers(1, 40))) + last
    ),
    "empty": lambda content, other, rng: b"",
    "cut": lambda content, other, rng: content[: int(rng.integers(len(content) or 1))],
    "headless": lambda content, other, rng: content[int(rng.integers(1, len(content) or 2)) :],
    "longer": lambda content, other, rng: content + rng.bytes(int(rng.integers(1, 99))),
    "zeros": lambda content, other, rng: bytes(len(content)),
    "zeros at the end": lambda content, other, rng: content[:4096].ljust(len(content) + 1, b"\0"),
    "noise": lambda content, other, rng: rng.bytes(int(rng.integers(1, 9999))),
    "another file": lambda content, other, rng: other,
    "another checksum": lambda content, other, rng: other[:32] + content[32:],
    "another pickle": lambda content, other, rng: pickle.dumps({"key": "data"}),
    "text": lambda content, other, rng: b"<!DOCTYPE html>\n",
}


def damaged(content: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """The content with a damage drawn at random."""
    return CONTENTS[list(CONTENTS)[rng.integers(len(CONTENTS))]](content, other, rng)
