"""Original files of the named benchmark sets: lists, finds, downloads, verifies and reads them.

Files may be plain or gzipped. They are searched in the user's ``data_dir``, then in the folder
``datasets`` of the cache folder, where pooch (extra ``data``) downloads missing ones. docs/data.md
lists the sets. Training rows come first, in the original order.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import io
import logging
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.cache_folder import cache_dir
from boostsample.errors import DataError, SettingError, one_line
from boostsample.experiments.data.dataset import DataContent
from boostsample.files.atomic import atomic_file

_GZIP_MAGIC = b"\x1f\x8b"
_BROKEN = (KeyError, RuntimeError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile)
_TORONTO = "https://www.cs.toronto.edu/~kriz"
_UCI = "https://archive.ics.uci.edu"
_LOG = logging.getLogger(__name__)

CIFAR10_CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
_DIGITS = tuple("0123456789")
_LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_ISOLET_FILES = {"isolet1+2+3+4.data": (6238, 240), "isolet5.data": (1559, 60)}
"""Number of rows, and of the rows of a letter of which none is lost; three rows are lost."""
KDD_POSITIVES = {"churn": 3672, "appetency": 890, "upselling": 3682}
"""The tasks of the KDD Cup 2009, with their numbers of positive rows."""
_KDD_ROWS = 50000
_KDD_COLUMNS = tuple(f"Var{number}" for number in range(1, 231))
_KDD_NUMBERS = 190  # columns of numbers, before those of categories
_KDD_TABLE = "orange_small_train.data"

_Read = Callable[[str], Any]
"""Returns the verified content of an original file by its name without ``.gz``."""


class DownloadSource(NamedTuple):
    """An address of files, with ``{name}`` for their names, or of a ``.zip`` or tar archive.

    `archive` is the folder of the files in the archive ("" or "sub/"); None: `url` is no archive.
    """

    url: str
    archive: str | None = None


@dataclass(frozen=True)
class Original:
    """A data set as published.

    `files` has the ``algorithm:digest`` of the uncompressed content of each file, by its name
    without ``.gz``; "" if none is published. `content` makes arrays of the contents of the files.
    `parse` maps the name and the bytes of a file to its content, or raises ValueError; the digest
    is that of the result. Without it, the content is the bytes.
    """

    name: str
    files: Mapping[str, str]
    content: Callable[[_Read], DataContent]
    sources: tuple[DownloadSource, ...] = ()  # tried in order
    folders: tuple[str, ...] = ()  # in ``data_dir``, besides that of the set's name
    parse: Callable[[str, bytes], Any] | None = None
    page: str = ""  # where users get the files of a set that is never downloaded

    def verified(self, name: str, raw: bytes) -> Any:
        """The content of a file; ValueError if it is not verified."""
        try:
            content: Any = gzip.decompress(raw) if raw.startswith(_GZIP_MAGIC) else raw
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"must be complete gzip data: {one_line(error)}") from error
        if self.parse is not None:
            try:
                content = self.parse(name, content)
            except ValueError as error:
                raise ValueError(f"cannot be read: {one_line(error)}") from error
        algorithm, _, digest = self.files[name].partition(":")
        if digest:
            actual = hashlib.new(algorithm, content, usedforsecurity=False).hexdigest()
            if actual != digest:
                raise ValueError(f"must have {algorithm} {digest}, got {actual}")
        return content

    def read(self, name: str, path: Path) -> Any:
        """The content of a file; DataError if it is not verified."""
        try:
            return self.verified(name, path.read_bytes())
        except ValueError as error:
            replacement = "original, or remove it to have it downloaded"
            if self.page:
                replacement = f"file of {self.page}"
            raise DataError(
                f"{path} {error}; it is damaged or not the original {name}: replace it by the "
                f"{replacement}"
            ) from error
        except OSError as error:
            raise DataError(
                f"{self.name}: cannot read {path}: {one_line(error)}; replace it by the original "
                f"file {name}"
            ) from error


# --------------------------------------------------------------------------------------- formats


def _mnist(read: _Read) -> DataContent:
    """Read the IDX files: a big-endian header of 16 or 8 bytes, then unsigned bytes."""
    X = np.empty((70000, 28, 28), dtype=np.uint8)
    y = np.empty(70000, dtype=np.int64)
    for part, rows in (("train", slice(0, 60000)), ("t10k", slice(60000, 70000))):
        pixels = read(f"{part}-images-idx3-ubyte")
        labels = read(f"{part}-labels-idx1-ubyte")
        X[rows] = np.frombuffer(pixels, dtype=np.uint8, offset=16).reshape(-1, 28, 28)
        y[rows] = np.frombuffer(labels, dtype=np.uint8, offset=8)
    return DataContent(X, y, _DIGITS, None, 60000)


def _cifar10(read: _Read) -> DataContent:
    """Read the batches: records of a label byte, then the red, green and blue plane of 32 x 32."""
    X = np.empty((60000, 32, 32, 3), dtype=np.uint8)
    y = np.empty(60000, dtype=np.int64)
    for batch, name in enumerate(_CIFAR10):
        rows = slice(10000 * batch, 10000 * (batch + 1))
        records = np.frombuffer(read(name), dtype=np.uint8).reshape(10000, 3073)
        y[rows] = records[:, 0]
        X[rows] = records[:, 1:].reshape(10000, 3, 32, 32).transpose(0, 2, 3, 1)
    return DataContent(X, y, CIFAR10_CLASSES, None, 50000)


def read_usps_numbers(name: str, content: bytes) -> bytes:
    """Lines of a label and 256 values as little-endian int16, the values in thousandths.

    Copies of the text spell the same numbers differently. ValueError for any other text.
    """
    if not content.strip():
        raise ValueError("it holds no numbers")
    rows = np.loadtxt(io.BytesIO(content), dtype=np.float64, ndmin=2)
    if rows.shape[1] != 257:
        raise ValueError(f"every line must have 257 numbers, got {rows.shape[1]}")
    if not (np.abs(rows) <= 9.0).all():
        raise ValueError("every number must lie between -9 and 9 in a file of USPS digits")
    rows[:, 1:] *= 1000.0
    return np.rint(rows).astype("<i2").tobytes()


def _usps(read: _Read) -> DataContent:
    parts = [np.frombuffer(read(name), "<i2").reshape(-1, 257) for name in _USPS]
    rows = np.concatenate(parts)
    X = (rows[:, 1:] / 1000.0).astype(np.float32).reshape(-1, 16, 16)
    return DataContent(X, rows[:, 0].astype(np.int64), _DIGITS, None, len(parts[0]))


def _usps_smoothed(read: _Read) -> DataContent:
    """USPS with each image smoothed by a Gaussian of width 0.75, the background beyond its edges.

    So the set was prepared for kernel methods (Scholkopf et al. 1997).
    """
    from scipy.ndimage import gaussian_filter

    plain = _usps(read)
    smooth = gaussian_filter(plain.X, (0.0, 0.75, 0.75), mode="constant", cval=-1.0)
    return plain._replace(X=smooth)


def _pendigits(read: _Read) -> DataContent:
    parts = [
        np.loadtxt(io.BytesIO(read(name)), dtype=np.int64, delimiter=",") for name in _PENDIGITS
    ]
    rows = np.concatenate(parts)
    columns = tuple(f"{axis}{point}" for point in range(1, 9) for axis in "xy")
    X = rows[:, :16].astype(np.float32)
    return DataContent(X, rows[:, 16].copy(), _DIGITS, columns, len(parts[0]))


def _letter(read: _Read) -> DataContent:
    lines = read("letter-recognition.data").decode("ascii").split()
    X = np.array([line.split(",")[1:] for line in lines], dtype=np.float32)
    y = np.array([ord(line[0]) - ord("A") for line in lines], dtype=np.int64)
    columns = (
        "x-box y-box width high onpix x-bar y-bar x2bar y2bar xybar x2ybr xy2br x-ege xegvy "
        "y-ege yegvx"
    )
    return DataContent(X, y, _LETTERS, tuple(columns.split()), 16000)


def _isolet_rows(name: str, content: bytes) -> NDArray[np.float32]:
    """The rows of a file: 617 numbers from -1 to 1, then a letter from 1 to 26."""
    text = io.BytesIO(content or b"?")  # loadtxt warns of an empty file
    rows = np.loadtxt(text, dtype=np.float32, delimiter=",", comments=None, ndmin=2)
    n_rows, n_each = _ISOLET_FILES[name]
    if rows.shape != (n_rows, 618):
        raise ValueError(
            "it must have {} lines of 618 numbers, got {} of {}".format(n_rows, *rows.shape)
        )
    if not (np.abs(rows[:, :-1]) <= 1.0).all():
        raise ValueError("it must have values from -1 to 1, got others")
    counts = [int((rows[:, -1] == letter).sum()) for letter in range(1, len(_LETTERS) + 1)]
    if sum(counts) != n_rows or max(counts) > n_each:
        raise ValueError(
            f"it must have the last numbers 1 to 26, each at most {n_each} times, got "
            f"{sum(counts)} of these, one {max(counts)} times"
        )
    return rows


def _isolet(read: _Read) -> DataContent:
    parts = [read(name) for name in _ISOLET_FILES]
    rows = np.concatenate(parts)
    y = rows[:, -1].astype(np.int64) - 1
    return DataContent(rows[:, :-1].copy(), y, _LETTERS, None, len(parts[0]))


def _kdd_file(name: str, content: bytes) -> NDArray[Any]:
    """The table float32 (n, 230), NaN where a value is missing; or the labels 0 and 1 (n,)."""
    if name != _KDD_TABLE:
        n_positive = KDD_POSITIVES[name.removesuffix(".labels").rpartition("_")[2]]
        labels = [label.removeprefix(b"+") for label in content.split()]
        counts = (len(labels), labels.count(b"1"), labels.count(b"-1"))
        if counts != (_KDD_ROWS, n_positive, _KDD_ROWS - n_positive):
            raise ValueError(
                f"it must have {_KDD_ROWS} lines, 1 in {n_positive} of them and -1 in the others, "
                "got {} lines, {} of 1 and {} of -1".format(*counts)
            )
        return np.array([label == b"1" for label in labels], dtype=np.int64)

    import pyarrow
    from pyarrow import csv

    kinds = dict.fromkeys(_KDD_COLUMNS, pyarrow.string())
    kinds |= dict.fromkeys(_KDD_COLUMNS[:_KDD_NUMBERS], pyarrow.float64())
    table = csv.read_csv(
        io.BytesIO(content),
        csv.ReadOptions(use_threads=False),  # errors have the number of the row
        csv.ParseOptions(delimiter="\t", quote_char=False),
        csv.ConvertOptions(column_types=kinds, null_values=[""], strings_can_be_null=True),
    )
    if tuple(table.column_names) != _KDD_COLUMNS:
        raise ValueError(
            "it must have a first line with the names Var1 to Var230, separated by tabs, got "
            f"{table.column_names[0]!r}, ..."
        )
    if len(table) != _KDD_ROWS:
        raise ValueError(f"it must have {_KDD_ROWS} lines below its header, got {len(table)}")
    X = np.empty((_KDD_ROWS, len(_KDD_COLUMNS)), dtype=np.float32)
    for at, name in enumerate(_KDD_COLUMNS):
        values = table[name].to_pandas()
        # A category becomes its count, which uses no labels: docs/data.md has the reasons.
        with np.errstate(over="ignore"):  # the data set refuses infinite values
            X[:, at] = values if at < _KDD_NUMBERS else values.map(values.value_counts())
    return X


def _kdd(task: str, read: _Read) -> DataContent:
    y = read(f"orange_small_train_{task}.labels")
    return DataContent(read(_KDD_TABLE), y, ("-1", "1"), _KDD_COLUMNS, None)


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

_SETS = (
    Original(
        "mnist",
        _MNIST,
        _mnist,
        (
            DownloadSource("https://ossci-datasets.s3.amazonaws.com/mnist/{name}.gz"),
            DownloadSource("https://storage.googleapis.com/cvdf-datasets/mnist/{name}.gz"),
        ),
    ),
    Original(
        "cifar10",
        _CIFAR10,
        _cifar10,
        (DownloadSource(f"{_TORONTO}/cifar-10-binary.tar.gz", "cifar-10-batches-bin/"),),
        folders=("cifar-10-batches-bin",),
    ),
    Original(
        "usps",
        _USPS,
        _usps,
        (
            DownloadSource("https://hastie.su.domains/ElemStatLearn/datasets/{name}.gz"),
            DownloadSource("https://web.stanford.edu/~hastie/ElemStatLearn/datasets/{name}.gz"),
        ),
        parse=read_usps_numbers,
    ),
    Original(
        "pendigits",
        _PENDIGITS,
        _pendigits,
        (
            DownloadSource(
                f"{_UCI}/static/public/81/pen+based+recognition+of+handwritten+digits.zip", ""
            ),
            DownloadSource(f"{_UCI}/ml/machine-learning-databases/pendigits/{{name}}"),
        ),
    ),
    Original(
        "letter",
        _LETTER,
        _letter,
        (
            DownloadSource(f"{_UCI}/static/public/59/letter+recognition.zip", ""),
            DownloadSource(f"{_UCI}/ml/machine-learning-databases/letter-recognition/{{name}}"),
        ),
    ),
    Original(
        "isolet",
        dict.fromkeys(_ISOLET_FILES, ""),
        _isolet,
        parse=_isolet_rows,
        page="https://archive.ics.uci.edu/dataset/54/isolet (uncompress its .Z files by gzip -d)",
    ),
)
ORIGINALS = {original.name: original for original in _SETS}
ORIGINALS["usps-smoothed"] = replace(ORIGINALS["usps"], content=_usps_smoothed)
ORIGINALS |= {
    f"kdd2009-{task}": Original(
        "kdd2009",
        {_KDD_TABLE: "", f"orange_small_train_{task}.labels": ""},
        partial(_kdd, task),
        parse=_kdd_file,
        page="https://kdd.org/kdd-cup/view/kdd-cup-2009/Data (unpack its .zip files)",
    )
    for task in KDD_POSITIVES
}
"""The named benchmark sets."""


# --------------------------------------------------------------------------- finding and loading


def load_original(
    name: str, data_dir: str | os.PathLike[str] | None, download: bool
) -> DataContent:
    """The arrays of a set; errors as from `locate_original`, and DataError for a damaged file."""
    original = ORIGINALS[name]
    paths = locate_original(original, data_dir, download)
    return original.content(lambda file: original.read(file, paths[file]))


def locate_original(
    original: Original, data_dir: str | os.PathLike[str] | None = None, download: bool = True
) -> dict[str, Path]:
    """Paths of all files of a data set by name; missing ones are downloaded, if allowed.

    ``data_dir/<set>/<file>`` and ``data_dir/<file>``, plain or ``.gz``, come before the cache.
    SettingError if `data_dir` is not a folder, or if a download needs pooch, which is not
    installed; DataError if a file is missing and must not, or cannot, be downloaded.
    """
    cache = cache_dir() / "datasets" / original.name
    folders = [cache]
    if data_dir is not None:
        base = Path(data_dir).expanduser()
        if not base.is_dir():
            raise SettingError(f"data_dir must be an existing folder, got {str(base)!r}")
        folders = [base / original.name, base, *(base / sub for sub in original.folders), cache]
    paths = {name: _find(name, folders) for name in original.files}
    missing = [name for name, path in paths.items() if path is None]
    if missing and (original.page or not download):
        way = "put the original file there, or allow the download"
        if original.page:
            way = (
                f"get the original from {original.page} and put it there, or give its folder as "
                "data_dir; it has no published hash and is not downloaded"
            )
        raise DataError(
            f"{original.name}: no file {missing[0]} or {missing[0]}.gz in "
            f"{', '.join(map(str, folders))}; {way}"
        )
    if missing:
        _fetch(original, missing, cache)
        paths = {name: _find(name, folders) for name in original.files}
    return {name: path for name, path in paths.items() if path is not None}


def _find(name: str, folders: Sequence[Path]) -> Path | None:
    places = (folder / file for folder in folders for file in (name, f"{name}.gz"))
    return next((path for path in places if path.is_file()), None)


def _fetch(original: Original, names: Sequence[str], folder: Path) -> None:
    if importlib.util.find_spec("pooch") is None:
        raise SettingError(
            f"{original.name}: downloading {names[0]} needs pooch, which is not installed; "
            "pip install 'boostsample[data]', or give the folder of the files as data_dir"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        scratch = TemporaryDirectory(dir=folder)
    except OSError as error:
        raise DataError(
            f"{original.name}: cannot write to the cache folder {folder}: {one_line(error)}; "
            "set BOOSTSAMPLE_CACHE_DIR to a folder that can be written"
        ) from error
    missing, problems = list(names), []
    with scratch:
        for source in original.sources:
            try:
                for name, raw in _served(source, tuple(missing), Path(scratch.name)):
                    original.verified(name, raw)
                    suffix = ".gz" if raw.startswith(_GZIP_MAGIC) else ""
                    with atomic_file(folder / f"{name}{suffix}") as stream:
                        stream.write(raw)
                    missing.remove(name)
                return
            except (OSError, ValueError, *_BROKEN) as error:  # requests raises OSErrors
                problems.append(f"{source.url.format(name=missing[0])}: {one_line(error)}")
    raise DataError(
        f"{original.name}: cannot download {missing[0]} ({original.files[missing[0]]}): "
        f"{'; '.join(problems)}; try again later, or put the original file into {folder} or "
        "another folder given as data_dir"
    )


def _served(
    source: DownloadSource, names: Sequence[str], scratch: Path
) -> Iterator[tuple[str, bytes]]:
    """Yield names and bytes of files; archive members are read by exact name, no path followed."""
    if source.archive is None:
        for name in names:
            yield name, _retrieved(source.url.format(name=name), scratch).read_bytes()
    elif source.url.endswith(".zip"):
        with zipfile.ZipFile(_retrieved(source.url, scratch)) as zipped:
            for name in names:
                yield name, zipped.read(f"{source.archive}{name}")
    else:
        with tarfile.open(_retrieved(source.url, scratch)) as tar:
            for name in names:
                member = tar.extractfile(f"{source.archive}{name}")
                yield name, b"" if member is None else member.read()


def _retrieved(url: str, folder: Path) -> Path:
    import pooch
    import requests

    _LOG.info("downloading %s", url)
    pooch.get_logger().setLevel("WARNING")  # it would repeat that on standard error
    try:  # the published hashes are of the uncompressed files, so pooch cannot check them
        return Path(pooch.retrieve(url, known_hash=None, path=folder))
    except requests.ConnectionError as error:
        raise OSError("it cannot be reached") from error
