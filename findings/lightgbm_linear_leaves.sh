#!/usr/bin/env bash
# m2cgen 0.10.0 and onnxmltools 1.16.0 drop the linear models in LightGBM's linear trees.
#
# With linear_tree=True each leaf has a linear model of the features on its path, and a constant for
# rows with missing values. `Booster.dump_model` has both; the two converters read the constant,
# `leaf_value`, alone. Their predictions agree with each other and are those of another model.
# 30 trees, 667 rows of Friedman's data to train, 333 to test:
#                       R2 of LightGBM   of m2cgen   of onnxmltools   largest difference
#   constant leaves          0.899         0.899         0.899               0.0
#   linear leaves            0.920         0.850         0.850               3.7
# The README files list LightGBM and do not mention linear trees. There is no error or warning;
# treelite 4.8.1 refuses such models. Seen on Python 3.11 with LightGBM 4.7.0 and onnxruntime
# 1.32.0. Predict with LightGBM, or compare predictions after each conversion.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/leaves.py" <<'PYTHON'
from importlib.metadata import version

import m2cgen
import numpy as np
from lightgbm import LGBMRegressor
from onnxmltools import convert_lightgbm
from onnxmltools.convert.common.data_types import FloatTensorType
from onnxruntime import InferenceSession
from sklearn.datasets import make_friedman1
from sklearn.metrics import r2_score

X, y = make_friedman1(1000, noise=1.0, random_state=0)
X = X.astype(np.float32)
train, test = slice(0, 667), slice(667, None)


def from_m2cgen(model):
    names = {}
    exec(m2cgen.export_to_python(model), names)
    return np.array([names["score"](row) for row in X[test].astype(float)])


def from_onnx(model):
    inputs = [("X", FloatTensorType([None, X.shape[1]]))]
    onnx = convert_lightgbm(model, initial_types=inputs).SerializeToString()
    session = InferenceSession(onnx, providers=["CPUExecutionProvider"])
    return session.run(None, {"X": X[test]})[0].ravel()


def compare(linear):
    model = LGBMRegressor(
        n_estimators=30, linear_tree=linear, n_jobs=1, random_state=0, verbose=-1
    ).fit(X[train], y[train])
    predictions = [model.predict(X[test]), from_m2cgen(model), from_onnx(model)]
    scores = [r2_score(y[test], prediction) for prediction in predictions]
    differences = [abs(prediction - predictions[0]).max() for prediction in predictions[1:]]
    print(f"linear_tree={linear}: R2 {np.round(scores, 3)}, differences {np.round(differences, 2)}")
    assert np.allclose(predictions[1], predictions[2], atol=1e-3), "a converter has changed"
    return np.array(scores), np.array(differences)


for package in ("m2cgen", "onnxmltools", "lightgbm"):
    print(package, version(package))
scores, differences = compare(linear=False)
assert differences.max() < 1e-3 and scores.min() > 0.88
scores, differences = compare(linear=True)
assert scores[0] > 0.9 and scores[1:].max() < 0.87, "a converter has changed"
assert differences.min() > 1, "a converter has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet m2cgen==0.10.0 onnxmltools==1.16.0 lightgbm==4.7.0 \
    onnx==1.23.2 onnxruntime==1.32.0 skl2onnx==1.20.0 scikit-learn==1.9.1 scipy==1.17.1 \
    numpy==2.4.6 pandas==2.3.3
"$folder/venv/bin/python" -W ignore "$folder/leaves.py"
