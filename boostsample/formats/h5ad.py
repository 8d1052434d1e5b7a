"""AnnData files (.h5ad): cells as rows, genes as columns, labels of the cells from ``obs``.

Needs the extra ``h5ad`` (h5py), not anndata. The layout is that of
https://anndata.readthedocs.io/en/stable/fileformat-prose.html as anndata 0.7 and later write it.

- Dense matrices and CSC matrices become a `ColumnTable`: blocks of columns are read from the file
  when they are needed, never the whole matrix.
- CSR matrices, of which a block of columns costs as much as everything, are read once in blocks of
  rows and become a CSC matrix of SciPy in memory: 8 bytes for each stored value.

Stored NaN are missing values; what a sparse matrix does not store is 0. Values are rounded to
float32; genes whose different values become equal are a warning: of a CSR matrix when it is read,
of a table at the end of a fit, among the genes that it has read.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import (
    RowMerges,
    StoredMerges,
    check_known,
    columns_merged_by_float32,
    float32_may_merge,
    warn_of_merged_columns,
)
from boostsample.column_table import ColumnTable
from boostsample.errors import DataError, SettingError, unknown
from boostsample.formats.hdf5_members import (
    FileStamp,
    attribute,
    check_dataset,
    check_encoding,
    check_heaps,
    check_memory,
    file_stamp,
    member,
    open_hdf5,
    read_column,
)
from boostsample.labels import class_values

_BLOCK_BYTES = 2**20
"""Memory of the rows that are read at once."""
_BLOCK_ENTRIES = 2**18
"""Stored values of the rows of a CSR matrix that are read at once."""
_SIEVE_BYTES = 2**16
"""HDF5 reads at least this much of a row of an array without chunks."""
_GAP_ENTRIES = 2**12
"""Stored values of a CSC matrix that are skipped by reading them."""
_OLD = "by anndata.read_h5ad(path).write_h5ad(new_path) of anndata 0.8 to 0.11"


class AnnotatedTable(NamedTuple):
    """A matrix of cells and genes with labels and names.

    `X` is a `ColumnTable` or a CSC matrix of SciPy, float32 (n, d); `y` are class values (n,), see
    `boostsample.labels`, None if no label was asked for; `gene_names` are d different names,
    `cell_ids` n names.
    """

    X: Any
    y: NDArray[Any] | None
    gene_names: list[str]
    cell_ids: list[str]

    def aligned(self, names: Sequence[str]) -> AnnotatedTable:
        """The table with the genes of these names, in this order; DataError if one is missing.

        `fit` learns the names of genes from a `ColumnTable`, but not from a matrix in memory, whose
        columns must be those of the training.
        """
        if isinstance(self.X, ColumnTable):
            return self._replace(X=self.X.aligned(names), gene_names=[*names])
        position = {name: at for at, name in enumerate(self.gene_names)}
        missing = [name for name in names if name not in position]
        if missing:
            raise DataError(
                f"the table must have the {len(names):,} genes that were learned, but "
                f"{len(missing):,} are missing, {missing[0]!r:.60} first; add them"
            )
        columns = [position[name] for name in names]
        return self._replace(X=self.X[:, columns], gene_names=[*names])


def read_h5ad(
    path: str | Path,
    label: str | None = None,
    *,
    layer: str | None = None,
    gene_names: str | None = None,
    drop_unlabelled: bool = False,
) -> AnnotatedTable:
    """The matrix of an .h5ad file with the labels of its cells.

    For predictions leave out `label`: a table finds the genes of a model by `ColumnTable.aligned`.

    Parameters
    ----------
    path : str or Path
        The file; a table of its columns reads it later again, and refuses one that has changed.
    label : str, optional
        The column of ``obs`` with the labels: text, whole numbers, truth values, or categories of
        these. Every cell must have one, unless `drop_unlabelled`.
    layer : str, optional
        The matrix ``layers[layer]`` in place of ``X``; ``"raw"`` is ``raw.X`` with its own genes.
    gene_names : str, optional
        The column of ``var`` with the names of genes; default: the index of ``var``.
    drop_unlabelled : bool, default False
        Whether to leave out cells without a label.

    Raises
    ------
    SettingError
        If there is no such column or layer; h5py is missing.
    DataError
        If the file is damaged, was written by anndata before 0.7, or holds what cannot be read;
        genes have equal names; a cell has no label; a value is infinite or above 3.4e38.
    """
    path = Path(path)
    stamp = file_stamp(path)
    with open_hdf5(path, stamp) as file:
        check_heaps(file, path)
        _check_kind(file, path)
        place, frame = _place_of(file, layer, path)
        where = f"{path}: {place}"
        matrix = member(file, place, str(path))
        n, d = _shape(matrix, where)
        names = _gene_names(member(file, frame, str(path)), d, gene_names, f"{path}: {frame}")
        cells = _Frame(member(file, "obs", str(path)), f"{path}: obs")
        cell_ids = _texts(cells.index(n), f"{path}: the index of obs")
        y = None if label is None else cells.column(label, n)
        source = _MatrixPlace(path.absolute(), stamp, place)
        encoding = check_encoding(matrix, where)
        X: Any
        if encoding == "csr_matrix":
            X = _csc_in_memory(matrix, (n, d), names, cell_ids, where)
        elif encoding == "csc_matrix":
            X = CSCFileTable(source, (n, d), names, _indptr(matrix, d, n, where))
        else:
            X = DenseFileTable(source, (n, d), names, check_dataset(matrix, where, 2).chunks)
    table = AnnotatedTable(X, None, names, cell_ids)
    return (
        table if y is None else _with_labels(table, y, f"{path}: obs[{label!r}]", drop_unlabelled)
    )


def table_of_anndata(
    adata: Any, label: str | None = None, *, layer: str | None = None, gene_names: str | None = None
) -> AnnotatedTable:
    """The matrix of an AnnData object in memory, as it is, with the labels of its cells.

    The arguments and errors are those of `read_h5ad`; the matrix is a NumPy array or a sparse
    matrix of SciPy, of any dtype.
    """
    if type(adata).__name__ != "AnnData":
        raise SettingError(f"adata must be an AnnData object, got {type(adata).__name__}")
    if adata.isbacked:
        raise DataError(
            f"adata must be in memory, but is backed; use read_h5ad({str(adata.filename)!r})"
        )
    layers, genes, place = list(adata.layers), adata.var, "X"
    if layer is None:
        X = adata.X
    elif layer == "raw" and adata.raw is not None and "raw" not in layers:
        X, genes, place = adata.raw.X, adata.raw.var, "raw.X"
    elif layer in layers:
        X, place = adata.layers[layer], f"layers[{layer!r}]"
    else:
        raise unknown("layer of adata", layer, [*layers, *["raw"] * (adata.raw is not None)])
    if not hasattr(X, "tocsc"):
        if not isinstance(X, np.ndarray):
            raise DataError(
                f"adata.{place} must be an array of NumPy or a sparse matrix of SciPy, got "
                f"{type(X).__name__}; pass adata.to_memory()"
            )
        X = np.asarray(X)
    for name, frame, column in (("obs", adata.obs, label), ("var", genes, gene_names)):
        if column is not None and column not in frame.columns:
            raise unknown(f"column of adata.{name}", column, map(str, frame.columns))
    cell_ids = [str(cell) for cell in adata.obs_names]
    names = genes.index if gene_names is None else genes[gene_names]
    gene_list = _distinct(_texts(np.array(names, object), "adata.var"), "adata.var")
    table = AnnotatedTable(X, None, gene_list, cell_ids)
    if label is None:
        return table
    labels = np.array(adata.obs[label], object)
    labels[adata.obs[label].isna().to_numpy(bool)] = None
    return _with_labels(table, labels, f"adata.obs[{label!r}]", False)


# --------------------------------------------------------------------------------- parts of a file


class _MatrixPlace(NamedTuple):
    """A matrix in a file that is opened again for each read."""

    path: Path
    stamp: FileStamp
    place: str

    @property
    def where(self) -> str:
        """The matrix, for messages."""
        return f"{self.path}: {self.place}"

    def infinite(self, row: int, gene: str) -> DataError:
        """The error of an infinite value."""
        return _infinite(self.where, gene, self._cell_id(row))

    def _cell_id(self, row: int) -> str:
        with suppress(DataError), open_hdf5(self.path, self.stamp) as file:
            index = attribute(file["obs"], "_index")
            return str(file["obs"][index].asstr()[row])
        return f"in row {row}"


class _Frame:
    """The data frame `obs` or `var` of a file."""

    def __init__(self, group: Any, where: str) -> None:
        import h5py

        if not isinstance(group, h5py.Group):
            raise DataError(f"{where} is written by anndata before 0.7; write the file anew {_OLD}")
        if check_encoding(group, where) != "dataframe":
            raise DataError(f"{where} must be a data frame")
        self.group, self.where = group, where
        self._index = attribute(group, "_index")
        columns = attribute(group, "column-order")
        texts = [] if columns is None else np.asarray(columns).reshape(-1).tolist()
        self.columns = [name.decode() if isinstance(name, bytes) else name for name in texts]
        if not isinstance(self._index, str):
            raise DataError(f"{where} must name its index, got {self._index!r:.60}")

    def index(self, n: int) -> NDArray[Any]:
        """The n names of its rows."""
        where = f"{self.where}: the index {self._index!r}"
        return read_column(member(self.group, self._index, self.where), n, where)

    def column(self, name: str, n: int) -> NDArray[Any]:
        """A column of n values; SettingError if there is none of this name."""
        check_known(f"column of {self.where}", name, self.columns)
        return read_column(member(self.group, name, self.where), n, f"{self.where}[{name!r}]")


def _check_kind(file: Any, path: Path) -> None:
    """DataError unless a file is of anndata, with the way out for its relatives."""
    if attribute(file, "encoding-type") not in (None, "anndata") or "mod" in file:
        raise DataError(
            f"{path} must hold one AnnData object, got {attribute(file, 'encoding-type')!r:.60}; "
            "write one of its modalities by mdata.mod[name].write_h5ad(new_path)"
        )
    if "obs" not in file or "var" not in file:
        raise DataError(
            f"{path} must hold 'obs' and 'var' as files of anndata do, got "
            f"{', '.join(sorted(file)[:8]) or 'nothing'}; read a file of 10x by "
            "scanpy.read_10x_h5(path) and write it by .write_h5ad(new_path)"
        )


def _place_of(file: Any, layer: str | None, path: Path) -> tuple[str, str]:
    """Where a matrix lies, and the data frame of its genes."""
    layers = sorted(file["layers"]) if "layers" in file else []
    if layer is None:
        if "X" not in file:
            raise SettingError(
                f"{path} has no X; choose one of its layers by layer=: {', '.join(layers)}"
            )
        return "X", "var"
    if layer == "raw" and "raw" not in layers:
        if "raw" not in file:
            raise SettingError(f"{path} has no raw; leave out layer='raw'")
        return "raw/X", "raw/var"
    if layer not in layers:
        raise unknown(f"layer of {path}", layer, [*layers, *({"raw"} & set(file))])
    if layer == "raw" and "raw" in file:
        raise SettingError(
            f"layer='raw' is ambiguous, {path} has raw and a layer of this name; rename the layer"
        )
    return f"layers/{layer}", "var"


def _shape(matrix: Any, where: str) -> tuple[int, int]:
    """Cells and genes of a matrix in a file."""
    import h5py

    if isinstance(matrix, h5py.Dataset):
        check_dataset(matrix, where, 2)
        shape = matrix.shape
    elif attribute(matrix, "h5sparse_format") is not None:
        raise DataError(f"{where} is written by anndata before 0.7; write the file anew {_OLD}")
    elif check_encoding(matrix, where) not in ("csr_matrix", "csc_matrix"):
        raise DataError(f"{where} must be an array or a sparse matrix, got another group")
    else:
        values = np.asarray(attribute(matrix, "shape"))
        if values.shape != (2,) or values.dtype.kind not in "iu" or min(values.tolist()) < 0:
            raise DataError(f"{where} must have the shape of a matrix, got {values!r:.60}")
        shape = (int(values[0]), int(values[1]))
    if not shape[0] or not shape[1]:
        raise DataError(f"{where} must have at least one cell and one gene, got {shape}")
    return shape[0], shape[1]


def _texts(values: NDArray[Any], where: str) -> list[str]:
    """Names, whole numbers as text; DataError if one is missing or something else."""
    names = values.tolist()
    for row, name in enumerate(names):
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise DataError(f"{where} must hold names, got {name!r:.60} at {row}")
    return [str(name) for name in names]


def _gene_names(group: Any, d: int, column: str | None, where: str) -> list[str]:
    frame = _Frame(group, where)
    what = f"the index of {where}" if column is None else f"{where}[{column!r}]"
    names = _texts(frame.index(d) if column is None else frame.column(column, d), what)
    return _distinct(names, what)


def _distinct(names: list[str], what: str) -> list[str]:
    if len(set(names)) < len(names):
        name, times = Counter(names).most_common(1)[0]
        raise DataError(
            f"genes must have different names, but {what} has {name!r:.60} {times} times; name "
            "another column of var by gene_names=, or write the file anew after "
            "adata.var_names_make_unique()"
        )
    return names


def _with_labels(
    table: AnnotatedTable, values: NDArray[Any], what: str, drop_unlabelled: bool
) -> AnnotatedTable:
    missing = np.array([value is None for value in values.tolist()])
    if values.dtype.kind == "f":
        missing = np.isnan(values)
    if missing.any() and not drop_unlabelled:
        raise DataError(
            f"every cell must have a label, but {what} lacks {missing.sum():,} of "
            f"{missing.size:,}, the first that of {table.cell_ids[int(missing.argmax())]!r:.60}; "
            "leave these cells out, in a file by drop_unlabelled=True, in memory by "
            "adata[adata.obs[label].notna()]"
        )
    if missing.any():
        rows = np.flatnonzero(~missing)
        cell_ids = [table.cell_ids[row] for row in rows.tolist()]
        table, values = table._replace(X=table.X[rows], cell_ids=cell_ids), values[rows]
    return table._replace(y=class_values(values, what, in_file=True))


# ----------------------------------------------------------------------------------- dense matrices


class DenseFileTable(ColumnTable):
    """A dense matrix of a file, read by blocks of columns.

    `column_chunk` is the width of its chunks, 1 without: blocks of a multiple of it, from a
    multiple on, decode no chunk twice. Without chunks a read costs at least 64 KiB of each row.
    """

    def __init__(
        self,
        source: _MatrixPlace,
        shape: tuple[int, int],
        names: Sequence[str],
        chunks: tuple[int, int] | None,
    ) -> None:
        super().__init__(*shape, names)
        self._source, self._n_rows, self._names = source, shape[0], names
        self._chunk_rows, self.column_chunk = chunks or (1, 1)

    def read(self, columns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Values of some columns in all rows of the source: float32 (q, n), NaN for missing."""
        table = np.empty((columns.size, self._n_rows), np.float32)
        with open_hdf5(self._source.path, self._source.stamp) as file:
            data = member(file, self._source.place, str(self._source.path))
            size = data.dtype.itemsize
            may_merge = float32_may_merge(data.dtype)
            gap = self.column_chunk if self.column_chunk > 1 else _SIEVE_BYTES // size
            for start, stop in _runs(columns, columns + 1, gap):
                first, last = columns[start], columns[stop - 1] + 1
                rows = max(_BLOCK_BYTES // (size * int(last - first)), 1)
                rows = -(-rows // self._chunk_rows) * self._chunk_rows
                places = columns[start:stop] - first
                merges = RowMerges(self._n_rows, places.size, data.dtype) if may_merge else None
                for row in range(0, self._n_rows, rows):
                    block = data[row : row + rows, first:last]
                    if places.size < last - first:
                        block = block[:, places]
                    if merges is not None:
                        merges.add(block, row)
                    with np.errstate(over="ignore"):
                        table[start:stop, row : row + rows] = block.T
                if merges is not None:
                    self._merged.update(columns[start:stop][merges.columns()].tolist())
            _check_finite(table, columns, self)
        return table


def _runs(
    starts: NDArray[np.int64], stops: NDArray[np.int64], gap: int
) -> Iterator[tuple[int, int]]:
    """Ranges of ascending intervals whose gaps are at most `gap`."""
    cuts = np.flatnonzero(starts[1:] - stops[:-1] > gap) + 1
    edges = [0, *cuts.tolist(), starts.size]
    yield from itertools.pairwise(edges)


def _check_finite(
    table: NDArray[np.float32], columns: NDArray[np.int64], of: DenseFileTable | CSCFileTable
) -> None:
    """DataError with gene and cell if a value of some columns, (q, n), is infinite."""
    infinite = np.isinf(table)
    if infinite.any():
        place, row = divmod(int(infinite.argmax()), infinite.shape[1])
        raise of._source.infinite(row, of._names[int(columns[place])])


def _infinite(where: str, gene: str, cell: str) -> DataError:
    return DataError(
        f"{where} must be finite and within 3.4e38, got a larger value in gene {gene!r:.60}, cell "
        f"{cell!r:.60}; make it NaN if it is missing"
    )


# ---------------------------------------------------------------------------------- sparse matrices


class CSCFileTable(ColumnTable):
    """A CSC matrix of a file, read by blocks of columns; `indptr` (d + 1,) is in memory."""

    def __init__(
        self,
        source: _MatrixPlace,
        shape: tuple[int, int],
        names: Sequence[str],
        indptr: NDArray[np.int64],
    ) -> None:
        super().__init__(*shape, names)
        self._source, self._n_rows, self._names = source, shape[0], names
        self._indptr = indptr

    def read(self, columns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Values of some columns in all rows of the source: float32 (q, n), NaN for missing."""
        from scipy import sparse

        table = np.empty((columns.size, self._n_rows), np.float32)
        starts, stops = self._indptr[columns], self._indptr[columns + 1]
        where = self._source.where
        with open_hdf5(self._source.path, self._source.stamp) as file:
            group = member(file, self._source.place, str(self._source.path))
            parts = [member(group, name, where) for name in ("data", "indices")]
            for first, last in _runs(starts, stops, _GAP_ENTRIES):
                base = starts[first]
                data, indices = (part[base : stops[last - 1]] for part in parts)
                _check_indices(indices, self._n_rows, where)
                values, infinite = _as_float32(data)
                if infinite is not None:
                    column = int(np.searchsorted(self._indptr, base + infinite, side="right")) - 1
                    raise self._source.infinite(int(indices[infinite]), self._names[column])
                # Rows of a CSR matrix are the columns: it adds up repeated entries when made dense.
                ranges = zip(starts[first:last] - base, stops[first:last] - base, strict=True)
                chosen = np.concatenate([np.arange(a, b) for a, b in ranges])
                indptr = np.append(0, np.cumsum(stops[first:last] - starts[first:last]))
                matrix = sparse.csr_matrix(
                    (values[chosen], indices[chosen].astype(np.int64), indptr),
                    shape=(last - first, self._n_rows),
                )
                matrix.toarray(out=table[first:last])
                if float32_may_merge(data.dtype):
                    parts_read = data[chosen], matrix.indices, matrix.indptr
                    by_column = sparse.csc_matrix(parts_read, (self._n_rows, last - first))
                    merged = columns_merged_by_float32(by_column)
                    self._merged.update(columns[first:last][merged].tolist())
        _check_finite(table, columns, self)
        return table


def _indptr(group: Any, n_major: int, n_minor: int, where: str) -> NDArray[np.int64]:
    """Where each row (CSR) or column (CSC) begins, int64 (n_major + 1,)."""
    data = check_dataset(member(group, "data", where), f"{where}/data", 1)
    indices = check_dataset(member(group, "indices", where), f"{where}/indices", 1, "iu")
    stored = check_dataset(member(group, "indptr", where), f"{where}/indptr", 1, "iu")
    if stored.shape != (n_major + 1,) or data.shape != indices.shape:
        raise DataError(
            f"{where} must have indptr of {n_major + 1:,} and data and indices of one length, got "
            f"{stored.shape[0]:,}, {data.shape[0]:,} and {indices.shape[0]:,}; it is damaged"
        )
    indptr: NDArray[np.int64] = stored[()].astype(np.int64)
    if indptr[0] != 0 or indptr[-1] != data.shape[0] or (np.diff(indptr) < 0).any():
        raise DataError(
            f"{where} must have indptr that ascends from 0 to {data.shape[0]:,}, the number of its "
            f"values, got {indptr[0]:,} to {indptr[-1]:,}; it is damaged"
        )
    return indptr


def _check_indices(indices: NDArray[Any], n: int, where: str) -> None:
    if indices.size and (indices.min() < 0 or indices.max() >= n):
        raise DataError(
            f"{where} must have indices from 0 to {n - 1}, got {indices.min()} to {indices.max()}; "
            "it is damaged"
        )


def _as_float32(data: NDArray[Any]) -> tuple[NDArray[np.float32], int | None]:
    """Values as float32, and the first place of an infinite one."""
    with np.errstate(over="ignore"):
        values = data.astype(np.float32)
    infinite = np.isinf(values) if data.dtype.kind == "f" else np.zeros(0, bool)
    return values, int(infinite.argmax()) if infinite.any() else None


def _csc_in_memory(
    group: Any, shape: tuple[int, int], names: list[str], cell_ids: list[str], where: str
) -> Any:
    """A CSR matrix of a file as a CSC matrix of SciPy in canonical form, float32."""
    from scipy import sparse

    n, d = shape
    starts = _indptr(group, n, d, where)
    n_values = int(starts[-1])
    check_memory(8 * n_values, where, "write X as CSC: adata.X = adata.X.tocsc()")
    data, indices = group["data"], group["indices"]
    merges = StoredMerges(d, data.dtype) if float32_may_merge(data.dtype) else None
    blocks = [0]
    while blocks[-1] < n:
        stop = int(np.searchsorted(starts, starts[blocks[-1]] + _BLOCK_ENTRIES, side="right")) - 1
        blocks.append(max(stop, blocks[-1] + 1))
    ranges = list(itertools.pairwise(blocks))

    counts = np.zeros(d, np.int64)
    for first, last in ranges:
        part = indices[starts[first] : starts[last]]
        _check_indices(part, d, where)
        counts += np.bincount(part, minlength=d)
    width = np.int32 if max(n, d, n_values) <= np.iinfo(np.int32).max else np.int64
    indptr = np.append(0, np.cumsum(counts)).astype(width)
    rows, values = np.empty(n_values, width), np.empty(n_values, np.float32)
    ends = indptr[:-1].astype(np.int64)
    for first, last in ranges:
        begin = starts[first]
        exact = data[begin : starts[last]]
        block, infinite = _as_float32(exact)
        columns = indices[begin : starts[last]].astype(np.int64)
        if infinite is not None:
            row = int(np.searchsorted(starts, begin + infinite, side="right")) - 1
            raise _infinite(where, names[int(columns[infinite])], cell_ids[row])
        places = columns, starts[first : last + 1] - begin
        by_column = sparse.csr_matrix((block, *places), (last - first, d)).tocsc()
        if merges is not None:
            merges.add(sparse.csr_matrix((exact, *places), (last - first, d)).tocsc())
        sizes = np.diff(by_column.indptr)
        target = np.repeat(ends - by_column.indptr[:-1], sizes) + np.arange(block.size)
        rows[target] = by_column.indices + first
        values[target] = by_column.data
        ends += sizes
    if merges is not None:
        merged = np.flatnonzero(merges.columns(n)).tolist()
        warn_of_merged_columns([f"{where}: {names[column]}" for column in merged])
    matrix = sparse.csc_matrix((values, rows, indptr), shape=shape, copy=False)
    matrix.sum_duplicates()
    infinite_sums = np.isinf(matrix.data)
    if infinite_sums.any():
        at = int(infinite_sums.argmax())
        column = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        raise _infinite(where, names[column], cell_ids[int(matrix.indices[at])])
    return matrix
