"""Learners by name, those that do what learners may not, and what is at the border of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.errors import SettingError, StrategyError
from boostsample.learner import EDGE_GAP, Found, LeafLimits, Learner, Targets
from boostsample.learners import LEARNERS, Stump, alpha_of, make_learner
from boostsample.loop.booster import Booster
from boostsample.models.model import TermArrays
from boostsample.records import Round
from tests.problems import bank_of, noisy_labels, table


class Does(Learner):
    """A learner whose `learn` is a function of itself and the targets; it may keep things."""

    name = "does"

    def __init__(self, function: Callable[[Any, Targets], list[Targets]]) -> None:
        self.function = function
        self.earlier: list[Any] = []

    def learn(self, targets: Targets) -> list[Targets]:
        return self.function(self, targets)


def booster(learner: Any, X: NDArray[Any] | None = None, **settings: Any) -> Booster:
    X = table(60, 4) if X is None else X
    Y = settings.pop("Y", noisy_labels(len(X)))
    return Booster(bank_of(X), None, Y, "full", learner, rng=0, **settings)


def edge_of(done: Round, X: NDArray[Any], Y: NDArray[Any]) -> float:
    """Edge in the first round, with uniform weights."""
    sides = np.array([X[:, term.feature] >= term.value for term in done.terms])
    return float((Y * TermArrays(done.terms, Y.shape[1]).outputs(sides)).mean())


def old_targets(learner: Any, targets: Targets) -> list[Targets]:
    learner.earlier.append(targets)
    learner.earlier[0].search()
    return [targets.times(targets.search())]


def old_half(learner: Any, targets: Targets) -> list[Targets]:
    halves = targets.split(targets.search())
    learner.earlier.append(halves[1])
    learner.earlier[0].search()
    return list(halves)


def old_leaves(learner: Any, targets: Targets) -> list[Targets]:
    learner.earlier.append(list(targets.split(targets.search())))
    leaves: list[Targets] = learner.earlier[0]
    return leaves


def old_stump(learner: Any, targets: Targets) -> list[Targets]:
    learner.earlier.append(targets.search())
    return [targets.times(learner.earlier[0])]


@pytest.mark.parametrize("function", [old_targets, old_half, old_leaves, old_stump])
def test_what_is_left_of_an_earlier_round_is_an_error(function: Any) -> None:
    run = booster(Does(function))
    run.next_round()
    with pytest.raises(StrategyError, match=r"of this round, got .* of an earlier one"):
        run.next_round()
    assert run.round == 1


def split_twice(targets: Targets, stump: Found) -> list[Targets]:
    targets.split(stump)
    return list(targets.split(stump))


def split_after_times(targets: Targets, stump: Found) -> list[Targets]:
    targets.times(stump).split(targets.search())
    return list(targets.split(stump))


def leaf_and_its_halves(targets: Targets, stump: Found) -> list[Targets]:
    """One half has no examples: they tile the examples, but are not one tree."""
    low, high = targets.split(stump)
    empty, full = (low, high) if low.n_examples == 0 else (high, low)
    return [full, *empty.split(stump), empty]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda targets, stump: [], "must return a list of .* got an empty list in round"),
        (lambda targets, stump: None, "must return a list of .* got None in round"),
        (lambda targets, stump: [3], r"must return a list of .* got \[3\] in round"),
        (lambda targets, stump: [targets.split(stump)[0]], "each example once"),
        (lambda targets, stump: [targets], "the leaves of one tree"),
        (split_twice, "can be split once"),
        (split_after_times, "can be split once"),
        (leaf_and_its_halves, "the leaves of one tree"),
        (lambda targets, stump: [*targets.split(stump), targets], "each example once"),
        (lambda targets, stump: [targets.split(stump)[0]] * 2, "each example once"),
        (lambda targets, stump: [targets.times(stump).times(stump)], "the leaves of one tree"),
    ],
)
def test_learners_that_return_nonsense(function: Any, message: str) -> None:
    X = np.ones((60, 2), np.float32) if function is leaf_and_its_halves else None
    run = booster(Does(lambda learner, targets: function(targets, targets.search())), X)
    with pytest.raises(StrategyError, match=message):
        run.next_round()
    assert run.round == 0


def test_a_learner_of_one_search_makes_one() -> None:
    class Two(Learner):
        name = "two"
        one_search = True

        def learn(self, targets: Targets) -> list[Targets]:
            targets.search()
            return [targets.times(targets.search())]

    with pytest.raises(StrategyError, match=r"must make one search .* got searches: 2"):
        booster(Two()).next_round()


def times_of_another(learner: Any, targets: Targets) -> list[Targets]:
    """A stump found on one half multiplies the other; a search after the split; all orders."""
    first = targets.search()
    low, high = targets.split(first)
    stump = high.search()
    targets.search()  # all examples can still be searched
    again = low.times(stump)
    again = again.times(again.search())
    low.search()
    return [high.times(first), again]


def empty_half(learner: Any, targets: Targets) -> list[Targets]:
    """A half without examples, split and multiplied."""
    low, high = targets.split(targets.search())
    empty, full = (low, high) if low.n_examples == 0 else (high, low)
    stump = full.search()
    assert (empty.edge, empty.mass, empty.sums.tolist()) == (0.0, 0.0, [0.0] * 3)
    return [*empty.times(stump).split(stump), full.times(stump)]


@pytest.mark.parametrize(("function", "constant"), [(times_of_another, False), (empty_half, True)])
def test_unusual_learners_are_their_definition(function: Any, constant: bool) -> None:
    X, Y = table(60, 4), noisy_labels(60, 3 if constant else 1)
    if constant:
        X[:] = 1
    done = booster(Does(function), X, Y=Y, weight_init="uniform").next_round()
    assert done.edge == pytest.approx(edge_of(done, X, Y), abs=1e-6)


def times_of_a_cut_that_limits_forbid(learner: Any, targets: Targets) -> list[Targets]:
    return [targets.times(targets.search(False, LeafLimits(20, 0.0)))]


def test_a_stump_that_limits_forbid_has_its_own_edge_in_a_product() -> None:
    """The only column divides 5 of 60 rows: within the limits there is the constant only."""
    X = (np.arange(60, dtype=np.float32) < 5)[:, None]
    Y = np.where(np.arange(60)[:, None] < 6, 1, -1).astype(np.int8)
    learner = Does(times_of_a_cut_that_limits_forbid)
    done = booster(learner, X, Y=Y, weight_init="uniform").next_round()
    assert done.edge == pytest.approx(edge_of(done, X, Y), abs=1e-6)
    with pytest.raises(SettingError, match="products multiply opposite votes"):
        booster(learner, X, objective="samme").next_round()


def two_sides(learner: Any, targets: Targets) -> list[Targets]:
    return [targets.times(targets.search(two_sided=True))]


def one_side(learner: Any, targets: Targets) -> list[Targets]:
    return [targets.times(targets.search())]


@pytest.mark.parametrize("objective", ["real-mh", "info", "gentle", "samme"])
def test_a_stump_of_both_sides_is_one_stump_where_all_stumps_have_both(objective: str) -> None:
    runs = [booster(Does(function), objective=objective) for function in (two_sides, one_side)]
    for _ in range(3):
        done, expected = (run.next_round() for run in runs)
        assert done.edge == expected.edge > 0.0
        assert done.terms[0].votes.tolist() == expected.terms[0].votes.tolist()
        first, second = (run.example_weights().tolist() for run in runs)
        assert first == second


@pytest.mark.parametrize("learner", ["tree:n_leaves=500", "product:n_terms=500"])
def test_very_many_terms(learner: str) -> None:
    """Labels alternate along one feature: a tree is a chain of many nodes."""
    X = np.arange(600, dtype=np.float32)[:, None] % 250
    Y = np.where((X // 1) % 2 == 0, 1, -1).astype(np.int8)
    Y[::7] *= -1
    first, second = (booster(learner, X, Y=Y, weight_init="uniform") for _ in range(2))
    done = first.next_round()
    assert done.edge == pytest.approx(edge_of(done, X, Y), abs=1e-6)
    second.replay([done.terms], [done.edge], first.small_state())


@pytest.mark.parametrize("read", ["sums", "masses", "votes", "below", "whole"])
def test_arrays_that_a_learner_sees_are_read_only(read: str) -> None:
    """The loop reads them again: other votes would be other weights, without an error."""

    def changes(of_search: bool) -> Callable[[Any, Targets], list[Targets]]:
        def learn(learner: Any, targets: Targets) -> list[Targets]:
            seen: Any = targets.search() if of_search else targets
            getattr(seen, read)[:] = 0
            return [targets.times(targets.search())]

        return learn

    kinds = [True] if read in ("below", "whole") else [True, False]
    for of_search in kinds:
        with pytest.raises(ValueError, match="read-only"):
            booster(Does(changes(of_search)), objective="real-mh").next_round()


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ((5, 0.0), r"limits must be LeafLimits\(rows, weight\), got \(5, 0.0\); import it"),
        (LeafLimits(-5, 0.0), "rows of LeafLimits must be an integer at least 1, got -5; 1 is no"),
        (LeafLimits(5, 2.0), "weight of LeafLimits must be at least 0 and at most 0.5, got 2; 0"),
    ],
)
def test_limits_out_of_range(limits: Any, message: str) -> None:
    def learn(learner: Any, targets: Targets) -> list[Targets]:
        return list(targets.split(targets.search(True, limits)))

    with pytest.raises(SettingError, match=message):
        booster(Does(learn)).next_round()


def test_an_array_of_leaves_is_a_clear_line() -> None:
    def learn(learner: Any, targets: Targets) -> Any:
        return np.array([targets.times(targets.search())], dtype=object)

    with pytest.raises(
        StrategyError, match=r"must return a list of one or more targets, got array"
    ):
        booster(Does(learn)).next_round()


def test_alpha() -> None:
    for edge in (0.0, 1e-300, 1e-12, 0.1, 0.93, 1 - 1e-9):
        assert alpha_of(edge) == pytest.approx(math.atanh(edge), rel=1e-14)
    for edge in (1 - 1e-12, 1 - 1e-13, 1.0):
        assert alpha_of(edge) == pytest.approx(math.atanh(1 - EDGE_GAP), rel=1e-9)


def test_learners_by_name() -> None:
    assert isinstance(make_learner("stump"), Stump)
    assert isinstance(make_learner(None), Stump)
    stump = Stump()
    assert make_learner(stump) is stump
    with pytest.raises(SettingError, match=r"unknown learner 'stomp'.*stump"):
        make_learner("stomp")
    with pytest.raises(SettingError, match="'stump' has no settings, got 'n'"):
        make_learner("stump:n=2")
    kind: Any = Stump
    with pytest.raises(SettingError, match="must be a name or an instance of Learner, got <class"):
        make_learner(kind)
    assert all(kind.name == name for name, kind in LEARNERS.items())
