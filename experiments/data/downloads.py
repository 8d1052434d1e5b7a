"""Finds the original files of named data sets, verifies their hashes, downloads missing ones.

A file is accepted only if its *uncompressed* content has the published hash, so copies may be plain
or gzipped. Files are searched in the user's ``data_dir``, then in the folder ``datasets``
of the cache folder (`boostsample.banks.cache`). Missing ones are downloaded there by pooch
(extra ``data``).
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import logging
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from boostsample.banks.cache import cache_dir
from boostsample.errors import DataError, SettingError
from boostsample.experiments.common.files import atomic_file, one_line

__all__ = ["Original", "DownloadSource", "locate_file", "read_verified"]

_GZIP_MAGIC = b"\x1f\x8b"
_BROKEN = (KeyError, RuntimeError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile)
_LOG = logging.getLogger(__name__)


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
    without ``.gz``. `canonical` maps the content to the bytes to hash, where copies spell the same
    numbers differently; it raises ValueError for a content that it cannot parse.
    """

    name: str
    files: Mapping[str, str]
    sources: tuple[DownloadSource, ...]  # tried in order
    folders: tuple[str, ...] = ()  # in ``data_dir``, besides that of the set's name
    canonical: Callable[[bytes], bytes] | None = None

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
        found = hashlib.new(algorithm, content, usedforsecurity=False).hexdigest()
        if found != digest:
            raise ValueError(f"must have {algorithm} {digest}, got {found}")
        return content


def locate_file(
    original: Original, data_dir: str | os.PathLike[str] | None = None, download: bool = True
) -> dict[str, Path]:
    """Find all files of a data set; download missing ones into the cache folder, if allowed.

    ``data_dir/<set>/<file>`` and ``data_dir/<file>``, plain or ``.gz``, come before the cache.
    Returns paths by file name; `read_verified` verifies their content.

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
    if missing and not download:
        raise DataError(
            f"{original.name}: no file {missing[0]} or {missing[0]}.gz in "
            f"{', '.join(map(str, folders))}; put the original file there, or allow the download"
        )
    if missing:
        _fetch(original, missing, cache)
    paths = {name: _find(name, folders) for name in original.files}
    return {name: path for name, path in paths.items() if path is not None}


def _find(name: str, folders: Sequence[Path]) -> Path | None:
    """Return the first of ``folder/name`` and ``folder/name.gz`` that exists."""
    places = (folder / file for folder in folders for file in (name, f"{name}.gz"))
    return next((path for path in places if path.is_file()), None)


def read_verified(original: Original, name: str, path: Path) -> bytes:
    """Return the content of a file, uncompressed and canonical; DataError if not verified."""
    try:
        return original.verified(name, path.read_bytes())
    except ValueError as error:
        raise DataError(
            f"{path} {error}; it is damaged or not the original {name}: replace it by the "
            "original, or remove it to have it downloaded"
        ) from error
    except OSError as error:
        raise DataError(f"cannot read {path}: {one_line(error)}") from error


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
