"""The objectives pass the public checks, and each check finds an objective that breaks its rule."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample import testing
from boostsample.errors import SettingError, StrategyError
from boostsample.loop.booster import Booster
from boostsample.objective import Array, Judged, Objective, RealObjective, best_votes
from boostsample.objectives import Bagging, GentleBoost, RealMH
from boostsample.registry import OBJECTIVES, make_objective
from boostsample.rows.weights import StepSize
from boostsample.testing import OBJECTIVE_CHECKS, check_objective
from tests.compiled import slow_without_jit

pytestmark = slow_without_jit
NAMES = (*OBJECTIVES, "real-mh:abstains=1")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("check", OBJECTIVE_CHECKS, ids=lambda check: check.__name__)
def test_the_objectives_pass(check: Callable[..., None], name: str) -> None:
    check(functools.partial(make_objective, name))


def test_overshooting_passes() -> None:
    """Values so large that the loss rises: the edge is 0, and the loss is that of the model."""
    check_objective(Overshoots)


class Overshoots(GentleBoost):
    name = "overshoots"

    def values(self, sums: Array, masses: Array) -> Array:
        return 3.0 * super().values(sums, masses)


class Infinite(RealObjective):
    """Log odds of pure cells are infinite."""

    def values(self, sums: Array, masses: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(0.5 * np.log((masses + sums) / (masses - sums)))


class NotANumber(GentleBoost):
    def values(self, sums: Array, masses: Array) -> Array:
        return super().values(sums, masses) * np.nan


class Doubled(Bagging):
    """Votes of 2, which files do not hold."""

    def votes(self, sums: Array, masses: Array | None) -> NDArray[Any]:
        return 2 * best_votes(sums)


class InPlace(GentleBoost):
    def values(self, sums: Array, masses: Array) -> Array:
        sums *= 0.5
        return super().values(sums, masses)


class AcrossCells(GentleBoost):
    """Adds up the first axis, which is that of the labels for one cell only."""

    def values(self, sums: Array, masses: Array) -> Array:
        return np.asarray(super().values(sums, masses) * np.abs(sums).sum(axis=0))


class OneCell(GentleBoost):
    """Cannot read several cells."""

    def values(self, sums: Array, masses: Array) -> Array:
        return super().values(sums, masses) * float(masses.sum(axis=-1))


class Drawn(GentleBoost):
    """Values have noise from a random state that is hidden."""

    def values(self, sums: Array, masses: Array) -> Array:
        return super().values(sums, masses) * np.random.default_rng().uniform(0.5, 1.0)


class Counts(GentleBoost):
    """Values depend on the number of calls before."""

    def __init__(self) -> None:
        super().__init__()
        self.n_calls = 0

    def values(self, sums: Array, masses: Array) -> Array:
        self.n_calls += 1
        return super().values(sums, masses) / self.n_calls


class EdgeAboveOne(RealMH):
    def judge(self, sums: Array, whole: Array, masses: Array | None, two_sided: bool) -> Judged:
        judged = super().judge(sums, whole, masses, two_sided)
        return judged._replace(edge=1.0 + judged.edge)


class OtherEdge(RealMH):
    def judge(self, sums: Array, whole: Array, masses: Array | None, two_sided: bool) -> Judged:
        judged = super().judge(sums, whole, masses, two_sided)
        return judged._replace(edge=0.9 * judged.edge)


class FallingEdges(Objective):
    def edges(self, worth: Array) -> Array:
        return 1.0 - worth


class HalfStep(StepSize):
    def alpha(self, edge: float) -> float:
        return 0.5 * super().alpha(edge)


class OtherAlpha(Objective):
    """Half of alpha, but weights and loss of alpha."""

    def step_size(
        self, learning_rate: float, smoothing: float, n_examples: int, n_labels: int
    ) -> StepSize:
        return HalfStep(learning_rate, smoothing)


class OtherRate(Objective):
    """Takes no notice of the learning rate in the loss."""

    def step_size(
        self, learning_rate: float, smoothing: float, n_examples: int, n_labels: int
    ) -> StepSize:
        return FullLoss(learning_rate, smoothing, n_examples)


class OtherSmoothing(Objective):
    """Takes no notice of smoothing in the loss."""

    def step_size(
        self, learning_rate: float, smoothing: float, n_examples: int, n_labels: int
    ) -> StepSize:
        return UnsmoothedLoss(learning_rate, smoothing, n_examples)


class UnsmoothedLoss(StepSize):
    def log_loss_change(self, edge: float) -> float:
        return StepSize(self.learning_rate).log_loss_change(edge)


class FullLoss(StepSize):
    def log_loss_change(self, edge: float) -> float:
        return StepSize().log_loss_change(edge)


class RefusesAll(Objective):
    def check(self, n_labels: int, *, one_search: bool) -> None:
        raise SettingError("not today")


class RefusesLate(GentleBoost):
    def values(self, sums: Array, masses: Array) -> Array:
        if sums.size > 1:
            raise SettingError("one label only")
        return super().values(sums, masses)


class NoNumber(GentleBoost):
    def __init__(self) -> None:
        super().__init__()
        self.table = object()


class Unpicklable(GentleBoost):
    def __init__(self) -> None:
        super().__init__()
        self.half: Callable[[Array], Array] = lambda values: 0.5 * values

    def values(self, sums: Array, masses: Array) -> Array:
        return np.asarray(self.half(super().values(sums, masses)))


class CopiedOtherwise(GentleBoost):
    """A pickled one is another one."""

    scale = 1.0

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.scale = 0.5 * self.scale

    def __deepcopy__(self, memo: Any) -> CopiedOtherwise:
        made = CopiedOtherwise()
        vars(made).update(vars(self))
        return made

    def values(self, sums: Array, masses: Array) -> Array:
        return self.scale * super().values(sums, masses)


BROKEN: list[tuple[type[Objective], str, str]] = [
    (Infinite, "cells", "fails on a cell .* must return finite values"),
    (InPlace, "cells", "fails on a cell .* is read-only"),
    (AcrossCells, "cells", "along the last axis"),
    (OneCell, "cells", r"values\(\) of several cells .* fails"),
    (Drawn, "cells", "then .*; use its sums and masses only"),
    (Counts, "cells", "use its sums and masses only"),
    (FallingEdges, "cells", "falls as the worth grows"),
    (EdgeAboveOne, "rounds", "edges must be between 0 and 1, got 1"),
    (OtherEdge, "rounds", "edge is .*, should be"),
    (OtherAlpha, "rounds", "edge is .*, should be"),
    (OtherRate, "step_sizes", "log of the loss is"),
    (OtherSmoothing, "step_sizes", "log of the loss is"),
    (RefusesAll, "labels", "refuses stumps for two classes: not today"),
    (RefusesLate, "labels", r"in round 1 instead of in check\(\)"),
    (Drawn, "same_seed", "one seed made two different models"),
    (Drawn, "threads", "3 threads made another model"),
    (NoNumber, "state", "table of NoNumber must be a number"),
    (Counts, "state", "has other attributes after a run"),
    (Counts, "resume", "restored after round 1"),
    (Unpicklable, "pickling", "cannot be pickled"),
    (CopiedOtherwise, "pickling", "pickled, it made other rounds"),
    (Doubled, "model", "a model that was saved has other scores"),
]


@pytest.mark.parametrize(
    ("kind", "rule", "message"), BROKEN, ids=lambda x: getattr(x, "__name__", x)
)
def test_broken_objectives_are_found(kind: type[Any], rule: str, message: str) -> None:
    check: Callable[[Any], None] = getattr(testing, f"check_objective_{rule}")
    with pytest.raises(AssertionError, match=f"objective {kind.__name__}: .*{message}"):
        check(kind)


def test_replay_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    replay = Booster.replay

    def wrong(self: Booster, rounds: Any, edges: Any, state: Any) -> None:
        replay(self, rounds, [0.9 * edge for edge in edges], state)

    monkeypatch.setattr(Booster, "replay", wrong)
    with pytest.raises(
        AssertionError, match=r"objective AdaBoostMH: replayed after round 1: the w"
    ):
        testing.check_objective_resume(functools.partial(make_objective, "mh"))


def test_an_instance_is_a_clear_line() -> None:
    instance: Any = GentleBoost()
    with pytest.raises(SettingError, match=r"object of GentleBoost; .* or lambda: GentleBoost"):
        check_objective(instance)


def test_the_list_is_complete() -> None:
    names = {name for name in vars(testing) if name.startswith("check_objective_")}
    assert names == {check.__name__ for check in OBJECTIVE_CHECKS}
    assert names == {f"check_objective_{rule}" for _, rule, _ in BROKEN}


def test_values_must_be_finite() -> None:
    with pytest.raises(StrategyError, match=r"the objective NotANumber must return finite values"):
        testing.check_objective_model(NotANumber)
