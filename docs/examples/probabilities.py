"""
Probabilities and their calibration
===================================

`predict_proba` follows from the exponential loss. Scores grow with every stump, so probabilities
after many stumps are too close to 0 and 1, here on data with 5 % wrong labels. A temperature
corrects them.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from boostsample import BoostSampleClassifier

X, y = make_classification(4_000, 30, n_informative=8, n_redundant=2, flip_y=0.1, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# Two lengths of training, and a temperature
# ------------------------------------------
# By default the logits are divided by a number that follows from the model by a rule;
# `calibration="temperature"` fits this number to a fifth of the training rows.

MODELS = {
    "50 stumps": BoostSampleClassifier(
        learner="stump", n_rounds=50, calibration=None, random_state=0
    ),
    "1,000 stumps": BoostSampleClassifier(
        learner="stump", n_rounds=1_000, calibration=None, random_state=0
    ),
    "1,000, rule": BoostSampleClassifier(learner="stump", n_rounds=1_000, random_state=0),
    "1,000, temperature": BoostSampleClassifier(
        learner="stump",
        n_rounds=1_000,
        calibration="temperature",
        validation_fraction=0.2,
        random_state=0,
    ),
}

figure, axes = plt.subplots(layout="constrained")
for name, model in MODELS.items():
    model.fit(X_train, y_train)
    loss = log_loss(y_test, model.predict_proba(X_test))
    label = f"{name}: error {1 - model.score(X_test, y_test):.1%}, log loss {loss:.2f}"
    CalibrationDisplay.from_estimator(model, X_test, y_test, n_bins=8, name=label, ax=axes)
axes.set(title="Share of positive rows at each predicted probability")

# %%
# scikit-learn's ``CalibratedClassifierCV`` takes the classifier, too.
