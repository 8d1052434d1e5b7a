"""A few runs that are killed at random moments; by command there are more."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.loop import kill_cycles
from tests.paths import ROOT


def test_killed_runs_go_on_to_the_same_bits() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.loop.kill_cycles", "--cycles", "10"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.match(r"10 kills in \d+ runs of .*: the same bits$", done.stdout)


def test_the_harness_notices_a_difference(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = iter(range(100))
    monkeypatch.setattr(kill_cycles, "WAYS", (lambda *_: [str(next(calls))],))
    monkeypatch.setattr(kill_cycles.Kills, "cycle", _counted)
    monkeypatch.setattr(sys, "argv", ["kill_cycles", "--cycles", "1"])
    assert kill_cycles.main() == 1
    assert "DIFFERENT" in capsys.readouterr().out


def _counted(kills: kill_cycles.Kills, *_: object) -> bool:
    kills.killed += 1
    return True
