"""A table on a cluster: its facts, and the sources of its shards."""

from __future__ import annotations

import importlib
import itertools
import math
import os
import shutil
import uuid
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from boostsample.banks.bank_forms import AUTO_BANK, automatic_form, bank_settings
from boostsample.banks.shard_banks import (
    Cuts,
    PackedCuts,
    ShardColumnBank,
    bins_of_rows,
    disk_bank_of_chunks,
    memory_bank_of_chunks,
    memory_bank_of_columns,
)
from boostsample.checks import check_integer
from boostsample.classifier.inputs.fit_inputs import mapped_factors
from boostsample.dask.cluster import check_versions, check_workers, versions_here
from boostsample.dask.parts import (
    Part,
    TableParts,
    parts_of_collections,
    parts_of_files,
    rows_of_values,
)
from boostsample.dask.summary import (
    REFERENCE,
    PartRows,
    PartSummary,
    TableFacts,
    checked_rows,
    checksum,
    merged,
    naming_part,
    sample_size,
    summarise,
)
from boostsample.dask.worker import scratch_here
from boostsample.errors import DataError, SettingError, ShardError, one_line
from boostsample.labels import class_codes, encode
from boostsample.names import parse_name
from boostsample.shards.shard_source import ShardData

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
