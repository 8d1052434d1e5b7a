"""Signals end a command with one line; models survive disks that are full and folders that go."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from boostsample import BoostSampleClassifier, Step
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.store import FolderStore
from boostsample.experiments.cells.tasks import CellTask
from boostsample.experiments.commands.cli import main
from boostsample.strategies import UniformNaive
from tests.experiments.commands.test_cli_endings import QUICK, errors


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BOOSTSAMPLE_DEBUG", raising=False)


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
    number: int, in_round: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    before = [signal.getsignal(number_of_signal) for number_of_signal in STOPPING]
    in_round(3, lambda: signal.raise_signal(number))
    assert main([*FIT, "--checkpoint", "c"]) == 128 + number
    last = capsys.readouterr().err.splitlines()[-2:]
    assert last[0].endswith("holds the rounds up to 3; the same run goes on from there")
    assert last[1] == f"boostsample: error: stopped by {signal.Signals(number).name}"
    assert [signal.getsignal(number_of_signal) for number_of_signal in STOPPING] == before
    in_round(0, lambda: None)
    assert main([*FIT, "--checkpoint", "c"]) == 0
    assert "6 rounds" in capsys.readouterr().out


def test_a_signal_ends_compare_and_the_same_command_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def save_and_signal(store: FolderStore, task: CellTask, cell: Cell) -> None:
        save(store, task, cell)
        signal.raise_signal(signal.SIGTERM)

    save = FolderStore.save
    args = [*QUICK, "--strategies", "uniform-naive", "--results", "r", "--quiet"]
    with monkeypatch.context() as patch:
        patch.setattr(FolderStore, "save", save_and_signal)
        assert main(args) == 143
    line = "boostsample: error: stopped by SIGTERM"
    assert capsys.readouterr().err.splitlines() == [line]
    assert [path.suffix for path in Path("r/cells").iterdir()] == [".npz"]
    assert main(args) == 0


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")
def test_an_ignored_sighup_stays_ignored(in_round: Any) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        in_round(3, lambda: signal.raise_signal(signal.SIGHUP))
        assert main([*FIT, "--checkpoint", "c"]) == 0
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def _another_file() -> None:
    Path("m.bsm").write_text("of another process", "utf-8")


def _in_a_lost_folder() -> None:
    shutil.rmtree("sub")


@pytest.mark.parametrize(
    ("act", "file", "fault"),
    [
        (_another_file, "m.bsm", "must be new, but"),
        (_in_a_lost_folder, "sub/m.bsm", "No such file or directory"),
    ],
)
def test_a_model_that_cannot_be_written_is_saved_elsewhere(
    act: Any, file: str, fault: str, in_round: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("sub").mkdir()
    in_round(3, act)
    assert main([*FIT, "-o", file]) == 1
    (line,) = errors(capsys.readouterr().err)
    assert fault in line
    match = re.search(r"the trained model is saved as '(.*)' instead", line)
    assert match is not None, line
    saved = Path(match[1])
    assert len(BoostSampleClassifier.load(saved).model_) == 6
    saved.unlink()


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A folder on a disk of 16 KiB."""
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
    small_disk: Path, in_round: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    in_round(3, lambda: _fill(small_disk))
    assert main([*FIT, "-o", str(small_disk / "m.bsm")]) == 1
    (line,) = errors(capsys.readouterr().err)
    assert "No space left on device; make room or name another file; the trained model" in line
    saved = Path(line.split("'")[-2])
    assert len(BoostSampleClassifier.load(saved).model_) == 6
    saved.unlink()
    assert [path.name for path in small_disk.iterdir()] == ["fill"]


def test_a_disk_that_is_full_is_found_before_any_work(
    small_disk: Path, in_round: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    trained: list[bool] = []
    in_round(1, lambda: trained.append(True))
    _fill(small_disk)
    data = ("--data", "t.csv:label=y", "--strategy", "uniform-naive", "--rounds", "2")
    for args in (
        (*FIT, "-o", f"{small_disk}/m.bsm"),
        ("calibrate", *data, "--csv", f"{small_disk}/c.csv"),
    ):
        assert main(list(args)) == 1
        assert "No space left on device" in errors(capsys.readouterr().err)[0]
    assert not trained
    assert [path.name for path in small_disk.iterdir()] == ["fill"]


@pytest.mark.skipif(sys.platform == "win32", reason="files have no size limit there")
def test_a_model_without_room_anywhere_is_told(
    in_round: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    in_round(3, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1500, before[1])))
    try:
        assert main(list(FIT)) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    (line,) = errors(capsys.readouterr().err)
    assert "File too large; make room or name another file; the trained model could not" in line
    assert [path.name for path in Path().iterdir()] == ["t.csv"]
