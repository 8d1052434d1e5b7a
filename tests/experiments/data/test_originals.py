"""Original files are found, verified, downloaded and read: published counts and means."""

from __future__ import annotations

import gzip
import hashlib
import io
import shutil
import sys
import tarfile
import threading
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError
from boostsample.experiments.data import datasets, originals
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.data.originals import (
    CIFAR10_CLASSES,
    ORIGINALS,
    DownloadSource,
    Original,
    read_usps_numbers,
)
from tests.experiments.small_runs import refused

CONTENT = bytes(range(256)) * 16
OTHER = CONTENT[::-1]


@dataclass
class Answer:
    body: bytes = b""
    status: int = 200
    missing_bytes: int = 0  # promised by Content-Length, never sent


class Server:
    """An HTTP server on 127.0.0.1 with prepared answers; counts what it is asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: Counter[str] = Counter()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked[self.path] += 1
                answer = server.answers.get(self.path, Answer(status=404))
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(answer.body) + answer.missing_bytes))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base's name
                """Keep quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join(10)
        assert not self.thread.is_alive()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    running = Server()
    yield running
    running.close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the files of the set "toy" are cached in."""
    monkeypatch.setenv("BOOSTSAMPLE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "datasets" / "toy"


def sha256(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def toy(*sources: DownloadSource, files: Mapping[str, bytes] | None = None) -> Original:
    contents = files or {"a.bin": CONTENT}
    hashes = {name: sha256(content) for name, content in contents.items()}
    return replace(ORIGINALS["mnist"], name="toy", files=hashes, sources=sources)


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*")) if folder.exists() else []


def refused_download(original: Original, cache: Path) -> str:
    """Return the one line with which the download is refused; nothing may be left behind."""
    with pytest.raises(DataError) as raised:
        originals.locate_original(original)
    assert files_in(cache) == []
    message = str(raised.value)
    assert "\n" not in message
    assert message.startswith(f"toy: cannot download a.bin ({sha256(CONTENT)}): ")
    assert message.endswith(
        f"; try again later, or put the original file into {cache} or another folder given as "
        "data_dir"
    )
    return message


@pytest.mark.parametrize("zipped", [False, True])
def test_a_good_file_is_cached_and_not_fetched_twice(
    server: Server, cache: Path, zipped: bool
) -> None:
    server.answers["/a.bin"] = Answer(gzip.compress(CONTENT) if zipped else CONTENT)
    original = toy(DownloadSource(server.url + "/{name}"))
    for _ in range(2):
        paths = originals.locate_original(original)
        assert original.read("a.bin", paths["a.bin"]) == CONTENT
    assert server.asked == {"/a.bin": 1}
    assert files_in(cache) == ["a.bin.gz" if zipped else "a.bin"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Answer(CONTENT[:1000], missing_bytes=3096), "Connection broken"),
        (Answer(gzip.compress(CONTENT)[:-20]), "must be complete gzip data"),
        (Answer(OTHER), f"got {hashlib.sha256(OTHER).hexdigest()}"),
        (Answer(status=404), "404"),
    ],
    ids=["cut off", "half gzip", "hash", "gone"],
)
def test_a_bad_answer_is_one_clear_line_and_leaves_nothing(
    server: Server, cache: Path, answer: Answer, says: str
) -> None:
    server.answers["/a.bin"] = answer
    message = refused_download(toy(DownloadSource(server.url + "/{name}")), cache)
    assert says in message
    assert f"{server.url}/a.bin" in message
    assert server.asked["/a.bin"] == 1


def test_a_second_mirror_completes_the_first(server: Server, cache: Path) -> None:
    files = {"a.bin": CONTENT, "b.bin": OTHER}
    server.answers["/one/a.bin"] = Answer(CONTENT)
    server.answers["/two/b.bin"] = Answer(OTHER)
    sources = (
        DownloadSource(server.url + "/one/{name}"),
        DownloadSource(server.url + "/two/{name}"),
    )
    originals.locate_original(toy(*sources, files=files))
    assert server.asked == {"/one/a.bin": 1, "/one/b.bin": 1, "/two/b.bin": 1}
    assert files_in(cache) == ["a.bin", "b.bin"]


def tar_of(members: dict[str, bytes | None]) -> bytes:
    """Return a .tar.gz; None stands for a symbolic link."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            if content is None:
                info.type, info.linkname = tarfile.SYMTYPE, "/etc/hostname"
            else:
                info.size = len(content)
            tar.addfile(info, None if content is None else io.BytesIO(content))
    return buffer.getvalue()


def zip_of(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
def test_only_the_wanted_members_of_an_archive_are_kept(
    server: Server, cache: Path, kind: str
) -> None:
    members = {"../evil": b"!", "a.bin": OTHER, "sub/a.bin": CONTENT, "sub/b.bin": OTHER}
    body = tar_of(dict(members)) if kind == "tar.gz" else zip_of(members)
    server.answers[f"/all.{kind}"] = Answer(body)
    files = {"a.bin": CONTENT, "b.bin": OTHER}
    paths = originals.locate_original(
        toy(DownloadSource(f"{server.url}/all.{kind}", "sub/"), files=files)
    )
    assert [paths[name].read_bytes() for name in ("a.bin", "b.bin")] == [CONTENT, OTHER]
    assert files_in(cache.parent.parent) == ["a.bin", "b.bin", "datasets", "toy"]
    assert server.asked == {f"/all.{kind}": 1}


@pytest.mark.parametrize(
    ("name", "body", "says"),
    [
        ("all.tar.gz", tar_of({"sub/a.bin": OTHER}), "must have sha256"),
        ("all.tar.gz", tar_of({"a.bin": CONTENT}), "'sub/a.bin' not found"),
        ("all.tar.gz", tar_of({"sub/a.bin": None}), "etc/hostname' not found"),
        ("all.zip", zip_of({"sub/a.bin": CONTENT})[:-30], "all.zip: "),
    ],
    ids=["hash", "folder", "link", "zip cut off"],
)
def test_a_bad_archive_leaves_nothing(
    server: Server, cache: Path, name: str, body: bytes, says: str
) -> None:
    server.answers[f"/{name}"] = Answer(body)
    assert says in refused_download(toy(DownloadSource(f"{server.url}/{name}", "sub/")), cache)


def test_an_interrupted_download_leaves_nothing(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pooch

    def interrupted(_: Any, __: str, output: str, ___: None) -> None:
        Path(output).write_bytes(CONTENT)
        assert files_in(cache)
        raise KeyboardInterrupt

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", interrupted)
    original = toy(DownloadSource(server.url + "/{name}"))
    with pytest.raises(KeyboardInterrupt):
        originals.locate_original(original)
    assert files_in(cache) == []


def test_without_pooch_the_message_tells_what_to_install(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    original = toy(DownloadSource(server.url + "/{name}"))
    with pytest.raises(SettingError, match=r"pip install 'boostsample\[data\]'"):
        originals.locate_original(original)
    assert not server.asked


def test_a_cache_folder_that_cannot_be_written(server: Server, cache: Path) -> None:
    cache.parent.parent.write_text("a file where the folder should be")
    original = toy(DownloadSource(server.url + "/{name}"))
    with pytest.raises(DataError, match=r"cannot write to the cache .*BOOSTSAMPLE_CACHE_DIR"):
        originals.locate_original(original)
    assert not server.asked


def test_without_download_the_message_tells_where_files_are_looked_for(
    cache: Path, tmp_path: Path
) -> None:
    original = toy(DownloadSource("http://127.0.0.1:9/{name}"))
    with pytest.raises(DataError, match=r"toy: no file a\.bin or a\.bin\.gz in .*allow the down"):
        originals.locate_original(original, tmp_path, download=False)
    assert not cache.exists()


def test_the_users_folder_comes_before_the_cache(cache: Path, tmp_path: Path) -> None:
    original = toy()
    places = [
        tmp_path / "data" / "toy" / "a.bin",
        tmp_path / "data" / "toy" / "a.bin.gz",
        tmp_path / "data" / "a.bin",
        tmp_path / "data" / "a.bin.gz",
        cache / "a.bin",
        cache / "a.bin.gz",
    ]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    for place in places:
        originals_read = originals.locate_original(original, tmp_path / "data", download=False)
        assert originals_read == {"a.bin": place}
        place.unlink()


GZIPPED = gzip.compress(CONTENT, mtime=0)
FLIPPED = GZIPPED[:200] + bytes([GZIPPED[200] ^ 255]) + GZIPPED[201:]


@pytest.mark.parametrize(
    ("stored", "says"),
    [
        (GZIPPED[:-9], "must be complete gzip data"),
        (FLIPPED, "must be complete gzip data"),
        (OTHER, f"must have sha256 {sha256(CONTENT)[7:]}, got {sha256(OTHER)[7:]}"),
    ],
    ids=["cut", "flipped", "other"],
)
def test_a_damaged_file_is_named(tmp_path: Path, stored: bytes, says: str) -> None:
    path = tmp_path / "a.bin.gz"
    path.write_bytes(stored)
    with pytest.raises(DataError) as raised:
        toy().read("a.bin", path)
    message = str(raised.value)
    assert message.startswith(f"{path} {says}")
    assert message.endswith("replace it by the original, or remove it to have it downloaded")
    assert "\n" not in message


def test_processes_that_download_at_once_do_not_disturb_each_other(
    server: Server, cache: Path
) -> None:
    server.answers["/a.bin"] = Answer(CONTENT)
    original = toy(DownloadSource(server.url + "/{name}"))
    with ThreadPoolExecutor(4) as pool:
        originals_read = list(pool.map(lambda _: originals.locate_original(original), range(8)))
    assert all(paths == {"a.bin": cache / "a.bin"} for paths in originals_read)
    assert (cache / "a.bin").read_bytes() == CONTENT
    assert files_in(cache) == ["a.bin"]


def test_a_named_set_is_downloaded_verified_and_loaded(
    server: Server, cache: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = (data_dir / "letter" / "letter-recognition.data.gz").read_bytes()
    server.answers["/letter.zip"] = Answer(
        zip_of({"letter-recognition.data": gzip.decompress(stored)})
    )
    sources = (DownloadSource(server.url + "/letter.zip", archive=""),)
    monkeypatch.setitem(ORIGINALS, "letter", replace(ORIGINALS["letter"], sources=sources))
    fetched = datasets.load_dataset("letter")
    again = datasets.load_dataset("letter")
    from_files = datasets.load_dataset("letter", data_dir=data_dir, download=False)
    assert server.asked == {"/letter.zip": 1}
    for data in (fetched, again):
        assert np.array_equal(data.X, from_files.X)
        assert np.array_equal(data.y, from_files.y)


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
    refused(DataError, f"zip.test {says}", load_dataset, "usps", data_dir=tmp_path)


def test_usps_numbers_do_not_depend_on_how_they_are_written() -> None:
    short = b"9 " + b" ".join([b"-1", b"0.5", b"0", b".123"] * 64)
    numbers = partial(read_usps_numbers, "zip.test")
    long = b"9.0000 " + b" ".join([b"-1.0000", b"0.500", b"-0.0", b"0.1230"] * 64) + b" \n"
    assert numbers(short) == numbers(long)
    assert np.frombuffer(numbers(short), "<i2")[:5].tolist() == [9, -1000, 500, 0, 123]


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


NAN = np.nan
TRAIN, TEST = "isolet1+2+3+4.data", "isolet5.data"
TABLE, CHURN = "orange_small_train.data", "orange_small_train_churn.labels"
ROWS = 24


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Expect small files in the shape of the originals, and keep away from the cache folder."""
    monkeypatch.setenv("BOOSTSAMPLE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(originals, "_ISOLET_FILES", {TRAIN: (102, 4), TEST: (51, 2)})
    monkeypatch.setattr(originals, "_KDD_ROWS", ROWS)
    monkeypatch.setitem(originals.KDD_POSITIVES, "churn", 6)


def isolet_text(letters: list[int], seed: int) -> str:
    values = np.random.default_rng(seed).integers(-10000, 10001, size=(len(letters), 617)) / 10000
    return "".join(
        f"{', '.join(f'{value:.4f}' for value in row)}, {letter}.\n"
        for row, letter in zip(values.tolist(), letters, strict=True)
    )


def make_isolet(folder: Path) -> None:
    """Write 102 and 51 rows: two letters lack a row of training, one of testing."""
    letters = list(range(1, 27))
    train = isolet_text((letters * 4)[:6] + (letters * 4)[7:12] + (letters * 4)[13:], 0)
    folder.mkdir(exist_ok=True)
    (folder / f"{TRAIN}.gz").write_bytes(gzip.compress(train.encode()))
    (folder / TEST).write_text(isolet_text((letters * 2)[:12] + (letters * 2)[13:], 1))


def kdd_fields() -> list[list[str]]:
    """Return 24 rows, mostly empty; Var1 and Var191 to Var193 have values."""
    rows = [[""] * 230 for _ in range(ROWS)]
    for at, row in enumerate(rows):
        row[0] = "" if at % 3 == 0 else str(at / 2)
        row[190] = ["often", "often", "seldom", ""][at % 4]
        row[191] = f"only{at}"
        row[192] = "NA" if at < 20 else "x"
    return rows


def make_kdd(folder: Path, end: str = "\n") -> None:
    header = [f"Var{number}" for number in range(1, 231)]
    folder.mkdir(exist_ok=True)
    lines = ["\t".join(fields) + end for fields in (header, *kdd_fields())]
    (folder / TABLE).write_bytes("".join(lines).encode())
    labels = "".join(f"{'1' if at % 4 == 0 else '-1'}{end}" for at in range(ROWS))
    (folder / CHURN).write_bytes(labels.encode())


def changed(path: Path, change: Callable[[list[str]], list[str]]) -> None:
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(change(lines)))


def first_field(value: str, sep: str, line: int = 1) -> Callable[[list[str]], list[str]]:
    """Return a change that writes another first field into a line, counted from 0."""

    def change(lines: list[str]) -> list[str]:
        rest = lines[line].split(sep)[1:]
        return [*lines[:line], sep.join([value, *rest]), *lines[line + 1 :]]

    return change


def last_field(value: str) -> Callable[[list[str]], list[str]]:
    return lambda lines: [f"{lines[0].rpartition(',')[0]}, {value}\n", *lines[1:]]


def test_isolet(tmp_path: Path) -> None:
    make_isolet(tmp_path / "isolet")
    data = load_dataset("isolet", data_dir=tmp_path)
    assert data.X.shape == (153, 617)
    assert data.X.dtype == np.float32
    assert data.classes == tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    assert [len(rows) for rows in data.split(0, 0)] == [102, 51]
    assert np.bincount(data.y).tolist() == [6] * 6 + [5] + [6] * 5 + [4] + [6] * 13
    first = (tmp_path / "isolet" / TEST).read_text().split("\n")[0].split(", ")
    assert data.X[102].tolist() == [np.float32(value) for value in first[:-1]]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_kdd_has_missing_values_and_counts_of_categories(tmp_path: Path, end: str) -> None:
    make_kdd(tmp_path / "kdd2009", end)
    data = load_dataset("kdd2009-churn", data_dir=tmp_path)
    assert data.X.shape == (ROWS, 230)
    assert data.classes == ("-1", "1")
    assert data.columns is not None
    assert (data.columns[0], data.columns[-1]) == ("Var1", "Var230")
    assert data.y.tolist() == [1, 0, 0, 0] * 6
    np.testing.assert_array_equal(data.X[:4, 0], [NAN, 0.5, 1, NAN])
    np.testing.assert_array_equal(data.X[:, 190], [12, 12, 6, NAN] * 6)
    np.testing.assert_array_equal(data.X[:, 191], [1] * ROWS)
    np.testing.assert_array_equal(data.X[:, 192], [20] * 20 + [4] * 4)  # NA is a category
    assert np.isnan(data.X[:, 1:190]).all()
    assert np.isnan(data.X[:, 193:]).all()
    assert data.n_train is None
    assert [len(rows) for rows in data.split(0, 0)] == [18, 6]


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        (TEST, lambda lines: lines[1:], "must have 51 lines of 618 numbers, got 50 of 618"),
        (
            TEST,
            lambda lines: [*lines[:-1], "0.5, 1.\n"],
            "cannot be read: the number of columns changed",
        ),
        (TEST, first_field("1.0001", ","), "must have values from -1 to 1, got others"),
        (
            TEST,
            lambda lines: [*lines[:-1], lines[0]],
            "each at most 2 times, got 51 of these, one 3",
        ),
        (
            TEST,
            last_field("27."),
            "the last numbers 1 to 26, each at most 2 times, got 50 of these",
        ),
        (TABLE, lambda lines: lines[1:], "the names Var1 to Var230, separated by tabs, got"),
        (TABLE, lambda lines: lines[:-1], "must have 24 lines below its header, got 23"),
        (TABLE, lambda lines: [*lines[:-1], "1\t2\n"], "Row #25: Expected 230 columns, got 2"),
        (
            TABLE,
            first_field("taul", "\t", 3),
            "Row #4: CSV conversion error to double: invalid",
        ),
        (CHURN, lambda lines: ["-1\n", *lines[1:]], "got 24 lines, 5 of 1 and 19 of -1"),
    ],
)
def test_files_in_another_shape_are_refused(
    tmp_path: Path, name: str, change: Callable[[list[str]], list[str]], says: str
) -> None:
    make_isolet(tmp_path)
    make_kdd(tmp_path)
    changed(tmp_path / name, change)
    is_isolet = name == TEST
    data = "isolet" if is_isolet else "kdd2009-churn"
    message = refused(DataError, says, load_dataset, data, data_dir=tmp_path)
    assert message.startswith(f"{tmp_path / name} cannot be read: ")
    page = "https://archive.ics" if is_isolet else "https://kdd.org/"
    assert f"not the original {name}: replace it by the file of {page}" in message
