"""Classifiers on sets with many more columns than rows: docs/WIDE.md. Linux only.

    python -m tests.experiments.wide_table measure --data-dir DIR -o FILE.csv
    python -m tests.experiments.wide_table print FILE.csv ...

Each cell, a method on a split of a set, runs on one thread in a separate process, after a small fit
that loads libraries and compiled kernels. Its row is appended to the file when it ends; cells that
the file has are not run again. A cell ends at its limit of CPU seconds or of resident memory, and
then the method does not run on later splits of the set, nor on sets of the same table. CatBoost is
no dependency of the tests: `pip install catboost`.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import log_loss

from boostsample.experiments.results.significance import comparable
from tests.experiments import markdown
from tests.experiments.classifier_table import auc
from tests.experiments.wide_sets import SETS, TINY, WideSplit, found
from tests.paths import ROOT

N_SPLITS = 5
SECONDS, GIB = 900, 10.0
"""Limits of a cell: CPU seconds of `fit` and `predict_proba`, and resident memory in all."""
FIRST = 100  # columns of which the useful ones are counted, the most important first
COLUMNS = (
    *("data", "method", "split", "status", "error", "log_loss", "auc", "useful"),
    *("fit_seconds", "predict_seconds", "memory", "total_memory"),
)
"""Memory is in GiB: the peak less that of the process with data and libraries, and the peak."""
OVER = {"time": "over the time limit", "memory": "over the memory limit"}


class Method(NamedTuple):
    """A classifier by its class, with settings; `dense` ones are for dense tables only."""

    kind: str
    path: str
    settings: Mapping[str, Any] = MappingProxyType({})
    dense: Mapping[str, Any] = MappingProxyType({})
    tables: tuple[str, ...] | None = None


LIBRARIES: dict[str, dict[str, Any]] = {
    "boostsample": {"n_jobs": 1},
    "lightgbm": {"n_jobs": 1, "verbosity": -1},
    "xgboost": {"n_jobs": 1},
    "catboost": {"thread_count": 1, "verbose": 0, "allow_writing_files": False},
}
"""Threads and messages; `random_state` is the split."""
OURS: dict[str, dict[str, Any]] = {
    "boostsample": {},
    "boostsample, one model": {"early_stopping": True},
}
"""Settings of boostsample; the first has none, and is the one that ranks and ratios compare."""
WIDE_SETTINGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "lightgbm:LGBMClassifier": (
        {
            "n_estimators": 300,
            "num_leaves": 7,
            "min_child_samples": 5,
            "max_bin": 63,
            "colsample_bytree": 0.1,
            "force_col_wise": True,
            "histogram_pool_size": 1024,
        },
        {"enable_bundle": False},
    ),
    "xgboost:XGBClassifier": (
        {
            "n_estimators": 300,
            "learning_rate": 0.1,
            "max_depth": 3,
            "max_bin": 64,
            "tree_method": "hist",
            "colsample_bytree": 0.1,
            "colsample_bynode": 0.5,
        },
        {},
    ),
    "catboost:CatBoostClassifier": (
        {
            "iterations": 300,
            "depth": 4,
            "border_count": 32,
            "rsm": 0.1,
            "boosting_type": "Plain",
        },
        {},
    ),
}
"""What the documentation of each library advises for many columns, see docs/WIDE.md."""
LIGHTGBM, XGBOOST, CATBOOST = WIDE_SETTINGS
LINEAR = "tests.experiments.wide_linear"
METHODS: dict[str, Method] = {
    **{
        name: Method("ours", "boostsample:BoostSampleClassifier", settings)
        for name, settings in OURS.items()
    },
    "ranking + logistic": Method("linear", f"{LINEAR}:RankedColumns"),
    "L1 logistic": Method("linear", f"{LINEAR}:LassoLogistic"),
    "ridge logistic": Method("linear", f"{LINEAR}:RidgeLogistic"),
    "polygenic score": Method("linear", f"{LINEAR}:PolygenicScore", tables=("genotypes",)),
    "LightGBM, wide": Method("booster", LIGHTGBM, *WIDE_SETTINGS[LIGHTGBM]),
    "XGBoost, wide": Method("booster", XGBOOST, *WIDE_SETTINGS[XGBOOST]),
    "CatBoost, wide": Method("booster", CATBOOST, *WIDE_SETTINGS[CATBOOST]),
    "LightGBM": Method("booster", LIGHTGBM),
    "XGBoost": Method("booster", XGBOOST),
    "CatBoost": Method("booster", CATBOOST),
}


def made(method: Method, split: int, is_sparse: bool) -> Any:
    module, _, name = method.path.partition(":")
    settings = dict(method.settings) if is_sparse else {**method.settings, **method.dense}
    if module in LIBRARIES:
        settings.update(LIBRARIES[module], random_state=split)
    return getattr(importlib.import_module(module), name)(**settings)


def importances(model: Any, n_features: int) -> NDArray[np.float64]:
    """Importances of the columns as the library gives them: gains, or sizes of coefficients."""
    module = type(model).__module__.partition(".")[0]
    if module == "xgboost":
        gains = model.get_booster().get_score(importance_type="total_gain")
        values = np.zeros(n_features)
        values[[int(name[1:]) for name in gains]] = list(gains.values())
        return values
    if module == "lightgbm":
        return np.asarray(model.booster_.feature_importance("gain"), np.float64)
    values = model.feature_importances() if module == "tests" else model.feature_importances_
    return np.asarray(values, np.float64)


def measure_one(
    data: str, method: str, split: int, data_dir: str | None, seconds: float
) -> dict[str, Any]:
    """Figures of a cell, in a process that has done nothing else; SIGXCPU at the time limit."""
    warnings.simplefilter("ignore")  # libraries warn of names, labels, and constant columns
    wide_set = {**SETS, **TINY}[data]
    rows = wide_set.draw(data_dir, split)
    is_sparse = not isinstance(rows.X, np.ndarray)
    few = np.concatenate([np.flatnonzero(rows.y == k)[:20] for k in np.unique(rows.y)])
    width = min(5000 if METHODS[method].kind == "ours" else 200, rows.X.shape[1])
    columns = np.unique(rows.X[few].indices)[:width] if is_sparse else np.arange(width)
    made(METHODS[method], split, is_sparse).fit(rows.X[few][:, columns], rows.y[few])
    model = made(METHODS[method], split, is_sparse)
    before = start_of_peak()
    limit_seconds(seconds)
    start = time.process_time()
    model.fit(rows.X, rows.y)
    middle = time.process_time()
    chances = np.asarray(model.predict_proba(rows.X_test), np.float64)
    end = time.process_time()
    total = memory("VmHWM")
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    figures = (
        "done",
        f"{100 * np.mean(chances.argmax(axis=1) != rows.y_test):.3f}",
        f"{log_loss(rows.y_test, chances, labels=np.unique(rows.y)):.4f}",
        f"{auc(rows.y_test, chances):.5f}",
        useful_first(model, rows, wide_set.linked),
        *(f"{middle - start:.3g}", f"{end - middle:.3g}", f"{total - before:.3f}", f"{total:.3f}"),
    )
    return dict(zip(COLUMNS, (data, method, split, *figures), strict=True))


def useful_first(model: Any, rows: WideSplit, linked: bool) -> int | None:
    values = importances(model, rows.X.shape[1])
    order = np.argsort(-values, kind="stable")[:FIRST]
    return found(rows, order[values[order] > 0], linked)


def limit_seconds(seconds: float) -> None:
    """End this process by SIGXCPU when it has used so many more CPU seconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime + seconds)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (max(1, until), resource.RLIM_INFINITY))


def start_of_peak() -> float:
    """Resident GiB of this process, from which on its peak is counted."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", "ascii")  # resets VmHWM, see proc(5)
    return memory("VmRSS")


def memory(name: str, process: int | str = "self") -> float:
    """A figure of the memory of a process in GiB; 0 if it has ended."""
    lines = Path(f"/proc/{process}/status").read_text("ascii").splitlines()
    sizes = [int(line.split()[1]) for line in lines if line.startswith(f"{name}:")]
    return sizes[0] / 2**20 if sizes else 0.0


def run_cell(
    data: str, method: str, split: int, data_dir: str | None, seconds: float, gib: float
) -> dict[str, Any]:
    job = ["one", data, method, str(split), "--seconds", str(seconds)]
    job += [] if data_dir is None else ["--data-dir", data_dir]
    threads = ("OMP", "OPENBLAS", "MKL", "NUMBA")
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.experiments.wide_table", *job],
            cwd=ROOT,
            env={**os.environ, **{f"{name}_NUM_THREADS": "1" for name in threads}},
            stdout=output,
        )
        try:
            is_over = False
            while process.poll() is None:
                is_over = is_over or resident(process.pid) > gib
                if is_over:
                    process.kill()
                time.sleep(0.05)
        finally:
            process.kill()
            process.wait()
        output.seek(0)
        written = output.read().splitlines()
    row: dict[str, Any] = {**dict.fromkeys(COLUMNS), "data": data, "method": method}
    row["split"] = split
    if is_over or process.returncode == -signal.SIGKILL:
        return {**row, "status": "memory"}
    if process.returncode == -signal.SIGXCPU:
        return {**row, "status": "time"}
    if process.returncode:
        return {**row, "status": "failed"}
    return dict(json.loads(written[-1]))


def resident(process: int) -> float:
    """Resident GiB of a process; 0 if it has ended."""
    try:
        return memory("VmRSS", process)
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def measure(
    data_dir: str | None,
    target: Path,
    sets: Sequence[str],
    methods: Sequence[str],
    splits: Iterable[int],
    seconds: float = SECONDS,
    gib: float = GIB,
) -> None:
    """Measure the cells that the file does not have; the first split of all sets comes first."""
    specs = {**SETS, **TINY}
    for split, data, method in itertools.product(splits, sets, methods):
        tables = METHODS[method].tables
        if tables is not None and specs[data].table not in tables:
            continue
        rows = pd.read_csv(target) if target.exists() else pd.DataFrame(columns=list(COLUMNS))
        rows = rows[rows["method"] == method]
        is_over = rows[rows["status"].isin(OVER)]["data"].map(lambda name: specs[name].table)
        known = zip(rows["data"], rows["split"], strict=True)
        if specs[data].table in set(is_over) or (data, split) in set(known):
            continue
        row = run_cell(data, method, split, data_dir, seconds, gib)
        markdown.write_rows(target, [row], mode="a")
        sys.stderr.write(f"{row}\n")


def read(paths: Iterable[Path]) -> pd.DataFrame:
    """The rows of files, sets and methods in their order here; sets to try the program are out."""
    rows = pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)
    rows = rows[rows["data"].isin(SETS)]
    for column, names in (("data", list(SETS)), ("method", list(METHODS))):
        rows[column] = pd.Categorical(rows[column], names, ordered=True)
    return rows.sort_values(["data", "method", "split"], ignore_index=True)


def tables(*paths: Path) -> dict[str, list[str]]:
    rows = read(paths)
    return {
        "wide sets": set_lines(rows),
        "wide ranks": rank_lines(rows),
        "wide linear": linear_lines(rows),
        "wide costs": cost_lines(rows),
    }


def endings(rows: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Sets and methods without a figure: "time", "memory" or "failed"; also of the same table."""
    ended: dict[tuple[str, str], str] = {}
    for row in rows[rows["status"] != "done"].itertuples():
        same = [row.data]
        if row.status in OVER:
            same = [name for name in SETS if SETS[name].table == SETS[row.data].table]
        ended.update({(name, row.method): row.status for name in same})
    done = rows[rows["status"] == "done"]
    for cell in set(zip(done["data"], done["method"], strict=True)):
        ended.pop(cell, None)
    return ended


FIGURES = {
    "error": ("error, %", 2),
    "log_loss": ("log loss", 3),
    "auc": ("AUC", 4),
    "useful": ("useful", 1),
    "fit_seconds": ("fit, s", 1),
    "predict_seconds": ("predict, s", 2),
    "memory": ("GiB added", 2),
    "total_memory": ("GiB", 2),
}
"""Heads and digits of the figures of the tables of the sets."""
JUDGED = ("error", "log_loss", "auc")
"""Figures with their standard errors, the best of them in bold."""


def set_lines(rows: pd.DataFrame) -> list[str]:
    lines: list[str] = []
    ended = endings(rows)
    for name in SETS:
        of_set = rows[(rows["data"] == name) & (rows["status"] == "done")]
        groups = of_set.groupby("method", observed=True)[list(FIGURES)]
        # To twelve digits: sums round differently in versions of pandas.
        means, errors = groups.mean().map(comparable), groups.sem()
        best = {"error": means["error"].min(), "log_loss": means["log_loss"].min()}
        best["auc"] = means["auc"].max()
        texts = []
        for method in METHODS:
            if (name, method) in ended:
                text = {"failed": "failed", **OVER}[ended[name, method]]
                texts.append([method, text, *[""] * len(FIGURES)])
            if method not in means.index:
                continue
            cells = [method, str(int((of_set["method"] == method).sum()))]
            for figure, (_, digits) in FIGURES.items():
                value = means.loc[method, figure]
                text = "" if np.isnan(value) else f"{value:.{digits}f}"
                if figure in JUDGED:
                    spread = errors.loc[method, figure]
                    bold = "**" if text == f"{best[figure]:.{digits}f}" else ""
                    text = f"{bold}{text}{bold}"
                    text += "" if np.isnan(spread) else f" ± {spread:.{digits}f}"
                cells.append(text)
            texts.append(cells)
        if texts:
            head = [SETS[name].title, "splits", *(title for title, _ in FIGURES.values())]
            lines += [*markdown.table(head, texts), ""]
    return lines[:-1]


def compared(rows: pd.DataFrame, kinds: Sequence[str]) -> dict[str, pd.DataFrame]:
    """The figures of each set, of splits that all finished methods have: (method, split) x figure.

    Of `boostsample` and of all methods of these kinds; sets without boostsample are left out.
    """
    names = [next(iter(OURS)), *(k for k, method in METHODS.items() if method.kind in kinds)]
    done = rows[(rows["status"] == "done") & rows["method"].isin(names)]
    figures = {}
    for name in SETS:
        of_set = done[done["data"] == name]
        splits = [set(part["split"]) for _, part in of_set.groupby("method", observed=True)]
        common = set.intersection(*splits) if splits else set[int]()
        if common and names[0] in set(of_set["method"]):
            of_set = of_set[of_set["split"].isin(common)].astype({"method": str})
            figures[name] = of_set.set_index(["method", "split"])[list(FIGURES)]
    return figures


def rank_lines(rows: pd.DataFrame) -> list[str]:
    """Mean ranks of the boosters that were run, over the sets on which all of them were.

    One over a limit has the last rank, which ties share.
    """
    ended, figures = endings(rows), compared(rows, ["booster"])
    names = [next(iter(OURS)), *(k for k, method in METHODS.items() if method.kind == "booster")]
    names = [name for name in names if (rows["method"] == name).any()]
    ranks: dict[str, list[Any]] = {"log_loss": [], "auc": []}
    for name, of_set in figures.items():
        means = of_set.groupby("method").mean().reindex(names)
        known = [k for k in names if k in of_set.index.get_level_values(0) or (name, k) in ended]
        if known == names:
            ranks["log_loss"].append(means["log_loss"].fillna(np.inf).rank())
            ranks["auc"].append((-means["auc"]).fillna(np.inf).rank())
    n_sets, texts = len(ranks["auc"]), list[list[str]]()
    if not n_sets:
        return markdown.table(["no sets", *names], texts)
    for column, of_sets in ranks.items():
        title = column.replace("_", " ").replace("auc", "AUC")
        mean = pd.concat(of_sets, axis=1)
        texts.append([f"mean rank, {title}", *(f"{mean.loc[k].mean():.2f}" for k in names)])
        best = mean.eq(mean.min())
        texts.append([f"best, sets, {title}", *(str(int(best.loc[k].sum())) for k in names)])
    return markdown.table([f"{n_sets} sets", *names], texts)


def linear_lines(rows: pd.DataFrame) -> list[str]:
    """Errors beside those of the best linear classifier and of the best other booster."""
    texts = []
    kinds = {"linear": compared(rows, ["linear"]), "booster": compared(rows, ["booster"])}
    ours = next(iter(OURS))
    for name in SETS:
        cells = [SETS[name].title]
        for figures in kinds.values():
            others = figures[name].drop(ours, level=0) if name in figures else pd.DataFrame()
            if others.empty:
                cells += ["", ""]
                continue
            best = others["error"].groupby("method").mean().idxmin()
            behind = figures[name].loc[ours, "error"] - others.loc[best, "error"]
            spread = "" if len(behind) < 2 else f" ± {behind.sem():.2f}"
            error = others.loc[best, "error"].mean()
            cells += [f"{best} {error:.2f}", f"{behind.mean():+.2f}{spread}"]
        if any(cells[1:]):
            texts.append(cells)
    head = ["error, %", "best linear", "ours less it", "best other booster", "ours less it"]
    return markdown.table(head, texts)


def cost_lines(rows: pd.DataFrame) -> list[str]:
    """Seconds and memory beside those of the fastest and of the best other booster."""
    texts, ours = [], next(iter(OURS))
    for name, of_set in compared(rows, ["booster"]).items():
        means = of_set.groupby("method").mean()
        means["seconds"] = means["fit_seconds"] + means["predict_seconds"]
        others = means.drop(ours)
        if others.empty:
            continue
        cells = [SETS[name].title]
        best = others["log_loss"].idxmin()
        for figure, digits in (("seconds", 1), ("memory", 2)):
            mine, least = means.loc[ours, figure], others[figure].idxmin()
            cells.append(f"{mine:.{digits}f}")
            for other in (least, best):
                value = others.loc[other, figure]
                cells.append(f"{mine / value:.2f} ({other} {value:.{digits}f})")
        texts.append(cells)
    head = ["", "seconds", "over the fastest booster", "over the best booster"]
    head += ["GiB added", "over the smallest booster", "over the best booster"]
    return markdown.table(head, texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = parser.add_subparsers(dest="what", required=True)
    run = kinds.add_parser("measure")
    run.add_argument("--data-dir")
    run.add_argument("-o", "--output", type=Path, required=True)
    run.add_argument("--sets", default=";".join(SETS), help="names, with ; between them")
    run.add_argument("--methods", default=";".join(METHODS), help="names, with ; between them")
    single = kinds.add_parser("one")
    single.add_argument("data")
    single.add_argument("method")
    single.add_argument("split", type=int)
    single.add_argument("--data-dir")
    single.add_argument("--seconds", type=float, default=SECONDS)
    show = kinds.add_parser("print")
    show.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args()
    if options.what == "print":
        sys.stdout.write(markdown.marked(tables(*options.files)))
    elif options.what == "measure":
        sets, methods = options.sets.split(";"), options.methods.split(";")
        measure(options.data_dir, options.output, sets, methods, range(N_SPLITS))
    else:
        cell = (options.data, options.method, options.split, options.data_dir, options.seconds)
        sys.stdout.write(json.dumps(measure_one(*cell)) + "\n")


if __name__ == "__main__":
    main()
