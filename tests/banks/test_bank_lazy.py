"""The lazy bank computes what is looked at and no more, and keeps no more than it may."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

from boostsample.banks import lazy as bank_lazy
from boostsample.banks.bank import FeatureBank
from boostsample.banks.binning import assign_bins, find_cuts
from boostsample.banks.lazy import LazyBank
from boostsample.errors import DataError, SettingError
from boostsample.families import Columns
from boostsample.kernels.cuts import MAX_CUTS
from boostsample.kernels.search import SEARCH_GROUP
from boostsample.loop.booster import Booster
from boostsample.registry import make_strategy
from tests.problems import Powers, noisy_labels

N, F, REFERENCE = 100, 40, 30
TRAIN = np.arange(10, 90)


class Counting(Powers):
    """Counts the values that it computes."""

    def __init__(self, n_columns: int, n_features: int, name: str = "counting") -> None:
        super().__init__(n_columns, n_features, name)
        self.computed = 0

    def compute(self, X: Any, features: Any) -> NDArray[np.float32]:
        values = super().compute(X, features)
        self.computed += values.size
        return values


@pytest.fixture
def X(rng: np.random.Generator) -> NDArray[np.float32]:
    return rng.normal(size=(N, 5)).astype(np.float32)


def families() -> list[Counting]:
    return [Counting(5, 25, "first"), Counting(5, F - 25, "second")]


def computed(made: list[Counting]) -> int:
    return sum(family.computed for family in made)


class NaiveSlots:
    """A least-recently-used cache of keys, one at a time."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.keys: OrderedDict[int, None] = OrderedDict()

    def find(self, keys: list[int]) -> list[bool]:
        there = [key in self.keys for key in keys]
        for key, is_there in zip(keys, there, strict=True):
            if is_there:
                self.keys.move_to_end(key)
        return there

    def claim(self, keys: list[int]) -> None:
        while len(self.keys) + len(keys) > self.most:
            self.keys.popitem(last=False)
        self.keys.update(dict.fromkeys(keys))


class Naive:
    """What a lazy bank must compute, request by request, from its rules."""

    def __init__(self, reference: int, most_columns: int, most_values: int, most_cuts: int) -> None:
        self.reference = reference
        self.columns = NaiveSlots(most_columns)
        self.raw = NaiveSlots(most_values)
        self.cuts = NaiveSlots(most_cuts)
        self.values = 0

    def find_cuts(self, features: list[int]) -> None:
        for family in ([f for f in features if f < 25], [f for f in features if f >= 25]):
            found = self.cuts.find(family)
            new = [f for f, there in zip(family, found, strict=True) if not there]
            if self.reference:
                self.cuts.claim(new)
                self.values += len(new) * self.reference

    def whole(self, features: list[int]) -> None:
        wanted = sorted(set(features))
        found = self.columns.find(wanted)
        new = [f for f, there in zip(wanted, found, strict=True) if not there]
        self.find_cuts(new)
        self.columns.claim(new)
        self.values += len(new) * TRAIN.size

    def sample(self, features: list[int], n_rows: int) -> None:
        wanted = sorted(set(features))
        found = self.raw.find(wanted)
        self.find_cuts(wanted)
        self.values += n_rows * found.count(False)

    def cut(self, feature: int, *, by_bins: bool) -> None:
        if self.columns.find([feature])[0] and by_bins:
            return
        if not self.raw.find([feature])[0]:
            self.raw.claim([feature])
            self.values += TRAIN.size


@pytest.mark.parametrize("reference", [REFERENCE, None])
@pytest.mark.parametrize(("columns", "cuts"), [(1, 16), (2, 2 * SEARCH_GROUP), (5, 36)])
def test_no_more_is_computed_than_is_looked_at(
    X: NDArray[np.float32],
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    columns: int,
    cuts: int,
    reference: int | None,
) -> None:
    monkeypatch.setattr(bank_lazy, "_LEAST_CUTS", cuts)
    made = families()
    most = 2 * columns * SEARCH_GROUP * (N + 4 * MAX_CUTS)
    bank = LazyBank(made, X, TRAIN, reference=reference, cache_bytes=most).reader(TRAIN)
    cuts = max(most // 4 // (4 * MAX_CUTS), cuts)
    assert bank.most_features(None) == min(columns, cuts // SEARCH_GROUP) * SEARCH_GROUP
    naive = Naive(reference or 0, columns * SEARCH_GROUP, most // (16 * N), cuts)
    memory = FeatureBank.build(families(), X, TRAIN, reference=reference)
    raw = np.vstack([family.compute(X, np.arange(family.n_features)).T for family in families()])
    for _ in range(400):
        features = rng.integers(0, F, rng.integers(1, 5))
        kind = rng.choice(["whole", "sample", "cut of a column", "cut of a sample"])
        if kind == "whole":
            bins, at, compact, _ = bank.view(features)
            assert not compact
            assert (bins[at][:, TRAIN] == memory.bins[features][:, TRAIN]).all()
            assert (bank.n_bins[features] == memory.n_bins[features]).all()
            naive.whole(features.tolist())
        elif kind == "sample":
            rows = rng.permutation(TRAIN)[: rng.integers(1, 30)].astype(np.int32)
            bins, at, compact, _ = bank.view(features, rows)
            assert compact
            sampled = np.ascontiguousarray(raw[features][:, rows])
            found = memory.cuts[features], memory.n_bins[features]
            edges, n_bins = found if reference else find_cuts(sampled)
            assert (bins[at] == assign_bins(sampled, edges, n_bins)).all()
            assert (bank.n_bins[features] == n_bins).all()
            naive.sample(features.tolist(), rows.size)
        else:
            feature, by_bins = int(features[0]), kind == "cut of a column"
            value = memory.threshold(feature, 3) if by_bins else raw[feature, TRAIN[7]]
            threshold = int(bank_lazy._thresholds_at(np.array([value], np.float32))[0])
            column, first = bank.cut(feature, threshold)
            assert ((column >= first)[TRAIN] == (raw[feature, TRAIN] >= value)).all()
            naive.cut(feature, by_bins=by_bins)
        assert bank.values_computed == naive.values == computed(made)
    assert len(naive.columns.keys) == columns * SEARCH_GROUP


def test_thresholds_stand_for_raw_values(X: NDArray[np.float32], rng: np.random.Generator) -> None:
    """Their numbers ascend, and stumps at them divide the values as these do."""
    X[rng.random(X.shape) < 0.1] = np.nan
    bank = LazyBank([Columns(range(5))], X).reader(TRAIN)
    features, rows = np.array([3, 0, 3]), rng.permutation(TRAIN)[:40]
    view = bank.view(features, rows)
    assert view.cuts is not None
    thresholds = bank.thresholds_in(view, np.array([1, 9, 20]))
    assert thresholds[0] == 1
    assert bank.threshold(3, 1) == -np.inf
    values = np.array([bank.threshold(f, b) for f, b in zip(features, thresholds, strict=True)])
    assert (values[1:] == view.cuts[view.at[1:], [7, 18]]).all()
    expected = X[:, features] >= values  # also of -inf: False where a value is missing
    assert (bank.sides(features, thresholds, np.arange(N)) == expected.T).all()
    for place in (rows, None):
        (bins, at, compact, _), first = bank.view_at(features, thresholds, place)
        assert compact == (place is not None)
        some = slice(None) if compact else TRAIN
        assert (
            (bins[at] >= first[:, None])[:, some] == expected[rows if compact else TRAIN].T
        ).all()
    for feature, b, side in zip(features, thresholds.tolist(), expected.T, strict=True):
        column, least = bank.cut(int(feature), b)
        assert ((column >= least)[TRAIN] == side[TRAIN]).all()
    ordered = np.array([-3e38, -1, -1e-40, 0, 1e-40, 1, 3e38], np.float32)
    numbers = bank_lazy._thresholds_at(ordered)
    assert (np.diff(numbers) > 0).all()
    assert numbers[0] > 1
    assert (bank_lazy._raw_values(numbers) == ordered).all()
    with pytest.raises(SettingError, match="between 1 and 4294967295, got 0"):
        bank.threshold(3, 0)


def test_memory_is_bounded(X: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bank_lazy, "_LEAST_CUTS", SEARCH_GROUP)
    bank = LazyBank(families(), X, reference=REFERENCE, cache_bytes=20_000)
    bounds = []
    for feature in range(F):
        bank.column(feature)
        bounds.append(bank.nbytes)
    assert max(bounds) <= 20_000 + 14 * F + 16 * 20 + 3 * 8
    assert bounds[-1] == bounds[-10]
    assert len(bank._columns.rows) == SEARCH_GROUP  # 10,000 bytes would hold 8 with their cuts
    small = LazyBank(families(), X, cache_bytes=1)
    assert small.most_features(None) == SEARCH_GROUP  # as many as kernels take


def test_too_many_features_at_once_are_refused(X: NDArray[np.float32]) -> None:
    bank = LazyBank(families(), X, reference=REFERENCE, cache_bytes=1)
    with pytest.raises(
        SettingError, match=f"at most {SEARCH_GROUP} features can be viewed at once, "
    ):
        bank.view(np.arange(SEARCH_GROUP + 1))
    assert (bank.view(np.array([1, 2, 3, 0, 0, 0])).at[3:] == bank.view(np.array([0])).at).all()
    monkey = LazyBank(families(), X, reference=REFERENCE)
    assert monkey.most_features(10**9) == SEARCH_GROUP
    assert monkey.most_features(0) >= F


@pytest.mark.parametrize("rows", [TRAIN, TRAIN[::3], np.arange(N)])
def test_data_too_large_to_copy_is_read_in_blocks(
    X: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch, rows: NDArray[np.int64]
) -> None:
    monkeypatch.setattr(bank_lazy, "_BLOCK_BYTES", 100)  # 5 rows of X
    memory = FeatureBank.build(families(), X, TRAIN, reference=REFERENCE)
    bank = LazyBank(families(), X, TRAIN, reference=REFERENCE, cache_bytes=1).reader(rows)
    assert bank._source.too_large
    for feature in (3, 30):
        assert (bank.column(feature)[rows] == memory.bins[feature, rows]).all()
    assert bank.values_computed == 2 * (REFERENCE + rows.size)


@pytest.mark.parametrize("kind", ["csc", "csr", "coo"])
def test_sparse_matrices(rng: np.random.Generator, kind: str) -> None:
    dense = rng.poisson(0.3, (N, 12)).astype(np.float32)
    X = scipy.sparse.coo_matrix(dense).asformat(kind)
    memory = FeatureBank.build([Columns(range(12))], dense, TRAIN, reference=20)
    bank = LazyBank([Columns(range(12))], X, TRAIN, reference=20).reader(TRAIN)
    features, rows = np.array([7, 3]), np.array([12, 80])
    assert (bank.column(5)[TRAIN] == memory.bins[5, TRAIN]).all()
    bins, at, *_ = bank.view(features, rows)
    assert (bins[at] == memory.bins[features][:, rows]).all()


def test_an_infinite_value_is_named_when_it_is_looked_at(X: NDArray[np.float32]) -> None:
    X[57, 2] = np.inf
    bank = LazyBank(families(), X, np.arange(50), reference=REFERENCE)
    bank.view(np.array([2, 26]), np.array([3, 58]))
    message = r"feature 2 of family first has an infinite value in row 57; it is 'column 2"
    for _ in range(2):  # what failed was not taken for known
        with pytest.raises(DataError, match=message):
            bank.view(np.array([2, 26]), np.array([3, 57, 58]))
        with pytest.raises(DataError, match=message):
            bank.column(2)
    X[3, 2] = -np.inf
    with pytest.raises(DataError, match="has an infinite value in row 3"):
        LazyBank(families(), X, np.arange(50), reference=50).view(np.array([2]), np.array([4]))


def test_the_history_tells_what_was_computed(X: NDArray[np.float32]) -> None:
    made = families()
    bank = LazyBank(made, X, TRAIN, reference=REFERENCE)
    Y = noisy_labels(TRAIN.size, 3)
    booster = Booster(bank, TRAIN, Y, make_strategy("uniform-naive"), budget=200, rng=0)
    before = computed(made)
    for _ in range(5):
        (row,) = booster.next_round().rows
        assert row["values_computed"] == computed(made) - before
        assert row["values_computed"] <= 200 + 10 * REFERENCE + TRAIN.size
        before = computed(made)
    assert bank.values_computed == 0


def test_boosters_in_threads_compute_what_they_would_alone(X: NDArray[np.float32]) -> None:
    bank = LazyBank(families(), X, TRAIN, reference=REFERENCE, cache_bytes=5000)
    Y = noisy_labels(TRAIN.size, 3)

    def history(seed: int) -> list[str]:
        settings: dict[str, Any] = {"budget": 500, "rng": seed, "n_rounds": 20}
        booster = Booster(bank, TRAIN, Y, make_strategy("laminating"), **settings)
        rows = [row for _ in range(20) for row in booster.next_round().rows]
        return [repr({**row, "seconds": 0}) for row in rows]

    alone = [history(seed) for seed in range(4)]
    together: dict[int, list[str]] = {}

    def work(seed: int) -> None:
        together[seed] = history(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[seed] for seed in range(4)] == alone


def test_a_large_pool_takes_no_time_before_it_is_looked_at() -> None:
    """A million features: no object, no cut and no bin of each."""
    bank = LazyBank([Counting(5, 10**6)], np.ones((3, 5), np.float32))
    assert bank.nbytes < 14 * 10**6 + 100
    bank.view(np.array([3]), np.array([1]))
    assert bank.values_computed == 1


def test_bad_settings_are_refused(X: NDArray[np.float32]) -> None:
    with pytest.raises(SettingError, match="cache_bytes must be an integer at least 1, got 0"):
        LazyBank(families(), X, cache_bytes=0)
    with pytest.raises(SettingError, match="reference must be an integer at least 1, got -1"):
        LazyBank(families(), X, reference=-1)
    with pytest.raises(DataError, match="X has no rows"):
        LazyBank(families(), X[:0])
    with pytest.raises(DataError, match="rows must lie between 0 and 99"):
        LazyBank(families(), X).reader(np.array([0, N]))
