"""Models of stored runs, and their scores by a metric of the user: a cell is a complete model.

The data are loaded again; nothing is trained, and the folder does not change.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from boostsample.errors import DataError, SettingError, unknown
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.training import Scores, TrainingSplit
from boostsample.experiments.metrics import Metric, own_score
from boostsample.experiments.plan.grid import combined_grid, read_grid_file
from boostsample.experiments.plan.prepared import Prepared, prepare_all
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.results.read_folder import PLAN, Results, read_results, with_runs
from boostsample.experiments.results.runs import TABLE_SCHEMA, table_frame
from boostsample.experiments.results.titles import label_of
from boostsample.history import Column
from boostsample.models.model import Model
from boostsample.threads import n_threads

_ENTRIES = ("data", "families", "rounds", "repeats", "seed", "bank", "code", "decoding")
"""Entries of a grid that say what its models read."""


def read_scored(
    path: str | os.PathLike[str],
    metric: Metric | None,
    data_dir: str | os.PathLike[str] | None = None,
) -> Results:
    """The results of a folder; with a metric of the user, with its column and with the runs.

    `data_dir` as of `load_dataset`. SettingError if the metric fails; DataError if the folder has
    no cells, or if the data have changed. Costs a bank of the features for each repetition.
    """
    results = read_results(path)
    if metric is None or metric.own is None:
        return results
    return scored_results(with_runs(results, path), _prepared(results, path, data_dir), [metric])


def read_model(
    path: str | os.PathLike[str],
    strategy: str,
    repetition: int = 0,
    *,
    data: str | None = None,
    data_dir: str | os.PathLike[str] | None = None,
) -> Model:
    """The model of a run of a results folder.

    `strategy` is its label in tables, as ``laminating:n_features=64``; `data` the name of the data
    set, if the folder has several. Scores of an output code are those of its bits. SettingError if
    there is no such run, else errors as of `read_scored`.
    """
    results = with_runs(read_results(path), path)
    runs = {
        f"{run.data}: {label_of(run.row_names)}, repetition {run.repetition}": run
        for run in results.runs
        if data in (None, run.data)
    }
    matching = [name for name in runs if name.endswith(f": {strategy}, repetition {repetition}")]
    if len(matching) != 1:
        wanted = f"{strategy}, repetition {repetition}"
        if matching:
            raise SettingError(f"data must name one of {', '.join(results.names)} for {wanted}")
        raise unknown("run of these results", wanted, runs)
    run = runs[matching[0]]
    (prepared,) = (p for p in _prepared(results, path, data_dir) if p.data.name == run.data)
    terms = [term for terms in run.cell.terms() for term in terms]
    return Model(prepared.families, terms, int(run.cell.about["n_labels"]))


def _prepared(
    results: Results, path: str | os.PathLike[str], data_dir: str | os.PathLike[str] | None
) -> list[Prepared]:
    grid = read_grid_file(Path(path) / PLAN)
    plan = combined_grid({name: grid[name] for name in _ENTRIES if name in grid}, {})
    plan = replace(plan, strategies=(Variant("uniform-naive"),))  # none is trained
    prepared = prepare_all(plan, None if data_dir is None else os.fspath(data_dir))
    for data in prepared:
        if data.data.digest != results.settings_of(data.data.name)["sha256"]:
            raise DataError(
                f"the data set {data.data.name} is not that of the runs in '{path}'; give the same "
                "files, or run the comparison again"
            )
    return prepared


def scored_results(
    results: Results, prepared: Sequence[Prepared], metrics: Sequence[Metric]
) -> Results:
    """Results that have runs, with columns of metrics of the user."""
    # Setups of a grid share families and splits: one of each data set is enough.
    for data in {data.data.name: data for data in reversed(prepared)}.values():
        runs_of_data = [run for run in results.runs if run.data == data.data.name]
        for repetition in sorted({run.repetition for run in runs_of_data}):
            split = TrainingSplit(data, repetition, n_jobs=n_threads(-1))
            for run in runs_of_data:
                if run.repetition == repetition:
                    run.scores |= _scores(split, run.cell, repetition, metrics)
    rows = [row for run in results.runs for row in run.table_rows(results.settings["rounds"])]
    columns = [Column(name, float, name) for name in results.runs[0].scores]
    return replace(results, table=table_frame(rows, (*TABLE_SCHEMA, *columns)))


def _scores(
    split: TrainingSplit, cell: Cell, repetition: int, metrics: Sequence[Metric]
) -> dict[str, dict[int, float]]:
    scores = Scores(split.bank, split.test_rows, int(cell.about["n_labels"]))
    y, code = split.prepared.data.y[split.test_rows], split.prepared.code(repetition)
    values: dict[str, dict[int, float]] = {metric.column: {} for metric in metrics}
    for stumps, terms in enumerate(cell.terms(), start=1):
        scores.add(terms)
        if stumps in cell.errors:
            current = scores.current()
            decoded = current if code is None else code.decode(current)
            for metric in metrics:
                values[metric.column][stumps] = own_score(metric, y, decoded)
    return values
