"""Reads the named benchmark sets from their original files.

The train rows come first, in the original order; of the one file of letter, the first 16000 rows
train.
"""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np

from boostsample.experiments.data.dataset import DataContent

__all__ = ["CIFAR10_CLASSES", "ORIGINAL_READERS", "read_usps_numbers"]

CIFAR10_CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
_DIGITS = tuple("0123456789")
_LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")

_Read = Callable[[str], bytes]
"""Returns the verified content of an original file by its name without ``.gz``."""


def read_usps_numbers(content: bytes) -> bytes:
    """Parse lines of a label and 256 values; return both as little-endian int16.

    Values are in thousandths. Raises ValueError for any other text.
    """
    if not content.strip():
        raise ValueError("it holds no numbers")
    rows = np.loadtxt(io.BytesIO(content), dtype=np.float64, ndmin=2)
    if rows.shape[1] != 257:
        raise ValueError(f"every line must have 257 numbers, got {rows.shape[1]}")
    if not (np.abs(rows) <= 9.0).all():
        raise ValueError("every number must lie between -9 and 9")
    rows[:, 1:] *= 1000.0
    return np.rint(rows).astype("<i2").tobytes()


def _mnist(read: _Read) -> DataContent:
    """_Read the IDX files: a big-endian header of 16 or 8 bytes, then unsigned bytes."""
    X = np.empty((70000, 28, 28), dtype=np.uint8)
    y = np.empty(70000, dtype=np.int64)
    for part, rows in (("train", slice(0, 60000)), ("t10k", slice(60000, 70000))):
        pixels = read(f"{part}-images-idx3-ubyte")
        labels = read(f"{part}-labels-idx1-ubyte")
        X[rows] = np.frombuffer(pixels, dtype=np.uint8, offset=16).reshape(-1, 28, 28)
        y[rows] = np.frombuffer(labels, dtype=np.uint8, offset=8)
    return DataContent(X, y, _DIGITS, None, 60000)


def _cifar10(read: _Read) -> DataContent:
    """_Read the batches: records of a label byte, then the red, green and blue plane of 32 x 32."""
    X = np.empty((60000, 32, 32, 3), dtype=np.uint8)
    y = np.empty(60000, dtype=np.int64)
    names = (*(f"data_batch_{part}.bin" for part in range(1, 6)), "test_batch.bin")
    for batch, name in enumerate(names):
        rows = slice(10000 * batch, 10000 * (batch + 1))
        content = read(name)
        records = np.frombuffer(content, dtype=np.uint8).reshape(10000, 3073)
        y[rows] = records[:, 0]
        X[rows] = records[:, 1:].reshape(10000, 3, 32, 32).transpose(0, 2, 3, 1)
    return DataContent(X, y, CIFAR10_CLASSES, None, 50000)


def _usps(read: _Read) -> DataContent:
    parts = [np.frombuffer(read(n), "<i2").reshape(-1, 257) for n in ("zip.train", "zip.test")]
    rows = np.concatenate(parts)
    X = (rows[:, 1:] / 1000.0).astype(np.float32).reshape(-1, 16, 16)
    return DataContent(X, rows[:, 0].astype(np.int64), _DIGITS, None, len(parts[0]))


def _pendigits(read: _Read) -> DataContent:
    parts = [
        np.loadtxt(io.BytesIO(read(name)), dtype=np.int64, delimiter=",")
        for name in ("pendigits.tra", "pendigits.tes")
    ]
    rows = np.concatenate(parts)
    columns = tuple(f"{axis}{point}" for point in range(1, 9) for axis in "xy")
    X = rows[:, :16].astype(np.float32)
    return DataContent(X, rows[:, 16].copy(), _DIGITS, columns, len(parts[0]))


def _letter(read: _Read) -> DataContent:
    """_Read the letters; columns have the names in the set's description."""
    lines = read("letter-recognition.data").decode("ascii").split()
    X = np.array([line.split(",")[1:] for line in lines], dtype=np.float32)
    y = np.array([ord(line[0]) - ord("A") for line in lines], dtype=np.int64)
    columns = (
        "x-box y-box width high onpix x-bar y-bar x2bar y2bar xybar x2ybr xy2br x-ege xegvy "
        "y-ege yegvx"
    )
    return DataContent(X, y, _LETTERS, tuple(columns.split()), 16000)


ORIGINAL_READERS: dict[str, Callable[[_Read], DataContent]] = {
    "mnist": _mnist,
    "cifar10": _cifar10,
    "usps": _usps,
    "pendigits": _pendigits,
    "letter": _letter,
}
