"""
A wide table: which columns are useful
======================================

Of 10,000 columns, 30 have something to do with the class. A search reads a sample of the features
and examples, so a fit takes seconds, and the importances name the useful columns.
"""

import matplotlib.pyplot as plt
import numpy as np

from boostsample import BoostSampleClassifier

N, COLUMNS, USEFUL = 1_000, 10_000, 30

rng = np.random.default_rng(0)
X = rng.standard_normal((2 * N, COLUMNS), np.float32)
useful = rng.choice(COLUMNS, USEFUL, replace=False)
y = X[:, useful].sum(axis=1) > 0

# %%
# Fit
# ---
# A budget of 1,000 N looks per round is a tenth of the values of the table.

model = BoostSampleClassifier(
    "laminating:scheme=distinct", "stump", n_rounds=300, budget="1000N", random_state=0
)
model.fit(X[:N], y[:N])
print(f"test accuracy {model.score(X[N:], y[N:]):.2f}")

# %%
# The first columns by importance
# -------------------------------
# The importance of a column is its share in the decrease of the log loss.

order = np.argsort(-model.feature_importances_)
found = np.isin(order, useful)
print(f"{found[:30].sum()} of the first 30 columns are useful, {found[:100].sum()} of 100")

figure, axes = plt.subplots(layout="constrained")
axes.plot(1 + np.arange(200), np.cumsum(found[:200]))
axes.axhline(USEFUL, color="grey", linestyle=":")
axes.set(xlabel="columns, by importance", ylabel="useful ones among them", title="Columns found")
