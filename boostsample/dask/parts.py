"""Parts of a table that workers can read again, with the same result.

A worker computes the piece of the graph of a part in its own thread, without the scheduler, so that
neither a worker with one thread nor a busy one can hang.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.dask.worker import client_here
from boostsample.errors import DataError, SettingError, os_fault

_dask: Any = importlib.import_module("dask")
_optimization: Any = importlib.import_module("dask.optimization")
_distributed: Any = importlib.import_module("distributed")

_PATIENCE = 120.0
"""Seconds to wait for data that the cluster keeps, or makes again after a loss."""
_PART_BYTES = 2**26
"""Most bytes of a part of a `.npy` file."""
_ENDINGS = (".npy", ".parquet")


class RawRows(NamedTuple):
    """What a part holds, unchecked: examples, labels, and weights or None."""

    X: Any
    y: Any
    weight: Any


def rows_of_values(X: Any, y: Any, weight: Any, of_y: Any, of_weight: Any) -> RawRows:
    """The rows of a part; labels and weights may be columns of a data frame X."""
    if isinstance(X, RawRows):
        return X
    dropped = [column for column in (of_y, of_weight) if column is not None]
    y = y if of_y is None else X[of_y]
    weight = weight if of_weight is None else X[of_weight]
    return RawRows(X.drop(columns=dropped) if dropped else X, y, weight)


@dataclass(frozen=True)
class Part:
    """Rows that any worker can read, again and again."""

    graph: dict[Any, Any]
    keys: tuple[Any, ...]
    columns: tuple[Any, Any]
    stored: tuple[Any, ...]

    def read(self) -> RawRows:
        """Compute the part in this thread."""
        graph = self.graph | _fetched(self.stored) if self.stored else self.graph
        known = [key for key in self.keys if key is not None]
        values = dict(zip(known, _dask.get(graph, known), strict=True))
        X, y, weight = (values.get(key) for key in self.keys)
        return rows_of_values(X, y, weight, *self.columns)

    @property
    def place(self) -> str:
        """The files of the part, for messages, as far as its tasks name them."""
        return ", ".join(dict.fromkeys(_places(self.graph)))


class TableParts(NamedTuple):
    """The parts of a table; for tasks of the scheduler, X, y and weight of each as `Delayed`."""

    parts: list[Part]
    delayed: list[tuple[Any, Any, Any]]
    columns: tuple[Any, Any]


def is_collection(X: Any) -> bool:
    """Whether X is a Dask array, data frame or bag, or a list of delayed parts."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(_dask.is_dask_collection(part) for part in X)
    return _dask.is_dask_collection(X) and hasattr(X, "to_delayed")


def is_frame(X: Any) -> bool:
    """Whether X is a Dask data frame."""
    return hasattr(X, "map_partitions") and hasattr(X, "columns")


def parts_of_files(client: Any, X: Any, y: Any, weight: Any) -> TableParts:
    """The parts of a folder or a file that workers read; see `list_folder`."""
    X, y, weight = (
        os.fspath(path) if isinstance(path, os.PathLike) else path for path in (X, y, weight)
    )
    for name, path in (("y", y), ("sample_weight", 0 if weight is None else weight)):
        if not isinstance(path, str | int):
            raise SettingError(
                f"{name} must be a column or the path of a folder, because X is the path "
                f"{X!r:.80}, got {type(path).__name__}"
            )
    read = _dask.delayed(_read, pure=False)
    rows = client.submit(list_folder, X, y, weight, pure=False).result()
    return _table_parts([(read(of_file), None, None) for of_file in rows], (None, None), set())


def parts_of_collections(X: Any, y: Any, weight: Any) -> TableParts:
    """The parts of Dask collections, lists of delayed parts, and columns of X; computes nothing."""
    pieces = [_delayed(X, "X", None)]
    columns = _column_of(X, y, "y"), _column_of(X, weight, "sample_weight")
    for name, collection, column in (("y", y, columns[0]), ("sample_weight", weight, columns[1])):
        if collection is None or column is not None:
            pieces.append([None] * len(pieces[0]))
        else:
            pieces.append(_delayed(collection, name, X))
            _check_parts(name, X, collection, len(pieces[0]), len(pieces[-1]))
    futures = _distributed.futures_of([item for item in (X, y, weight) if item is not None])
    delayed = list(zip(*pieces, strict=True))
    return _table_parts(delayed, columns, {future.key for future in futures})


def _table_parts(
    delayed: list[tuple[Any, Any, Any]], columns: tuple[Any, Any], stored: set[Any]
) -> TableParts:
    """The parts of these values; `stored` are keys whose data the cluster keeps."""
    every = (piece.__dask_graph__() for part in delayed for piece in part if piece is not None)
    graphs = {id(graph): graph for graph in every}  # most are the same
    whole = {key: task for graph in graphs.values() for key, task in dict(graph).items()}
    whole |= dict.fromkeys(stored)  # their data are fetched
    parts = []
    for of_part in delayed:
        keys = tuple(None if piece is None else piece.key for piece in of_part)
        graph, _ = _optimization.cull(whole, [key for key in keys if key is not None])
        if any(str(key).startswith("shuffle-barrier-") for key in graph):
            raise DataError(
                "each part must be made by a worker alone, but these come from all parts by a "
                "shuffle, as of set_index or merge; persist them first: d = client.persist(d)"
            )
        needed = tuple(key for key in graph if key in stored)
        tasks = {key: task for key, task in graph.items() if key not in stored}
        parts.append(Part(tasks, keys, columns, needed))
    return TableParts(parts, delayed, columns)


def _column_of(X: Any, target: Any, name: str) -> Any:
    """The column that is y or weight, None if it is no column."""
    if target is None or isinstance(target, list) or _dask.is_dask_collection(target):
        return None
    columns = [*X.columns] if is_frame(X) else []
    if isinstance(target, str | int) and target in columns:
        return target
    raise SettingError(
        f"{name} must be a Dask collection with the chunks of X, or the name of one of its columns "
        f"if X is a data frame, got {target!r:.80}"
    )


def _check_parts(name: str, X: Any, other: Any, n: int, n_given: int) -> None:
    """DataError if X and y or weight have other numbers of parts, or other known divisions."""
    if n != n_given:
        raise DataError(
            f"X and {name} must have the same chunks, got {n} of X and {n_given} of {name}; take "
            "both from one collection, as in fit(d[features], d['y']), or rechunk or repartition "
            "one of them like the other (arrays without known chunks: compute_chunk_sizes() first)"
        )
    known = [each for each in (X, other) if getattr(each, "known_divisions", False)]
    divisions = [each.divisions for each in known]
    if len(divisions) == 2 and divisions[0] != divisions[1]:
        raise DataError(
            f"X and {name} must have the same divisions, got {divisions[0]!s:.60} of X and "
            f"{divisions[1]!s:.60} of {name}; repartition one of them like the other, or, if their "
            "rows have the same order, call clear_divisions() of both"
        )


def _delayed(collection: Any, name: str, X: Any) -> list[Any]:
    if not is_collection(collection):
        raise SettingError(
            f"{name} must be a Dask array, data frame or bag, a list of delayed parts or a folder, "
            f"got {type(collection).__name__}; on one machine, use BoostSampleClassifier"
        )
    if isinstance(collection, list | tuple):
        return list(collection)
    # Without Dask's optimization, which merges partitions by the columns in use: X and y have the
    # partitions that the user sees, and share the tasks that make both.
    if not hasattr(collection, "rechunk"):
        return list(collection.to_delayed(optimize_graph=False))
    like = X.chunks[0] if hasattr(X, "rechunk") else ()
    whole: dict[int, Any] = dict.fromkeys(range(1, collection.ndim), -1)
    if (
        like and like != collection.chunks[0] and sum(like) == collection.shape[0]
    ):  # NaN is not known
        whole[0] = like
    chunked = collection.rechunk(whole, method="tasks") if whole else collection
    return list(chunked.to_delayed(optimize_graph=False).ravel())


def _places(value: Any) -> Iterator[str]:
    """Files in the tasks of a graph: of `list_folder`, `read_parquet`, `read_csv` and the like."""
    if isinstance(value, Mapping):
        yield from _places([*value.values()])
        if isinstance(value.get("piece"), tuple):
            yield f"'{value['piece'][0]}'"
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _places(item)
    elif hasattr(value, "args") and hasattr(value, "kwargs"):  # a task
        yield from _places([value.args, value.kwargs])
    elif isinstance(value, RowGroup):
        yield f"'{value.path}', row group {value.group}"
    elif isinstance(path := getattr(getattr(value, "fragment", value), "path", None), str):
        yield f"'{path}'"


def _same(value: Any) -> Any:
    return value


def _fetched(keys: Sequence[Any]) -> dict[Any, Any]:
    """Data that the cluster keeps, by tasks, so that what was lost is made again."""
    with client_here() as client:
        try:
            return {
                key: client.submit(_same, _distributed.Future(key, client), pure=False).result(
                    _PATIENCE
                )
                for key in keys
            }
        except (_distributed.CancelledError, TimeoutError) as error:
            raise DataError(
                "data that the cluster kept is lost; keep the persisted collection until the end "
                "of fit, or read it from files"
            ) from error


@dataclass(frozen=True)
class ArrayRows:
    """Rows start to stop of a `.npy` file of X; y and weight are files or columns of X."""

    path: str
    start: int
    stop: int
    y: str | int
    weight: str | int | None

    def read(self) -> RawRows:
        """Read the rows; no file stays mapped."""
        X, beside = self._rows(self.path), (self.y, self.weight)
        columns = [column for column in beside if isinstance(column, int)]
        y, weight = (
            self._rows(column)
            if isinstance(column, str)
            else None
            if column is None
            else X[:, column]
            for column in beside
        )
        return RawRows(np.delete(X, columns, axis=1) if columns else X, y, weight)

    def _rows(self, path: str) -> NDArray[Any]:
        mapped = _mapped(path)
        rows = mapped[self.start : self.stop]
        if not mapped.flags.c_contiguous:
            return np.array(rows)
        # A file that another process cuts short is an error; its mapping would end this process.
        start = mapped.offset + self.start * mapped.strides[0]  # type: ignore[attr-defined]  # a memmap
        return np.fromfile(path, rows.dtype, rows.size, offset=start).reshape(rows.shape)


@dataclass(frozen=True)
class RowGroup:
    """A row group of a Parquet file; `y` and `weight` are names of columns."""

    path: str
    group: int
    y: str
    weight: str | None

    def read(self) -> RawRows:
        """Read the row group as a data frame."""
        try:
            table = _parquet(self.path).read_row_group(self.group)
        except OSError as error:
            raise DataError(f"'{self.path}' cannot be read: {os_fault(error)}") from error
        return rows_of_values(table.to_pandas(), None, None, self.y, self.weight)


def _read(rows: ArrayRows | RowGroup) -> RawRows:
    return rows.read()


def list_folder(path: str, y: Any, weight: Any) -> list[ArrayRows | RowGroup]:
    """The rows of a folder of `.npy` or Parquet files, or of one such file; runs on a worker."""
    files, ending = _files(path)
    if ending == ".parquet":
        names = _parquet(files[0]).schema_arrow.names
        for name, column in (("y", y), ("sample_weight", weight)):
            if column is not None and column not in names:
                raise SettingError(
                    f"{name} must be a column of the Parquet files in '{path}', got {column!r}; "
                    f"known: {', '.join(names)[:200]}"
                )
        groups = ((file, at) for file in files for at in range(_parquet(file).num_row_groups))
        return [RowGroup(file, at, y, weight) for file, at in groups]
    beside = [_beside(place, name, files) for name, place in (("y", y), ("sample_weight", weight))]
    parts: list[ArrayRows | RowGroup] = []
    for file, *columns in zip(files, *beside, strict=True):
        array = _mapped(file)
        for name, column in zip(("y", "sample_weight"), columns, strict=True):
            _check_fits(file, array, name, column)
        size = max(_PART_BYTES // max(array[:1].nbytes, 1), 1)
        for start in range(0, array.shape[0], size):
            stop = min(start + size, array.shape[0])
            parts.append(ArrayRows(file, start, stop, *columns))
    return parts


def _files(path: str) -> tuple[list[str], str]:
    """The files of a folder in the order of their names, and how they end."""
    place = Path(path)
    try:
        files = [place] if place.is_file() else sorted(place.iterdir())
    except OSError as error:
        raise DataError(
            f"'{path}' cannot be read on the worker: {os_fault(error)}; give a folder that all "
            "workers can read under this name"
        ) from error
    suitable = [file for file in files if file.suffix in _ENDINGS]
    endings = {file.suffix for file in suitable}
    if len(endings) != 1:
        kinds = "both" if endings else "none"
        raise DataError(f"'{path}' must hold files .npy or .parquet of one kind, got {kinds}")
    return [os.fspath(file) for file in suitable], endings.pop()


def _beside(place: str | int | None, name: str, files: list[str]) -> list[Any]:
    """Labels or weights of each file: a path, a column, or None."""
    if place is None or isinstance(place, int):
        return [place] * len(files)
    files_beside, ending = _files(place)
    if ending != ".npy" or len(files_beside) != len(files):
        raise DataError(
            f"the folder of {name} must hold as many files .npy as that of X, {len(files)}, got "
            f"{len(files_beside)} files {ending}"
        )
    return files_beside


def _check_fits(file: str, array: NDArray[Any], name: str, beside: Any) -> None:
    """SettingError or DataError unless y or weight has the rows of this file."""
    if isinstance(beside, int):
        width = array.shape[1] if array.ndim == 2 else 0
        if not 0 <= beside < width:
            raise SettingError(
                f"{name} must be a column from 0 to {width - 1} of '{file}', got {beside}; or the "
                "path of a folder"
            )
    elif beside is not None and (n := _mapped(beside).shape[0]) != array.shape[0]:
        raise DataError(f"'{beside}' must have the {array.shape[0]:,} rows of '{file}', got {n:,}")


def _mapped(path: str) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DataError(f"'{path}' cannot be read: {error}") from error
    return array


def _parquet(path: str) -> Any:
    from pyarrow.parquet import ParquetFile

    try:
        return ParquetFile(path)
    except (OSError, ValueError) as error:
        raise DataError(f"'{path}' cannot be read: {error}") from error
