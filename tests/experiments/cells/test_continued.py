"""A grid that grows by rounds continues its runs, also to a limit, to the bits of runs at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.experiments.cells.cell_file import Cell, read_cell_file
from boostsample.experiments.cells.store import FolderStore, Store
from boostsample.experiments.plan.prepared import Prepared
from boostsample.files.json_text import pack_state, unpack_state
from boostsample.loop.booster import Booster
from boostsample.records import Stump
from boostsample.step import Step
from tests.experiments import small_runs
from tests.experiments.small_runs import filled, timeless

FEW, MANY = (5,), (5, 8)
STRATEGIES = "uniform-naive:n_features=2,ucb,epsilon-greedy,mas-1q,mas-naive,laminating"


def prepared_for(marks: tuple[int, ...], strategies: str = STRATEGIES, **more: Any) -> Prepared:
    settings = {"marks": marks, "repeats": 1, "history": True, **more}
    return small_runs.prepared("chess(d=4,n=40)", strategies, **settings)


def cells_of(folder: Path) -> dict[str, Cell]:
    paths = (folder / "cells").glob("*.npz")
    return {path.name: read_cell_file(path, path.stem[-32:]) for path in paths}


def same_state(state: dict[str, Any] | None, other: dict[str, Any] | None) -> bool:
    if state is None or other is None:
        return state is other
    return pack_state(state) == pack_state(other)


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How often each round was trained; the first ones also by warm-ups."""
    trained: Counter[int] = Counter()
    next_round = Booster.next_round

    def counted(self: Booster) -> Any:
        done = next_round(self)
        trained[self.round] += 1
        return done

    monkeypatch.setattr(Booster, "next_round", counted)
    return trained


@pytest.mark.parametrize(
    ("strategies", "steps"),
    [(STRATEGIES, {}), ("ucb,full", {"learning_rate": 0.3, "smoothing": 0.01})],
)
def test_continued_runs_have_the_bits_of_whole_runs(
    tmp_path: Path, rounds: Counter[int], strategies: str, steps: dict[str, float]
) -> None:
    filled(prepared_for(FEW, strategies, **steps), FolderStore(tmp_path / "grown"))
    rounds.clear()
    grown = filled(prepared_for(MANY, strategies, **steps), FolderStore(tmp_path / "grown"))
    n_runs = len(strategies.split(","))
    assert [rounds[at] for at in range(3, 9)] == [0, 0, 0, n_runs, n_runs, n_runs]
    whole = filled(prepared_for(MANY, strategies, **steps), FolderStore(tmp_path / "whole"))
    assert timeless(grown) == timeless(whole)
    grown_cells, others = cells_of(tmp_path / "grown"), cells_of(tmp_path / "whole")
    assert grown_cells.keys() == others.keys()  # the shorter cells are gone
    for name, cell in grown_cells.items():
        other = others[name]
        assert cell.arrays.keys() == other.arrays.keys()
        for key in cell.arrays.keys() - {"microseconds"}:
            assert cell.arrays[key].dtype == other.arrays[key].dtype, key
            np.testing.assert_array_equal(cell.arrays[key], other.arrays[key], key)
        assert same_state(cell.state, other.state)


def test_what_is_there_is_never_trained_again(tmp_path: Path, rounds: Counter[int]) -> None:
    filled(prepared_for(MANY, "ucb"), FolderStore(tmp_path))
    rounds.clear()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    filled(prepared_for((2, 5, 8), "ucb,uniform-q1", repeats=2), FolderStore(tmp_path))
    assert rounds[8] == 1 + 2  # a repetition, and a strategy with two
    filled(prepared_for(MANY, "ucb"), FolderStore(tmp_path))
    assert rounds[8] == 1 + 2
    (path,) = before
    cell = read_cell_file(path, path.stem[-32:])
    assert {2, 5, 8} <= set(cell.errors)  # the first file was scored again, and kept its state
    assert cell.state is not None


def test_a_strategy_that_plans_its_rounds_is_trained_anew(
    tmp_path: Path, rounds: Counter[int], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "boostsample")
    filled(prepared_for(FEW, "exp3p"), FolderStore(tmp_path))
    rounds.clear()
    grown = filled(prepared_for(MANY, "exp3p"), FolderStore(tmp_path))
    assert rounds[5] == 1
    assert timeless(grown) == timeless(filled(prepared_for(MANY, "exp3p"), Store()))
    assert (
        "exp3p of chess(d=4,J=3,L=3,n=40): runs of 5 rounds are trained anew: the strategy depends "
        "on the number of rounds planned"
    ) in caplog.messages


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda cell: {"state": None}, "it was saved without the state of its booster"),
        (lambda cell: {"history": None}, "it was saved without history rows"),
        (
            lambda cell: {"state": {**cell.state, "weights": "00"}},
            "must be those of the saved state, but differ",
        ),
    ],
)
def test_cells_that_cannot_be_continued_are_trained_anew_only_for_more_rounds(
    tmp_path: Path,
    rounds: Counter[int],
    caplog: pytest.LogCaptureFixture,
    change: Any,
    why: str,
) -> None:
    caplog.set_level("INFO", "boostsample")
    filled(prepared_for(FEW, "laminating"), FolderStore(tmp_path))
    (path,) = (tmp_path / "cells").glob("*.npz")
    cell = read_cell_file(path, path.stem[-32:])
    path.write_bytes(replace(cell, **change(cell)).to_bytes())
    rounds.clear()
    filled(prepared_for(FEW, "laminating", history=False), FolderStore(tmp_path))
    assert not rounds
    assert not [text for text in caplog.messages if "anew" in text]
    grown = filled(prepared_for(MANY, "laminating"), FolderStore(tmp_path))
    assert rounds[5] == 1
    assert [text for text in caplog.messages if "are trained anew" in text and why in text]
    assert timeless(grown) == timeless(filled(prepared_for(MANY, "laminating"), Store()))


def test_a_run_that_ended_early_needs_no_more_rounds(
    tmp_path: Path, rounds: Counter[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("boostsample.rows.weights.EDGE_GAP", 0.9)
    filled(prepared_for(FEW, "full"), FolderStore(tmp_path))
    rounds.clear()
    grown = filled(prepared_for(MANY, "full"), FolderStore(tmp_path))
    assert set(rounds) <= {1}
    assert timeless(grown) == timeless(filled(prepared_for(MANY, "full"), Store()))


def test_a_strategy_that_reads_the_rounds_of_its_step_keeps_no_state() -> None:
    from boostsample.experiments.cells.training import PLANS_ROUNDS, saved_state
    from tests.problems import booster_of

    def choose(step: Step) -> Stump:
        features = np.arange(1 + step.n_rounds % 3)
        return step.search(features, step.draw(9)).best()

    booster = booster_of(choose)
    assert saved_state(booster, True)[0] is not None
    state, why = saved_state(booster, False)
    assert state is None
    assert why == "a learner of another distribution may have a state of its own"
    booster.next_round()
    assert saved_state(booster, True) == (None, PLANS_ROUNDS)


def test_a_state_is_unpacked_with_the_types_that_it_had() -> None:
    state: dict[str, Any] = {
        "array": np.array([[1.5, -0.0], [np.nan, np.inf]], np.float32),
        "scalars": [np.float64(0.1), np.int8(-3), np.bool_(True), True, None, 2**127, 0.1, "ü"],
        "nested": {"by": {3: (1, [2.5])}, "empty": {}},
    }
    unpacked = unpack_state(pack_state(state))
    assert repr(unpacked) == repr(state)
    for value in (
        {1, 2},
        np.str_(""),
        np.zeros(2, [("a", "i4"), ("b", "f8")]),
        np.ma.masked_array([1, 2], [False, True]),
        np.asfortranarray(np.zeros((2, 3))),
    ):
        with pytest.raises(TypeError, match=rf"a {type(value).__name__}\b.* cannot be saved"):
            pack_state({"seen": value})


def test_one_object_in_several_places_is_one_when_it_is_unpacked() -> None:
    counts, row = np.zeros(2), [1]
    unpacked = unpack_state(pack_state({"a": counts, "b": [counts, (row, {"c": row})], "d": [1]}))
    unpacked["a"][0] = 3.0
    unpacked["b"][1][0].append(2)
    assert repr(unpacked) == repr(
        {"a": np.array([3.0, 0.0]), "b": [np.array([3.0, 0.0]), ([1, 2], {"c": [1, 2]})], "d": [1]}
    )
    with pytest.raises(IndexError):
        unpack_state('{"dict": [["a", {"same": 3}]]}')


def test_a_strategy_that_counts_outside_of_its_state_is_trained_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "boostsample")
    source = """
from boostsample.strategies import Strategy

class Counts(Strategy):
    def start(self, pool, budget, n_rounds, rng):
        self.count = 0

    def choose(self, step):
        self.count += 1
        return step.search([self.count % step.n_features], step.draw(step.budget)).best()
"""
    (tmp_path / "own.py").write_text(source, "utf-8")
    own = f"{tmp_path / 'own.py'}:Counts"
    store = FolderStore(tmp_path / "folder")
    filled(prepared_for(FEW, own), store)
    grown = filled(prepared_for(MANY, own), store)
    assert [text for text in caplog.messages if "changed its attribute 'count'" in text]
    assert timeless(grown) == timeless(filled(prepared_for(MANY, own), Store()))


# ------------------------------------------------------------------------------------------- limits


LIMITED = "uniform-naive:n_features=2,mas-naive"


@pytest.mark.parametrize(("share", "trained"), [(0.4, 4), (0.7, 6), (2.0, 8)])
def test_a_limit_of_looks_gives_the_same_bits_straight_or_resumed(
    tmp_path: Path, share: float, trained: int
) -> None:
    """Eight rounds in all; the limit is reached before the grid has grown, after it, or never."""
    whole = filled(prepared_for(MANY, LIMITED), Store())
    cell = whole.runs[0].cell
    looks = int(share * (cell.looks("search") + cell.looks("modelling"))[-1])
    few, many = (prepared_for(marks, LIMITED, max_looks=looks) for marks in (FEW, MANY))
    filled(few, FolderStore(tmp_path))
    grown = filled(many, FolderStore(tmp_path))
    straight = filled(many, Store())
    assert timeless(grown) == timeless(straight)
    run = straight.runs[0]
    assert run.n_rounds == trained
    assert run.cell.about["stopped"] == ("" if share > 1 else f"max_looks={looks:,} is reached")
    np.testing.assert_array_equal(run.cell.arrays["edge"], cell.arrays["edge"][:trained])
    last = next(row for row in straight.rows if row["stumps"] == 8)
    assert last["looks"] == run.spent_at(trained).looks
    assert last["log10_loss"] == run.cell.loss_at[trained]


@pytest.mark.parametrize(("share", "trained"), [(0.4, 3), (0.7, 5), (0.01, 1), (1.0, 8)])
def test_a_run_ends_with_the_last_round_within_its_cost(
    tmp_path: Path, share: float, trained: int
) -> None:
    """The same bits straight or resumed; four of the eight rounds are trained first."""
    whole = filled(prepared_for(MANY, LIMITED, regret=1), Store())
    for run in whole.runs:
        limit = share * float(run.cell.cost[-1])
        within = max(1, int((run.cell.cost <= limit).sum()))
        label = run.variant.label
        few, many = (prepared_for(marks, label, max_cost=limit, regret=1) for marks in (FEW, MANY))
        filled(few, FolderStore(tmp_path))
        grown, straight = filled(many, FolderStore(tmp_path)), filled(many, Store())
        assert timeless(grown) == timeless(straight)
        (short,) = straight.runs
        assert short.n_rounds == within == trained
        assert short.cell.about["stopped"] == (
            "" if share == 1 else f"max_cost={limit:g} is reached"
        )
        assert short.cell.best_edges.keys() == set(range(1, within + 1))
        np.testing.assert_array_equal(short.cell.arrays["edge"], run.cell.arrays["edge"][:within])
        last = next(row for row in straight.curves if row["stumps"] == 8)
        assert last["cost"] == run.cell.cost[within - 1]
        assert last["log10_loss"] == run.cell.loss_at[within]


def test_a_cell_that_has_spent_its_seconds_is_not_trained_further(
    tmp_path: Path, rounds: Counter[int]
) -> None:
    filled(prepared_for(FEW, "full", max_seconds=1e-9), FolderStore(tmp_path))
    (before,) = cells_of(tmp_path).values()
    assert (before.n_rounds, before.about["stopped"]) == (1, "max_seconds=1e-09 is reached")
    rounds.clear()
    filled(prepared_for(MANY, "full", max_seconds=1e-9), FolderStore(tmp_path))
    (after,) = cells_of(tmp_path).values()
    assert not rounds
    assert after.n_rounds == 1
    assert after.about["stopped"] == "max_seconds=1e-09 is reached"


def test_seconds_of_the_rounds_before_count(tmp_path: Path) -> None:
    """Five rounds of 1.3 seconds each, trained by another process."""
    store = Store()
    few, many = (prepared_for(marks, "full", max_seconds=6) for marks in (FEW, MANY))
    filled(few, store)
    ((name, cell),) = store._cells.items()
    seconds = [{**row, "seconds": 1.3} for row in cell.history or ()]
    store._cells[name] = replace(cell, history=seconds)
    (run,) = filled(many, store).runs
    assert (run.n_rounds, run.cell.about["stopped"]) == (5, "max_seconds=6 is reached")
