"""Reads tasks of OpenML from the files that its packages keep: data, target and splits.

The folder is that of ``org/openml/www`` in the cache of the package openml, with
``tasks/ID/task.xml``, ``tasks/ID/datasplits.arff``, ``datasets/ID/description.xml`` and
``datasets/ID/dataset.arff``. Needs the extra ``openml`` (liac-arff). docs/data.md has the rules.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError, one_line, unknown
from boostsample.experiments.data.arrays import content_of_arrays
from boostsample.experiments.data.dataset import DataContent
from boostsample.files.atomic import readable_file

KIND = "openml"
OPENML_OPTIONS = {KIND: ("task", "label", "drop")}
"""Options of the kind, see `read_task`."""
_NUMBERS = ("NUMERIC", "REAL")
_INTEGER = re.compile(
    r"^([ \t]*@attribute[ \t].*[ \t])integer[ \t\r]*$", re.IGNORECASE | re.MULTILINE
)
_SPLIT_COLUMNS = ("type", "rowid", "repeat", "fold")


class _Task(NamedTuple):
    dataset: int
    target: str
    splits: Path


def task_name(path: Path, task: int) -> str:
    """The name of a task in tables: that of its data set, and its number."""
    described = _xml(path / "datasets" / str(_task(path, task).dataset) / "description.xml")
    return f"{_text(described, 'name') or 'openml'}-task-{task}"


def task_numbers(path: Path) -> list[int]:
    """The tasks of a folder, ascending; DataError if there is none."""
    names = [file.parent.name for file in path.glob("tasks/*/task.xml")]
    if not (numbers := sorted(int(name) for name in names if name.isdecimal())):
        raise DataError(f"{path} must have tasks of OpenML as tasks/ID/task.xml, got none")
    return numbers


def read_task(
    path: Path,
    *,
    task: int | None = None,
    label: str | int | None = None,
    drop: Sequence[str | int] = (),
) -> DataContent:
    """The examples, labels and splits of a task.

    `label` is an attribute by name or position in place of the target of the task; `drop` has
    attributes to leave out beside those that the description names, and those of text. SettingError
    without a task, or if liac-arff is missing; DataError if a file is missing or damaged.
    """
    if task is None:
        raise SettingError(f"{path}: a data set of OpenML needs a task, as in task=59")
    found = _task(path, task)
    folder = path / "datasets" / str(found.dataset)
    described = _xml(folder / "description.xml")
    left_out = [
        name
        for tag in ("row_id_attribute", "ignore_attribute")
        for element in described.findall(f"{{*}}{tag}")
        for name in _names(element.text or "")
    ]
    file = folder / "dataset.arff"
    content = _arff(file)
    names = [name for name, _ in content["attributes"]]
    target = _position(file, names, found.target if label is None else label)
    unused = {names.index(name) for name in left_out if name in names}
    unused |= {_position(file, names, column) for column in drop} | {target}
    try:
        values = _column(content, target)
        X = _examples(content, [at for at in range(len(names)) if at not in unused])
        made = content_of_arrays(X, values)
    except DataError as error:
        raise DataError(f"{file}: {error}") from error
    return made._replace(splits=_splits(found.splits, len(made.y)))


def _task(path: Path, task: int) -> _Task:
    folder = path / "tasks" / str(task)
    file = folder / "task.xml"
    root = _xml(file)
    source = root.find("{*}input[@name='source_data']/{*}data_set")
    number = None if source is None else _text(source, "data_set_id")
    target = None if source is None else _text(source, "target_feature")
    if number is None or not number.isdecimal() or target is None:
        raise DataError(f"{file} must have data_set_id and target_feature; it has not")
    return _Task(int(number), target, folder / "datasplits.arff")


def _xml(file: Path) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(_read(file))
    except ElementTree.ParseError as error:
        raise DataError(f"{file} must be XML: {one_line(error)}") from error


def _text(element: ElementTree.Element, tag: str) -> str | None:
    found = element.findtext(f"{{*}}{tag}")
    return found.strip() if found and found.strip() else None


def _names(text: str) -> list[str]:
    return [part.strip().strip("'\"") for part in text.split(",")] + [text.strip()]


def _read(file: Path) -> str:
    if not file.is_file():
        raise DataError(f"{file} must be an existing file; there is none")
    with readable_file(file):
        return file.read_text("utf-8")


def _arff(file: Path) -> dict[str, Any]:
    """The content of an ARFF file as of liac-arff; rows are lists, or dicts of a sparse file."""
    if importlib.util.find_spec("arff") is None:
        raise SettingError(f"to read {file}, install liac-arff: pip install 'boostsample[openml]'")
    import arff

    # liac-arff cuts values of INTEGER, 1.5 to 1; ARFF means any number by it
    text = _INTEGER.sub(r"\1NUMERIC", _read(file))
    try:
        try:
            return dict(arff.loads(text, return_type=arff.LOD))
        except arff.BadLayout:  # rows are not sparse
            return dict(arff.loads(text))
    except arff.ArffException as error:
        raise DataError(
            f"{file} must be ARFF with numeric, nominal and string attributes: {one_line(error)}"
        ) from error


def _position(file: Path, names: Sequence[str], column: str | int) -> int:
    if isinstance(column, int):
        if not -len(names) <= column < len(names):
            raise DataError(f"{file} has {len(names)} attributes, got position {column}")
        return column % len(names)
    if column not in names:
        raise DataError(f"{file}: {unknown('attribute', column, names)}")
    return names.index(column)


def _column(content: dict[str, Any], at: int) -> list[Any]:
    """The values of an attribute; None is missing, and what a sparse row leaves out its first."""
    kind = content["attributes"][at][1]
    first = kind[0] if isinstance(kind, list) else 0.0
    return [row.get(at, first) if isinstance(row, dict) else row[at] for row in content["data"]]


def _examples(content: dict[str, Any], kept: Sequence[int]) -> Any:
    import pandas as pd
    from scipy.sparse import csr_array

    attributes = content["attributes"]
    kept = [at for at in kept if attributes[at][1] != "STRING"]
    rows = content["data"]
    numbers = all(attributes[at][1] in _NUMBERS for at in kept)
    if numbers and rows and isinstance(rows[0], dict):
        place = {at: j for j, at in enumerate(kept)}
        entries = [
            (i, place[at], np.nan if value is None else value)
            for i, row in enumerate(rows)
            for at, value in row.items()
            if at in place
        ]
        i, j, stored = zip(*entries, strict=True) if entries else ((), (), ())
        return csr_array((np.array(stored, np.float32), (i, j)), shape=(len(rows), len(kept)))
    columns: dict[str, Any] = {}
    for at in kept:
        name, kind = attributes[at]
        values = _column(content, at)
        columns[name] = (
            pd.Categorical(values, categories=kind)
            if isinstance(kind, list)
            else np.array(values, np.float64)
        )
    return pd.DataFrame(columns)


def _splits(file: Path, n: int) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]:
    content = _arff(file)
    names = [name for name, _ in content["attributes"]]
    for name in _SPLIT_COLUMNS:
        if name not in names:
            raise DataError(f"{file} must have the attributes {', '.join(_SPLIT_COLUMNS)}")
    if "sample" in names and len(set(_column(content, names.index("sample")))) > 1:
        raise DataError(f"{file} must have one sample for each fold, not a learning curve")
    columns = [_column(content, names.index(name)) for name in _SPLIT_COLUMNS]
    parts: dict[tuple[int, int], dict[str, list[int]]] = {}
    for kind, row, repeat, fold in zip(*columns, strict=True):
        numbers = row, repeat, fold
        whole = all(isinstance(value, int | float) and value % 1 == 0 for value in numbers)
        if kind not in ("TRAIN", "TEST") or not whole or not 0 <= row < n:
            raise DataError(
                f"{file} must name rows 0 to {n - 1} of numbered repeats and folds as TRAIN or"
                f" TEST, got {kind} {row} of repeat {repeat}, fold {fold}"
            )
        part = parts.setdefault((int(repeat), int(fold)), {"TRAIN": [], "TEST": []})
        part[kind].append(int(row))
    return tuple(
        (np.array(sorted(part["TRAIN"]), np.int64), np.array(sorted(part["TEST"]), np.int64))
        for _, part in sorted(parts.items())
    )
