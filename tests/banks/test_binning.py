"""Cuts and bins as the bank and the model use them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.banks.binning import assign_bins, find_cuts
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
        ([0.0, 1.0], "must be a vector of row numbers"),
        ([True, False, True], "turn a mask into numbers by np.flatnonzero"),
        ([0, 3], "train_rows must lie between 0 and 2, got 0 to 3"),
        ([-1, 1], "train_rows must lie between 0 and 2, got -1 to 1"),
    ],
)
def test_bad_rows_are_refused(rows: list[float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_rows(np.array(rows), 3, "train_rows")
