from __future__ import annotations

import numpy as np
import pytest

from boostsample.banks.binning import assign_bins, bin_coded, find_cuts


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
