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


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "results"])
def test_damaged_files_are_read_or_refused(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    good = tmp_path / "good"
    good.mkdir()
    names = KINDS[kind].make(good)
    KINDS[kind].read(good)
    seen = list(outcomes(lambda number: check_file(kind, good, names, number), range(25)))
    assert [outcome for outcome in seen if outcome.kind != "ok"] == []
    assert kind == "bank" or any(outcome.text != "read" for outcome in seen)


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
    assert sum(damaged != content for damaged in first) > 40
