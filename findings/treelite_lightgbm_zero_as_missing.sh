#!/usr/bin/env bash
# treelite 4.8.1: LightGBM's models with zero_as_missing=True become models that predict otherwise.
#
# With this setting LightGBM learns for each split to which side zeros and NaN go, and ignores the
# threshold for them. `from_lightgbm` keeps the sides, but compares zeros with the thresholds, and
# NaN too, as zeros. Its documentation lists LightGBM as supported and does not mention the setting.
# Genotypes of 20 variants, the first with an effect that is not monotone; 667 rows to train 30
# trees, 333 to test:
#                           R2 of LightGBM   of treelite   largest difference   rows that differ
#   zeros are numbers           0.908           0.908             0.0                   0
#   zero_as_missing             0.903          -0.032             2.1                 309
#   NaN in place of zeros       0.903           0.903             0.0                   0
# There is no error or warning; m2cgen 0.10.0 refuses such models. Seen on Python 3.11 with LightGBM
# 4.7.0. No change of the rows helps: train without the setting on rows with NaN in place of zeros,
# and predict such rows. LightGBM's predictions are then equal to the bit.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/zeros.py" <<'PYTHON'
from importlib.metadata import version

import lightgbm
import numpy as np
from sklearn.metrics import r2_score
from treelite import gtil
from treelite.frontend import from_lightgbm

N_TRAINING = 667
QUIET = {"num_threads": 1, "verbose": -1}
random = np.random.default_rng(0)
genotypes = random.integers(0, 3, (1000, 20)).astype(float)
effects = np.array([2.0, 0.0, 1.0])[genotypes[:, 0].astype(int)]
y = effects + genotypes[:, 1] * (genotypes[:, 2] == 1) + 0.3 * random.normal(size=1000)
with_nan = np.where(genotypes == 0, np.nan, genotypes)


def read(model, rows):
    return gtil.predict(from_lightgbm(model), rows).ravel()


def compare(name, X, **settings):
    training = lightgbm.Dataset(X[:N_TRAINING], y[:N_TRAINING])
    model = lightgbm.train({**settings, **QUIET}, training, 30)
    rows, truth = X[N_TRAINING:], y[N_TRAINING:]
    right, converted = model.predict(rows), read(model, rows)
    errors = abs(converted - right)
    print(f"{name}: R2 of LightGBM {r2_score(truth, right):.3f}", end=", ")
    print(f"of treelite {r2_score(truth, converted):.3f}", end=", ")
    print(f"largest difference {errors.max():.1f}, {(errors > 1e-6).sum()} rows differ")
    return model, right, errors.max()


print("treelite", version("treelite"))
assert compare("zeros are numbers", genotypes)[2] < 1e-6
model, right, error = compare("zero_as_missing", genotypes, zero_as_missing=True)
assert error > 1, "treelite has changed"
rows = with_nan[N_TRAINING:]
assert np.array_equal(model.predict(rows), right)
assert abs(read(model, rows) - right).max() > 1, "treelite has changed"
_, same, error = compare("NaN in place of zeros", with_nan)
assert np.array_equal(same, right) and error < 1e-6
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet treelite==4.8.1 lightgbm==4.7.0 scikit-learn==1.9.1 \
    scipy==1.17.1 numpy==2.4.6
"$folder/venv/bin/python" "$folder/zeros.py"
