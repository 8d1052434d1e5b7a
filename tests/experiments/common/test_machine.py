"""The memory and the cache of the machine; several errors in one message."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from boostsample.errors import SettingError
from boostsample.experiments.common.collected_errors import Faults
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


def test_the_places_of_many_long_errors_can_be_read() -> None:
    faults = Faults()
    for number in range(8):
        with faults.at(f"strategies[{number}]"):
            raise SettingError(f"unknown strategy {number}; known: " + "a, " * 150)
    with pytest.raises(SettingError, match=r"^the grid has 8 errors: ") as caught:
        faults.raise_all("the grid")
    places = re.findall(r"\((\d)\) strategies\[(\d)\]: unknown strategy (\d)", str(caught.value))
    assert places == [(f"{n + 1}", f"{n}", f"{n}") for n in range(8)]


def test_of_very_many_errors_the_first_are_listed() -> None:
    faults = Faults()
    for number in range(30):
        with faults.at(f"strategy {number}"):
            raise SettingError(f"unknown reward {number}; known: " + "a, " * 50)
    with pytest.raises(SettingError, match=r"\(9\) strategy 8: unknown reward 8.*; and 21 more$"):
        faults.raise_all()
