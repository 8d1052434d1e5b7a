"""What a strategy draws and searches, as a fixture."""

from __future__ import annotations

import pytest

from tests.strategies.watch import Watched


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    """The searches of all boosters of a test."""
    return Watched(monkeypatch)
