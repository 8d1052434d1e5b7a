#!/usr/bin/env bash
# imodels 3.0.4: BoostedRulesClassifier, its AdaBoost, predicts wrongly unless labels are 0, 1, 2, ...
#
# It trains scikit-learn's AdaBoostClassifier on labels encoded as 0, 1, ... and then sets `classes_`
# to the user's. `decision_function` compares the encoded votes of the stumps with `classes_`, so that
# votes are lost or count for another class. There is no error. Accuracy on the training rows of
# scikit-learn's sets, the same trees each time:
#   breast cancer   0 and 1  0.988   1 and 2     0.373   -1 and 1    0.627   texts  0.373
#   iris            0 to 2   0.960   1 to 3      0.347   -1, 1, 3    0.333   texts  0.333
# FIGSClassifier of the package has the same accuracy with all labels. Seen on Python 3.11 with
# scikit-learn 1.6.1. Encode labels first, or use AdaBoostClassifier. `import imodels` also needs six,
# which the package does not require.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/labels.py" <<'PYTHON'
from importlib.metadata import version

import numpy as np
from imodels import BoostedRulesClassifier, FIGSClassifier
from sklearn.datasets import load_breast_cancer, load_iris

print("imodels", version("imodels"), "scikit-learn", version("scikit-learn"))
for load in (load_breast_cancer, load_iris):
    X, y = load(return_X_y=True)
    k = y.max() + 1
    of_labels = {}
    for labels in (np.arange(k), np.arange(k) + 1, 2 * np.arange(k) - 1, np.array([*"abc"])[:k]):
        Y = labels[y]
        model = BoostedRulesClassifier(random_state=0).fit(X, Y)
        accuracy = np.mean(model.predict(X) == Y)
        other = FIGSClassifier(random_state=0).fit(X, Y)
        print(labels, f"{accuracy:.3f}, FIGSClassifier {np.mean(other.predict(X) == Y):.3f}")
        of_labels[str(labels)] = accuracy
    right, *wrong = of_labels.values()
    assert right > 0.95, "imodels has changed"
    assert max(wrong) < 0.65, "imodels has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet imodels==3.0.4 scikit-learn==1.6.1 six==1.17.0
"$folder/venv/bin/python" -W ignore "$folder/labels.py"
