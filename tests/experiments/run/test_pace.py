"""The remaining time follows from what cells took, and is shown."""

from __future__ import annotations

import pytest

from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.tasks import CellTask, task_groups
from boostsample.experiments.cells.training import TrainingWatch
from boostsample.experiments.common.progress import ProgressDisplay
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import prepare
from boostsample.experiments.plan.variants import parse_names
from boostsample.experiments.run.schedule import Pace


@pytest.fixture(scope="module")
def tasks() -> list[CellTask]:
    """Two of laminating, two of full, 100 rounds each."""
    plan = Plan(strategies=parse_names("laminating,full"), marks=(100,), repeats=2)
    prepared = prepare(load_dataset("chess(d=3,n=60)"), plan)
    return [task for group in task_groups(prepared) for task in group]


def cell(wall: float, n_rounds: int = 100) -> Cell:
    return Cell({}, {"wall": wall, "n_rounds": n_rounds}, {})


def test_seconds_are_known_by_strategy_and_guessed_for_others(tasks: list[CellTask]) -> None:
    pace = Pace()
    for task in tasks:
        pace.expect(task)
    assert (pace.rounds(), pace.seconds_left(1)) == ((0, 400), None)
    pace.finished(tasks[0], cell(10.0))
    assert pace.rounds() == (100, 400)
    assert pace.seconds_left(1) == pytest.approx(30.0)
    pace.finished(tasks[2], cell(2.0))
    assert pace.seconds_left(1) == pytest.approx(10.0 + 2.0)
    assert pace.seconds_left(8) == pytest.approx(10.0), "one cell is not shared out"
    pace.finished(tasks[1], cell(14.0, 50))  # it ended early
    assert pace.rounds() == (300, 400)
    pace.finished(tasks[3], cell(2.0))
    pace.finished(tasks[3], cell(2.0))
    assert (pace.rounds(), pace.seconds_left(1)) == ((400, 400), 0.0)


def test_running_cells_count_by_their_rounds(tasks: list[CellTask]) -> None:
    pace, watch = Pace(), TrainingWatch()
    pace.expect(tasks[0])
    pace.begun(tasks[0], watch)
    assert pace.seconds_left(1) is None
    watch.rounds, watch.seconds = 25, 5.0
    assert pace.rounds() == (25, 100)
    assert pace.seconds_left(1) == pytest.approx(15.0)
    pace.failed(tasks[0])
    assert pace.rounds() == (0, 100)


def test_the_remaining_time_is_shown_with_its_stage(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay(quiet=False) as display:
        display("boosting", 1, 10)
        display.left(100.0)
        display._shown = -1e9
        display("boosting", 5, 10)
        display("boosting", 6, 10)
        display("boosting", 10, 10)
        display("boosting", 10, 10)
        display("features", 0, 3)
        display("features", 3, 3)
    assert capsys.readouterr().err.splitlines() == [
        "boostsample: boosting: 1 of 10 (10 %)",
        "boostsample: boosting: 5 of 10 (50 %), about 1 min 40 s left",
        "boostsample: boosting: 10 of 10 (100 %)",
        "boostsample: features: 0 of 3 (0 %)",
        "boostsample: features: 3 of 3 (100 %)",
    ]
