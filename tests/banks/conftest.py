"""Banks of the tests are cached in a folder of each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from boostsample.banks import tile_layout
from boostsample.records import feature_tiles


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder, which does not exist yet."""
    monkeypatch.setenv("BOOSTSAMPLE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small data have tiles."""
    monkeypatch.setattr(feature_tiles, "_FEWEST_TILES", 2)
    monkeypatch.setattr(tile_layout, "_FEWEST_EXAMPLES", 1)
    monkeypatch.setattr(tile_layout, "free_memory", lambda: 2**30)
    feature_tiles.feature_tiles.cache_clear()
    yield
    feature_tiles.feature_tiles.cache_clear()
