"""However a command ends (interrupts, pipes, full disks, faults), it ends cleanly."""

from __future__ import annotations

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

from boostsample.errors import StrategyError
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


@pytest.mark.parametrize("n_jobs", ["1", "2"])
def test_ctrl_c_ends_with_one_line_and_leaves_nothing(n_jobs: str) -> None:
    process = start(*LASTING, "--jobs", n_jobs)
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


def test_a_killed_run_leaves_a_folder_that_says_so() -> None:
    process = start(*LASTING)
    wait_for(process, b"boosting")
    process.kill()
    process.communicate()
    names = {path.name for path in Path("here").iterdir()}
    assert names == {"cells", "plan.json"}
    assert not json.loads(Path("here/plan.json").read_bytes())["complete"]


@pytest.mark.parametrize("args", [["list"], ["--help"], [*QUICK, "--quiet", "--results", "r"]])
def test_a_reader_that_goes_away_is_no_error(args: list[str]) -> None:
    process = start(*args, "--help" if args == ["--help"] else "--", env={"PYTHONUNBUFFERED": ""})
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=PATIENCE), err) == (141, b"")
    if "r" in args:
        assert len(read_results("r").rows) == 5 * 2 * 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_that_cannot_be_written_is_told() -> None:
    with open("/dev/full", "wb") as full:
        process = start("list", stdout=full)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert err == (
        b"boostsample: error: standard output cannot be used: No space left on device; what should "
        b"be printed there is lost, files that were to be written are complete\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="files have no size limit there")
def test_a_disk_that_is_full_stops_the_run_and_says_what_to_do() -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))"
    process = start(*QUICK, "--rounds", "900", "--results", "new", "--quiet", before=limit)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (1, b"")
    assert re.fullmatch(
        rb"boostsample: error: the cell chess.*npz could not be written to 'new/cells': File too "
        rb"large; .* run the same command with the same --results again.*\n",
        err,
    )
    assert list(Path().iterdir()) == []


def test_a_rename_that_fails_at_the_end_keeps_the_tables(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def fail(source: Any, target: Any) -> None:
        if str(target).endswith("table.csv"):
            raise PermissionError(13, "Permission denied")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)
    assert main([*QUICK, "--results", "new"]) == 1
    captured = capsys.readouterr()
    assert "table.csv could not be written to 'new': Permission denied" in captured.err
    assert "its 10 cells are complete" in captured.err
    assert len(errors(captured.err)) == 1
    assert "test error" in captured.out
    monkeypatch.setattr(os, "replace", replace)
    assert main([*QUICK, "--results", "new"]) == 0
    assert capsys.readouterr().out.startswith(captured.out)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (KeyError("x\ny"), r"unexpected KeyError: 'x\\ny'; .* BOOSTSAMPLE_DEBUG=1 shows where"),
        (StrategyError("it broke"), "it broke"),
        (MemoryError(), "out of memory; choose fewer --families"),
        (RuntimeError("can't start new thread"), "no thread can be started: memory or the number"),
        (RuntimeError("other"), "unexpected RuntimeError: other; this is a bug in boostsample"),
        (OSError(5, "Input/output error", "f"), "'f' cannot be used: Input/output error"),
        (
            OSError("in <TCP (closed)>"),
            r"a file or a connection cannot be used: in <TCP \(closed\)>",
        ),
        (BrokenPipeError(32, "Broken pipe"), "a file or a connection cannot be used: Broken pipe"),
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


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_names_that_the_terminal_cannot_show(encoding: str) -> None:
    names = ["donn\u00e9es.npz", "b\udcff.npz"]
    X = np.random.default_rng(0).random((40, 3))
    for name in names:
        try:
            with open(name, "wb") as stream:
                np.savez(stream, X=X, y=[0, 1] * 20)
        except OSError as error:
            pytest.skip(f"this file system takes no such name: {error}")
    args = ["compare", "--rounds", "2", "--repeats", "1", "--results", "\u00e9"]
    args += [part for name in names for part in ("--data", name)]
    process = start(*map(os.fsencode, args), env={"PYTHONIOENCODING": encoding})
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    shown = out.decode(encoding)
    for name in names:
        stem = name.removesuffix(".npz").encode(encoding, "backslashreplace").decode(encoding)
        assert re.search(f"(?m)^{re.escape(stem)}: ", shown)
    assert len(read_results("\u00e9").rows) == 2 * 5


def test_a_terminal_gets_a_bar_and_tables_with_lines() -> None:
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    ours, theirs = pty.openpty()
    env = {"TERM": "xterm", "COLUMNS": "60", "LINES": "30"}
    process = start(*QUICK, "--budget", "60", stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break  # Linux's way to say that the other side is closed
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait(timeout=PATIENCE) == 0, shown
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
    assert "boosting" in text
    assert "boostsample: full is left out" in text
    assert "\u2500\u2500\u2500" in text
    tables = text[text.index("log10 loss") :]
    assert max(len(line) for line in tables.splitlines() if "\u2500" in line) <= 60
    assert "laminating" in tables
