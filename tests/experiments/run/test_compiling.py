"""Nothing compiles in a timed round; progress and the remaining time are shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from boostsample.experiments.cells.cell_file import Cell
from boostsample.experiments.cells.store import Store
from boostsample.experiments.cells.tasks import CellTask, task_groups
from boostsample.experiments.cells.training import TrainingSplit, warm_up_training
from boostsample.experiments.common.progress import ProgressDisplay
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import Prepared, prepare
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.run.comparison import Job, compare_all, open_backend, seconds_left
from boostsample.learners import Learner, Targets
from boostsample.registry import LEARNERS
from boostsample.step import Step
from boostsample.strategy import Strategy, Stump
from tests.experiments import small_runs
from tests.experiments.small_runs import thirds, with_strategy


def prepared_for(strategies: str = "laminating", name: str = "thirds", **plan: Any) -> Prepared:
    settings: dict[str, Any] = {"marks": (5,), "repeats": 2, **plan}
    return small_runs.prepared(replace(thirds(), name=name), strategies, **settings)


def first_task(prepared: Prepared) -> CellTask:
    return task_groups(prepared)[0][0]


class Foreign(Strategy):
    """Searches one feature; counts its rounds."""

    rounds = 0

    def choose(self, step: Step) -> Stump:
        type(self).rounds += 1
        return step.search([0], step.draw(5)).best()


class ForeignLearner(Learner):
    """A stump; counts its rounds."""

    name = "foreign"
    rounds = 0

    def learn(self, targets: Targets) -> list[Targets]:
        type(self).rounds += 1
        return [targets.times(targets.search())]


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    with_strategy(monkeypatch, "foreign", Foreign)
    monkeypatch.setitem(LEARNERS, "foreign", f"{__name__}:ForeignLearner")
    monkeypatch.setattr(Foreign, "rounds", 0)
    monkeypatch.setattr(ForeignLearner, "rounds", 0)


@pytest.mark.usefixtures("foreign")
def test_foreign_strategies_and_learners_train_two_rounds_before_the_clock() -> None:
    prepared = prepared_for(strategies="full", learner="foreign")
    warm_up_training(TrainingSplit(prepared, 0), first_task(prepared))
    assert ForeignLearner.rounds == 2
    plan = Plan(strategies=(Variant("foreign"),), marks=(5,), repeats=1)
    prepared = prepare(prepared.data, plan)
    warm_up_training(TrainingSplit(prepared, 0), first_task(prepared))
    assert Foreign.rounds == 2


@pytest.mark.usefixtures("foreign")
def test_strategies_of_this_distribution_discard_no_round(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = prepared_for()

    def never(self: object) -> None:
        raise AssertionError

    monkeypatch.setattr("boostsample.loop.booster.Booster.next_round", never)
    warm_up_training(TrainingSplit(prepared, 0), first_task(prepared))


@pytest.mark.usefixtures("foreign")
def test_each_data_set_and_plan_is_warmed_up_once() -> None:
    plan = Plan(strategies=(Variant("foreign"),), marks=(5,), repeats=3)
    several = [prepare(prepared_for(name=name).data, plan) for name in ("one", "two")]
    several.append(prepare(several[0].data, Plan(plan.strategies, marks=(5,), budget=50)))
    with open_backend("threading", 1) as backend:
        compare_all(several, Store(), backend)
    assert Foreign.rounds == sum(2 + 5 * one.plan.repeats for one in several)


@pytest.fixture
def jobs() -> list[Job]:
    """Two of laminating, two of full, 100 rounds each."""
    names = "laminating,full"
    prepared = small_runs.prepared("chess(d=3,n=60)", names, marks=(100,), repeats=2)
    return [Job(task) for group in task_groups(prepared) for task in group]


def cell(wall: float, n_rounds: int = 100) -> Cell:
    return Cell({}, {"wall": wall, "n_rounds": n_rounds}, {})


def test_seconds_are_known_by_strategy_and_guessed_for_others(jobs: list[Job]) -> None:
    assert seconds_left(jobs, 1) is None
    jobs[0].finish(cell(10.0))
    assert seconds_left(jobs, 1) == pytest.approx(30.0)
    jobs[2].finish(cell(2.0))
    assert seconds_left(jobs, 1) == pytest.approx(10.0 + 2.0)
    assert seconds_left(jobs, 8) == pytest.approx(10.0), "one cell is not shared out"
    jobs[1].finish(cell(14.0, 50))  # it ended early
    jobs[3].finish(cell(2.0))
    assert seconds_left(jobs, 1) == 0.0


def test_running_cells_count_by_their_rounds(jobs: list[Job]) -> None:
    assert seconds_left(jobs[:1], 1) is None
    jobs[0].watch.rounds, jobs[0].watch.seconds = 25, 5.0
    assert seconds_left(jobs[:1], 1) == pytest.approx(15.0)


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
