"""Banks of chunks of rows hold the bits of banks that are built as a whole."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.banks.bank import FeatureBank
from boostsample.banks.disk import check_disk_bank
from boostsample.banks.row_chunks import (
    bins_of_rows,
    cuts_of_rows,
    disk_bank_of_chunks,
    memory_bank_of_chunks,
)
from boostsample.errors import DataError
from boostsample.families import Columns
from boostsample.family import Family
from tests.problems import powers, same_bits

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
        check_disk_bank(tmp_path / "bank", all_features=True)
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
