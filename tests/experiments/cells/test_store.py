"""Cells in a folder survive damage, full disks, kills, and each other's company."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from boostsample.errors import DataError
from boostsample.experiments.cells import store as claims_module
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.store import Claims, FolderStore, Store
from boostsample.experiments.cells.tasks import CellTask, task_groups
from boostsample.experiments.plan.prepared import Prepared
from boostsample.experiments.run.comparison import Schedule
from tests.experiments import small_runs
from tests.experiments.small_runs import filled, timeless


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    names = "uniform-naive:n_features=2,laminating"
    return small_runs.prepared("chess(d=4,n=80)", names, marks=(2, 6), repeats=2)


@pytest.fixture(scope="module")
def undisturbed(prepared: Prepared) -> list[dict[str, str]]:
    return timeless(filled(prepared, Store()))


def tasks_of(prepared: Prepared) -> list[CellTask]:
    return [task for group in task_groups(prepared) for task in group]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "cells").iterdir())


def count_training(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keys of the cells that are trained from now on."""
    trained: list[str] = []
    submit = Schedule._submit

    def watched(self: Schedule, job: Any) -> None:
        if job.known is None:  # else it is only scored anew
            trained.append(job.task.key)
        submit(self, job)

    monkeypatch.setattr(Schedule, "_submit", watched)
    return trained


def test_a_folder_gives_the_rows_of_memory(
    prepared: Prepared, undisturbed: list[dict[str, str]], tmp_path: Path
) -> None:
    assert timeless(filled(prepared, FolderStore(tmp_path))) == undisturbed
    assert files(tmp_path) == sorted(task.file_name for task in tasks_of(prepared))


def test_only_what_is_missing_is_trained(
    prepared: Prepared,
    undisturbed: list[dict[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    filled(prepared, FolderStore(tmp_path))
    gone = tasks_of(prepared)[2]
    (tmp_path / "cells" / gone.file_name).unlink()
    trained = count_training(monkeypatch)
    assert timeless(filled(prepared, FolderStore(tmp_path))) == undisturbed
    assert trained == [gone.key]


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[::97] = bytes(byte ^ 0xFF for byte in content[::97])
    path.write_bytes(content)


def swap(path: Path) -> None:
    other = next(file for file in sorted(path.parent.glob("*.npz")) if file != path)
    path.write_bytes(other.read_bytes())


def renumber(path: Path) -> None:
    cell = Cell.from_bytes(path.read_bytes())
    about = {**cell.about, "numerics": -5}
    path.write_bytes(Cell(cell.facts, about, cell.arrays).to_bytes())


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (half, "damaged or half-written"),
        (flip, "it is damaged|checksum does not fit"),
        (swap, "it is another cell under this name"),
        (renumber, "computed with numerics -5, now they are"),
    ],
)
def test_a_cell_that_cannot_be_used_is_set_aside_and_computed_again(
    prepared: Prepared,
    undisturbed: list[dict[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    damage: Any,
    why: str,
) -> None:
    filled(prepared, FolderStore(tmp_path))
    task = tasks_of(prepared)[1]
    path = tmp_path / "cells" / task.file_name
    damage(path)
    bad = path.read_bytes()
    trained = count_training(monkeypatch)
    assert timeless(filled(prepared, FolderStore(tmp_path))) == undisturbed
    assert trained == [task.key]
    (aside,) = (tmp_path / "cells" / "aside").iterdir()
    assert aside.read_bytes() == bad
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert task.file_name in record.getMessage()
    assert "set aside as cells/aside/" in record.getMessage()
    caplog.clear()
    assert any(part in str(record.args) for part in why.split("|"))


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_stops_the_run_and_costs_only_the_cell_in_work(
    prepared: Prepared,
    undisturbed: list[dict[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
) -> None:
    original = getattr(os, call)
    store = FolderStore(tmp_path)

    def sometimes(*arguments: Any) -> Any:
        if len(files(tmp_path)) > 3:  # two cells, a claim, a temporary file
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, sometimes)
        with pytest.raises(DataError, match=r"cell chess.* No space left .* the same --results"):
            filled(prepared, store)
    assert len(files(tmp_path)) == 2
    assert all(name.endswith(".npz") for name in files(tmp_path))
    trained = count_training(monkeypatch)
    assert timeless(filled(prepared, FolderStore(tmp_path))) == undisturbed
    assert len(trained) == 2


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DataError, match=r"cells cannot be kept in .*; name another folder"):
        FolderStore(tmp_path / "file")


def test_what_killed_processes_left_is_swept_away_later(tmp_path: Path) -> None:
    FolderStore(tmp_path)
    for name, age in ((".x.npz.1.tmp", 7200), (".y.npz.2.tmp", 10)):
        path = tmp_path / "cells" / name
        path.write_bytes(b"half")
        then = time.time() - age
        os.utime(path, (then, then))
    FolderStore(tmp_path)
    assert files(tmp_path) == [".y.npz.2.tmp"]


def test_shards_together_are_the_whole(
    prepared: Prepared, undisturbed: list[dict[str, str]], tmp_path: Path
) -> None:
    ends = [filled(prepared, FolderStore(tmp_path), shard=(index, 3)) for index in (3, 1, 2)]
    assert ends[0] is ends[1] is None
    assert timeless(ends[2]) == undisturbed


def test_a_claim_keeps_others_off_and_is_given_back(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    assert claims.take("a")
    assert claims.take("a")
    content = json.loads((tmp_path / "a.claim").read_bytes())
    assert content["process"] == os.getpid()
    claims.release("a")
    assert list(tmp_path.iterdir()) == []
    claims.release("a")


@pytest.fixture
def living() -> Any:
    """Another process that does nothing."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def foreign_claim(folder: Path, process: int, place: str | None = None) -> Path:
    path = folder / "a.claim"
    content = {"place": place or claims_module._place(), "process": process, "id": "x"}
    path.write_text(json.dumps(content))
    return path


def test_a_claim_is_respected_while_its_process_lives(tmp_path: Path, living: Any) -> None:
    path = foreign_claim(tmp_path, living.pid)
    assert not Claims(tmp_path).take("a")
    living.kill()
    living.wait()
    assert Claims(tmp_path).take("a")
    assert json.loads(path.read_bytes())["process"] == os.getpid()


def test_claims_of_the_dead_are_removed_when_all_is_done(tmp_path: Path, living: Any) -> None:
    claims = Claims(tmp_path)
    claims.take("mine")
    path = foreign_claim(tmp_path, living.pid)
    other = foreign_claim(tmp_path, 1, "another machine").rename(tmp_path / "b.claim")
    foreign_claim(tmp_path, living.pid)
    claims.close()
    assert sorted(tmp_path.iterdir()) == [path, other]
    living.kill()
    living.wait()
    claims.close()
    assert sorted(tmp_path.iterdir()) == [other]  # it cannot be told whether its owner lives


@pytest.mark.parametrize("content", [None, b"garbage"])
def test_a_claim_of_another_machine_is_taken_over_when_nobody_touches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    path = foreign_claim(tmp_path, 1, "another machine")
    if content is not None:
        path.write_bytes(content)
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    claims = Claims(tmp_path)
    assert not claims.take("a")
    now[0] = 50
    assert not claims.take("a")
    os.utime(path, (1, 1))  # by whatever clock: it is alive
    assert not claims.take("a")
    now[0] = 100
    assert not claims.take("a")
    now[0] = 111
    assert claims.take("a")


def test_the_owner_touches_its_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    claims = Claims(tmp_path)
    claims.take("a")
    os.utime(tmp_path / "a.claim", (1, 1))
    claims.beat()
    assert (tmp_path / "a.claim").stat().st_mtime == 1
    now[0] = 6
    claims.beat()
    assert (tmp_path / "a.claim").stat().st_mtime > 1


def test_a_claim_that_was_taken_over_is_not_taken_back(tmp_path: Path) -> None:
    claims = Claims(tmp_path)
    claims.take("a")
    path = foreign_claim(tmp_path, 1, "another machine")
    claims.release("a")
    assert path.exists()


def test_cells_of_another_process_are_waited_for(
    prepared: Prepared,
    undisturbed: list[dict[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    living: Any,
) -> None:
    first = Store()
    filled(prepared, first)
    task = tasks_of(prepared)[0]
    theirs = FolderStore(tmp_path)
    cell = first.find(task.file_name)
    assert cell is not None
    claim = foreign_claim(tmp_path, living.pid).rename(
        tmp_path / "cells" / f"{task.file_name}.claim"
    )
    trained = count_training(monkeypatch)
    monkeypatch.setattr("boostsample.experiments.run.comparison._CHECK_AGAIN", 0.05)

    def progress(stage: str, done: int, total: int) -> None:
        if stage == "boosting" and len(list((tmp_path / "cells").glob("*.npz"))) == 3:
            theirs.save(task, cell)
            claim.unlink()

    results = filled(prepared, FolderStore(tmp_path), progress=progress)
    assert timeless(results) == undisturbed
    assert task.key not in trained
    assert len(trained) == 3
