"""All objectives under four strategies, with stumps and trees, at equal looks: docs/objectives.md.

    python -m tests.experiments.objective_results measure --data-dir DIR --results FOLDER
    python -m tests.experiments.objective_results collect --results FOLDER
    python -m tests.experiments.objective_results print

`measure` calls `boostsample compare` for each group of data sets, objective and learner, and goes
on where it was interrupted; `collect` writes the file of docs/results that `print` reads. `full`
has a budget of its own, F N looks: it is left out on all families of MNIST and CIFAR-10.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from tests.experiments import markdown
from tests.experiments.classifier_sets import SETS
from tests.paths import RESULTS, ROOT

OBJECTIVES = ("mh", "real-mh", "info", "gentle", "m1", "samme", "bagging", "rank")
TWO_CLASSES = ("breast-cancer", "noise-10", "columns-500")
LEARNERS = ("stump", "tree:n_leaves=8")
SAMPLED = ("uniform-naive", "laminating", "adaptive-halving")
FILE = RESULTS / "objectives.csv"
METRICS = {
    "log10_loss": ("log10 of its own loss", 2),
    "test_error": ("test error, %", 2),
    "log_loss": ("test log loss", 3),
}


class Group(NamedTuple):
    """Data sets, whether `full` runs, rounds, repetitions, and families if not the default."""

    data: tuple[str, ...]
    full: bool
    rounds: str
    repeats: int
    families: str = ""


GROUPS = {
    "tables": Group(TWO_CLASSES, True, "10,100,300", 3),
    "letters": Group(("pendigits", "letter"), True, "10,100,300", 3),
    "usps": Group(("usps",), True, "10,100,300", 2, "identity,haar"),
    "mnist": Group(("mnist",), False, "10,100,300", 1),
    "cifar10": Group(("cifar10",), False, "10,100,300", 1),
}


def measure(results: Path, data_dir: str, groups: list[str]) -> None:
    """Train what is missing; the groups in turn."""
    results.mkdir(parents=True, exist_ok=True)
    for name in groups:
        for objective in OBJECTIVES:
            if objective != "rank" or name == "tables":
                for learner in LEARNERS:
                    compare(results, data_dir, name, objective, learner)


def compare(results: Path, data_dir: str, name: str, objective: str, learner: str) -> None:
    """One call of the command."""
    group = GROUPS[name]
    made = name == "tables"
    data = [written(key, results, data_dir) if made else key for key in group.data]
    strategies = (*SAMPLED, "full") if group.full else SAMPLED
    options = {
        "--objective": objective,
        "--learner": learner,
        "--strategies": ",".join(strategies),
        "--rounds": group.rounds,
        "--repeats": str(group.repeats),
        "--score-every": "10",
        "--data-dir": data_dir,
        "--bank": "auto" if made else "disk",
        "--results": str(results / f"{name}-{objective}-{learner.partition(':')[0]}"),
    }
    if group.families:
        options["--families"] = group.families
    command = [sys.executable, "-m", "boostsample", "compare"]
    pairs = [*(("--data", each) for each in data), *options.items()]
    subprocess.run([*command, *itertools.chain(*pairs)], cwd=ROOT, check=True)


def written(name: str, results: Path, data_dir: str) -> str:
    """A table of the comparison of classifiers as a CSV file, as an option of `--data`."""
    path = results / f"{name}.csv"
    if not path.exists():
        X, y = SETS[name].load(data_dir)
        frame = pd.DataFrame(np.asarray(X, np.float32))
        frame.columns = [f"x{k}" for k in range(frame.shape[1])]
        frame.assign(label=y).to_csv(path, index=False)
    return f"{path}:label=label"


def collect(results: Path) -> None:
    """Write the means over repetitions at the marks of all folders to `FILE`."""
    parts = []
    for path in sorted(results.glob("*/table.csv")):
        rows = pd.read_csv(path)
        name, objective, learner = path.parent.name.rsplit("-", 1)[0], "", ""
        learner = path.parent.name.rsplit("-", 1)[1]
        objective = next(
            key for key in sorted(OBJECTIVES, key=len, reverse=True) if name.endswith(f"-{key}")
        )
        marks = [int(mark) for mark in GROUPS[name.removesuffix(f"-{objective}")].rounds.split(",")]
        rows = rows[rows["stumps"].isin(marks)].assign(objective=objective, learner=learner)
        rows["data"] = rows["data"].str.extract(r"^([^:(]*)", expand=False)
        parts.append(rows)
    keys = ["data", "learner", "objective", "strategy", "stumps"]
    figures = pd.concat(parts).groupby(keys, sort=False)[list(METRICS)]
    means = figures.mean().round(4)
    means["repetitions"] = figures.size()
    means.reset_index().rename(columns={"stumps": "rounds"}).to_csv(
        FILE, index=False, lineterminator="\n"
    )


def tables() -> dict[str, list[str]]:
    """For each metric and learner: a row for each data set and objective, at the last mark."""
    figures = pd.read_csv(FILE)
    last = figures[figures["rounds"] == figures["rounds"].max()]
    made = {}
    for learner, part in last.groupby("learner", sort=False):
        for metric, (title, digits) in METRICS.items():
            values = part.pivot_table(
                index=["data", "objective"], columns="strategy", values=metric, sort=False
            )
            strategies = [name for name in (*SAMPLED, "full") if name in values]
            lines = []
            for (data, objective), row in values[strategies].iterrows():
                texts = [f"{value:.{digits}f}" for value in row]
                best = f"{row.min():.{digits}f}"
                cells = ["" if t == "nan" else f"**{t}**" if t == best else t for t in texts]
                lines.append([data, f"`{objective}`", *cells])
            head = [f"{title}, {learner}s", "objective", *(f"`{name}`" for name in strategies)]
            made[f"objectives {metric} {learner}"] = markdown.table(head, lines, left=(0, 1))
    return made


def main() -> None:
    """Measure, collect, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = parser.add_subparsers(dest="what", required=True)
    run = kinds.add_parser("measure")
    run.add_argument("--data-dir", required=True)
    run.add_argument("--results", type=Path, required=True)
    run.add_argument("--groups", default=",".join(GROUPS))
    kinds.add_parser("collect").add_argument("--results", type=Path, required=True)
    kinds.add_parser("print")
    options = parser.parse_args()
    if options.what == "measure":
        measure(options.results.resolve(), options.data_dir, options.groups.split(","))
    elif options.what == "collect":
        collect(options.results)
    else:
        sys.stdout.write(markdown.marked(tables()))


if __name__ == "__main__":
    main()
