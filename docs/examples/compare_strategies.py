"""
Strategies at equal looks
=========================

A round of one strategy may cost a hundred times as much as a round of another. This example draws
the loss against the looks that the searches have read: feature values of examples.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from boostsample import FeatureBank, boost
from boostsample.families import families_for
from boostsample.labels import encode

# %%
# Features of the images, and labels
# ----------------------------------
# `boost` is the loop itself, a generator of rounds. It takes a bank of features and a matrix of
# labels, +1 or -1.

digits = load_digits()
images = digits.images.astype(np.uint8)
bank = FeatureBank.build(families_for(images.shape[1:]), images)
labels = encode(digits.target, 10)
print(f"{bank.n_features} features of {bank.n_examples} images")

# %%
# Four strategies
# ---------------
# `full` searches every feature on every image; the others have a budget of 10 N looks per round.

STRATEGIES = {"full": 20, "uniform-naive": 300, "ucb": 300, "laminating": 300}

figure, axes = plt.subplots(layout="constrained")
for strategy, n_rounds in STRATEGIES.items():
    looks, loss = [], []
    for done in boost(bank, None, labels, strategy, n_rounds=n_rounds, rng=0):
        looks.append(sum(row["looks_search"] for row in done.rows))
        loss.append(np.sqrt(1 - done.edge**2))
    axes.loglog(np.cumsum(looks), np.cumprod(loss), label=strategy)
axes.set(xlabel="looks", ylabel="loss", title="Loss at equal looks, not at equal rounds")
axes.legend()

# %%
# ``boostsample compare`` does this with repetitions, test errors and tables.
