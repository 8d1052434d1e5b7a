#!/usr/bin/env bash
# pandas-plink 2.3.2 writes genotypes that were read with ref="a0" with the alleles exchanged.
#
# `read_plink1_bin` counts the second allele of the .bim file by default; PLINK and bed-reader count
# the first, for which there is ref="a0". The array does not say which allele it counts, and
# `write_plink1_bin` takes any counts for those of a1: a person with two copies of A is written as
# one with two copies of G. Names, positions and alleles in the .bim file stay. 200 people, 50
# variants, read and written without a change:
#               genotypes as before   frequency of a0 before   after
#   ref="a1"           100 %                   0.20             0.20
#   ref="a0"            32 %                   0.20             0.80
# The 32 % are heterozygous. The documentation of neither function says which allele is written, and
# there is no warning. Seen on Python 3.11 with pandas 2.3.3. Write 2 - G if ref="a0" read G.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/alleles.py" <<'PYTHON'
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from bed_reader import open_bed, to_bed
from pandas_plink import read_plink1_bin, write_plink1_bin

folder = Path(sys.argv[1])
N_PEOPLE, N_VARIANTS = 200, 50
counts = np.random.default_rng(0).binomial(2, 0.2, (N_PEOPLE, N_VARIANTS)).astype(np.float32)
alleles = {"allele_1": ["A"] * N_VARIANTS, "allele_2": ["G"] * N_VARIANTS}
to_bed(folder / "before.bed", counts, properties=alleles)


def write(genotypes):
    path = folder / "after.bed"
    write_plink1_bin(genotypes, path, verbose=False)
    with open_bed(path) as bed:
        assert set(bed.allele_1) == {"A"} and set(bed.allele_2) == {"G"}
        return bed.read()


print("pandas-plink", version("pandas-plink"))
for ref in ("a1", "a0"):
    genotypes = read_plink1_bin(str(folder / "before.bed"), ref=ref, verbose=False)
    assert np.array_equal(genotypes.values, counts if ref == "a0" else 2 - counts)
    assert (genotypes.a0 == "A").all() and (genotypes.a1 == "G").all()
    assert "ref" not in genotypes.attrs
    written = write(genotypes)
    same = (written == counts).mean()
    print(f'ref="{ref}": {same:.0%} of the genotypes are as before, frequency of a0 ', end="")
    print(f"{counts.mean() / 2:.2f} before, {written.mean() / 2:.2f} after")
    expected = counts if ref == "a1" else 2 - counts
    assert np.array_equal(written, expected), "pandas-plink has changed"
assert np.array_equal(write(2 - genotypes), counts)
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pandas-plink==2.3.2 bed-reader==1.1.0 \
    pandas==2.3.3 numpy==1.26.4
"$folder/venv/bin/python" -W ignore "$folder/alleles.py" "$folder"
