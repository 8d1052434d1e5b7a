"""Sets with many more columns than rows, real and made, for the wide benchmark: docs/WIDE.md.

    python -m tests.experiments.wide_sets news.svm

writes a sparse table of the shape of news20 as a file of the svmlight format.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import train_test_split

from boostsample.experiments.data.datasets import load_dataset
from tests.experiments import classifier_sets

N_TEST = 500  # test rows of made dense tables
LINKED = 0.5  # squared correlation from which a variant stands for another one

Labels = NDArray[np.int64]
Columns = NDArray[np.int64]


class WideSplit(NamedTuple):
    """Training and test rows: float32 (n, d), dense or CSR, labels 0, 1, ... (n,).

    `useful` are the columns that made the labels, ascending, or None if nobody knows them.
    """

    X: Any
    y: Labels
    X_test: Any
    y_test: Labels
    useful: Columns | None = None


class WideSet(NamedTuple):
    """A set by its title, and how a split of it is drawn.

    Sets of the same `table` differ in labels only: what a method costs is the same. With `linked`,
    columns that are correlated with a useful one stand for it.
    """

    title: str
    table: str
    draw: Callable[[str | None, int], WideSplit]
    linked: bool = False


def split_rows(
    X: Any, y: Labels, seed: int, useful: Columns | None, **sizes: int | float
) -> WideSplit:
    train, test = train_test_split(np.arange(len(y)), random_state=seed, stratify=y, **sizes)
    return WideSplit(X[train], y[train], X[test], y[test], useful)


def bladder(data_dir: str | None, seed: int) -> WideSplit:
    """Expression of 22,283 genes in 57 biopsies of three kinds."""
    X, y = classifier_sets.bladder(data_dir)
    return split_rows(X.astype(np.float32), y, seed, None, test_size=0.25)


def phenotypes(data_dir: str | None, seed: int, n_causal: int, heritability: float) -> WideSplit:
    """The genotypes with cases that are drawn anew for each seed."""
    alleles = classifier_sets.genotypes(data_dir).X
    y, causal = liability_labels(alleles, n_causal, heritability, seed)
    return split_rows(alleles, y, seed, causal, test_size=0.25)


def liability_labels(
    alleles: NDArray[np.float32], n_causal: int, heritability: float, seed: int
) -> tuple[Labels, Columns]:
    """The half of the people with the higher liability, and the causal variants.

    The liability is a sum of standardised variants with normal effects, of variance `heritability`,
    and of normal noise of variance 1 - `heritability`. Causal variants have a minor allele in at
    least 5 % of the chromosomes.
    """
    rng = np.random.default_rng([seed, n_causal, round(100 * heritability)])
    frequency = np.nanmean(alleles, axis=0) / 2
    common = np.flatnonzero(np.minimum(frequency, 1 - frequency) >= 0.05)
    causal = np.sort(rng.choice(common, n_causal, replace=False))
    genetic = standardized(alleles[:, causal]) @ rng.standard_normal(n_causal)
    genetic *= np.sqrt(heritability) / genetic.std()
    liability = genetic + np.sqrt(1 - heritability) * rng.standard_normal(len(alleles))
    return (liability > np.median(liability)).astype(np.int64), causal


def standardized(columns: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Columns of mean 0 and variance 1; missing values and constant columns are 0."""
    centred = columns.astype(np.float64) - np.nanmean(columns, axis=0)
    scale = np.nanstd(columns, axis=0, dtype=np.float64)
    return np.asarray(np.nan_to_num(centred / np.where(scale > 0, scale, 1.0)), np.float64)


def additive(
    data_dir: str | None, seed: int, n: int, d: int, n_useful: int, shift: float
) -> WideSplit:
    """Normal columns, independent within a class; the means of useful ones differ by `shift`."""
    rng = np.random.default_rng([seed, n, d, n_useful])
    y = alternating(n + N_TEST)
    X = rng.standard_normal((len(y), d), np.float32)
    useful = np.sort(rng.choice(d, n_useful, replace=False))
    X[:, useful] += np.float32(shift) * (y[:, None] - np.float32(0.5))
    return WideSplit(X[:n], y[:n], X[n:], y[n:], useful)


def products(
    data_dir: str | None,
    seed: int,
    n: int,
    d: int,
    n_useful: int,
    shift: float,
    correlation: float,
) -> WideSplit:
    """`additive`, with a correlation in each pair of useful columns that the class turns round.

    In class 1 the correlations of the pairs (u, v) are c, -c, c, ..., in class 0 they are -c, c,
    -c, ... The log odds are a sum over the pairs, with s = 1, -1, 1, ...:

        (shift (u + v) + 2 s c (u v + shift^2 / 4)) / (1 - c^2)
    """
    rng = np.random.default_rng([seed, n, d, n_useful, 1])
    y = alternating(n + N_TEST)
    X = rng.standard_normal((len(y), d), np.float32)
    useful = np.sort(rng.choice(d, n_useful, replace=False))
    first, second = rng.permutation(useful).reshape(2, -1)
    signs = np.resize([1, -1], len(first))
    correlations = np.float32(correlation) * np.outer(2 * y - 1, signs).astype(np.float32)
    rest = np.float32(np.sqrt(1 - correlation**2))
    X[:, second] = correlations * X[:, first] + rest * X[:, second]
    X[:, useful] += np.float32(shift) * (y[:, None] - np.float32(0.5))
    return WideSplit(X[:n], y[:n], X[n:], y[n:], useful)


def alternating(n: int) -> Labels:
    """Labels 0, 1, 0, 1, ..."""
    return np.arange(n) % 2


def counts(
    data_dir: str | None,
    seed: int,
    n: int,
    d: int,
    per_row: float,
    n_useful: int = 200,
    ratio: float = 3.0,
    n_test: int | None = None,
) -> WideSplit:
    """Words of documents: a CSR matrix of float32, Zipf's law for columns, lengths that vary.

    Useful columns are drawn among the 50th to the 2,000th most frequent; half of them have `ratio`
    times the rate in class 1, the others in class 0. The n_test test rows are n / 4 by default.
    """
    rng = np.random.default_rng([seed, n, d])
    n_test = n // 4 if n_test is None else n_test
    y = alternating(n + n_test)
    column_of_rank = rng.permutation(d)
    ranks = np.sort(rng.choice(np.arange(50, min(2000, d)), n_useful, replace=False))
    rates = np.tile(1.0 / (10.0 + np.arange(d)), (2, 1))
    more_in_1 = rng.permutation(np.resize([True, False], n_useful))
    rates[0, ranks] *= np.where(more_in_1, ratio**-0.5, ratio**0.5)
    rates[1, ranks] *= np.where(more_in_1, ratio**0.5, ratio**-0.5)
    lengths = rng.poisson(per_row * rng.gamma(4.0, 0.25, len(y)))
    row = np.repeat(np.arange(len(y)), lengths)
    rank = np.empty(len(row), np.int64)
    for label in (0, 1):
        words = np.flatnonzero(y[row] == label)
        steps = np.cumsum(rates[label])
        rank[words] = np.searchsorted(steps, steps[-1] * rng.random(len(words)), side="right")
    ones = np.ones(len(row), np.float32)
    X = sparse.csr_matrix((ones, (row, column_of_rank[rank])), shape=(len(y), d))
    X.sum_duplicates()
    return WideSplit(X[:n], y[:n], X[n:], y[n:], np.sort(column_of_rank[ranks]))


def noisy_digits(data_dir: str | None, seed: int, n: int, n_test: int, n_noise: int) -> WideSplit:
    """Images of MNIST among columns of normal noise, in random order; the pixels are useful."""
    digits = load_dataset("mnist", data_dir=data_dir)
    y = np.asarray(digits.y).astype(np.int64)
    rows, rest = train_test_split(
        np.arange(len(y)), train_size=n, test_size=n_test, random_state=seed, stratify=y
    )
    rows = np.concatenate([rows, rest])
    pixels = np.asarray(digits.X).reshape(len(y), -1)[rows]
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((len(rows), pixels.shape[1] + n_noise), np.float32)
    places = rng.choice(X.shape[1], pixels.shape[1], replace=False)
    X[:, places] = pixels
    return WideSplit(X[:n], y[rows[:n]], X[n:], y[rows[n:]], np.sort(places))


def found(split: WideSplit, columns: Columns, linked: bool) -> int | None:
    """Useful columns among `columns`; with `linked`, also those that one of these stands for."""
    if split.useful is None:
        return None
    is_found = np.isin(split.useful, columns)
    if linked and len(columns):
        alleles = np.concatenate([split.X, split.X_test])
        of_useful, of_columns = standardized(alleles[:, split.useful]), alleles[:, columns]
        correlations = of_useful.T @ standardized(of_columns) / len(alleles)
        is_found |= (correlations**2 >= LINKED).any(axis=1)
    return int(is_found.sum())


def of_phenotypes() -> dict[str, WideSet]:
    return {
        f"genotypes-{n_causal}-{round(100 * heritability)}": WideSet(
            f"genotypes, {n_causal:,} causal, heritability {heritability}",
            "genotypes",
            functools.partial(phenotypes, n_causal=n_causal, heritability=heritability),
            linked=True,
        )
        for heritability in (0.5, 0.2)
        for n_causal in (10, 100, 1000)
    }


SMALL: dict[str, Any] = {"n": 600, "d": 200_000, "n_useful": 20}
LARGE: dict[str, Any] = {"n": 2000, "d": 200_000, "n_useful": 50}
SETS: dict[str, WideSet] = {
    "bladder": WideSet("bladder, 57 x 22,283", "bladder", bladder),
    **of_phenotypes(),
    "additive-600": WideSet(
        "additive, 600 x 200,000", "made-600", functools.partial(additive, **SMALL, shift=0.7)
    ),
    "products-600": WideSet(
        "products, 600 x 200,000",
        "made-600",
        functools.partial(products, **SMALL, shift=0.5, correlation=0.6),
    ),
    "counts": WideSet(
        "sparse counts, 16,000 x 1,000,000",
        "counts",
        functools.partial(counts, n=16_000, d=1_000_000, per_row=105.0),
    ),
    "digits": WideSet(
        "digits and noise, 2,000 x 100,784",
        "digits",
        functools.partial(noisy_digits, n=2000, n_test=1000, n_noise=100_000),
    ),
    "additive-2000": WideSet(
        "additive, 2,000 x 200,000", "made-2000", functools.partial(additive, **LARGE, shift=0.44)
    ),
    "products-2000": WideSet(
        "products, 2,000 x 200,000",
        "made-2000",
        functools.partial(products, **LARGE, shift=0.3, correlation=0.4),
    ),
}
"""Small tables first."""
TINY: dict[str, WideSet] = {
    "tiny": WideSet(
        "additive, 60 x 300", "tiny", functools.partial(additive, n=60, d=300, n_useful=5, shift=1)
    ),
    "tiny-counts": WideSet(
        "sparse counts, 200 x 1,000",
        "tiny-counts",
        functools.partial(counts, n=200, d=1000, per_row=50.0, n_useful=40),
    ),
}
"""To try the program."""


def write_svmlight(path: Path, X: sparse.csr_matrix, y: Labels) -> None:
    """Rows of a sparse table as text: labels, and columns from 1 on with five digits."""
    with path.open("w", encoding="ascii") as stream:
        for row, label in enumerate(y):
            at = slice(X.indptr[row], X.indptr[row + 1])
            pairs = zip((X.indices[at] + 1).tolist(), X.data[at].tolist(), strict=True)
            stream.write(f"{label} " + " ".join(map("%d:%.5g".__mod__, pairs)) + "\n")


def main(file: Path) -> None:
    """Write a table of the shape of news20: rows of length 1, labels -1 and 1."""
    split = counts(None, 0, n=20_000, d=1_355_191, per_row=515.0, n_test=0)
    lengths = np.sqrt(np.asarray(split.X.multiply(split.X).sum(axis=1)).ravel())
    split.X.data /= np.repeat(np.maximum(lengths, 1), np.diff(split.X.indptr)).astype(np.float32)
    write_svmlight(file, split.X, 2 * split.y - 1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
