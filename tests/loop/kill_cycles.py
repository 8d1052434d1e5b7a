"""Kills runs with checkpoints at random moments until they are done, and compares every bit.

    python -m tests.loop.kill_cycles --cycles 1000

Each run is a small problem with one of all strategies and learners, by hand or by the classifier,
which saves after each round, so that most kills hit the writing of a file if TMPDIR is on a disk. A
cycle is a process, a fork of one that has compiled already, which is killed by SIGKILL; the next
one goes on from the file. With 1,000 cycles every kind of run has its turn. After each kill the
file must be whole and must have lost no saved round; at the end, terms, history, weights, random
stream and state must be those of a run that nobody killed. Exit code 1 tells of a difference.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from boostsample import BoostSampleClassifier
from boostsample.files.atomic import TEMPORARY
from boostsample.loop.checkpoint import Checkpoint
from boostsample.loop.numerics import NUMERICS
from boostsample.loop.run_file import RunFile, read_checkpoint
from boostsample.registry import strategy_names
from tests.loop.checkpoint_runs import LEARNERS, bits_of, new_booster, straight
from tests.problems import table

ROUNDS = 12


def by_hand(strategy: str, learner: str, path: Path | None) -> list[str]:
    """The bits of a run, with or without a checkpoint."""
    booster = new_booster(strategy, learner, n_rounds=ROUNDS)
    if path is None:
        return straight(booster)
    with Checkpoint(path, booster, seconds=0) as checkpoint:
        while not booster.finished:
            checkpoint.next_round()
    return bits_of(checkpoint.rounds, booster)


def by_fit(strategy: str, learner: str, path: Path | None) -> list[str]:
    """The bits of a fit, with or without a checkpoint."""
    X = table(60, 5)
    y = np.random.default_rng(1).integers(0, 3, 60)
    arguments: dict[str, Any] = {"n_rounds": ROUNDS, "random_state": 5, "early_stopping": True}
    model = BoostSampleClassifier(
        strategy, learner, checkpoint=path, checkpoint_seconds=0, **arguments
    ).fit(X, y)
    history = [{**row, "seconds": 0.0} for row in model.history_]
    predicted = [model.decision_function(X), model.validation_error_]
    return [
        repr(history),
        repr(model.strategy_.state()),
        *(array.tobytes().hex() for array in predicted),
    ]


WAYS: tuple[Callable[[str, str, Path | None], list[str]], ...] = (by_hand, by_fit)


class Kills:
    """Runs, one after another, that are killed again and again; counts what happens.

    The moments of the kills are even over the duration of a whole run.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.path = folder / "run.checkpoint"
        self.killed = self.runs = self.halves = self.different = 0
        self._rng = np.random.default_rng(seed)

    def cycle(self, way: Any, strategy: str, learner: str, longest: float) -> bool:
        """One process, killed after at most `longest` seconds; whether it was done before."""
        child = os.fork()
        if not child:
            code = 1
            try:
                way(strategy, learner, self.path)
                code = 0
            finally:
                os._exit(code)
        time.sleep(float(self._rng.uniform(0.0, longest)))
        os.kill(child, signal.SIGKILL)  # until it is waited for, nobody else has its number
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, -signal.SIGKILL), f"exit code {code} of {strategy}, {learner}"
        self.killed += code != 0
        return code == 0

    def run(self, way: Any, strategy: str, learner: str, most: int) -> None:
        """One run to its end, killed at most `most` times; compares the bits."""
        want = way(strategy, learner, None)
        self.path.unlink(missing_ok=True)
        clock = time.perf_counter()
        way(strategy, learner, self.path)
        longest = time.perf_counter() - clock
        self.path.unlink(missing_ok=True)
        n_saved, done, before = 0, False, self.killed
        while not done and self.killed - before < most:
            done = self.cycle(way, strategy, learner, longest)
            saved = self._saved()
            assert saved >= n_saved, f"{n_saved - saved} rounds of {strategy}, {learner} are lost"
            n_saved = saved
        bits = way(strategy, learner, self.path)
        self.runs += 1
        if bits != want:
            self.different += 1
            sys.stdout.write(f"{way.__name__} of {strategy}, {learner}: DIFFERENT\n")

    def _saved(self) -> int:
        """Rounds in the file, which is whole or not there; halves are under other names."""
        for file in self.path.parent.iterdir():
            if file != self.path:
                assert file.name.endswith(TEMPORARY), file
                self.halves += 1
                file.unlink()
        saved: RunFile | None = read_checkpoint(self.path)
        return 0 if saved is None else len(saved.rounds)


def main() -> int:
    """Run until there were so many kills."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=1000, help="processes to kill")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    kinds = [(w, s, k) for w in WAYS for s in strategy_names() for k in LEARNERS]
    order = np.random.default_rng(options.seed).permutation(len(kinds)).tolist()
    each = max(10, options.cycles // len(kinds))  # kills of a run, so that every kind has its turn
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        kills = Kills(Path(folder), options.seed)
        at = 0
        while kills.killed < options.cycles:
            way, strategy, learner = kinds[order[at % len(order)]]
            kills.run(way, strategy, learner, min(each, options.cycles - kills.killed))
            at += 1
    told = "the same bits" if not kills.different else f"{kills.different} DIFFERENT"
    sys.stdout.write(
        f"{kills.killed} kills in {kills.runs} runs of {min(at, len(kinds))} kinds, "
        f"{kills.halves} while a file was written, {time.monotonic() - started:.0f} s, "
        f"numerics {NUMERICS}: {told}\n"
    )
    return int(bool(kills.different))


if __name__ == "__main__":
    sys.exit(main())
