"""Where the cache is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from boostsample.banks import cache_folder


def test_the_cache_folder_of_each_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    home = Path.home()
    for name in ("BOOSTSAMPLE_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for platform, expected in (
        ("linux", home / ".cache" / "boostsample"),
        ("darwin", home / "Library" / "Caches" / "boostsample"),
        ("win32", home / "AppData" / "Local" / "boostsample" / "Cache"),
    ):
        monkeypatch.setattr(cache_folder, "sys", SimpleNamespace(platform=platform))
        assert cache_folder.cache_dir() == expected
    monkeypatch.setattr(cache_folder, "sys", SimpleNamespace(platform="linux"))
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache_folder.cache_dir() == Path("/x/boostsample")
    monkeypatch.setenv("BOOSTSAMPLE_CACHE_DIR", "~/y")
    assert cache_folder.cache_dir() == home / "y"
