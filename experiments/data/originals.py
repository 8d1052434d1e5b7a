"""Original files of the named benchmark sets: lists, finds, downloads, verifies and reads them.

A file is accepted only if its *uncompressed* content has the published hash, so copies may be plain
or gzipped. Files are searched in the user's ``data_dir``, then in the folder ``datasets``
of the cache folder (`boostsample.banks.cache_folder`). Missing ones are downloaded there by pooch
(extra ``data``). The hashes are the published ones; copies of the USPS text spell the same numbers
differently, its hash is of the numbers. The train rows come first, in the original order; of the
one file of letter, the first 16000 rows train.

isolet and the small sets of the KDD Cup 2009 have no published hash. They are never downloaded,
since a download could not be verified, and are checked by their shape: numbers of rows and columns,
names of columns, ranges, and counts of labels. A file with other values in the same shape is
accepted.

isolet (UCI 54): the speakers 1 to 120 train (6238 rows), the speakers 121 to 150 test (1559 rows).

KDD Cup 2009, small: 190 columns of numbers and 40 of categories for each of 50000 customers, with
the labels of three tasks. The labels of the cup's test rows were never published, so there is no
standard split. An empty field is a missing value. A category becomes its count, the number of rows
that have it, for these reasons:

- It uses no labels. The rows of a split do not matter, since the counts are those of all rows.
- Thresholds see only the order. Sorted by count, a frequent category, about which much can be
  learned, differs from all others and has a bin of its own; a tree isolates it by two thresholds.
  Rare categories come first and share few bins, so that a stump cannot fit single rows.
- Missing values go below every threshold, to the side of the rare categories: neither says much.
  The constant stump, with the threshold -inf, separates them from all categories.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import io
import logging
import math
import os
import tarfile
import zipfile
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, NoReturn

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
LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")

_Read = Callable[[str], bytes]
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
    without ``.gz``; "" if none is published. `canonical` maps the content to the bytes to hash,
    where copies spell the same numbers differently; it raises ValueError for a content that it
    cannot parse.
    """

    name: str
    files: Mapping[str, str]
    sources: tuple[DownloadSource, ...]  # tried in order
    folders: tuple[str, ...] = ()  # in ``data_dir``, besides that of the set's name
    canonical: Callable[[bytes], bytes] | None = None
    page: str = ""  # where users get the files of a set that is never downloaded

    def verified(self, name: str, raw: bytes) -> bytes:
        """Return the content of a file, uncompressed and canonical; ValueError if not verified."""
        try:
            content = gzip.decompress(raw) if raw.startswith(_GZIP_MAGIC) else raw
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"must be complete gzip data: {one_line(error)}") from error
        if self.canonical is not None:
            try:
                content = self.canonical(content)
            except ValueError as error:
                raise ValueError(f"cannot be read: {one_line(error)}") from error
        algorithm, _, digest = self.files[name].partition(":")
        if not digest:
            return content
        actual = hashlib.new(algorithm, content, usedforsecurity=False).hexdigest()
        if actual != digest:
            raise ValueError(f"must have {algorithm} {digest}, got {actual}")
        return content

    def read(self, name: str, path: Path) -> bytes:
        """Return the content of a file, uncompressed and canonical; DataError if not verified."""
        try:
            return self.verified(name, path.read_bytes())
        except ValueError as error:
            raise DataError(
                f"{path} {error}; it is damaged or not the original {name}: replace it by the "
                + (
                    f"file of {self.page}"
                    if self.page
                    else "original, or remove it to have it downloaded"
                )
            ) from error
        except OSError as error:
            raise DataError(
                f"{self.name}: cannot read {path}: {one_line(error)}; replace it by the original "
                f"file {name}"
            ) from error


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
        raise ValueError("every number must lie between -9 and 9 in a file of USPS digits")
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


def locate_original(
    original: Original, data_dir: str | os.PathLike[str] | None = None, download: bool = True
) -> dict[str, Path]:
    """Find all files of a data set; download missing ones into the cache folder, if allowed.

    ``data_dir/<set>/<file>`` and ``data_dir/<file>``, plain or ``.gz``, come before the cache.
    Returns paths by file name; `Original.read` verifies their content.

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
    missing = [name for name in original.files if _find(name, folders) is None]
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
    """Return the first of ``folder/name`` and ``folder/name.gz`` that exists."""
    places = (folder / file for folder in folders for file in (name, f"{name}.gz"))
    return next((path for path in places if path.is_file()), None)


def _fetch(original: Original, names: Sequence[str], folder: Path) -> None:
    """Download files, verify them, and write them atomically as ``name`` or ``name.gz``."""
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
    """Read the letters; columns have the names in the set's description."""
    lines = read("letter-recognition.data").decode("ascii").split()
    X = np.array([line.split(",")[1:] for line in lines], dtype=np.float32)
    y = np.array([ord(line[0]) - ord("A") for line in lines], dtype=np.int64)
    columns = (
        "x-box y-box width high onpix x-bar y-bar x2bar y2bar xybar x2ybr xy2br x-ege xegvy "
        "y-ege yegvx"
    )
    return DataContent(X, y, LETTERS, tuple(columns.split()), 16000)


ORIGINAL_READERS: dict[str, Callable[[_Read], DataContent]] = {
    "mnist": _mnist,
    "cifar10": _cifar10,
    "usps": _usps,
    "pendigits": _pendigits,
    "letter": _letter,
}


# ------------------------------------------------------------------- sets without a published hash

_ISOLET_FILES = {"isolet1+2+3+4.data": (6238, 240), "isolet5.data": (1559, 60)}
"""Number of rows, and of the rows of a letter of which none is lost; three rows are lost."""
_ISOLET_COLUMNS = 617
_ISOLET = Original(
    "isolet",
    dict.fromkeys(_ISOLET_FILES, ""),
    (),
    page="https://archive.ics.uci.edu/dataset/54/isolet (uncompress its .Z files by gzip -d)",
)

KDD_POSITIVES = {"churn": 3672, "appetency": 890, "upselling": 3682}
"""The tasks of the KDD Cup 2009, with their numbers of positive rows."""
_KDD_ROWS = 50000
_KDD_COLUMNS = tuple(f"Var{number}" for number in range(1, 231))
_KDD_NUMBERS = 190  # columns of numbers, before those of categories
_KDD_TABLE = "orange_small_train.data"


def load_isolet(data_dir: str | os.PathLike[str] | None) -> DataContent:
    """Read the spoken letters: float32 (7797, 617) from -1 to 1, 26 classes.

    DataError if a file is missing or does not have the shape of the original.
    """
    paths = locate_original(_ISOLET, data_dir)
    parts = [_isolet_rows(name, paths[name]) for name in _ISOLET_FILES]
    rows = np.concatenate(parts)
    y = rows[:, -1].astype(np.int64) - 1
    return DataContent(rows[:, :-1].copy(), y, LETTERS, None, len(parts[0]))


def _isolet_rows(name: str, path: Path) -> NDArray[np.float32]:
    """Return the rows of a file, checked: 617 numbers from -1 to 1, then a letter from 1 to 26."""
    content = _ISOLET.read(name, path) or b"?"  # loadtxt warns of an empty file
    try:
        rows = np.loadtxt(
            io.BytesIO(content), dtype=np.float32, delimiter=",", comments=None, ndmin=2
        )
    except ValueError as error:
        _refuse(_ISOLET, path, "lines of numbers", one_line(error))
    n_rows, n_each = _ISOLET_FILES[name]
    shape = (n_rows, _ISOLET_COLUMNS + 1)
    if rows.shape != shape:
        _refuse(
            _ISOLET, path, "{} lines of {} numbers".format(*shape), "{} of {}".format(*rows.shape)
        )
    if not (np.abs(rows[:, :-1]) <= 1.0).all():
        _refuse(_ISOLET, path, "values from -1 to 1", "others")
    counts = [int((rows[:, -1] == letter).sum()) for letter in range(1, len(LETTERS) + 1)]
    if sum(counts) != n_rows or max(counts) > n_each:
        rule = f"the last numbers 1 to 26, each at most {n_each} times"
        _refuse(_ISOLET, path, rule, f"{sum(counts)} of these, one {max(counts)} times")
    return rows


def load_kddcup(task: str, data_dir: str | os.PathLike[str] | None) -> DataContent:
    """Read a task of the KDD Cup 2009, one of `KDD_POSITIVES`: float32 (50000, 230), 2 classes.

    NaN is a missing value; a category is its count, see above. DataError if a file is missing or
    does not have the shape of the original.
    """
    labels = f"orange_small_train_{task}.labels"
    original = Original(
        "kdd2009",
        {_KDD_TABLE: "", labels: ""},
        (),
        page="https://kdd.org/kdd-cup/view/kdd-cup-2009/Data (unpack its .zip files)",
    )
    paths = locate_original(original, data_dir)
    X = _kdd_table(original, paths[_KDD_TABLE])
    y = _kdd_labels(original, paths[labels], labels, KDD_POSITIVES[task])
    return DataContent(X, y, ("-1", "1"), _KDD_COLUMNS, None)


def _kdd_table(original: Original, path: Path) -> NDArray[np.float32]:
    """Return the numbers and the counts of the categories, float32, NaN where missing."""
    header, *lines = original.read(_KDD_TABLE, path).splitlines() or [b""]
    width = len(_KDD_COLUMNS)
    if header.decode("latin-1").split("\t") != list(_KDD_COLUMNS):
        rule = f"a first line with the names Var1 to Var{width}, separated by tabs"
        _refuse(original, path, rule, repr(header[:40].decode("latin-1")))
    if len(lines) != _KDD_ROWS:
        _refuse(original, path, f"{_KDD_ROWS} lines below its header", len(lines))
    numbers, codes = array("d"), array("q")
    known = [{b"": 0} for _ in _KDD_COLUMNS[_KDD_NUMBERS:]]
    for at, line in enumerate(lines, start=2):
        fields = line.split(b"\t")
        if len(fields) != width:
            _refuse(original, path, f"{width} fields in every line", f"{len(fields)} in line {at}")
        try:
            numbers.extend([float(field) if field else math.nan for field in fields[:_KDD_NUMBERS]])
        except ValueError as error:
            rule = f"numbers in the columns Var1 to Var{_KDD_NUMBERS}"
            _refuse(original, path, rule, f"in line {at}: {one_line(error)}")
        pairs = zip(fields[_KDD_NUMBERS:], known, strict=True)
        codes.extend([seen.setdefault(field, len(seen)) for field, seen in pairs])
    X = np.empty((len(lines), width), dtype=np.float32)
    with np.errstate(over="ignore"):  # the data set refuses infinite values
        X[:, :_KDD_NUMBERS] = np.frombuffer(numbers, dtype=np.float64).reshape(len(lines), -1)
    categories = np.frombuffer(codes, dtype=np.int64).reshape(len(lines), -1)
    for column, values in enumerate(categories.T, start=_KDD_NUMBERS):
        counts = np.bincount(values).astype(np.float32)
        counts[0] = np.nan
        X[:, column] = counts[values]
    return X


def _kdd_labels(original: Original, path: Path, name: str, n_positive: int) -> NDArray[np.int64]:
    """Return 1 for the positive rows, otherwise 0."""
    labels = [label.removeprefix(b"+") for label in original.read(name, path).split()]
    counts = (len(labels), labels.count(b"1"), labels.count(b"-1"))
    if counts != (_KDD_ROWS, n_positive, _KDD_ROWS - n_positive):
        rule = f"{_KDD_ROWS} lines, 1 in {n_positive} of them and -1 in the others"
        _refuse(original, path, rule, "{} lines, {} of 1 and {} of -1".format(*counts))
    return np.array([label == b"1" for label in labels], dtype=np.int64)


def _refuse(original: Original, path: Path, rule: str, got: object) -> NoReturn:
    raise DataError(
        f"{path} must have {rule}, got {got}; it is not the original file, replace it by that of "
        f"{original.page}"
    )
