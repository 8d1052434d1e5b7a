"""Original files of the named benchmark sets: hashes, addresses and readers.

Readers return the train rows first, in the original order; of the one file of letter, the first
16000 rows train. The hashes are the published ones, of the uncompressed content. Copies of the USPS
text spell the same numbers differently; its hash is of the numbers.
"""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np

from boostsample.experiments.data.content import DataContent
from boostsample.experiments.data.downloads import DownloadSource, Original

__all__ = ["CIFAR10_CLASSES", "ORIGINALS", "READERS", "read_usps_numbers"]

CIFAR10_CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
_DIGITS = tuple("0123456789")
_LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_TORONTO = "https://www.cs.toronto.edu/~kriz"
_UCI = "https://archive.ics.uci.edu"

Read = Callable[[str], bytes]
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


_MNIST_SHA256 = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
_MNIST = {name: f"sha256:{digest}" for name, digest in _MNIST_SHA256.items()}
_CIFAR10 = {
    "data_batch_1.bin": "sha1:aadd24acce27caa71bf4b10992e9e7b2d74c2540",
    "data_batch_2.bin": "sha1:c0ba65cce70568cd57b4e03e9ac8d2a5367c1795",
    "data_batch_3.bin": "sha1:1dd00a74ab1d17a6e7d73e185b69dbf31242f295",
    "data_batch_4.bin": "sha1:aab85764eb3584312d3c7f65fd2fd016e36a258e",
    "data_batch_5.bin": "sha1:26e2849e66a845b7f1e4614ae70f4889ae604628",
    "test_batch.bin": "sha1:67eb016db431130d61cd03c7ad570b013799c88c",
}
_USPS = {
    "zip.train": "sha256:2840d87b925227ed879fc92b76e8277187622e6437703a83e913cdf4540eef90",
    "zip.test": "sha256:0e2b49627b8dcd6973d10b28b8623beae24d4e9f9d9d366ef89ed6d280c8364d",
}
_PENDIGITS = {
    "pendigits.tra": "md5:8496aa7aa9bfc0e11f56ed4eba23d079",
    "pendigits.tes": "md5:275078cd1761461e3cf39a3926c6ca2f",
}
_LETTER = {"letter-recognition.data": "md5:6a2d740def5d13ea6096272546f6d41e"}

ORIGINALS = {
    "mnist": Original(
        "mnist",
        _MNIST,
        (
            DownloadSource("https://ossci-datasets.s3.amazonaws.com/mnist/{name}.gz"),
            DownloadSource("https://storage.googleapis.com/cvdf-datasets/mnist/{name}.gz"),
        ),
    ),
    "cifar10": Original(
        "cifar10",
        _CIFAR10,
        (DownloadSource(f"{_TORONTO}/cifar-10-binary.tar.gz", "cifar-10-batches-bin/"),),
        folders=("cifar-10-batches-bin",),
    ),
    "usps": Original(
        "usps",
        _USPS,
        (
            DownloadSource("https://hastie.su.domains/ElemStatLearn/datasets/{name}.gz"),
            DownloadSource("https://web.stanford.edu/~hastie/ElemStatLearn/datasets/{name}.gz"),
        ),
        canonical=read_usps_numbers,
    ),
    "pendigits": Original(
        "pendigits",
        _PENDIGITS,
        (
            DownloadSource(
                f"{_UCI}/static/public/81/pen+based+recognition+of+handwritten+digits.zip", ""
            ),
            DownloadSource(f"{_UCI}/ml/machine-learning-databases/pendigits/{{name}}"),
        ),
    ),
    "letter": Original(
        "letter",
        _LETTER,
        (
            DownloadSource(f"{_UCI}/static/public/59/letter+recognition.zip", ""),
            DownloadSource(f"{_UCI}/ml/machine-learning-databases/letter-recognition/{{name}}"),
        ),
    ),
}
"""The named benchmark sets."""


def _mnist(read: Read) -> DataContent:
    """Read the IDX files: a big-endian header of 16 or 8 bytes, then unsigned bytes."""
    X = np.empty((70000, 28, 28), dtype=np.uint8)
    y = np.empty(70000, dtype=np.int64)
    for part, rows in (("train", slice(0, 60000)), ("t10k", slice(60000, 70000))):
        pixels = read(f"{part}-images-idx3-ubyte")
        labels = read(f"{part}-labels-idx1-ubyte")
        X[rows] = np.frombuffer(pixels, dtype=np.uint8, offset=16).reshape(-1, 28, 28)
        y[rows] = np.frombuffer(labels, dtype=np.uint8, offset=8)
    return DataContent(X, y, _DIGITS, None, 60000)


def _cifar10(read: Read) -> DataContent:
    """Read the batches: records of a label byte, then the red, green and blue plane of 32 x 32."""
    X = np.empty((60000, 32, 32, 3), dtype=np.uint8)
    y = np.empty(60000, dtype=np.int64)
    for batch, name in enumerate(_CIFAR10):
        rows = slice(10000 * batch, 10000 * (batch + 1))
        content = read(name)
        records = np.frombuffer(content, dtype=np.uint8).reshape(10000, 3073)
        y[rows] = records[:, 0]
        X[rows] = records[:, 1:].reshape(10000, 3, 32, 32).transpose(0, 2, 3, 1)
    return DataContent(X, y, CIFAR10_CLASSES, None, 50000)


def _usps(read: Read) -> DataContent:
    parts = [np.frombuffer(read(n), "<i2").reshape(-1, 257) for n in _USPS]
    rows = np.concatenate(parts)
    X = (rows[:, 1:] / 1000.0).astype(np.float32).reshape(-1, 16, 16)
    return DataContent(X, rows[:, 0].astype(np.int64), _DIGITS, None, len(parts[0]))


def _pendigits(read: Read) -> DataContent:
    parts = [
        np.loadtxt(io.BytesIO(read(name)), dtype=np.int64, delimiter=",") for name in _PENDIGITS
    ]
    rows = np.concatenate(parts)
    columns = tuple(f"{axis}{point}" for point in range(1, 9) for axis in "xy")
    X = rows[:, :16].astype(np.float32)
    return DataContent(X, rows[:, 16].copy(), _DIGITS, columns, len(parts[0]))


def _letter(read: Read) -> DataContent:
    """Read the letters; columns have the names in the set's description."""
    lines = read("letter-recognition.data").decode("ascii").split()
    X = np.array([line.split(",")[1:] for line in lines], dtype=np.float32)
    y = np.array([ord(line[0]) - ord("A") for line in lines], dtype=np.int64)
    columns = (
        "x-box y-box width high onpix x-bar y-bar x2bar y2bar xybar x2ybr xy2br x-ege xegvy "
        "y-ege yegvx"
    )
    return DataContent(X, y, _LETTERS, tuple(columns.split()), 16000)


READERS: dict[str, Callable[[Read], DataContent]] = {
    "mnist": _mnist,
    "cifar10": _cifar10,
    "usps": _usps,
    "pendigits": _pendigits,
    "letter": _letter,
}
