#!/usr/bin/env bash
# shapiq 1.4.1: explanations of trees send missing values to the right at every split.
#
# LightGBM, and scikit-learn's trees and forests, learn for each split to which side missing values
# go. `TreeExplainer` documents support of these models, but compares each value with the threshold,
# and NaN is never below it. Shapley values and interactions of rows with missing values are those
# of other leaves, and do not add up to the prediction. 30 trees on scikit-learn's diabetes, where a
# fifth of the values is missing in two thirds of the rows. Predictions are 52 to 289; their largest
# difference from baseline plus values, in 30 rows of each kind:
#                                  complete rows   rows with missing values
#   LGBMRegressor                       0.0                 110.3
#   RandomForestRegressor               0.0                  99.3
#   LightGBM's own pred_contrib         0.0                   0.0
# 29 of the 30 rows are wrong. There is no error or warning. XGBoost's trees are read without the
# side as well. Seen on Python 3.11 with LightGBM 4.7.0 and scikit-learn 1.9.1. Use LightGBM's
# pred_contrib, and compare the sum of the values with the prediction for other models.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/missing.py" <<'PYTHON'
from importlib.metadata import version

import numpy as np
from lightgbm import LGBMRegressor
from shapiq import TreeExplainer
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

N_COMPLETE = 150
X, y = load_diabetes(return_X_y=True)
X = X.astype(np.float32).astype(float)  # scikit-learn's trees compare 32 bits
missing = np.random.default_rng(0).random(X.shape) < 0.2
missing[:N_COMPLETE] = False
X[missing] = np.nan
rows = np.concatenate([X[:30], X[N_COMPLETE : N_COMPLETE + 60]])
rows = np.concatenate([rows[:30], rows[np.isnan(rows).any(axis=1)][:30]])
complete, gaps = slice(0, 30), slice(30, 60)


def explain(model):
    explainer = TreeExplainer(model, index="SV", max_order=1)
    values = np.array([explainer.explain(row).get_n_order_values(1) for row in rows])
    return values, explainer.baseline_value


print("shapiq", version("shapiq"))
gradient = LGBMRegressor(n_estimators=30, n_jobs=1, verbose=-1).fit(X, y)
forest = RandomForestRegressor(30, random_state=0).fit(X, y)
for model in (gradient, forest):
    values, baseline = explain(model)
    errors = abs(values.sum(axis=1) + baseline - model.predict(rows))
    print(
        f"{type(model).__name__}: complete {errors[complete].max():.1f}, "
        f"missing {errors[gaps].max():.1f}, {(errors[gaps] > 1).sum()} of 30 rows differ"
    )
    assert errors[complete].max() < 1e-6
    assert errors[gaps].max() > 40 and (errors[gaps] > 1).sum() > 20, "shapiq has changed"

values, baseline = explain(gradient)
exact = gradient.predict(rows, pred_contrib=True)
assert np.allclose(exact.sum(axis=1), gradient.predict(rows))
assert np.allclose(exact[:, -1], baseline)
assert np.allclose(exact[complete, :-1], values[complete])
print(f"values of LightGBM and shapiq differ by {abs(exact[gaps, :-1] - values[gaps]).max():.1f}")
assert abs(exact[gaps, :-1] - values[gaps]).max() > 30, "shapiq has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet shapiq==1.4.1 lightgbm==4.7.0 scikit-learn==1.9.1 \
    scipy==1.17.1 numpy==2.4.6 pandas==2.3.3
"$folder/venv/bin/python" -W ignore "$folder/missing.py"
