"""Coefficients whose sums are exact, so that scores depend on no order of additions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def exact_coefficients(alpha: NDArray[np.float64], first: NDArray[np.int64]) -> NDArray[np.float64]:
    """Round alpha (M,) to multiples of 2^-q, 2^q at most 2^52 / sum over rounds of abs(alpha).

    All sums and differences of these numbers, each round used once, are multiples of 2^-q below
    2^53 2^-q, and so exact in float64 in any order: scores are the same bits for any batch, any
    number of threads, any library. The rounding changes a score by at most R 2^-q / 2 for R rounds,
    as much as summing with rounding would.
    """
    _, exponent = math.frexp(math.fsum(np.abs(alpha[first]).tolist()))
    return np.ldexp(np.rint(np.ldexp(alpha, 52 - exponent)), exponent - 52)
