"""Parts of a table that workers can read again, with the same result: Dask collections.

A part of a collection is the piece of its graph that makes it. A worker computes that piece in its
own thread, without the scheduler, so that neither a worker with one thread nor a busy one can hang.
Data that the collection keeps on the cluster (`persist`) is fetched from the workers that hold it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from boostsample.dask.current_worker import client_here
from boostsample.errors import DataError, SettingError

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
    kept : tuple
        Keys of the graph whose data the cluster keeps.
    """

    graph: dict[Any, Any]
    keys: tuple[Any, Any, Any]
    columns: tuple[Any, Any]
    kept: tuple[Any, ...]

    def read(self) -> RawRows:
        """Compute the part in this thread."""
        graph = dict(self.graph)
        if self.kept:
            graph |= _fetched(self.kept)
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
        return len(X) > 0 and all(_dask.is_dask_collection(one) for one in X)
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
    kept = {
        one.key
        for one in _distributed.futures_of([one for one in (X, y, weight) if one is not None])
    }
    for name, given, column in (("y", y, columns[0]), ("sample_weight", weight, columns[1])):
        if given is None or column is not None:
            pieces.append([None] * len(pieces[0]))
        else:
            pieces.append(_delayed(given, name, X))
            _check_parts(name, X, given, len(pieces[0]), len(pieces[-1]))
    delayed = list(zip(*pieces, strict=True))
    graphs = {id(graph): graph for graph in _graphs_of(delayed)}
    whole = {key: task for graph in graphs.values() for key, task in dict(graph).items()}
    whole |= dict.fromkeys(kept)  # their data are fetched
    return GraphParts([_part(one, columns, kept, whole) for one in delayed], delayed, columns)


def _column_of(X: Any, given: Any, name: str) -> Any:
    """The column that is y or weight, None if it is no column."""
    if given is None or isinstance(given, list) or _dask.is_dask_collection(given):
        return None
    columns = [*X.columns] if is_frame(X) else []
    if isinstance(given, str | int) and given in columns:
        return given
    raise SettingError(
        f"{name} must be a Dask collection with the chunks of X, or the name of one of its columns "
        f"if X is a data frame, got {given!r:.80}"
    )


def _check_parts(name: str, X: Any, given: Any, n: int, n_given: int) -> None:
    """DataError if X and y or weight have other numbers of parts, or other known divisions."""
    if n != n_given:
        raise DataError(
            f"X and {name} must have the same chunks, got {n} of X and {n_given} of {name}; take "
            "both from one collection, as in fit(d[features], d['y']), or rechunk or repartition "
            "one of them like the other (arrays without known chunks: compute_chunk_sizes() first)"
        )
    divisions = [one.divisions for one in (X, given) if getattr(one, "known_divisions", False)]
    if len(divisions) == 2 and divisions[0] != divisions[1]:
        raise DataError(
            f"X and {name} must have the same divisions, got {divisions[0]!s:.60} of X and "
            f"{divisions[1]!s:.60} of {name}; repartition one of them like the other, or, if their "
            "rows have the same order, call clear_divisions() of both"
        )


def _delayed(given: Any, name: str, X: Any) -> list[Any]:
    """The chunks of a collection as delayed values."""
    if isinstance(given, list | tuple) and is_collection(given):
        return list(given)
    if not is_collection(given):
        raise SettingError(
            f"{name} must be a Dask array, data frame or bag, a list of delayed parts or a folder, "
            f"got {type(given).__name__}; on one machine, use BoostSampleClassifier"
        )
    # Without Dask's optimization, which merges partitions by the columns in use: X and y have the
    # partitions that the user sees, and share the tasks that make both.
    found: Any = given
    if not hasattr(found, "rechunk"):
        return list(found.to_delayed(optimize_graph=False))
    like = _row_chunks(X)
    whole: dict[int, Any] = dict.fromkeys(range(1, found.ndim), -1)
    if like is not None and like != found.chunks[0] and sum(like) == found.shape[0]:
        whole[0] = like
    found = found.rechunk(whole, method="tasks") if whole else found
    return list(found.to_delayed(optimize_graph=False).ravel())


def _row_chunks(X: Any) -> tuple[int, ...] | None:
    """The sizes of the chunks of rows of an array, None if they are not known."""
    chunks: tuple[int, ...] | None = X.chunks[0] if hasattr(X, "rechunk") else None
    return chunks if chunks is not None and sum(chunks) == sum(chunks) else None  # not NaN


def _graphs_of(delayed: Sequence[tuple[Any, Any, Any]]) -> Iterator[Any]:
    return (one.__dask_graph__() for part in delayed for one in part if one is not None)


def _part(
    delayed: Sequence[Any], columns: tuple[Any, Any], kept: set[Any], whole: Mapping[Any, Any]
) -> GraphPart:
    """The part of X, y and weight; `kept` are keys whose data the cluster keeps."""
    keys: tuple[Any, Any, Any] = tuple(None if one is None else one.key for one in delayed)  # type: ignore[assignment]  # three
    graph, _ = _optimization.cull(whole, [key for key in keys if key is not None])
    if any(str(key).startswith("shuffle-barrier-") for key in graph):
        raise DataError(
            "each part must be made by a worker alone, but these come from all parts by a shuffle, "
            "as of set_index or merge; persist them first: d = client.persist(d)"
        )
    needed = tuple(key for key in graph if key in kept)
    return GraphPart({k: v for k, v in graph.items() if k not in kept}, keys, columns, needed)


def _paths(value: Any) -> Iterator[str]:
    """Paths of files in the tasks of a graph: of `read_parquet`, `read_csv` and their like."""
    if isinstance(value, Mapping):
        yield from _paths([*value.values()])
        if isinstance(value.get("piece"), tuple):
            yield str(value["piece"][0])
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _paths(one)
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
