"""Trains a random share of a results folder's cells again and compares them, to the bit.

    python -m tests.experiments.recompute FOLDER --share 0.05 [-- OPTIONS OF COMPARE]

Works in a copy; the folder is not touched. The options are those of the command that is recorded in
the folder unless others are given. Exit code 1 tells of a difference.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

from boostsample.experiments.commands.cli import main as boostsample
from tests.experiments.kills import content


def without_results(args: list[str]) -> list[str]:
    """The options of a command but for the folder."""
    kept = list(args)
    while "--results" in kept:
        at = kept.index("--results")
        del kept[at : at + 2]
    return kept


def recompute(folder: Path, share: float, args: list[str], seed: int) -> tuple[list[str], bool]:
    """Names of the cells that were trained again, and whether everything is the same."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "copy"
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("aside", "*.claim"))
        names = sorted(path.name for path in (copy / "cells").glob("*.npz"))
        rng = np.random.default_rng(seed)
        chosen = rng.choice(names, size=math.ceil(share * len(names)), replace=False).tolist()
        for name in chosen:
            (copy / "cells" / name).unlink()
        if boostsample([*without_results(args), "--results", str(copy)]) != 0:
            return chosen, False
        return chosen, content(copy) == content(folder)


def main() -> int:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    # What follows -- is cut off here: argparse takes no second group of positional arguments.
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = sys.argv[at + 1 :]
    given = parser.parse_args(sys.argv[1:at])
    recorded = json.loads((given.folder / "settings.json").read_bytes())["command"][1:]
    args = ["compare", *options] if options else recorded
    chosen, same = recompute(given.folder, given.share, args, given.seed)
    told = "the same" if same else "DIFFERENT"
    sys.stdout.write(f"{len(chosen)} cells trained again: {told}\n" + "\n".join(chosen) + "\n")
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
