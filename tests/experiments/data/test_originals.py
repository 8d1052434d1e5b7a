"""Original files are found, verified and downloaded; a bad download leaves nothing behind."""

from __future__ import annotations

import gzip
import hashlib
import io
import sys
import tarfile
import threading
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.data import datasets, originals
from boostsample.experiments.data.originals import ORIGINALS, DownloadSource, Original

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


def refused(original: Original, cache: Path) -> str:
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
    message = refused(toy(DownloadSource(server.url + "/{name}")), cache)
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
    assert says in refused(toy(DownloadSource(f"{server.url}/{name}", "sub/")), cache)


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
