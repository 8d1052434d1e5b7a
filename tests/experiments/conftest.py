"""The command line as a fixture; every test runs in an empty folder of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from boostsample.experiments.commands.cli import main

_PROGRESS = re.compile(r"boostsample: (starting|looking for cells|features|compiling|boosting)")


class CommandLine:
    """Runs commands in this process; `err` has the messages of the last one."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.err = ""

    def __call__(self, *args: str, code: int = 0) -> str:
        """What a command prints; a single text is split at its spaces."""
        self._capsys.readouterr()
        assert main(args[0].split() if len(args) == 1 else list(args)) == code
        out, self.err = self._capsys.readouterr()
        return out

    def refused(self, *args: str, code: int = 2, silent: bool = True) -> str:
        """The one line with which a command is refused; `silent` if it has printed nothing."""
        out = self(*args, code=code)
        assert not (silent and out)
        (line,) = [text for text in self.err.splitlines() if not _PROGRESS.match(text)]
        assert line.startswith("boostsample: error: ")
        return line.removeprefix("boostsample: error: ")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BOOSTSAMPLE_DEBUG", raising=False)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)
