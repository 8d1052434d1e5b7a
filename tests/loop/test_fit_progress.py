"""Progress of a fit: one renewed line on a terminal, ten lines elsewhere."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from boostsample.loop import fit_progress
from boostsample.loop.fit_progress import FitProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def row(at: int, stopped: str = "") -> dict[str, Any]:
    return {"round": at, "log10_loss": -0.5, "edge": 0.75, "stopped": stopped}


@pytest.mark.parametrize(("n_rounds", "lines"), [(3, 3), (200, 10), (1003, 10)])
def test_a_file_gets_ten_lines(
    n_rounds: int, lines: int, capsys: pytest.CaptureFixture[str]
) -> None:
    show = FitProgress(n_rounds)
    for at in range(1, n_rounds + 1):
        show(row(at), 0.25, at == n_rounds)
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == lines
    assert shown[-1] == f"round {n_rounds:,} of {n_rounds:,}: log10 loss -0.500, edge 0.2500"


def test_a_terminal_has_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(fit_progress, "_PAUSE", 0.0)
    show = FitProgress(3)
    for at in (1, 2, 3):
        show(row(at), 0.25, at == 3)
    shown = terminal.getvalue()
    assert shown.count("\r\x1b[Kround") == 3
    assert shown.count("\n") == 1
    assert shown.endswith("\n")


def test_an_early_end_is_shown_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    FitProgress(500)(row(3, "edge 1"), 0.25, finished=True)
    assert capsys.readouterr().err.endswith("edge 0.2500; training ends: edge 1\n")


def test_training_goes_on_without_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(Terminal):
        def write(self, text: str) -> int:
            raise OSError

    for stream in (None, Full()):
        monkeypatch.setattr(sys, "stderr", stream)
        FitProgress(3)(row(1), 0.25, finished=True)
