"""Genotypes in PLINK files: .bed with .bim and .fam beside it.

Codes come straight from the two bits of a genotype, a block of variants at a time; nothing is kept.
Cost: one byte of memory per genotype of a block; 0.4 ns to read and unpack it, 0.9 ns if people are
selected.

The format: https://www.cog-genomics.org/plink/1.9/formats#bed. The counted allele of a variant is
A1, the fifth column of .bim, as in ``plink1.9 --recode A``; plink2 counts A2 by default.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_flag
from boostsample.column_table import ColumnTable
from boostsample.errors import DataError, SettingError, os_fault
from boostsample.formats.plink_text import (
    Variants,
    names_with,
    phenotype_classes,
    read_people,
    read_phenotypes,
    read_variants,
)
from boostsample.kernels.genotypes import unpack_genotypes, unpack_people

__all__ = ["PlinkData", "PlinkTable", "read_plink"]

_MAGIC, _BY_VARIANT, _BY_PERSON = b"\x6c\x1b", b"\x01", b"\x00"
_COUNTED_A1, _COUNTED_A2 = np.array([[3, 0, 2, 1], [1, 0, 2, 3]], np.uint8)
"""Codes of the two bits: 00 is two A1, 01 missing, 10 one of each, 11 two A2."""
_PLACES = np.arange(256)[:, None] >> np.array([0, 2, 4, 6]) & 3
_TABLES = np.stack([_COUNTED_A1[_PLACES], _COUNTED_A2[_PLACES]])
_COMPARED, _COMPARED_BYTES = 256, 2**24
"""Most variants, evenly spaced, that are compared with the number of people at once."""
_UNLIKELY = 1e-9
_SHOWN = 5


class PlinkData(NamedTuple):
    """What `read_plink` reads.

    Attributes
    ----------
    table : PlinkTable, shape (n, m)
        Counts 0, 1, 2 of the allele A1 in n people at m variants.
    family_ids, sample_ids : array of str objects, shape (n,)
        FID and IID of the people.
    labels : array of int64 or str objects, shape (n,), or None
        Their classes.
    n_left_out : int
        People of the file without a phenotype, which are in none of these.
    """

    table: PlinkTable
    family_ids: NDArray[np.object_]
    sample_ids: NDArray[np.object_]
    labels: NDArray[Any] | None
    n_left_out: int


def read_plink(
    path: str | os.PathLike[str],
    *,
    phenotype: str | os.PathLike[str] | None = None,
    phenotype_name: str | None = None,
    missing: str | Sequence[str] | None = None,
    labels: bool = True,
) -> PlinkData:
    """Read the people and variants of a .bed file; genotypes are read when they are needed.

    Parameters
    ----------
    path : path
        The .bed file, or its path without ``.bed``; .bim and .fam must be beside it.
    phenotype : path, optional
        File with FID, IID and phenotypes, as for ``plink --pheno``, with or without a header;
        people are found by their ids, never by their place. Without it, column 6 of .fam is used.
    phenotype_name : str, optional
        Column of `phenotype`, as for ``plink --pheno-name``; without a header ``"1"`` is the first
        one after FID and IID. Needed if there are several.
    missing : str or sequence of str, optional
        Texts of missing phenotypes. By default those of PLINK: ``-9``, ``NA``, ``nan``, ``NONE``,
        ``.``, and ``0`` beside 1 (control) and 2 (case).
    labels : bool, default True
        Whether to read classes. People without one are left out then, as PLINK does, and a
        RuntimeWarning counts them. False keeps all people, for predictions.

    Raises
    ------
    DataError
        If a file is damaged or does not fit the others; names of columns are not distinct; the
        phenotype is a measurement, or 0 and 1; nobody has one.
    SettingError
        If there is no such phenotype, or several and no `phenotype_name`.
    """
    bed = Path(path)
    bed = bed if bed.suffix.lower() == ".bed" else bed.with_name(f"{bed.name}.bed")
    people = read_people(bed.with_suffix(".fam"))
    table = PlinkTable(bed, len(people.ids), read_variants(bed.with_suffix(".bim")))
    table.warn_of_padding(f"{people.family_ids[-1]} {people.ids[-1]}")
    family_ids, sample_ids = people.family_ids.to_pylist(), people.ids.to_pylist()
    data = PlinkData(
        table, np.array(family_ids, object), np.array(sample_ids, object), labels=None, n_left_out=0
    )
    if not check_flag("labels", labels):
        if phenotype is not None or phenotype_name is not None:
            raise SettingError(
                "labels must be True to read a phenotype, got False with phenotype= or "
                "phenotype_name=; leave them out"
            )
        return data
    texts, where = people.phenotypes, f"the phenotype in {bed.with_suffix('.fam')}"
    if phenotype is not None:
        texts = read_phenotypes(Path(phenotype), phenotype_name, people)
        where = f"the phenotype in {phenotype}"
    elif phenotype_name is not None:
        raise SettingError(
            f"phenotype_name must choose a column of the file phenotype=, got {phenotype_name!r} "
            "without such a file"
        )
    absent = (missing,) if isinstance(missing, str) else missing
    classes, is_known = phenotype_classes(texts, absent, where)
    known = np.flatnonzero(is_known)
    if not known.size:
        raise DataError(
            f"{where} must be known for some people, got none; name a file of phenotypes in "
            "phenotype=, or read without classes by labels=False"
        )
    n_left_out = classes.size - known.size
    if not n_left_out:
        return data._replace(labels=classes)
    warnings.warn(
        f"{n_left_out:,} of {classes.size:,} people are left out because {where} is missing",
        RuntimeWarning,
        stacklevel=2,
    )
    return PlinkData(
        table[known], data.family_ids[known], data.sample_ids[known], classes[known], n_left_out
    )


class PlinkTable(ColumnTable):
    """Counts of the allele A1, by variants, of a .bed file; `read_plink` makes it.

    Columns have names as in ``rs123_A``: variant and counted allele. Values are 0, 1 and 2, codes
    1, 2 and 3; 0 is a missing call. Reading is safe in several threads.
    """

    def __init__(self, path: Path, n_people: int, variants: Variants) -> None:
        names = names_with(variants.ids, variants.counted)
        super().__init__(n_people, len(names), names, np.arange(3, dtype=np.float32))
        self.path, self._absolute = path, path.absolute()
        self.variants = variants
        self._counts_a2: NDArray[np.bool_] | None = None
        self._names, self._n_people, self._n_bytes = names, n_people, -(-n_people // 4)
        self._state = self._checked_state()

    def read(self, columns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Counts of A1 at some variants of all people: float32 (q, n), NaN for missing."""
        return np.array([np.nan, 0, 1, 2], np.float32)[self.read_codes(columns)]

    def read_codes(self, columns: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Codes of some variants of all people: uint8 (q, n).

        DataError if the file has changed, or has genotypes beyond the people of .fam.
        """
        codes = np.empty((columns.size, self._n_people), np.uint8)
        used = np.zeros(columns.size, np.uint8)
        unpack_genotypes(self._read_packed(columns), _TABLES, used, codes)
        return codes

    def codes_at(self, columns: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Codes of some variants, in any order, of the selected people: uint8 (q, n)."""
        wanted = self._check(columns)
        variants, inverse = np.unique(wanted, return_inverse=True)
        packed = self._read_packed(variants)
        if not np.array_equal(variants, wanted):
            packed = packed[inverse]
        used = np.zeros(wanted.size, np.uint8)
        if self._counts_a2 is not None:
            used = self._counts_a2[columns].astype(np.uint8)
        codes = np.empty((wanted.size, self.shape[0]), np.uint8)
        if self._rows is None:
            unpack_genotypes(packed, _TABLES, used, codes)
        else:
            unpack_people(packed, self._rows, _TABLES, used, codes)
        return codes

    def _read_packed(self, variants: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Bytes of some variants, ascending: (q, ceil(n / 4)); neighbours are read at once."""
        packed = np.empty((variants.size, self._n_bytes), np.uint8)
        ends = np.flatnonzero(np.diff(variants, append=-2) != 1) + 1
        try:
            with self._absolute.open("rb", buffering=0) as stream:
                state = os.fstat(stream.fileno())
                if (state.st_size, state.st_mtime_ns) != self._state:
                    raise DataError(f"{self.path} must not change while it is in use; read it anew")
                first = 0
                for end in ends.tolist():
                    stream.seek(3 + int(variants[first]) * self._n_bytes)
                    _read_into(stream, packed[first:end], self.path)
                    first = end
        except OSError as error:
            raise DataError(f"{self.path} cannot be read: {os_fault(error)}") from error
        self._check_unused_bits(packed, variants)
        return packed

    def aligned(self, names: Sequence[str], needed: NDArray[np.int64] | None = None) -> Self:
        """The table with these columns, in this order, whatever allele the file counts.

        A variant is found by its ID and the counted allele; where the file counts the other one,
        the values are 2 minus its counts. DataError if variants are missing or have other alleles:
        of all names, or of those at the positions `needed`; then reading another one is an error.
        """
        position = {name: k for k, name in enumerate(self._names)}
        positions = np.array([position.get(name, -1) for name in names], np.int64)
        other = np.flatnonzero(positions < 0)
        if other.size:
            position = self._positions_of_other_alleles()
            positions[other] = [position.get(names[k], -1) for k in other.tolist()]
        wrong = np.flatnonzero(positions < 0)
        wrong = wrong if needed is None else np.intersect1d(wrong, needed)
        if wrong.size:
            raise self._unmatched([names[k] for k in wrong.tolist()], len(names))
        table = self._with_columns(names, positions)
        table._counts_a2 = np.isin(np.arange(len(names)), other)
        return table

    def _positions_of_other_alleles(self) -> dict[str, int]:
        """Positions of names with the allele A2; none where it is unknown or in several lines."""
        names = names_with(self.variants.ids, self.variants.other)
        position = {name: k for k, name in enumerate(names)}
        if len(position) < len(names):
            for k, name in enumerate(names):
                if position.get(name, k) != k:
                    del position[name]
        alleles = self.variants.other.to_pylist()
        return {name: k for name, k in position.items() if alleles[k] != "0"}

    def _unmatched(self, names: Sequence[str], n_columns: int) -> DataError:
        """The error for names that no variant has."""
        ids = self.variants.ids.to_pylist()
        position = {name: k for k, name in enumerate(ids)}
        missing, other = [], []
        for name in names:
            k = position.get(name.rpartition("_")[0])
            if k is None:
                missing.append(repr(name))
            else:
                alleles = self.variants.counted[k], self.variants.other[k]
                other.append(f"{name!r} (here {' and '.join(map(str, alleles))})")
        parts = []
        if missing:
            parts.append(f"{len(missing):,} are missing: {_first(missing)}")
        if other:
            parts.append(f"{len(other):,} have other alleles: {_first(other)}")
        return DataError(
            f"{self.path} must have the {n_columns:,} variants that were learned, but "
            f"{' and '.join(parts)}; take them from the full file of these people; "
            "plink1.9 --a1-allele TRAINING.bim 5 2 names unknown alleles (0), --flip those of the "
            "other strand"
        )

    def warn_of_padding(self, person: str) -> None:
        """A RuntimeWarning if the last person has the genotypes of unused bits, two A1 everywhere.

        A .fam file with one line too many has the same length of .bed in three cases of four.
        """
        m = min(self.shape[1], max(_COMPARED_BYTES // self._n_people, 1), _COMPARED)
        compared = np.unique(np.linspace(0, self.shape[1] - 1, m).astype(np.int64))
        has_two = self.read_codes(compared) == 3
        probability = (has_two[:, :-1].sum(axis=1) + 1) / (self._n_people + 1)
        unlikely = np.log(probability).sum() < np.log(_UNLIKELY)
        if self._n_people % 4 != 1 and has_two[:, -1].all() and unlikely:
            warnings.warn(
                f"the last person of the .fam file beside {self.path}, {person:.60}, has two A1 "
                f"at all {compared.size} variants compared, as unused bits have: it may be a line "
                "too many; compare its lines with the people of the study",
                RuntimeWarning,
                stacklevel=3,
            )

    def _checked_state(self) -> tuple[int, int]:
        """Size and time of change of the file; DataError unless its head and size are right."""
        if not self.path.is_file():
            raise DataError(f"{self.path} must be an existing file; there is none")
        try:
            with self.path.open("rb") as stream:
                head, state = stream.read(3), os.fstat(stream.fileno())
        except OSError as error:
            raise DataError(f"{self.path} cannot be read: {os_fault(error)}") from error
        if head == _MAGIC + _BY_PERSON:
            raise DataError(
                f"{self.path} must hold genotypes by variants, got them by people (an old form); "
                "plink1.9 --make-bed writes it anew by variants"
            )
        if head != _MAGIC + _BY_VARIANT:
            raise DataError(
                f"{self.path} must begin with the bytes 6c 1b 01 of a .bed file, got "
                f"{head.hex(' ') or 'nothing'}; it is damaged or of another kind"
            )
        size = 3 + self.shape[1] * self._n_bytes
        if state.st_size != size:
            raise DataError(
                f"{self.path} must have {size:,} bytes, 3 and {self._n_bytes:,} for each of "
                f"{self.shape[1]:,} variants in .bim ({self._n_people:,} people in .fam), got "
                f"{state.st_size:,}; it is cut, or .bim or .fam belong to another file"
            )
        return state.st_size, state.st_mtime_ns

    def _check_unused_bits(self, packed: NDArray[np.uint8], columns: NDArray[np.int64]) -> None:
        if self._n_people % 4:
            wrong = np.flatnonzero(packed[:, -1] >> 2 * (self._n_people % 4))
            if wrong.size:
                name = self._names[int(columns[wrong[0]])]
                raise DataError(
                    f"{self.path} must have genotypes of the {self._n_people:,} people of its .fam "
                    f"file, got more for variant {name!r:.60}; .fam lacks people, or the file is "
                    "damaged"
                )


def _read_into(stream: Any, packed: NDArray[np.uint8], path: Path) -> None:
    view = packed.reshape(-1).data
    while view.nbytes:
        n_read = stream.readinto(view)
        if not n_read:
            raise DataError(f"{path} has been cut while it was read; read it anew")
        view = view[n_read:]


def _first(texts: Sequence[str]) -> str:
    return ", ".join(texts[:_SHOWN]) + (", ..." if len(texts) > _SHOWN else "")
