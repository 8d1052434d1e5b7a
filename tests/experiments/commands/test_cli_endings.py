"""However a command ends and whatever its streams are, it works and ends with one line."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boostsample import BoostSampleClassifier, Step
from boostsample.errors import printable
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.store import FolderStore
from boostsample.experiments.cells.tasks import CellTask
from boostsample.experiments.commands.cli import cli, main
from boostsample.experiments.results.read_folder import read_results
from boostsample.experiments.run import comparison as compare_module
from boostsample.experiments.tables.formats import guarded_text
from boostsample.strategies import UniformNaive
from tests.experiments.conftest import CommandLine
from tests.experiments.kills import content
from tests.paths import ROOT
from tests.waiting import PATIENCE

QUICK = ["compare", "--data", "chess(d=3,n=60)", "--rounds", "2,4", "--repeats", "2"]
LASTING = ["compare", "--data", "chess(d=3,n=60)", "--rounds", "1000000", "--results", "here"]


def start(*args: str) -> subprocess.Popen[bytes]:
    code = (
        "import signal, sys\n"
        # A shell starts jobs in the background with Ctrl-C ignored, and processes inherit that.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from boostsample.experiments.commands.cli import main\n"
        "sys.exit(main())"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, *args],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for(process: subprocess.Popen[bytes], text: bytes) -> bytes:
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


STOPPING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
FIT = (
    *("fit", "t.csv", "--target", "y", "-o", "m.bsm", "--strategy", "uniform-naive", "--quiet"),
    *("--learner", "stump", "--rounds", "6"),
)


@pytest.fixture
def in_round(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function that has `act` called in the middle of a round of uniform-naive; a table."""
    rows = [f"{at % 7},{at % 5},{at % 7 * (at % 5) > 4}" for at in range(60)]
    Path("t.csv").write_text("\n".join(["a,b,y", *rows]), "utf-8")
    choose = UniformNaive.choose

    def in_round(number: int, act: Callable[[], Any]) -> None:
        def choose_and_act(strategy: UniformNaive, step: Step) -> Any:
            if step.round == number:
                act()
            return choose(strategy, step)

        monkeypatch.setattr(UniformNaive, "choose", choose_and_act)

    return in_round


@pytest.mark.parametrize("number", STOPPING)
def test_a_signal_ends_a_fit_after_its_checkpoint_is_saved(
    number: int, in_round: Any, cli: CommandLine
) -> None:
    before = [signal.getsignal(number_of_signal) for number_of_signal in STOPPING]
    in_round(3, lambda: signal.raise_signal(number))
    cli(*FIT, "--checkpoint", "c", code=128 + number)
    last = cli.err.splitlines()[-2:]
    assert last[0].endswith("holds the rounds up to 3; the same run goes on from there")
    assert last[1] == f"boostsample: error: stopped by {signal.Signals(number).name}"
    assert [signal.getsignal(number_of_signal) for number_of_signal in STOPPING] == before
    in_round(0, lambda: None)
    assert "6 rounds" in cli(*FIT, "--checkpoint", "c")


@pytest.mark.parametrize(
    ("stop", "code", "said"),
    [
        (partial(signal.raise_signal, signal.SIGTERM), 143, "stopped by SIGTERM"),
        (partial(signal.default_int_handler, signal.SIGINT, None), 130, "stopped by Ctrl-C"),
    ],
)
def test_after_a_signal_the_same_command_trains_what_is_left(
    stop: Callable[[], None],
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    cli: CommandLine,
) -> None:
    def save_and_stop(store: FolderStore, task: CellTask, cell: Cell) -> None:
        save(store, task, cell)
        if len(list(Path("parts/cells").glob("*.npz"))) == 3:
            stop()

    save = FolderStore.save
    args = [*QUICK, "--quiet", "--results"]
    assert main([*args, "whole"]) == 0
    with monkeypatch.context() as patch:
        patch.setattr(FolderStore, "save", save_and_stop)
        assert cli.refused(*args, "parts", code=code) == said
    cells = {path: path.stat().st_mtime_ns for path in Path("parts/cells").iterdir()}
    assert [path.suffix for path in cells] == [".npz"] * 3
    assert main([*args, "parts"]) == 0
    assert content(Path("parts")) == content(Path("whole"))
    assert {path: path.stat().st_mtime_ns for path in cells} == cells


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")
def test_an_ignored_sighup_stays_ignored(in_round: Any) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        in_round(3, lambda: signal.raise_signal(signal.SIGHUP))
        assert main([*FIT, "--checkpoint", "c"]) == 0
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_model_that_cannot_be_written_is_saved_elsewhere(in_round: Any, cli: CommandLine) -> None:
    in_round(3, lambda: Path("m.bsm").write_text("of another process", "utf-8"))
    cli(*FIT, code=1)
    (line,) = errors(cli.err)
    assert "must be new, but" in line
    match = re.search(r"the trained model is saved as '(.*)' instead", line)
    assert match is not None, line
    assert len(BoostSampleClassifier.load(match[1]).model_) == 6


@pytest.fixture
def small_disk() -> Iterator[Path]:
    folder = Path("disk")
    folder.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mounted, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("this system has no mount")
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted: {done.stderr}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def _fill(folder: Path) -> None:
    with suppress(OSError), (folder / "fill").open("wb", buffering=0) as stream:
        while True:
            stream.write(bytes(512))


def test_a_disk_that_is_full_in_the_end_loses_no_model(
    small_disk: Path, in_round: Any, cli: CommandLine
) -> None:
    in_round(3, lambda: _fill(small_disk))
    cli(*FIT, "-o", str(small_disk / "m.bsm"), code=1)
    (line,) = errors(cli.err)
    assert "No space left on device; make room or name another file; the trained model" in line
    saved = Path(line.split("'")[-2])
    assert len(BoostSampleClassifier.load(saved).model_) == 6
    saved.unlink()
    assert [path.name for path in small_disk.iterdir()] == ["fill"]


def test_a_disk_that_is_full_is_found_before_any_work(
    small_disk: Path, in_round: Any, cli: CommandLine
) -> None:
    trained: list[bool] = []
    in_round(1, lambda: trained.append(True))
    _fill(small_disk)
    data = ("--data", "t.csv:label=y", "--strategy", "uniform-naive", "--rounds", "2")
    for args in (
        (*FIT, "-o", f"{small_disk}/m.bsm"),
        ("calibrate", *data, "--csv", f"{small_disk}/c.csv"),
    ):
        cli(*args, code=1)
        assert "No space left on device" in errors(cli.err)[0]
    assert not trained
    assert [path.name for path in small_disk.iterdir()] == ["fill"]


@pytest.mark.skipif(sys.platform == "win32", reason="files have no size limit there")
def test_a_model_without_room_anywhere_is_told(in_round: Any, cli: CommandLine) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    in_round(3, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1500, before[1])))
    try:
        cli(*FIT, code=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    (line,) = errors(cli.err)
    assert "File too large; make room or name another file; the trained model could not" in line
    assert [path.name for path in Path().iterdir()] == ["t.csv"]


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
SLOW = ("report", "list picture")  # commands that are run with two of the streams only


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


def error_lines(text: str) -> list[str]:
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
    (line,) = error_lines(err)
    assert line.startswith("boostsample: error: standard output cannot be used: it is closed; ")
    if name in SLOW:
        return
    with broken_pipe() as pipe:
        code, _, err = run(name, monkeypatch, stdout=pipe)
    assert (code, error_lines(err)) == (141, [])
    with full_disk() as full:
        code, _, err = run(name, monkeypatch, stdout=full)
        (line,) = error_lines(err)
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
    (line,) = error_lines(terminals["stderr"].getvalue())
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
