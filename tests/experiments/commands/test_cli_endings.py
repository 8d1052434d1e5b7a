"""However a command ends (interrupts, pipes, full disks, faults), it ends cleanly."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.experiments.commands.cli import main
from boostsample.experiments.results.read_folder import read_results
from boostsample.experiments.run import compare as compare_module
from tests.experiments.kills import content
from tests.paths import ROOT

QUICK = ["compare", "--data", "chess(d=3,n=60)", "--rounds", "2,4", "--repeats", "2"]
LASTING = ["compare", "--data", "chess(d=3,n=60)", "--rounds", "1000000", "--results", "here"]

#: Seconds to wait for a process; far above what it takes, for a busy machine.
PATIENCE = 300


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BOOSTSAMPLE_DEBUG", raising=False)


def start(
    *args: str | bytes,
    before: str = "",
    stdout: Any = subprocess.PIPE,
    stderr: Any = subprocess.PIPE,
    env: dict[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """A process of the command, after a statement that prepares its world."""
    code = (
        "import signal, sys\n"
        # A shell starts jobs in the background with Ctrl-C ignored, and processes inherit that.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"{before}\n"
        "from boostsample.experiments.commands.cli import main\n"
        "sys.exit(main())"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    command = [sys.executable, "-c", code, *args]
    return subprocess.Popen(command, env=environment, stdout=stdout, stderr=stderr)


def wait_for(process: subprocess.Popen[bytes], text: bytes) -> bytes:
    """Read standard error up to a text."""
    assert process.stderr is not None
    seen = b""
    while text not in seen:
        line = process.stderr.readline()
        assert line, seen
        seen += line
    return seen


def errors(text: str) -> list[str]:
    return [line for line in text.splitlines() if "error" in line or "Traceback" in line]


def test_ctrl_c_ends_with_one_line_and_leaves_nothing() -> None:
    process = start(*LASTING, "--jobs", "2")
    wait_for(process, b"boosting")
    assert not json.loads((Path("here") / "plan.json").read_bytes())["complete"]
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err.decode().splitlines()[-1] == "boostsample: error: stopped by Ctrl-C"
    assert b"Traceback" not in err
    assert list(Path().iterdir()) == []


#: Ctrl-C at the moment when the third cell is complete.
AT_THE_THIRD = """
import os
from boostsample.experiments.cells.store import FolderStore
save, cells = FolderStore.save, []
def save_or_stop(store, task, cell):
    save(store, task, cell)
    cells.append(task)
    if len(cells) == 3:
        os.kill(os.getpid(), signal.SIGINT)
FolderStore.save = save_or_stop
"""


def test_after_ctrl_c_the_same_command_trains_what_is_left() -> None:
    assert main([*QUICK, "--results", "whole"]) == 0
    args = [*QUICK, "--results", "parts", "--jobs", "1"]
    process = start(*args, before=AT_THE_THIRD)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, b"")
    assert errors(err.decode()) == ["boostsample: error: stopped by Ctrl-C"]
    cells = {path: path.stat().st_mtime_ns for path in Path("parts/cells").iterdir()}
    assert 3 <= len(cells) < 10
    assert {path.suffix for path in cells} == {".npz"}
    assert main(args) == 0
    assert content(Path("parts")) == content(Path("whole"))
    assert {path: path.stat().st_mtime_ns for path in cells} == cells


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (KeyError("x\ny"), r"unexpected KeyError: 'x\\ny'; .* BOOSTSAMPLE_DEBUG=1 shows where"),
        (MemoryError(), "out of memory; choose fewer --families"),
        (RuntimeError("can't start new thread"), "no thread can be started: memory or the number"),
        (OSError(5, "Input/output error", "f"), "'f' cannot be used: Input/output error"),
        (
            OSError("in <TCP (closed)>"),
            r"a file or a connection cannot be used: in <TCP \(closed\)>",
        ),
    ],
)
def test_faults_are_one_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    fault: Exception,
    message: str,
) -> None:
    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr(compare_module, "compare_all", fail)
    assert main(QUICK) == 1
    (line,) = errors(capsys.readouterr().err)
    assert re.match(f"boostsample: error: {message}", line)
    assert list(Path().iterdir()) == []
    monkeypatch.setenv("BOOSTSAMPLE_DEBUG", "1")
    assert main(QUICK) == 1
    assert "Traceback" in capsys.readouterr().err


def test_names_that_the_terminal_cannot_show(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["donn\u00e9es.npz", "b\udcff.npz"]
    X = np.random.default_rng(0).random((40, 3))
    for name in names:
        try:
            with open(name, "wb") as stream:
                np.savez(stream, X=X, y=[0, 1] * 20)
        except OSError as error:
            pytest.skip(f"this file system takes no such name: {error}")
    args = ["compare", "--rounds", "2", "--repeats", "1", "--results", "\u00e9", "--quiet"]
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, "ascii"))
    assert main([*args, *(part for name in names for part in ("--data", name))]) == 0
    sys.stdout.flush()
    for name in names:
        stem = name.removesuffix(".npz").encode("ascii", "backslashreplace")
        assert b"\n" + stem + b": " in b"\n" + shown.getvalue()
    assert len(read_results("\u00e9").rows) == 2 * 5


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_and_tables_of_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    assert main([*QUICK, "--budget", "60"]) == 0
    assert "boosting" in err.getvalue()
    assert "boostsample: full is left out" in err.getvalue()
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", out.getvalue())
    tables = text[text.index("log10 loss") : text.index("settings in use")]
    assert max(len(line) for line in tables.splitlines()) <= 60
    assert "laminating" in tables
