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
import re
import resource
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from boostsample.errors import BoostSampleError
from tests.damages import CONTENTS, Damage
from tests.formats.h5ad_sets import (
    damage_h5ad_set,
    read_h5ad_naively,
    read_h5ad_set,
    write_h5ad_set,
)
from tests.formats.plink_sets import read_naively, read_with_boostsample, write_plink_set

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
