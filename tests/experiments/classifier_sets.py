"""The tables of the comparison of classifiers: real ones, and made ones of stated difficulty.

None of them chose a default: those of `tests.experiments.default_choice` are others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets

from boostsample.experiments.data.datasets import load_dataset


class Table(NamedTuple):
    """All rows of a set: numbers (n, F), or a frame with categories; and their classes (n,)."""

    X: Any
    y: NDArray[Any]


Loader: TypeAlias = Callable[[str | None], Table]  # loads a set from a folder of data sets


class TableSet(NamedTuple):
    """A set by its title, how it is loaded, and the most rows of a split for training."""

    title: str
    load: Loader
    most_rows: int | None = None


def of_sklearn(load: Callable[..., Any], data_dir: str | None) -> Table:
    return Table(*load(return_X_y=True))


def of_files(name: str, data_dir: str | None) -> Table:
    data = load_dataset(name, data_dir=data_dir)
    return Table(np.asarray(data.X).reshape(len(data.X), -1), np.asarray(data.y))


def small_mnist(data_dir: str | None) -> Table:
    """MNIST, each four neighbouring pixels as their mean."""
    images = np.asarray(load_dataset("mnist", data_dir=data_dir).X, np.float32)
    means = images.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4))
    return Table(means.reshape(len(means), -1), of_files("mnist", data_dir).y)


def bladder(data_dir: str | None) -> Table:
    """Expression of 22,283 genes in 57 biopsies of three kinds."""
    arrays = np.load(Path(str(data_dir)) / "wide" / "bladder.npz")
    return Table(arrays["X"], arrays["y"])


def genotypes(data_dir: str | None) -> Table:
    """28,501 variants of 1,000 people, cases and controls; 9 is missing."""
    arrays = np.load(Path(str(data_dir)) / "wide" / "genotypes.npz")
    alleles = arrays["G"].astype(np.float32)
    alleles[arrays["G"] == 9] = np.nan
    return Table(alleles, arrays["case"])


def clusters(n: int, d: int, useful: int, classes: int, **settings: Any) -> Table:
    """Gaussian clusters at the corners of a cube; the other columns are noise, in random order."""
    defaults = {"n_redundant": 0, "n_clusters_per_class": 3, "class_sep": 1.2, "flip_y": 0.0}
    X, y = datasets.make_classification(
        n, useful, n_informative=useful, n_classes=classes, random_state=70 + d + classes,
        **{**defaults, **settings},
    )  # fmt: skip
    rng = np.random.default_rng(n + d)
    wide = rng.standard_normal((n, d), np.float32)
    wide[:, rng.permutation(d)[:useful]] = X / X.std(axis=0)
    return Table(wide, y)


def additive(data_dir: str | None) -> Table:
    """The first function of Friedman, above or below its median with noise; ten columns."""
    X, target = datasets.make_friedman1(3000, 10, noise=2.0, random_state=73)
    return Table(X, (target > np.median(target)).astype(int))


def linear(data_dir: str | None) -> Table:
    """A logistic regression on thirty correlated columns."""
    rng = np.random.default_rng(74)
    X = rng.standard_normal((2500, 30)) @ (np.eye(30) + 0.3 * rng.standard_normal((30, 30)))
    logits = X @ rng.standard_normal(30) / 3.0
    return Table(X, (rng.random(2500) < 1.0 / (1.0 + np.exp(-logits))).astype(int))


def customers(data_dir: str | None) -> Table:
    """Numbers with a long tail, categories of 2 to 40 values, a tenth missing; a fifth leave."""
    rng, n = np.random.default_rng(75), 5000
    plan = rng.choice(["basic", "plus", "pro"], n, p=[0.5, 0.3, 0.2])
    town = rng.integers(0, 40, n)
    pays = rng.choice(["card", "transfer", "cheque", "cash"], n)
    months, calls = rng.gamma(2.0, 12.0, n), rng.poisson(1.5, n)
    price = rng.lognormal(3.0, 0.5, n) * (1.0 + 0.5 * (plan == "pro"))
    of_town = rng.normal(0.0, 0.7, 40)[town]
    logits = -2.2 + 0.5 * calls - 0.04 * months + 0.02 * price + of_town
    logits += 0.9 * ((plan == "basic") & (pays == "cheque")) - 0.6 * (plan == "plus")
    frame = pd.DataFrame(
        {
            "plan": plan,
            "town": [f"town {k}" for k in town],
            "pays": pays,
            "months": months,
            "calls": calls.astype(float),
            "price": price,
            **{f"noise {k}": rng.standard_normal(n) for k in range(6)},
        }
    )
    for name in ("plan", "town", "pays"):
        frame[name] = frame[name].astype("category")
    hidden = rng.random(frame.shape) < 0.1
    return Table(frame.mask(hidden), (rng.random(n) < 1.0 / (1.0 + np.exp(-logits))).astype(int))


def made(n: int, d: int, useful: int, classes: int, **settings: Any) -> Loader:
    return lambda data_dir: clusters(n, d, useful, classes, **settings)


def real(name: str) -> Loader:
    return lambda data_dir: of_files(name, data_dir)


SETS: dict[str, TableSet] = {
    "breast-cancer": TableSet(
        "breast cancer", functools.partial(of_sklearn, datasets.load_breast_cancer)
    ),
    "wine": TableSet("wine", functools.partial(of_sklearn, datasets.load_wine)),
    "digits": TableSet("digits, 64 pixels", functools.partial(of_sklearn, datasets.load_digits)),
    "pendigits": TableSet("Pendigits", real("pendigits")),
    "letter": TableSet("Letter", real("letter")),
    "usps": TableSet("USPS, 256 pixels, 2,000 images", real("usps"), 2000),
    "mnist": TableSet("MNIST, 14 x 14 pixels, 1,500 images", small_mnist, 1500),
    "bladder": TableSet("bladder, 57 rows, 22,283 genes", bladder),
    "genotypes": TableSet("genotypes, 1,000 rows, 28,501 variants", genotypes),
    "noise-0": TableSet("20 columns, labels without noise", made(4000, 20, 8, 2)),
    "noise-10": TableSet("20 columns, 10 % label noise", made(4000, 20, 8, 2, flip_y=0.2)),
    "noise-20": TableSet("20 columns, 20 % label noise", made(4000, 20, 8, 2, flip_y=0.4)),
    "rare-1": TableSet("30 columns, 1 % positives", made(6000, 30, 8, 2, weights=[0.99])),
    "rare-3": TableSet("30 columns, 3 % positives", made(6000, 30, 8, 2, weights=[0.97])),
    "rare-10": TableSet("30 columns, 10 % positives", made(6000, 30, 8, 2, weights=[0.9])),
    "columns-500": TableSet("500 columns, 20 useful", made(2000, 500, 20, 2, class_sep=1.0)),
    "columns-20000": TableSet("20,000 columns, 20 useful", made(600, 20_000, 20, 2)),
    "classes-12": TableSet("24 columns, 12 classes", made(4000, 24, 16, 12)),
    "additive": TableSet("an additive function of 10 columns", additive),
    "linear": TableSet("a linear function of 30 columns", linear),
    "customers": TableSet("customers: categories, a tenth missing", customers),
}
