"""Banks of whole columns, binned when they are asked for: the bits of a bank in memory."""

from __future__ import annotations

import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from boostsample import BoostSampleClassifier
from boostsample.banks import binning, column_bank
from boostsample.banks.bank import FeatureBank
from boostsample.banks.bank_forms import automatic_form, make_bank
from boostsample.banks.column_bank import ColumnBank
from boostsample.column_table import ColumnTable, JoinedTable
from boostsample.errors import DataError, SettingError
from boostsample.families import Columns
from boostsample.kernels.search import SEARCH_GROUP


class Genotypes(ColumnTable):
    """Codes in memory: 0 missing, 1 to 3 the counts 0 to 2."""

    def __init__(self, codes: NDArray[np.uint8], names: list[str] | None = None) -> None:
        super().__init__(codes.shape[1], codes.shape[0], names, np.arange(3, dtype=np.float32))
        self.codes = codes

    def read(self, columns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Counts, NaN for missing."""
        return np.array([np.nan, 0, 1, 2], np.float32)[self.codes[columns]]

    def read_codes(self, columns: NDArray[np.int64]) -> NDArray[np.uint8]:
        """A copy of the codes."""
        return self.codes[columns]


def genotypes(n: int, d: int) -> Genotypes:
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 4, (d, n)).astype(np.uint8)
    codes[1], codes[2], codes[3, codes[3] == 2] = 0, 1, 3
    return Genotypes(codes, [f"rs{j}_A" for j in range(d)])


def mixed_matrix(n: int, d: int, share: float) -> Any:
    """Counts, reals, missing values and explicit zeros in CSC format."""
    rng = np.random.default_rng(3)
    matrix = sparse.random(n, d, share, "csc", random_state=4)
    counts = rng.random(matrix.data.size) < 0.4
    matrix.data[counts] = np.round(5 * matrix.data[counts] - 2)
    matrix.data[rng.random(matrix.data.size) < 0.05] = np.nan
    return matrix


def dense(X: Any) -> NDArray[np.float32]:
    if isinstance(X, ColumnTable):
        return X.columns_at(np.arange(X.shape[1])).T
    return np.asarray(X.toarray() if hasattr(X, "tocsc") else X, np.float32)


EXAMPLES: dict[str, Any] = {
    "codes": genotypes(203, 40),
    "codes of some rows": genotypes(203, 40)[np.arange(180, 3, -2)],
    "few stored": mixed_matrix(60, 50, 0.1),
    "more than 255 values": mixed_matrix(3000, 30, 0.5),
    "dense": np.random.default_rng(0).normal(size=(700, 30)).astype(np.float32),
    "joined": JoinedTable(genotypes(50, 40), dense(genotypes(33, 40))),
    "joined codes": JoinedTable(genotypes(50, 40), genotypes(33, 40)[:7]),
}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("train", ["all", "some"])
def test_bins_and_cuts_are_those_of_a_bank_in_memory(name: str, train: str) -> None:
    X = EXAMPLES[name]
    n, d = X.shape
    rows = None if train == "all" else np.arange(0, n, 3)
    families = [Columns(range(d - 2), "first", d), Columns([d - 1, d - 2], "last", d)]
    expected = FeatureBank.build(families, dense(X), rows)
    features = np.random.default_rng(1).permutation(d)
    for bank in (
        ColumnBank(families, X, rows, cache_bytes=1),
        FeatureBank.build(families, X, rows),
    ):
        for at in range(0, d, SEARCH_GROUP):
            part = features[at : at + SEARCH_GROUP]
            bins, places, *_ = bank.view(part)
            np.testing.assert_array_equal(bins[places], expected.bins[part])
        np.testing.assert_array_equal(bank.cuts_of(features), expected.cuts[features])
        np.testing.assert_array_equal(bank.n_bins[features], expected.n_bins[features])
        some = np.arange(n)[::-2]
        np.testing.assert_array_equal(bank.take(features, some), expected.take(features, some))


class ChunkedTable(ColumnTable):
    """Numbers of columns, stored in chunks of 7 columns."""

    column_chunk = 7

    def __init__(self) -> None:
        super().__init__(20, 60)
        self.chunks: list[int] = []

    def read(self, columns: NDArray[np.int64]) -> NDArray[np.float32]:
        self.chunks += np.unique(columns // 7).tolist()
        return (columns[:, None] + np.arange(20.0)).astype(np.float32)


@pytest.mark.parametrize("form", ["memory", "disk", "columns"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_chunks_of_a_table_are_read_once(
    form: str, n_threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOSTSAMPLE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(binning, "SMALL_BLOCK", 4 * 20 * 17)
    monkeypatch.setattr(column_bank, "_BLOCK_VALUES", 20 * 17)
    table = ChunkedTable()
    bank = make_bank(form, [Columns(range(60))], table, n_jobs=n_threads)
    if form == "columns":
        bank.view(np.arange(3))
        bank.view(np.arange(60))
        assert table.chunks[0] == 0
        table.chunks = table.chunks[1:]
    n_passes = 2 if form == "disk" else 1  # the first one for a checksum
    assert sorted(table.chunks) == sorted([*range(9)] * n_passes)


def test_a_thread_keeps_the_columns_that_it_reads() -> None:
    """While others fill their caches with more columns than these hold."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3 * SEARCH_GROUP)).astype(np.float32)
    bank = ColumnBank([Columns(range(X.shape[1]))], X, cache_bytes=1)
    features, *others = np.arange(X.shape[1]).reshape(3, -1)
    bins, at, *_ = bank.view(features)
    before = bins[at].copy()
    with ThreadPoolExecutor(2) as pool:
        [*pool.map(bank.view, 2 * others)]
    assert bins[at].tobytes() == before.tobytes()
    assert bank.view(features).at.tolist() == at.tolist()
    copied = pickle.loads(pickle.dumps(bank))
    assert copied.take(features, np.arange(50)).tobytes() == before.tobytes()


def test_a_view_takes_no_more_features_than_are_kept() -> None:
    bank = ColumnBank([Columns(range(40))], genotypes(10, 40), cache_bytes=1)
    assert bank.most_features(None) == SEARCH_GROUP
    with pytest.raises(SettingError, match=f"at most {SEARCH_GROUP} features .* got 40; .*cache"):
        bank.view(np.arange(40))


@pytest.mark.parametrize("name", ["codes", "few stored"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_model_is_that_of_an_array(name: str, n_jobs: int) -> None:
    X = EXAMPLES[name]
    y = np.random.default_rng(2).integers(0, 3, X.shape[0])
    settings: dict[str, Any] = {"n_rounds": 4, "random_state": 0, "n_jobs": n_jobs}
    by_columns = BoostSampleClassifier(bank="columns:cache_bytes=1", **settings).fit(X, y)
    of_array = BoostSampleClassifier(**settings).fit(dense(X), y)
    expected = of_array.decision_function(dense(X))
    np.testing.assert_array_equal(by_columns.decision_function(X), expected)
    np.testing.assert_array_equal(by_columns.feature_importances_, of_array.feature_importances_)


@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=6"])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_a_model_of_rare_counts_is_that_of_a_bank_in_memory(learner: str, n_classes: int) -> None:
    X = sparse.random(1500, 60, 0.04, "csr", random_state=0)
    X.data = np.ceil(5 * X.data)
    X = sparse.hstack([X[:, :59], 1 - X[:, 7].toarray()], "csr")
    noise = np.random.default_rng(0).normal(size=(1500, n_classes))
    y = (X @ np.random.default_rng(1).normal(size=(60, n_classes)) + noise).argmax(axis=1)
    settings: dict[str, Any] = {"learner": learner, "n_rounds": 20, "random_state": 0}
    settings["strategy"] = "uniform-naive:n_features=20"
    model = BoostSampleClassifier(bank="columns", **settings).fit(X, y)
    expected = BoostSampleClassifier(bank="memory", **settings).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))


@pytest.mark.parametrize(("dtype", "index"), [(np.float64, np.int32), (np.float32, np.int64)])
def test_other_types_are_converted_for_the_wanted_columns_only(dtype: Any, index: Any) -> None:
    X = mixed_matrix(500, 2000, 0.3).astype(dtype)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    wanted, rows = np.array([1999, 0, 7]), np.arange(0, 500, 2)
    tracemalloc.start()
    try:
        binned, others = binning.bin_sparse_columns(X, wanted, rows)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < X.nnz  # a byte for each stored value
    expected, _ = binning.bin_sparse_columns(mixed_matrix(500, 2000, 0.3).astype("f"), wanted, rows)
    assert not others.size
    np.testing.assert_array_equal(binned.bins, expected.bins)
    np.testing.assert_array_equal(binned.cuts, expected.cuts)


def test_lists_are_kept_with_their_columns_within_the_cache() -> None:
    X = sparse.random(4000, 300, 0.05, "csc", random_state=0)
    bank = ColumnBank([Columns(range(300))], X, cache_bytes=10**6)
    bins = FeatureBank.build([Columns(range(300))], dense(X)).bins
    rng = np.random.default_rng(0)
    for _ in range(6):
        features = rng.permutation(300)[: bank.most_features(None)]
        lists, at = bank.rare_rows(features)
        for column, c in zip(bins[features], at, strict=True):
            rows = np.flatnonzero(column != np.bincount(column).argmax())
            size = lists.sizes[c]
            assert lists.rows[c, :size].tolist() == rows.tolist()
            np.testing.assert_array_equal(lists.bins[c, :size], column[rows])
    assert bank.most_features(None) < 300
    assert 0.9 * 10**6 < bank.nbytes < 10**6 + 10 * 300


@pytest.mark.parametrize("bank", ["memory", "disk", "columns", "lazy:reference=120"])
def test_every_bank_takes_a_table_by_columns(bank: str) -> None:
    table, y = genotypes(120, 30), np.arange(120) % 2
    settings: dict[str, Any] = {"n_rounds": 3, "random_state": 0}
    model = BoostSampleClassifier(bank=bank, **settings).fit(table, y)
    expected = BoostSampleClassifier(**settings).fit(dense(table), y)
    scores = expected.decision_function(dense(table))
    np.testing.assert_array_equal(model.decision_function(table), scores)


def test_columns_are_found_by_name_and_only_those_in_use_are_needed() -> None:
    table = genotypes(120, 30)
    y = (table.codes[7] > 1).astype(int)
    model = BoostSampleClassifier(n_rounds=3, learner="stump", strategy="full", random_state=0)
    model.fit(table, y)
    assert model.feature_names_in_[7] == "rs7_A"
    used = Genotypes(table.codes[[9, 7]], ["rs9_A", "rs7_A"])
    np.testing.assert_array_equal(model.predict(used), model.predict(table))
    with pytest.raises(DataError, match="30 columns that were learned, but 1 are missing: 'rs7_A'"):
        model.predict(Genotypes(table.codes[:7], [f"rs{j}_A" for j in range(7)]))
    with pytest.raises(DataError, match="must have 30 columns as for fit, got 4"):
        model.predict(Genotypes(table.codes[:4]))


def test_rows_to_validate_on_may_be_another_table() -> None:
    table, y = genotypes(120, 30), np.arange(120) % 2
    settings: dict[str, Any] = {"n_rounds": 5, "early_stopping": True, "random_state": 0}
    pair = table[:80], y[:80]
    one = BoostSampleClassifier(**settings).fit(*pair, X_val=table[80:], y_val=y[80:])
    other = BoostSampleClassifier(**settings).fit(
        dense(pair[0]), pair[1], X_val=dense(table[80:]), y_val=y[80:]
    )
    np.testing.assert_array_equal(one.validation_error_, other.validation_error_)


@pytest.mark.parametrize(
    ("X", "n_features", "form"),
    [
        (np.empty((3, 2)), 10**9, "memory"),
        (sparse.csr_matrix((3000, 2**14)), 2**14, "memory"),
        (sparse.csr_matrix((3100, 2**14)), 2**14, "columns"),
        (genotypes(10, 4), 4, "memory"),
    ],
)
def test_auto_keeps_bins_unless_they_are_large_and_cheap(
    X: Any, n_features: int, form: str
) -> None:
    assert automatic_form(X, n_features) == form


def test_an_infinite_value_is_refused_by_name() -> None:
    matrix = mixed_matrix(20, 5, 0.5)
    matrix.data[7] = np.inf
    bank = make_bank("columns", [Columns(range(5))], matrix)
    with pytest.raises(DataError, match=r"must be finite as float32 .* holds inf in row"):
        bank.view(np.arange(5))
