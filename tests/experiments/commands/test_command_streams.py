"""Every command with standard streams that fail, and with names that a terminal would obey."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boostsample.errors import printable
from boostsample.experiments.commands.cli import cli, main
from boostsample.experiments.tables.formats import guarded_text
from tests.experiments.commands.test_cli_endings import Terminal
from tests.paths import ROOT

#: A title for the terminal, a bell, and the 8-bit form of the first character of a sequence.
OBEYED = "\x1b]0;obeyed\x07\x9b31m"
TABLE = f"=t{OBEYED}.csv"
DATA = f"{TABLE}:label=y:validation=0.3"
RUN = ("--strategies", "uniform-naive,uniform-q1", "--rounds", "1,2", "--repeats", "2")
COMPARE = ("compare", "--data", DATA, *RUN, "--budget", "2N", "--score-every", "1")
CALIBRATE = ("calibrate", "--data", f"{TABLE}:label=y", "--rounds", "2", "--repeats", "2")

#: Commands with their arguments, and the files or folders that they write.
COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "help": (("--help",), ()),
    "version": (("--version",), ()),
    "list": (("list",), ()),
    "list picture": (("list", "families", "--picture", "f.png", "--families", "haar"), ("f.png",)),
    "cache": (("cache",), ()),
    "cache clear": (("cache", "clear", "--all"), ()),
    "fit": (("fit", TABLE, "--target", "y", "--rounds", "2", "-o", "new.bsm"), ("new.bsm",)),
    "predict": (("predict", "m.bsm", TABLE, "--target", "y", "--proba"), ()),
    "predict -o": (("predict", "m.bsm", TABLE, "-o", "p.csv"), ("p.csv",)),
    "evaluate": (("evaluate", "m.bsm", TABLE, "--target", "y", "--picture", "c.svg"), ("c.svg",)),
    "select": (("select", TABLE, "--target", "y", "--pairs", "2", "-o", "s.csv"), ("s.csv",)),
    "explain": (("explain", "m.bsm", "-o", "e.svg"), ("e.svg",)),
    "compare": ((*COMPARE, "--results", "new"), ("new/table.csv", "new/plan.json")),
    "table": (("table", "r"), ()),
    "table csv": (("table", "r", "--format", "csv"), ()),
    "validate": (("validate", "r"), ()),
    "plot": (("plot", "r", "-o", "p.png", "--metric", "loss"), ("p.png",)),
    "report": (("report", "r", "-o", "r.html"), ("r.html",)),
    "calibrate": ((*CALIBRATE, "--csv", "c.csv"), ("c.csv",)),
}
SLOW = ("report", "list picture")
"""Commands that are run with two of the streams only."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, a model and results, all with names that terminals obey."""
    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("BOOSTSAMPLE_CACHE_DIR", str(folder / "banks"))
        with open(TABLE, "w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow([f"=a{OBEYED}", f"@b{OBEYED}", "y"])
            for at in range(60):
                label = f"=1+1{OBEYED}" if at % 7 * (at % 5) > 4 else "-1"
                writer.writerow([at % 7, at % 5, label])
        assert main(["fit", TABLE, "--target", "y", "--rounds", "3", "-o", "m.bsm"]) == 0
        assert main([*COMPARE, "--results", "r", "--bank", "disk"]) == 0
    return folder


@pytest.fixture
def _in_the_world(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world)
    monkeypatch.setenv("BOOSTSAMPLE_CACHE_DIR", str(world / "banks"))


def broken_pipe() -> Any:
    ours, theirs = os.pipe()
    os.close(ours)
    return os.fdopen(theirs, "w", encoding="utf-8")


def full_disk() -> Any:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    return open("/dev/full", "w", encoding="utf-8")


def run(name: str, monkeypatch: pytest.MonkeyPatch, **streams: Any) -> tuple[int, str, str]:
    """Run a command with other streams; its exit code, output and messages."""
    args, files = COMMANDS[name]
    for file in files:
        Path(file).unlink(missing_ok=True)
    texts = {"stdout": io.StringIO(), "stderr": io.StringIO()}
    with monkeypatch.context() as patch:
        if name == "cache clear":  # of others
            patch.setenv("BOOSTSAMPLE_CACHE_DIR", "none")
        for stream, value in {**texts, **streams}.items():
            patch.setattr(sys, stream, value)
        code = main(list(args))
    for file in files:
        assert Path(file).stat().st_size, f"{name} has not written {file}"
    return code, texts["stdout"].getvalue(), texts["stderr"].getvalue()


def errors(text: str) -> list[str]:
    assert "Traceback" not in text
    return [line for line in text.splitlines() if "error: " in line]


def test_every_command_is_listed() -> None:
    assert {args[0] for args, _ in COMMANDS.values()} == {*cli.commands, "--help", "--version"}


@pytest.mark.usefixtures("_in_the_world")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_does_its_work_whatever_the_streams(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, expected, err = run(name, monkeypatch, stderr=None, stdin=None)
    assert (code, err) == (0, "")
    code, out, err = run(name, monkeypatch, stdout=None, stdin=None)
    assert (code, out) == (1, "")
    (line,) = errors(err)
    assert line.startswith("boostsample: error: standard output cannot be used: it is closed; ")
    if name in SLOW:
        return
    with broken_pipe() as pipe:
        code, _, err = run(name, monkeypatch, stdout=pipe)
    assert (code, errors(err)) == (141, [])
    with full_disk() as full:
        code, _, err = run(name, monkeypatch, stdout=full)
        (line,) = errors(err)
        assert (code, "used: No space left on device; " in line) == (1, True)
    with full_disk() as full:
        code, out, _ = run(name, monkeypatch, stderr=full)
    assert (code, len(out.splitlines())) == (0, len(expected.splitlines()))


@pytest.mark.usefixtures("_in_the_world")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_terminal_gets_no_control_characters_of_names(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminals = {"stdout": Terminal(), "stderr": Terminal()}
    code, _, _ = run(name, monkeypatch, **terminals)
    assert code == 0
    for stream in terminals.values():
        shown = stream.getvalue()
        assert not [part for part in ("\x1b]", "\x07", "\x9b") if part in shown]
    if name in ("fit", "predict", "explain", "compare", "table", "validate", "calibrate"):
        assert "\\x1b]0;obeyed\\x07\\x9b31m" in terminals["stdout"].getvalue()
    if name in SLOW:
        return
    _, out, err = run(name, monkeypatch)
    data = name in ("predict", "table csv")  # for other programs, which need the names as they are
    assert (OBEYED in out) == data
    assert OBEYED not in err


@pytest.mark.usefixtures("_in_the_world")
@pytest.mark.parametrize(
    "args",
    [
        ["fit", f"no{OBEYED}.csv", "--target", "y", "-o", "x.bsm"],
        ["fit", TABLE, "--target", "y", "-o", "x.bsm", "--strategy", f"full:{OBEYED}=1"],
        ["compare", "--data", f"no{OBEYED}.csv"],
        ["compare", f"--{OBEYED}"],
        ["table", "r", "--rename", f"full{OBEYED}=x"],
        [OBEYED],
    ],
)
def test_error_messages_have_no_control_characters(
    args: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COMMANDS, "this", (tuple(args), ()))
    terminals = {"stdout": Terminal(), "stderr": Terminal()}
    code, _, _ = run("this", monkeypatch, **terminals)
    (line,) = errors(terminals["stderr"].getvalue())
    assert code in (1, 2)
    assert line[line.index("boostsample: error: ") :].isprintable()
    assert "\\x1b]0;obeyed" in line


@pytest.mark.skipif(sys.platform == "win32", reason="there is no sh")
@pytest.mark.usefixtures("_in_the_world")
def test_files_take_no_place_of_closed_streams() -> None:
    args, _ = COMMANDS["fit"]
    Path("new.bsm").unlink(missing_ok=True)
    command = [sys.executable, "-m", "boostsample", *args, "--quiet"]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&- <&-', "sh", *command],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
    )
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, b"", 1)
    assert main(["explain", "new.bsm"]) == 0


@pytest.mark.usefixtures("_in_the_world")
def test_files_for_readers_have_escapes_and_guards(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("explain", "report", "predict -o"):
        assert main([*COMMANDS[name][0], "--overwrite"]) == 0
    ElementTree.parse("e.svg")  # XML takes no control characters
    report = Path("r.html").read_text("utf-8")
    assert printable(report, "\n\t") == report
    assert main(["plot", "r", "-o", "p.svg", "--overwrite"]) == 0
    ElementTree.parse("p.svg")
    with open("p.csv", encoding="utf-8", newline="") as stream:
        assert {row["prediction"] for row in csv.DictReader(stream)} == {f"'=1+1{OBEYED}", "-1"}
    assert "formulas begin with '" in capsys.readouterr().err


@pytest.mark.parametrize("character", "+-@\t")
def test_names_are_no_formulas_in_tables_for_spreadsheets(
    world: Path, character: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world)
    name = f"{character}1+1"
    rename = ("--rename", f"uniform-naive=x{name},uniform-q1={name}")
    if name.strip() == name:
        assert main(["table", "r", "--format", "csv", *rename]) == 0
        rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
        assert {row["strategy"] for row in rows} == {f"'{name}", f"x{name}"}
        assert {row["data"][:3] for row in rows} == {"'=t"}
        assert any(row["mean"].startswith("-0.") for row in rows)
    assert guarded_text(name) == f"'{name}"
    assert guarded_text(f"'{name}") == f"''{name}", "different names stay different"


@given(st.text())
def test_escaped_text_can_be_printed_and_differs_in_nothing_else(text: str) -> None:
    shown = printable(text, "\n")
    assert all(c.isprintable() or c == "\n" for c in shown)
    if shown.replace("\n", "").isprintable() and text.replace("\n", "").isprintable():
        assert shown == text
