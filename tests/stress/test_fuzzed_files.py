"""A short version of `python -m tests.stress.fuzzed_files`."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import numpy as np
import pytest

from tests.stress.file_damage import damaged, payload
from tests.stress.forked import outcomes
from tests.stress.fuzzed_files import KINDS, check_file


@pytest.mark.parametrize("kind", [one for one in KINDS if one != "results"])
def test_damaged_files_are_read_or_refused(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    good = tmp_path / "good"
    good.mkdir()
    names = KINDS[kind].make(good)
    KINDS[kind].read(good)
    found = list(outcomes(lambda number: check_file(kind, good, names, number), range(25)))
    assert [one for one in found if one.kind != "ok"] == []
    assert kind == "bank" or any(one.text != "read" for one in found)


def test_the_payload_is_seen_when_it_is_loaded(tmp_path: Path) -> None:
    """The marker that a pickle would write is what the check looks for."""
    content = payload(tmp_path / "marker")
    assert not (tmp_path / "marker").exists()
    pickle.load(io.BytesIO(content))
    assert (tmp_path / "marker").exists()


def test_damages_are_those_of_their_numbers(tmp_path: Path) -> None:
    content = b"12345678" * 20
    first = [damaged(content, np.random.default_rng(n), tmp_path) for n in range(50)]
    again = [damaged(content, np.random.default_rng(n), tmp_path) for n in range(50)]
    assert first == again
    assert sum(one != content for one in first) > 40
