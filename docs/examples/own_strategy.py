"""
Your own strategy in twenty lines
=================================

A strategy works through its `Step`: `draw` examples, `search` features on them, get unbiased
`edges` on another sample, `note` values for the history. Looks are charged before the work;
overspending raises `BudgetExceeded`.
"""

# %%
# The strategy
# ------------
# Two searches per round: many features on few examples, then the ten best on as many examples as
# the rest of the budget pays for.

import numpy as np

from boostsample.strategies import Step, Strategy, Stump
from boostsample.testing import check_strategy


class TwoStage(Strategy):
    """Search many features on few examples, then the ten best on as many as are left to pay for."""

    def __init__(self, n_features: int = 100) -> None:
        self.n_features = n_features

    def choose(self, step: Step) -> Stump:
        n = min(self.n_features, step.n_features, max(1, step.budget // 2))
        features = step.rng.choice(step.n_features, size=n, replace=False)
        first = step.search(features, step.draw(max(1, step.budget // (2 * n))))
        if step.remaining < 10:
            return first.best()
        best = first.feature[np.argsort(-first.edge)[:10]]
        return step.search(best, step.draw(step.remaining // best.size)).best()


# %%
# The checks
# ----------
# These are the checks that every strategy here passes: budget, reproducibility to the bit,
# pickling, one feature, two classes, multi-label targets, and more.

check_strategy(TwoStage)

# %%
# Comparison with others
# ----------------------
# An instance is enough for the classifier. All strategies have the same budget, the default of 10 N
# looks per round, on the same training images.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from boostsample import BoostSampleClassifier

X, y = load_digits(return_X_y=True)
images = X.reshape(-1, 8, 8)
X_train, X_test, y_train, y_test = train_test_split(images, y, stratify=y, random_state=0)

figure, axes = plt.subplots(layout="constrained")
for strategy in (TwoStage(), "uniform-naive", "laminating"):
    model = BoostSampleClassifier(strategy, "stump", n_rounds=150, random_state=0)
    model.fit(X_train, y_train)
    edge = np.array([row["edge"] for row in model.history_])
    error = 1 - model.score(X_test, y_test)
    name = strategy if isinstance(strategy, str) else "TwoStage"
    axes.semilogy(np.cumprod(np.sqrt(1 - edge**2)), label=f"{name}: error {error:.1%}")
axes.set(xlabel="stumps", ylabel="loss", title="Loss of the training images")
axes.legend()

# %%
# Other distributions register strategies by the entry-point group `boostsample.strategies`; then
# ``boostsample compare --strategies`` knows them by name.
