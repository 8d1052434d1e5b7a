"""Rows of `compare` are those of its parts; nothing compiles in a timed round."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from boostsample.banks.bank import FeatureBank
from boostsample.errors import BudgetExceeded, SettingError, StrategyError
from boostsample.experiments import compare as exported
from boostsample.experiments.cells.cell_file import LOOKS, Cell
from boostsample.experiments.cells.store import Store
from boostsample.experiments.cells.tasks import CellTask, task_groups
from boostsample.experiments.cells.training import TrainingSplit, warm_up_training
from boostsample.experiments.common.progress import ProgressDisplay
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import Prepared, prepare
from boostsample.experiments.plan.variants import Variant, parse_names
from boostsample.experiments.results.read_folder import read_results
from boostsample.experiments.run import comparison
from boostsample.experiments.run.comparison import (
    Job,
    compare,
    compare_all,
    open_backend,
    seconds_left,
)
from boostsample.learners import Learner, Targets
from boostsample.registry import LEARNERS
from boostsample.step import Step
from boostsample.strategies import UCB, UniformNaive
from boostsample.strategy import Strategy, Stump
from tests.experiments import small_runs
from tests.experiments.conftest import CommandLine
from tests.experiments.small_runs import (
    check_row,
    easy,
    looks_of,
    run_by_hand,
    thirds,
    timeless,
    with_strategy,
)

THREE = parse_names("full,uniform-naive:n_features=2,laminating")
SMALL = Plan(strategies=THREE, marks=(2, 5, 12), repeats=2)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load_dataset("diagonal(d=6,n=120)", seed=3)


@pytest.fixture(scope="module")
def three_classes() -> Dataset:
    return thirds(150, 5, seed=11, n_train=100)


@pytest.mark.parametrize("weights", ["uniform", "balanced"])
def test_rows_are_those_of_the_loop_and_the_model(three_classes: Dataset, weights: str) -> None:
    data, variant = three_classes, THREE[1]
    plan = Plan(strategies=(variant,), marks=(1, 4, 9), repeats=2, seed=5, weights=weights)
    rows = compare(data, plan).rows
    assert len(rows) == 6
    run = run_by_hand(data, variant, 9, repetition=1, seed=5, weights=weights)
    for row, mark in zip(rows[3:], (1, 4, 9), strict=True):
        assert row["seconds"] > 0
        check_row(
            row,
            data,
            data.split(1, 5)[1],
            run,
            mark,
            strategy="uniform-naive",
            settings="n_features=2",
            weight_init=weights,
            repetition=1,
            stumps=mark,
            looks=looks_of(run[0][:mark]),
        )


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_do_not_change_a_bit(data: Dataset, n_jobs: int) -> None:
    alone = compare(data, SMALL)
    threaded = compare(data, Plan(strategies=THREE, marks=(2, 5, 12), repeats=2, n_jobs=n_jobs))
    assert timeless(threaded) == timeless(alone)
    assert len(alone.rows) == 3 * 2 * 3


def test_strategies_do_not_disturb_each_other(data: Dataset) -> None:
    together = compare(data, SMALL)
    alone = compare(data, Plan(strategies=THREE[2:], marks=(2, 5, 12), repeats=2))
    assert alone.rows
    assert all(row in timeless(together) for row in timeless(alone))


@pytest.mark.parametrize(("n_train", "n_banks"), [(None, 3), (90, 1)])
def test_repetitions_of_one_split_share_its_bank(
    data: Dataset, monkeypatch: pytest.MonkeyPatch, n_train: int | None, n_banks: int
) -> None:
    built = Mock(wraps=FeatureBank.build)
    monkeypatch.setattr(FeatureBank, "build", built)
    cut = Dataset(data.name, data.X, data.y, data.classes, data.columns, n_train)
    plan = Plan(strategies=parse_names("uniform-naive:n_features=1"), marks=(3,), repeats=3)
    losses = {row["log10_loss"] for row in compare(cut, plan).rows}
    assert built.call_count == n_banks
    assert len(losses) == 3


def test_training_that_ends_early_repeats_its_last_state_and_says_so() -> None:
    plan = Plan(strategies=parse_names("full"), marks=(1, 3, 7), repeats=2)
    comparison = compare(easy(), plan)
    for repetition in range(2):
        rows = [row for row in comparison.rows if row["repetition"] == repetition]
        assert [row.pop("stumps") for row in rows] == [1, 3, 7]
        assert rows[0] == rows[1] == rows[2]
        assert rows[0]["test_error"] == 0
    (note,) = comparison.settings["data_sets"][0]["notes"]
    assert "full: training ended early" in note
    assert "1 in repetition 0, 1 in repetition 1" in note
    assert "later rows repeat the last state" in note


def test_looks_add_up_and_history_is_kept_only_when_asked_for(data: Dataset) -> None:
    plain = compare(data, SMALL)
    assert plain.history == []
    comparison = compare(data, Plan(strategies=THREE, marks=(12,), repeats=2, history=True))
    assert len(comparison.history) == 3 * 2 * 12
    for one in comparison.runs:
        mine = [
            row
            for row in comparison.history
            if (row["strategy"], row["repetition"]) == (one.variant.name, one.repetition)
        ]
        assert [row["round"] for row in mine] == list(range(1, 13))
        assert one.total[:3] == tuple(sum(row[f"looks_{p}"] for row in mine) for p in LOOKS)
        row = [*one.table_rows((12,))][-1]
        assert row["looks"] == one.total.looks
        assert row["looks"] <= 12 * one.budget


def test_progress_comes_from_the_calling_thread_and_ends_complete(data: Dataset) -> None:
    told: list[tuple[str, int, int]] = []

    def progress(stage: str, done: int, total: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        assert 0 <= done <= total
        told.append((stage, done, total))

    compare(data, SMALL, progress)
    assert [stage for stage, _, _ in told if stage == "compiling"]
    assert ("features", 6, 6) in told
    assert told[-1] == ("boosting", 3 * 2 * 12, 3 * 2 * 12)


class Late(Strategy):
    """Fails, or dawdles, from a round on."""

    def __init__(self, error: Exception | None, at: int = 4) -> None:
        self.error = error
        self.at = at

    def choose(self, step: Step) -> Stump:
        if step.round >= self.at:
            if self.error is not None:
                raise self.error
            time.sleep(0.02)
        return step.search([0], step.draw(5)).best()


def test_a_fault_in_a_strategy_is_told_with_its_place(
    data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(threading.enumerate())
    with_strategy(monkeypatch, "late", lambda: Late(IndexError("out of\nbounds")))
    plan = Plan(strategies=(*THREE, Variant("late")), marks=(2000,), repeats=1, n_jobs=2)
    place = "'late' failed in round 4 of repetition 0: IndexError: out of bounds"
    with pytest.raises(StrategyError, match=place):
        compare(data, plan)
    assert set(threading.enumerate()) <= before


def test_a_broken_contract_keeps_its_error(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    with_strategy(monkeypatch, "late", lambda: Late(BudgetExceeded("too much"), 1))
    with pytest.raises(BudgetExceeded, match="too much"):
        compare(data, Plan(strategies=(Variant("late"),), marks=(5,)))


def test_an_interrupt_ends_all_runs_at_once(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(threading.enumerate())
    with_strategy(monkeypatch, "late", lambda: Late(None))
    monkeypatch.setattr(comparison, "_POLL", 0.01)

    def progress(stage: str, done: int, total: int) -> None:
        if stage == "boosting" and done > 10:
            raise KeyboardInterrupt

    plan = Plan(strategies=(Variant("late"),), marks=(100_000,), repeats=4, n_jobs=2)
    with pytest.raises(KeyboardInterrupt):  # 100,000 rounds would take more than half an hour
        compare(data, plan, progress)
    assert set(threading.enumerate()) <= before


# --------------------------------------------------------------------- names, instances and folders


ROUNDS: dict[str, Any] = {"rounds": [2, 5], "repeats": 2}


class Mine(Strategy):
    """Searches random features on all examples."""

    def __init__(self, n_features: int = 2) -> None:
        self.n_features = n_features

    def choose(self, step: Step) -> Stump:
        features = step.sample_features(self.n_features)
        return step.search(features, step.draw(step.n_examples)).best()


def test_the_folder_is_that_of_the_command(cli: CommandLine) -> None:
    assert exported is compare
    named = ["uniform-naive:n_features=3", "laminating"]
    args = ["--data", "chess(d=3,n=90)", "--strategies", ",".join(named), "--rounds", "2,5"]
    cli("compare", *args, "--repeats", "2", "--results", "a", "--quiet")
    instances = [UniformNaive(n_features=3), "laminating"]
    made = compare("chess(d=3,n=90)", strategies=instances, results="b", **ROUNDS)
    assert timeless(made) == timeless(read_results("a")) == timeless(read_results("b"))
    keys = [sorted(path.name for path in Path(f"{name}/cells").glob("*.npz")) for name in "ab"]
    assert keys[0] == keys[1]
    assert cli("table a") == cli("table b")
    cli("report b -o b.html")
    cli("compare --grid b/plan.json --results c --quiet")
    assert timeless(read_results("c")) == timeless(made)


def test_instances_of_own_classes_have_the_same_rows_in_processes() -> None:
    strategies = [Mine(), Mine(3), UCB(exploration=0.5)]
    one_process, processes = (
        compare("chess(d=3,n=90)", strategies=strategies, backend=backend, **ROUNDS)
        for backend in ("serial", "loky")
    )
    assert timeless(one_process) == timeless(processes)
    names = [(row["strategy"], row["settings"]) for row in one_process.rows[::4]]
    assert names == [("Mine", ""), ("Mine", "n_features=3"), ("ucb", "exploration=0.5")]


class Switched(UniformNaive):
    """Has a setting that takes 1 and True for different values."""

    def __init__(self, switch: object = None, n_features: int | None = None) -> None:
        super().__init__(n_features)
        self.switch = switch


def test_one_and_true_are_two_strategies_with_records_of_their_own_runs() -> None:
    made = compare("chess(d=3,n=90)", strategies=[Switched(1), Switched(True)], rounds=2)
    streams = [strategy["stream"] for strategy in made.settings["data_sets"][0]["strategies"]]
    assert [len(of_strategy) for of_strategy in streams] == [3, 3]
    assert not set(streams[0]) & set(streams[1])


def test_arrays_and_frames() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    results = [
        compare((features, labels), strategies=["laminating", Mine()], results=folder, **ROUNDS)
        for features, labels, folder in ((X, y, None), (pd.DataFrame(X), names, "new"))
    ]
    assert timeless(results[0]) == timeless(results[1])
    again = compare((X, names), strategies=["laminating", Mine()], **ROUNDS)
    assert timeless(again) == timeless(read_results("new"))
    assert results[0].to_frame("curves")["test_error"].min() < 20


def test_faults() -> None:
    with pytest.raises(SettingError, match="unknown setting of compare 'round'"):
        compare(round=3)
    with pytest.raises(SettingError, match="strategies must be names or instances of Strategy"):
        compare(strategies=[Mine])
    wrong: Any = np.arange(3)
    with pytest.raises(SettingError, match=r"got 'ucb' and 'ucb:exploration=2', which are equal"):
        compare(strategies=[UCB(exploration=2.0), UCB(exploration=2)])
    with pytest.raises(SettingError, match="settings of Mine must be None, bools, numbers"):
        compare(strategies=[Mine(wrong)])


def test_axes_and_limits_are_settings_in_python() -> None:
    results = compare(
        "chess",
        strategies="uniform-naive",
        budget=["1N", "2N"],
        max_looks=1e5,
        rounds=5,
        repeats=1,
    )
    assert results.at_marks["budget"].tolist() == ["1N", "2N"]


def test_a_plan_and_settings_are_refused_together() -> None:
    with pytest.raises(SettingError, match=r"a plan or settings, got both; leave out rounds"):
        compare("chess", Plan(), rounds=[5])


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
    next_round = "boostsample.loop.booster.Booster.next_round"
    monkeypatch.setattr(next_round, lambda _: pytest.fail("it trained"))
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
