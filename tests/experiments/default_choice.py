"""The experiment behind the classifier's defaults, on synthetic data: docs/default.md.

    python -m tests.experiments.default_choice measure FILE.csv [--only TABLE]
    python -m tests.experiments.default_choice print FILE.csv

Errors are percentages of test rows that no fit has seen; seconds are those of the processor, as
multiples of the first line of a table.
"""

from __future__ import annotations

import argparse
import csv
import functools
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.model_selection import train_test_split

from boostsample import BoostSampleClassifier
from boostsample.labels import classify

COLUMNS = ("table", "data", "choice", "seconds", "rounds", "error")
MARKS = (50, 100, 200, 400)


def mixture(seed: int, n: int, d: int, useful: int, classes: int, **settings: Any) -> Any:
    """Gaussian clusters at the corners of a cube, as `make_classification` draws them."""
    given = {"n_clusters_per_class": 1, "flip_y": 0.02, **settings}
    return datasets.make_classification(
        n, d, n_informative=useful, n_classes=classes, random_state=seed, **given
    )


def with_noise(seed: int, n: int, d: int, useful: int, classes: int, **settings: Any) -> Any:
    """Such clusters in the first columns, all useful; normal noise in the others, float32."""
    X, y = mixture(seed, n, useful, useful, classes, n_redundant=0, **settings)
    wide = np.random.default_rng(seed).standard_normal((n, d), np.float32)
    wide[:, :useful] = X / X.std(axis=0)
    return wide, y


def hastie(n: int) -> Any:
    """The sphere in ten dimensions of Hastie et al., example 10.2."""
    X, y = datasets.make_hastie_10_2(n, random_state=6)
    return X, (y > 0).astype(int)


NARROW = {
    "20 columns, 2 classes": lambda: mixture(1, 4000, 20, 8, 2, flip_y=0.05, class_sep=0.8),
    "40 columns, 5 classes": lambda: mixture(2, 5000, 40, 12, 5, n_clusters_per_class=2),
    "16 columns, 26 classes": lambda: mixture(4, 12000, 16, 14, 26, class_sep=1.5),
    "shells in 10 columns": lambda: datasets.make_gaussian_quantiles(
        n_samples=4000, n_features=10, n_classes=3, random_state=5
    ),
    "sphere in 10 columns": lambda: hastie(6000),
}
WIDE = {
    "500 columns, 10 classes": lambda: mixture(3, 3000, 500, 30, 10, class_sep=1.5),
    "3,000 columns, 10 classes": lambda: mixture(12, 3000, 3000, 40, 10, class_sep=2.0),
    "300 columns, 4 classes": lambda: mixture(
        11, 20000, 300, 25, 4, n_clusters_per_class=3, class_sep=1.2
    ),
}
WIDER = {
    "30,000 columns, 5 classes": lambda: with_noise(21, 2500, 30_000, 30, 5, class_sep=2.0),
    "100,000 columns, 2 classes": lambda: with_noise(22, 2500, 100_000, 40, 2, class_sep=0.8),
}
NOISY = {
    name: NARROW[name]
    for name in (
        *("20 columns, 2 classes", "shells in 10 columns"),
        *("40 columns, 5 classes", "sphere in 10 columns"),
    )
}
CLEAN = {
    f"clean labels, {classes} classes, distance {distance}": functools.partial(
        mixture, classes, 3000, 30, 8, classes, flip_y=0, class_sep=distance
    )
    for classes in (2, 3)
    for distance in (1.0, 1.5, 2.0)
}
DATA: dict[str, Callable[[], Any]] = {**NARROW, **WIDE, **WIDER, **CLEAN}

Split = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


def split(name: str, seed: int, n_train: float | int = 0.6) -> Split:
    """Training rows, test rows, and both labels."""
    X, y = DATA[name]()
    train, test, y_train, y_test = train_test_split(
        X.astype(np.float32, copy=False), y, train_size=n_train, random_state=seed, stratify=y
    )
    return train, test, y_train, y_test


def curve(rows: Split, strategy: str, learner: str, budget: str | None) -> tuple[float, list[Any]]:
    """Seconds of a fit, and rounds and test error at each of MARKS."""
    train, test, y_train, y_test = rows
    model = BoostSampleClassifier(strategy, learner, budget=budget, random_state=0)
    model.set_params(n_rounds=1).fit(train, y_train)  # loads compiled kernels
    began = time.process_time()
    model.set_params(n_rounds=MARKS[-1]).fit(train, y_train)
    seconds = time.process_time() - began
    points = []
    for mark in MARKS:
        scores = model.model_.decision_function(test, min(mark, len(model.model_)))
        wrong = model.classes_[classify(scores)] != y_test
        points.append((mark, 100 * float(np.mean(wrong))))
    return seconds, points


def measured(only: str | None) -> Iterator[tuple[Any, ...]]:
    """The lines of all tables."""
    choices = [
        (f"{strategy}, budget {budget}", strategy, "tree:n_leaves=16", budget)
        for strategy in ("laminating:scheme=distinct", "laminating", "uniform-naive", "mas-naive")
        for budget in ("10N", "30N", "100N")
    ]
    if only in (None, "budget"):
        for name in WIDE:
            rows = split(name, 0)
            for choice, *settings in choices:
                yield from lines("budget", name, choice, *curve(rows, *settings))
    if only in (None, "columns"):
        for name in WIDER:
            rows = split(name, 0)
            for looks in (30, 100, 300, 1000, 3000):
                given = "laminating:scheme=distinct", "tree:n_leaves=16", f"{looks}N"
                yield from lines("columns", name, f"budget {looks}N", *curve(rows, *given))
    if only in (None, "leaves"):
        for name in (*NARROW, *WIDE):
            rows = split(name, 0)
            narrow = name in NARROW
            for n in (4, 8, 16, 32):
                strategy = "full" if narrow else "laminating:scheme=distinct"
                budget = None if narrow else "100N"
                found = curve(rows, strategy, f"tree:n_leaves={n}", budget)
                yield from lines("leaves", name, f"{n} leaves", *found)
    if only in (None, "small"):
        for kind, sets in {"noisy": tuple(NOISY), "clean": tuple(CLEAN)}.items():
            for n_train in (100, 200, 400, 800):
                for n in (2, 4, 8, 16):
                    yield from lines(
                        "small", f"{n_train} rows, {kind}", f"{n} leaves", *mean(sets, n_train, n)
                    )


def mean(sets: Iterable[str], n_train: int, n_leaves: int) -> tuple[float, list[Any]]:
    """Seconds, and mean errors over data sets and three splits."""
    every, total = [], 0.0
    for name in sets:
        for seed in range(3):
            rows = split(name, seed, n_train)
            seconds, points = curve(rows, "full", f"tree:n_leaves={n_leaves}", None)
            every.append([error for _, error in points])
            total += seconds
    return total, list(zip(MARKS, np.mean(every, axis=0).tolist(), strict=True))


def lines(
    table: str, data: str, choice: str, seconds: float, points: list[Any]
) -> Iterator[tuple[Any, ...]]:
    """One line for each number of rounds."""
    for rounds, error in points:
        yield table, data, choice, f"{seconds:.3g}", rounds, f"{error:.2f}"


def tables(path: Path) -> dict[str, list[str]]:
    """The lines of each table: errors after each number of rounds, and seconds of all rounds."""
    found: dict[str, dict[str, dict[str, tuple[float, dict[int, float]]]]] = {}
    with path.open(newline="", encoding="ascii") as stream:
        for row in csv.DictReader(stream):
            choices = found.setdefault(row["table"], {}).setdefault(row["data"], {})
            errors = choices.setdefault(row["choice"], (float(row["seconds"]), {}))[1]
            errors[int(row["rounds"])] = float(row["error"])
    out: dict[str, list[str]] = {}
    for table, by_data in found.items():
        rows = out.setdefault(table, [])
        for data, choices in by_data.items():
            marks = " | ".join(f"{mark}" for mark in MARKS)
            rows += [f"| {data} | {marks} | seconds |", "| --- |" + " ---: |" * (len(MARKS) + 1)]
            first = next(iter(choices.values()))[0]
            for choice, (seconds, errors) in choices.items():
                shown = " | ".join(f"{errors[mark]:.1f}" for mark in MARKS)
                rows.append(f"| {choice} | {shown} | {seconds / first:.2g} |")
            rows.append("")
        rows.pop()
    return out


def main() -> None:
    """Measure, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = parser.add_subparsers(dest="what", required=True)
    run = kinds.add_parser("measure")
    run.add_argument("file", type=Path)
    run.add_argument("--only", choices=("budget", "columns", "leaves", "small"))
    show = kinds.add_parser("print")
    show.add_argument("file", type=Path)
    given = parser.parse_args()
    if given.what == "print":
        for name, lines_ in tables(given.file).items():
            sys.stdout.write("\n".join([f"<!-- {name} -->", "", *lines_, "", "<!-- end -->", ""]))
        return
    with given.file.open("w", newline="", encoding="ascii") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for line in measured(given.only):
            writer.writerow(line)
            stream.flush()


if __name__ == "__main__":
    main()
