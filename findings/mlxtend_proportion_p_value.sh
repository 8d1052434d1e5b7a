#!/usr/bin/env bash
# mlxtend 0.25.0: the p-value of its difference of proportions depends on which model comes first.
#
# `proportion_difference(accuracy_1, accuracy_2, n)` returns z and the normal distribution below z:
# the p-value of the one-sided test that the first model is worse. If the first is better, it
# approaches 1, however large the difference. The docstring says only "p-value"; the user guide
# states a test of equal performance that rejects if z exceeds 1.96, and its own example has
# z = -1.75, p-value 0.040, and "a statistically significant difference". Two test sets of n rows:
#   accuracies         n    z of mlxtend   its p-value   two-sided   chi-squared test
#   0.84 and 0.92    100        -1.75         0.040         0.079          0.082
#   0.92 and 0.84    100         1.75         0.960         0.079          0.082
#   0.95 and 0.85  1,000         7.56         1.000         4e-14          9e-14
# A loop over pairs of models misses each pair whose better model comes first, without a warning.
# Seen on Python 3.11. Use 2 * scipy.stats.norm.sf(abs(z)); for one test set, McNemar's test.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/proportions.py" <<'PYTHON'
from importlib.metadata import version

import numpy as np
from mlxtend.evaluate import proportion_difference
from scipy.stats import chi2_contingency, norm


def correct_and_not(accuracy, n):
    return [round(accuracy * n), n - round(accuracy * n)]


print("mlxtend", version("mlxtend"))
for first, second, n in ((0.84, 0.92, 100), (0.92, 0.84, 100), (0.95, 0.85, 1000)):
    z, p_value = proportion_difference(first, second, n)
    two_sided = 2 * norm.sf(abs(z))
    table = [correct_and_not(first, n), correct_and_not(second, n)]
    chi_squared = chi2_contingency(table, correction=False).pvalue
    print(f"{first} and {second}, n = {n}: z {z:.2f}, p-value {p_value:.3f}", end="")
    print(f", two-sided {two_sided:.2g}, chi-squared {chi_squared:.2g}")
    error = np.sqrt((first * (1 - first) + second * (1 - second)) / n)
    assert np.isclose(z, (first - second) / error)
    assert np.isclose(np.log(two_sided), np.log(chi_squared), rtol=0.05)
    assert np.isclose(p_value, norm.cdf(z)), "mlxtend has changed"
assert p_value > 0.999 and two_sided < 1e-12, "mlxtend has changed"

draws = np.random.default_rng(0).binomial(1000, (0.90, 0.85), (1000, 2)) / 1000
found = [proportion_difference(first, second, 1000)[1] < 0.05 for first, second in draws]
turned = [proportion_difference(second, first, 1000)[1] < 0.05 for first, second in draws]
print(f"0.90 and 0.85 differ at 5 % in {sum(found)} of 1000 draws, turned in {sum(turned)}")
assert sum(found) == 0 and sum(turned) > 900, "mlxtend has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mlxtend==0.25.0 scikit-learn==1.9.1 scipy==1.17.1 \
    numpy==2.4.6 pandas==2.3.3 matplotlib==3.11.2
MPLBACKEND=Agg "$folder/venv/bin/python" "$folder/proportions.py"
