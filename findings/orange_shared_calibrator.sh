#!/usr/bin/env bash
# Orange 3.40.0: CalibratedLearner calibrates all classes with the curve of the last class.
#
# It documents sigmoid or isotonic calibration of the probabilities of any learner. It fits one
# object in turn to the probabilities of each class, and keeps that object for every class, as the
# last class left it. It also fits to the index of the class, 0, 1, 2, ..., in place of "is this
# class". scikit-learn's digits, half of the rows for training, naive Bayes; right is a curve for
# each class, fitted to the same probabilities:
#                                    accuracy   mean largest probability   Brier score
#   ten digits, not calibrated         0.904             0.978                0.160
#     Orange, sigmoid (default)        0.904             0.110                0.881
#     right                            0.905             0.924                0.166
#     Orange, isotonic                 0.904             0.189                0.741
#     right                            0.914             0.933                0.136
#   nine or not, not calibrated        0.925             0.978                0.125
#     Orange, sigmoid (default)        0.925             0.981                0.136
#     right                            0.952             0.938                0.085
# Of ten classes each gets about a tenth, whatever the digit. There is no error or warning. The
# widget Calibrated Learner uses this class. Seen on Python 3.11 with scikit-learn 1.9.1. Use
# scikit-learn's CalibratedClassifierCV.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/calibration.py" <<'PYTHON'
import numpy as np
import Orange
from Orange.classification import NaiveBayesLearner
from Orange.classification.calibration import CalibratedLearner
from Orange.data import ContinuousVariable, DiscreteVariable, Domain, Table
from sklearn.calibration import _SigmoidCalibration
from sklearn.datasets import load_digits
from sklearn.isotonic import IsotonicRegression

X, digit = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(digit))
train, test = np.split(order, [len(digit) // 2])
assert (CalibratedLearner.Sigmoid, CalibratedLearner.Isotonic) == (0, 1)
CALIBRATORS = (_SigmoidCalibration, lambda: IsotonicRegression(out_of_bounds="clip"))


def score(name, probabilities, y):
    correct = np.eye(probabilities.shape[1])[y]
    accuracy = (probabilities.argmax(axis=1) == y).mean()
    largest = probabilities.max(axis=1).mean()
    brier = ((probabilities - correct) ** 2).sum(axis=1).mean()
    print(f"{name:22} accuracy {accuracy:.3f}, largest {largest:.3f}, Brier score {brier:.3f}")
    return np.array([accuracy, largest, brier])


def compare(y):
    features = [ContinuousVariable(f"pixel{i}") for i in range(X.shape[1])]
    values = [str(label) for label in range(y.max() + 1)]
    domain = Domain(features, DiscreteVariable("class", values=values))
    table = Table.from_numpy(domain, X, y.astype(float))
    bayes = NaiveBayesLearner()(table[train])
    known = bayes(table[train], bayes.Probs)
    new = bayes(table[test], bayes.Probs)
    scores = [score("not calibrated", new, y[test])]
    for method, name in enumerate(("sigmoid", "isotonic")):
        model = CalibratedLearner(NaiveBayesLearner(), method)(table[train])
        assert len({id(calibrator) for calibrator in model.calibrators}) == 1, "Orange has changed"
        scores.append(score(f"Orange, {name}", model(table[test], model.Probs), y[test]))
        right = np.empty_like(new)
        for label in range(len(values)):
            calibrator = CALIBRATORS[method]()
            calibrator.fit(known[:, label], (y[train] == label).astype(float))
            right[:, label] = calibrator.predict(new[:, label])
        right /= right.sum(axis=1, keepdims=True)
        scores.append(score(f"right, {name}", right, y[test]))
    return np.array(scores).T


print("Orange", Orange.__version__)
accuracy, largest, brier = compare(digit)
assert accuracy.min() > 0.89
assert largest[[1, 3]].max() < 0.25 and largest[[0, 2, 4]].min() > 0.9, "Orange has changed"
assert brier[[1, 3]].min() > 0.7 and brier[[0, 2, 4]].max() < 0.2, "Orange has changed"
accuracy, largest, brier = compare((digit == 9).astype(int))
assert brier[1] > brier[0] > 1.3 * brier[2], "Orange has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet orange3==3.40.0 scikit-learn==1.9.1 scipy==1.17.1 \
    numpy==2.3.5 pandas==2.3.3
"$folder/venv/bin/python" -W ignore "$folder/calibration.py"
