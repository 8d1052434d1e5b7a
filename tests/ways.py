"""The generated parts of docs/architecture.md: the rooms, and three ways through them.

    python -m tests.ways

prints them. A room is a folder of the package, or a module that lies in no folder. The ways are
traced from real calls, in all threads: the caller of a frame is the nearest frame of ours on the
stack, whatever lies between. Nothing is exempt but the bodies of modules (imports).
"""

from __future__ import annotations

import ast
import contextlib
import functools
import graphlib
import io
import os
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import numpy as np

from tests.paths import ROOT

Edges = set[tuple[str, str]]
#: Edges, each with the qualified names of the functions that are called.
Calls = dict[tuple[str, str], set[str]]

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


#: Functions that lower rooms call back, by their qualified names.
CALLBACKS = {
    "TargetSearch.__call__": "a learner searches a stump for its targets",
    "BoostSampleClassifier.__sklearn_tags__": "scikit-learn asks, when X and y are checked",
}


def calls_of(work: Callable[[], object]) -> Calls:
    """The calls from room to room while `work` runs, in all threads that it starts."""
    calls: Calls = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        callee = room_of(frame.f_code.co_filename) if event == "call" else None
        if callee is None or frame.f_code.co_name == "<module>":
            return
        caller = frame.f_back
        while caller is not None and room_of(caller.f_code.co_filename) is None:
            caller = caller.f_back
        if caller is None or caller.f_code.co_name == "<module>":
            return
        room = room_of(caller.f_code.co_filename)
        if room is not None and room != callee:
            calls.setdefault((room, callee), set()).add(frame.f_code.co_qualname)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def edges_of(calls: Calls) -> Edges:
    """The edges that are more than calls of callbacks."""
    return {edge for edge, names in calls.items() if names - CALLBACKS.keys()}


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
    for caller, callee in edges:
        callers.setdefault(caller, set())
        callers.setdefault(callee, set()).add(caller)
    level: dict[str, int] = {}
    for room in graphlib.TopologicalSorter(callers).static_order():
        level[room] = 1 + max((level[caller] for caller in callers[room]), default=-1)
    return level


def drawing(calls: Calls) -> str:
    """One line for each level: the rooms, the rooms below that they call, and callbacks."""
    edges = edges_of(calls)
    level = levels_of(edges)
    wide = max(map(len, level)) + 2
    lines = []
    for room in sorted(level, key=lambda room: (level[room], room)):
        below = sorted((b for a, b in edges if a == room), key=lambda b: (level[b], b))
        back = sorted(b for a, b in calls.keys() - edges if a == room)
        texts = [*below, *(f"{name} (callback)" for name in back)]
        lines.append(f"{level[room]:2}  {room:{wide}}{'-> ' + ', '.join(texts) if texts else ''}")
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
                ending = "/" if (ROOT / place / "__init__.py").is_file() else ".py"
                lines.append(f"| `{place}{ending}` | {_subject(place)} |")
    return "\n".join(lines)


def _subject(place: str) -> str:
    """The first line of the docstring of a room."""
    path = ROOT / place / "__init__.py"
    path = path if path.is_file() else (ROOT / place).with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return text.partition("\n")[0].rstrip(".")


def parts() -> dict[str, str]:
    """The generated parts by the names of their places in the document.

    Raises ValueError if a callback is not used on any way.
    """
    # Kernels are compiled and kept before: a way on which they are has more calls.
    walked = "from tests.ways import WAYS\nfor make in WAYS.values():\n    make()()"
    subprocess.run([sys.executable, "-c", walked], cwd=ROOT, check=True)
    ways = {name: calls_of(make()) for name, make in WAYS.items()}
    used = {name for calls in ways.values() for names in calls.values() for name in names}
    unused = sorted(CALLBACKS.keys() - used)
    if unused:
        raise ValueError(f"these callbacks are called on no way: {', '.join(unused)}")
    drawings = {name: f"```\n{drawing(calls)}\n```" for name, calls in ways.items()}
    return {"rooms": rooms_table(), **drawings}


if __name__ == "__main__":
    for _name, _text in parts().items():
        sys.stdout.write(f"<!-- {_name} -->\n\n{_text}\n\n<!-- end -->\n\n")
