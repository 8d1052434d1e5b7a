#!/usr/bin/env bash
# scikit-allel 1.3.13: the expected heterozygosity of variants of three alleles is NaN for some.
#
# `heterozygosity_expected` fills variants whose allele frequencies do not sum to 1, by default with
# NaN, so that variants without calls have no value. It asks for a sum of at least 1, with no
# tolerance: frequencies of complete calls whose float64 sum is 0.9999999999999999 are filled, too.
# `inbreeding_coefficient` divides by the result and has the same gaps. 2,000 variants of 50
# individuals, no call is missing:
#                        NaN    of them with one allele    mean of all    mean of 1 - sum of squares
#   two alleles            0                          0          0.327                         0.327
#   three alleles         60                          0            nan                         0.493
#   four alleles         120                          0            nan                         0.591
# There is no error or warning. Seen on Python 3.11 with numpy 2.4.6; its issue 274 reports it, its
# documentation does not. Compute 1 - (frequencies**2).sum(axis=1), and leave out variants without
# calls by the sum of their allele counts.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/heterozygosity.py" <<'PYTHON'
from importlib.metadata import version

import allel
import numpy as np

N_VARIANTS, N_INDIVIDUALS = 2000, 50
random = np.random.default_rng(0)
filled = {}
print("scikit-allel", version("scikit-allel"))
for n_alleles in (2, 3, 4):
    shares = random.dirichlet(np.ones(n_alleles), N_VARIANTS)
    calls = [random.choice(n_alleles, (N_INDIVIDUALS, 2), p=share) for share in shares]
    genotypes = allel.GenotypeArray(np.array(calls))
    assert not genotypes.is_missing().any()
    counts = genotypes.count_alleles(max_allele=n_alleles - 1)
    assert (counts.sum(axis=1) == 2 * N_INDIVIDUALS).all()
    frequencies = counts.to_frequencies()
    found = allel.heterozygosity_expected(frequencies, ploidy=2)
    right = 1 - (frequencies**2).sum(axis=1)
    gaps = np.isnan(found)
    assert np.array_equal(found[~gaps], right[~gaps])
    assert (right[gaps] > 0).all()
    assert (abs(frequencies[gaps].sum(axis=1) - 1) < 1e-15).all()
    with np.errstate(divide="ignore", invalid="ignore"):
        assert np.isnan(allel.inbreeding_coefficient(genotypes))[gaps].all()
    filled[n_alleles] = gaps.sum()
    one_allele = (frequencies[gaps].max(axis=1) == 1).sum()
    print(f"{n_alleles} alleles: {gaps.sum()} NaN, {one_allele} of them with one allele", end=", ")
    print(f"mean of all {found.mean():.3f}, mean of 1 - sum of squares {right.mean():.3f}")
assert filled[2] == 0
assert filled[3] > 0 and filled[4] > 0, "scikit-allel has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet scikit-allel==1.3.13 numpy==2.4.6
"$folder/venv/bin/python" "$folder/heterozygosity.py"
