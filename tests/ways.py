"""The generated parts of docs/architecture.md: the rooms, and three ways through them.

    python -m tests.ways

prints them. A room is a folder of the package, or a module that lies in no folder. The ways are
traced from real calls: direct calls from one room to another count, except those of callbacks
(functions defined in functions), of generators (their items are values) and of module bodies.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import graphlib
import inspect
import io
import os
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import numpy as np

from tests.paths import ROOT

Edges = set[tuple[str, str]]

TOPS = ("boostsample", "strategies", "families", "experiments")


@functools.cache
def room_of(file: str) -> str | None:
    """The room of a source file, None for files of other packages."""
    path = Path(file).resolve()
    if not path.is_relative_to(ROOT) or path.suffix != ".py":
        return None
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[0] not in TOPS:
        return None
    if parts[0] in ("strategies", "families"):
        return parts[0]
    return parts[1]


def edges_of(work: Callable[[], object]) -> Edges:
    """The calls from room to room while `work` runs in this thread."""
    found: Edges = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code, caller = frame.f_code, frame.f_back
        if event != "call" or caller is None or code.co_name.startswith("<"):
            return
        if "<locals>" in code.co_qualname or caller.f_code.co_name == "<module>":
            return
        if code.co_flags & inspect.CO_GENERATOR:  # its items are values
            return
        here, there = room_of(caller.f_code.co_filename), room_of(code.co_filename)
        if here is not None and there is not None and here != there:
            found.add((here, there))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def compare() -> None:
    """`boostsample compare` of three strategies on synthetic data."""
    from boostsample.experiments.commands.cli import main

    command = "compare --data chess --strategies uniform-naive,ucb,mas-q1 --rounds 5,10 --repeats 1"
    silent = contextlib.redirect_stdout(io.StringIO())
    with _empty_folder(), silent, contextlib.suppress(SystemExit):
        main([*command.split(), "--backend", "serial", "--quiet"])


def fit() -> None:
    """`fit` and `predict` of the classifier."""
    from boostsample import BoostSampleClassifier

    X, y = _problem()
    model = BoostSampleClassifier("ucb", n_rounds=5, random_state=0)
    model.fit(X, y).predict(X)


def one_round() -> Callable[[], object]:
    """One round of a booster."""
    from boostsample import Booster, FeatureBank
    from boostsample.families import Columns
    from boostsample.labels import encode
    from boostsample.registry import make_strategy

    X, y = _problem()
    bank = FeatureBank.build([Columns(range(X.shape[1]), "columns")], X)
    booster = Booster(bank, None, encode(y, 2), make_strategy("mas-q1"), rng=0)
    for _ in range(3):
        booster.next_round()
    return booster.next_round


def _problem() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8)).astype(np.float32)
    return X, (X[:, 0] > X[:, 1]).astype(int)


@contextlib.contextmanager
def _empty_folder() -> Iterator[None]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


#: The three ways by name; each makes the work that is traced.
WAYS: dict[str, Callable[[], Callable[[], object]]] = {
    "compare": lambda: compare,
    "fit": lambda: fit,
    "round": one_round,
}


def levels_of(edges: Edges) -> dict[str, int]:
    """The level of each room: 0 is entered first, and every call leads to a larger level.

    Raises graphlib.CycleError where a room is entered again by a room that it has called.
    """
    callers: dict[str, set[str]] = {}
    for here, there in edges:
        callers.setdefault(here, set())
        callers.setdefault(there, set()).add(here)
    level: dict[str, int] = {}
    for room in graphlib.TopologicalSorter(callers).static_order():
        level[room] = 1 + max((level[caller] for caller in callers[room]), default=-1)
    return level


def drawing(edges: Edges) -> str:
    """One line for each level: the rooms, and the rooms below that they call."""
    level = levels_of(edges)
    wide = max(map(len, level)) + 2
    lines = []
    for room in sorted(level, key=lambda room: (level[room], room)):
        calls = sorted((b for a, b in edges if a == room), key=lambda b: (level[b], b))
        lines.append(f"{level[room]:2}  {room:{wide}}{'-> ' + ', '.join(calls) if calls else ''}")
    return "\n".join(line.rstrip() for line in lines)


def rooms_table() -> str:
    """The layers of the import contract from top to bottom, each room with its subject."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = {c["containers"][0]: c["layers"] for c in contracts if c["type"] == "layers"}
    lines = ["| room | subject |", "| --- | --- |"]
    for layer in layers["boostsample"]:
        for room in layer.split(" | "):
            if room == "experiments":
                inner = [
                    name for part in layers["boostsample.experiments"] for name in part.split(" | ")
                ]
                lines += [
                    f"| `experiments/{name}/` | {_subject(f'experiments/{name}')} |"
                    for name in inner
                ]
            elif not room.startswith("_"):
                place = room if room in TOPS else f"boostsample/{room}"
                ending = "/" if (ROOT / place).is_dir() else ".py"
                lines.append(f"| `{place}{ending}` | {_subject(place)} |")
    return "\n".join(lines)


def _subject(place: str) -> str:
    """The first line of the docstring of a room."""
    path = ROOT / place
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return text.partition("\n")[0].rstrip(".")


def parts() -> dict[str, str]:
    """The generated parts by the names of their places in the document."""
    found = {"rooms": rooms_table()}
    for name, make in WAYS.items():
        found[name] = f"```\n{drawing(edges_of(make()))}\n```"
    return found


if __name__ == "__main__":
    for _name, _text in parts().items():
        sys.stdout.write(f"<!-- {_name} -->\n\n{_text}\n\n<!-- end -->\n\n")
