#!/usr/bin/env bash
# Orange 3.40.0: ThresholdLearner picks thresholds that depend on the order of equal scores.
#
# It documents the optimal decision threshold for accuracy or F1 on the training data. It takes the
# maximum of `Curves.ca()`, documented as the accuracy if a row is positive when its probability is
# at least `probs[i]`. The curve has one point per row: among rows of equal probability it counts
# those before i as negative and the others as positive, which no threshold does. Trees, small
# ensembles and nearest neighbours have few distinct probabilities. scikit-learn's breast cancer,
# 285 rows for training in 60 random orders, 284 for testing; the fitted trees are the same:
#                        best accuracy on training rows   orders with a     test accuracy
#                        by the curve   of any threshold  worse threshold   worst   at 0.5
#   stump                    0.933            0.926              6          0.620   0.912
#   tree of depth 2          0.968            0.954             32          0.898   0.926
#   AdaBoost, 3 stumps       0.972            0.961             29          0.915   0.951
# There is no error or warning. The widget Calibration Plot draws these curves, and the widget
# Calibrated Learner uses the thresholds by default. Seen on Python 3.11 with scikit-learn 1.9.1.
# Use scikit-learn's TunedThresholdClassifierCV.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/thresholds.py" <<'PYTHON'
import numpy as np
import Orange
from Orange.classification import SklTreeLearner
from Orange.classification.calibration import ThresholdLearner
from Orange.data import ContinuousVariable, DiscreteVariable, Domain, Table
from Orange.ensembles import SklAdaBoostClassificationLearner
from Orange.evaluation.performance_curves import Curves
from sklearn.datasets import load_breast_cancer

N_TRAIN, N_ORDERS = 285, 60
X, y = load_breast_cancer(return_X_y=True)
features = [ContinuousVariable(f"feature{i}") for i in range(X.shape[1])]
domain = Domain(features, DiscreteVariable("class", values=("malignant", "benign")))
generator = np.random.default_rng(0)
rows = generator.permutation(len(y))


def table(rows):
    return Table.from_numpy(domain, X[rows], y[rows].astype(float))


def accuracy(model, data, threshold):
    return ((model(data, model.Probs)[:, 1] >= threshold) == data.Y).mean()


def orders(learner):
    test = table(rows[N_TRAIN:])
    results = []
    for _ in range(N_ORDERS):
        train = table(generator.permutation(rows[:N_TRAIN]))
        chosen = ThresholdLearner(learner)(train)
        tree = chosen.base_model
        probabilities = tree(train, tree.Probs)[:, 1]
        results.append([
            Curves(train.Y, probabilities).ca().max(),
            max(accuracy(tree, train, threshold) for threshold in [*np.unique(probabilities), 2]),
            accuracy(tree, train, chosen.threshold),
            (chosen(test) == test.Y).mean(),
            accuracy(tree, test, 0.5),
            chosen.threshold,
        ])
    return np.array(results)


print("Orange", Orange.__version__)
stump = SklTreeLearner(max_depth=1, random_state=0)
learners = {
    "stump": stump,
    "tree of depth 2": SklTreeLearner(max_depth=2, random_state=0),
    "AdaBoost, 3 stumps": SklAdaBoostClassificationLearner(stump, n_estimators=3, random_state=0),
}
for name, learner in learners.items():
    results = orders(learner)
    curve, attainable, train, test, plain, threshold = results.T
    assert np.ptp(attainable) == 0 and np.ptp(plain) == 0, "orders change the trees"
    worse = (train < attainable - 1e-9).sum()
    worst = test.argmin()
    print(
        f"{name:20} curve {curve.max():.3f}, attainable {attainable[0]:.3f}, {worse} orders worse: "
        f"test {test[worst]:.3f} at {threshold[worst]:.3f}, {plain[0]:.3f} at 0.5"
    )
    assert curve.max() > attainable[0] + 1e-9 and worse > 0, "Orange has changed"
    assert test[worst] < plain[0] - 0.02, "Orange has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet orange3==3.40.0 scikit-learn==1.9.1 scipy==1.17.1 \
    numpy==2.3.5 pandas==2.3.3
"$folder/venv/bin/python" -W ignore "$folder/thresholds.py"
