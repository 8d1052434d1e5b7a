#!/usr/bin/env bash
# LightGBM 4.7.0: gradient-based one-side sampling samples nothing in the first 1/learning_rate rounds.
#
# With data_sample_strategy="goss" each round before that is trained on all rows, without a message.
# scikit-learn's digits, odd or even, top_rate and other_rate 0.05, a tenth of the rows; scores of the
# training rows are equal to the bit to those without sampling until
#   learning_rate   rounds   first round whose scores differ
#            0.1        30         11
#            0.05       50         21
#            0.01      100        none
#            0.01      130        101
# So a comparison of GOSS with all rows at small steps and few rounds compares two equal models, and
# its seconds. Seen on Python 3.11. Count rows or rounds after the first 1/learning_rate only; with
# bagging_fraction and bagging_freq=1, rows are sampled from the first round on.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/rounds.py" <<'PYTHON'
from importlib.metadata import version

import lightgbm
import numpy as np
from sklearn.datasets import load_digits

X, y = load_digits(return_X_y=True)
GOSS = {"data_sample_strategy": "goss", "top_rate": 0.05, "other_rate": 0.05}
BAGGING = {"bagging_fraction": 0.1, "bagging_freq": 1}


def scores(learning_rate, n_rounds, **sampling):
    settings = {
        "objective": "binary",
        "learning_rate": learning_rate,
        "num_threads": 1,
        "deterministic": True,
        "seed": 1,
        "verbose": -1,
    }
    model = lightgbm.train(settings | sampling, lightgbm.Dataset(X, y % 2), n_rounds)
    return [model.predict(X, raw_score=True, num_iteration=k + 1) for k in range(n_rounds)]


def first_difference(learning_rate, n_rounds, sampling):
    pairs = zip(scores(learning_rate, n_rounds), scores(learning_rate, n_rounds, **sampling))
    equal = [np.array_equal(*pair) for pair in pairs]
    return None if all(equal) else equal.index(False) + 1


print("LightGBM", version("lightgbm"))
for learning_rate, n_rounds, expected in (
    (0.1, 30, 11),
    (0.05, 50, 21),
    (0.01, 100, None),
    (0.01, 130, 101),
):
    first = first_difference(learning_rate, n_rounds, GOSS)
    print(learning_rate, n_rounds, "rounds, first that differs:", first)
    assert first == expected, "LightGBM has changed"
first = first_difference(0.01, 10, BAGGING)
print("bagging, first that differs:", first)
assert first == 1, "LightGBM has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet lightgbm==4.7.0 scikit-learn==1.7.2
"$folder/venv/bin/python" "$folder/rounds.py"
