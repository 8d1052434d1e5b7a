"""Trains a random share of a results folder's cells again and compares them, to the bit.

    python -m tests.experiments.recompute FOLDER --share 0.05 [-- OPTIONS OF COMPARE]
    python CHECKOUT/tests/experiments/recompute.py FOLDER    (the same, from any folder)

Works in a copy; the folder is not touched. Unless options are given, repeats the command that is
recorded in the folder, in the folder where it was run: relative paths to data and grids keep their
meaning. That folder follows from a relative --results; --run-in names another. Exit code 1: a cell
differs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

from boostsample.experiments.commands.cli import main as boostsample

_NOT_REPEATED = ("--results", "--plot", "--shard")
"""Options of compare that say what to write or how to share the work, not what to train."""


def training_options(args: list[str]) -> list[str]:
    """The options of a command but for those that are not repeated.

    >>> training_options(["compare", "--results", "x", "--data", "y.csv", "--plot=z.svg"])
    ['compare', '--data', 'y.csv']
    """
    kept, skipped = [], False
    for arg in args:
        if skipped:
            skipped = False
        elif arg in _NOT_REPEATED:
            skipped = True
        elif arg.partition("=")[0] not in _NOT_REPEATED:
            kept.append(arg)
    return kept


def recorded_place(folder: Path, args: list[str]) -> Path:
    """Where a command was run that wrote to this folder; the current folder if that is unknown."""
    folder, given = folder.resolve(), f"results/{folder.resolve().name}"  # the default
    for arg, following in zip(args, [*args[1:], ""], strict=True):
        if arg.partition("=")[0] == "--results":
            given = arg.partition("=")[2] or following
    parts = Path(given).parts
    if Path(given).is_absolute() or folder.parts[-len(parts) :] != parts:
        return Path.cwd()
    return folder.parents[len(parts) - 1]


def recompute(
    folder: Path, share: float, args: list[str], seed: int, run_in: Path | None = None
) -> tuple[list[str], bool]:
    """Names of the cells that were trained again, and whether everything is the same."""
    from tests.experiments.kills import content

    folder = folder.resolve()
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(run_in or Path.cwd()):
        copy = Path(scratch) / "copy"
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("aside", "*.claim"))
        names = sorted(path.name for path in (copy / "cells").glob("*.npz"))
        rng = np.random.default_rng(seed)
        chosen = rng.choice(names, size=math.ceil(share * len(names)), replace=False).tolist()
        for name in chosen:
            (copy / "cells" / name).unlink()
        if boostsample([*training_options(args), "--results", str(copy)]) != 0:
            return chosen, False
        return chosen, content(copy) == content(folder)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run-in", type=Path, help="folder in which the recorded command was run")
    # What follows -- is cut off here: argparse takes no second group of positional arguments.
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = sys.argv[at + 1 :]
    arguments = parser.parse_args(sys.argv[1:at])
    recorded = json.loads((arguments.folder / "plan.json").read_bytes())["command"][1:]
    place = arguments.run_in or recorded_place(arguments.folder, recorded)
    if options:
        recorded, place = ["compare", *options], arguments.run_in
    chosen, same = recompute(arguments.folder, arguments.share, recorded, arguments.seed, place)
    told = "the same" if same else "DIFFERENT"
    sys.stdout.write(f"{len(chosen)} cells trained again: {told}\n" + "\n".join(chosen) + "\n")
    return int(not same)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run as a file, from any folder
    sys.exit(main())
