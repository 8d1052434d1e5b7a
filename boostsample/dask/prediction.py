"""Predictions of a fitted classifier on Dask collections, computed when they are needed."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from boostsample.dask.inputs.parts import is_collection, is_frame

_dask: Any = importlib.import_module("dask")


class Answer(NamedTuple):
    """A method of the classifier, and what it returns for n examples.

    Attributes
    ----------
    method : str
    dtype : dtype
    width : int or None
        Columns of the result (n, width); None for a vector (n,).
    """

    method: str
    dtype: DTypeLike
    width: int | None = None

    @property
    def empty(self) -> Any:
        """The result for no example."""
        return np.empty((0,) if self.width is None else (0, self.width), self.dtype)


def predicted(local: Any, answer: Answer, X: Any) -> Any:
    """What a local classifier answers for X.

    A Dask array for a Dask array or data frame, with its chunks of rows; a list of delayed arrays
    for a bag or a list of delayed parts; an array for any other X, at once. Workers get the model
    once.
    """
    if not is_collection(X):
        return getattr(local, answer.method)(X)
    if not is_frame(X) and not hasattr(X, "rechunk"):
        X = X if isinstance(X, list | tuple) else X.to_delayed()
        work = _dask.delayed(_block)
        return [work(part, _dask.delayed(local), answer) for part in X]
    if is_frame(X):
        meta = _framed(answer.empty, None)
        return X.map_partitions(_partition, local, answer, meta=meta).to_dask_array()
    whole = X.rechunk(dict.fromkeys(range(1, X.ndim), -1))
    shape: dict[str, Any] = {"drop_axis": list(range(1 if answer.width is None else 2, X.ndim))}
    if answer.width is not None:
        shape["chunks"] = (whole.chunks[0], (answer.width,))
    model = _dask.delayed(local)
    return whole.map_blocks(
        _block, model=model, answer=answer, dtype=answer.dtype, meta=answer.empty, **shape
    )


def _block(X: Any, model: Any, answer: Answer) -> Any:
    """The answer for one chunk; chunks of collections may be empty."""
    if not len(X):
        return answer.empty
    return np.asarray(getattr(model, answer.method)(X), answer.dtype)


def _partition(frame: Any, model: Any, answer: Answer) -> Any:
    """The answer for one partition as a frame, which data frames of Dask need."""
    return _framed(_block(frame, model, answer), frame.index)


def _framed(values: Any, index: Any) -> Any:
    import pandas as pd

    return (pd.Series if values.ndim == 1 else pd.DataFrame)(values, index)
