"""The memory of the machine, where the system reports it."""

from __future__ import annotations

import os

import numpy as np
import pytest

from boostsample.experiments.common.machine import machine_memory


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="this system does not report its memory")
def test_the_memory_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 2**28 < machine_memory() < np.inf
    monkeypatch.setattr(os, "sysconf_names", {})
    assert machine_memory() == np.inf
