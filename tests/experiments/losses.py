"""Runs `boostsample compare` while its workers, or its scheduler, are killed and stopped.

    python -m tests.experiments.losses --times 100 kill
    python -m tests.experiments.losses --times 20 stop all scheduler interrupt loky-kill loky-stop

starts a Dask scheduler and three workers on this machine, runs the command undisturbed, and then
`--times` times for each of the given disturbances, which come at random moments between the start
and the end of the run. Without names, all disturbances are tried.

- kill, stop: one worker, by SIGKILL or SIGSTOP
- all: all workers are killed, and one is started 2 s later
- scheduler: the scheduler is killed; the same command then finishes on a new cluster
- interrupt: Ctrl-C; the same command then finishes
- loky-kill, loky-stop, loky-all: one process of the backend loky, or all of them at once

Each run must end with the rows of the undisturbed run, to the bit and seconds apart, at most 30 s
later than that run; one that loses its scheduler or is interrupted, within 30 s by one line. Exit
code 1 means that some did not.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from tests.experiments.cluster import Cluster
from tests.experiments.kills import Commands, Ending, content

COMMAND = ["compare", "--data", "digits", "--strategies", "uniform-naive,laminating,mas-q1"]
COMMAND += ["--rounds", "10,800", "--repeats", "2"]

LATEST = 30.0  # seconds that a run may take longer than the undisturbed one
TTL = "15s"  # after which Dask takes a stopped worker for lost
HANGS = 180.0  # seconds after which a run is taken to hang, and ended


class Trial:
    def __init__(self, folder: Path, commands: Commands, cluster: Cluster, seed: int) -> None:
        self._folder = folder
        self._commands = commands
        self._cluster = cluster
        self._rng = np.random.default_rng(seed)
        self._usual: dict[bool, float] = {}
        self.whole: dict[str, Any] = {}
        self._n_runs = 0
        self.longest = 0.0
        """Seconds that the last run took longer than the undisturbed one."""

    def _args(self, folder: Path, loky: bool) -> list[str]:
        backend = "loky" if loky else self._cluster.address.replace("tcp://", "dask://")
        return [*COMMAND, "--backend", backend, "--jobs", "3", "--results", str(folder)]

    def _disturbed(
        self, disturb: Callable[[int], None], loky: bool = False
    ) -> tuple[Ending, Path, float]:
        """Run the command and disturb it at a random moment: ending, folder and moment."""
        if not loky:
            self._cluster.complete()
        if loky not in self._usual:
            self._usual[loky] = min(self._undisturbed(loky), self._undisturbed(loky))
        folder, moment = self._new_folder(), float(self._rng.uniform(0, self._usual[loky]))

        def later(pid: int) -> None:
            time.sleep(moment)
            disturb(pid)

        return self._commands.run(self._args(folder, loky), later), folder, moment

    def _new_folder(self) -> Path:
        self._n_runs += 1
        return self._folder / str(self._n_runs)

    def _undisturbed(self, loky: bool) -> float:
        folder = self._new_folder()
        ending = self._commands.run(self._args(folder, loky))
        assert ending.code == 0, ending.text
        self.whole = self.whole or content(folder)
        assert content(folder) == self.whole
        return ending.seconds

    def _judge(self, ending: Ending, folder: Path, loky: bool, late: float = 0.0) -> str:
        """Why a run that should finish did not end well; empty if it did."""
        self.longest = ending.seconds - late - self._usual[loky]
        if ending.code is None:
            return f"it hung: {ending.text}"
        if ending.code != 0:
            return f"exit code {ending.code}: {ending.text}"
        if content(folder) != self.whole:
            return "its cells differ"
        if self.longest > LATEST:  # is the machine slower by now?
            self.longest = ending.seconds - late - self._undisturbed(loky)
        if self.longest > LATEST:
            return f"it took {self.longest:.0f} s longer"
        return ""

    def signal_worker(self, number: int) -> str:
        """One worker of Dask receives a signal, and is waited for if it dies."""

        def disturb(_: int) -> None:
            worker = self._rng.choice(self._cluster.workers)
            worker.send_signal(number)
            if number == signal.SIGKILL:
                worker.wait()

        ending, folder, _ = self._disturbed(disturb)
        return self._judge(ending, folder, False)

    def lose_all(self) -> str:
        def disturb(_: int) -> None:
            for worker in self._cluster.workers:
                self._cluster.lose(worker)
            time.sleep(2.0)
            self._cluster.add()

        ending, folder, _ = self._disturbed(disturb)
        return self._judge(ending, folder, False, late=2.0)

    def lose_scheduler(self) -> str:
        ending, folder, moment = self._disturbed(
            lambda _: self._cluster.lose(self._cluster.scheduler)
        )
        self._cluster.start()
        message = "run the same command" if moment > self._usual[False] / 2 else ""
        if ending.code and not ending.is_error(1, message):
            return f"exit code {ending.code}: {ending.text}"
        return self._finish(ending, folder, ending.seconds - moment)

    def interrupt(self) -> str:
        ending, folder, moment = self._disturbed(lambda pid: send(pid, signal.SIGINT))
        done = "\nresults: " in ending.text  # Python ends by the signal then
        if ending.code and not done and not ending.is_error(130, "stopped by Ctrl-C"):
            return f"exit code {ending.code}: {ending.text}"
        return self._finish(ending, folder, ending.seconds - moment)

    def _finish(self, ending: Ending, folder: Path, delay: float) -> str:
        """Why a run that has ended `delay` seconds after its end began cannot be completed."""
        if ending.code is None or delay > LATEST:
            return f"it ended {delay:.0f} s later: {ending.text}"
        before = {path: path.stat().st_mtime_ns for path in folder.glob("cells/*.npz")}
        wrong = self._judge(self._commands.run(self._args(folder, False)), folder, False)
        self.longest = delay
        if not wrong and any(path.stat().st_mtime_ns != before[path] for path in before):
            return "finished cells were computed again"
        return wrong

    def loky(self, number: int, most: int | None) -> str:
        def disturb(pid: int) -> None:
            for worker in self._processes_of(pid)[:most]:
                send(worker, number)

        ending, folder, _ = self._disturbed(disturb, loky=True)
        return self._judge(ending, folder, True)

    def _processes_of(self, pid: int) -> list[int]:
        """The worker processes of a run, in random order, as soon as there are any."""
        psutil: Any = importlib.import_module("psutil")  # comes with distributed
        while True:
            try:
                process = psutil.Process(pid)
                workers = [
                    child.pid
                    for child in process.children(recursive=True)
                    if any("popen_loky" in part for part in child.cmdline())
                ]
                if process.status() == psutil.STATUS_ZOMBIE:
                    return []
            except psutil.NoSuchProcess:
                if not psutil.pid_exists(pid):
                    return []
                continue
            if workers:
                return list(self._rng.permutation(workers).tolist())
            time.sleep(0.02)


def send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


DISTURBANCES: dict[str, Callable[[Trial], str]] = {
    "kill": lambda trial: trial.signal_worker(signal.SIGKILL),
    "stop": lambda trial: trial.signal_worker(signal.SIGSTOP),
    "all": Trial.lose_all,
    "scheduler": Trial.lose_scheduler,
    "interrupt": Trial.interrupt,
    "loky-kill": lambda trial: trial.loky(signal.SIGKILL, 1),
    "loky-stop": lambda trial: trial.loky(signal.SIGSTOP, 1),
    "loky-all": lambda trial: trial.loky(signal.SIGKILL, None),
}
"""What can happen to a run, by name."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(DISTURBANCES))
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    unknown = set(options.kinds) - set(DISTURBANCES)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(DISTURBANCES)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the processes, too
    n_wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["BOOSTSAMPLE_CACHE_DIR"] = str(folder / "cache")
        warm_up = [*COMMAND, "--results", str(folder / "warm-up")]
        with (
            Commands(folder, warm_up, HANGS) as commands,
            Cluster(folder, worker_ttl=TTL) as cluster,
        ):
            trial = Trial(folder, commands, cluster, options.seed)
            for kind in options.kinds or DISTURBANCES:
                delays, wrong = [], 0
                for time_no in range(options.times):
                    why = DISTURBANCES[kind](trial)
                    delays.append(trial.longest)
                    wrong += bool(why)
                    if why:
                        sys.stdout.write(f"{kind} {time_no}: {why}\n")
                        sys.stdout.flush()
                n_wrong += wrong
                sys.stdout.write(
                    f"{kind}: {options.times - wrong} of {options.times} runs ended well; "
                    f"longest delay {max(delays):.1f} s, median {np.median(delays):.1f} s\n"
                )
                sys.stdout.flush()
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
