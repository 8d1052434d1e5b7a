"""The memory of the machine, where the system reports it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from boostsample.experiments.common.machine import machine_cache, machine_memory


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="this system does not report its memory")
def test_the_memory_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 2**28 < machine_memory() < np.inf
    monkeypatch.setattr(os, "sysconf_names", {})
    assert machine_memory() == np.inf


def test_the_last_cache_is_known_or_guessed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert machine_cache() > 0
    monkeypatch.setattr("boostsample.experiments.common.machine.Path", lambda _: tmp_path)
    assert machine_cache() == 2**25
    for number, size in enumerate(("48K", "491520K", "2048K")):
        (tmp_path / f"index{number}").mkdir()
        (tmp_path / f"index{number}" / "size").write_text(f"{size}\n")
    assert machine_cache() == 480 * 2**20
