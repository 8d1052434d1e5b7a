"""Fits over a Dask cluster whose workers are killed, in half of the runs while files change.

    python -m tests.dask.kills --times 40

starts a Dask scheduler and three workers on this machine, fits `DaskBoostSampleClassifier` on a
folder of Parquet files undisturbed, and then `--times` times while a worker is killed at a random
moment. In every second run, one of the files changes at a random moment before. Tables are paths or
Dask data frames.

A run ends well with the model of the undisturbed fit, to the bit. If a file changes, it may also
end with one line of error, or with the model of an undisturbed fit on the changed files, which is
that of a file that changed before it was read at all. Exit code 1 means that some run ended with
another model, or without a clear line.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from boostsample.errors import DataError, ShardError
from tests.experiments.cluster import Cluster

FEATURES = [*"abcdefgh"]


def _rows(n: int, rng: np.random.Generator) -> Any:
    pd: Any = importlib.import_module("pandas")
    frame = pd.DataFrame(rng.normal(size=(n, len(FEATURES))), columns=FEATURES)
    return frame.assign(y=np.digitize(frame.a + frame.b * frame.c + rng.normal(size=n), [-1, 1]))


def _one_value(frame: Any, rng: np.random.Generator) -> Any:
    frame.iloc[rng.integers(len(frame)), rng.integers(len(FEATURES))] += 1
    return frame


def _one_label(frame: Any, rng: np.random.Generator) -> Any:
    at = rng.integers(len(frame))
    frame.loc[at, "y"] = (frame.loc[at, "y"] + 1) % 3
    return frame


def _rows_swapped(frame: Any, rng: np.random.Generator) -> Any:
    one, other = rng.choice(len(frame), 2, replace=False)
    order = np.arange(len(frame))
    order[[one, other]] = other, one
    return frame.iloc[order]


CHANGES: dict[str, Callable[[Any, np.random.Generator], Any]] = {
    "other rows": lambda frame, rng: _rows(len(frame), rng),
    "fewer rows": lambda frame, rng: frame[:-1],
    "a value": _one_value,
    "a label": _one_label,
    "rows swapped": _rows_swapped,
    "columns swapped": lambda frame, rng: frame.rename(columns={"a": "b", "b": "a"})[frame.columns],
    "cut short": lambda frame, rng: None,
}
"""What can happen to a file, by name; None leaves half of its bytes."""


class Fits:
    """Fits on files in a folder over the workers of a cluster, disturbed at random moments."""

    def __init__(
        self, folder: Path, cluster: Cluster, seed: int = 0, n: int = 1000, n_rounds: int = 100
    ) -> None:
        self._folder = folder / "table"
        self._folder.mkdir()
        self._cluster, self._n_rounds = cluster, n_rounds
        self._rng = np.random.default_rng(seed)
        for number in range(6):
            _rows(n, self._rng).to_parquet(self._folder / f"{number}.parquet")
        cluster.complete()
        self.usual = self.fit(as_frame=False)  # compiles
        began = time.monotonic()
        assert self.fit(as_frame=True) == self.usual
        self.seconds = time.monotonic() - began
        self.endings: Counter[str] = Counter()

    def fit(self, as_frame: bool) -> list[str]:
        """All that the fitted classifier is, as texts that hold each bit."""
        from boostsample.dask import DaskBoostSampleClassifier

        distributed: Any = importlib.import_module("distributed")
        frames: Any = importlib.import_module("dask.dataframe")
        with distributed.Client(self._cluster.address, set_as_default=False) as client:
            X: Any = self._folder
            y: Any = "y"
            if as_frame:
                table = frames.read_parquet(f"{self._folder}/*.parquet")
                X, y = table[FEATURES], table["y"]
            model = DaskBoostSampleClassifier(
                "laminating", "stump", self._n_rounds, random_state=0, n_shards=3, client=client
            ).fit(X, y)
        arrays = (getattr(model.model_, one) for one in ("feature", "threshold", "alpha", "votes"))
        return [model.classes_.tobytes().hex(), *(one.tobytes().hex() for one in arrays)]

    def run(self, kind: str = "") -> str:
        """Kill a worker during a fit, and change a file if a kind of change is given.

        Returns why the fit did not end well; empty if it did.
        """
        self._cluster.complete()
        worker = self._cluster.workers[self._rng.integers(len(self._cluster.workers))]
        as_frame = bool(self._rng.integers(2))
        path = self._folder / f"{self._rng.integers(6)}.parquet"
        content = path.read_bytes()
        change, kill = np.sort(self._rng.uniform(0, self.seconds, 2))
        timers = [threading.Timer(kill, self._cluster.lose, [worker])]
        if kind:
            timers.append(threading.Timer(change, self._change, [path, kind]))
        for timer in timers:
            timer.start()
        seen: list[str] = []
        error: Exception | None = None
        began = time.monotonic()
        try:
            seen = self.fit(as_frame)
            self.seconds = min(
                self.seconds, time.monotonic() - began
            )  # the machine was busy before
        except Exception as reason:
            error = reason
        for timer in timers:
            timer.join()
        ending = self.ending(kind, as_frame, seen, error)
        path.write_bytes(content)
        self.endings[f"{kind or 'no file changed'}: {ending}"] += 1
        return ending if ending.startswith("wrong") else ""

    def ending(self, kind: str, as_frame: bool, seen: list[str], error: Exception | None) -> str:
        """How a fit has ended; begins with "wrong" if it did not end well."""
        if not error and seen == self.usual:
            return "the same model"
        if kind and isinstance(error, DataError | ShardError) and "\n" not in str(error):
            return "one line of error"
        if kind and not error and seen == self._refitted(as_frame):
            return "the model of the changed files"
        return f"wrong: {error or 'another model'!r}"

    def _change(self, path: Path, kind: str) -> None:
        """Rewrite a file in its place or at once."""
        pd: Any = importlib.import_module("pandas")
        new = path.with_suffix(".new")
        changed = CHANGES[kind](pd.read_parquet(path), self._rng)
        if changed is None:
            new.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        else:
            changed.to_parquet(new)
        if self._rng.integers(2):
            path.write_bytes(new.read_bytes())
            new.unlink()
        else:
            new.replace(path)

    def _refitted(self, as_frame: bool) -> list[str]:
        self._cluster.complete()
        try:
            return self.fit(as_frame)
        except DataError:
            return []


def main() -> int:
    """Disturb fits, print how they end; 1 if one did not end well."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    n_wrong = 0
    with tempfile.TemporaryDirectory() as name, Cluster(Path(name)) as cluster:
        fits = Fits(Path(name), cluster, given.seed)
        sys.stdout.write(f"undisturbed: {fits.seconds:.1f} s\n")
        for time_no in range(given.times):
            kind = [*CHANGES][time_no // 2 % len(CHANGES)] if time_no % 2 else ""
            wrong = fits.run(kind)
            n_wrong += bool(wrong)
            if wrong:
                sys.stdout.write(f"run {time_no}, {kind or 'no file changed'}: {wrong}\n")
                sys.stdout.flush()
        for ending, n in sorted(fits.endings.items()):
            sys.stdout.write(f"{n:3d} {ending}\n")
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
