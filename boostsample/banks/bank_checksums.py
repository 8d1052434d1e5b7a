"""Checksums of what a bank holds: of bins and cuts, or of the examples that they come from."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import SettingError
from boostsample.hashing import sha256_of_arrays


def feature_checksums(bins: NDArray[np.uint8], cuts: NDArray[np.float32]) -> tuple[int, int]:
    """CRC-32 of the bins and of the cuts of one feature, both contiguous."""
    return zlib.crc32(bins.data), zlib.crc32(cuts.data)


def digest_of_examples(X: Any, what: str) -> str:
    """Checksum of an array of numbers or texts, or of a sparse matrix in any format.

    SettingError if X holds other objects; `what` says what needs the checksum.
    """
    if hasattr(X, "tocsr"):
        rows = X.tocsr()
        return sha256_of_arrays(rows.data, rows.indices, rows.indptr)
    try:
        return sha256_of_arrays(X)
    except TypeError as error:
        raise SettingError(
            f"examples of {what} must be numbers or texts: {error}; use the bank in memory"
        ) from None
