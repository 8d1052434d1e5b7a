"""All objectives under four strategies, with stumps and trees: docs/objective_results.md.

    python -m tests.experiments.objective_results measure --data-dir DIR --results FOLDER
    python -m tests.experiments.objective_results collect --results FOLDER
    python -m tests.experiments.objective_results of-1996 --data-dir DIR
    python -m tests.experiments.objective_results print

`measure` calls `boostsample compare` for each group of data sets, objective and learner, and goes
on where it was interrupted; `collect` writes the file of docs/results that `print` reads. `full`
has a budget of its own, F N looks: it is left out on all families of MNIST and CIFAR-10. `of-1996`
measures boosting beside bagging as Freund and Schapire (1996) did, and writes its file.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from boostsample import BoostSampleClassifier
from boostsample.experiments.data.datasets import load_dataset
from tests.experiments import markdown
from tests.experiments.classifier_sets import SETS
from tests.paths import RESULTS, ROOT

OBJECTIVES = ("mh", "real-mh", "info", "gentle", "m1", "samme", "oc", "bagging", "rank")
DATA = (
    "mnist",
    "cifar10",
    "usps",
    "letter",
    "pendigits",
    "breast-cancer",
    "noise-10",
    "columns-500",
)
TWO_CLASSES = DATA[-3:]
SAME_FOR_TWO = ("info", "samme", "oc")
"""Objectives that are `real-mh`, `m1` and `mh` with two classes."""
LEARNERS = ("stump", "tree:n_leaves=8")
SAMPLED = ("uniform-naive", "laminating", "adaptive-halving")
FILE = RESULTS / "objectives.csv"
METRICS = {
    "log10_loss": ("log10 of its own loss", 2),
    "test_error": ("test error, %", 2),
    "log_loss": ("test log loss", 3),
}


FILE_OF_1996 = RESULTS / "objectives-1996.csv"
METHODS: dict[str, tuple[str, int]] = {
    "alone": ("m1", 1),
    "AdaBoost.M1": ("m1", 100),
    "bagging": ("bagging", 100),
    "pseudo-loss (M2)": ("oc", 100),
    "mh": ("mh", 100),
    "real-mh": ("real-mh", 100),
    "samme": ("samme", 100),
}
RANDOM = ("bagging", "pseudo-loss (M2)")  # those that depend on the seed under `full`
PUBLISHED = {
    ("iris", "FindAttrTest", "stump"): (35.2, 4.7, 28.4, 4.8),
    ("iris", "C4.5", "tree:n_leaves=4"): (5.9, 5.0, 5.0),
    ("letter", "FindAttrTest", "stump"): (92.9, 92.9, 91.9, 34.1),
    ("letter", "C4.5", "tree:n_leaves=1000"): (13.8, 3.3, 6.8),
}
"""Test errors of the first methods in %, from the table of Freund and Schapire (1996), by data set,
base classifier and the learner that stands for it."""


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


def measure(results: Path, data_dir: str) -> None:
    results.mkdir(parents=True, exist_ok=True)
    for name in GROUPS:
        for objective in OBJECTIVES:
            if objective != "rank" or name == "tables":
                for learner in LEARNERS:
                    compare(results, data_dir, name, objective, learner)


def compare(results: Path, data_dir: str, name: str, objective: str, learner: str) -> None:
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
        name, _, learner = path.parent.name.rpartition("-")
        group, _, objective = name.partition("-")
        marks = [int(mark) for mark in GROUPS[group].rounds.split(",")]
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


def measure_of_1996(data_dir: str) -> None:
    """Write test errors of 100 rounds under `full` to `FILE_OF_1996`.

    Letter has its standard split and five seeds, iris ten times ten folds, as in the paper.
    """
    warnings.simplefilter("ignore", ConvergenceWarning)  # M1 ends where errors are too large
    letter = load_dataset("letter", data_dir=data_dir)
    X, y = load_iris(return_X_y=True)
    folds = [
        list(StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y)) for seed in range(10)
    ]
    split = [letter.split(0, 0)]
    tasks = {"iris": (X, y, folds), "letter": (letter.X, letter.y, [split] * 5)}
    rows = []
    for (name, _, learner), method in itertools.product(PUBLISHED, METHODS):
        X, y, runs = tasks[name]
        n_runs = 1 if name == "letter" and method not in RANDOM else len(runs)
        objective, n_rounds = METHODS[method]
        errors = []
        for seed, splits in enumerate(runs[:n_runs]):
            model = BoostSampleClassifier(
                "full",
                learner=learner,
                objective=objective,
                n_rounds=n_rounds,
                learning_rate=1.0,
                random_state=seed,
            )
            wrong = [
                model.fit(X[train], y[train]).predict(X[test]) != y[test] for train, test in splits
            ]
            errors.append(100 * float(np.concatenate(wrong).mean()))
        figures = {"error": np.mean(errors), "std": np.std(errors)}
        row = {"data": name, "learner": learner, "method": method, "runs": n_runs}
        rows.append(row | {key: round(float(value), 3) for key, value in figures.items()})
        sys.stderr.write(f"{rows[-1]}\n")
    markdown.write_rows(FILE_OF_1996, rows)


def table_of_1996() -> list[str]:
    """Published and measured test errors by data set, base classifier and method."""
    figures = pd.read_csv(FILE_OF_1996).set_index(["data", "learner", "method"])
    head = ["test error, %", *(f"{base}, {data}" for data, base, _ in PUBLISHED)]
    rows = []
    for at, method in enumerate(METHODS):
        cells = [method]
        for (data, _, learner), published in PUBLISHED.items():
            row = figures.loc[(data, learner, method)]
            spread = f" ± {row['std']:.1f}" if row["runs"] > 1 else ""
            of_paper = f"{published[at]} / " if at < len(published) else ""
            cells.append(f"{of_paper}{row['error']:.1f}{spread}")
        rows.append(cells)
    return markdown.table(head, rows)


def last_figures() -> pd.DataFrame:
    """The means at the last mark, without objectives that are another one with two classes."""
    figures = pd.read_csv(FILE)
    last = figures[figures["rounds"] == figures["rounds"].max()].copy()
    for column, order in {"data": DATA, "objective": OBJECTIVES}.items():
        last[column] = pd.Categorical(last[column], order, ordered=True)
    last = last.sort_values(["learner", "data", "objective"], kind="stable")
    return last[~(last["data"].isin(TWO_CLASSES) & last["objective"].isin(SAME_FOR_TWO))]


def tables_of_metrics() -> dict[str, list[str]]:
    """For each metric and learner: a row for each data set and objective, at the last mark."""
    made = {}
    for learner, part in last_figures().groupby("learner", sort=False):
        for metric, (title, digits) in METRICS.items():
            measured = (part["objective"] != "bagging") | (metric != "log10_loss")  # its loss is 1
            values = part[measured].pivot_table(
                index=["data", "objective"],
                columns="strategy",
                values=metric,
                observed=True,
            )
            strategies = [name for name in (*SAMPLED, "full") if name in values]
            lines = []
            for (data, objective), row in values[strategies].iterrows():
                texts = [f"{value:.{digits}f}" for value in row.dropna()]
                best = f"{row.min():.{digits}f}"
                differ = len(set(texts)) > 1
                cells = [f"**{t}**" if differ and t == best else t for t in texts]
                lines.append([data, f"`{objective}`", *cells, *[""] * (len(row) - len(cells))])
            head = [f"{title}, {learner}s", "objective", *(f"`{name}`" for name in strategies)]
            made[f"{metric} {learner}"] = markdown.table(head, lines, left=(0, 1))
    return made


def leads() -> list[str]:
    """Mean ranks of the sampled strategies over data sets, by learner and objective.

    Ranks of equal values are shared; `m1` with stumps counts for two classes only, where it trains.
    """
    figures = last_figures()
    figures = figures[figures["strategy"].isin(SAMPLED)]
    figures = figures[(figures["objective"] != "m1") | (figures["test_error"] < 89)]
    lines = []
    for (learner, objective), part in figures.groupby(["learner", "objective"], observed=True):
        cells = [f"{learner}s", f"`{objective}`", str(part["data"].nunique())]
        for metric in ("log10_loss", "test_error"):
            values = part.pivot_table(
                index="data", columns="strategy", values=metric, observed=True
            )
            ranks = values[list(SAMPLED)].rank(axis=1).mean()
            texts = [f"{rank:.1f}" for rank in ranks]
            if objective == "bagging" and metric == "log10_loss":
                texts = [""] * len(SAMPLED)
            cells += [f"**{t}**" if t and t == f"{ranks.min():.1f}" else t for t in texts]
        lines.append(cells)
    names = [f"`{name}`" for name in SAMPLED]
    head = ["learner", "objective", "sets", *(f"{name}, loss" for name in names)]
    return markdown.table([*head, *(f"{name}, error" for name in names)], lines, left=(0, 1))


def tables() -> dict[str, list[str]]:
    return {"leads": leads(), "1996": table_of_1996(), **tables_of_metrics()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = parser.add_subparsers(dest="what", required=True)
    run = kinds.add_parser("measure")
    run.add_argument("--data-dir", required=True)
    run.add_argument("--results", type=Path, required=True)
    kinds.add_parser("collect").add_argument("--results", type=Path, required=True)
    kinds.add_parser("of-1996").add_argument("--data-dir", required=True)
    kinds.add_parser("print")
    options = parser.parse_args()
    if options.what == "measure":
        measure(options.results.resolve(), options.data_dir)
    elif options.what == "collect":
        collect(options.results)
    elif options.what == "of-1996":
        measure_of_1996(options.data_dir)
    else:
        sys.stdout.write(markdown.marked(tables()))


if __name__ == "__main__":
    main()
