"""Loss of strategies after equal seconds of one thread, and their rounds; see docs/speed.md.

    python -m benchmarks.equal_seconds --data mnist --data-dir DIR
    python -m benchmarks.equal_seconds --data mnist --data-dir DIR --before CHECKOUT

CHECKOUT is the folder of another commit, whose `uniform-naive` runs in a process of its own. All
runs of a seed take turns of a tenth of a second, so that what slows the machine slows them alike.
The clock counts the CPU seconds of rounds: bins, initial weights and compiling are not part of it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from boostsample.banks.bank import FeatureBank
from boostsample.experiments.data.datasets import load_dataset
from boostsample.labels import encode
from boostsample.loop.booster import Booster
from boostsample.models.model import Model
from boostsample.registry import default_families

SECONDS = 0.1, 0.3, 1.0, 3.0
TURN = 0.1
STRATEGIES = (
    *("uniform-naive", "uniform-naive:n_features=2@2N", "uniform-naive:n_features=5@5N"),
    *("cost-aware", "mas-naive", "mas-1q", "mas-q1", "successive-halving@3N"),
    *("adaptive-halving@3N", "laminating@1N", "laminating"),
)
BEFORE = "uniform-naive before"


class Problem:
    """A data set, its first split and the bank of its default families."""

    def __init__(self, name: str, data_dir: str | None) -> None:
        data = load_dataset(name, data_dir=data_dir)
        train, test = data.split(0, 0)
        self.X_test, self.y_test = data.X[test], data.y[test]
        self.n_classes = data.n_classes
        self.families = default_families(data.X.shape[1:], column_names=data.columns)
        self.bank = FeatureBank.build(self.families, data.X[train], n_jobs=1)
        self.Y = encode(data.y[train], data.n_classes)

    def booster(self, strategy: str, seed: int) -> Booster:
        """A run of `strategy`, or of `STRATEGY@BUDGET`; 10 N without a budget."""
        name, _, budget = strategy.partition("@")
        rows = np.arange(len(self.Y))
        return Booster(
            self.bank, rows, self.Y, name, n_rounds=10**6, budget=budget or "10N", rng=seed
        )

    def run(self, strategy: str, seed: int) -> TimedRun:
        """A run whose kernels are compiled."""
        warm = self.booster(strategy, seed)
        for _ in range(3):
            warm.next_round()
        return TimedRun(self, self.booster(strategy, seed))


class TimedRun:
    """The rounds of one strategy: their CPU seconds, and log10 of the loss after each."""

    def __init__(self, problem: Problem, booster: Booster) -> None:
        self.problem, self.booster = problem, booster
        self.seconds: list[float] = []
        self.losses: list[float] = []
        self.terms: list[Any] = []

    def turn(self, seconds: float) -> None:
        """Train rounds until they have taken `seconds` in this turn, or training has ended."""
        end = time.process_time() + seconds
        while time.process_time() < end and not self.booster.finished:
            begin = time.process_time()
            done = self.booster.next_round()
            self.seconds.append(time.process_time() - begin)
            self.losses.append(float(done.rows[-1]["log10_loss"]))
            self.terms += done.terms

    def outcome(self, limits: Sequence[float]) -> dict[str, Any]:
        """Losses at the limits, the test error in percent at the last, the median round."""
        ends = np.cumsum(self.seconds)
        losses = [0.0, *self.losses]
        problem, n_labels = self.problem, self.problem.Y.shape[1]
        scores = Model(problem.families, self.terms, n_labels).decision_function(problem.X_test)
        predicted = scores.argmax(axis=1) if problem.n_classes > 2 else (scores.ravel() > 0)
        return {
            "losses": [losses[int(np.searchsorted(ends, limit, "right"))] for limit in limits],
            "error": 100.0 * float(np.mean(predicted != problem.y_test)),
            "round_ms": 1e3 * float(np.median(self.seconds)),
        }


class OtherCheckout:
    """A run of `uniform-naive` by the code of another checkout, in its own process."""

    def __init__(self, checkout: str, data: str, data_dir: str | None) -> None:
        root = str(Path(__file__).resolve().parents[1])
        paths = os.pathsep.join([str(Path(checkout).resolve()), root])
        command = [sys.executable, "-m", "benchmarks.equal_seconds", "--data", data, "--serve"]
        command += ["--data-dir", data_dir] if data_dir else []
        self._process = subprocess.Popen(
            command, cwd=checkout, env={**os.environ, "PYTHONPATH": paths}, text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def ask(self, **question: Any) -> Any:
        """The answer of `serve` to a question."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(question) + "\n")
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("the other checkout has ended; what it wrote to stderr says why")
        return json.loads(answer)

    def close(self) -> None:
        """Wait for the end of the process, which has no more questions to answer."""
        self._process.communicate()


def serve(problem: Problem) -> None:
    """Answer the questions of `OtherCheckout`, one a line."""
    run = None
    for line in sys.stdin:
        question = json.loads(line)
        if "seed" in question:
            run, answer = problem.run("uniform-naive", question["seed"]), None
        else:
            assert run
            answer = getattr(run, question["do"])(question["with"])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def outcomes(
    problem: Problem,
    strategies: Sequence[str],
    limits: Sequence[float],
    seed: int,
    before: OtherCheckout | None,
) -> dict[str, dict[str, Any]]:
    """Run all strategies of a seed in turns."""
    runs = {name: problem.run(name, seed) for name in strategies}
    turns: list[Callable[[float], Any]] = [run.turn for run in runs.values()]
    if before:
        before.ask(seed=seed)
        turns.insert(0, lambda seconds: before.ask(**{"do": "turn", "with": seconds}))
    for _ in range(math.ceil(limits[-1] / TURN) + 1):
        for turn in turns:
            turn(TURN)
    of_other = {BEFORE: before.ask(**{"do": "outcome", "with": limits})} if before else {}
    return of_other | {name: run.outcome(limits) for name, run in runs.items()}


def table(seeds: Sequence[dict[str, dict[str, Any]]], limits: Sequence[float]) -> str:
    """Means over seeds in Markdown; rounds in units of those of the first strategy."""
    heads = ["", *(f"{limit:g} s" for limit in limits), "error, %", "round"]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    unit = np.mean([next(iter(of_seed.values()))["round_ms"] for of_seed in seeds])
    for name in seeds[0]:
        losses = np.mean([of_seed[name]["losses"] for of_seed in seeds], axis=0)
        error, round_ms = (
            np.mean([of_seed[name][k] for of_seed in seeds]) for k in ("error", "round_ms")
        )
        figures = [*(f"{loss:.2f}" for loss in losses), f"{error:.2f}", f"{round_ms / unit:.2f}"]
        lines.append([f"`{name.replace('@', '`, `')}`", *figures])
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{text}\n\nA round of the first row takes {unit:.2f} ms."


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--data", default="digits", help="a data set")
    parser.add_argument("--data-dir", help="folder of the original files")
    parser.add_argument("--before", help="checkout of another commit")
    parser.add_argument("--strategies", default=",".join(STRATEGIES), help="NAME or NAME@BUDGET")
    parser.add_argument("--seconds", default=",".join(map(str, SECONDS)), help="ascending")
    parser.add_argument("--repeats", type=int, default=3, help="seeds")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    data_dir = options.data_dir and str(Path(options.data_dir).resolve())
    problem = Problem(options.data, data_dir)
    if options.serve:
        serve(problem)
        return
    before = OtherCheckout(options.before, options.data, data_dir) if options.before else None
    limits = [float(each) for each in options.seconds.split(",")]
    names = options.strategies.split(",")
    seeds = [outcomes(problem, names, limits, seed, before) for seed in range(options.repeats)]
    if before:
        before.close()
    sys.stdout.write(f"{options.data}\n\n{table(seeds, limits)}\n")


if __name__ == "__main__":
    main()
