"""Sparse blocks on a cluster: bins, columns and results of the dense table over the same shards."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from boostsample import BoostSampleClassifier
from boostsample.banks.binning import assign_bins, find_cuts
from boostsample.banks.shard_banks import PackedCuts, bins_of_columns, columns_of_families
from boostsample.classifier.inputs.fit_inputs import columns_of_enough_rows
from boostsample.dask import DaskBoostSampleClassifier
from boostsample.dask.cluster_table import merged, read_table, summarise
from boostsample.errors import DataError, SettingError
from boostsample.families import Columns, Haar
from tests.dask.in_process import loaded_by_workers

dask: Any = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
da: Any = pytest.importorskip("dask.array")

N, D = 300, 12


@pytest.fixture(scope="module")
def table() -> tuple[Any, Any]:
    """Rare values, counts, a full column with many values, an empty and a missing one."""
    rng = np.random.default_rng(5)
    X = np.where(rng.random((N, D)) < 0.2, rng.normal(size=(N, D)), 0.0)
    X[:, 1] = rng.integers(-1, 3, N)
    X[:, 2] = rng.normal(size=N)
    X[rng.random((N, D)) < 0.02] = np.nan
    X[:, 3], X[:, 4], X[7, 5] = 0.0, np.nan, -0.0
    y = (np.nan_to_num(X[:, 1]) + np.nan_to_num(X[:, 2]) > 0.5).astype(int)
    return X, y


def blocks_of(X: Any, kind: Any, columns: int = D) -> Any:
    return da.from_array(X, chunks=(80, columns)).map_blocks(kind)


def with_unknown_rows(X: Any) -> Any:
    blocks = blocks_of(X, sparse.csr_matrix)
    blocks._chunks = ((np.nan,) * blocks.numblocks[0], (D,))
    return blocks


def as_delayed(X: Any) -> Any:
    return [dask.delayed(sparse.csr_array(X[at : at + 80])) for at in range(0, N, 80)]


KINDS: dict[str, Any] = {
    "csr_matrix": lambda X: blocks_of(X, sparse.csr_matrix),
    "csr_array, float32": lambda X: blocks_of(X.astype(np.float32), sparse.csr_array),
    "csc_array": lambda X: blocks_of(X, sparse.csc_array),
    "chunks of columns": lambda X: blocks_of(X, sparse.csr_array, 5),
    "unknown rows": with_unknown_rows,
    "delayed": as_delayed,
}


@pytest.fixture(scope="module")
def dense(client: Any, table: Any) -> DaskBoostSampleClassifier:
    X, y = da.from_array(table[0], chunks=(80, D)), da.from_array(table[1], chunks=80)
    settings: dict[str, Any] = {"n_rounds": 10, "random_state": 1, "client": client}
    return DaskBoostSampleClassifier("laminating", "tree:n_leaves=3", **settings).fit(X, y)


@pytest.mark.parametrize("bank", ["auto", "columns"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_has_the_terms_of_the_dense_table(
    kind: str, bank: str, table: Any, dense: DaskBoostSampleClassifier
) -> None:
    X, y = KINDS[kind](table[0]), da.from_array(table[1], chunks=80)
    if kind == "delayed":
        y = [*y.to_delayed()]
    model = DaskBoostSampleClassifier(**{**dense.get_params(deep=False), "bank": bank}).fit(X, y)
    for name in ("feature", "threshold", "votes", "alpha"):
        np.testing.assert_array_equal(getattr(model.model_, name), getattr(dense.model_, name))
    for method in ("predict", "predict_proba", "decision_function"):
        answer: Any = dask.compute(getattr(model, method)(X))[0]
        answer = np.concatenate(answer) if kind == "delayed" else answer
        np.testing.assert_array_equal(answer, getattr(dense, method)(table[0]))
    assert model.score(X, y) == dense.score(*table)


def test_weights_of_rows_are_those_of_the_dense_table(client: Any, table: Any) -> None:
    X, y = table
    weight = np.arange(N) % 4
    bins = []
    for examples in (da.from_array(X, chunks=(80, D)), blocks_of(X, sparse.csr_array)):
        of_table = examples, da.from_array(y, chunks=80), da.from_array(weight, chunks=80)
        shards = loaded_by_workers(client, read_table(client, *of_table, n_shards=2)[1])
        every = np.arange(D), np.arange(90)
        bins.append([shard.bank.take(*every) for shard in shards])
        assert sum(shard.bank.n_examples for shard in shards) == (weight > 0).sum()
    np.testing.assert_array_equal(bins[0], bins[1])


def test_a_very_wide_table_has_the_columns_of_one_machine(client: Any) -> None:
    """Columns are chosen by the values of all shards, not by the zeros that they store."""
    rng = np.random.default_rng(0)
    X = sparse.random(400, 4000, 0.018, format="csr", random_state=rng)
    X.data[X.data < 0.15] = 0.0
    y = (X[:, 5].toarray()[:, 0] + X[:, 7].toarray()[:, 0] > 0).astype(int)
    parts = [dask.delayed(X[a:b]) for a, b in pairwise([0, 150, 400])]
    labels = [dask.delayed(y[a:b]) for a, b in pairwise([0, 150, 400])]
    settings: dict[str, Any] = {"learner": "stump", "n_rounds": 5, "random_state": 0}
    model = DaskBoostSampleClassifier("full", client=client, **settings).fit(parts, labels)
    X.eliminate_zeros()
    chosen: Any = columns_of_enough_rows(X)
    (family,) = model.model_.families
    assert isinstance(family, Columns)
    assert family.columns == tuple(chosen.tolist())
    here = BoostSampleClassifier("full", **settings).fit(X, y)
    np.testing.assert_array_equal(model.model_.feature, here.model_.feature)
    np.testing.assert_allclose(model.model_.alpha, here.model_.alpha, rtol=1e-6)


def test_edges_are_those_of_dense_parts_whatever_the_sample() -> None:
    """Columns of 254 to 257 values over all parts, and rare values that no sample has."""
    rng = np.random.default_rng(2)
    X = np.zeros((3000, 6))
    for column, n_values in enumerate((253, 254, 255, 256)):  # and 0
        X[rng.permutation(3000)[:n_values], column] = rng.permutation(n_values) - 99.5
    X[:, 4] = rng.normal(size=3000)
    X[[5, 2999], 5] = np.nan, 1000
    y, ends = np.arange(3000) % 2, [0, 500, 2000, 3000]
    facts = []
    for examples in (X, sparse.csr_array(X)):
        found = [
            summarise(examples[a:b], y[a:b], None, at, 200, "balanced")
            for at, (a, b) in enumerate(pairwise(ends))
        ]
        facts.append(merged(found, None, 300))
    assert [fact.n_reference for fact in facts] == [300] * 2
    packed: Any = facts[1].cuts
    np.testing.assert_array_equal(packed.padded(np.arange(6)), facts[0].cuts[0])
    np.testing.assert_array_equal(packed.n_bins, facts[0].cuts[1])


@pytest.mark.parametrize("density", [0.0, 0.01, 0.3, 1.0])
def test_bins_are_those_of_the_values(density: float) -> None:
    rng = np.random.default_rng(1)
    X = np.where(rng.random((700, 9)) < density, rng.normal(size=(700, 9)).round(2), 0)
    X[rng.random(X.shape) < 0.1 * density] = np.nan
    columns = np.array([8, 0, 3, 1])
    values = np.ascontiguousarray(X.T[columns], np.float32)
    cuts = PackedCuts.of([find_cuts(values[:3, ::7].copy()), find_cuts(values[3:])])
    padded = cuts.padded(np.arange(4))
    bins = bins_of_columns(sparse.csc_array(X), columns, padded)
    np.testing.assert_array_equal(bins, assign_bins(values, padded, cuts.n_bins))


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([sparse.eye_array(4), np.eye(4)], "kind of blocks, got 'sparse' in part 0 and 'dense'"),
        ([sparse.eye_array(4), sparse.eye_array(4, 5)], r"columns, got \(4,\) in .* \(5,\) in "),
        ([sparse.eye_array(4) * 1j] * 2, r"tables of real numbers, got complex128 of shape \(4, 4"),
        ([sparse.coo_array(np.arange(4.0))] * 2, r"tables of real numbers, .* of shape \(4,\)"),
        ([sparse.csr_array(np.diag([1, 1e39, 1, 1]))] * 2, r"finite .*, got 1e\+39 at \(1, 1\);"),
        ([sparse.eye_array(3)] * 2, "same chunks, got 3 rows of X and 4 of y"),
    ],
)
def test_unsuitable_blocks_are_named(blocks: Any, message: str, client: Any) -> None:
    X, y = [dask.delayed(block) for block in blocks], [dask.delayed(np.arange(4) % 2)] * 2
    with pytest.raises(DataError, match=message) as caught:
        read_table(client, X, y, None)
    assert "\n" not in str(caught.value)


def test_unsuitable_settings_are_named(client: Any, table: Any) -> None:
    X, y = blocks_of(table[0], sparse.csr_array), da.from_array(table[1], chunks=80)
    with pytest.raises(SettingError, match="'columns' for sparse blocks, got 'disk'"):
        read_table(client, X, y, None, bank="disk")
    with pytest.raises(SettingError, match="'disk' for dense blocks, got 'columns'"):
        read_table(client, da.from_array(table[0], chunks=(80, D)), y, None, bank="columns")
    with pytest.raises(SettingError, match="blocks must be groups of columns, got 'haar'"):
        columns_of_families([Columns(range(3)), Haar((4, 3))])
