"""Damaged files of every kind are read or refused."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import pytest

from tests.stress.file_damage import payload
from tests.stress.fuzzed_files import KINDS, check_file


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_read_or_refused(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    good = tmp_path / "good"
    good.mkdir()
    names = KINDS[kind].make(good)
    KINDS[kind].read(good)
    seen = {check_file(kind, good, names, number) for number in range(25)}
    assert kind == "bank" or seen != {"read"}


def test_the_payload_is_seen_when_it_is_loaded(tmp_path: Path) -> None:
    """The marker that a pickle would write is what the check looks for."""
    content = payload(tmp_path / "marker")
    assert not (tmp_path / "marker").exists()
    pickle.load(io.BytesIO(content))
    assert (tmp_path / "marker").exists()
