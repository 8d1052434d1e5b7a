#!/usr/bin/env bash
# mlxtend 0.25.0: importances of groups of features are those of other columns, which it spoils.
#
# `feature_importance_permutation(..., feature_groups=[...])` shuffles the columns 0 to k - 1 of X
# for any group of k features, and restores the columns of the group. Where these are others, the
# first k stay shuffled for all groups and rounds that follow, and in the array of the caller.
# Friedman's data with three features of noise, 5 to 7; boosted trees, 200 test rows, 30 rounds,
# falls of R2:
#   group           mlxtend   columns of the group permuted
#   5, 6 and 7       1.03       0.00
#   0 and 1          1.02       0.86
#   2                1.01       0.14
#   3                1.03       0.66
#   4                1.00       0.17
# After the call R2 on the same array is -0.16 in place of 0.91. There is no error. Importances of
# single features are right. Seen on Python 3.11. Permute the rows of X[:, group] yourself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/groups.py" <<'PYTHON'
from importlib.metadata import version

import numpy as np
from mlxtend.evaluate import feature_importance_permutation
from sklearn.datasets import make_friedman1
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.metrics import r2_score

GROUPS = [[5, 6, 7], [0, 1], [2], [3], [4]]
N_ROUNDS = 30
X, y = make_friedman1(600, n_features=8, noise=0.5, random_state=0)
model = GradientBoostingRegressor(random_state=0).fit(X[:400], y[:400])
X, y = X[400:], y[400:]
before = r2_score(y, model.predict(X))
draws = np.random.default_rng(0)


def fall(group):
    permuted = X.copy()
    permuted[:, group] = permuted[draws.permutation(len(X))][:, group]
    return before - r2_score(y, model.predict(permuted))


print("mlxtend", version("mlxtend"))
expected = [np.mean([fall(group) for _ in range(N_ROUNDS)]) for group in GROUPS]
table = X.copy()
settings = {"metric": "r2", "num_rounds": N_ROUNDS, "seed": 1}
importances, _ = feature_importance_permutation(
    table, y, model.predict, feature_groups=GROUPS, **settings
)
for group, importance, right in zip(GROUPS, importances, expected):
    print(f"{group}: mlxtend {importance:.2f}, group permuted {right:.2f}")
after = r2_score(y, model.predict(table))
print(f"R2 before {before:.2f}, after {after:.2f}")
assert abs(expected[0]) < 0.02
assert importances[0] > 0.9, "mlxtend has changed"
assert (table != X).any(axis=0).tolist() == [True] * 3 + [False] * 5, "mlxtend has changed"
assert after < 0.2 < 0.9 < before, "mlxtend has changed"

single, _ = feature_importance_permutation(X.copy(), y, model.predict, **settings)
assert np.allclose(single[2:], [*expected[2:], 0, 0, 0], atol=0.05)
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mlxtend==0.25.0 scikit-learn==1.9.1 scipy==1.17.1 \
    numpy==2.4.6 pandas==2.3.3 matplotlib==3.11.2
MPLBACKEND=Agg "$folder/venv/bin/python" "$folder/groups.py"
