"""A run that is killed again and again gives what an undisturbed one gives, to the bit."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from boostsample.errors import DataError
from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.results.read_folder import read_results
from tests.experiments.kills import Commands, content, killed
from tests.experiments.recompute import recompute
from tests.experiments.small_runs import timeless

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGKILL and no fork")

COMMAND = [
    "compare",
    "--data",
    "chess(d=6,n=120)",
    "--strategies",
    "laminating,mas-naive,ucb:exploration=0.1|1:reward_scale=30,uniform-naive:n_features=2",
    "--tune",
    "--rounds",
    "5,60",
    "--repeats",
    "3",
]
N_CELLS = (3 + 2) * 3


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Commands, Path]]:
    """What runs the command, and the folder of an undisturbed run."""
    whole = tmp_path_factory.mktemp("undisturbed") / "whole"
    args = [*COMMAND, "--results", str(whole)]
    with Commands(whole.parent, args) as started:
        assert started.exit_code(args) == 0  # it begins when the first run has ended
        yield started, whole


def test_ten_kills_at_random_moments_change_no_bit(
    runs: tuple[Commands, Path], tmp_path: Path
) -> None:
    run, whole = runs[0].exit_code, runs[1]
    parts = tmp_path / "parts"
    args = [*COMMAND, "--results", str(parts)]
    rng = np.random.default_rng(7)
    rows_of_whole = timeless(read_results(whole))
    n_killed = n_partly = 0

    def n_cells() -> int:
        return len(list(parts.glob("cells/*.npz")))

    for more, kill_after in zip(rng.integers(0, 3, 10), rng.uniform(0.0, 0.1, 10), strict=True):
        wanted = n_cells() + more
        code = run(args, float(kill_after), partial(lambda least: n_cells() >= least, wanted))
        n_killed += code == -signal.SIGKILL
        with suppress(DataError):  # nothing is there yet
            results = read_results(parts)
            n_partly += bool(results.missing)
            assert all(row in rows_of_whole for row in timeless(results))
    assert run(args) == 0
    assert n_killed >= 2
    assert n_partly, "no kill came while some cells were there and others not"
    assert content(parts) == content(whole)
    assert len(content(whole)) == N_CELLS + 1
    assert json.loads((parts / "plan.json").read_bytes())["complete"]
    assert not list((parts / "cells").glob("*.claim"))


def test_two_processes_on_one_folder_of_which_one_is_killed(
    runs: tuple[Commands, Path], tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    args = [*COMMAND, "--results", str(shared)]
    n_killed: list[int] = []
    with Commands(tmp_path, [*COMMAND, "--results", str(tmp_path / "other")]) as others:
        other = threading.Thread(target=lambda: n_killed.append(killed(others, args, 2, 0.6, 0)))
        other.start()
        assert runs[0].exit_code(args) == 0
        other.join()
    assert len(n_killed) == 1
    assert content(shared) == content(runs[1])
    assert not list((shared / "cells").glob("*.claim"))


def test_a_share_of_the_cells_can_be_trained_again_and_compared(
    runs: tuple[Commands, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    chosen, same = recompute(runs[1], 0.2, [*COMMAND, "--results", "elsewhere", "--quiet"], 0)
    assert (len(chosen), same) == (3, True)
    path = runs[1] / "cells" / chosen[0]
    before = path.read_bytes()
    cell = Cell.from_bytes(before)
    cell.arrays["edge"][-1] = np.nextafter(cell.arrays["edge"][-1], 1.0)
    path.write_bytes(cell.to_bytes())
    assert recompute(runs[1], 0.2, [*COMMAND, "--quiet"], 0) == (chosen, False)
    path.write_bytes(before)
    assert capsys.readouterr().out
