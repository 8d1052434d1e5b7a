"""Classifiers of several libraries with no settings at all, on the same rows: docs/classifiers.md.

    python -m tests.experiments.classifier_table measure --data-dir DIR -o FILE.csv
    python -m tests.experiments.classifier_table print FILE.csv

Each fit runs in a process of its own, after a small fit that loads libraries and compiled kernels.
The test rows of the comparison are the standard ones, or a quarter drawn with a fixed seed.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import subprocess
import sys
import time
import warnings
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
MOST_IMAGES = 10_000
"""Training images of CIFAR-10: its first file."""
SILENT: dict[str, dict[str, Any]] = {"LightGBM": {"verbosity": -1}}
COLUMNS = ("data", "library", "error", "log_loss", "fit_seconds", "predict_seconds")

Rows = tuple[NDArray[Any], NDArray[Any]]


def rows_of(name: str, data_dir: str | None) -> tuple[Rows, Rows]:
    """Training and test rows of a data set, as tables of float32."""
    if name == "breast-cancer":
        from sklearn.datasets import load_breast_cancer

        X, y = load_breast_cancer(return_X_y=True)
        train, test = quarter(y)
    elif name == "isolet-partial":
        path = Path(str(data_dir)) / name / "isolet1.data.gz"
        table = np.loadtxt(path, delimiter=",")
        X, y = table[:, :-1], table[:, -1].astype(int) - 1
        train, test = quarter(y)
    else:
        data = load_dataset(name, data_dir=data_dir)
        X, y = np.asarray(data.X), np.asarray(data.y)
        train, test = data.split(repetition=0, seed=0)
        train = train[:MOST_IMAGES] if name == "cifar10" else train
    table = X.reshape(len(X), -1).astype(np.float32)
    return (table[train], y[train]), (table[test], y[test])


def quarter(y: NDArray[Any]) -> Rows:
    """Training rows and a quarter of the rows for the test, by class."""
    from sklearn.model_selection import train_test_split

    split = train_test_split(np.arange(len(y)), test_size=0.25, random_state=0, stratify=y)
    return split[0], split[1]


def made(library: str) -> Any:
    """A classifier with no settings."""
    module, _, name = LIBRARIES[library].partition(":")
    return getattr(importlib.import_module(module), name)(**SILENT.get(library, {}))


def measure_one(name: str, library: str, data_dir: str | None) -> dict[str, Any]:
    """Errors and times of one library on one data set."""
    warnings.simplefilter("ignore")  # LightGBM and XGBoost warn about names and labels
    train, test = rows_of(name, data_dir)
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
    return dict(zip(COLUMNS, (name, library, *figures), strict=True))


def measure(data_dir: str | None, target: Path, sets: list[str], libraries: list[str]) -> None:
    """Measure all in one run; each line is written as soon as it is known."""
    with target.open("w", newline="", encoding="ascii") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for name in sets:
            for library in libraries:
                job = [
                    "one",
                    name,
                    library,
                    *([] if data_dir is None else ["--data-dir", data_dir]),
                ]
                command = [sys.executable, "-m", "tests.experiments.classifier_table", *job]
                done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
                row = json.loads(done.stdout.splitlines()[-1])
                writer.writerow(row)
                stream.flush()
                sys.stderr.write(f"{row}\n")


def read(path: Path) -> dict[str, dict[str, dict[str, float]]]:
    """The figures by data set and library."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    with path.open(newline="", encoding="ascii") as stream:
        for row in csv.DictReader(stream):
            figures = {name: float(row[name]) for name in COLUMNS[2:]}
            found.setdefault(row["data"], {})[row["library"]] = figures
    return found


def tables(path: Path) -> list[str]:
    """The lines of the tables, best figures in bold."""
    found, lines = read(path), []
    heads = {"error": "test error, %", "log_loss": "test log loss"}
    heads |= {
        "fit_seconds": "seconds to fit",
        "predict_seconds": "seconds to predict the test rows",
    }
    for column, head in heads.items():
        lines += [f"| {head} | {' | '.join(LIBRARIES)} |", "| --- |" + " ---: |" * len(LIBRARIES)]
        for name, by_library in found.items():
            values = [by_library[one][column] for one in LIBRARIES]
            shown = [f"{v:g}" if v != min(values) else f"**{v:g}**" for v in values]
            lines.append(f"| {SETS[name]} | {' | '.join(shown)} |")
        lines.append("")
    near = sum(
        one["boostsample"]["error"] <= 1.1 * min(other["error"] for other in one.values())
        for one in found.values()
    )
    first = sum(
        one["boostsample"]["fit_seconds"] <= min(other["fit_seconds"] for other in one.values())
        for one in found.values()
    )
    ours = f"Error the best, or within a tenth of it: {near} of {len(found)}."
    return [*lines, f"{ours} Fastest to fit: {first} of {len(found)}."]


def main() -> None:
    """Measure, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = parser.add_subparsers(dest="what", required=True)
    run = kinds.add_parser("measure")
    run.add_argument("--data-dir")
    run.add_argument("-o", "--output", type=Path, required=True)
    run.add_argument("--sets", default=",".join(SETS))
    run.add_argument("--libraries", default=",".join(LIBRARIES))
    one = kinds.add_parser("one")
    one.add_argument("name")
    one.add_argument("library")
    one.add_argument("--data-dir")
    show = kinds.add_parser("print")
    show.add_argument("file", type=Path)
    given = parser.parse_args()
    if given.what == "measure":
        measure(given.data_dir, given.output, given.sets.split(","), given.libraries.split(","))
    elif given.what == "one":
        row = measure_one(given.name, given.library, given.data_dir)
        sys.stdout.write(json.dumps(row) + "\n")
    else:
        sys.stdout.write("\n".join(tables(given.file)) + "\n")


if __name__ == "__main__":
    main()
