#!/usr/bin/env bash
# shapiq 1.4.1: explanations of XGBoost are of other leaves where a value equals a threshold.
#
# XGBoost sends a row to the left if its value is below the threshold. `TreeExplainer` documents
# support of XGBoost, reads the same thresholds, and sends equal values to the left as well. XGBoost
# takes its thresholds from the data: with whole numbers most splits are met exactly. A genotype of
# 2 is explained as 1, and 1 as 0; of binary features, 1 is explained as 0, and all rows have the
# same values. 30 trees, 30 rows of the training data; the standard deviation of the predictions,
# the largest difference of baseline plus values from them, and rows with more than 0.001:
#                              deviation    largest difference   rows that differ
#   binary, XGBoost                5.3             15.4              30
#   genotypes 0, 1 and 2          10.4             27.4              30
#   diabetes of scikit-learn      59.4             58.9              12
#   binary, LightGBM               4.9              0.0               0
# XGBoost's pred_contribs add up in each case. There is no error, and no warning but one of pandas
# about `replace`. Seen on Python 3.11 with XGBoost 3.2.0, LightGBM 4.7.0 and pandas 2.3.3. Use
# pred_contribs or pred_interactions; for whole numbers, the rows plus 0.5 give shapiq the right
# leaves.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/thresholds.py" <<'PYTHON'
from importlib.metadata import version

import numpy as np
from lightgbm import LGBMRegressor
from shapiq import TreeExplainer
from sklearn.datasets import load_diabetes
from xgboost import DMatrix, XGBRegressor

TREES = {"n_estimators": 30, "n_jobs": 1}
random = np.random.default_rng(0)


def explain(model, rows):
    explainer = TreeExplainer(model, index="SV", max_order=1)
    values = np.array([explainer.explain(row).get_n_order_values(1) for row in rows])
    return values, explainer.baseline_value


def compare(name, model, rows):
    predictions = model.predict(rows)
    values, baseline = explain(model, rows)
    errors = abs(values.sum(axis=1) + baseline - predictions)
    differ = (errors > 1e-3).sum()
    print(f"{name}: standard deviation {predictions.std():.1f}", end=", ")
    print(f"largest difference {errors.max():.1f}, {differ} rows differ")
    return values, differ


def exact(model, rows):
    """Return XGBoost's own values, without the last column, the baseline."""
    values = model.get_booster().predict(DMatrix(rows), pred_contribs=True)
    assert np.allclose(values.sum(axis=1), model.predict(rows), atol=1e-3)
    return values[:, :-1]


print("shapiq", version("shapiq"))
for name, levels in {"binary": 2, "genotypes": 3}.items():
    X = random.integers(0, levels, (500, 8)).astype(float)
    y = 10 * X[:, 0] + 5 * X[:, 1] * X[:, 2] + random.normal(size=len(X))
    model = XGBRegressor(**TREES).fit(X, y)
    values, differ = compare(name, model, X[:30])
    assert differ > 25, "shapiq has changed"
    right = exact(model, X[:30])
    assert np.allclose(values, exact(model, np.maximum(X[:30] - 1, 0)), atol=1e-3)
    assert np.allclose(explain(model, X[:30] + 0.5)[0], right, atol=1e-3)
    if levels == 2:
        assert np.ptp(values, axis=0).max() < 1e-9 and np.ptp(right, axis=0).max() > 5
        model = LGBMRegressor(verbose=-1, **TREES).fit(X, y)
        assert compare("binary, LightGBM", model, X[:30])[1] == 0

X, y = load_diabetes(return_X_y=True)
X = X.astype(np.float32).astype(float)  # XGBoost compares 32 bits
model = XGBRegressor(**TREES).fit(X, y)
exact(model, X[:30])
assert compare("diabetes", model, X[:30])[1] > 5, "shapiq has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet shapiq==1.4.1 xgboost==3.2.0 lightgbm==4.7.0 \
    scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6 pandas==2.3.3
"$folder/venv/bin/python" -W ignore "$folder/thresholds.py"
