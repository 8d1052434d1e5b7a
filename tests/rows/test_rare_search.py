"""Exact searches in a bank of columns: lists of rare rows beside bins, and where they are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.banks.bank import FeatureBank
from boostsample.banks.column_bank import ColumnBank
from boostsample.families import Columns
from boostsample.kernels.array_layout import row_layout
from boostsample.kernels.rare_rows import list_rare_rows, rare_search_kernel
from boostsample.kernels.search import SEARCH_GROUP
from boostsample.records import Stumps
from boostsample.rows.local_rows import LocalRows
from boostsample.rows.searcher import RareSearch, Searcher
from boostsample.rows.weights import SignedWeights
from boostsample.threads import Threads
from tests.compiled import COMPILED

N, F = 800, 23


def table(n: int = N) -> NDArray[np.float32]:
    """Columns of few and of many values outside the most frequent one, some missing."""
    rng = np.random.default_rng(0)
    X = np.zeros((n, F), np.float32)
    for j in range(F):
        share = (0.01, 0.1, 0.7, 0.0)[j % 4]
        some = rng.random(n) < share
        X[some, j] = rng.integers(-2, 9, some.sum())
        X[rng.random(n) < 0.3 * share, j] = np.nan
    X[:, 4:6] = np.where(X[:, 4:6] == 0, np.nan, X[:, 4:6])  # most are missing
    return X


def rows_of(
    form: str, n_labels: int, columns: NDArray[np.int64], n_jobs: int = 1, X: Any = None
) -> LocalRows:
    X = table() if X is None else X
    families = [Columns(range(X.shape[1]))]
    bank = ColumnBank(families, X) if form == "columns" else FeatureBank.build(families, X)
    rng = np.random.default_rng(n_labels)
    shape = columns.size, n_labels
    Y, u = rng.choice([-1, 1], shape).astype(np.int8), rng.random(shape)
    return LocalRows(bank, SignedWeights(Y, u, columns, Threads(n_jobs)))


def exact(searcher: Searcher, features: NDArray[np.int64]) -> Stumps:
    return searcher.search(features, searcher.weights.exact(), True)


def check_equal(stumps: Stumps, expected: Stumps, rtol: float = 0.0) -> None:
    """Two-sided votes of a side without rows are arbitrary: those of the rounding of 0."""
    for name in ("feature", "threshold", "divides"):
        np.testing.assert_array_equal(getattr(stumps, name), getattr(expected, name), name)
    np.testing.assert_allclose(stumps.edge, expected.edge, rtol=rtol, atol=rtol)
    at: Any = slice(None) if expected.below is None else expected.divides
    np.testing.assert_array_equal(stumps.votes[at], expected.votes[at])
    if stumps.below is None or expected.below is None:
        assert stumps.below is expected.below
    else:
        np.testing.assert_array_equal(stumps.below[at], expected.below[at])


@pytest.fixture
def n_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many lists each search has read."""
    sizes: list[int] = []
    write = RareSearch.write

    def counted(self: RareSearch, rare: Any, at: NDArray[np.int64], *more: Any) -> None:
        sizes.append(at.size)
        write(self, rare, at, *more)

    monkeypatch.setattr(RareSearch, "write", counted)
    return sizes


@pytest.mark.parametrize("n_labels", [1, 3, 17])
@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("place", ["all", "a stretch", "some"])
def test_stumps_are_those_of_the_bins(
    n_labels: int, two_sided: bool, place: str, n_read: list[int]
) -> None:
    rng = np.random.default_rng(1)
    columns = {"all": np.arange(N), "a stretch": np.arange(50, N - 9), "some": rng.permutation(N)}
    of_run = columns[place][: 500 if place == "some" else None]
    features = rng.permutation(F)
    by_lists, by_bins = (rows_of(form, n_labels, of_run) for form in ("columns", "memory"))
    for rows in (by_lists, by_bins):
        rows.begin(0.0)
    stretch = (0, of_run.size)
    for feature in (2, 6, 10, 14):  # nodes of ever fewer rows
        check_equal(
            exact(by_lists.target(stretch, [], two_sided), features),
            exact(by_bins.target(stretch, [], two_sided), features),
            rtol=1e-7,
        )
        stump = exact(by_bins.target(stretch, []), np.array([feature])).best()
        parts = by_bins.split(stretch, stump)
        assert by_lists.split(stretch, stump) == parts
        stretch = max(parts, key=lambda part: part[1] - part[0])
    assert 10 < min(n_read) <= max(n_read) < F


@pytest.mark.parametrize("n_labels", [1, 17])
def test_threads_and_the_content_of_the_cache_change_no_bit(
    n_labels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("boostsample.rows.searcher._MOST_ALONE", 0)
    features = np.random.default_rng(1).permutation(F)
    columns = np.random.default_rng(2).permutation(N)[:500]
    first, two = (rows_of("columns", n_labels, columns, n_jobs) for n_jobs in (1, 2))
    stumps = exact(first.searcher, features)
    check_equal(exact(two.searcher, features), stumps)
    check_equal(exact(first.searcher, features), stumps)
    small = rows_of("columns", n_labels, columns)
    small.bank = ColumnBank(small.bank.families, table(), cache_bytes=1)
    searcher = Searcher(small.bank, small.weights)
    assert small.bank.most_features(None) == SEARCH_GROUP
    for _ in range(2):
        for feature in features:  # columns take the places of others, with other lists
            alone = np.array([feature])
            check_equal(exact(searcher, alone), exact(first.searcher, alone))


def test_searches_among_members_read_their_lists(n_read: list[int]) -> None:
    rows = rows_of("columns", 3, np.arange(N))
    members = np.array([0, 4, 8, 21])
    among = exact(rows.target((0, N), [], members=members), np.array([2, 0]))
    expected = exact(rows.searcher, members[[2, 0]])
    expected.feature[:] = 2, 0
    check_equal(among, expected)
    assert n_read == [2, 2]


@pytest.mark.parametrize("repeated", [False, True])
def test_samples_and_repeated_rows_are_searched_by_bins(repeated: bool, n_read: list[int]) -> None:
    rng, features = np.random.default_rng(3), np.arange(F)
    columns = np.append(np.arange(N - 1), 5) if repeated else np.arange(N)
    by_lists, by_bins = (rows_of(form, 3, columns) for form in ("columns", "memory"))
    samples = [
        (rows.searcher.sample(300, "iid", np.random.default_rng(0)),
         rows.searcher.shuffled(np.random.default_rng(0)))
        for rows in (by_lists, by_bins)
    ]  # fmt: skip
    for sample, expected in zip(*samples, strict=True):
        check_equal(sample.search(features), expected.search(features))
    assert n_read == []
    sample, expected = (rows.searcher.sample(N, "iid", rng) for rows in (by_lists, by_bins))
    check_equal(sample.search(features), expected.search(features), rtol=1e-7)
    assert bool(n_read) != repeated


@pytest.mark.parametrize("kinds", ["lists and bins", "bins and lists", "lists"])
def test_equal_cuts_have_equal_edges_whatever_has_found_them(kinds: str) -> None:
    rng, n = np.random.default_rng(4), 400
    above = np.isin(np.arange(n), rng.permutation(n)[:40])
    many = np.where(above, rng.integers(8, 12, n), rng.integers(0, 5, n))
    few, other_few = np.where(above, 3, 1), np.where(above, rng.integers(5, 9, n), 2)
    pairs = {
        "lists and bins": (few, many), "bins and lists": (many, few), "lists": (few, other_few)
    }  # fmt: skip
    X = np.column_stack([*pairs[kinds], rng.integers(0, 3, (n, 5))]).astype(np.float32)
    rows = rows_of("columns", 4, np.arange(n), X=X)
    signed = rows.weights.values.reshape(n, 4)
    signed[:] = np.abs(signed) * np.where(above ^ (rng.random(n) < 0.1), 1, -1)[:, None]
    rows.weights.sums[:] = signed.sum(axis=0, dtype=np.float64)
    stumps = exact(rows.searcher, np.arange(7))
    assert stumps.edge[0] == stumps.edge[1] == stumps.edge.max()
    assert stumps.best().feature == 0


def test_of_thresholds_that_rounding_separates_the_lowest_is_found() -> None:
    rng, n, n_features = np.random.default_rng(5), 400, 30
    X, pairs = np.ones((n, n_features), np.float32), rng.permutation(n)[: 2 * n_features]
    X[pairs[::2], range(n_features)], X[pairs[1::2], range(n_features)] = 0, 2
    rows = rows_of("columns", 1, np.arange(n), X=X)
    values, sums = rows.weights.values, rows.weights.sums
    np.abs(values, out=values)
    values[pairs[::2]] *= -1
    values[pairs[1::2]] = np.nextafter(values[pairs[::2]], np.float32(-np.inf))
    sums[0] = values.sum(dtype=np.float64)
    stumps = exact(rows.searcher, np.arange(n_features))
    np.testing.assert_array_equal(stumps.threshold, 2)


def test_an_interrupted_search_leaves_no_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    columns, features = np.random.default_rng(2).permutation(N)[:500], np.arange(F)
    rows = rows_of("columns", 3, columns)
    rows.begin(0.0)
    expected = exact(rows.searcher, features)
    stump = exact(rows.searcher, np.array([2])).best()
    part, _ = rows.split((0, 500), stump)
    with monkeypatch.context() as patch:
        patch.setattr(Threads, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            exact(rows.searcher, features)
    again = rows_of("columns", 3, columns)
    again.begin(0.0)
    again.split((0, 500), stump)
    check_equal(exact(rows.target(part, []), features), exact(again.target(part, []), features))
    check_equal(exact(rows.searcher, features), expected)


def interrupted(self: Threads, work: Any, calls: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.skipif(not COMPILED, reason="compiles nothing")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_kernels_are_compiled_before_the_first_search(n_jobs: int) -> None:
    rows = rows_of("columns", 5, np.arange(9, N), n_jobs)
    rows.compile(one_search=True)
    kernels = [rare_search_kernel(*row_layout(5)), list_rare_rows]
    before = [kernel.signatures for kernel in kernels]
    exact(rows.searcher, np.arange(F))
    assert [kernel.signatures for kernel in kernels] == before
    assert [len(signatures) for signatures in before] == [1, 1]
