"""
Families of image features
==========================

Images get ten families of features by default. This example draws what four of them read, and which
of them a model uses.
"""

# %%
# What a family reads
# -------------------
# Each panel has one member of a family, drawn over an image.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from boostsample import BoostSampleClassifier
from boostsample.experiments.plots.family_members import members_figure
from boostsample.families import families_for

digits = load_digits()
images = digits.images.astype("uint8")
families = families_for(images.shape[1:])
figure = members_figure(families[:4], images[3])

# %%
# Which families the stumps come from
# -----------------------------------
# `families=None`, the default, takes all of them for images.

split = train_test_split(images, digits.target, stratify=digits.target, random_state=0)
X_train, X_test, y_train, y_test = split
model = BoostSampleClassifier("laminating", "stump", n_rounds=200, random_state=0).fit(
    X_train, y_train
)
print(f"test accuracy {model.score(X_test, y_test):.3f}")

shares = {family.name: 0.0 for family in families}
for row in model.history_:
    shares[row["family"]] += 1 / len(model.history_)

figure, axes = plt.subplots(layout="constrained")
names = sorted(shares, key=shares.get)
axes.barh(names, [shares[name] for name in names])
axes.set(xlabel="share of the stumps", title="Families of the chosen features")

# %%
# The pixels alone
# ----------------
# Families are chosen by name, as on the command line.

pixels = BoostSampleClassifier(
    "laminating", "stump", families="identity", n_rounds=200, random_state=0
)
pixels.fit(X_train, y_train)
print(f"test accuracy of pixels {pixels.score(X_test, y_test):.3f}")
