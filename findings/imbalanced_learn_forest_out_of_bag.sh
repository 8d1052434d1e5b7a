#!/usr/bin/env bash
# imbalanced-learn 0.14.2: out-of-bag scores of BalancedRandomForestClassifier are of training rows.
#
# Since version 0.13 its sampler draws with replacement by default, and `oob_score=True` demands
# bootstrap=True, with which each tree draws from the sample once more. A row that is in the sample
# twice counts as out of the bag if the tree left out one copy and learned the other. With weights,
# scikit-learn 1.9.1 draws the bootstrap by them, and imbalanced-learn computes the rows left out
# without them: they are other rows. 300 trees on 1,000 rows of noise, a fifth of them positive, for
# which an area under the ROC curve of 0.5 is right:
#                                      out of the bag   new rows   oob_score_
#   the defaults and bootstrap=True         0.99          0.52        0.89
#   the same and replacement=False          0.52          0.51        0.52
#   and sample_weight of ones               1.00          0.52        1.00
#   RandomForestClassifier, both ways       0.54          0.50        0.80
# There is no warning. Seen on Python 3.11. Cross-validate, or set replacement=False and give
# neither sample_weight nor class_weight.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/out_of_bag.py" <<'PYTHON'
from importlib.metadata import version

import numpy as np
from imblearn.ensemble import BalancedRandomForestClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

draws = np.random.default_rng(0)
X, new_X = draws.normal(size=(2, 1000, 20))
y = np.arange(1000) < 200
FOREST = {"n_estimators": 300, "oob_score": True, "bootstrap": True, "random_state": 1}


def areas(model, sample_weight):
    model.fit(X, y, sample_weight=sample_weight)
    out_of_bag = roc_auc_score(y, model.oob_decision_function_[:, 1])
    return out_of_bag, roc_auc_score(y, model.predict_proba(new_X)[:, 1])


print("imbalanced-learn", version("imbalanced-learn"), "scikit-learn", version("scikit-learn"))
ones = np.ones(len(y))
for name, model, weights, expected in (
    ("the defaults", BalancedRandomForestClassifier(**FOREST), None, 0.99),
    ("no replacement", BalancedRandomForestClassifier(replacement=False, **FOREST), None, 0.52),
    ("and weights", BalancedRandomForestClassifier(replacement=False, **FOREST), ones, 1.0),
    ("scikit-learn", RandomForestClassifier(**FOREST), None, 0.5),
    ("and weights", RandomForestClassifier(**FOREST), ones, 0.5),
):
    out_of_bag, of_new_rows = areas(model, weights)
    print(f"{name}: out of the bag {out_of_bag:.3f}, new rows {of_new_rows:.3f}")
    print(f"  oob_score_ {model.oob_score_:.3f}")
    assert abs(of_new_rows - 0.5) < 0.06
    assert abs(out_of_bag - expected) < 0.06, "imbalanced-learn has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet imbalanced-learn==0.14.2 scikit-learn==1.9.1 scipy==1.17.1 \
    numpy==2.4.6
"$folder/venv/bin/python" -W error "$folder/out_of_bag.py"
