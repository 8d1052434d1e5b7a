"""
Probabilities and their calibration
===================================

`predict_proba` follows from the exponential loss. Scores grow with every stump, so that
probabilities after many stumps are too near to 0 and 1, here on data of which a tenth of the labels
is wrong. A calibration on rows that were not used for training corrects them.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from boostsample import BoostSampleClassifier

X, y = make_classification(4_000, 30, n_informative=8, n_redundant=2, flip_y=0.1, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# Two lengths of training, and scikit-learn's calibration
# -------------------------------------------------------
# scikit-learn's tools take the classifier as any other.

short = BoostSampleClassifier(n_rounds=50, random_state=0)
long = BoostSampleClassifier(n_rounds=1_000, random_state=0)
calibrated = CalibratedClassifierCV(long, method="sigmoid", cv=3)

figure, axes = plt.subplots(layout="constrained")
for name, model in {
    "50 stumps": short,
    "1,000 stumps": long,
    "1,000, calibrated": calibrated,
}.items():
    model.fit(X_train, y_train)
    loss = log_loss(y_test, model.predict_proba(X_test))
    label = f"{name}: error {1 - model.score(X_test, y_test):.1%}, log loss {loss:.2f}"
    CalibrationDisplay.from_estimator(model, X_test, y_test, n_bins=8, name=label, ax=axes)
axes.set(title="Share of positive rows at each predicted probability")
