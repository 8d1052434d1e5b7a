#!/usr/bin/env bash
# aeon 1.6.0 takes the critical difference of Nemenyi's test for one estimator more than there are.
#
# `aeon.benchmarking.stats.nemenyi_test`, behind `plot_critical_difference(test="nemenyi")`, reads the
# quantile for k estimators from a list at index k. Its first entry is for k = 1, so that two
# estimators get 2.344, the quantile of three, in place of 1.960 (Demsar 2006, table 5a). With mean
# ranks 1.35 and 1.65 on 50 data sets at 5 %:
#                          quantile   critical difference
#   two estimators           1.960           0.277          they differ
#   three, used by aeon      2.344           0.331          one clique
# With five estimators the difference is 4.5 % too wide. Seen on Python 3.11. Compare mean ranks with
# studentized_range.ppf(0.95, k, inf) / sqrt(2) * sqrt(k * (k + 1) / (6 * n)) of SciPy.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/ranks.py" <<'PYTHON'
from importlib.metadata import version

import numpy as np
from aeon.benchmarking.stats import nemenyi_test
from scipy.stats import studentized_range

n_sets = 50


def difference(k):
    quantile = studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2)
    return quantile * np.sqrt(k * (k + 1) / (6 * n_sets))


def joined(k, distance):
    """Whether two neighbours of k mean ranks at this distance are one clique."""
    first = (k + 1) / 2 - distance * (k - 1) / 2
    return bool(nemenyi_test(first + distance * np.arange(k), n_sets, 0.05)[0, 1])


print("aeon", version("aeon"))
print("mean ranks 1.35 and 1.65 are a clique:", joined(2, 0.3))
print(f"critical difference {difference(2):.3f}")
assert difference(2) < 0.3
assert joined(2, 0.3), "aeon has changed"
for k in (2, 5, 10):
    beyond = difference(k) * 1.001
    aeon = difference(k + 1) * np.sqrt(k / (k + 2))
    print(k, "estimators:", f"{difference(k):.4f}, aeon {aeon:.4f}")
    assert joined(k, beyond), "aeon has changed"
    assert joined(k, aeon * 0.999), "aeon has changed"
    assert not joined(k, aeon * 1.001), "aeon has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet aeon==1.6.0
"$folder/venv/bin/python" "$folder/ranks.py"
