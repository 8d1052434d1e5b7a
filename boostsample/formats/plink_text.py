"""The text files of PLINK: people (.fam), variants (.bim) and phenotypes.

Columns are separated by spaces or tabs, as PLINK takes them. Lines may end in CRLF, blank lines are
skipped, and the last line needs no end. Anything else that PLINK would guess is refused.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError, one_line, os_fault, unknown

_FAM = ("FID", "IID", "father", "mother", "sex", "phenotype")
_BIM = ("chromosome", "ID", "centimorgans", "position", "allele 1", "allele 2")
_NUMBER = re.compile(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?")
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
_NO_VALUE = ("na", "nan", "none", ".")
_LARGEST = 2.0**53
"""Whole numbers below it are exact as float64."""
_BLOCK = 2**24
"""Bytes that the parser takes at once, at least a line."""


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
        if chosen not in names:
            raise unknown(f"phenotype of {path}", chosen, names)
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
