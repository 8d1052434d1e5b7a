"""Every strategy passes the public checks over shards, with every learner."""

from __future__ import annotations

import functools
import os
from typing import Any

import pytest

from boostsample.errors import SettingError
from boostsample.registry import STRATEGIES, make_strategy
from boostsample.strategies import Laminating, UniformNaive
from boostsample.testing import STRATEGY_CHECKS, Make, over_shards
from tests.strategies.test_strategies import WITH_LEARNERS

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
slow_without_jit = pytest.mark.skipif(not COMPILED, reason="hundreds of runs a strategy")

OTHERS: dict[str, Make] = {
    "laminating-distinct": functools.partial(Laminating, scheme="distinct"),
    "laminating-stratified": functools.partial(Laminating, scheme="stratified"),
}
#: Strategies that ask for weights which no shard knows, or draw by them: refused, see below.
_REFUSED = {"quickboost", "weight-trimming"}
_NAMES = [name for name in STRATEGIES if name not in _REFUSED]
#: Shards make generators from the seeds that they are sent, which this check takes for the
#: strategy's own, and refuse schemes without a promise when they draw: checked without shards.
_WITHOUT_SHARDS = ("own_seed", "schemes")


def _named(check: Any) -> str:
    return str(check.__name__).removeprefix("check_strategy_")


@slow_without_jit
@pytest.mark.parametrize("name", _NAMES)
def test_registered_strategy(name: str) -> None:
    with over_shards(3):
        for check in STRATEGY_CHECKS:
            if _named(check) not in _WITHOUT_SHARDS:
                check(functools.partial(make_strategy, name))


@slow_without_jit
@pytest.mark.parametrize("name", OTHERS)
def test_other_schemes(name: str) -> None:
    with over_shards(3):
        for check in STRATEGY_CHECKS:
            if _named(check) not in _WITHOUT_SHARDS:
                check(OTHERS[name])


@slow_without_jit
@pytest.mark.parametrize("name", _NAMES)
def test_with_trees(name: str) -> None:
    with over_shards(3):
        for check in STRATEGY_CHECKS:
            if _named(check) in WITH_LEARNERS:
                check(functools.partial(make_strategy, name), "tree:n_leaves=4")


@pytest.mark.parametrize("name", sorted(_REFUSED))
def test_strategies_that_are_refused(name: str) -> None:
    from boostsample.testing.strategies import noisy_strategy_problem, run_strategy

    with over_shards(2), pytest.raises(SettingError, match="over shards, the number of examples"):
        run_strategy(functools.partial(make_strategy, name), noisy_strategy_problem())


@pytest.mark.parametrize("scheme", ["mvs", "goss", "uniform", "heaviest"])
def test_schemes_that_are_refused(scheme: str) -> None:
    from boostsample.testing.strategies import noisy_strategy_problem, run_strategy

    strategy = functools.partial(UniformNaive, n_features=4, scheme=scheme)
    with over_shards(2), pytest.raises(SettingError, match=r"over shards, scheme must be .* use"):
        run_strategy(strategy, noisy_strategy_problem())


def test_the_checks_run_over_shards() -> None:
    """Not beside them: the columns of shards are there, and only inside the context."""
    from boostsample.testing.strategies import noisy_strategy_problem, run_strategy

    def make() -> Laminating:
        return Laminating(n_features=4)

    with over_shards(2):
        inside = run_strategy(make, noisy_strategy_problem()).rounds[0].rows[0]
    outside = run_strategy(make, noisy_strategy_problem()).rounds[0].rows[0]
    assert inside["messages"] == 2 * 3
    assert "messages" not in outside
