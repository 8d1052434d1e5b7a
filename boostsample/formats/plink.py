"""Genotypes in PLINK files: .bed with .bim and .fam beside it.

Codes come straight from the two bits of a genotype, a block of variants at a time; nothing is kept.
Cost: one byte of memory per genotype of a block; 0.4 ns to read and unpack it, 0.9 ns if people are
selected.

The format: https://www.cog-genomics.org/plink/1.9/formats#bed. The counted allele of a variant is
A1, the fifth column of .bim, as in ``plink1.9 --recode A``; plink2 counts A2 by default.

Columns of .fam, .bim and files of phenotypes are separated by spaces or tabs, as PLINK takes them.
Lines may end in CRLF, blank lines are skipped, and the last line needs no end. Anything else that
PLINK would guess is refused.
"""

from __future__ import annotations

import codecs
import os
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_flag, check_known
from boostsample.column_table import ColumnTable
from boostsample.errors import DataError, SettingError, one_line, os_fault
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
_FAM = ("FID", "IID", "father", "mother", "sex", "phenotype")
_BIM = ("chromosome", "ID", "centimorgans", "position", "allele 1", "allele 2")
_NUMBER = re.compile(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?")
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
_NO_VALUE = ("na", "nan", "none", ".")
_LARGEST = 2.0**53
"""Whole numbers below it are exact as float64."""
_BLOCK = 2**24
"""Bytes that the parser takes at once, at least a line."""


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


class People(NamedTuple):
    """Lines of a .fam file: FID, IID and column 6, as Arrow arrays of text (n,)."""

    family_ids: Any
    ids: Any
    phenotypes: Any


class Variants(NamedTuple):
    """Lines of a .bim file: ID, counted and other allele, as Arrow arrays of text (m,).

    An unknown allele is ``0``, as PLINK 1.9 writes it; PLINK 2 writes a dot.
    """

    ids: Any
    counted: Any
    other: Any


def read_people(path: Path) -> People:
    """Read a .fam file; DataError if a line has no six columns, or two people have the same ids."""
    family_ids, ids, phenotypes = _parsed(path, _content(path), _FAM, (0, 1, 5))
    _refuse_repeated(path, "FID and IID", _pairs(family_ids, ids), "correct one of the lines")
    return People(family_ids, ids, phenotypes)


def read_variants(path: Path) -> Variants:
    """Read a .bim file; DataError if a line has no six columns or is none that PLINK would use."""
    from pyarrow import compute

    ids, positions, counted, other = _parsed(path, _content(path), _BIM, (1, 3, 4, 5))
    is_position = compute.match_substring_regex(positions, "^[0-9]{1,18}$")
    at = compute.index(is_position, False).as_py()
    if at >= 0:
        raise DataError(
            f"{path}: the position of a variant must be a whole number of at least 0, got "
            f"{positions[at].as_py()!r:.60} for {ids[at].as_py()!r:.60}; PLINK skips variants with "
            "negative positions, and plink --make-bed removes them"
        )
    counted, other = (
        compute.if_else(compute.equal(allele, "."), "0", allele) for allele in (counted, other)
    )
    is_same = compute.and_(compute.equal(counted, other), compute.not_equal(counted, "0"))
    at = compute.index(is_same, True).as_py()
    if at >= 0:
        raise DataError(
            f"{path}: the two alleles of a variant must differ, got {counted[at].as_py()!r:.60} "
            f"twice for {ids[at].as_py()!r:.60}; correct the line"
        )
    _refuse_repeated(
        path,
        "ID and allele 1",
        compute.binary_join_element_wise(ids, counted, "_"),
        "plink2 --set-all-var-ids '@:#:$1:$2' --make-bed gives distinct IDs",
    )
    return Variants(ids, counted, other)


def names_with(ids: Any, alleles: Any) -> list[str]:
    """Names of variants with one of their alleles, as in ``rs123_A``."""
    from pyarrow import compute

    return list(compute.binary_join_element_wise(ids, alleles, "_").to_pylist())


def read_phenotypes(path: Path, name: str | None, people: People) -> Any:
    """Read a file of PLINK's option --pheno: the phenotype of each person, as Arrow text (n,).

    The file has the columns FID and IID, or only IID if that is the first name of its header, and
    one or more phenotypes. A header names them; without one they are ``"1"``, ``"2"``, ... People
    are found by their ids; those that the file does not have are null.
    """
    from pyarrow import compute

    content = _content(path)
    first = content.partition(b"\n")[0].decode().split("\t")
    has_header = first[0].lstrip("#").upper() in ("FID", "IID")
    n_ids = 1 if has_header and first[0].lstrip("#").upper() == "IID" else 2
    names = [str(k) for k in range(1, len(first) - n_ids + 1)]
    if has_header and n_ids == 2 and [name.upper() for name in first[1:2]] != ["IID"]:
        raise DataError(
            f"{path} must have the column IID after FID, got {' '.join(first)!r:.60}; name it so"
        )
    if has_header:
        names = first[n_ids:]
        content = content.partition(b"\n")[2]
        if not content:
            raise DataError(f"{path} must have at least one line below its header, got none")
    if not names:
        raise DataError(
            f"{path} must have the columns FID, IID and a phenotype, separated by spaces or tabs, "
            f"got {len(first)} in its first line; see --pheno of PLINK"
        )
    chosen = names[0] if name is None else name
    if name is None and len(names) > 1:
        raise SettingError(
            f"phenotype_name must choose one of the {len(names)} phenotypes of {path}, got none; "
            f"known: {', '.join(names)}"
        )
    if names.count(chosen) != 1:
        check_known(f"phenotype of {path}", chosen, names)
        raise DataError(f"{path} must have distinct names of phenotypes, got {chosen!r:.60} twice")
    at = n_ids + names.index(chosen)
    all_names = [*("FID", "IID")[2 - n_ids :], *names]
    chosen_columns = [*range(n_ids), at]
    *keys, phenotypes = _parsed(path, content, all_names, chosen_columns, 1 + has_header)
    if n_ids == 2:
        kind, key, people_key = "FID and IID", _pairs(*keys), _pairs(people.family_ids, people.ids)
    else:
        kind, key, people_key = "IID", keys[0], people.ids
        _refuse_repeated("the .fam file", kind, people_key, f"add the column FID to {path}")
    _refuse_repeated(path, kind, key, "remove one of the lines")
    places = compute.index_in(people_key, key)
    if places.null_count == len(places):
        raise DataError(
            f"{path} must have people of the .fam file, got none: {kind} of the first line are "
            f"{key[0].as_py()!r:.60}, and {people_key[0].as_py()!r:.60} in the .fam file"
        )
    return compute.take(phenotypes, places)


def phenotype_classes(
    phenotypes: Any, missing: Sequence[str] | None, where: str
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Classes (n,) of Arrow texts, and which of them are known; the others are arbitrary.

    Whole numbers become int64; words stay text, in an array of objects. `missing` are the texts of
    missing values; None is PLINK's rule: -9, NA, nan, NONE, a dot, and 0 beside 1 and 2. DataError
    for measurements, for numbers beside words, and for 0 beside 1 without 2.
    """
    encoded = phenotypes.dictionary_encode()
    texts: list[str] = encoded.dictionary.to_pylist()
    numbers = {text: float(text) for text in texts if _NUMBER.fullmatch(text)}
    absent = _missing_texts(texts, numbers, where) if missing is None else set(missing)
    kept = [text for text in texts if text not in absent]
    words = [text for text in kept if text not in numbers]
    if words and len(words) < len(kept):
        number = next(text for text in kept if text in numbers)
        raise DataError(
            f"{where} must have either numbers or words as classes, got {number!r:.60} and "
            f"{words[0]!r:.60}; missing= names the texts of missing values"
        )
    for text in [] if words else kept:
        if not (numbers[text].is_integer() and abs(numbers[text]) < _LARGEST):
            raise DataError(
                f"{where} must have classes, got the measurement {text!r:.60}; plink1.9 "
                "--tail-pheno makes two classes of measurements"
            )
    is_known = np.array([*(text not in absent for text in texts), False])
    classes: list[Any] = kept if words else [int(numbers[text]) for text in kept]
    values = np.zeros(len(texts) + 1, object if words else np.int64)
    values[is_known] = classes
    codes = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    return values[codes], is_known[codes]


def _missing_texts(texts: list[str], numbers: dict[str, float], where: str) -> set[str]:
    absent = {text for text in texts if text.lower() in _NO_VALUE or numbers.get(text) == -9}
    zeros = {text for text, number in numbers.items() if number == 0}
    others = {numbers.get(text, text) for text in texts if text not in absent | zeros}
    if zeros and others == {1.0}:
        raise DataError(
            f"{where} must have 1 for controls and 2 for cases, got 0 and 1, and PLINK reads 0 as "
            "missing; missing=['-9', 'NA'] makes 0 a class"
        )
    return absent | zeros if others <= {1.0, 2.0} else absent


def _content(path: Path) -> bytes:
    """The content of a text file with one tab between columns, and lines that end in LF."""
    if not path.is_file():
        raise DataError(f"{path} must be an existing file; there is none")
    try:
        content = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {os_fault(error)}") from error
    for found, instead in ((b"\r\n", b"\n"), (b" ", b"\t")):
        if found in content:
            content = content.replace(found, instead)
    while b"\t\t" in content:
        content = content.replace(b"\t\t", b"\t")
    for found in (b"\n\t", b"\t\n"):
        if found in content:
            content = content.replace(found, b"\n")
    content = content.lstrip(b"\t\n").rstrip(b"\t\n")
    wrong = _CONTROL.search(content)
    if wrong:
        raise DataError(
            f"{path} must be text with lines that end in LF or CRLF, got the byte "
            f"{wrong[0][0]:#04x}; the file is damaged or of another kind"
        )
    if not content:
        raise DataError(f"{path} must have at least one line, got none")
    if not content.isascii():
        try:
            content.decode()
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path} must be text in UTF-8: {one_line(error)}; convert it"
            ) from error
    return content


def _parsed(
    path: Path, content: bytes, names: Sequence[str], chosen: Sequence[int], first_line: int = 1
) -> list[Any]:
    """Some columns of a text as Arrow arrays of text; DataError unless all lines have all names.

    The text begins at the line number `first_line` of its file.
    """
    import pyarrow
    from pyarrow import csv

    text = {str(k): pyarrow.string() for k in chosen}
    try:
        table = csv.read_csv(
            pyarrow.BufferReader(content),
            csv.ReadOptions(column_names=[str(k) for k in range(len(names))], block_size=_BLOCK),
            csv.ParseOptions(delimiter="\t", quote_char=False, double_quote=False),
            csv.ConvertOptions(check_utf8=False, column_types=text, include_columns=list(text)),
        )
    except pyarrow.ArrowInvalid as error:
        for number, line in enumerate(content.split(b"\n"), first_line):
            n_columns = line.count(b"\t") + 1
            if line and n_columns != len(names):
                raise DataError(
                    f"{path}: each line must have {len(names)} columns ({', '.join(names)}), "
                    f"separated by spaces or tabs, got {n_columns} in line {number}; correct it"
                ) from error
        raise DataError(f"{path} cannot be read: {one_line(error)}") from error
    return [column.combine_chunks() for column in table.columns]


def _pairs(family_ids: Any, ids: Any) -> Any:
    """FID and IID as one text."""
    from pyarrow import compute

    return compute.binary_join_element_wise(family_ids, ids, " ")


def _refuse_repeated(where: object, kind: str, keys: Any, way_out: str) -> None:
    from pyarrow import compute

    if compute.count_distinct(keys).as_py() < len(keys):
        counts = compute.value_counts(keys)
        at = compute.index(compute.greater(counts.field("counts"), 1), True).as_py()
        raise DataError(
            f"{where}: {kind} must be distinct, got {counts.field('values')[at].as_py()!r:.60} "
            f"{counts.field('counts')[at].as_py()} times; {way_out}"
        )
