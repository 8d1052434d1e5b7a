#!/usr/bin/env bash
# onnxmltools 1.16.0 divides the sum of LightGBM's random forests by 100, for any number of trees.
#
# LightGBM averages the trees of boosting_type="rf". `convert_lightgbm` has the constant 100, which is
# right for the default of n_estimators only, and forgets to divide if it is given a Booster. A
# regressor's prediction of the first row of scikit-learn's diabetes:
#   trees     LightGBM   ONNX of the regressor   ONNX of its booster_
#      10        219.1            21.9                  2190.8
#      50        208.6           104.3                 10429.9
#     100        212.4           212.4                 21236.9
#     200        210.8           421.7                 42167.0
# Of a classifier of two classes it divides the probabilities by 100: none is above 0.01, and all rows
# get the first class (breast cancer: accuracy 0.373 in place of 0.953). There is no error and no
# warning. Seen on Python 3.11 with LightGBM 4.7.0 and onnxruntime 1.32.0; boosted trees agree. Take
# m2cgen 0.10.0 for forests, whose code agrees, and compare scores after each conversion.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/forests.py" <<'PYTHON'
from importlib.metadata import version

import numpy as np
import onnxruntime
from lightgbm import LGBMClassifier, LGBMRegressor
from onnxmltools import convert_lightgbm
from onnxmltools.convert.common.data_types import FloatTensorType
from sklearn.datasets import load_breast_cancer, load_diabetes

FOREST = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
FIXED = {"num_leaves": 8, "n_jobs": 1, "verbose": -1}


def outputs(model, rows):
    types = [("rows", FloatTensorType([None, rows.shape[1]]))]
    converted = convert_lightgbm(model, initial_types=types, target_opset=15, zipmap=False)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(converted.SerializeToString(), options)
    return session.run(None, {"rows": rows})


print("onnxmltools", version("onnxmltools"), "LightGBM", version("lightgbm"))
rows, y = load_diabetes(return_X_y=True)
rows = rows.astype(np.float32)
for trees in (10, 50, 100, 200):
    forest = LGBMRegressor(n_estimators=trees, **FOREST, **FIXED).fit(rows, y)
    own = forest.predict(rows)
    converted = outputs(forest, rows)[0].ravel()
    booster = outputs(forest.booster_, rows)[0].ravel()
    print(f"{trees:4} trees {own[0]:10.1f} {converted[0]:10.1f} {booster[0]:10.1f}")
    assert np.allclose(converted, own * trees / 100, rtol=1e-4), "onnxmltools has changed"
    assert np.allclose(booster, own * trees, rtol=1e-4), "onnxmltools has changed"
boosted = LGBMRegressor(n_estimators=50, **FIXED).fit(rows, y)
assert np.allclose(outputs(boosted, rows)[0].ravel(), boosted.predict(rows), rtol=1e-4)

rows, y = load_breast_cancer(return_X_y=True)
rows = rows.astype(np.float32)
for trees in (10, 100):
    forest = LGBMClassifier(n_estimators=trees, **FOREST, **FIXED).fit(rows, y)
    labels, probabilities = outputs(forest, rows)
    print(f"{trees:4} trees, accuracy {forest.score(rows, y):.3f} {np.mean(labels == y):.3f}")
    assert forest.score(rows, y) > 0.9
    assert set(labels) == {0}, "onnxmltools has changed"
    assert probabilities[:, 1].max() < 0.011, "onnxmltools has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet onnxmltools==1.16.0 lightgbm==4.7.0 onnxruntime==1.32.0 \
    onnx==1.23.2 skl2onnx==1.20.0 scikit-learn==1.7.2 scipy==1.17.1 numpy==2.4.6
"$folder/venv/bin/python" "$folder/forests.py"
