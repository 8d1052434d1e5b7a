"""Writes results folders: creates or continues a folder, keeps its cells, completes its tables.

Its ``grid.json`` and ``settings.json`` are records of a grid and of its comparisons.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from boostsample.banks.bank_forms import bank_record
from boostsample.errors import DataError, SettingError, os_fault
from boostsample.experiments.cells.store import STORE_FOLDER, FolderStore
from boostsample.experiments.cells.tasks import CellTask, task_groups
from boostsample.experiments.common.machine import machine, versions
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import Prepared
from boostsample.experiments.plan.variants import Variant, plain_setting
from boostsample.experiments.results.comparison import Comparison
from boostsample.experiments.results.folder.grid_growth import check_growth
from boostsample.experiments.results.folder.read_folder import (
    CURVES,
    FORMAT,
    GRID,
    GRID_FILE,
    HISTORY,
    INCOMPLETE,
    RESULTS,
    SETTINGS,
    read_folder_grid,
    read_results,
)
from boostsample.experiments.results.rows import CURVE_COLUMNS, RESULT_COLUMNS
from boostsample.experiments.results.runs import tuning_record
from boostsample.files.atomic import TEMPORARY, atomic_file
from boostsample.hashing import sha256_of_bytes
from boostsample.loop.numerics import NUMERICS

Rows = Sequence[Mapping[str, Any]]
_MARK = """\
A run is writing its results here, or was stopped. They are complete when settings.json is there; to
compute what is missing, run the same command with --results and this folder again.
"""
_TABLES = {RESULTS, CURVES, HISTORY, SETTINGS}
_OURS = {STORE_FOLDER, GRID, GRID_FILE, INCOMPLETE, *_TABLES}


class ResultsFolder:
    """A folder for results: new, empty, or begun before and continued.

    It is created if it does not exist, parents included. As a context manager it is removed again
    if the run fails before anything is kept. SettingError if it contains other files, DataError if
    it cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._made: list[Path] = []
        self._begun = False
        self._keys: set[str] = set()  # of the cells of the grid
        try:
            if self.path.is_dir():
                self._check_content()
            missing = [one for one in (self.path, *self.path.parents) if not one.is_dir()]
            for one in reversed(missing):
                one.mkdir(exist_ok=True)
                self._made.append(one)
            self._mark()
        except OSError as error:
            self.discard()
            raise DataError(
                f"results cannot be written to the folder '{self.path}': {os_fault(error)}; name "
                "another folder"
            ) from error

    @classmethod
    def new(cls, parent: str | os.PathLike[str], name: str) -> ResultsFolder:
        """A new folder ``parent/<name>-<date and time>``."""
        slug = re.sub(r"[^\w.=-]+", "-", name).strip("-.")[:80] or "data"
        stem = f"{slug}-{datetime.now():%Y%m%d-%H%M%S}"
        for attempt in range(1, 1000):
            path = Path(parent) / (stem if attempt == 1 else f"{stem}-{attempt}")
            if not path.exists():
                return cls(path)
        raise DataError(f"no free name like {stem} in '{parent}'; name a folder yourself")

    def _content(self) -> set[str]:
        """Names in the folder, without temporary files."""
        names = {entry.name for entry in self.path.iterdir()}
        return {name for name in names if not (name[0] == "." and name.endswith(TEMPORARY))}

    def _check_content(self) -> None:
        found = self._content()
        foreign = sorted(found - _OURS)
        if not foreign and found & _TABLES and GRID not in found:
            foreign = sorted(found)  # a small folder, without cells
        if foreign:
            raise SettingError(
                f"the results folder must be new, empty, or one that was begun with the same "
                f"settings, but '{self.path}' holds {', '.join(foreign[:3])}"
                f"{', ...' if foreign[3:] else ''}; name another folder"
            )

    def _mark(self) -> None:
        """Create the file `INCOMPLETE`, unless the results are complete."""
        if not (self.path / SETTINGS).exists():
            with suppress(FileExistsError), (self.path / INCOMPLETE).open("x") as file:
                self._begun = True
                file.write(_MARK)

    def begin(self, prepared: Sequence[Prepared], grid_file: str) -> FolderStore:
        """Write ``grid.json``, and ``grid.toml`` with this content, and open the store of cells.

        SettingError if the folder was begun with a grid that is not part of this one, DataError if
        it cannot be written.
        """
        before = read_folder_grid(self.path)
        wanted = {"format": FORMAT, **grid_record(prepared)}
        if before is not None:
            with_same_rounds = grid_record(prepared, max(before["rounds"]))
            check_growth(before, wanted, with_same_rounds, f"'{self.path}'")
        self._keys = {
            key for data in wanted["data_sets"] for one in data["searches"] for key in one["keys"]
        }
        if before != wanted:
            with self._writing(INCOMPLETE):
                (self.path / SETTINGS).unlink(missing_ok=True)  # the rows are made again
                self._mark()
            self._write(GRID, (json.dumps(wanted, indent=1) + "\n").encode())
        if before != wanted or not (self.path / GRID_FILE).exists():
            self._write(GRID_FILE, grid_file.encode("utf-8", "replace"))
        return FolderStore(self.path)

    def cells(self) -> int:
        """Number of cells in the folder."""
        return len(self._cells())

    def cells_of_grid(self) -> int:
        """Number of cells in the folder that belong to the grid of `begin`."""
        return sum(path.stem.rpartition("-")[2] in self._keys for path in self._cells())

    def _cells(self) -> list[Path]:
        return list((self.path / STORE_FOLDER).glob("*.npz"))

    def __enter__(self) -> ResultsFolder:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self.discard()

    def discard(self) -> None:
        """Remove what this object has created, unless there is a result, a cell or its claim."""
        with suppress(OSError):
            if self._content() & _TABLES or [*(self.path / STORE_FOLDER).glob("*")]:
                return
            for name in (INCOMPLETE, GRID, GRID_FILE) if self._begun else ():
                with suppress(OSError):
                    (self.path / name).unlink()
            with suppress(OSError):
                (self.path / STORE_FOLDER).rmdir()
        for path in reversed(self._made):
            with suppress(OSError):
                path.rmdir()

    def write(
        self,
        rows: Rows,
        settings: Mapping[str, Any],
        history: Rows | None = None,
        curves: Rows = (),
    ) -> None:
        """Write all tables, then `settings.json`; nothing if they exist with the same rows.

        DataError if a file cannot be written; the files written before it are complete.
        """
        if self._is_written(rows, history, curves):
            return
        tables = {RESULTS: _csv(RESULT_COLUMNS, rows), CURVES: _csv(CURVE_COLUMNS, curves)}
        if history is not None:
            tables[HISTORY] = _csv(dict.fromkeys(key for row in history for key in row), history)
        with self._writing(SETTINGS):
            (self.path / SETTINGS).unlink(missing_ok=True)
        for name, content in tables.items():
            self._write(name, content)
        files = {
            name: {"bytes": len(content), "sha256": sha256_of_bytes(content)}
            for name, content in tables.items()
        }
        record = {"format": FORMAT, **settings, "files": files}
        self._write(SETTINGS, (json.dumps(record, indent=2) + "\n").encode())
        with self._writing(INCOMPLETE):
            (self.path / INCOMPLETE).unlink(missing_ok=True)

    def _is_written(self, rows: Rows, history: Rows | None, curves: Rows) -> bool:
        """Whether the folder is complete with these rows."""
        if not (self.path / SETTINGS).exists() or (self.path / INCOMPLETE).exists():
            return False
        try:
            found = read_results(self.path)
        except DataError:
            return False
        same = repr([found.rows, found.curves]) == repr([list(rows), list(curves)])
        return same and len(found.history or ()) == len(history or ())

    def _write(self, name: str, content: bytes) -> None:
        with self._writing(name), atomic_file(self.path / name) as stream:
            stream.write(content)

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        """Turn the OSError of a block into a DataError that names the file."""
        try:
            yield
        except OSError as error:
            kept = self.cells()
            what = f"its {kept:,} cells are complete" if kept else "no cell is kept there"
            raise DataError(
                f"{name} could not be written to '{self.path}': {os_fault(error)}; {what}; "
                "make room and run the same command with the same --results again, only what is "
                "missing is computed"
            ) from error


def _csv(columns: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = list(columns)
    writer.writerow(names)
    writer.writerows([row.get(name) for name in names] for row in rows)
    return stream.getvalue().encode("utf-8", "backslashreplace")


def _plan_record(plan: Plan) -> dict[str, Any]:
    """The settings that all data sets of a grid share."""
    return {
        "learner": plan.learner,
        "rounds": list(plan.marks),
        "repeats": plan.repeats,
        "budget": None if plan.budget is None else str(plan.budget),
        "weights": plan.weights,
        **plan.step_settings,
        "seed": plan.seed,
        "bank": bank_record(plan.bank.name, plan.bank.settings),
        "history": plan.history,
    }


def _variant_record(variant: Variant) -> dict[str, Any]:
    return {
        "name": variant.name,
        "settings": {k: plain_setting(v) for k, v in variant.settings.items()},
    }


def grid_record(prepared: Sequence[Prepared], n_rounds: int | None = None) -> dict[str, Any]:
    """The content of ``grid.json``: the settings of a grid and the file of each cell.

    `n_rounds` replaces the number of rounds in the names of the cells.
    """
    return {
        **_plan_record(prepared[0].plan),
        "data_sets": [
            {
                **_splits(one),
                "searches": [
                    _group_record(variant, group)
                    for variant, group in zip(
                        [variant for variant in one.variants for _ in range(one.plan.repeats)],
                        task_groups(one, n_rounds),
                        strict=True,
                    )
                ],
            }
            for one in prepared
        ],
    }


def _splits(prepared: Prepared) -> dict[str, Any]:
    """Name of the data, sizes by repetition, and whether the splits of repetitions differ."""
    return {
        "name": prepared.data.name,
        "split": "drawn" if prepared.data.draws_splits else "fixed",
        "n_train": [len(train) for train, _ in prepared.splits],
        "n_test": [len(test) for _, test in prepared.splits],
    }


def _group_record(variant: Variant, group: Sequence[CellTask]) -> dict[str, Any]:
    return {
        **_variant_record(variant),
        "grid": [_variant_record(one) for one in variant.grid],
        "repetition": group[0].repetition,
        "budgets": [task.budget for task in group],
        "keys": [task.key for task in group],
        "files": [task.file_name for task in group],
    }


def settings_record(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """The content of ``settings.json``: everything needed to repeat comparisons of one plan."""
    plan = comparisons[0].prepared.plan
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        **_plan_record(plan),
        **({} if plan.score_every is None else {"score_every": plan.score_every}),
        "data_sets": [_data_record(one) for one in comparisons],
        "numerics": NUMERICS,
        "versions": versions(),
        "machine": machine(),
        "cells": _cells_record(comparisons),
    }


def _data_record(comparison: Comparison) -> dict[str, Any]:
    prepared = comparison.prepared
    return {
        **_splits(prepared),
        "sha256": prepared.digest,
        "shape": list(prepared.data.X.shape),
        "classes": list(prepared.data.classes),
        "families": [
            {"name": f.name, "n_features": f.n_features, "settings": f.settings()}
            for f in prepared.families
        ],
        "strategies": [_strategy_record(variant, comparison) for variant in prepared.variants],
        "notes": list(comparison.notes),
    }


def _cells_record(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """When and where the kept cells were trained, possibly by earlier commands elsewhere."""
    about = [one.cell.about for comparison in comparisons for one in comparison.runs]
    started = sorted(str(one["started"]) for one in about)
    return {
        "first": started[0],
        "last": started[-1],
        "seconds": sum(float(one["wall"]) for one in about),
        "machines": _different([one["machine"] for one in about]),
        "versions": _different([one["versions"] for one in about]),
    }


def _different(values: Sequence[Any]) -> list[Any]:
    return [json.loads(text) for text in dict.fromkeys(map(json.dumps, values))]


def _strategy_record(variant: Variant, comparison: Comparison) -> dict[str, Any]:
    """A strategy with its parameters; the tuned ones are listed with the tuning instead."""
    prepared, seed = comparison.prepared, comparison.prepared.plan.seed
    runs = [one for one in comparison.runs if one.variant is variant]
    tuned = {key for one in variant.grid for key in one.settings} - set(variant.settings)
    return {
        "strategy": runs[0].row_names["strategy"],
        "settings": variant.settings_text,
        "parameters": {
            key: plain_setting(value)
            for key, value in variant.strategy().get_params().items()
            if key not in tuned
        },
        "settings_in_use": prepared.settings_in_use(variant),
        "budget": [one.budget for one in runs],
        "stream": [
            str(one.trained.stream(prepared.data.seeded_by, seed, one.repetition).entropy)
            for one in runs
        ],
        **(tuning_record(variant, runs) if variant.grid else {}),
    }
