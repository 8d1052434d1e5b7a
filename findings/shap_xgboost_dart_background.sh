#!/usr/bin/env bash
# shap 0.51.0 with background rows explains XGBoost's DART without the weights of the trees.
#
# DART drops trees while it trains, and scales them (Vinayak and Gilad-Bachrach 2015): XGBoost keeps
# a weight for each tree. TreeExplainer(model, data) reads the trees and not the weights. Its check
# that values add up to the output compares with the same unweighted trees, and passes. 30 rounds on
# scikit-learn's diabetes, the first 100 rows as background; in each pair both should be equal:
#   rate_drop    mean prediction   expected_value     prediction   values + expected_value
#      0.0             135.2            135.2            213.0          213.0
#      0.1             135.8            118.9            209.2          260.4
#      0.5             136.2             65.2            201.8          371.9
# There is no error or warning. Without `data` XGBoost itself computes the values, and they add up.
# Seen on Python 3.11 with XGBoost 3.2.0. For background rows give `model.predict` to the explainers
# Exact or Permutation of shap.explainers.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/dart.py" <<'PYTHON'
from importlib.metadata import version

import numpy as np
import shap
from sklearn.datasets import load_diabetes
from xgboost import XGBRegressor

print("shap", version("shap"), "XGBoost", version("xgboost"))
rows, y = load_diabetes(return_X_y=True)
background, explained = rows[:100], rows[:20]


def errors(explainer, model):
    """Largest error of the sums, and the error of expected_value against the background's mean."""
    values = explainer.shap_values(explained)
    sums = values.sum(axis=1) + explainer.expected_value
    mean = model.predict(background).mean()
    print(f"  mean {mean:.1f} expected {explainer.expected_value:.1f}", end="")
    print(f"  prediction {model.predict(explained)[0]:.1f} sum {sums[0]:.1f}")
    return np.abs(sums - model.predict(explained)).max(), abs(explainer.expected_value - mean)


for rate in (0.0, 0.1, 0.5):
    model = XGBRegressor(
        n_estimators=30, max_depth=3, booster="dart", rate_drop=rate, n_jobs=1, random_state=0
    ).fit(rows, y)
    print("rate_drop", rate)
    sums, mean = errors(shap.TreeExplainer(model, background), model)
    if rate:
        assert sums > 10, "shap has changed"
        assert mean > 10, "shap has changed"
    else:
        assert max(sums, mean) < 1e-2
    assert errors(shap.TreeExplainer(model), model)[0] < 1e-2

few, row = background[:10], explained[:1]
exact = shap.explainers.Exact(model.predict, shap.maskers.Independent(few))
right = exact(row, silent=True).values[0]
wrong = shap.TreeExplainer(model, few).shap_values(row)[0]
print("exact, ten background rows ", right.round(1))
print("TreeExplainer, the same    ", wrong.round(1))
assert abs(right.sum() + model.predict(few).mean() - model.predict(row)[0]) < 1e-2
assert np.abs(right - wrong).max() > 10, "shap has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet shap==0.51.0 xgboost==3.2.0 scikit-learn==1.7.2 \
    scipy==1.17.1 numpy==2.4.6
"$folder/venv/bin/python" "$folder/dart.py"
