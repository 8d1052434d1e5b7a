"""Classifiers of several libraries with no settings, on the same rows: docs/classifiers.md.

    python -m tests.experiments.classifier_table measure --data-dir DIR -o FILE.csv
    python -m tests.experiments.classifier_table contest FOLDER -o FILE.csv
    python -m tests.experiments.classifier_table print FILE.csv

`contest` measures the narrow tables of the contest of strategies in one process, so their seconds
are not compared; `tests.experiments.contest_sets` writes them into the folder. With `--libraries
mh,real-mh`, a file has the figures of the table of objectives. Each fit of `measure` runs in a
separate process, after a small fit that loads libraries and compiled kernels. Each split draws a
quarter of the rows for testing, by class, or as many as for training where these are limited; seeds
are 0, 1, ... CatBoost is no dependency of the tests: `pip install catboost`.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import itertools
import json
import math
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import log_loss, roc_auc_score

from boostsample import BoostSampleClassifier
from tests.experiments import markdown
from tests.experiments.classifier_sets import SETS, Table, TableSet
from tests.experiments.contest_sets import MADE
from tests.paths import ROOT

LIBRARIES = {
    "boostsample": "boostsample:BoostSampleClassifier",
    "LightGBM": "lightgbm:LGBMClassifier",
    "XGBoost": "xgboost:XGBClassifier",
    "CatBoost": "catboost:CatBoostClassifier",
    "HistGradientBoosting": "sklearn.ensemble:HistGradientBoostingClassifier",
    "AdaBoost": "sklearn.ensemble:AdaBoostClassifier",
    "logistic regression": "sklearn.linear_model:LogisticRegression",
}
VARIANTS: dict[str, dict[str, Any]] = {
    "300 rounds": {"n_rounds": 300},
    "early stopping": {"n_rounds": 300, "early_stopping": True},
    "mh": {"objective": "mh"},
    "real-mh": {"objective": "real-mh"},
}
"""Settings of boostsample; the tables of early stopping and of objectives compare them."""
OBJECTIVES = ("mh", "real-mh")
BOOSTERS = ("LightGBM", "XGBoost", "CatBoost", "HistGradientBoosting")
"""Those that a mean log loss is compared with."""
N_SPLITS = 5
LIMIT = 1200  # seconds after which a fit is given up; its figures are then missing
SILENT: dict[str, dict[str, Any]] = {
    "LightGBM": {"verbosity": -1},
    "CatBoost": {"verbose": 0, "allow_writing_files": False},
    "XGBoost": {"enable_categorical": True},
    "logistic regression": {"max_iter": 1000},
}
"""Messages, how categories are passed, and iterations until it is done."""
NUMBERS_ONLY = ("AdaBoost", "logistic regression")
"""They take no categories and no missing values: indicators, means, and unit variances."""
COLUMNS = (
    *("data", "library", "split", "error", "log_loss", "auc", "auc_of_scores"),
    *("fit_seconds", "predict_seconds"),
)

CONTEST_ROWS, CONTEST_COLUMNS = range(300, 12_001), range(101)
"""Sizes of the tables of the contest that are compared."""
KNOWN = {*MADE, "wdbc", "optdigits"}  # tables of the contest that SETS has

Rows = tuple[Any, NDArray[Any]]


def contest_sets(folder: Path) -> dict[str, TableSet]:
    """The narrow tables in a folder of the contest of strategies, by name; indicators, NaN."""
    tables = {}
    for path in sorted(folder.glob("*.npz"), key=lambda path: path.stem):
        n, n_columns = of_archive(path, None).X.shape
        if path.stem not in KNOWN and n in CONTEST_ROWS and n_columns in CONTEST_COLUMNS:
            tables[path.stem] = TableSet(path.stem, functools.partial(of_archive, path))
    return tables


def of_archive(path: Path, data_dir: str | None) -> Table:
    with np.load(path) as arrays:
        return Table(arrays["X"], arrays["y"])


def rows_of(table_set: TableSet, data_dir: str | None, split: int) -> tuple[Rows, Rows]:
    """Training and test rows of a set, as float32 or a frame, with classes 0, 1, ..."""
    X, y = table_set.load(data_dir)
    y = np.unique(y, return_inverse=True)[1]
    train, test = split_rows(y, split, table_set.most_rows)
    if isinstance(X, pd.DataFrame):
        return (X.iloc[train], y[train]), (X.iloc[test], y[test])
    X = np.asarray(X, np.float32)
    return (X[train], y[train]), (X[test], y[test])


def split_rows(
    y: NDArray[Any], split: int, most: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Training rows and a quarter of the rows for testing, by class, at most `most` of each."""
    from sklearn.model_selection import train_test_split

    n_test = round(0.25 * len(y))
    sizes = (len(y) - n_test, n_test) if most is None else (most, most)
    train, test = train_test_split(
        np.arange(len(y)), train_size=sizes[0], test_size=sizes[1], random_state=split, stratify=y
    )
    return train, test


def made(library: str, X: Any) -> Any:
    """A classifier with no settings, for tables as X; or a variant of boostsample."""
    if library in VARIANTS:
        return BoostSampleClassifier(**VARIANTS[library])
    module, _, name = LIBRARIES[library].partition(":")
    settings = dict(SILENT.get(library, {}))
    if library == "CatBoost" and isinstance(X, pd.DataFrame):
        settings["cat_features"] = list(X.select_dtypes("category"))
    model = getattr(importlib.import_module(module), name)(**settings)
    return with_numbers(model, X) if library in NUMBERS_ONLY else model


def with_numbers(model: Any, X: Any) -> Any:
    """The model after indicators of categories, means for missing values, and unit variances."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    if not isinstance(X, pd.DataFrame):
        return make_pipeline(numbers, model)
    categories = list(X.select_dtypes("category"))
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), categories), remainder=numbers
    )
    return make_pipeline(columns, model)


def read_by(library: str, X: Any) -> Any:
    """A table as the library takes it: CatBoost wants missing categories as text."""
    if library != "CatBoost" or not isinstance(X, pd.DataFrame):
        return X
    categories = X.select_dtypes("category")
    return X.assign(**{k: v.astype(object).fillna("missing") for k, v in categories.items()})


def warm_up(library: str, rows: Rows) -> None:
    """Fit up to twenty rows of each class, so that libraries are loaded and kernels compiled."""
    X, y = rows
    few = np.concatenate([np.flatnonzero(y == label)[:20] for label in np.unique(y)])
    X_few = X.iloc[few] if isinstance(X, pd.DataFrame) else X[few]
    if len(few) < len(y):
        made(library, X).fit(read_by(library, X_few), y[few])


def measure_one(name: str, library: str, split: int, rows: Rows, test_rows: Rows) -> dict[str, Any]:
    (X, y), (X_test, y_test) = rows, test_rows
    model, train, test = made(library, X), read_by(library, X), read_by(library, X_test)
    start = time.perf_counter()
    model.fit(train, y)
    middle = time.perf_counter()
    chances = np.asarray(model.predict_proba(test))
    end = time.perf_counter()
    error = 100 * np.mean(model.classes_[chances.argmax(axis=1)] != y_test)
    loss = log_loss(y_test, chances, labels=model.classes_)
    of_scores = math.nan
    if library == "boostsample" or library in VARIANTS:
        of_scores = auc(y_test, np.asarray(model.decision_function(test)))
    figures = (
        *(f"{error:.3f}", f"{loss:.4f}", f"{auc(y_test, chances):.6f}", f"{of_scores:.6f}"),
        *(f"{middle - start:.3g}", f"{end - middle:.3g}"),
    )
    return dict(zip(COLUMNS, (name, library, split, *figures), strict=True))


def auc(y: NDArray[Any], values: NDArray[Any]) -> float:
    """Area under the ROC curve; mean over classes against the rest if there are more than two."""
    if values.ndim == 1:
        return float(roc_auc_score(y, values))
    if values.shape[1] == 2:
        return float(roc_auc_score(y, values[:, 1]))
    return float(np.mean([roc_auc_score(y == k, values[:, k]) for k in range(values.shape[1])]))


def missing(
    target: Path, sets: Iterable[str], libraries: list[str]
) -> Iterator[tuple[int, str, str]]:
    """Splits, sets and libraries of which the file has no line."""
    known: set[tuple[str, str, int]] = set()
    if target.exists():
        known.update(pd.read_csv(target)[["data", "library", "split"]].itertuples(index=False))
    for split, name, library in itertools.product(range(N_SPLITS), sets, libraries):
        if (name, library, split) not in known:
            yield split, name, library


def measure_contest(folder: Path, target: Path) -> None:
    """Measure the tables of the contest that the file does not have yet."""
    sets = contest_sets(folder)
    indicators = {name: n_indicators(of_set.load(None).X) for name, of_set in sets.items()}
    for split, name, library in missing(target, sets, [*LIBRARIES]):
        row = measure_one(name, library, split, *rows_of(sets[name], None, split))
        row["indicators"] = indicators[name]
        markdown.write_rows(target, [row], mode="a")


def n_indicators(X: NDArray[np.float32]) -> int:
    """Columns of 0 and 1, as a category has for each value."""
    return int(((X == 0) | (X == 1) | np.isnan(X)).all(axis=0).sum())


def measure(data_dir: str | None, target: Path, libraries: list[str]) -> None:
    """Measure what the file does not have yet; each line is written as soon as it is known."""
    for split, name, library in missing(target, SETS, libraries):
        job = ["one", name, library, str(split)]
        job += [] if data_dir is None else ["--data-dir", data_dir]
        command = [sys.executable, "-m", "tests.experiments.classifier_table", *job]
        try:
            done = subprocess.run(
                command, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=LIMIT
            )
            row = json.loads(done.stdout.splitlines()[-1])
        except subprocess.TimeoutExpired:
            row = {**dict.fromkeys(COLUMNS, "nan"), "data": name, "library": library}
            row["split"] = str(split)
        markdown.write_rows(target, [row], mode="a")
        sys.stderr.write(f"{row}\n")


def read(path: Path) -> pd.DataFrame:
    """The figures of a file, sets in the order of SETS, others after them."""
    figures = pd.read_csv(path)
    sets = set(figures["data"])
    order = [*(name for name in SETS if name in sets), *sorted(sets - set(SETS))]
    figures["data"] = pd.Categorical(figures["data"], order)
    figures["library"] = pd.Categorical(figures["library"], [*LIBRARIES, *VARIANTS])
    return figures


def stopping_table(path: Path) -> list[str]:
    """The lines of the table of early stopping: log losses, and differences from `300 rounds`."""
    figures = read(path)
    ours = figures[figures["library"].isin(["300 rounds", "early stopping", "boostsample"])]
    losses = ours.pivot_table(
        index=["data", "split"], columns="library", values="log_loss", observed=True
    )
    means = losses.groupby("data", observed=True).mean()
    columns = {"early stopping": "early stopping", "boostsample": "committee"}
    texts = []
    for name, row in means.iterrows():
        cells = [SETS[str(name)].title, f"{row['300 rounds']:.3f}"]
        for column in columns:
            behind = (losses[column] - losses["300 rounds"]).loc[name]
            cells.append(f"{row[column]:.3f} ({behind.mean():+.3f} ± {behind.sem():.3f})")
        texts.append(cells)
    return markdown.table(["test log loss", "300 rounds", *columns.values()], texts)


def objectives_table(path: Path) -> list[str]:
    """The lines of the table of objectives: means of `mh`, and `real-mh` with its difference.

    The last line has the mean difference of errors, the mean of the logarithms of the other ratios
    as a ratio, each with its standard error over the sets, and the sets on which `real-mh` is the
    better one.
    """
    figures, texts = read(path), list[list[str]]()
    columns = {"error": 2, "log_loss": 3, "fit_seconds": 2}
    wide = figures.pivot_table(
        index=["data", "split"], columns="library", values=list(columns), observed=True
    ).dropna()
    for name, of_set in wide.groupby("data", observed=True):
        cells = [SETS[str(name)].title]
        for column, digits in columns.items():
            usual, other = (of_set[column, library] for library in OBJECTIVES)
            behind = other - usual
            difference = f"{behind.mean():+.{digits}f} ± {behind.sem():.{digits}f}"
            cells += [f"{usual.mean():.{digits}f}", f"{other.mean():.{digits}f} ({difference})"]
        texts.append(cells)
    means = wide.groupby("data", observed=True).mean()
    summary = [f"all {len(means)}"]
    for column in columns:
        usual, other = (means[column, library] for library in OBJECTIVES)
        wins = f"better on {(other < usual).sum()}"
        if column == "error":
            behind = other - usual
            mean = f"{behind.mean():+.2f} ± {behind.sem():.2f}"
        else:
            behind = np.log(other / usual)
            mean = f"times {math.exp(behind.mean()):.2f} ± {behind.sem():.2f}"
        summary += ["", f"{mean}; {wins}"]
    heads = ("test error, %", "test log loss", "seconds to fit")
    return markdown.table(
        ["`mh` and `real-mh`", *itertools.chain(*((head, "`real-mh`") for head in heads))],
        [*texts, summary],
    )


def tables(path: Path) -> list[str]:
    figures, lines = read(path), list[str]()
    figures = figures[figures["library"].isin(LIBRARIES)]
    heads = {
        "error": ("test error, %", 2),
        "log_loss": ("test log loss", 3),
        "auc": ("area under the ROC curve", 4),
        "fit_seconds": ("seconds to fit", 3),
        "predict_seconds": ("seconds to predict the test rows", 4),
    }
    for column, (head, digits) in heads.items():
        groups = figures.groupby(["data", "library"], observed=True)[column]
        means, errors = groups.mean().unstack(0), groups.sem().unstack(0)
        form = "{}" if column.endswith("seconds") else "{} ± {}"
        best = column == "auc"
        texts = markdown.best_in_bold(means, errors, digits, form, largest=best, missing="none").T
        texts.index = [SETS[str(name)].title for name in texts.index]
        lines += [*markdown.frame_table([head, *texts], texts, "{}"), ""]
    return [*lines, *rank_lines(figures)]


def rank_lines(figures: pd.DataFrame) -> list[str]:
    """Mean rank of each library, of means over splits, and how often it is best and behind ours.

    Over the sets of which all libraries have a result, and over all sets for those that have all.
    """
    lines = list[str]()
    of_column = {
        column: figures.groupby(["data", "library"], observed=True)[column].mean().unstack()
        for column in ("error", "log_loss", "auc")
    }
    parts = [of_column["error"].dropna(axis=axis) for axis in (0, 1)]
    for part in parts[: 1 if parts[0].equals(parts[1]) else 2]:
        rows = []
        for column, all_means in of_column.items():
            means = all_means.loc[part.index, part.columns]
            metric = "AUC" if column == "auc" else column.replace("_", " ")
            ranks = means.rank(axis=1, ascending=column != "auc")
            behind = ranks.sub(ranks["boostsample"], axis=0)
            rows.append([f"mean rank, {metric}", *(f"{ranks[k].mean():.2f}" for k in means)])
            texts = [f"{behind[k].mean():+.2f} ± {behind[k].sem():.2f}" for k in means]
            rows.append([f"its rank minus ours, {metric}", "", *texts[1:]])
            wins = [f"{(ranks[k] == ranks.min(axis=1)).sum()}" for k in means]
            rows.append([f"best or equal, sets, {metric}", *wins])
            sides = [f"{(behind[k] > 0).sum()}, {(behind[k] < 0).sum()}" for k in means]
            rows.append([f"worse, better than ours, sets, {metric}", "", *sides[1:]])
        head = [f"{len(part)} sets", *part.columns]
        lines += [*markdown.table(head, rows), ""]
    losses = of_column["log_loss"]
    boosters = losses[[k for k in BOOSTERS if k in losses]]
    ratios = losses["boostsample"] / boosters.min(axis=1)
    rows = []
    for name, ratio in ratios.sort_values(ascending=False).head(5).items():
        title = SETS[str(name)].title if name in SETS else str(name)
        best = f"{boosters.loc[name].idxmin()} {boosters.loc[name].min():.4f}"
        rows.append([title, f"{losses.loc[name, 'boostsample']:.4f}", best, f"{ratio:.2f}"])
    return lines + markdown.table(
        ["largest ratios of log losses", "ours", "best booster", ""], rows
    )


def contest_table(path: Path) -> list[str]:
    """The lines of the tables of the contest: of all, and of those without an indicator."""
    figures = read(path)
    numbers = figures[figures["indicators"] == 0]
    return [*rank_lines(figures), "", *rank_lines(numbers)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = parser.add_subparsers(dest="what", required=True)
    run = kinds.add_parser("measure")
    run.add_argument("--data-dir")
    run.add_argument("-o", "--output", type=Path, required=True)
    run.add_argument("--libraries", default=",".join([*LIBRARIES, *VARIANTS]))
    single = kinds.add_parser("one")
    single.add_argument("name")
    single.add_argument("library")
    single.add_argument("split", type=int)
    single.add_argument("--data-dir")
    real = kinds.add_parser("contest")
    real.add_argument("folder", type=Path)
    real.add_argument("-o", "--output", type=Path, required=True)
    show = kinds.add_parser("print")
    show.add_argument("file", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # LightGBM and XGBoost warn about names and labels
    if options.what == "measure":
        measure(options.data_dir, options.output, options.libraries.split(","))
    elif options.what == "one":
        rows, test_rows = rows_of(SETS[options.name], options.data_dir, options.split)
        warm_up(options.library, rows)
        row = measure_one(options.name, options.library, options.split, rows, test_rows)
        sys.stdout.write(json.dumps(row) + "\n")
    elif options.what == "contest":
        measure_contest(options.folder, options.output)
    else:
        figures = read(options.file)
        shown, of_contest = set(figures["library"]), not set(figures["data"]) <= set(SETS)
        print_lines = contest_table if of_contest else tables
        print_lines = objectives_table if shown <= set(OBJECTIVES) else print_lines
        lines = print_lines(options.file)
        if {"300 rounds", "early stopping"} <= shown:
            lines += ["", *stopping_table(options.file)]
        sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
