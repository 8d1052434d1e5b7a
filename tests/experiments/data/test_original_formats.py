"""The benchmark sets as their original files give them: published counts, means and errors."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.data.originals import CIFAR10_CLASSES, read_usps_numbers

DIGITS = tuple("0123456789")


def load(name: str, data_dir: Path) -> Dataset:
    return load_dataset(name, data_dir=data_dir, download=False)


def class_counts(data: Dataset) -> tuple[list[int], list[int]]:
    train, test = data.split(0, 0)
    return np.bincount(data.y[train]).tolist(), np.bincount(data.y[test]).tolist()


def mean_and_std(pixels: NDArray[Any]) -> tuple[float, float]:
    """Return both in units of 255, from sums of whole numbers."""
    total = squares = 0
    for block in np.array_split(pixels, 50):
        total += int(block.sum(dtype=np.int64))
        squares += int(np.square(block, dtype=np.uint16).sum(dtype=np.int64))
    mean = total / pixels.size / 255
    return mean, float(np.sqrt(squares / pixels.size / 255**2 - mean**2))


def test_digits() -> None:
    data = load_dataset("digits")
    assert data.X.shape == (1797, 8, 8)
    assert data.X.dtype == np.uint8
    assert data.X.max() == 16
    assert data.classes == DIGITS
    assert data.n_train is None
    assert np.bincount(data.y).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    train, test = data.split(0, 0)
    assert abs(len(test) - 1797 / 4) < 1
    assert not np.array_equal(train, data.split(1, 0)[0])


def test_mnist(data_dir: Path) -> None:
    data = load("mnist", data_dir)
    assert data.X.shape == (70000, 28, 28)
    assert data.X.dtype == np.uint8
    assert data.classes == DIGITS
    assert class_counts(data) == (
        [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
        [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
    )
    train, test = data.split(2, 7)
    assert (len(train), len(test)) == (60000, 10000)
    # The usual mean and standard deviation of the training pixels, to four decimals.
    mean, std = mean_and_std(data.X[:60000])
    assert (round(mean, 4), round(std, 4)) == (0.1307, 0.3081)
    # Row-major and upright: the first image is a 5, its ink is between rows 5 and 24.
    assert data.y[0] == 5
    assert np.flatnonzero(data.X[0].any(axis=1))[[0, -1]].tolist() == [5, 24]
    assert np.flatnonzero(data.X[0].any(axis=0))[[0, -1]].tolist() == [4, 23]


def test_cifar10(data_dir: Path) -> None:
    data = load("cifar10", data_dir)
    assert data.X.shape == (60000, 32, 32, 3)
    assert data.X.dtype == np.uint8
    assert data.X.flags.c_contiguous
    assert data.classes == CIFAR10_CLASSES
    assert class_counts(data) == ([5000] * 10, [1000] * 10)
    channels = [mean_and_std(data.X[:50000, :, :, channel]) for channel in range(3)]
    means, stds = zip(*channels, strict=True)
    assert np.allclose(means, [0.49139968, 0.48215841, 0.44653091], rtol=0, atol=6e-9)
    assert np.allclose(stds, [0.24703223, 0.24348513, 0.26158784], rtol=0, atol=6e-9)
    # Planes to pixels, by hand: byte 1 + 1024 c + 32 row + column of a record of 3073.
    with gzip.open(data_dir / "cifar10" / "data_batch_1.bin.gz") as stream:
        records = stream.read(2 * 3073)
    for image, row, column, channel in ((0, 0, 0, 0), (0, 3, 17, 1), (1, 31, 0, 2), (1, 12, 30, 0)):
        byte = records[3073 * image + 1 + 1024 * channel + 32 * row + column]
        assert data.X[image, row, column, channel] == byte
    assert data.y[:2].tolist() == [records[0], records[3073]] == [6, 9]


def test_usps(data_dir: Path) -> None:
    data = load("usps", data_dir)
    assert data.X.shape == (9298, 16, 16)
    assert data.X.dtype == np.float32
    assert (data.X.min(), data.X.max()) == (-1, 1)
    assert data.classes == DIGITS
    assert class_counts(data) == (
        [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644],
        [359, 264, 198, 166, 200, 160, 170, 147, 166, 177],
    )
    train, test = data.split(0, 0)
    assert (len(train), len(test)) == (7291, 2007)
    # 1-nearest-neighbour makes 113 test errors, the figure of the literature; in whole thousandths,
    # so that no distance is rounded.
    values = np.rint(data.X.reshape(-1, 256) * 1000.0).astype(np.float64)
    near = ((values[train] ** 2).sum(axis=1) - 2 * values[test] @ values[train].T).argmin(axis=1)
    assert int((data.y[train][near] != data.y[test]).sum()) == 113


def test_pendigits(data_dir: Path) -> None:
    data = load("pendigits", data_dir)
    assert data.X.shape == (10992, 16)
    assert (data.X.min(), data.X.max()) == (0, 100)
    assert data.classes == DIGITS
    assert data.columns is not None
    assert data.columns[:3] == ("x1", "y1", "x2")
    assert class_counts(data) == (
        [780, 779, 780, 719, 780, 720, 720, 778, 719, 719],
        [363, 364, 364, 336, 364, 335, 336, 364, 336, 336],
    )
    first = [47, 100, 27, 81, 57, 37, 26, 0, 0, 23, 56, 53, 100, 90, 40, 98]
    assert data.X[0].tolist() == first
    assert data.y[0] == 8


def test_letter(data_dir: Path) -> None:
    data = load("letter", data_dir)
    assert data.X.shape == (20000, 16)
    assert (data.X.min(), data.X.max()) == (0, 15)
    assert data.classes == tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    assert data.columns is not None
    assert (data.columns[0], data.columns[-1]) == ("x-box", "yegvx")
    counts = (
        "789 766 736 805 768 775 773 734 755 747 739 761 792 783 753 803 783 758 748 796 813 764 "
        "752 787 786 734"
    )
    assert np.bincount(data.y).tolist() == [int(count) for count in counts.split()]
    assert [len(rows) for rows in data.split(0, 0)] == [16000, 4000]
    assert len(np.unique(np.column_stack([data.X, data.y]), axis=0)) == 18668
    assert data.X[0].tolist() == [2, 8, 3, 5, 1, 8, 13, 0, 6, 6, 10, 8, 0, 8, 0, 8]
    assert data.classes[data.y[0]] == "T"


def change_usps(data_dir: Path, folder: Path, change: Callable[[bytes], bytes]) -> None:
    """Copy the files of usps into a folder, with another text of the test digits."""
    with gzip.open(data_dir / "usps" / "zip.test.gz") as stream:
        text = stream.read()
    shutil.copy(data_dir / "usps" / "zip.train.gz", folder)
    (folder / "zip.test").write_bytes(change(text))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text[: len(text) // 2], "cannot be read: "),
        (lambda text: text.replace(b"-0.948", b"-0.947", 1), "must have sha256"),
        (lambda text: b"", "cannot be read: it holds no numbers"),
        (lambda text: b" ".join([b"nan"] * 257), "cannot be read: every number must lie between"),
    ],
    ids=["cut", "a changed number", "empty", "nan"],
)
def test_damaged_usps_text(
    data_dir: Path, tmp_path: Path, change: Callable[[bytes], bytes], says: str
) -> None:
    change_usps(data_dir, tmp_path, change)
    with pytest.raises(DataError) as raised:
        load("usps", tmp_path)
    assert f"zip.test {says}" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_usps_numbers_do_not_depend_on_how_they_are_written() -> None:
    short = b"9 " + b" ".join([b"-1", b"0.5", b"0", b".123"] * 64)
    long = b"9.0000 " + b" ".join([b"-1.0000", b"0.500", b"-0.0", b"0.1230"] * 64) + b" \n"
    assert read_usps_numbers(short) == read_usps_numbers(long)
    assert np.frombuffer(read_usps_numbers(short), "<i2")[:5].tolist() == [9, -1000, 500, 0, 123]


def test_usps_smoothed_has_the_images_of_usps_with_less_contrast(data_dir: Path) -> None:
    plain, smooth = (load(name, data_dir) for name in ("usps", "usps-smoothed"))
    np.testing.assert_array_equal(plain.y, smooth.y)
    assert smooth.X.shape == plain.X.shape
    assert smooth.X.dtype == np.float32
    assert smooth.X[:50].std() < plain.X[:50].std()
    # Of a single bright pixel far from the edges, the Gaussian keeps (sum of exp(-k^2 / 1.125))^-2.
    kernel = np.exp(-(np.arange(-3, 4) ** 2) / (2 * 0.75**2))
    middle = np.einsum("i,j,nij->n", kernel, kernel, plain.X[:20, 5:12, 5:12]) / kernel.sum() ** 2
    np.testing.assert_allclose(smooth.X[:20, 8, 8], middle, atol=1e-6)
