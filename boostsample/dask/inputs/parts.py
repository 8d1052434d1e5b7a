"""Parts of a table that workers can read again, with the same result.

A part of a collection is the piece of its graph that makes it. A worker computes that piece in its
own thread, without the scheduler, so that neither a worker with one thread nor a busy one can hang.
Data that the collection keeps on the cluster (`persist`) is fetched from the workers that hold it.

Other parts are rows of `.npy` and Parquet files in folders that all workers can read. A worker
lists the folder, in the order of the names; the client reads nothing.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from boostsample.dask.worker import client_here
from boostsample.errors import DataError, SettingError, os_fault

_dask: Any = importlib.import_module("dask")
_optimization: Any = importlib.import_module("dask.optimization")
_distributed: Any = importlib.import_module("distributed")

_PATIENCE = 120.0
"""Seconds to wait for data that the cluster keeps, or makes again after a loss."""


class RawRows(NamedTuple):
    """What a part holds, unchecked: examples, labels, and weights or None."""

    X: Any
    y: Any
    weight: Any


class Part(Protocol):
    """Rows that any worker can read, again and again."""

    def read(self) -> RawRows:
        """The rows."""
        ...

    @property
    def place(self) -> str:
        """Where the rows come from, for messages; empty if that is not known."""
        ...


@dataclass(frozen=True)
class GraphPart:
    """A part of a Dask collection.

    Attributes
    ----------
    graph : dict
        What X, y and weight of this part need, and nothing else.
    keys : tuple
        Keys of X, y and weight in it, or None.
    columns : tuple
        Columns of X that are y and weight, or None.
    stored : tuple
        Keys of the graph whose data the cluster keeps.
    """

    graph: dict[Any, Any]
    keys: tuple[Any, Any, Any]
    columns: tuple[Any, Any]
    stored: tuple[Any, ...]

    def read(self) -> RawRows:
        """Compute the part in this thread."""
        graph = dict(self.graph)
        if self.stored:
            graph |= _fetched(self.stored)
        known = [key for key in self.keys if key is not None]
        values = dict(zip(known, _dask.get(graph, known), strict=True))
        X, y, weight = (values.get(key) for key in self.keys)
        return split_columns(X, y, weight, *self.columns)

    @property
    def place(self) -> str:
        """The files of the part, as far as its tasks name them."""
        return ", ".join(dict.fromkeys(f"'{path}'" for path in _paths(self.graph)))


class GraphParts(NamedTuple):
    """The parts of collections, and the same parts for tasks of the scheduler.

    Attributes
    ----------
    parts : list of GraphPart
    delayed : list of tuple
        X, y and weight of each part, as `dask.delayed.Delayed` or None.
    columns : tuple
        As of `GraphPart`.
    """

    parts: list[GraphPart]
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


def split_columns(X: Any, y: Any, weight: Any, of_y: Any, of_weight: Any) -> RawRows:
    """Examples, labels and weights, of which the last two may be columns of a data frame X."""
    dropped = []
    if of_y is not None:
        y = X[of_y]
        dropped.append(of_y)
    if of_weight is not None:
        weight = X[of_weight]
        dropped.append(of_weight)
    return RawRows(X.drop(columns=dropped) if dropped else X, y, weight)


def graph_parts(X: Any, y: Any, weight: Any) -> GraphParts:
    """The parts of Dask collections; computes nothing.

    Parameters
    ----------
    X : Dask array (n, ...), data frame (n, d) or bag of rows, or list of delayed parts
    y : Dask array, series or bag (n,) or (n, K), list of delayed parts, or name of a column of X
    weight : Dask array, series or bag (n,), list, name, or None

    Raises
    ------
    DataError
        If X, y and weight have different parts, or a part needs others, as after a shuffle.
    SettingError
        If one of them is something else.
    """
    pieces = [_delayed(X, "X", None)]
    columns = _column_of(X, y, "y"), _column_of(X, weight, "sample_weight")
    stored = {
        item.key
        for item in _distributed.futures_of([item for item in (X, y, weight) if item is not None])
    }
    for name, collection, column in (("y", y, columns[0]), ("sample_weight", weight, columns[1])):
        if collection is None or column is not None:
            pieces.append([None] * len(pieces[0]))
        else:
            pieces.append(_delayed(collection, name, X))
            _check_parts(name, X, collection, len(pieces[0]), len(pieces[-1]))
    delayed = list(zip(*pieces, strict=True))
    graphs = {id(graph): graph for graph in _graphs_of(delayed)}
    whole = {key: task for graph in graphs.values() for key, task in dict(graph).items()}
    whole |= dict.fromkeys(stored)  # their data are fetched
    return GraphParts([_part(item, columns, stored, whole) for item in delayed], delayed, columns)


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
    divisions = [
        collection.divisions
        for collection in (X, other)
        if getattr(collection, "known_divisions", False)
    ]
    if len(divisions) == 2 and divisions[0] != divisions[1]:
        raise DataError(
            f"X and {name} must have the same divisions, got {divisions[0]!s:.60} of X and "
            f"{divisions[1]!s:.60} of {name}; repartition one of them like the other, or, if their "
            "rows have the same order, call clear_divisions() of both"
        )


def _delayed(collection: Any, name: str, X: Any) -> list[Any]:
    """The chunks of a collection as delayed values."""
    if isinstance(collection, list | tuple) and is_collection(collection):
        return list(collection)
    if not is_collection(collection):
        raise SettingError(
            f"{name} must be a Dask array, data frame or bag, a list of delayed parts or a folder, "
            f"got {type(collection).__name__}; on one machine, use BoostSampleClassifier"
        )
    # Without Dask's optimization, which merges partitions by the columns in use: X and y have the
    # partitions that the user sees, and share the tasks that make both.
    chunked: Any = collection
    if not hasattr(chunked, "rechunk"):
        return list(chunked.to_delayed(optimize_graph=False))
    like = _row_chunks(X)
    whole: dict[int, Any] = dict.fromkeys(range(1, chunked.ndim), -1)
    if like is not None and like != chunked.chunks[0] and sum(like) == chunked.shape[0]:
        whole[0] = like
    chunked = chunked.rechunk(whole, method="tasks") if whole else chunked
    return list(chunked.to_delayed(optimize_graph=False).ravel())


def _row_chunks(X: Any) -> tuple[int, ...] | None:
    """The sizes of the chunks of rows of an array, None if they are not known."""
    chunks: tuple[int, ...] | None = X.chunks[0] if hasattr(X, "rechunk") else None
    return chunks if chunks is not None and sum(chunks) == sum(chunks) else None  # not NaN


def _graphs_of(delayed: Sequence[tuple[Any, Any, Any]]) -> Iterator[Any]:
    return (piece.__dask_graph__() for part in delayed for piece in part if piece is not None)


def _part(
    delayed: Sequence[Any], columns: tuple[Any, Any], stored: set[Any], whole: Mapping[Any, Any]
) -> GraphPart:
    """The part of X, y and weight; `kept` are keys whose data the cluster keeps."""
    keys: tuple[Any, Any, Any] = tuple(None if piece is None else piece.key for piece in delayed)  # type: ignore[assignment]  # three
    graph, _ = _optimization.cull(whole, [key for key in keys if key is not None])
    if any(str(key).startswith("shuffle-barrier-") for key in graph):
        raise DataError(
            "each part must be made by a worker alone, but these come from all parts by a shuffle, "
            "as of set_index or merge; persist them first: d = client.persist(d)"
        )
    needed = tuple(key for key in graph if key in stored)
    return GraphPart({k: v for k, v in graph.items() if k not in stored}, keys, columns, needed)


def _paths(value: Any) -> Iterator[str]:
    """Paths of files in the tasks of a graph: of `read_parquet`, `read_csv` and their like."""
    if isinstance(value, Mapping):
        yield from _paths([*value.values()])
        if isinstance(value.get("piece"), tuple):
            yield str(value["piece"][0])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _paths(item)
    elif hasattr(value, "args") and hasattr(value, "kwargs"):  # a task
        yield from _paths([value.args, value.kwargs])
    elif isinstance(path := getattr(getattr(value, "fragment", value), "path", None), str):
        yield path


def _same(value: Any) -> Any:
    return value


def _fetched(keys: Sequence[Any]) -> dict[Any, Any]:
    """Data that the cluster keeps, by tasks, so that what was lost is made again.

    DataError if it cannot be had.
    """
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


_PART_BYTES = 2**26
"""Most bytes of a part of a `.npy` file."""
_ENDINGS = (".npy", ".parquet")


@dataclass(frozen=True)
class ArrayPart:
    """Rows start to stop of a `.npy` file of X, with labels and weights.

    Attributes
    ----------
    path : str
    start, stop : int
    y, weight : str, int or None
        Path of a file of the same rows, or the number of a column of X.
    """

    path: str
    start: int
    stop: int
    y: str | int
    weight: str | int | None

    def read(self) -> RawRows:
        """Read the rows; no file stays mapped."""
        X = self._rows(self.path)
        columns = [column for column in (self.y, self.weight) if isinstance(column, int)]
        y, weight = (
            X[:, column] if isinstance(column, int) else column for column in (self.y, self.weight)
        )
        return RawRows(
            np.delete(X, columns, axis=1) if columns else X,
            self._rows(y) if isinstance(y, str) else y,
            self._rows(weight) if isinstance(weight, str) else weight,
        )

    @property
    def place(self) -> str:
        """The file."""
        return f"'{self.path}'"

    def _rows(self, path: str) -> NDArray[Any]:
        mapped = _mapped(path)
        rows = mapped[self.start : self.stop]
        if not mapped.flags.c_contiguous:
            return np.array(rows)
        # A file that another process cuts short is an error; its mapping would end this process.
        start = mapped.offset + self.start * mapped.strides[0]  # type: ignore[attr-defined]  # a memmap
        return np.fromfile(path, rows.dtype, rows.size, offset=start).reshape(rows.shape)


@dataclass(frozen=True)
class RowGroupPart:
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
        return split_columns(table.to_pandas(), None, None, self.y, self.weight)

    @property
    def place(self) -> str:
        """File and row group."""
        return f"'{self.path}', row group {self.group}"


def list_folder(path: str, y: str | int, weight: str | int | None) -> list[Part]:
    """The parts of a folder, or of one file; runs on a worker.

    Parameters
    ----------
    path : str
        A folder of `.npy` files (n, ...) or of Parquet files (n, d), or one such file.
    y : str or int
        Of `.npy` files the number of a column, or a folder of as many `.npy` files with the same
        rows; of Parquet files the name of a column.
    weight : str, int or None
        Like y.

    Raises
    ------
    DataError
        If there is no such file, or if the files do not fit each other.
    SettingError
        If y or weight is something else.
    """
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
        return [RowGroupPart(file, at, str(y), weight) for file, at in groups]  # type: ignore[arg-type]  # names
    beside = [_beside(place, name, files) for name, place in (("y", y), ("sample_weight", weight))]
    parts: list[Part] = []
    for at, file in enumerate(files):
        array = _mapped(file)
        for name, column, others in zip(("y", "sample_weight"), (y, weight), beside, strict=True):
            _check_fits(file, array, name, column, others[at])
        size = max(_PART_BYTES // max(array[:1].nbytes, 1), 1)
        for start in range(0, array.shape[0], size):
            stop = min(start + size, array.shape[0])
            parts.append(ArrayPart(file, start, stop, beside[0][at], beside[1][at]))
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


def _check_fits(file: str, array: NDArray[Any], name: str, column: Any, beside: Any) -> None:
    """SettingError or DataError unless y or weight has the rows of this file."""
    if isinstance(column, int):
        width = array.shape[1] if array.ndim == 2 else 0
        if not 0 <= column < width:
            raise SettingError(
                f"{name} must be a column from 0 to {width - 1} of '{file}', got {column}; or the "
                "path of a folder"
            )
    elif beside is not None and _mapped(beside).shape[0] != array.shape[0]:
        raise DataError(
            f"'{beside}' must have the {array.shape[0]:,} rows of '{file}', got "
            f"{_mapped(beside).shape[0]:,}"
        )


def _mapped(path: str) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DataError(f"'{path}' cannot be read: {error}") from error
    return array


def _parquet(path: str) -> Any:
    try:
        import pandas  # noqa: F401 - the rows become a data frame
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise SettingError(
            "folders of Parquet files need pandas and pyarrow on the workers; install them by: "
            "pip install 'boostsample[dask,report]'"
        ) from error
    try:
        return ParquetFile(path)
    except (OSError, ValueError) as error:
        raise DataError(f"'{path}' cannot be read: {error}") from error
