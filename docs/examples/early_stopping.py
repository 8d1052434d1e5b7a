"""
Early stopping and the error after each round
=============================================

`early_stopping=True` holds out rows and keeps the number of rounds with the best smoothed metric on
them, here the error. `staged_predict` yields the predictions of any smaller number of rounds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from boostsample import BoostSampleClassifier

X, y = make_classification(4_000, 30, n_informative=8, flip_y=0.1, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# Two fits
# --------
# Early stopping scores 20 % of the training rows. Training stops at twice the best number of
# rounds, but not before 100.

long = BoostSampleClassifier(learner="stump", n_rounds=1_500, random_state=0)
long.fit(X_train, y_train)
stopped = BoostSampleClassifier(
    learner="stump",
    n_rounds=1_500,
    early_stopping=True,
    eval_metric="error",
    validation_fraction=0.2,
    random_state=0,
)
stopped.fit(X_train, y_train)
print(f"kept {stopped.n_rounds_} rounds, error {1 - stopped.score(X_test, y_test):.1%}")
print(f"all {long.n_rounds_} rounds, error {1 - long.score(X_test, y_test):.1%}")

# %%
# The errors of all rounds
# ------------------------
# `validation_error_` has the error on the rows that were held out, in percent.

test = [100 * np.mean(labels != y_test) for labels in long.staged_predict(X_test)]

figure, axes = plt.subplots(layout="constrained")
axes.semilogx(1 + np.arange(len(test)), test, label="test error of the long fit")
held_out = stopped.validation_error_
axes.semilogx(1 + np.arange(len(held_out)), held_out, label="held-out error of the other")
axes.axvline(stopped.n_rounds_, color="grey", linestyle=":", label="rounds that it keeps")
axes.set(xlabel="rounds", ylabel="error in percent", title="5 % of the labels are wrong")
axes.legend()
