"""Columns of SciPy sparse matrices as dense rows, without importing SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["is_sparse", "sparse_columns"]


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse matrix or array, in any format."""
    return hasattr(X, "tocsc") and hasattr(X, "nnz")


def sparse_columns(matrix: Any, columns: NDArray[np.intp]) -> NDArray[np.float32]:
    """Some columns as a dense array: float32 (q, n), C-contiguous; overflow becomes infinite.

    `matrix` is (n, d), and its duplicate entries are summed; `columns` (q,) are in any order, with
    repeats. Cost: a pass over the q n values of the result and over the stored values, in CSC
    format only those of the given columns.
    """
    part = matrix[:, columns] if matrix.format in ("csc", "csr") else matrix.tocsc()[:, columns]
    with np.errstate(over="ignore"):
        part = part.T.astype(np.float32)
    dense: NDArray[np.float32] = part.toarray(order="C")
    return dense
