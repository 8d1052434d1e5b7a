"""
A model of trees, stopped early, saved and loaded
=================================================

A fitted classifier is saved as one file: arrays and JSON with a checksum, never a pickle. Loading
it gives a classifier that predicts the same, to the bit.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import RocCurveDisplay
from sklearn.model_selection import train_test_split

from boostsample import BoostSampleClassifier

data = load_breast_cancer(as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, stratify=data.target, random_state=0
)
model = BoostSampleClassifier(
    learner="tree:n_leaves=4", n_rounds=300, early_stopping=True, random_state=0
)
model.fit(X_train, y_train)

# %%
# Save and load
# -------------

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "cancer.bsm"
    model.save(path)
    loaded = BoostSampleClassifier.load(path)
    print(f"{path.stat().st_size:,} bytes for {loaded.n_rounds_} trees")

np.testing.assert_array_equal(loaded.decision_function(X_test), model.decision_function(X_test))

# %%
# What was loaded
# ---------------
# The columns of the data frame keep their names, and are checked at prediction.

print(loaded.feature_names_in_[:3])
RocCurveDisplay.from_estimator(loaded, X_test, y_test, name="loaded model")
plt.title("Breast cancer, rows that were not used for training")
