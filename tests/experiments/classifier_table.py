"""Classifiers of several libraries with no settings at all, on the same rows: docs/classifiers.md.

    python -m tests.experiments.classifier_table measure --data-dir DIR -o FILE.csv
    python -m tests.experiments.classifier_table print FILE.csv

Each fit runs in a separate process, after a small fit that loads libraries and compiled kernels.
Each split draws a quarter of all rows for testing, or as many as for training where these are
limited, by class; seeds are 0, 1, ... Errors are of these. The split "standard" has the standard
test rows, or a quarter, and was measured with nothing else running: the seconds are of it.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import itertools
import json
import math
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss

from boostsample.experiments.data.datasets import load_dataset
from tests.paths import ROOT

SETS = {
    "breast-cancer": "breast cancer",
    "digits": "digits, 64 pixels",
    "pendigits": "Pendigits",
    "letter": "Letter",
    "isolet-partial": "ISOLET, first of five parts",
    "usps": "USPS, 256 pixels",
    "mnist": "MNIST, 784 pixels",
    "cifar10": "CIFAR-10, 3,072 pixels, 10,000 images",
}
LIBRARIES = {
    "boostsample": "boostsample:BoostSampleClassifier",
    "AdaBoost": "sklearn.ensemble:AdaBoostClassifier",
    "HistGradientBoosting": "sklearn.ensemble:HistGradientBoostingClassifier",
    "LightGBM": "lightgbm:LGBMClassifier",
    "XGBoost": "xgboost:XGBClassifier",
}
MOST_ROWS = {"cifar10": 10_000}
"""Largest number of training rows, and of test rows."""
N_SPLITS = 5
STANDARD = "standard"
SILENT: dict[str, dict[str, Any]] = {"LightGBM": {"verbosity": -1}}
COLUMNS = ("data", "library", "split", "error", "log_loss", "fit_seconds", "predict_seconds")

Rows = tuple[NDArray[Any], NDArray[Any]]


def rows_of(name: str, data_dir: str | None, split: int) -> tuple[Rows, Rows]:
    """Training and test rows of a data set, as tables of float32."""
    if name == "breast-cancer":
        from sklearn.datasets import load_breast_cancer

        X, y = load_breast_cancer(return_X_y=True)
    elif name == "isolet-partial":
        path = Path(str(data_dir)) / name / "isolet1.data.gz"
        table = np.loadtxt(path, delimiter=",")
        X, y = table[:, :-1], table[:, -1].astype(int) - 1
    else:
        data = load_dataset(name, data_dir=data_dir)
        X, y = np.asarray(data.X), np.asarray(data.y)
    train, test = split_rows(y, split, MOST_ROWS.get(name))
    table = X.reshape(len(X), -1)
    return (table[train].astype(np.float32), y[train]), (table[test].astype(np.float32), y[test])


def split_rows(y: NDArray[Any], split: int, most: int | None) -> Rows:
    """Training rows and a quarter of the rows for testing, by class, at most `most` of each."""
    from sklearn.model_selection import train_test_split

    n_test = round(0.25 * len(y))
    sizes = (len(y) - n_test, n_test) if most is None else (most, most)
    train, test = train_test_split(
        np.arange(len(y)), train_size=sizes[0], test_size=sizes[1], random_state=split, stratify=y
    )
    return train, test


def made(library: str) -> Any:
    """A classifier with no settings."""
    module, _, name = LIBRARIES[library].partition(":")
    return getattr(importlib.import_module(module), name)(**SILENT.get(library, {}))


def measure_one(name: str, library: str, split: int, data_dir: str | None) -> dict[str, Any]:
    """Errors and times of one library on one split."""
    warnings.simplefilter("ignore")  # LightGBM and XGBoost warn about names and labels
    train, test = rows_of(name, data_dir, split)
    warm = [np.flatnonzero(train[1] == one)[:20] for one in np.unique(train[1])]
    few = np.concatenate(warm)
    made(library).fit(train[0][few], train[1][few]).predict_proba(test[0][:10])
    model = made(library)
    start = time.perf_counter()
    model.fit(*train)
    middle = time.perf_counter()
    chances = model.predict_proba(test[0])
    end = time.perf_counter()
    error = 100 * np.mean(model.classes_[chances.argmax(axis=1)] != test[1])
    loss = log_loss(test[1], chances, labels=model.classes_)
    figures = (f"{error:.2f}", f"{loss:.3f}", f"{middle - start:.3g}", f"{end - middle:.3g}")
    return dict(zip(COLUMNS, (name, library, split, *figures), strict=True))


def measure(
    data_dir: str | None, target: Path, sets: list[str], libraries: list[str], splits: range
) -> None:
    """Measure all in one run; each line is written as soon as it is known."""
    with target.open("w", newline="", encoding="ascii") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for name, split, library in itertools.product(sets, splits, libraries):
            job = ["one", name, library, str(split)]
            job += [] if data_dir is None else ["--data-dir", data_dir]
            command = [sys.executable, "-m", "tests.experiments.classifier_table", *job]
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
            row = json.loads(done.stdout.splitlines()[-1])
            writer.writerow(row)
            stream.flush()
            sys.stderr.write(f"{row}\n")


#: Of each data set, library and split.
Figures = dict[str, dict[str, dict[str, dict[str, float]]]]


def read(path: Path) -> Figures:
    """The figures of a file."""
    figures: Figures = {}
    with path.open(newline="", encoding="ascii") as stream:
        for row in csv.DictReader(stream):
            by_library = figures.setdefault(row["data"], {})
            numbers = {name: float(row[name]) for name in COLUMNS[3:]}
            by_library.setdefault(row["library"], {})[row["split"]] = numbers
    return figures


def drawn(by_split: Mapping[str, dict[str, float]]) -> list[dict[str, float]]:
    """The figures of the drawn splits."""
    return [figures for split, figures in by_split.items() if split != STANDARD]


def tables(path: Path) -> list[str]:
    """The lines of the tables, best means in bold."""
    figures, lines = read(path), []
    digits = {"error": 2, "log_loss": 3}
    heads = {
        "error": "test error, %",
        "log_loss": "test log loss",
        "fit_seconds": "seconds to fit",
        "predict_seconds": "seconds to predict the test rows",
    }
    for column, head in heads.items():
        lines += [f"| {head} | {' | '.join(LIBRARIES)} |", "| --- |" + " ---: |" * len(LIBRARIES)]
        for name, by_library in figures.items():
            by_split = [[f[column] for f in drawn(by_library[lib])] for lib in LIBRARIES]
            if not (by_split[0] if column in digits else STANDARD in by_library["boostsample"]):
                continue
            if column in digits:
                means = [round(statistics.fmean(values), digits[column]) for values in by_split]
                texts = [with_error(values, digits[column]) for values in by_split]
            else:
                means = [by_library[library][STANDARD][column] for library in LIBRARIES]
                texts = [f"{mean:g}" for mean in means]
            least = min(means)
            cells = [
                f"**{text}**" if mean == least else text
                for text, mean in zip(texts, means, strict=True)
            ]
            lines.append(f"| {SETS[name]} | {' | '.join(cells)} |")
        lines.append("")
    near = [is_near(one) for one in figures.values() if drawn(one["boostsample"])]
    return [*lines, f"Mean error the best, or within a tenth of it: {sum(near)} of {len(near)}."]


def with_error(values: list[float], digits: int) -> str:
    """Mean and standard error."""
    error = statistics.stdev(values) / math.sqrt(len(values))
    return f"{statistics.fmean(values):.{digits}f} ± {error:.{digits}f}"


def is_near(by_library: dict[str, dict[str, dict[str, float]]]) -> bool:
    """Whether the mean error of boostsample is at most 1.1 times the best mean error."""
    means = {
        library: statistics.fmean(figures["error"] for figures in drawn(by_split))
        for library, by_split in by_library.items()
    }
    return means["boostsample"] <= 1.1 * min(means.values())


def main() -> None:
    """Measure, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = parser.add_subparsers(dest="what", required=True)
    run = kinds.add_parser("measure")
    run.add_argument("--data-dir")
    run.add_argument("-o", "--output", type=Path, required=True)
    run.add_argument("--sets", default=",".join(SETS))
    run.add_argument("--libraries", default=",".join(LIBRARIES))
    run.add_argument("--splits", type=int, default=N_SPLITS)
    one = kinds.add_parser("one")
    one.add_argument("name")
    one.add_argument("library")
    one.add_argument("split", type=int)
    one.add_argument("--data-dir")
    show = kinds.add_parser("print")
    show.add_argument("file", type=Path)
    given = parser.parse_args()
    if given.what == "measure":
        sets, libraries = given.sets.split(","), given.libraries.split(",")
        measure(given.data_dir, given.output, sets, libraries, range(given.splits))
    elif given.what == "one":
        row = measure_one(given.name, given.library, given.split, given.data_dir)
        sys.stdout.write(json.dumps(row) + "\n")
    else:
        sys.stdout.write("\n".join(tables(given.file)) + "\n")


if __name__ == "__main__":
    main()
