"""The results folder: flat rows, and all that is needed to repeat them.

`results.csv` has one row a run and mark, `history.csv`, if asked for, one a search, and
`settings.json` says what was run on what, with a checksum of the other files. It is written last:
a folder without it is incomplete. Every file is written under a temporary name, flushed to the disk
and only then renamed; earlier results are never overwritten.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import platform
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

import boostsample
from boostsample.banks import bank_settings
from boostsample.errors import DataError, SettingError
from boostsample.experiments.compare import RESULT_COLUMNS, Comparison
from boostsample.experiments.content import one_line
from boostsample.experiments.tuning import tuning_record
from boostsample.experiments.variants import Variant

__all__ = ["FORMAT", "Results", "ResultsFolder", "atomic", "read_results", "settings_of"]

FORMAT = 1
"""Version of the folder's format; readers refuse those that they do not know."""
INCOMPLETE = "incomplete"
"""File that stands in a folder while a run is writing there; a killed run leaves it behind."""

_TYPES: tuple[type, ...] = (str, str, str, str, int, int, float, float, int, float)
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "llvmlite", "PyWavelets")


@contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that appears under its name only when it is complete.

    Raises
    ------
    OSError
        It cannot be written; no trace of it is left then.
    """
    temporary = path.with_name(f".{path.name[:100]}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


class _Text:
    """What csv.writer writes to: a stream of bytes, with their number and checksum."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()
        self.size = 0

    def write(self, text: str) -> int:
        content = text.encode("utf-8", "backslashreplace")
        self._digest.update(content)
        self.size += len(content)
        return self._stream.write(content)

    def facts(self) -> dict[str, Any]:
        return {"bytes": self.size, "sha256": self._digest.hexdigest()}


class ResultsFolder:
    """A new or empty folder, claimed for one run before the run begins.

    As a context manager it takes the claim back when the run fails.

    Parameters
    ----------
    path : path
        Made if it is not there, parents included.

    Raises
    ------
    SettingError
        It holds something already.
    DataError
        It cannot be written to.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._made: list[Path] = []
        self._files: list[Path] = []
        try:
            if self.path.is_dir():
                found = sorted(entry.name for entry in self.path.iterdir())
                if found:
                    raise SettingError(
                        f"the results folder must be new or empty, but '{self.path}' holds "
                        f"{', '.join(found[:3])}{', ...' if found[3:] else ''}; results are never "
                        "overwritten, name another folder"
                    )
            else:
                self._make(self.path)
            self._claim()
        except OSError as error:
            self.discard()
            raise _unwritable(self.path, error) from error

    @classmethod
    def new(cls, parent: str | os.PathLike[str], name: str) -> ResultsFolder:
        """A folder ``parent/<name>-<date and time>`` that nobody else has."""
        slug = re.sub(r"[^\w.=-]+", "-", name).strip("-.")[:80] or "data"
        stem = f"{slug}-{datetime.now():%Y%m%d-%H%M%S}"
        for attempt in range(1, 1000):
            path = Path(parent) / (stem if attempt == 1 else f"{stem}-{attempt}")
            if not path.exists():
                with suppress(SettingError):
                    return cls(path)
        raise DataError(f"no free name like {stem} in '{parent}'; name a folder yourself")

    def _make(self, path: Path) -> None:
        if not path.parent.is_dir():
            self._make(path.parent)
        path.mkdir()
        self._made.append(path)

    def _claim(self) -> None:
        marker = self.path / INCOMPLETE
        try:
            with marker.open("x", encoding="ascii") as stream:
                stream.write(
                    "A run is writing its results here, or was stopped. "
                    "They are complete when settings.json is there.\n"
                )
        except FileExistsError:
            raise SettingError(
                f"the results folder '{self.path}' was taken by another run this very moment; "
                "name another folder"
            ) from None

    def __enter__(self) -> ResultsFolder:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and not self._files:
            self.discard()

    def discard(self) -> None:
        """Take back the claim, and the folders that were made for it if they are empty."""
        with suppress(OSError):
            (self.path / INCOMPLETE).unlink()
        for path in reversed(self._made):
            with suppress(OSError):
                path.rmdir()

    def write(
        self,
        rows: Sequence[Mapping[str, Any]],
        settings: Mapping[str, Any],
        history: Sequence[Mapping[str, Any]] | None = None,
    ) -> list[Path]:
        """Write all files, `settings.json` last; their paths.

        Raises
        ------
        DataError
            One could not be written. Those before it are complete.
        """
        files: dict[str, dict[str, Any]] = {}
        tables: dict[str, tuple[Sequence[str], Sequence[Mapping[str, Any]]]] = {
            "results.csv": (RESULT_COLUMNS, rows)
        }
        if history is not None:
            columns = dict.fromkeys(key for row in history for key in row)
            tables["history.csv"] = (tuple(columns), history)
        name = ""
        try:
            for name, table in tables.items():
                files[name] = _write_csv(self.path / name, *table)
                self._files.append(self.path / name)
            name = "settings.json"
            record = {"format": FORMAT, **settings, "files": files}
            with atomic(self.path / name) as stream:
                stream.write((json.dumps(record, indent=2) + "\n").encode())
            self._files.append(self.path / name)
            (self.path / INCOMPLETE).unlink()
        except OSError as error:
            complete = " and ".join(path.name for path in self._files) or "nothing"
            raise DataError(
                f"{name} could not be written to '{self.path}': {_reason(error)}; {complete} is "
                "complete there, the rest is only in the tables that were printed"
            ) from error
        return list(self._files)


def _write_csv(
    path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    with atomic(path) as stream:
        text = _Text(stream)
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([row.get(column) for column in columns] for row in rows)
    return text.facts()


def _unwritable(path: Path, error: OSError) -> DataError:
    return DataError(
        f"results cannot be written to the folder '{path}': {_reason(error)}; name another folder"
    )


def _reason(error: OSError) -> str:
    if isinstance(error, FileExistsError):
        return f"'{error.filename}' is a file"
    return error.strerror or one_line(error)


@dataclass(frozen=True)
class Results:
    """A results folder as read: rows with their types, settings, and history as text."""

    rows: list[dict[str, Any]]
    settings: dict[str, Any]
    history: list[dict[str, str]] | None


def read_results(path: str | os.PathLike[str]) -> Results:
    """Read a results folder, checksums verified.

    Raises
    ------
    DataError
        It is missing, incomplete, damaged, or of a later format.
    """
    folder = Path(path)
    try:
        record = json.loads((folder / "settings.json").read_bytes())
        kind, files = record["format"], record["files"]
        if kind != FORMAT:
            raise DataError(
                f"'{folder}' has results in format {kind}, this version of boostsample reads "
                f"format {FORMAT}; use the version that wrote it, or run it again"
            )
        texts = {name: _verified(folder / name, facts) for name, facts in files.items()}
        rows = [
            {c: kind(row[c]) for c, kind in zip(RESULT_COLUMNS, _TYPES, strict=True)}
            for row in _rows(texts["results.csv"])
        ]
    except FileNotFoundError as error:
        raise DataError(
            f"'{folder}' must be a complete results folder, but "
            f"{Path(error.filename).name} is missing; run it again into a new folder"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"results in '{folder}' cannot be read: {one_line(error)}") from error
    history = texts.get("history.csv")
    return Results(rows, record, None if history is None else _rows(history))


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def _verified(path: Path, facts: Mapping[str, Any]) -> str:
    content = path.read_bytes()
    if len(content) != facts["bytes"] or hashlib.sha256(content).hexdigest() != facts["sha256"]:
        raise DataError(
            f"'{path}' is damaged or was edited: its checksum is another than settings.json says; "
            "run it again into a new folder"
        )
    return content.decode("utf-8")


def settings_of(comparison: Comparison) -> dict[str, Any]:
    """Everything needed to repeat a comparison, as JSON takes it."""
    prepared, plan = comparison.prepared, comparison.prepared.plan
    data = prepared.data
    digest = hashlib.sha256()
    for array in (data.X, data.y):
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": {
            "name": data.name,
            "sha256": digest.hexdigest(),
            "shape": list(data.X.shape),
            "classes": list(data.classes),
            "n_train": [len(train) for train, _ in prepared.splits],
            "n_test": [len(test) for _, test in prepared.splits],
        },
        "families": [
            {"name": f.name, "n_features": f.n_features, "settings": f.settings()}
            for f in prepared.families
        ],
        "bank": {"form": plan.bank.name, **bank_settings(plan.bank.name, plan.bank.settings)},
        "strategies": [_strategy_record(variant, comparison) for variant in prepared.variants],
        "learner": "stump",
        "rounds": list(plan.marks),
        "repeats": plan.repeats,
        "budget": None if plan.budget is None else str(plan.budget),
        "weights": plan.weights,
        "seed": plan.seed,
        "notes": list(comparison.notes),
        "versions": {
            "boostsample": boostsample.__version__,
            "python": platform.python_version(),
            **{name: _version(name) for name in _LIBRARIES},
        },
        "machine": {"platform": platform.platform(), "cores": os.cpu_count()},
    }


def _strategy_record(variant: Variant, comparison: Comparison) -> dict[str, Any]:
    """A strategy of a comparison; of a tuned one also the search, and `parameters` without it."""
    prepared, seed = comparison.prepared, comparison.prepared.plan.seed
    runs = [one for one in comparison.runs if one.variant is variant]
    searched = {key for one in variant.grid for key in one.settings} - set(variant.settings)
    return {
        "strategy": runs[0].row_names["strategy"],
        "settings": variant.settings_text,
        "parameters": {
            key: _plain(value)
            for key, value in variant.strategy().get_params().items()
            if key not in searched
        },
        "budget": [one.budget for one in runs],
        "stream": [
            str(one.trained.stream(prepared.data.name, seed, one.repetition).entropy)
            for one in runs
        ],
        **(tuning_record(variant, runs) if variant.grid else {}),
    }


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
