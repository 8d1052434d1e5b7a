"""A strategy that tries to cheat: for more looks, another edge, weights, labels or the bank."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import boostsample.loop.booster as booster_module
import boostsample.rows.weights as weights_module
from boostsample.banks.bank import Bank
from boostsample.errors import BoostSampleError, BudgetExceeded, StrategyError
from boostsample.family import Family
from boostsample.kernels.array_layout import Rows
from boostsample.loop.booster import Booster
from boostsample.planning.costs import Ledger
from boostsample.rows.local_rows import LocalRows
from boostsample.rows.searcher import Searcher
from boostsample.step import Step
from boostsample.strategy import Outcome, Pool, Sample, Strategy, Stump, Stumps
from tests.problems import bank_of, booster_of, noisy_labels, table
from tests.test_step import F, K, N, one_round, step_with


def test_overspending_raises_before_the_work_and_spends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = step_with(budget=100)
    small, large = step.draw(10), step.draw(51)
    stumps = step.search([0, 1], small)

    def nothing_runs(*_: Any) -> Any:
        raise AssertionError("looked although the budget was exceeded")

    monkeypatch.setattr(Searcher, "search", nothing_runs)
    monkeypatch.setattr(Searcher, "signed_edges", nothing_runs)
    with pytest.raises(BudgetExceeded, match=r"102 looks, but 20 of its budget of 100"):
        step.search([0, 1], large)
    with pytest.raises(BudgetExceeded, match="102 looks"):
        step.edges(stumps, large)
    with pytest.raises(BudgetExceeded, match="102 looks"):
        step.search([0, 1], large, purpose="modelling")
    assert (step.spent, step.remaining) == (20, 80)


def test_the_last_look_may_be_spent() -> None:
    step = step_with(budget=100)
    step.search([0, 1], step.draw(50))
    assert step.remaining == 0
    with pytest.raises(BudgetExceeded, match="1 looks"):
        step.search([0], step.draw(1))


def test_the_error_names_the_strategy() -> None:
    with pytest.raises(
        BudgetExceeded, match=r"'Do' asks for 640 looks, but 0 of its budget of 639"
    ):
        one_round(lambda step: step.search(np.arange(F), step.draw(N)).best(), budget=639)


@pytest.mark.parametrize(
    "name", [n for n in dir(Step) if not n.startswith("_")] + ["anything", "__dict__"]
)
def test_nothing_public_on_a_step_can_be_replaced(name: str) -> None:
    step = step_with()
    with pytest.raises(AttributeError):
        setattr(step, name, 10**12)


def test_a_sample_cannot_be_made_cheaper() -> None:
    step = step_with()
    sample = step.draw(40)
    with pytest.raises(dataclasses.FrozenInstanceError):
        sample.size = 1  # type: ignore[misc]  # that it is frozen is the test
    for forged in (
        dataclasses.replace(sample, size=1),
        Sample(1, "iid", False),
        Sample(40, "iid", False),
        copy.copy(sample),
    ):
        with pytest.raises(StrategyError, match="not of this step"):
            step.search([0], forged)
    assert step.spent == 0


class Twin:
    """Passes for a sample by its hash, and costs nothing."""

    size = 0
    scheme = "iid"
    exact = False

    def __init__(self, sample: Sample) -> None:
        self.sample = sample

    def __hash__(self) -> int:
        return hash(self.sample)

    def __eq__(self, other: object) -> bool:
        return other is self.sample


def written_over(sample: Sample) -> Sample:
    object.__setattr__(sample, "size", 0)
    return sample


@pytest.mark.parametrize("forge", [Twin, written_over])
def test_a_forged_sample_is_refused_or_charged_in_full(forge: Any) -> None:
    step = step_with()
    forged = forge(step.draw(40))
    try:
        step.search([0], forged)
    except BoostSampleError:
        assert step.spent == 0
    else:
        assert step.spent == 40


class Growing(Stumps):
    """Stumps that show few features when they are charged and more when they are looked at."""

    __slots__ = ()
    shown = 0

    def __getattribute__(self, name: str) -> Any:
        value = object.__getattribute__(self, name)
        if name == "feature":
            Growing.shown += 1
            if Growing.shown == 1:
                return value[:1]
        return value


def test_stumps_that_change_between_charge_and_work_gain_nothing() -> None:
    step = step_with()
    sample = step.draw(N)
    good = step.search([0, 1, 2], sample)
    spent = step.spent
    Growing.shown = 0
    sly = Growing(good.feature, good.threshold[:1], good.votes[:1], good.edge)
    try:
        edges = step.edges(sly, sample)
    except BoostSampleError:
        assert step.spent == spent
    else:
        assert step.spent - spent == edges.size * N


def test_features_that_change_between_charge_and_work_gain_nothing() -> None:
    step = step_with()
    features = np.array([0, 1])
    stumps = step.search(features, step.draw(5))
    features[:] = 7
    assert stumps.feature.tolist() == [0, 1]


def test_old_steps_and_samples_are_refused() -> None:
    samples: list[Any] = []

    def keep(step: Step) -> Stump:
        sample = step.draw(20)
        stumps = step.search([0], sample)
        samples.append((step, sample, stumps))
        return stumps.best()

    booster = booster_of(keep)
    booster.next_round()
    booster.next_round()
    (step, sample, stumps), (newer, _, _) = samples
    too_late: list[Callable[[], Any]] = [
        lambda: step.draw(3),
        lambda: step.search([0], sample),
        lambda: step.edges(stumps, sample),
        lambda: step.note(x=1),
        lambda: newer.search([0], sample),
    ]
    for late in too_late:
        with pytest.raises(StrategyError, match="has ended"):
            late()

    def old_sample(step: Step) -> Stump:
        return step.search([0], sample).best()

    with pytest.raises(StrategyError, match="not of this step"):
        one_round(old_sample)


def test_a_stump_that_was_not_searched_is_refused() -> None:
    def other_threshold(step: Step) -> Stump:
        best = step.search([0], step.draw(N)).best()
        return dataclasses.replace(best, threshold=best.threshold % 3 + 1)

    def other_feature(step: Step) -> Stump:
        return dataclasses.replace(step.search([0], step.draw(N)).best(), feature=1)

    def nothing_searched(step: Step) -> Stump:
        return Stump(0, 1, np.ones(K, np.int8), 0.5)

    for cheat in (other_threshold, other_feature, nothing_searched):
        with pytest.raises(StrategyError, match="not searched in this step"):
            one_round(cheat)
    stumps: list[Stump] = []

    def from_an_earlier_round(step: Step) -> Stump:
        fresh = step.search([step.round], step.draw(N)).best()
        stumps.append(fresh)
        return stumps[0]

    booster = booster_of(from_an_earlier_round)
    booster.next_round()
    with pytest.raises(StrategyError, match="not searched in this step"):
        booster.next_round()


@pytest.mark.parametrize("returned", [None, 3, "stump", (0, 1)])
def test_only_a_stump_may_be_returned(returned: Any) -> None:
    with pytest.raises(StrategyError, match="must return a Stump, got"):
        one_round(lambda step: returned)


def honest(step: Step) -> Stump:
    return step.search([2, 3], step.draw(30)).best()


def test_forged_beliefs_about_the_edge_change_nothing() -> None:
    def forged_edge(step: Step) -> Stump:
        return dataclasses.replace(honest(step), edge=0.99, votes=-np.ones(K, np.int8))

    want, got = one_round(honest), one_round(forged_edge)
    for name in ("feature", "threshold", "edge_estimated", "edge", "alpha", "log10_loss"):
        assert got[name] == want[name]


def test_arrays_of_stumps_cannot_be_written() -> None:
    step = step_with()
    stumps = step.search([0, 1], step.draw(N))
    for name in ("feature", "threshold", "votes", "edge"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(stumps, name)[0] = 1
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(stumps, name, getattr(stumps, name))


def test_arrays_made_writeable_again_do_not_reach_the_history() -> None:
    """NumPy lets the owner of an array lift its write protection."""

    def forger(step: Step) -> Stump:
        stumps = step.search([2, 3], step.draw(30))
        best = stumps.best()
        for array in (stumps.edge, stumps.edge.base):
            try:
                array.flags.writeable = True  # type: ignore[union-attr]  # tried below
                array[...] = 0.99  # type: ignore[index]  # whatever it is
            except (AttributeError, TypeError, ValueError):
                continue
        return best

    assert one_round(forger)["edge_estimated"] == one_round(honest)["edge_estimated"]


def test_a_stump_smuggled_in_by_writing_is_found_out() -> None:
    def smuggler(step: Step) -> Stump:
        stumps = step.search([2], step.draw(30))
        try:
            stumps.feature.flags.writeable = True
            stumps.feature[0] = 5
        except ValueError:
            return Stump(5, int(stumps.threshold[0]), stumps.votes[0], 0.5)
        return stumps.best()

    with pytest.raises(StrategyError, match="not searched in this step"):
        one_round(smuggler)


def test_the_newest_search_of_a_stump_counts() -> None:
    def twice(step: Step) -> Stump:
        first = step.search([2], step.draw(N))
        step.search([2], step.draw(N), purpose="modelling")
        return first.best()

    row = one_round(twice)
    assert (row["n_examples"], row["looks_search"], row["looks_modelling"]) == (N, N, N)


SignedWeights = weights_module.SignedWeights
SECRET = (Bank, Family, Ledger, Booster, Searcher, SignedWeights, LocalRows, Rows)


def reachable(start: dict[str, Any]) -> list[tuple[str, Any]]:
    """Everything that public names lead to: attributes, items, bases of arrays."""
    reached, seen, todo = [], set(), list(start.items())
    while todo:
        path, thing = todo.pop()
        if id(thing) in seen or isinstance(thing, type | int | float | str | bytes | None):
            continue
        seen.add(id(thing))
        reached.append((path, thing))
        if type(thing).__module__.startswith("numpy.random"):
            continue  # a stream of random numbers, whatever it is made of
        if isinstance(thing, np.ndarray):  # its other attributes are endless views of it
            todo.append((f"{path}.base", thing.base))
            continue
        if isinstance(thing, Mapping):
            todo.extend((f"{path}[{key!r}]", value) for key, value in thing.items())
        elif isinstance(thing, Sequence):
            todo.extend((f"{path}[{i}]", value) for i, value in enumerate(thing))
        for name in dir(thing):
            if not name.startswith("_"):
                try:
                    value = getattr(thing, name)
                except (AttributeError, TypeError, ValueError):
                    continue
                if not callable(value):
                    todo.append((f"{path}.{name}", value))
    return reached


def test_weights_labels_and_bank_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets: list[NDArray[Any]] = []
    made: list[SignedWeights] = []

    class Watched(SignedWeights):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            made.append(self)

    monkeypatch.setattr(booster_module, "SignedWeights", Watched)
    paths: list[str] = []

    class Spy(Strategy):
        def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
            self.look({"pool": pool, "rng": rng})

        def choose(self, step: Step) -> Stump:
            exact, part = step.draw(N), step.draw(20, "distinct")
            stumps = step.search([1, 5, 2], exact)
            some, edges = stumps[[0, 2]], step.edges(stumps, part)
            self.look({"step": step, "exact": exact, "part": part, "stumps": stumps})
            self.look({"some": some, "stump": stumps.best(), "edges": edges})
            return stumps.best()

        def learn(self, outcome: Outcome) -> None:
            self.look({"outcome": outcome})

        def look(self, start: dict[str, Any]) -> None:
            for path, thing in reachable(start):
                paths.append(path)
                assert not isinstance(thing, SECRET), path
                if isinstance(thing, np.ndarray):
                    for secret in secrets:
                        assert not np.may_share_memory(thing, secret), path

    X, Y = table(), noisy_labels()
    bank = bank_of(X, groups=2)
    secrets.extend([X, Y, bank.bins, bank.cuts, bank.n_bins])
    booster = Booster(bank, None, Y, Spy(), rng=0)
    inside = vars(made[0])
    secrets.extend(value for value in inside.values() if isinstance(value, np.ndarray))
    assert len(secrets) > 8
    booster.next_round()
    assert {"step.families[1]", "stump.votes", "pool.families", "outcome"} <= set(paths)
    # A walk that looks into private names does find them: it is not blind.
    with pytest.raises(AssertionError, match="hidden"):
        Spy().look({"hidden": [booster]})


def erase(step: Step) -> Stump:
    """Search everything, and write less into the ledger."""
    ledger: Any = step._Step__ledger  # type: ignore[attr-defined]  # what a strategy can reach
    stump = step.search(np.arange(F), step.draw(N)).best()
    ledger._spent["search"] = 1
    return stump


def enlarge(step: Step) -> Stump:
    """Raise the budget of the ledger."""
    ledger: Any = step._Step__ledger  # type: ignore[attr-defined]  # what a strategy can reach
    ledger._budget = 10**9
    return step.search(np.arange(F), step.draw(N)).best()


@pytest.mark.parametrize("cheat", [erase, enlarge])
def test_a_changed_ledger_ends_the_run(cheat: Any) -> None:
    with pytest.raises(StrategyError, match=r"have read 640 looks, .* must not change the ledger"):
        one_round(cheat, budget=F * N - 1 if cheat is enlarge else None)


@pytest.mark.parametrize("search", ["search", "edges", "race"])
def test_a_patched_ledger_ends_the_run(search: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kind of search counts its looks itself."""
    monkeypatch.setattr(Ledger, "charge", lambda *_: None)

    def choose(step: Step) -> Stump:
        if search == "race":
            return step.race([0, 1], [(2, 5), (1, N)]).best()
        stumps = step.search([0, 1], step.draw(5))
        if search == "edges":
            step.edges(stumps, step.draw(7, "distinct"))
        return stumps.best()

    read = {"search": 10, "edges": 24, "race": 10 + N}[search]
    with pytest.raises(StrategyError, match=rf"round 1, search 0: .* {read} looks, .* holds 0 of"):
        one_round(choose)
