"""The bank in memory: what the engine, the model and other banks rely on."""

from __future__ import annotations

import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from boostsample.banks import binning
from boostsample.banks.bank import FeatureBank
from boostsample.banks.binning import assign_bins, bin_coded, find_cuts
from boostsample.banks.disk import check_disk_bank
from boostsample.banks.lazy import LazyBank
from boostsample.banks.shard_banks import (
    bins_of_rows,
    cuts_of_rows,
    disk_bank_of_chunks,
    memory_bank_of_chunks,
)
from boostsample.checks import check_rows
from boostsample.errors import DataError, SettingError
from boostsample.families import Columns
from boostsample.family import Family
from boostsample.loop.booster import Booster
from boostsample.models.model import Model
from boostsample.records import Term
from tests.problems import Powers, powers, same_bits


class Slow(Powers):
    """A family that takes its time."""

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        time.sleep(0.02)
        return super().compute(X, features)


class Broken(Powers):
    """A family that returns what it must not."""

    def __init__(self, result: Any) -> None:
        super().__init__(1, 2, "broken")
        self.result: NDArray[np.float32] = result

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        return self.result


@pytest.fixture
def X(rng: np.random.Generator) -> NDArray[np.float32]:
    table = rng.normal(size=(300, 3)).astype(np.float32)
    table[:, 1] = np.round(2 * table[:, 1])
    table[rng.random(300) < 0.1, 2] = np.nan
    return table


@pytest.fixture
def families() -> list[Powers]:
    return powers()


def test_bins_equal_their_definition(X: NDArray[np.float32], families: list[Powers]) -> None:
    train = np.arange(0, 300, 3)
    bank = FeatureBank.build(families, X, train)
    assert (bank.n_features, bank.n_examples) == (11, 300)
    assert bank.first.tolist() == [0, 7, 11]
    for j in range(11):
        number = 0 if j < 7 else 1
        local = np.array([j - bank.first[number]])
        values = families[number].compute(X, local)[:, 0]
        distinct = np.unique(values[train][~np.isnan(values[train])])
        assert distinct.size <= 255  # so that nothing is lost
        assert bank.n_bins[j] == distinct.size + 1
        # A cut separates neighbours, so the train values are counted exactly.
        expected = [0 if np.isnan(v) else int((distinct <= v).sum()) for v in values[train]]
        assert bank.bins[j, train].tolist() == expected
        cuts = bank.cuts[j, : bank.n_bins[j] - 2]
        expected = [0 if np.isnan(v) else 1 + int((cuts <= v).sum()) for v in values]
        assert bank.bins[j].tolist() == expected


def test_a_threshold_divides_raw_values_as_its_bins(
    X: NDArray[np.float32], families: list[Powers]
) -> None:
    bank = FeatureBank.build(families, X, np.arange(100))
    for j in (0, 1, 2, 8):
        family = bank.families[bank.family_of(j)]
        values = family.compute(X, np.array([j - bank.first[bank.family_of(j)]]))[:, 0]
        assert bank.threshold(j, 1) == -np.inf
        for b in range(1, bank.n_bins[j]):
            assert ((bank.bins[j] >= b) == (values >= bank.threshold(j, b))).all()


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
@pytest.mark.parametrize("block_bytes", [1, 5000, 1 << 23])
def test_bits_depend_on_neither_threads_nor_blocks(
    X: NDArray[np.float32],
    families: list[Powers],
    monkeypatch: pytest.MonkeyPatch,
    n_jobs: int,
    block_bytes: int,
) -> None:
    expected = FeatureBank.build(families, X)
    monkeypatch.setattr(binning, "SMALL_BLOCK", block_bytes)
    assert same_bits(FeatureBank.build(families, X, np.arange(300), n_jobs=n_jobs), expected)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_is_told_in_this_thread(
    X: NDArray[np.float32],
    families: list[Powers],
    monkeypatch: pytest.MonkeyPatch,
    n_jobs: int,
) -> None:
    monkeypatch.setattr(binning, "SMALL_BLOCK", 4 * 300 * 3)  # three features
    told: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        told.append((done, total))

    FeatureBank.build(families, X, progress=progress, n_jobs=n_jobs)
    assert told == [(3, 11), (6, 11), (7, 11), (10, 11), (11, 11)]


def test_an_interrupt_stops_the_work(
    X: NDArray[np.float32], families: list[Powers], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binning, "SMALL_BLOCK", 1)
    slow = Slow(3, 500)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        FeatureBank.build([slow], X[:5], progress=stop, n_jobs=2)
    assert len(slow.asked) < 20  # of 84 blocks


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("block_bytes", [1, 1 << 23])
def test_an_infinite_value_is_named(
    X: NDArray[np.float32],
    families: list[Powers],
    monkeypatch: pytest.MonkeyPatch,
    n_jobs: int,
    block_bytes: int,
) -> None:
    monkeypatch.setattr(binning, "SMALL_BLOCK", block_bytes)
    X[200, 0] = -np.inf
    X[17, 1] = X[250, 1] = np.inf
    message = (
        "feature 1 of family second has an infinite value in row 17; it is 'column 1 to the power "
        "of 1': mark missing values as NaN, or leave the row out"
    )
    families[0] = Powers(1, 2, "first")
    with pytest.raises(DataError, match=r"feature 0 of family first has .* in row 200;"):
        FeatureBank.build(families, X, n_jobs=n_jobs)
    with pytest.raises(DataError, match=message):
        FeatureBank.build([Powers(1, 2, "first"), families[1]], np.delete(X, 200, 0), n_jobs=n_jobs)


def test_constant_and_missing_features_keep_the_constant_stump() -> None:
    X = np.array([[1.0, np.nan], [1.0, np.nan], [2.0, 3.0]], np.float32)
    bank = FeatureBank.build([Powers(2, 2)], X, np.array([0, 1]))
    assert bank.n_bins.tolist() == [2, 2]
    assert bank.bins.tolist() == [[1, 1, 1], [0, 0, 1]]
    assert bank.threshold(1, 1) == -np.inf
    with pytest.raises(SettingError, match="threshold of feature 1 must be between 1 and 1, got 2"):
        bank.threshold(1, 2)


@pytest.mark.parametrize(
    ("families", "message"),
    [
        ([], "at least one family, got none"),
        ([Powers(3, 0, "none")], "family none must have at least one feature, got 0"),
        ([Powers(3, 1, "a"), Powers(3, 2, "a")], "2 are called 'a'"),
    ],
)
def test_bad_families_are_refused(
    X: NDArray[np.float32], families: list[Powers], message: str
) -> None:
    with pytest.raises(SettingError, match=message):
        FeatureBank.build(families, X)


@pytest.mark.parametrize(
    ("result", "got"),
    [
        (np.zeros((300, 2)), r"ndarray of float64, shape \(300, 2\); convert it"),
        (np.zeros((300, 3), np.float32), r"ndarray of float32, shape \(300, 3\)"),
        (np.zeros(300, np.float32), r"ndarray of float32, shape \(300,\)"),
        ([[0.0, 0.0]], "list;"),
        (np.ma.masked_equal(np.zeros((300, 2), np.float32), 0), "MaskedArray of float32"),
        (scipy.sparse.csr_array((300, 2), dtype=np.float32), "csr_array;"),
    ],
)
def test_a_family_that_breaks_its_contract_is_named(
    X: NDArray[np.float32], result: Any, got: str
) -> None:
    message = rf"family broken must return an array of float32, shape \(300, 2\), got {got}"
    with pytest.raises(DataError, match=message):
        FeatureBank.build([Broken(result)], X)


@pytest.mark.parametrize("form", [FeatureBank.build, LazyBank])
def test_a_family_cannot_change_the_examples(
    X: NDArray[np.float32], form: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def doubled(X: Any, features: Any) -> Any:
        X *= 2
        return X[:, features]

    family, before = Powers(3, 2, "a"), X.copy()
    monkeypatch.setattr(family, "compute", doubled)
    with pytest.raises(ValueError, match="read-only"):
        Booster(form([family], X), None, np.ones((300, 1), np.int8), "full").next_round()
    np.testing.assert_array_equal(X, before)


def test_a_family_of_one_column_for_all_features_is_named_in_predictions(
    X: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    family = Powers(3, 2, "a")
    model = Model([family], [Term(k, 1, 0.0, np.ones(1, np.int8), 0.5) for k in range(2)], 1)
    assert model.decision_function(X).shape == (len(X), 1)
    monkeypatch.setattr(family, "compute", lambda X, _: np.zeros((len(X), 1), np.float32))
    with pytest.raises(DataError, match=r"family a must return .* \(300, 2\), got ndarray"):
        model.decision_function(X)


def test_other_bad_input_is_refused(X: NDArray[np.float32], families: list[Powers]) -> None:
    with pytest.raises(DataError, match="X has no rows"):
        FeatureBank.build(families, X[:0])
    with pytest.raises(DataError, match="train_rows is empty"):
        FeatureBank.build(families, X, np.empty(0, np.int64))
    with pytest.raises(DataError, match="train_rows must lie between 0 and 299, got 0 to 300"):
        FeatureBank.build(families, X, np.array([0, 300]))
    with pytest.raises(SettingError, match="n_jobs must be 1 or more, or -1"):
        FeatureBank.build(families, X, n_jobs=0)


def test_arrays_must_fit_the_families(X: NDArray[np.float32], families: list[Powers]) -> None:
    bank = FeatureBank.build(families, X)
    again = FeatureBank(families, bank.bins, bank.cuts, bank.n_bins)
    assert same_bits(again, bank)
    with pytest.raises(DataError, match="the families have 11 features, but the arrays are for 11"):
        FeatureBank(families, bank.bins, bank.cuts, bank.n_bins[:3])


def table(*rows: list[float]) -> NDArray[np.float32]:
    return np.array(rows, np.float32)


def test_the_convention_by_hand() -> None:
    columns = table([3, 1, np.nan, 1, 2], [0, 0, 0, 0, 0], [np.nan] * 5)
    cuts, n_bins = find_cuts(columns)
    assert n_bins.tolist() == [4, 2, 2]
    assert cuts.dtype == np.float32
    assert n_bins.dtype == np.int16
    assert cuts[0, :2].tolist() == [1.5, 2.5]
    assert np.isinf(cuts[0, 2:]).all()
    assert np.isinf(cuts[1:]).all()
    bins = assign_bins(columns, cuts, n_bins)
    assert bins.tolist() == [[3, 1, 0, 1, 2], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]]
    assert bins.dtype == np.uint8


def test_a_value_where_training_had_none_has_bin_1() -> None:
    cuts, n_bins = find_cuts(table([np.nan, np.nan, 7.0]), np.array([0, 1]))
    assert n_bins[0] == 2
    assert assign_bins(table([7.0, np.nan]), cuts, n_bins).tolist() == [[1, 0]]


def test_256_bins_fit_a_byte() -> None:
    columns = table(list(range(255)))
    cuts, n_bins = find_cuts(columns)
    assert n_bins[0] == 256
    assert assign_bins(columns, cuts, n_bins)[0].tolist() == list(range(1, 256))


def test_rows_named_twice_count_twice() -> None:
    columns = table(list(range(300)))
    rows = np.concatenate([np.zeros(300, np.int64), np.arange(300)])
    cuts, _ = find_cuts(columns, rows)
    assert cuts[0, 0] == 0.5  # 0 is heavy now, and stands alone
    assert find_cuts(columns)[0][0, 0] in (0.5, 1.5)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0]], "must be a vector of row numbers"),
        ([True, False, True], "turn a mask into numbers by np.flatnonzero"),
        ([-1, 1], "train_rows must lie between 0 and 2, got -1 to 1"),
    ],
)
def test_bad_rows_are_refused(rows: list[float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_rows(np.array(rows), 3, "train_rows")


ENDS = (0, 1, 90, 90, 300)


def examples(rng: np.random.Generator) -> NDArray[np.float32]:
    X = rng.normal(size=(300, 3)).astype(np.float32)
    X[:, 1] = rng.integers(0, 7, 300)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


def chunks(
    families: list[Family],
    X: NDArray[np.float32],
    cuts: tuple[NDArray[np.float32], NDArray[np.int16]],
) -> list[NDArray[np.uint8]]:
    return [bins_of_rows(families, X[start:stop], cuts) for start, stop in pairwise(ENDS)]


@pytest.mark.parametrize("form", ["memory", "disk"])
def test_chunks_make_the_bank_of_all_rows(
    form: str, rng: np.random.Generator, tmp_path: Path
) -> None:
    X, families = examples(rng), [*powers()]
    cuts = cuts_of_rows(families, X)
    whole = FeatureBank.build(families, X)
    given = families, 300, cuts, chunks([*families], X, cuts)
    if form == "memory":
        bank = memory_bank_of_chunks(*given)
        assert bank.bins.ctypes.data % 64 == 0
    else:
        bank = disk_bank_of_chunks(tmp_path / "bank", *given)
        check_disk_bank(tmp_path / "bank")
    assert same_bits(bank, whole)
    assert bank.digest() == whole.digest()


@pytest.mark.parametrize("n", [299, 301])
@pytest.mark.parametrize("form", ["memory", "disk"])
def test_rows_that_are_missing_or_too_many_are_an_error(
    n: int, form: str, rng: np.random.Generator, tmp_path: Path
) -> None:
    X, families = examples(rng), [Columns(range(3))]
    cuts = cuts_of_rows(families, X)
    given = families, n, cuts, chunks([*families], X, cuts)
    where = [] if form == "memory" else [tmp_path / "bank"]
    make: Any = memory_bank_of_chunks if form == "memory" else disk_bank_of_chunks
    with pytest.raises(DataError, match=f"must have {n} rows together, got 300"):
        make(*where, *given)


@pytest.mark.parametrize("n_values", [1, 2, 3, 40])
@pytest.mark.parametrize("n_reference", [1, 2, 7, 200])
def test_bins_of_codes_are_those_of_their_values(n_values: int, n_reference: int) -> None:
    """Also where the reference rows lack values that other rows have, or have missing ones only."""
    rng = np.random.default_rng(n_values)
    values = np.sort(rng.choice(100, n_values, replace=False)).astype(np.float32)
    weights = [rng.dirichlet(np.full(n_values + 1, 0.3)) for _ in range(30)]
    codes = np.array([rng.choice(n_values + 1, 200, p=p) for p in weights], np.uint8)
    codes[0], codes[1] = 0, 1
    rows = np.sort(rng.choice(200, n_reference, replace=False))
    table = np.append(np.float32(np.nan), values)[codes]
    cuts, n_bins = find_cuts(table, rows)
    expected = assign_bins(table, cuts, n_bins)
    binned = bin_coded(codes.copy(), values, rows)
    np.testing.assert_array_equal(binned.cuts, cuts)
    np.testing.assert_array_equal(binned.n_bins, n_bins)
    np.testing.assert_array_equal(binned.bins, expected)
