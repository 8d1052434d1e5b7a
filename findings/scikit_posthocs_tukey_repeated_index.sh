#!/usr/bin/env bash
# scikit-posthocs 0.17.1: Tukey's test mixes the groups of a table whose index repeats.
#
# `posthoc_tukey_hsd(table, val_col, group_col)` takes the rows of a group by their index labels. In
# a table of one frame of results per method, joined by pandas.concat, each label occurs once per
# method: each group then holds the scores of all methods, and none differ. Three methods, of ten
# scores each, means 0.90, 0.85 and 0.70; p-values of the first two, and of either and the third:
#   tukey_hsd of SciPy                           2e-08   < 1e-12
#   posthoc_tukey_hsd, index 0 to 29             2e-08   < 1e-12
#   posthoc_tukey_hsd, index 0 to 9 each time      1        1
#   posthoc_tukey, index 0 to 9 each time        2e-08   < 1e-12
# There is no error or warning. Seen on Python 3.11 with pandas 2.3.3. Pass
# table.reset_index(drop=True).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/tukey.py" <<'PYTHON'
from importlib.metadata import version

import numpy as np
import pandas as pd
from scikit_posthocs import posthoc_tukey, posthoc_tukey_hsd
from scipy.stats import tukey_hsd

MEANS = {"boosting": 0.9, "forest": 0.85, "tree": 0.7}
draws = np.random.default_rng(0)
frames = [
    pd.DataFrame({"method": method, "score": draws.normal(mean, 0.02, 10)})
    for method, mean in MEANS.items()
]
repeated = pd.concat(frames)
distinct = repeated.reset_index(drop=True)
expected = tukey_hsd(*[frame["score"] for frame in frames]).pvalue


def p_values(test, table):
    matrix = test(table, val_col="score", group_col="method")
    return matrix.loc[list(MEANS), list(MEANS)].to_numpy()


print("scikit-posthocs", version("scikit-posthocs"))
print("SciPy's p-value of boosting and forest", expected[0, 1])
assert expected[0, 1] < 1e-7 and expected[:2, 2].max() < 1e-12
for name, test, table, is_right in (
    ("posthoc_tukey_hsd, index distinct", posthoc_tukey_hsd, distinct, True),
    ("posthoc_tukey_hsd, index repeated", posthoc_tukey_hsd, repeated, False),
    ("posthoc_tukey, index repeated", posthoc_tukey, repeated, True),
):
    found = p_values(test, table)
    print(f"{name}: {found[0, 1]}")
    assert np.allclose(found, expected, rtol=1e-3, atol=1e-12) == is_right, "it has changed"
assert (p_values(posthoc_tukey_hsd, repeated) == 1).all(), "scikit-posthocs has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet scikit-posthocs==0.17.1 pandas==2.3.3 scipy==1.17.1 \
    numpy==2.4.6 statsmodels==0.15.0 matplotlib==3.11.2 seaborn==0.13.2
"$folder/venv/bin/python" -W error::UserWarning "$folder/tukey.py"
