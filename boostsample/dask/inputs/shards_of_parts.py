"""Shards: which parts belong to each, and how a worker makes the rows of one."""

from __future__ import annotations

import itertools
import shutil
import uuid
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.row_chunks import (
    Cuts,
    bins_of_rows,
    disk_bank_of_chunks,
    memory_bank_of_chunks,
)
from boostsample.dask.inputs.part_rows import PartRows, checked_rows, checksum, naming_part
from boostsample.dask.inputs.parts import Part
from boostsample.dask.worker import scratch_here
from boostsample.errors import DataError
from boostsample.family import Family
from boostsample.labels import class_codes, encode
from boostsample.shards.shard_source import ShardData

_CHUNK_ROWS = 65_536
"""Rows that are binned at a time."""


@dataclass(frozen=True)
class ShardSource:
    """How a worker makes the rows of one shard; picklable.

    Attributes
    ----------
    parts : tuple of Part
        In the order of the table.
    n_rows : tuple of int
        Rows of weight above 0 of each part.
    checksums : tuple of int
        Of these rows, as they were first read.
    first : int
        Number of the first part, for messages.
    families : tuple of Family
    cuts : tuple
        Cuts and numbers of bins of all features: those of the whole table.
    classes : ndarray, shape (C,)
    multi_label : bool
    class_factor : ndarray of float64, shape (C,), or None
        Factor of the weight of each example, by its class; None without weights.
    form : {"memory", "disk"}
        Of the bank.
    tile_bytes : int or None
        See `FeatureBank.build`.
    """

    parts: tuple[Part, ...]
    n_rows: tuple[int, ...]
    checksums: tuple[int, ...]
    first: int
    families: tuple[Family, ...]
    cuts: Cuts
    classes: NDArray[Any]
    multi_label: bool
    class_factor: NDArray[np.float64] | None
    form: str
    tile_bytes: int | None

    @property
    def n_examples(self) -> int:
        """Rows of the shard."""
        return sum(self.n_rows)

    def load(self) -> ShardData:
        """Read the parts and bin their rows, one part at a time; the same rows each time.

        A bank on disk lies in the local folder of the worker, or in a temporary one, and is removed
        with the bank. Memory besides the bank, labels and weights: one part, and F bytes for each
        of 65,536 rows.

        Raises
        ------
        DataError
            If a part cannot be read, or has other rows than before.
        """
        n = self.n_examples
        width = self.classes.size
        Y = np.empty((n, 1 if width == 2 and not self.multi_label else width), np.int8)
        weight = None if self.class_factor is None else np.empty(n)
        chunks = self._chunks(Y, weight)
        content = self.families, n, self.cuts, chunks, self.tile_bytes
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
        self, Y: NDArray[np.int8], weight: NDArray[np.float64] | None
    ) -> Iterator[NDArray[np.uint8]]:
        """The bins of all rows, chunk by chunk; writes their labels and weights on the way."""
        at = 0
        expectations = zip(self.parts, self.n_rows, self.checksums, strict=True)
        for number, (part, n, expected) in enumerate(expectations, self.first):
            if not n:
                continue
            with naming_part(number, part.place):
                rows = checked_rows(*part.read())
                if rows is None or checksum(rows) != expected:
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
                for start in range(0, n, _CHUNK_ROWS):
                    examples = rows.X[start : start + _CHUNK_ROWS]
                    yield bins_of_rows(self.families, examples, self.cuts)
            at += n

    def _labels(self, rows: PartRows) -> tuple[NDArray[np.int8], Any]:
        """Labels +1 and -1, and the factor of the weight of each row."""
        factor = np.ones(1) if self.class_factor is None else self.class_factor
        if self.multi_label:
            return encode(rows.y), factor[0]
        codes = class_codes(rows.y, self.classes)  # all are known: the checksum is the first one
        factors = factor[codes] if factor.size > 1 else factor[0]
        return encode(codes, self.classes.size), factors


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
