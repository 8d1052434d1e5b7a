"""Parts of a table that are files: `.npy` or Parquet, in folders that all workers can read.

A worker lists the folder; the client reads nothing. Files are taken in the order of their names.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.dask.inputs.parts import Part, RawRows, split_columns
from boostsample.errors import DataError, SettingError, os_fault

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
        columns = [one for one in (self.y, self.weight) if isinstance(one, int)]
        y, weight = (X[:, one] if isinstance(one, int) else one for one in (self.y, self.weight))
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
        for what, column in (("y", y), ("sample_weight", weight)):
            if column is not None and column not in names:
                raise SettingError(
                    f"{what} must be a column of the Parquet files in '{path}', got {column!r}; "
                    f"known: {', '.join(names)[:200]}"
                )
        groups = ((file, at) for file in files for at in range(_parquet(file).num_row_groups))
        return [RowGroupPart(file, at, str(y), weight) for file, at in groups]  # type: ignore[arg-type]  # names
    beside = [_beside(one, what, files) for what, one in (("y", y), ("sample_weight", weight))]
    found: list[Part] = []
    for at, file in enumerate(files):
        array = _mapped(file)
        for what, given, others in zip(("y", "sample_weight"), (y, weight), beside, strict=True):
            _check_fits(file, array, what, given, others[at])
        size = max(_PART_BYTES // max(array[:1].nbytes, 1), 1)
        for start in range(0, array.shape[0], size):
            stop = min(start + size, array.shape[0])
            found.append(ArrayPart(file, start, stop, beside[0][at], beside[1][at]))
    return found


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
    found = [file for file in files if file.suffix in _ENDINGS]
    endings = {file.suffix for file in found}
    if len(endings) != 1:
        what = "both" if endings else "none"
        raise DataError(f"'{path}' must hold files .npy or .parquet of one kind, got {what}")
    return [os.fspath(file) for file in found], endings.pop()


def _beside(given: str | int | None, name: str, files: list[str]) -> list[Any]:
    """Labels or weights of each file: a path, a column, or None."""
    if given is None or isinstance(given, int):
        return [given] * len(files)
    found, ending = _files(given)
    if ending != ".npy" or len(found) != len(files):
        raise DataError(
            f"the folder of {name} must hold as many files .npy as that of X, {len(files)}, got "
            f"{len(found)} files {ending}"
        )
    return found


def _check_fits(file: str, array: NDArray[Any], what: str, given: Any, beside: Any) -> None:
    """SettingError or DataError unless y or weight has the rows of this file."""
    if isinstance(given, int):
        width = array.shape[1] if array.ndim == 2 else 0
        if not 0 <= given < width:
            raise SettingError(
                f"{what} must be a column from 0 to {width - 1} of '{file}', got {given}; or the "
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
