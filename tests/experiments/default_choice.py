"""The comparison behind the classifier's default strategy, see docs/default.md.

    python -m tests.experiments.default_choice files FOLDER --data-dir DIR
    python -m tests.experiments.default_choice ranks RESULTS...

The first writes data sets of training rows only, and two grids for `boostsample compare --grid`;
the second prints mean ranks as Markdown.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.results.read_folder import Results, read_results
from boostsample.experiments.results.significance import ranking

CANDIDATES = (
    "uniform-naive", "uniform-1q", "ucb", "mas-naive",
    "laminating", "laminating:scheme=stratified", "laminating:scheme=distinct",
)  # fmt: skip
MARKS = (10, 100, 300, 1000)
SMALL = ("digits", "usps", "digits-columns", "pendigits", "letter", "isolet", "wine", "cancer")
LARGE = {
    "mnist-images": ["identity", "gradient", "haar", "patches:n_members=2000"],
    "cifar-images": None,
    "mnist-even": None,
}
VALIDATION = {"mnist": 10_000, "cifar": 2_000}


def training_rows(data_dir: Path) -> dict[str, tuple[Any, Any]]:
    """Rows X and labels y by the name of the data set; no test row is among them."""
    loaded = {
        name: load_dataset(name, data_dir=data_dir)
        for name in ("usps", "pendigits", "letter", "mnist", "cifar10")
    }
    rows: dict[str, tuple[Any, Any]] = {
        name: (one.X[: one.n_train], one.y[: one.n_train]) for name, one in loaded.items()
    }
    images, digits = rows.pop("mnist")
    colours, things = rows.pop("cifar10")
    rows["mnist-images"] = images, digits
    rows["mnist-even"] = images.reshape(len(images), -1), digits % 2
    rows["cifar-images"] = colours[:10_000], things[:10_000]
    spoken = np.loadtxt(data_dir / "isolet-partial" / "isolet1.data.gz", delimiter=",")
    rows["isolet"] = spoken[:, :-1], spoken[:, -1].astype(int)
    rows["digits-columns"] = datasets.load_digits(return_X_y=True)
    rows["wine"] = datasets.load_wine(return_X_y=True)
    rows["cancer"] = datasets.load_breast_cancer(return_X_y=True)
    return rows


def write_files(folder: Path, data_dir: Path) -> None:
    """Write the data sets and the grids small.toml and large.toml."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (X, y) in training_rows(data_dir).items():
        held_out = VALIDATION.get(name.partition("-")[0])
        X = X if X.ndim > 2 else X.astype(np.float32)
        arrays: dict[str, Any] = {"X": X, "y": y}
        if held_out is not None:
            parts = {"train": slice(None, -held_out), "test": slice(-held_out, None)}
            arrays = {
                f"{key}_{part}": arrays[key][at] for part, at in parts.items() for key in "Xy"
            }
        np.savez(folder / f"{name}.npz", **arrays)
    for grid, names in (("small", SMALL), ("large", tuple(LARGE))):
        lines = [
            f"strategies = {json.dumps(CANDIDATES)}",
            f"rounds = {list(MARKS)}",
            'weight_init = "balanced"',
        ]
        for name in names:
            path = name if name == "digits" else str(folder.resolve() / f"{name}.npz")
            lines += ["[[data]]", f"name = {json.dumps(path)}"]
            if LARGE.get(name):
                lines.append(f"families = {json.dumps(LARGE[name])}")
        (folder / f"{grid}.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def rank_tables(results: Sequence[Results]) -> str:
    """Mean ranks by loss and by error after each number of stumps, and their means, as Markdown."""
    lines = []
    for metric in ("loss", "error"):
        found = [ranking(results, metric, mark) for mark in MARKS]
        lines.append(f"| mean rank by {metric} | {' | '.join(map(str, MARKS))} | all |")
        lines.append("| --- " + "| ---: " * (len(MARKS) + 1) + "|")
        rows = []
        for label in found[0].labels:
            mine = [float(one.ranks[one.labels.index(label)]) for one in found]
            rows.append((sum(mine) / len(mine), label, mine))
        for mean, label, mine in sorted(rows):
            shown = " | ".join(f"{rank:.2f}" for rank in (*mine, mean))
            lines.append(f"| `{label}` | {shown} |")
        left_out = ", ".join(found[0].left_out)
        lines.append(f"\nLeft out, as not in every data set: {left_out}.\n" if left_out else "")
    return "\n".join(lines)


def main() -> None:
    """Write the files or print the ranks."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    files = commands.add_parser("files")
    files.add_argument("folder", type=Path)
    files.add_argument("--data-dir", type=Path, required=True)
    commands.add_parser("ranks").add_argument("results", nargs="+", type=Path)
    given = parser.parse_args()
    if given.command == "files":
        write_files(given.folder, given.data_dir)
    else:
        sys.stdout.write(rank_tables([read_results(folder) for folder in given.results]))


if __name__ == "__main__":
    main()
