"""Made sets of PLINK files, and a plain reader of them on top of bed-reader."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import bed_reader
import numpy as np

from boostsample.formats.plink import PlinkData, read_plink

_PHENOTYPES = ["1", "2", "1", "2", "0", "-9", "NA"]


def write_plink_set(folder: Path, rng: np.random.Generator) -> None:
    """x.bed, x.bim and x.fam by bed-reader, and x.pheno with two phenotypes of most people."""
    n, m = int(rng.integers(5, 40)), int(rng.integers(1, 50))
    alleles = [rng.choice(list("ACGT"), 2, replace=False) for _ in range(m)]
    people = [[f"F{k // 2}", f"I{k}"] for k in range(n)]
    bed_reader.to_bed(
        folder / "x.bed",
        rng.choice(np.array([0, 1, 2, -127], np.int8), (n, m)),
        properties={
            "fid": [fid for fid, _ in people],
            "iid": [iid for _, iid in people],
            "pheno": ["1", "2", *rng.choice(_PHENOTYPES, n - 2)],
            "sid": [f"rs{k}_{k % 3}" for k in range(m)],
            "bp_position": rng.integers(0, 10**9, m),
            "allele_1": [pair[0] for pair in alleles],
            "allele_2": [pair[1] for pair in alleles],
        },
    )
    lines = [[*ids, rng.choice(_PHENOTYPES), rng.choice(["x", "y", "NA"])] for ids in people]
    lines[1][2:] = "2x"
    order = rng.permutation(n)[: n - 2]
    lines = [["FID", "IID", "a", "b"], *(lines[k] for k in {*order.tolist(), 1})]
    text = "".join(" ".join(line) + "\n" for line in lines)
    (folder / "x.pheno").write_text(text, "utf-8")


def read_with_boostsample(folder: Path) -> dict[str, Any]:
    data = read_plink(folder / "x.bed", labels=False)
    content = {
        "genotypes": data.table.columns_at(np.arange(data.table.shape[1])).T,
        "people": list(zip(data.family_ids.tolist(), data.sample_ids.tolist(), strict=True)),
        "names": data.table.column_names,
        "fam": _classes(read_plink(folder / "x")),
    }
    for name in "ab":
        read = read_plink(folder / "x", phenotype=folder / "x.pheno", phenotype_name=name)
        content[name] = _classes(read)
    return content


def _classes(data: PlinkData) -> dict[Any, Any]:
    assert data.labels is not None
    people = zip(data.family_ids.tolist(), data.sample_ids.tolist(), strict=True)
    return dict(zip(people, data.labels.tolist(), strict=True))


def read_naively(folder: Path) -> dict[str, Any]:
    fam, bim, pheno = (_fields(folder / f"x.{suffix}") for suffix in ("fam", "bim", "pheno"))
    with bed_reader.open_bed(folder / "x.bed", iid_count=len(fam), sid_count=len(bim)) as bed:
        genotypes = bed.read(dtype="float32", num_threads=1)
    people = [(line[0], line[1]) for line in fam]
    content = {
        "genotypes": genotypes,
        "people": people,
        "names": [f"{line[1]}_{'0' if line[4] == '.' else line[4]}" for line in bim],
        "fam": _naive_classes({(line[0], line[1]): line[5] for line in fam}),
    }
    assert {len(line) for line in [*fam, *bim]} == {6}
    for name in "ab":
        by_id = {(line[0], line[1]): line[pheno[0].index(name)] for line in pheno[1:]}
        content[name] = _naive_classes({key: by_id[key] for key in people if key in by_id})
    return content


def _fields(path: Path) -> list[list[str]]:
    lines = path.read_bytes().decode().split("\n")
    fields = [re.split("[ \t]+", line.removesuffix("\r").strip(" \t")) for line in lines]
    return [line for line in fields if line != [""]]


def _naive_classes(texts: dict[Any, str]) -> dict[Any, Any]:
    classes: dict[Any, Any] = {}
    for key, text in texts.items():
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if text.lower() not in ("na", "nan", "none", ".") and number != -9:
            classes[key] = text if math.isnan(number) else int(number)
    if set(classes.values()) <= {0, 1, 2}:
        return {key: value for key, value in classes.items() if value != 0}
    return classes
