"""Banks of the tests are cached in a folder of each test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder, which does not exist yet."""
    monkeypatch.setenv("BOOSTSAMPLE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"
