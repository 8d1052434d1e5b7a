"""Each public check of strategies and learners finds the one that breaks its rule."""

from __future__ import annotations

import functools
import importlib.util
import random
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from boostsample import testing
from boostsample.errors import SettingError, StrategyError
from boostsample.learner import Learner, Targets
from boostsample.learners import Product, Tree
from boostsample.learners import Stump as StumpLearner
from boostsample.step import Step
from boostsample.strategy import Outcome, Pool, Strategy, Stump
from boostsample.testing import (
    FAMILY_CHECKS,
    STRATEGY_CHECKS,
    check_learner,
    check_strategy,
    check_strategy_beliefs,
    check_strategy_roots,
)
from boostsample.testing import families as _check_families
from boostsample.testing.strategies import require_same_when_fresh
from tests.compiled import slow_without_jit


class Good(Strategy):
    """Three features on as many examples as the budget pays; below, one way each to be wrong."""

    leaves_budget = "it searches n_features"

    def __init__(self, n_features: int = 3) -> None:
        self.n_features = n_features

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        if budget < self.n_features:
            raise SettingError(
                f"n_features = {self.n_features} needs a larger budget than {budget}"
            )
        self.seen_ = np.zeros(pool.n_features)

    def choose(self, step: Step) -> Stump:
        q = min(self.n_features, step.n_features)
        features = self.rng(step).choice(step.n_features, q, replace=False)
        self.seen_[features] += 1
        return step.search(features, step.draw(step.budget // q)).best()

    def rng(self, step: Step) -> Any:
        return step.rng

    def learn(self, outcome: Outcome) -> None:
        self.last_ = {"edge": outcome.edge, "family": outcome.family}


KEPT: list[Any] = []


class NumpyGlobal(Good):
    def rng(self, step: Step) -> Any:
        return np.random  # the broken rule


class PythonGlobal(Good):
    def choose(self, step: Step) -> Stump:
        first = random.randrange(step.n_features)
        return step.search([first], step.draw(step.budget)).best()


class MovesGlobal(Good):
    def learn(self, outcome: Outcome) -> None:
        np.random.random()  # noqa: NPY002 - the broken rule


class ClockSeed(Good):
    def rng(self, step: Step) -> Any:
        return np.random.default_rng()


class SeedsItself(Good):
    def rng(self, step: Step) -> Any:
        return np.random.default_rng(step.round)


class SeedsItselfAsPython(Good):
    def choose(self, step: Step) -> Stump:
        first = random.Random(step.round).randrange(step.n_features)
        return step.search([first], step.draw(step.budget)).best()


class SeedsInStart(Good):
    """No broken rule: the seed is drawn from the stream of `start`."""

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        super().start(pool, budget, n_rounds, rng)
        self.seed_ = int(rng.integers(2**32))

    def rng(self, step: Step) -> Any:
        return np.random.default_rng([self.seed_, step.round])


class LambdaState(Good):
    def learn(self, outcome: Outcome) -> None:
        self.reward_ = lambda: outcome.edge


class LambdaAttribute(Good):
    def learn(self, outcome: Outcome) -> None:
        self.reward = lambda: outcome.edge


class PrivateState(Good):
    """Half of what it learned is where state() does not look."""

    def learn(self, outcome: Outcome) -> None:
        self._n = getattr(self, "_n", 0) + 1

    def choose(self, step: Step) -> Stump:
        feature = getattr(self, "_n", 0) % step.n_features
        return step.search([feature], step.draw(step.n_examples)).best()


class ChangesSetting(Good):
    def learn(self, outcome: Outcome) -> None:
        self.n_features = 1 + outcome.round % 2


class ObjectState(Good):
    def learn(self, outcome: Outcome) -> None:
        self.last_ = outcome  # type: ignore[assignment] # the broken rule


class TupleState(Good):
    def learn(self, outcome: Outcome) -> None:
        self.plan_ = [(1, 2)]


class KeyState(Good):
    def learn(self, outcome: Outcome) -> None:
        self.counts_ = {outcome.feature: 1}


class CounterState(Good):
    def learn(self, outcome: Outcome) -> None:
        self.counts_ = Counter([str(outcome.feature)])


class FortranState(Good):
    def learn(self, outcome: Outcome) -> None:
        self.table_ = np.zeros((2, 3), order="F")


class UnderscoresState(Good):
    """A name that begins and ends with _ is not learned."""

    def learn(self, outcome: Outcome) -> None:
        self._n_ = outcome.round


class CountsInItsClass(Good):
    """Learns in a class attribute: the second run of a process begins where the first ended."""

    chosen: ClassVar[list[int]] = []

    def choose(self, step: Step) -> Stump:
        feature = len(self.chosen) % step.n_features
        self.chosen.append(feature)
        return step.search([feature], step.draw(step.n_examples)).best()


def _next_feature() -> int:
    global N_CALLS
    N_CALLS += 1
    return N_CALLS


N_CALLS = 0


class CountsInItsModule(Good):
    def choose(self, step: Step) -> Stump:
        feature = _next_feature() % step.n_features
        return step.search([feature], step.draw(step.n_examples)).best()


class IteratesOverTexts(Good):
    def choose(self, step: Step) -> Stump:
        first = next(iter({family.name for family in step.families}))
        family = next(f for f in step.families if f.name == first)
        return step.search(family.sample(1, step.rng), step.draw(step.n_examples)).best()


class KeepsStep(Good):
    def choose(self, step: Step) -> Stump:
        KEPT.append(step)
        return super().choose(step)


class Overspends(Good):
    def choose(self, step: Step) -> Stump:
        return step.search(np.arange(step.n_features), step.draw(step.n_examples)).best()


class LeavesBudget(Good):
    leaves_budget = ""


class LateRefusal(Good):
    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        pass

    def choose(self, step: Step) -> Stump:
        if step.budget < 100:
            raise SettingError(f"the budget must be at least 100, got {step.budget}")
        return step.search([0], step.draw(step.n_examples)).best()


class SilentRefusal(Good):
    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        if budget < 100:
            raise SettingError("too small")
        super().start(pool, budget, n_rounds, rng)


class RefusesAll(Good):
    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        if budget > 10 * pool.n_examples:
            raise SettingError(f"the budget must be at most 10 N, got {budget}")
        super().start(pool, budget, n_rounds, rng)


class ChecksInInit(Good):
    def __init__(self, n_features: int = 3) -> None:
        self.n_features = int(n_features)


class NeedsThree(Good):
    def choose(self, step: Step) -> Stump:
        return step.search([0, 1, 2], step.draw(step.budget // 3)).best()


class NeedsFamilies(Good):
    def choose(self, step: Step) -> Stump:
        features = step.families[2].sample(3, step.rng)
        return step.search(features, step.draw(step.budget // 3)).best()


class NeedsAnEdge(Good):
    def learn(self, outcome: Outcome) -> None:
        if outcome.edge == 0:
            raise ZeroDivisionError("log of zero")


class StopsAtThePlan(Good):
    def choose(self, step: Step) -> Stump:
        if step.round > step.n_rounds:
            raise IndexError("no more rounds")
        return super().choose(step)


class Remembers(Good):
    """Goes on from an earlier run: start() forgets nothing."""

    earlier = 0

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        super().start(pool, budget, n_rounds, rng)
        Remembers.earlier += 1

    def choose(self, step: Step) -> Stump:
        feature = Remembers.earlier % step.n_features
        return step.search([feature], step.draw(step.n_examples)).best()


class Schemes(Good):
    """No broken rule: any scheme but those in `refused`, by a message that names it."""

    refused: tuple[str, ...] = ("goss",)
    message = "scheme must be another one, got {!r}"

    def __init__(self, n_features: int = 3, scheme: str = "iid") -> None:
        super().__init__(n_features)
        self.scheme = scheme

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        super().start(pool, budget, n_rounds, rng)
        self.check()

    def check(self) -> None:
        if self.scheme in self.refused:
            raise SettingError(self.message.format(self.scheme))


class RefusesAPromise(Schemes):
    refused = ("stratified",)


class RefusesWithoutAName(Schemes):
    message = "no"


class RefusesLate(Schemes):
    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        Good.start(self, pool, budget, n_rounds, rng)

    def choose(self, step: Step) -> Stump:
        self.check()
        return super().choose(step)


BROKEN: list[tuple[type[Strategy], str, str]] = [
    (ClockSeed, "same_seed", "seed 0 made two different models"),
    (NumpyGlobal, "global_random_state", "global random state"),
    (PythonGlobal, "global_random_state", "global random state"),
    (MovesGlobal, "global_random_state", "drew from a global random state"),
    (SeedsItself, "own_seed", r"seeds itself \(default_rng\) and ignores step.rng"),
    (SeedsItselfAsPython, "own_seed", r"seeds itself \(Random\)"),
    (LambdaState, "state", "reward_ holds a function"),
    (LambdaAttribute, "state", "learned 'reward', which must end in '_'"),
    (PrivateState, "resume", "has changed its attribute '_n' in the run"),
    (PrivateState, "state", "learned '_n'"),
    (ChangesSetting, "state", "changed its setting 'n_features'"),
    (ObjectState, "state", "last_ holds a Outcome"),
    (TupleState, "state", r"plan_\[0\] holds a tuple"),
    (KeyState, "state", "counts_ has the key"),
    (CounterState, "state", "counts_ holds a Counter"),
    (FortranState, "state", "another order than C's cannot be saved"),
    (UnderscoresState, "state", "learned '_n_'"),
    (KeepsStep, "keeps_nothing", "keeps a Step"),
    (Overspends, "spending", "looks"),
    (LeavesBudget, "budget_spent", "round 1, search 0: spent 15 of a budget of 50"),
    (LateRefusal, "budgets", "instead of in start"),
    (SilentRefusal, "budgets", "does not name it"),
    (RefusesAll, "budgets", "all looks"),
    (RefusesAPromise, "schemes", "refuses the scheme 'stratified'"),
    (RefusesWithoutAName, "schemes", "refuses the scheme 'goss': no"),
    (RefusesLate, "schemes", r"the scheme 'goss' in choose\(\) instead of in start"),
    (ChecksInInit, "settings", "int"),
    (NeedsThree, "one_feature", "features must be between"),
    (NeedsFamilies, "one_family", "index out of range"),
    (NeedsAnEdge, "constant_features", "log of zero"),
    (StopsAtThePlan, "beyond_the_plan", "no more rounds"),
    (
        CountsInItsClass,
        "shared_state",
        "changed the class attribute CountsInItsClass.chosen, which",
    ),
    (CountsInItsModule, "shared_state", "changed the global N_CALLS of the module tests.testing"),
    (Remembers, "instance_untouched", "start\\(\\) must discard"),
]


@slow_without_jit
@pytest.mark.global_random
@pytest.mark.parametrize(
    ("kind", "rule", "message"), BROKEN, ids=lambda x: getattr(x, "__name__", x)
)
def test_broken_strategies_are_found(kind: type[Any], rule: str, message: str) -> None:
    check: Callable[[Any], None] = getattr(testing, f"check_strategy_{rule}")
    with pytest.raises(Exception, match=message) as caught:
        check(kind)
    KEPT.clear()
    if isinstance(caught.value, AssertionError):
        assert re.match(f"strategy {kind.__name__}: ", str(caught.value))


@slow_without_jit
def test_a_scheme_that_promises_nothing_may_be_refused() -> None:
    testing.check_strategy_schemes(Schemes)


@slow_without_jit
def test_a_generator_that_is_seeded_from_the_stream_is_allowed() -> None:
    testing.check_strategy_own_seed(SeedsInStart)


def test_a_lambda_as_a_setting_is_a_clear_line() -> None:
    setting: Any = lambda: 3  # noqa: E731 - the setting under test
    with pytest.raises(AssertionError, match="strategy Good: the strategy cannot be pickled"):
        testing.check_strategy_instance_untouched(lambda: Good(n_features=setting))


@slow_without_jit
def test_what_earlier_runs_left_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "N_CALLS", 3)
    with pytest.raises(AssertionError, match="in a fresh interpreter than in this one"):
        testing.check_strategy_fresh_interpreters(CountsInItsModule)


@slow_without_jit
def test_classes_of_a_function_and_of_a_file_are_sent_by_value(tmp_path: Path) -> None:
    class OfFunction(Good):
        pass

    (tmp_path / "own.py").write_text(
        "from tests.testing.test_testing import IteratesOverTexts\n"
        "class Own(IteratesOverTexts):\n    pass\n"
    )
    spec = importlib.util.spec_from_file_location("own_strategy_of_a_file", tmp_path / "own.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    try:
        with pytest.raises(AssertionError, match=r"Own: .*; do not iterate over a set of texts"):
            require_same_when_fresh([OfFunction, module.Own])
    finally:
        del sys.modules[spec.name]


def test_a_strategy_that_cannot_be_sent_is_skipped_aloud() -> None:
    lock = threading.Lock()

    def make() -> Strategy:
        assert not lock.locked()
        return Good()

    with pytest.warns(UserWarning, match=r"Good: not checked in fresh interpreters, .*: TypeError"):
        testing.check_strategy_fresh_interpreters(make)


def test_an_instance_is_a_clear_line() -> None:
    instance: Any = Good()
    with pytest.raises(
        SettingError, match=r"got an object of Good; pass the class, as in .*, or lambda: Good"
    ):
        check_strategy(instance)


@slow_without_jit
def test_a_good_strategy_passes_everything() -> None:
    check_strategy(Good)


@slow_without_jit
def test_a_wrong_alpha_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("boostsample.rows.weights.StepSize.alpha", lambda self, edge: 0.5 * edge)
    with pytest.raises(AssertionError, match="alpha is"):
        testing.check_strategy_spending(Good)


@slow_without_jit
def test_wrong_edges_and_losses_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from boostsample.rows.weights import SignedWeights

    sums, update = SignedWeights.label_sums, SignedWeights.update

    def larger(self: Any, *args: Any) -> Any:
        return sums(self, *args) * 1.001

    def weaker(self: Any, column: Any, threshold: int, votes: Any, factors: Any) -> None:
        update(self, column, threshold, votes, factors._replace(wrong=0.99 * factors.wrong))

    monkeypatch.setattr(SignedWeights, "label_sums", larger)
    with pytest.raises(AssertionError, match="edge is"):
        testing.check_strategy_spending(Good)
    monkeypatch.setattr(SignedWeights, "label_sums", sums)
    monkeypatch.setattr(SignedWeights, "update", weaker)
    with pytest.raises(AssertionError, match=r"edge is|loss is"):
        testing.check_strategy_spending(Good)


def test_the_lists_are_complete() -> None:
    names = {name for name in vars(testing) if name.startswith("check_strategy_")}
    assert names == {check.__name__ for check in STRATEGY_CHECKS}
    assert names | {"check_strategy", "check_family"} <= set(testing.__all__)
    assert all(check.__doc__ for check in (*STRATEGY_CHECKS, *FAMILY_CHECKS))
    assert set(_check_families.__all__) <= set(testing.__all__)


class Expects(Strategy):
    """Ten features on examples whose number the last edge decides; notes it."""

    apart = True

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        self.edge_ = 0.5

    def choose(self, step: Step) -> Stump:
        step.note(expected_edge=self.expected())
        features = step.rng.choice(step.n_features, 10, replace=False)
        return step.search(features, step.draw(1 + int(0.09 * step.budget * self.edge_))).best()

    def expected(self) -> float:
        return self.edge_

    def learn(self, outcome: Outcome) -> None:
        if outcome.whole or not self.apart:
            self.edge_ = outcome.edge


class LearnsFromNodes(Expects):
    apart = False


class ExpectsTooMuch(Expects):
    def expected(self) -> float:
        return self.edge_ + 0.8


class ExpectsTooLittle(Expects):
    def expected(self) -> float:
        return self.edge_ - 0.8


def test_right_beliefs_pass() -> None:
    check_strategy_beliefs(Expects)
    check_strategy_roots(Expects)


@pytest.mark.parametrize(
    ("check", "kind", "message"),
    [
        (
            check_strategy_roots,
            LearnsFromNodes,
            r"round 2: .* learn nothing from them, or apart \(Step.whole\)",
        ),
        (
            check_strategy_beliefs,
            ExpectsTooMuch,
            r"search 0: noted expected_edge = 1.3, which must be in \[0, 1\]",
        ),
        (check_strategy_beliefs, ExpectsTooLittle, r"noted expected_edge = -0.3"),
    ],
)
def test_wrong_beliefs_are_found(check: Any, kind: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=f"strategy {kind.__name__}: .*{message}"):
        check(kind)


GOOD: dict[str, Callable[[], Learner]] = {
    "stump": StumpLearner,
    "product": functools.partial(Product, 3),
    "tree": functools.partial(Tree, 6),
}


@slow_without_jit
@pytest.mark.parametrize("name", GOOD)
def test_the_learners_pass(name: str) -> None:
    check_learner(GOOD[name])


class Half(Learner):
    """Forgets half of the examples."""

    name = "half"

    def learn(self, targets: Targets) -> list[Targets]:
        return [targets.split(targets.search())[0]]


class Drawing(Learner):
    """Draws from a random state of its own."""

    name = "drawing"

    def learn(self, targets: Targets) -> list[Targets]:
        found = targets.search()
        again = np.random.default_rng().random() < 0.5
        return [targets.times(targets.search() if again else found)]


class Counting(Learner):
    """Searches more in every round, so that a run cannot be continued."""

    name = "counting"

    def __init__(self) -> None:
        self.n = 0

    def learn(self, targets: Targets) -> list[Targets]:
        self.n += 1
        found = [targets.search() for _ in range(self.n)]
        return [targets.times(found[-1])]


@slow_without_jit
@pytest.mark.parametrize(
    ("learner", "error", "message"),
    [
        (Half, StrategyError, "each example once"),
        (Drawing, AssertionError, "resumed after round|two different models"),
        (Counting, AssertionError, "resumed after round|two different models"),
    ],
)
def test_wrong_learners_are_found(learner: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        check_learner(learner)
