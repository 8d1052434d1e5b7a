"""Losses at equal seconds: what is read from a run, and a run beside one of another checkout."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.equal_seconds import Problem, main
from tests.paths import ROOT


def test_losses_and_error_of_a_run() -> None:
    problem = Problem("digits", None)
    run = problem.run("uniform-naive", 0)
    run.turn(0.05)
    run.seconds = [1.0] * len(run.seconds)
    n = len(run.seconds)
    outcome = run.outcome([0.5, 1.0, n - 0.5, n])
    assert outcome["losses"] == [0.0, run.losses[0], run.losses[-2], run.losses[-1]]
    assert np.all(np.diff(run.losses) < 0)
    assert outcome["round_ms"] == 1e3
    assert 0 <= outcome["error"] < 60


def test_table_beside_another_checkout(capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "--seconds",
        "0.01,0.02",
        "--repeats",
        "1",
        "--strategies",
        "cost-aware,laminating@1N",
    ]
    main([*options, "--before", str(ROOT)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "|  | 0.01 s | 0.02 s | error, % | round |"
    names = [line.split(" | ")[0] for line in lines[4:7]]
    assert names == ["| `uniform-naive before`", "| `cost-aware`", "| `laminating`, `1N`"]
    assert lines[4].endswith("| 1.00 |")
