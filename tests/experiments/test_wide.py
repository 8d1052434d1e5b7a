"""The wide benchmark: its sets, its linear classifiers, and the program that measures cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from bed_reader import open_bed
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.datasets import load_svmlight_file
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LogisticRegression

from tests.experiments import classifier_sets, wide_genotypes, wide_linear, wide_sets, wide_table
from tests.experiments.wide_sets import WideSplit

PRODUCTS: dict[str, Any] = {"n": 600, "d": 3000, "n_useful": 20, "shift": 0.5, "correlation": 0.6}


def additive(seed: int) -> WideSplit:
    return wide_sets.additive(None, seed, n=300, d=2000, n_useful=10, shift=0.7)


def products(seed: int) -> WideSplit:
    return wide_sets.products(None, seed, **PRODUCTS)


def counts(seed: int) -> WideSplit:
    return wide_sets.counts(None, seed, n=800, d=5000, per_row=200.0)


def digits(seed: int, data_dir: Path) -> WideSplit:
    return wide_sets.noisy_digits(str(data_dir), seed, n=300, n_test=100, n_noise=500)


def phenotypes(seed: int, data_dir: Path) -> WideSplit:
    return wide_sets.phenotypes(str(data_dir), seed, n_causal=10, heritability=0.5)


SPLITS = {
    "additive": (additive, (300, 2000), 10),
    "products": (products, (600, 3000), 20),
    "counts": (counts, (800, 5000), 200),
    "digits": (digits, (300, 1284), 784),
    "phenotypes": (phenotypes, (750, 28_501), 10),
}


def split_of(name: str, seed: int, request: pytest.FixtureRequest) -> WideSplit:
    draw: Any = SPLITS[name][0]
    folder = (request.getfixturevalue("data_dir"),) if name in ("digits", "phenotypes") else ()
    split: WideSplit = draw(seed, *folder)
    return split


def values(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else X


def error(train: Any, y: Any, test: Any, y_test: Any) -> float:
    centre, scale = np.nanmean(train, axis=0), np.nanstd(train, axis=0) + 1e-9
    train, test = (np.nan_to_num((X - centre) / scale) for X in (train, test))
    model = LogisticRegression(C=0.1, max_iter=1000).fit(train, y)
    return float(np.mean(model.predict(test) != y_test))


@pytest.mark.parametrize("name", SPLITS)
def test_splits_have_a_signal_in_the_useful_columns(
    name: str, request: pytest.FixtureRequest
) -> None:
    split, again = (split_of(name, 0, request) for _ in range(2))
    _, shape, n_useful = SPLITS[name]
    assert split.X.shape == shape
    assert split.X.dtype == np.float32
    assert split.X_test.shape[1] == shape[1]
    assert len(split.y_test) == split.X_test.shape[0]
    useful = split.useful
    assert useful is not None
    assert len(useful) == n_useful == len(np.unique(useful))
    np.testing.assert_array_equal(values(split.X), values(again.X))
    part, part_of_test = (np.bincount(y) / len(y) for y in (split.y, split.y_test))
    np.testing.assert_allclose(part, part_of_test, atol=0.02)
    train, test = values(split.X), values(split.X_test)
    rest = np.setdiff1d(np.arange(shape[1]), useful)[:n_useful]
    of_useful = error(train[:, useful], split.y, test[:, useful], split.y_test)
    of_others = error(train[:, rest], split.y, test[:, rest], split.y_test)
    assert of_useful < of_others - 0.1


def test_log_odds_of_products_are_linear_with_products() -> None:
    split = wide_sets.products(None, 0, n=4000, d=20, n_useful=4, shift=0.8, correlation=0.5)
    rng = np.random.default_rng([0, 4000, 20, 4, 1])  # as in `products`, to know the pairs
    rng.standard_normal((4500, 20), np.float32)
    pairs = rng.permutation(np.sort(rng.choice(20, 4, replace=False))).reshape(2, 2).T
    for (u, v), sign in zip(pairs, (1, -1), strict=True):
        x = split.X[:, [u, v]].astype(float)
        in_class = [np.cov(x[split.y == k].T)[0, 1] for k in (0, 1)]
        np.testing.assert_allclose(np.array(in_class), [-0.5 * sign, 0.5 * sign], atol=0.08)
        densities = [
            multivariate_normal([m, m], [[1, c], [c, 1]]).logpdf(x)
            for m, c in ((0.4, 0.5 * sign), (-0.4, -0.5 * sign))
        ]
        formula = 0.8 * x.sum(axis=1) + 2 * sign * 0.5 * (x[:, 0] * x[:, 1] + 0.8**2 / 4)
        np.testing.assert_allclose(densities[0] - densities[1], formula / 0.75)
    pair_products = np.stack([split.X[:, u] * split.X[:, v] for u, v in pairs], axis=1)
    test_products = np.stack([split.X_test[:, u] * split.X_test[:, v] for u, v in pairs], axis=1)
    sides = [(split.X[:, split.useful], split.X_test[:, split.useful])]
    sides.append((np.hstack([sides[0][0], pair_products]), np.hstack([sides[0][1], test_products])))
    linear, both = (error(train, split.y, test, split.y_test) for train, test in sides)
    assert both < linear - 0.05


def test_liabilities_are_sums_of_the_causal_variants() -> None:
    rng = np.random.default_rng(0)
    alleles = rng.integers(0, 3, (400, 50)).astype(np.float32)
    alleles[:, :10] = 0.0
    alleles[0, :10] = 1.0  # too rare
    y, causal = wide_sets.liability_labels(alleles, 5, 1.0, seed=3)
    assert causal.min() >= 10
    assert y.sum() == 200
    assert error(alleles[:, causal], y, alleles[:, causal], y) < 0.05
    noisy, same = wide_sets.liability_labels(alleles, 5, 1e-9, seed=3)
    assert error(alleles[:, same], noisy, alleles[:, same], noisy) > 0.3


def test_linked_columns_stand_for_useful_ones() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (300, 6)).astype(np.float32)
    X[:, 1] = 2 - X[:, 0]
    split = WideSplit(X[:200], np.zeros(200, int), X[200:], np.zeros(100, int), np.array([0, 3]))
    chosen = np.array([1, 2])
    assert (wide_sets.found(split, chosen, False), wide_sets.found(split, chosen, True)) == (0, 1)


def test_svmlight_files_are_read_by_scikit_learn(tmp_path: Path) -> None:
    split = counts(0)
    wide_sets.write_svmlight(tmp_path / "x.svm", split.X, 2 * split.y - 1)
    X, y = load_svmlight_file(str(tmp_path / "x.svm"), n_features=5000, zero_based=False)
    np.testing.assert_array_equal(X.toarray(), split.X.toarray())
    np.testing.assert_array_equal(y, 2 * split.y - 1)


def with_missing() -> tuple[Any, Any, Any]:
    """A table with a missing value in fifty, constant in one column; its imputed, standard form."""
    split = additive(0)
    X = split.X[:, :700].copy()
    X[np.random.default_rng(1).random(X.shape) < 0.02] = np.nan
    X[:, 5] = 1.0
    scale = np.nanstd(X, axis=0, dtype=float)
    standard = (X - np.nanmean(X, axis=0, dtype=float)) / np.where(scale > 0, scale, 1)
    return X, split.y, np.nan_to_num(standard)


@pytest.mark.filterwarnings("ignore:Features .* are constant:UserWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_columns_are_ordered_as_by_f_tests() -> None:
    X, y, standard = with_missing()
    for table, whole in ((X, standard), (counts(0).X, counts(0).X.toarray())):
        labels = y if table is X else counts(0).y
        rows = np.arange(len(labels))[::2]
        naive = np.nan_to_num(f_classif(np.float64(whole[rows]), labels[rows])[0])
        if table is X:  # the standard form has the moments of all rows
            filled = np.where(np.isnan(X[rows]), np.nanmean(X[rows], axis=0), X[rows])
            naive = np.nan_to_num(f_classif(np.float64(filled), labels[rows])[0])
        ours = wide_linear.Standardized(table, rows).separation(labels[rows])
        ours = ours / (1 - ours) * (len(rows) - 2)
        np.testing.assert_allclose(ours, naive, rtol=2e-3, atol=1e-3)


def test_ridge_has_the_solution_of_all_columns() -> None:
    X, y, standard = with_missing()
    model = wide_linear.RidgeLogistic()
    model.strengths = (1.0,)
    model.fit(X, y)
    naive = LogisticRegression(C=1 / X.shape[1], max_iter=1000, tol=1e-8).fit(standard, y)
    np.testing.assert_allclose(model.coef_, naive.coef_, atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), naive.predict_proba(standard), atol=1e-3)


def test_lasso_has_the_solution_of_all_columns() -> None:
    X, y, standard = with_missing()
    table = wide_linear.Standardized(X, np.arange(len(y)))
    path = wide_linear.LassoPath(table, y == 1)
    path.most_added = 7
    for ratio in (1.25, 3.0):
        model = path.go_to(ratio)
    naive = LogisticRegression(C=3.0 / path.largest, tol=1e-8, **wide_linear.LIBLINEAR).fit(
        standard, y
    )
    coefficients = np.zeros(X.shape[1])
    coefficients[path.columns] = model.coef_[0]
    assert 5 < (naive.coef_ != 0).sum() < len(y)
    np.testing.assert_allclose(coefficients, naive.coef_[0], atol=5e-3)


def test_polygenic_scores_are_of_variants_that_are_not_linked(data_dir: Path) -> None:
    alleles = classifier_sets.genotypes(str(data_dir)).X[:, :1000]
    y, causal = wide_sets.liability_labels(alleles, 5, 0.9, seed=0)
    model = wide_linear.PolygenicScore().fit(alleles[:750], y[:750])
    used = wide_sets.standardized(alleles[:750, model.columns_])
    correlations = used.T @ used / len(used) - np.eye(used.shape[1])
    assert len(used.T) > 1
    assert (correlations**2).max() < 0.2
    assert np.mean(model.predict_proba(alleles[750:]).argmax(axis=1) != y[750:]) < 0.3
    sizes = model.feature_importances()
    assert sizes.shape == (1000,)
    assert set(np.flatnonzero(sizes)) == set(model.columns_)
    split = WideSplit(alleles[:750], y[:750], alleles[750:], y[750:], causal)
    best = model.columns_[:20]
    assert (wide_sets.found(split, best, True) or 0) >= 3


def test_genotypes_are_written_for_plink(tmp_path: Path) -> None:
    n_people, n_variants = 603, 420
    causal = wide_genotypes.write_genotypes(
        tmp_path / "made", n_people, n_variants, n_causal=8, heritability=0.8
    )
    with open_bed(tmp_path / "made.bed") as bed:
        alleles = bed.read(dtype="float32", num_threads=1)
        assert list(bed.sid[:2]) == ["v0", "v1"]
    assert alleles.shape == (n_people, n_variants)
    assert not np.isnan(alleles).any()
    frequency = alleles.mean(axis=0) / 2
    assert frequency.min() > 0.02
    assert frequency.max() < 0.6
    z = wide_sets.standardized(alleles)
    near = np.mean((z[:, :-1] * z[:, 1:]).mean(axis=0) ** 2)
    far = np.mean((z[:, :-300] * z[:, 300:]).mean(axis=0) ** 2)
    assert near > 10 * far
    phenotype = np.loadtxt(tmp_path / "made.fam", usecols=5)
    assert sorted(set(phenotype)) == [1, 2]
    assert abs((phenotype == 2).mean() - 0.5) < 0.01
    table = pd.read_csv(tmp_path / "made.causal.csv")
    assert list(table["variant"]) == list(causal)
    assert error(z[:400, causal], phenotype[:400], z[400:, causal], phenotype[400:]) < 0.3


def test_genotypes_are_packed_as_the_format_says() -> None:
    block = np.array([[0, 1, 2, 2, 1]], np.uint8)
    assert wide_genotypes.packed(block).tolist() == [[0b00_00_10_11, 0b10]]


def test_cells_are_measured_once(tmp_path: Path) -> None:
    target = tmp_path / "cells.csv"
    methods = ["ranking + logistic", "polygenic score"]
    for _ in range(2):
        wide_table.measure(None, target, ["tiny"], methods, range(1))
    rows = pd.read_csv(target)
    assert list(rows.columns) == list(wide_table.COLUMNS)
    assert rows[["data", "method", "split", "status"]].values.tolist() == [
        ["tiny", "ranking + logistic", 0, "done"]
    ]
    assert rows["error"][0] < 40
    assert rows["useful"][0] > 2
    assert 0 <= rows["memory"][0] < rows["total_memory"][0]
    limits = {"seconds": 900.0, "gib": 0.01}
    wide_table.measure(None, target, ["tiny"], ["ridge logistic"], range(3), **limits)
    assert list(pd.read_csv(target)["status"]) == ["done", "memory"]


def test_a_cell_ends_at_its_limit_of_seconds() -> None:
    assert wide_table.run_cell("tiny", "boostsample", 0, None, 0.0, 10.0)["status"] == "time"


def test_columns_without_a_value_leave_the_shares_of_the_classes() -> None:
    y = np.repeat([0, 1, 2], [10, 20, 30])
    for X in (np.ones((60, 4), np.float32), sparse.csr_matrix((60, 4), dtype=np.float32)):
        chances = wide_linear.LassoLogistic().fit(X, y).predict_proba(X)
        np.testing.assert_allclose(chances, np.tile([[1 / 6, 1 / 3, 1 / 2]], (60, 1)), atol=0.02)
