"""Checksums of banks: equal for equal bits, different for a changed feature or example."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from boostsample.banks.bank_forms import make_bank
from boostsample.errors import SettingError
from boostsample.families import Columns
from tests.problems import asked_of, powers, table


def digest(form: str, X: Any, **settings: Any) -> dict[str, str]:
    return make_bank(form, powers(), X, **settings).digest()


def changed(X: NDArray[Any], row: int, column: int) -> NDArray[Any]:
    """The rank of one value differs."""
    other = X.copy()
    other[row, column] = -5.0
    return other


def test_memory_and_disk_have_the_same_checksum() -> None:
    X = table(80, 3)
    assert digest("memory", X) == digest("disk", X) == digest("memory", X.copy(), n_jobs=2)
    assert digest("memory", X) != digest("memory", X, reference=2)
    for row, column in ((0, 0), (79, 2)):
        assert digest("memory", changed(X, row, column)) != digest("memory", X)


def test_cuts_count_as_well() -> None:
    X = table(80, 3)
    shifted, bank = make_bank("memory", powers(), X + 1), make_bank("memory", powers(), X)
    column = shifted.column(0)
    assert column.tobytes() == bank.column(0).tobytes()
    assert shifted.digest() != bank.digest()


def test_a_lazy_bank_computes_nothing_for_its_checksum() -> None:
    X, families = table(80, 3), powers()
    bank = make_bank("lazy", families, X)
    found = bank.digest()
    assert asked_of(families) == []
    assert bank.values_computed == 0
    assert bank.reader(np.arange(10)).digest() == found == digest("lazy", X.copy())
    assert digest("lazy", changed(X, 7, 1)) != found
    assert digest("lazy", X, reference=40) != found


def test_lazy_banks_of_sparse_matrices_and_objects() -> None:
    X = sparse.random_array((50, 4), density=0.3, rng=np.random.default_rng(0), format="csc")
    one, two = (make_bank("lazy", [Columns(range(4))], given).digest() for given in (X, X.tocsr()))
    assert one == two
    words = np.array([["a"], [b"b"]], dtype=object)
    bank = make_bank("lazy", [Columns([0])], words)
    with pytest.raises(SettingError, match="a lazy bank with a checkpoint must be numbers or tex"):
        bank.digest()
