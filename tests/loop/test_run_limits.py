"""Limits of looks, cost and seconds: counted round by round, checked between rounds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample import FeatureBank, SettingError, boost
from boostsample.families import Columns
from boostsample.labels import encode
from boostsample.loop.budgets import RunLimits
from boostsample.records import Round
from tests.problems import table


def made(*rows: tuple[int, int, float]) -> Round:
    """A round of searches with these looks of search and modelling, and seconds."""
    names = "looks_search", "looks_modelling", "seconds"
    finish = {"looks_finish": 10**9}
    return Round([], [{**dict(zip(names, row, strict=True)), **finish} for row in rows], 0.5)


NO_LOOKS = {"looks_search": 0, "looks_modelling": 0, "seconds": 0.0}


def clock(times: Iterable[float]) -> Callable[[], float]:
    return iter(times).__next__


def test_looks_of_all_searches_count() -> None:
    limits = RunLimits(max_looks=100)
    assert limits.reached == ""
    limits.count(made((40, 0, 1.0), (20, 39, 1.0)))
    assert limits.reached == ""
    limits.count(made((1, 0, 0.0)))
    assert limits.reached == "max_looks=100 is reached"


def test_seconds_are_those_of_rounds_or_of_a_clock() -> None:
    of_rounds = RunLimits(max_seconds=3)
    for seconds, reached in ((1.0, ""), (1.5, ""), (0.5, "max_seconds=3 is reached")):
        of_rounds.count(made((1, 0, seconds / 2), (1, 0, seconds / 2)))
        assert of_rounds.reached == reached
    by_clock = RunLimits(max_seconds=3, clock=clock([100.0, 102.9, 103.0]))
    by_clock.count(made((1, 0, 99.0)))
    assert by_clock.reached == ""
    assert by_clock.reached == "max_seconds=3 is reached"
    resumed = RunLimits(max_seconds=3, clock=clock([100.0, 100.9, 101.0]))
    resumed.resume([made((1, 0, 2.0))])  # of another process: the clock has not run
    assert resumed.reached == ""
    assert resumed.reached == "max_seconds=3 is reached"


def test_seconds_of_rounds_are_counted_as_cells_store_them() -> None:
    limits = RunLimits(max_seconds=10e-6)
    for _ in range(9):
        limits.count(made((1, 0, 1.4e-6)))  # stored as one microsecond
    assert limits.reached == ""
    limits.count(made((1, 0, 1.4e-6)))
    assert limits.reached == "max_seconds=1e-05 is reached"


def test_cost_is_that_of_the_rounds_in_whole_nanoseconds() -> None:
    """The limit is nominal seconds, the rows have microseconds."""
    done = [Round([], [{"cost": 100.0, **NO_LOOKS}, {"cost": 49.9999, **NO_LOOKS}], 0.5)] * 4
    limits, states = RunLimits(max_cost=450e-6), []
    for of_round in done:
        limits.count(of_round)
        states.append((limits.reached, limits.passed))
    text = "max_cost=0.00045 is reached"
    assert states == [("", False), ("", False), (text, False), (text, True)]
    first = RunLimits(max_cost=1e-9)
    first.count(done[0])
    assert (first.reached, first.passed) == ("max_cost=1e-09 is reached", False)


def test_a_round_is_always_trained() -> None:
    limits = RunLimits(max_seconds=1e-9, max_looks=1, clock=clock(itertools.count()))
    assert limits.reached == ""
    limits.count(made((1, 0, 0.0)))
    assert limits.reached == "max_looks=1 is reached"


def test_a_run_beyond_the_limit_is_refused() -> None:
    rounds = [made((10, 0, 1.0))] * 4
    RunLimits(max_looks=31).resume(rounds)
    RunLimits(max_looks=5).resume(rounds, turn=4)
    with pytest.raises(SettingError, match="first 3 of the 4 rounds that are trained already, 30,"):
        RunLimits(max_looks=30).resume(rounds)
    with pytest.raises(SettingError, match="looks of the first 2 of the 4 rounds"):
        RunLimits(max_looks=5).resume(rounds, turn=2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_looks": 0}, "max_looks must be an integer at least 1, got 0; None is no limit"),
        ({"max_looks": 1e6}, "max_looks must be an integer at least 1, got 1000000.0"),
        ({"max_looks": True}, "max_looks must be an integer at least 1, got True"),
        ({"max_seconds": 0}, "max_seconds must be above 0 and finite, got 0; None is no limit"),
        ({"max_cost": 0}, "max_cost must be above 0 and finite, got 0; None is no limit"),
        ({"max_seconds": np.inf}, "max_seconds must be above 0 and finite, got inf"),
        ({"max_seconds": "long"}, "max_seconds must be a number, got 'long'; None is no limit"),
    ],
)
def test_wrong_limits(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        RunLimits(**settings)


def test_boost_ends_at_a_limit_and_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    bank = FeatureBank.build([Columns(range(4))], table(70, 4))
    Y = encode(np.random.default_rng(0).integers(0, 3, 70))

    def run(**settings: Any) -> list[Round]:
        return list(boost(bank, None, Y, "ucb", n_rounds=9, rng=0, budget=140, **settings))

    def bits(rounds: list[Round]) -> str:
        return repr([{**row, "seconds": 0.0} for done in rounds for row in done.rows])

    whole = run()
    spent = np.cumsum([done.rows[0]["looks_search"] for done in whole])
    some = run(max_looks=int(spent[3]), checkpoint=tmp_path / "run")
    assert bits(some) == bits(whole[:4])
    more = run(max_looks=int(spent[3]) + 1, checkpoint=tmp_path / "run")
    assert bits(more) == bits(whole[:5])
    assert bits(run(checkpoint=tmp_path / "run")) == bits(whole)
    assert len(run(max_seconds=1e-9)) == 1
