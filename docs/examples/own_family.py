"""
Your own family of features
===========================

A family names features, which is cheap, and computes the values of those that a strategy asks for.
Here: the differences of any two columns of a table.
"""

# %%
# The family
# ----------
# `compute` returns the values of the wanted features only, for any rows.

import matplotlib.pyplot as plt
import numpy as np

from boostsample import BoostSampleClassifier
from boostsample.family import Family, check_examples
from boostsample.testing import check_family


class Differences(Family):
    """Column b minus column a, for all a < b."""

    def __init__(self, n_columns: int) -> None:
        self.n_columns = n_columns
        self.name = "differences"
        self._first, self._second = np.triu_indices(n_columns, 1)
        self.n_features = len(self._first)

    def feature_name(self, feature):
        index = self.check_feature(feature)
        return f"column {self._second[index]} - column {self._first[index]}"

    def compute(self, X, features):
        wanted = self.check_features(features)
        columns = check_examples(X, (self.n_columns,), self.name).T
        values = columns[self._second[wanted]].astype(np.float32)
        return (values - columns[self._first[wanted]].astype(np.float32)).T


# %%
# These are the checks that every family here passes.

check_family(Differences(5), np.random.default_rng(0).normal(size=(40, 5)))

# %%
# Where it helps
# --------------
# The class depends on whether column 3 is larger than column 7. Stumps on single columns can only
# approach the diagonal by stairs; one difference is enough.

rng = np.random.default_rng(0)
X = rng.normal(size=(2_000, 20)).astype(np.float32)
y = X[:, 3] > X[:, 7]

figure, axes = plt.subplots(layout="constrained")
for name, families in {
    "columns": ["columns"],
    "columns and differences": ["columns", Differences(20)],
}.items():
    model = BoostSampleClassifier(
        "uniform-naive", "stump", families=families, n_rounds=100, random_state=0
    )
    model.fit(X[:1_000], y[:1_000])
    error = 1 - model.score(X[1_000:], y[1_000:])
    edges = np.array([row["edge"] for row in model.history_])
    loss = np.cumprod(np.sqrt(1 - edges**2))
    axes.plot(np.arange(1, len(loss) + 1), loss, label=f"{name}: error {error:.1%}")
axes.set(xlabel="stumps", ylabel="loss", title="Loss of the training rows")
axes.legend()

# %%
# The family of each stump is in the history. Features are numbered through all families: the 20
# columns come first.

best = max(model.history_, key=lambda row: row["edge"])
print(best["family"], "|", Differences(20).feature_name(best["feature"] - 20))
