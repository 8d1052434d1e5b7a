"""A table on a cluster: its parts, checked on workers; its facts; and the sources of its shards.

**Bin edges.** Of R rows that edges come from (`reference`) and P parts, each part gives a sample of
at most 2 R / P rows, drawn without replacement by a stream that depends on the number of the part
and of its rows alone. Then each part keeps the same share of its rows, the largest that no sample
is too small for, and that gives at most R rows in all: all R of them if no part has more than twice
the mean number of rows. A feature that is a column of a table with at most 255 different values
in all parts has a bin for each of them, exactly; others have 254 cuts at quantiles of the sampled
rows, as in `boostsample.banks.binning`. The quantiles are exact if the sample is the table.
Otherwise the share of rows below a cut is that of the quantile q but for a standard error of
sqrt(q (1 - q) / R), at most 0.2 % of the rows for R = 65,536; with probability 0.99 no cut of a
feature is off by more than sqrt(log(200) / (2 R)), 0.64 % (the inequality of Dvoretzky, Kiefer and
Wolfowitz with the constant of Massart, 1990).
"""

from __future__ import annotations

import importlib
import itertools
import math
import os
import shutil
import uuid
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from sklearn.utils import check_array

from boostsample.banks.bank_forms import AUTO_BANK, automatic_form, bank_settings
from boostsample.banks.binning import SMALL_BLOCK, compute_columns, feature_blocks, find_cuts
from boostsample.banks.shard_banks import (
    Cuts,
    PackedCuts,
    ShardColumnBank,
    bins_of_rows,
    columns_of_families,
    cuts_of_rows,
    disk_bank_of_chunks,
    memory_bank_of_chunks,
    memory_bank_of_columns,
)
from boostsample.checks import WEIGHT_RANGE, check_example_weight, check_integer
from boostsample.classifier.inputs.fit_inputs import (
    as_numbers,
    enough_rows,
    make_families,
    mapped_factors,
    merged_columns,
)
from boostsample.classifier.inputs.frames import (
    SeenColumns,
    check_container,
    frame_of,
    is_frame,
    is_number,
)
from boostsample.dask.cluster import check_versions, check_workers, versions_here
from boostsample.dask.parts import (
    Part,
    TableParts,
    parts_of_collections,
    parts_of_files,
    rows_of_values,
)
from boostsample.dask.worker import scratch_here
from boostsample.errors import DataError, SettingError, ShardError, one_line
from boostsample.family import Family
from boostsample.hashing import crc32_of_arrays
from boostsample.kernels.cuts import MAX_CUTS
from boostsample.labels import (
    check_class_counts,
    class_codes,
    class_values,
    classes_of_parts,
    encode,
)
from boostsample.names import parse_name
from boostsample.registry import registered_class
from boostsample.rows.weights import initial_weights
from boostsample.shards.server import ShardData

REFERENCE = 65_536
"""Rows that bin edges come from, unless the setting of the bank names another number."""
_MOST_DISTINCT = MAX_CUTS + 1
_SIGN = np.uint32(1 << 31)
_ZERO = np.uint64(_SIGN)
"""The lower half of the key of 0, see `StoredValues`."""
_OF_WEIGHTS = {"size": "sum", "sum": "sum", "min": "min", "max": "max"}
"""Numbers of the weights of a class, and how those of several parts are joined."""


class PartRows(NamedTuple):
    """Rows of weight above 0 of one part; names of the columns, if X was a data frame.

    X is an array, or a matrix in canonical CSR format.
    """

    X: Any
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    names: tuple[Any, ...] | None

    @property
    def weights(self) -> NDArray[np.float64]:
        """Example weights, ones if there are none."""
        return np.ones(self.X.shape[0]) if self.weight is None else self.weight


@contextmanager
def naming_part(number: int, place: str) -> Iterator[None]:
    """Turn errors of a part into a DataError with its number and its place, if that is known."""
    try:
        yield
    except (MemoryError, ShardError):
        raise
    except Exception as error:
        name = f"part {number} of the table{place and f' ({place})'}"
        is_of_data = isinstance(error, TypeError | ValueError | OSError)
        kind = "" if is_of_data else f"{type(error).__name__}: "
        raise DataError(f"{name}: {kind}{one_line(error)}") from error


def checksum(rows: PartRows) -> int:
    """CRC-32 of examples, labels, weights and names of columns."""
    X, y = [rows.X], rows.y
    if hasattr(rows.X, "indptr"):
        X = [rows.X.data, rows.X.indices, rows.X.indptr, np.array(rows.X.shape)]
    if y.dtype.kind in "OT":
        y = np.frombuffer(repr(y.tolist()).encode("utf-8", "surrogatepass"), np.uint8)
    arrays = [*X, y] if rows.weight is None else [*X, y, rows.weight]
    return crc32_of_arrays(*arrays, np.frombuffer(repr(rows.names).encode(), np.uint8))


def checked_rows(X: Any, y: Any, weight: Any = None) -> PartRows | None:
    """The checked rows of a part; None if none has weight."""
    is_sparse = hasattr(X, "tocsr")
    if is_sparse:
        X = canonical_rows(X)
    else:
        X = np.asarray(X) if isinstance(X, list | tuple) else frame_of(X)  # a list of a bag
    labels = class_values(y)
    n = labels.shape[0]
    if X.shape[0] != n:
        raise DataError(
            f"X and y must have the same chunks, got {X.shape[0]:,} rows of X and {n:,} of y; "
            "rechunk or repartition one of them like the other"
        )
    if weight is not None:
        weight = np.asarray(weight, dtype=np.float64)
        weight = weight[:, 0] if weight.ndim == 2 and weight.shape[1] == 1 else weight
        if weight.any() or weight.shape != (n,):  # a part may have no weight, unlike the table
            check_example_weight(weight, n)
    if not n or (weight is not None and not weight.any()):
        return None
    check_container(X)
    names = None
    if is_frame(X):
        names = tuple(X.columns)
        for name, dtype in zip(names, X.dtypes, strict=True):
            if not is_number(dtype):
                raise DataError(
                    f"on a cluster, columns must hold numbers or truth values, got {name!r} "
                    f"({dtype}); encode it first, for example by dask.dataframe.get_dummies after "
                    "X.categorize(), or drop it"
                )
    examples = X if is_sparse else as_numbers(X, check_array)
    if weight is None or weight.all():
        return PartRows(examples, labels, weight, names)
    weighted = weight > 0
    return PartRows(examples[weighted], labels[weighted], weight[weighted], names)


class PartSummary(NamedTuple):
    """What a worker finds out about one part; of a part without weight only `n_rows`, 0.

    `sample` are some rows, in random order; `distinct` all values of each column of a table, None
    for more than 255, or `stored` those of a sparse one; `weights` the `size`, `sum`, `min` and
    `max` of those of each class. `sides` float64 (K, 4) are total weight and weighted sum of the
    balanced initial weights of the positive, and of the negative rows of several labels.
    """

    n_rows: int
    sample: Any
    distinct: list[NDArray[np.float32] | None]
    stored: StoredValues | None
    names: tuple[Any, ...] | None
    classes: NDArray[Any]
    multi_label: bool
    weights: Any
    sides: NDArray[np.float64] | None
    checksum: int


def sample_size(n_parts: int, reference: int) -> int:
    """Most rows in the sample of a part, so that all parts together give at least `reference`."""
    return -(-2 * reference // n_parts)


def summarise(
    X: Any, y: Any, weight: Any, number: int, n_sample: int, weight_init: str
) -> PartSummary:
    """Summarise the part of this number, from 0; runs on a worker."""
    rows = checked_rows(X, y, weight)
    if rows is None:
        nothing = np.empty(0)
        return PartSummary(0, nothing, [], None, None, nothing, False, None, None, 0)
    sample = rows.X[_drawn(rows.X.shape[0], number, n_sample)]
    distinct, stored = [], None
    if hasattr(rows.X, "tocsr"):
        stored = StoredValues.of(rows.X)
    elif rows.X.ndim == 2:
        distinct = [_distinct(a, b) for a, b in zip(rows.X.T, sample.T, strict=True)]
    many, n = rows.y.ndim == 2, rows.X.shape[0]
    if many:
        classes, codes = np.arange(rows.y.shape[1]), np.zeros(n, np.intp)
    else:
        classes, codes = np.unique(rows.y, return_inverse=True)
    weights = pd.Series(rows.weights).groupby(codes).agg([*_OF_WEIGHTS])
    sides = _label_sides(rows, weight_init) if many else None
    return PartSummary(
        n, sample, distinct, stored, rows.names, classes, many, weights, sides, checksum(rows)
    )


def _drawn(n: int, number: int, size: int) -> NDArray[np.intp]:
    """Rows of the sample, in random order: a prefix of it is a smaller sample."""
    keys = np.random.PCG64(np.random.SeedSequence([number, n])).random_raw(n)
    return np.argsort(keys, kind="stable")[:size]


def _distinct(column: NDArray[Any], sample: NDArray[Any]) -> NDArray[np.float32] | None:
    """All different values of a column but NaN, None for more than 255; `sample` is a part."""
    for values in (sample, column):
        with np.errstate(over="ignore"):  # infinite values are errors later
            distinct: NDArray[np.float32] = np.unique(values.astype(np.float32))
        distinct = distinct[~np.isnan(distinct)]
        if distinct.size > _MOST_DISTINCT:
            return None
    return distinct


def _label_sides(rows: PartRows, weight_init: str) -> NDArray[np.float64]:
    signs = encode(rows.y) > 0
    initial = initial_weights(encode(rows.y), weight_init)
    weight = rows.weights
    sides = [(weight @ side, weight @ (initial * side)) for side in (signs, ~signs)]
    return np.stack([sums for side in sides for sums in side], axis=1)


class TableFacts(NamedTuple):
    """What is known of the whole table before its rows are read again.

    `n_rows` counts those with weight; `merged_columns` are those in whose sample float32 merges
    values.
    """

    n_rows: list[int]
    checksums: list[int]
    families: list[Family]
    cuts: Cuts | PackedCuts
    n_reference: int
    seen: SeenColumns
    classes: NDArray[Any]
    multi_label: bool
    weights: Any
    offset: NDArray[np.float64]
    merged_columns: list[str]

    @property
    def n_labels(self) -> int:
        """K: one for two classes."""
        size = int(self.classes.size)
        return 1 if size == 2 and not self.multi_label else size


def merged(summaries: Sequence[PartSummary], families: Any, reference: int) -> TableFacts:
    """The facts of the table from those of its parts, in their order; runs on a worker."""
    with_rows = [(at, part) for at, part in enumerate(summaries) if part.n_rows]
    if not with_rows:
        raise DataError("the table must have a row of weight above 0, got none in its parts")
    head_at, head = with_rows[0]
    for at, part in with_rows:
        for kind, of_part, of_head in (
            ("columns", part.sample.shape[1:], head.sample.shape[1:]),
            ("kind of blocks", _kind(part), _kind(head)),
            ("names of columns", part.names, head.names),
            ("kind of y", part.multi_label, head.multi_label),
        ):
            if repr(of_part) != repr(of_head):  # names may be NaN
                raise DataError(
                    f"all parts must have the same {kind}, got {of_head!r:.200} in part {head_at} "
                    f"and {of_part!r:.200} in part {at}"
                )
    parts = [part for _, part in with_rows]
    classes, weights = _merged_classes(parts)
    rows = _merged_sample(parts, reference)
    seen = SeenColumns.of(rows.shape[1], head.names)
    n_rows = sum(part.n_rows for part in parts)
    stored = [part.stored for part in parts if part.stored is not None]
    cuts: Cuts | PackedCuts
    if stored:
        n_stored = n_stored_of_parts(stored, rows.shape[1])
        enough = enough_rows(n_stored, n_rows) if families is None else None
        families = families if enough is None else {"columns": enough}
        of_table = make_families(families, rows, rows, seen)
        cuts = cuts_of_sparse_parts(of_table, stored, n_rows, n_stored, rows)
        n_bins = cuts.n_bins
    else:
        of_table = make_families(families, rows, rows, seen)
        cuts = cuts_of_rows(of_table, rows)
        _exact(of_table, parts, cuts)
        n_bins = cuts[1]
    return TableFacts(
        [part.n_rows for part in summaries],
        [part.checksum for part in summaries],
        of_table,
        cuts,
        rows.shape[0],
        seen,
        classes,
        head.multi_label,
        weights,
        _offsets(parts, classes.size),
        merged_columns(of_table, n_bins, rows),
    )


def _merged_classes(parts: Sequence[PartSummary]) -> tuple[NDArray[Any], Any]:
    frames = [part.weights for part in parts]
    if parts[0].multi_label:
        if len({part.classes.size for part in parts}) > 1:
            raise DataError("all parts must have the same number of labels, but they differ")
        classes = parts[0].classes
    else:
        classes = classes_of_parts([part.classes for part in parts])
        if classes.size < 2:
            raise DataError(
                f"y must have at least 2 classes, got 1 class ({classes.tolist()[0]!r}); "
                "add rows of another"
            )
        frames = [part.weights.set_axis(class_codes(part.classes, classes)) for part in parts]
    weights = pd.concat(frames).groupby(level=0).agg(_OF_WEIGHTS)
    check_class_counts(weights["size"].to_numpy())
    least, most = float(weights["min"].min()), float(weights["max"].max())
    if least < most / WEIGHT_RANGE:
        raise DataError(
            f"the largest example weight must be at most {WEIGHT_RANGE:g} times the least, got "
            f"{most:g} and {least:g}; weight 0 drops an example"
        )
    return classes, weights


def _kind(part: PartSummary) -> str:
    return "dense" if part.stored is None else "sparse"


def _merged_sample(parts: Sequence[PartSummary], reference: int) -> Any:
    """The same share of the rows of each part, from their samples; a sparse one in CSC format."""
    share = min(part.sample.shape[0] / part.n_rows for part in parts)
    share = min(share, reference / sum(part.n_rows for part in parts))
    rows = [part.sample[: math.ceil(share * part.n_rows - 1e-9)] for part in parts]
    return np.concatenate(rows) if parts[0].stored is None else vstack(rows).tocsc()


def _exact(families: Sequence[Family], parts: Sequence[PartSummary], cuts: Cuts) -> None:
    """Replace the cuts of columns with few different values by one between any two of them."""
    first = 0
    for family in families:
        if isinstance(family, registered_class("family", "columns")):
            columns: tuple[int, ...] = getattr(family, "columns", ())
            for feature, column in enumerate(columns, first):
                of_parts = [part.distinct[column] for part in parts]
                values = [distinct for distinct in of_parts if distinct is not None]
                if len(values) < len(of_parts):
                    continue
                every = np.unique(np.concatenate(values))
                if every.size and every.size <= _MOST_DISTINCT:
                    exact, n_bins = find_cuts(every[None, :])
                    cuts[0][feature], cuts[1][feature] = exact[0], n_bins[0]
        first += family.n_features


def _offsets(parts: Sequence[PartSummary], n: int) -> NDArray[np.float64]:
    """Log ratio of the mean initial weights of positive and negative rows of each label."""
    sides = [part.sides for part in parts if part.sides is not None]
    if not sides:
        return np.zeros(1 if n == 2 else n)
    total = np.sum(sides, axis=0)
    offsets = np.zeros(n)
    both = (total[:, 0] > 0) & (total[:, 2] > 0)
    means = total[both][:, [1, 3]] / total[both][:, [0, 2]]
    offsets[both] = np.log(means[:, 0] / means[:, 1])
    return offsets


class StoredValues(NamedTuple):
    """What the columns of a sparse part store; columns without a stored value are left out.

    A key of a value is its column, then its bits as float32 in an order that is that of the values.
    `keys` are ascending and different: of each column its values but NaN, at most 256 of them.
    """

    columns: NDArray[np.int64]
    n_stored: NDArray[np.int64]
    keys: NDArray[np.uint64]

    @classmethod
    def of(cls, matrix: Any) -> StoredValues:
        """Those of a canonical CSR matrix."""
        n_stored = np.bincount(matrix.indices, minlength=matrix.shape[1])
        columns = np.flatnonzero(n_stored)
        values = matrix.data.astype(np.float32) + np.float32(0.0)  # no -0.0
        bits = values.view(np.uint32)
        ordered = np.where(bits & _SIGN, ~bits, bits | _SIGN)
        keys = matrix.indices.astype(np.uint64) << np.uint64(32) | ordered
        keys = np.unique(keys[~np.isnan(values)])
        return cls(columns, n_stored[columns], keys[_places_of_keys(keys) <= _MOST_DISTINCT])


def _columns_of_keys(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    return (keys >> np.uint64(32)).astype(np.int64)


def _places_of_keys(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Place of each key among those of its column."""
    columns = _columns_of_keys(keys)
    return np.arange(keys.size) - np.searchsorted(columns, columns)


def _values_of_keys(keys: NDArray[np.uint64]) -> NDArray[np.float32]:
    ordered = keys.astype(np.uint32)  # the lower half
    bits: NDArray[np.uint32] = np.where(ordered & _SIGN, ordered ^ _SIGN, ~ordered)
    return bits.view(np.float32)


def n_stored_of_parts(parts: Sequence[StoredValues], n_columns: int) -> NDArray[np.int64]:
    """Stored values of each column in all parts: int64 (d,)."""
    n_stored = np.zeros(n_columns, np.int64)
    for part in parts:
        n_stored[part.columns] += part.n_stored
    return n_stored


def cuts_of_sparse_parts(
    families: Sequence[Family],
    parts: Sequence[StoredValues],
    n_rows: int,
    n_stored: NDArray[np.int64],
    sample: Any,
) -> PackedCuts:
    """Cuts of all features: those of at most 255 values from all rows, others from a sample.

    `sample` is a CSC matrix, `n_stored` as of `n_stored_of_parts`. The cuts are those of dense
    parts.
    """
    columns = columns_of_families(families)
    keys = np.unique(np.concatenate([part.keys for part in parts]))
    zeros = np.unique(columns[n_stored[columns] < n_rows]).astype(np.uint64)
    keys = np.union1d(keys, zeros << np.uint64(32) | _ZERO)
    of_keys = _columns_of_keys(keys)
    starts, ends = (np.searchsorted(of_keys, columns, side) for side in ("left", "right"))
    n_distinct = ends - starts
    blocks = []
    for family, block, local in feature_blocks(families, max(SMALL_BLOCK // (4 * MAX_CUTS), 1)):
        cuts = np.empty((local.size, MAX_CUTS), np.float32)
        n_bins = np.empty(local.size, np.int16)
        few = n_distinct[block] <= _MOST_DISTINCT
        table = np.full((int(few.sum()), max(n_distinct[block][few].max(initial=1), 1)), np.nan)
        at = starts[block][few, None] + np.arange(table.shape[1])
        is_value = at < ends[block][few, None]
        table[is_value] = _values_of_keys(keys[at[is_value]])
        cuts[few], n_bins[few] = find_cuts(table.astype(np.float32))
        many = np.flatnonzero(~few)
        size = max(SMALL_BLOCK // (4 * sample.shape[0]), 1)
        for start in range(0, many.size, size):
            chosen = many[start : start + size]
            cuts[chosen], n_bins[chosen] = find_cuts(compute_columns(family, sample, local[chosen]))
        blocks.append((cuts, n_bins))
    return PackedCuts.of(blocks)


def canonical_rows(X: Any) -> Any:
    """A sparse matrix in canonical CSR format, without stored zeros.

    DataError unless it is a table of finite numbers.
    """
    if len(X.shape) != 2 or X.dtype.kind not in "biuf":
        raise DataError(
            f"sparse blocks of X must be tables of real numbers, got {X.dtype} of shape {X.shape}; "
            "convert them by .astype(float)"
        )
    rows = X.tocsr()
    if not rows.has_canonical_format or not rows.data.all():
        rows = rows.copy() if rows is X else rows
        rows.sum_duplicates()
        rows.eliminate_zeros()
    with np.errstate(over="ignore"):
        infinite = np.isinf(rows.data.astype(np.float32))
    if infinite.any():
        at, stored = int(infinite.argmax()), rows.tocoo()
        place = int(stored.row[at]), int(stored.col[at])
        raise DataError(
            "X must hold finite numbers, of at most 3.4e38, or nan, which is a missing value, got "
            f"{stored.data[at].item()} at {place}; replace it"
        )
    return rows


_dask: Any = importlib.import_module("dask")
_distributed: Any = importlib.import_module("distributed")

_CHUNK_ROWS = 65_536
"""Rows that are binned at a time."""


@dataclass(frozen=True)
class ShardSource:
    """How a worker makes the rows of one shard, of some parts from number `first`; picklable."""

    parts: tuple[Part, ...]
    first: int
    facts: TableFacts
    class_factor: NDArray[np.float64] | None
    form: str
    settings: Mapping[str, Any]

    @property
    def n_examples(self) -> int:
        """Rows of the shard."""
        return sum(self.facts.n_rows[self.first : self.first + len(self.parts)])

    def load(self) -> ShardData:
        """Read the parts and bin their rows, one part at a time; the same rows each time."""
        n, facts = self.n_examples, self.facts
        Y = np.empty((n, facts.n_labels), np.int8)
        weight = None if self.class_factor is None else np.empty(n)
        tile_bytes = self.settings.get("tile_bytes")
        if isinstance(facts.cuts, PackedCuts):
            matrix = vstack([rows for _, rows in self._examples(Y, weight)]).tocsc()
            of_table = facts.families, matrix, facts.cuts
            if self.form == "memory":
                return ShardData(memory_bank_of_columns(*of_table, tile_bytes), Y, weight)
            bank_of_columns = ShardColumnBank(*of_table, self.settings["cache_bytes"])
            return ShardData(bank_of_columns, Y, weight)
        chunks = self._chunks(facts.cuts, self._examples(Y, weight))
        content = facts.families, n, facts.cuts, chunks, tile_bytes
        if self.form == "memory":
            return ShardData(memory_bank_of_chunks(*content), Y, weight)
        folder = scratch_here() / f"bank-{uuid.uuid4().hex}"
        try:
            bank = disk_bank_of_chunks(folder, *content)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        weakref.finalize(bank, shutil.rmtree, folder, ignore_errors=True)
        return ShardData(bank, Y, weight)

    def _chunks(
        self, cuts: Cuts, examples: Iterable[tuple[int, NDArray[Any]]]
    ) -> Iterator[NDArray[np.uint8]]:
        """The bins of all rows, chunk by chunk."""
        for number, rows in examples:
            for start in range(0, rows.shape[0], _CHUNK_ROWS):
                with naming_part(number, self.parts[number - self.first].place):
                    chunk = rows[start : start + _CHUNK_ROWS]
                    bins = bins_of_rows(self.facts.families, chunk, cuts)
                yield bins

    def _examples(
        self, Y: NDArray[np.int8], weight: NDArray[np.float64] | None
    ) -> Iterator[tuple[int, Any]]:
        """Number and examples of each part; writes their labels and weights on the way."""
        at, facts = 0, self.facts
        for number, part in enumerate(self.parts, self.first):
            n = facts.n_rows[number]
            if not n:
                continue
            with naming_part(number, part.place):
                rows = checked_rows(*part.read())
                if rows is None or checksum(rows) != facts.checksums[number]:
                    again = 0 if rows is None else rows.X.shape[0]
                    how = f"{again:,} now" if again != n else "others, or in another order, now"
                    raise DataError(
                        f"it had {n:,} rows of weight above 0 at first and {how}; what "
                        "makes the table must give the same rows each time: persist it, or write "
                        "it to files that do not change"
                    )
                place = slice(at, at + n)
                Y[place], factors = self._labels(rows)
                if weight is not None:
                    weight[place] = factors if rows.weight is None else rows.weight * factors
            yield number, rows.X
            at += n

    def _labels(self, rows: PartRows) -> tuple[NDArray[np.int8], Any]:
        """Labels +1 and -1, and the factor of the weight of each row."""
        factor = np.ones(1) if self.class_factor is None else self.class_factor
        if self.facts.multi_label:
            return encode(rows.y), factor[0]
        codes = class_codes(
            rows.y, self.facts.classes
        )  # all are known: the checksum is the first one
        factors = factor[codes] if factor.size > 1 else factor[0]
        return encode(codes, self.facts.classes.size), factors


def cut_shards(n_rows: Sequence[int], n_shards: int) -> list[slice]:
    """Runs of parts of about the same number of rows, at most `n_shards`, none of them empty.

    >>> cut_shards([5, 5, 0, 5, 5, 20], 3)
    [slice(0, 4, None), slice(4, 5, None), slice(5, 6, None)]
    """
    ends = np.cumsum(n_rows)
    goals = ends[-1] * np.arange(1, n_shards) / n_shards
    places = 1 + np.abs(ends[None, :] - goals[:, None]).argmin(axis=1)
    cuts = [0, *sorted(set(places.tolist())), len(n_rows)]
    runs: list[slice] = []
    for start, stop in itertools.pairwise(cuts):
        if sum(n_rows[start:stop]):
            runs.append(slice(start if runs else 0, stop))
        elif runs:
            runs[-1] = slice(runs[-1].start, stop)
    return runs


def read_table(
    client: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    families: Any = None,
    bank: str = "auto",
    weight_init: str = "balanced",
    class_weight: Any = None,
    n_shards: int | None = None,
) -> tuple[TableFacts, list[ShardSource]]:
    """The facts of a table that workers read once, and sources of its shards in the rows' order."""
    form, settings_of_form = parse_name(bank)
    if form == "lazy":
        raise SettingError(
            "on a cluster, bank must be 'auto', 'memory', 'disk' or 'columns', got 'lazy', whose "
            "shards would read their parts in each round"
        )
    if isinstance(families, str) and families == "dtype":
        raise SettingError(
            "on a cluster, families must not be 'dtype': rows of a part are numbers of one dtype; "
            "name the groups, as in families={'size': ['height', 'width']}"
        )
    of_bank = {} if bank == AUTO_BANK else bank_settings(form, settings_of_form)
    n_workers = len(client.nthreads())
    if n_shards is None and not n_workers:
        raise DataError("the cluster has no worker; start one, or wait by client.wait_for_workers")
    n_shards = check_integer("n_shards", n_workers if n_shards is None else n_shards, 1)
    check_workers(client)
    of_files = isinstance(X, str | os.PathLike)
    table = (
        parts_of_files(client, X, y, sample_weight)
        if of_files
        else parts_of_collections(X, y, sample_weight)
    )
    facts = _facts(client, table, of_bank.get("reference") or REFERENCE, families, weight_init)
    factor = None
    if sample_weight is not None or class_weight is not None:
        factor = class_factors(class_weight, facts)
    runs = cut_shards(facts.n_rows, n_shards)
    most_rows = max(sum(facts.n_rows[run]) for run in runs)
    if bank == AUTO_BANK:
        form = _automatic_form(facts, most_rows)
        of_bank = bank_settings(form, {})
    kind, suitable = "dense", "disk"
    if isinstance(facts.cuts, PackedCuts):
        kind, suitable = "sparse", "columns"
    if form not in ("memory", suitable):
        raise SettingError(
            f"on a cluster, bank must be 'auto', 'memory' or {suitable!r} for {kind} blocks, got "
            f"{bank!r}"
        )
    of_run = facts, factor, form, of_bank
    return facts, [ShardSource(tuple(table.parts[run]), run.start, *of_run) for run in runs]


def _automatic_form(facts: TableFacts, n: int) -> str:
    """The form that "auto" stands for, of shards of at most n rows: as in one process."""
    if not isinstance(facts.cuts, PackedCuts):
        return "memory"
    return automatic_form(csr_array((n, 1)), facts.cuts.n_bins.size)


def _facts(
    client: Any, table: TableParts, reference: int, families: Any, weight_init: str
) -> TableFacts:
    work = _dask.delayed(_summarise, pure=False)
    of_table = versions_here(), table.columns, sample_size(len(table.parts), reference), weight_init
    summaries = client.compute(
        [work(number, *values, *of_table) for number, values in enumerate(table.delayed)]
    )
    try:
        facts: TableFacts = client.submit(
            merged, summaries, families, reference, pure=False
        ).result()
    except Exception:
        check_workers(client)  # one with other versions may have joined
        for number, summary in enumerate(summaries):
            if summary.status != "error":
                continue
            error: Any = summary.exception()
            if isinstance(error, _distributed.KilledWorker):
                raise ShardError(
                    f"part {number} of the table ended its workers: {one_line(error)}; they may "
                    "lack memory: use smaller parts"
                ) from error
            with naming_part(number, table.parts[number].place):
                raise error  # noqa: B904 - the cause is that of the part
        raise
    return facts


def _summarise(
    number: int,
    X: Any,
    y: Any,
    weight: Any,
    versions: Mapping[str, Any],
    columns: tuple[Any, Any],
    n_sample: int,
    weight_init: str,
) -> PartSummary:
    # This worker may have joined since the versions of all were checked.
    check_versions(_distributed.get_worker().address, versions_here(), versions)
    return summarise(*rows_of_values(X, y, weight, *columns), number, n_sample, weight_init)


def class_factors(class_weight: Any, facts: TableFacts) -> NDArray[np.float64]:
    """Factors of `class_weight`, float64 (C,), scaled so that the largest weight is in [1, 2)."""
    sums, most = (facts.weights[name].to_numpy() for name in ("sum", "max"))
    factor = np.ones(sums.size)
    if class_weight is not None and facts.multi_label:
        raise SettingError(
            f"on a cluster, class_weight must be None for several labels, got {class_weight!r:.60};"
            " give sample_weight"
        )
    if isinstance(class_weight, str) and class_weight == "balanced":
        factor = sums.sum() / (sums.size * sums)
    elif isinstance(class_weight, Mapping):
        factor = mapped_factors(class_weight, facts.classes.tolist())
    elif class_weight is not None:
        raise SettingError(
            "class_weight must be None, 'balanced' or a mapping of classes to weights, as in "
            f"{{'no': 1, 'yes': 5}}, got {class_weight!r:.60}"
        )
    if not (np.isfinite(factor) & (factor > 0)).all():
        raise SettingError(
            "on a cluster, weights of classes must be finite and above 0, got "
            f"{factor.tolist()!r:.80}; leave the rows of a class out by sample_weight"
        )
    return np.asarray(factor / 2.0 ** math.floor(math.log2((most * factor).max())))
