"""Original files of the named data sets: finding them, verifying them, fetching them.

A file counts only when its *uncompressed* content has the published hash, so plain and recompressed
copies are both good. It is looked for in the user's ``data_dir``, then in the cache folder, and
downloaded into the cache folder last. A download is written under a temporary name, verified, and
only then renamed: nobody ever sees half a file.

The cache folder is ``datasets`` in that of `boostsample.banks.cache_folder`.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import io
import logging
import os
import tarfile
import time
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from boostsample.banks.cache_folder import cache_dir
from boostsample.errors import DataError, SettingError
from boostsample.experiments.common.files import one_line

__all__ = [
    "DataFile",
    "Original",
    "Source",
    "fetch",
    "locate",
    "read_verified",
]

TIMEOUT = 30.0
"""Seconds without a byte after which a download is given up."""
ATTEMPTS = 2
"""Tries of one address, as a whole; only a passing fault (no connection, 5xx) is tried again."""
PAUSE = 1.0
"""Seconds between two tries of one address."""

_UNSIZED_LIMIT = 64 * 2**20
_GZIP_MAGIC = b"\x1f\x8b"
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, OSError, RuntimeError)
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class DataFile:
    """One original file and how to recognise it.

    Parameters
    ----------
    name : str
        File name without ``.gz``.
    algorithm : str
        Name of the hash for ``hashlib.new``.
    digest : str
        Hexadecimal hash of the uncompressed content, or of `canonical` of it.
    n_bytes : int or None
        Size of the uncompressed content in bytes; None where good copies differ in size.
    canonical : callable or None
        Maps the content to the bytes to be hashed, for texts whose spelling of the numbers differs
        between copies; raises ValueError for a content that it cannot read.
    """

    name: str
    algorithm: str
    digest: str
    n_bytes: int | None = None
    canonical: Callable[[bytes], bytes] | None = None

    def verified(self, content: bytes) -> bytes:
        """Return the uncompressed content, in its canonical form if there is one.

        Raises
        ------
        ValueError
            It is not this file; the message is a phrase that follows the name of the file.
        """
        if self.n_bytes is not None and len(content) != self.n_bytes:
            more = " or more" if len(content) > self.n_bytes else ""
            raise ValueError(
                f"must have {self.n_bytes} bytes uncompressed, got {len(content)}{more}"
            )
        if self.canonical is not None:
            try:
                content = self.canonical(content)
            except ValueError as error:
                raise ValueError(f"cannot be read: {one_line(error)}") from error
        found = hashlib.new(self.algorithm, content, usedforsecurity=False).hexdigest()
        if found != self.digest:
            raise ValueError(f"must have {self.algorithm} {self.digest}, got {found}")
        return content


@dataclass(frozen=True)
class Source:
    """One place to download from.

    Parameters
    ----------
    url : str
        ``{name}`` in it stands for the name of the file. For an archive (``.zip`` or a tar file)
        the address of the archive.
    archive : str or None
        None for single files; for an archive, the folder of the files inside it ("" or "sub/").
    """

    url: str
    archive: str | None = None


@dataclass(frozen=True)
class Original:
    """A data set as published: its files and the places that serve them, tried in order."""

    name: str
    files: tuple[DataFile, ...]
    sources: tuple[Source, ...]
    folders: tuple[str, ...] = ()

    def file(self, name: str) -> DataFile:
        """Return the file of that name."""
        return next(file for file in self.files if file.name == name)


def locate(
    original: Original, data_dir: str | os.PathLike[str] | None = None, download: bool = True
) -> dict[str, Path]:
    """Find all files of a data set and fetch the missing ones.

    Parameters
    ----------
    original : Original
    data_dir : path or None
        Searched first: ``data_dir/<set>/<file>``, then ``data_dir/<file>``, each plain or ``.gz``.
    download : bool
        Whether files that are neither there nor in the cache folder may be downloaded.

    Returns
    -------
    dict of str to Path
        Path of each file by its name. Nothing is verified yet, see `read_verified`.

    Raises
    ------
    SettingError
        `data_dir` is not a folder, or pooch is needed and not installed.
    DataError
        A file is missing and must not, or cannot, be downloaded.
    """
    cache = cache_dir() / "datasets" / original.name
    folders = [cache]
    if data_dir is not None:
        base = Path(data_dir).expanduser()
        if not base.is_dir():
            raise SettingError(f"data_dir must be an existing folder, got {str(base)!r}")
        folders = [base / original.name, base, *(base / sub for sub in original.folders), cache]
    found = {file.name: _find(file.name, folders) for file in original.files}
    missing = [file for file in original.files if found[file.name] is None]
    if missing and not download:
        raise DataError(
            f"{original.name}: no file {missing[0].name} or {missing[0].name}.gz in "
            f"{', '.join(str(folder) for folder in folders)}; put the original file there, "
            "or allow the download"
        )
    if missing:
        fetch(original, missing, cache)
        found.update({file.name: _find(file.name, [cache]) for file in missing})
    return {name: path for name, path in found.items() if path is not None}


def _find(name: str, folders: Sequence[Path]) -> Path | None:
    """Return the first of ``folder/name`` and ``folder/name.gz`` that exists."""
    for folder in folders:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    return None


def read_verified(path: Path, file: DataFile) -> bytes:
    """Return the uncompressed content of a file, in its canonical form if there is one.

    Raises
    ------
    DataError
        The file cannot be read, is damaged, or is another file; the message says which.
    """
    try:
        return _verified(path, file)
    except ValueError as error:
        raise DataError(
            f"{path} {error}; it is damaged or not the original {file.name}: replace it by the "
            "original, or remove it to have it downloaded"
        ) from error
    except OSError as error:
        raise DataError(f"cannot read {path}: {one_line(error)}") from error


def _verified(path: Path, file: DataFile) -> bytes:
    """Read and verify; a ValueError says in a phrase what is wrong with the content."""
    zipped = _is_gzip(path)
    with gzip.open(path) if zipped else path.open("rb") as stream:
        try:
            # One byte more than allowed: enough to see that a file is longer, or complete.
            content = stream.read(_limit(file) + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"must be complete gzip data: {one_line(error)}") from error
    return file.verified(content)


def _limit(file: DataFile) -> int:
    return _UNSIZED_LIMIT if file.n_bytes is None else file.n_bytes


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(2) == _GZIP_MAGIC


def fetch(original: Original, files: Sequence[DataFile], folder: Path) -> None:
    """Download files into a folder, verified, from the first source that has them.

    Parameters
    ----------
    original : Original
        Gives the sources.
    files : sequence of DataFile
        Those of its files that are wanted.
    folder : Path
        Created if need be. A file is stored as ``name`` or, when it came gzipped, ``name.gz``.

    Raises
    ------
    SettingError
        pooch is not installed.
    DataError
        No source could give a good copy, or the folder cannot be written. Whatever is in `folder`
        then is complete and verified.
    """
    if importlib.util.find_spec("pooch") is None:
        raise SettingError(
            f"{original.name}: downloading {files[0].name} needs pooch, which is not installed; "
            "pip install 'boostsample[data]', or give the folder of the files as data_dir"
        )
    missing = list(files)
    problems: list[str] = []
    for source in original.sources:
        try:
            _fetch_from(source, missing, folder)
        except _SourceError as error:
            problems.append(str(error))
        except OSError as error:
            raise DataError(
                f"{original.name}: cannot write to the cache folder {folder}: {one_line(error)}; "
                "set BOOSTSAMPLE_CACHE_DIR to a folder that can be written"
            ) from error
        missing = [file for file in missing if _find(file.name, [folder]) is None]
        if not missing:
            return
    raise DataError(
        f"{original.name}: cannot download {', '.join(file.name for file in missing)}: "
        f"{'; '.join(problems)}; try again later, or give the folder of the files as data_dir"
    )


class _SourceError(Exception):
    """What is wrong with one source: its address and a phrase."""


def _fetch_from(source: Source, files: Sequence[DataFile], folder: Path) -> None:
    """Download files from one source; the first fault ends it, so that no server is pestered."""
    if source.archive is not None:
        with _downloaded(source.url, folder) as path:
            _keep_members(path, files, source)
        return
    for file in files:
        url = source.url.format(name=file.name)
        with _downloaded(url, folder) as path:
            try:
                _verified(path, file)
            except ValueError as error:
                raise _SourceError(f"{url} sent a file that {error}") from error
            suffix = ".gz" if _is_gzip(path) else ""
            os.replace(path, folder / (file.name + suffix))


@contextmanager
def _downloaded(url: str, folder: Path) -> Iterator[Path]:
    """Give a temporary file in `folder` with what `url` serves; it is gone afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f".{uuid.uuid4().hex}.part"
    try:
        with path.open("xb") as output:
            _download(url, output)
        yield path
    finally:
        path.unlink(missing_ok=True)


def _download(url: str, output: io.BufferedWriter) -> None:
    """Write what `url` serves to `output`; a passing fault is tried again once."""
    import pooch
    import requests

    get = pooch.HTTPDownloader(timeout=TIMEOUT, chunk_size=2**16)
    for attempt in range(1, ATTEMPTS + 1):
        _LOG.info("downloading %s", url)
        output.seek(0)
        output.truncate()
        try:
            get(url, output, None)
            return
        except requests.HTTPError as error:
            status = one_line(error).partition(" for url")[0]
            problem, passing = f"answered {status}", status.startswith("5")
        except requests.Timeout:
            problem, passing = f"did not answer within {TIMEOUT:g} s", True
        except requests.ConnectionError:
            problem, passing = "cannot be reached", True
        except requests.RequestException as error:
            problem, passing = f"broke off: {one_line(error)}", True
        if not passing or attempt == ATTEMPTS:
            raise _SourceError(f"{url} {problem}")
        time.sleep(PAUSE)


def _keep_members(path: Path, files: Sequence[DataFile], source: Source) -> None:
    """Store the wanted members of a downloaded archive; each is verified first.

    Members are read by their exact names and written under ours, so no path in the archive is ever
    followed.
    """
    wanted = {f"{source.archive}{file.name}": file for file in files}
    for name, content in _members(path, wanted, source.url):
        file = wanted.pop(name)
        try:
            file.verified(content)
        except ValueError as error:
            raise _SourceError(f"{source.url} sent an archive whose {name} {error}") from error
        part = path.with_suffix(f".{file.name}.part")
        try:
            part.write_bytes(content)
            os.replace(part, path.with_name(file.name))
        finally:
            part.unlink(missing_ok=True)
    if wanted:
        raise _SourceError(f"{source.url} sent an archive without {', '.join(wanted)}")


def _members(path: Path, wanted: dict[str, DataFile], url: str) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the wanted regular files of a zip or tar archive, read once.

    The caller takes names out of `wanted` as it goes, so that a second copy is not looked at.
    """
    try:
        if url.endswith(".zip"):
            with zipfile.ZipFile(path) as zipped:
                for name in wanted.keys() & set(zipped.namelist()):
                    with zipped.open(name) as stream:
                        yield name, stream.read(_limit(wanted[name]) + 1)
            return
        with tarfile.open(path) as tar:
            for member in tar:
                name = member.name.removeprefix("./")
                if name in wanted and member.isfile():
                    content = tar.extractfile(member)
                    if content is not None:
                        yield name, content.read(_limit(wanted[name]) + 1)
    except _BROKEN as error:
        raise _SourceError(f"{url} sent a broken archive: {one_line(error)}") from error
