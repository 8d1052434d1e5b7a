"""Output codes: each class is a word of bits, each bit a label to boost.

Allwein, Schapire and Singer, *Reducing multiclass to binary: a unifying approach for margin
classifiers*, JMLR 1, 2000: a matrix M of K classes and B bits with entries -1, +1, and 0 where an
example of the class says nothing of the bit. What boosts labels learns M_yb; with AdaBoost.MH this
is AdaBoost.MO (Schapire and Singer 1999, section 8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.checks import check_known
from boostsample.errors import SettingError

ONE_VS_REST = "one-vs-rest"
BINARY = "binary"
EXHAUSTIVE = "exhaustive"
DENSE = "dense"
SPARSE = "sparse"
CODES = (ONE_VS_REST, BINARY, EXHAUSTIVE, DENSE, SPARSE)
DECODINGS = ("loss", "hamming")

_MOST_EXHAUSTIVE = 11
"""Most classes of an exhaustive code: 1,023 bits, the limit of Dietterich and Bakiri 1995."""
_DRAWS = 1000
"""Random codes of which the best is taken, fewer if their distances need more than _MOST_WORK."""
_MOST_WORK = 10**8
_TRIES = 100
"""Times that columns are drawn until a code has enough of them."""
_BLOCK = 2**20
"""Numbers in memory when scores are decoded."""


@dataclass(frozen=True, eq=False)
class OutputCode:
    """The words of the classes and how scores of bits are decoded.

    Attributes
    ----------
    matrix : ndarray of int8, shape (K, B)
        The word of each class: -1, 0 and +1.
    decoding : {"loss", "hamming"}
        How `decode` makes scores of classes.
    """

    matrix: NDArray[np.int8]
    decoding: str = "loss"

    @property
    def n_bits(self) -> int:
        """Number of bits B."""
        return int(self.matrix.shape[1])

    def encode(self, labels: NDArray[np.int8]) -> NDArray[np.int8]:
        """Labels of bits, int8 (n, B), of class labels (n, K), or (n, 1) of two classes."""
        codes = labels.argmax(axis=1) if labels.shape[1] > 1 else (labels[:, 0] > 0).astype(int)
        return np.asarray(self.matrix[codes])

    def decode(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of classes, float64 (n, K), of scores of bits f_b(x) (n, B).

        By loss: -log sum_b exp(-M_cb f_b), the order of Allwein et al. 2000, eq. 5. By Hamming
        distance: -sum_b (1 - sign(M_cb f_b)) / 2, their eq. 4. Two classes: half of the difference
        (n, 1); with one bit and by loss, that is f.
        """
        matrix = self.matrix.astype(np.float64, order="C")  # sums have an order, and so bits
        if self.decoding == "hamming":
            decoded = 0.5 * (np.sign(scores) @ matrix.T - self.n_bits)
        else:
            decoded = np.empty((scores.shape[0], matrix.shape[0]))
            step = max(1, _BLOCK // matrix.size)
            for start in range(0, scores.shape[0], step):
                exponents = -scores[start : start + step, None, :] * matrix
                worst = exponents.max(axis=2)
                loss = np.exp(exponents - worst[:, :, None]).sum(axis=2)
                decoded[start : start + step] = -(worst + np.log(loss))
        if matrix.shape[0] == 2:
            return np.asarray(0.5 * (decoded[:, 1:] - decoded[:, :1]))
        return decoded


def check_code_settings(code: Any, decoding: Any) -> None:
    """SettingError if a name, a number of bits or the decoding is unknown."""
    check_known("decoding", decoding, DECODINGS)
    if isinstance(code, str):
        _name_and_bits(code)


def make_output_code(
    code: str | ArrayLike, decoding: str, n_classes: int, rng: np.random.Generator
) -> OutputCode | None:
    """The output code for K classes; None for one-vs-rest by loss, whose order is that of f.

    `code` is "one-vs-rest", "binary", "exhaustive", "dense" or "sparse", these two drawn from `rng`
    and with a number of bits if need be as in ``"dense:30"``; or the matrix (K, B), a row for each
    class in ascending order. SettingError if a setting is unknown, or the matrix or the number of
    bits does not suit the classes.
    """
    check_code_settings(code, decoding)
    if not isinstance(code, str):
        return OutputCode(_checked(code, n_classes), decoding)
    name, n_bits = _name_and_bits(code)
    if name == ONE_VS_REST:
        if decoding == "loss":
            return None
        matrix = 2 * np.eye(n_classes, dtype=np.int8) - 1
        return OutputCode(matrix[:, 1:] if n_classes == 2 else matrix, decoding)
    if name == BINARY:
        return OutputCode(_digits(np.arange(n_classes), (n_classes - 1).bit_length()), decoding)
    if name == EXHAUSTIVE:
        return OutputCode(_exhaustive(n_classes), decoding)
    return OutputCode(_random(name, n_bits, n_classes, rng), decoding)


def _name_and_bits(code: str) -> tuple[str, int | None]:
    """The name of a code, and the number of bits of a random one."""
    name, colon, bits = code.partition(":")
    check_known("code", name, CODES)
    if not colon:
        return name, None
    if name not in (DENSE, SPARSE) or not bits.isdecimal() or int(bits) < 1:
        raise SettingError(
            "a code must be a name, and of dense and sparse ones the number of bits may follow, as "
            f"in 'dense:30', got {code!r}"
        )
    return name, int(bits)


def _checked(code: Any, n_classes: int) -> NDArray[np.int8]:
    """The user's matrix as int8 (K, B)."""
    matrix = np.asarray(code)
    if matrix.ndim != 2 or matrix.shape[0] != n_classes or not matrix.shape[1]:
        raise SettingError(
            f"a code must have shape ({n_classes}, B), a row for each class, got {matrix.shape}; "
            "give a row of bits for each class"
        )
    if matrix.dtype.kind not in "iuf" or not np.isin(matrix, (-1, 0, 1)).all():
        raise SettingError("a code must hold -1, 0 and +1 only; 0 leaves a bit of a class out")
    signs = matrix.astype(np.int8)
    wrong = np.flatnonzero((signs.min(axis=0) >= 0) | (signs.max(axis=0) <= 0))
    if wrong.size:
        raise SettingError(
            f"each column of a code must have -1 and +1, but column {wrong[0]} has "
            f"{sorted(set(signs[:, wrong[0]].tolist()))}; leave it out"
        )
    empty = np.flatnonzero(~signs.any(axis=1))
    if empty.size:
        raise SettingError(
            f"each row of a code must have -1 or +1, but row {empty[0]} has 0 only; give its class "
            "a bit"
        )
    _, first, group = np.unique(signs, axis=0, return_index=True, return_inverse=True)
    equal = np.flatnonzero(first[group.reshape(-1)] != np.arange(n_classes))
    if equal.size:
        other = int(first[group.reshape(-1)[equal[0]]])
        raise SettingError(
            f"the rows of a code must differ, but rows {other} and {equal[0]} are equal; add a bit "
            "that tells their classes apart"
        )
    return signs


def _digits(numbers: NDArray[np.int64], n_digits: int) -> NDArray[np.int8]:
    """Binary digits of numbers, the highest first, as -1 and +1: int8 (n, n_digits)."""
    digits = numbers[:, None] >> np.arange(n_digits)[::-1] & 1
    return np.asarray(2 * digits - 1, np.int8)


def _exhaustive(n_classes: int) -> NDArray[np.int8]:
    """All 2^(K-1) - 1 ways to divide the classes (Dietterich and Bakiri 1995, section 2.3.1)."""
    if n_classes > _MOST_EXHAUSTIVE:
        raise SettingError(
            f"an exhaustive code is for up to {_MOST_EXHAUSTIVE} classes, got {n_classes}; use "
            "dense or sparse"
        )
    others = _digits(np.arange(2 ** (n_classes - 1) - 1), n_classes - 1).T
    return np.vstack([np.ones((1, others.shape[1]), np.int8), others])


def _random(
    name: str, n_bits: int | None, n_classes: int, rng: np.random.Generator
) -> NDArray[np.int8]:
    """The code with the largest least distance of two words, of up to 1,000 random codes.

    Allwein et al. 2000, section 6: 10 log2 K bits by default, of sparse ones 15 log2 K, rounded up,
    at most all different ones. The distance is the number of bits of opposite signs. They count a
    bit that is 0 half; then the best sparse codes have pairs of classes that no bit tells apart.
    """
    k = n_classes
    most = 2 ** (k - 1) - 1 if name == DENSE else (3**k - 2 ** (k + 1) + 1) // 2
    least = (k - 1).bit_length() if name == DENSE else 1
    if n_bits is None:
        n_bits = min(int(np.ceil((10 if name == DENSE else 15) * np.log2(k))), most)
    if not least <= n_bits <= most:
        bits = "1 bit" if most == 1 else f"{least} to {most} bits"
        raise SettingError(
            f"a {name} code of {k} classes must have {bits}, got {n_bits}; change the number, or "
            f"leave it out: '{name}'"
        )
    best, largest = None, -np.inf
    for _ in range(max(1, min(_DRAWS, _MOST_WORK // (k * k * n_bits)))):
        matrix = _drawn(name, n_bits, k, rng)
        if matrix is None or not matrix.any(axis=1).all():
            continue
        of_words, used = matrix.astype(np.float64), (matrix != 0).astype(np.float64)
        distance = 0.5 * (used @ used.T - of_words @ of_words.T)
        np.fill_diagonal(distance, np.inf)
        if distance.min() > largest and len(np.unique(matrix, axis=0)) == k:
            best, largest = matrix, float(distance.min())
    if best is None:
        raise SettingError(
            f"no code '{name}:{n_bits}' with different words for {k} classes was drawn; use more "
            f"bits, or leave the number out: '{name}'"
        )
    return best


def _drawn(
    name: str, n_bits: int, n_classes: int, rng: np.random.Generator
) -> NDArray[np.int8] | None:
    """A random code whose columns have both signs and are neither equal nor opposite."""
    values = np.array([-1, 1] if name == DENSE else [-1, 0, 0, 1], np.int8)
    columns: dict[bytes, NDArray[np.int8]] = {}
    for _ in range(_TRIES):
        drawn = values[rng.integers(values.size, size=(n_bits, n_classes))]
        drawn = drawn[(drawn.min(axis=1) < 0) & (drawn.max(axis=1) > 0)]
        first = np.take_along_axis(drawn, (drawn != 0).argmax(axis=1)[:, None], axis=1)
        for column, same in zip(drawn, drawn * first, strict=True):
            columns.setdefault(same.tobytes(), column)
        if len(columns) >= n_bits:
            return np.stack(list(columns.values())[:n_bits], axis=1)
    return None
