#!/usr/bin/env bash
# contextualbandits 0.3.30: a second call of evaluateDoublyRobust with the same array is wrong.
#
# `evaluateDoublyRobust` values a new policy from the log of an old one (Dudik et al. 2011). It
# takes modelled rewards as an array with a column for the new arms and one for the logged arms. It
# adds the weighted residuals to the first column in place: each call leaves them in the caller's
# array, and the next call adds them once more. 20,000 rows, four arms, uniform propensities, true
# value 0.451; three calls with one array and three values of `pmin`, all below the propensities, so
# that the value should stay the same:
#   model       first   second   third   each with a copy
#   exact       0.458    0.466   0.474        0.458
#   0.08 low    0.459    0.547   0.634        0.459
#   0.15 high   0.458    0.315   0.172        0.458
# By default it also overwrites modelled rewards of exactly 0 or 1, in both columns, with random
# numbers. The docstring mentions these numbers, but not that the array changes. There is no error
# or warning. Seen on Python 3.11 with NumPy 2.4.6; pip compiles the package. Pass a copy.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/values.py" <<'PYTHON'
from importlib.metadata import version

import numpy as np
from contextualbandits.evaluation import evaluateDoublyRobust

N_ROWS, N_ARMS = 20_000, 4
rng = np.random.default_rng(0)
X = rng.uniform(size=(N_ROWS, 1))
means = 0.1 + 0.1 * np.arange(N_ARMS) + 0.2 * X
rows = np.arange(N_ROWS)
logged = rng.integers(N_ARMS, size=N_ROWS)
rewards = rng.binomial(1, means[rows, logged]).astype(float)
propensities = np.full(N_ROWS, 1 / N_ARMS)
new_arms = np.where(X[:, 0] < 0.5, 2, 3)
truth = means[rows, new_arms].mean()


def model(offset):
    """Modelled rewards of the new arms and of the logged ones."""
    return np.column_stack([means[rows, new_arms], means[rows, logged]]) + offset


def doubly_robust(estimates, pmin):
    weights = (new_arms == logged) / np.maximum(propensities, pmin)
    return np.mean(estimates[:, 0] + weights * (rewards - estimates[:, 1]))


def evaluate(estimates, pmin):
    return evaluateDoublyRobust(new_arms, X, logged, rewards, propensities, estimates, pmin=pmin)


print(f"contextualbandits {version('contextualbandits')}, true value {truth:.3f}")
print("model     call   pmin     same array    a copy    right")
for name, offset in (("exact", 0.0), ("0.08 low", -0.08), ("0.15 high", 0.15)):
    estimates = model(offset)
    for call, pmin in enumerate((1e-5, 1e-3, 1e-1), start=1):
        right = doubly_robust(model(offset), pmin)
        correction = right - model(offset)[:, 0].mean()
        copied = evaluate(model(offset), pmin)
        repeated = evaluate(estimates, pmin)
        print(f"{name:9}  {call}    {pmin:g}    {repeated:10.3f} {copied:10.3f} {right:8.3f}")
        assert np.isclose(copied, right) and abs(right - truth) < 0.02
        added_before = (call - 1) * correction
        assert np.isclose(repeated, right + added_before), "contextualbandits has changed"
    changed = (estimates != model(offset)).any(axis=0)
    assert changed.tolist() == [True, False], "contextualbandits has changed"
estimates = np.ones((N_ROWS, 2))
evaluate(estimates, 1e-5)
print(f"modelled rewards of 1 that stay 1: {(estimates == 1).sum()} of {estimates.size}")
assert not (estimates == 1).any(), "contextualbandits has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet contextualbandits==0.3.30 cython==3.3.1 numpy==2.4.6 \
    pandas==2.3.3 scipy==1.17.1 scikit-learn==1.9.1 joblib==1.6.0
"$folder/venv/bin/python" "$folder/values.py"
