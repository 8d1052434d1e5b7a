"""Cuts and bins as the bank and the model use them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.banks.binning import _first_infinite, assign_bins, find_cuts
from boostsample.checks import check_rows
from boostsample.errors import DataError


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


def test_a_constant_feature_has_one_bin_for_all_values() -> None:
    cuts, n_bins = find_cuts(table([5.0, 5.0]))
    assert n_bins[0] == 2
    assert assign_bins(table([-9.0, 5.0, 9.0]), cuts, n_bins).tolist() == [[1, 1, 1]]


def test_256_bins_fit_a_byte() -> None:
    columns = table(list(range(255)))
    cuts, n_bins = find_cuts(columns)
    assert n_bins[0] == 256
    assert assign_bins(columns, cuts, n_bins)[0].tolist() == list(range(1, 256))


def test_cuts_come_from_the_given_rows_only(rng: np.random.Generator) -> None:
    columns = rng.normal(size=(2, 50)).astype(np.float32)
    rows = np.arange(0, 50, 2)
    changed = columns.copy()
    changed[:, 1::2] = 100.0
    one, other = find_cuts(columns, rows), find_cuts(changed, rows)
    assert one[0].tobytes() == other[0].tobytes()
    assert one[1].tolist() == other[1].tolist()


def test_rows_named_twice_count_twice() -> None:
    columns = table(list(range(300)))
    rows = np.concatenate([np.zeros(300, np.int64), np.arange(300)])
    cuts, _ = find_cuts(columns, rows)
    assert cuts[0, 0] == 0.5  # 0 is heavy now, and stands alone
    assert find_cuts(columns)[0][0, 0] in (0.5, 1.5)


def test_read_only_arrays_are_fine() -> None:
    columns = table([1, 2, 3])
    rows = np.arange(3)
    rows.flags.writeable = False
    cuts, n_bins = find_cuts(columns, rows)
    cuts.flags.writeable = n_bins.flags.writeable = False
    assert assign_bins(columns, cuts, n_bins).tolist() == [[1, 2, 3]]


def test_no_rows_and_no_features_are_allowed() -> None:
    cuts, n_bins = find_cuts(np.empty((2, 0), np.float32))
    assert n_bins.tolist() == [2, 2]
    assert assign_bins(np.empty((2, 0), np.float32), cuts, n_bins).shape == (2, 0)
    assert find_cuts(np.empty((0, 3), np.float32))[0].shape == (0, 254)


def test_bins_are_written_where_asked() -> None:
    columns = table([1, 2, 3], [4, 4, 5])
    whole = np.full((4, 3), 9, np.uint8)
    cuts, n_bins = find_cuts(columns)
    assert assign_bins(columns, cuts, n_bins, out=whole[1:3]).base is whole
    assert whole.tolist() == [[9, 9, 9], [1, 2, 3], [1, 1, 2], [9, 9, 9]]


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_first_infinite_names_feature_and_row(infinity: float) -> None:
    columns = np.zeros((4, 6), np.float32)
    columns[0, 2] = np.nan
    columns[1, 3] = np.finfo(np.float32).max
    columns[1, 4] = -columns[1, 3]
    assert _first_infinite(columns) is None
    columns[3, 0] = columns[2, 5] = columns[2, 4] = infinity
    assert _first_infinite(columns) == (2, 4)


def test_missing_values_and_no_values_are_not_infinite() -> None:
    assert _first_infinite(np.full((2, 3), np.nan, np.float32)) is None
    assert _first_infinite(np.empty((0, 3), np.float32)) is None


@pytest.mark.parametrize(
    "columns",
    [np.zeros((2, 3)), np.zeros(3, np.float32), np.zeros((3, 2), np.float32).T],
)
def test_columns_must_be_contiguous_float32(columns: NDArray[np.float32]) -> None:
    with pytest.raises(DataError, match="columns must be contiguous float32 of shape"):
        find_cuts(columns)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0]], "must be a vector of row numbers"),
        ([0.0, 1.0], "must be a vector of row numbers"),
        ([True, False, True], "turn a mask into numbers by np.flatnonzero"),
        ([0, 3], "train_rows must lie between 0 and 2, got 0 to 3"),
        ([-1, 1], "train_rows must lie between 0 and 2, got -1 to 1"),
    ],
)
def test_bad_rows_are_refused(rows: list[float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_rows(np.array(rows), 3, "train_rows")


def test_cuts_of_another_number_of_features_are_refused() -> None:
    cuts, n_bins = find_cuts(table([1, 2], [3, 4]))
    with pytest.raises(DataError, match="1 features need cuts of shape"):
        assign_bins(table([1, 2]), cuts, n_bins)


def test_an_output_of_another_shape_is_refused() -> None:
    columns = table([1, 2])
    cuts, n_bins = find_cuts(columns)
    with pytest.raises(DataError, match="out must be contiguous uint8"):
        assign_bins(columns, cuts, n_bins, out=np.empty((1, 3), np.uint8))
