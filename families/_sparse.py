"""Columns of sparse matrices as dense rows, told from arrays without importing SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["is_sparse", "sparse_columns"]


def is_sparse(X: Any) -> bool:
    """Whether X is one of SciPy's sparse matrices or arrays, in any format."""
    return hasattr(X, "tocsc") and hasattr(X, "nnz")


def sparse_columns(matrix: Any, columns: NDArray[np.intp]) -> NDArray[np.float32]:
    """Some columns, dense: float32 (q, n), C-contiguous; overflow becomes infinite without a word.

    Costs a pass over the q n values of the result and over the stored values of those columns where
    the matrix is in CSC format; in another one over all that is stored.

    Parameters
    ----------
    matrix : sparse matrix or array, shape (n, d)
        Read only. Values stored twice at one place count as their sum.
    columns : intp, shape (q,)
        Repeats and any order included.
    """
    part = matrix[:, columns] if matrix.format in ("csc", "csr") else matrix.tocsc()[:, columns]
    with np.errstate(over="ignore"):
        part = part.T.astype(np.float32)
    dense: NDArray[np.float32] = part.toarray(order="C")
    return dense
