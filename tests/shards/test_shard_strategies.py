"""Every strategy passes the public checks over shards, with every learner."""

from __future__ import annotations

import functools
import os
from typing import Any

import pytest

from boostsample.errors import SettingError
from boostsample.registry import STRATEGIES, make_strategy
from boostsample.strategies import Laminating
from boostsample.testing import STRATEGY_CHECKS, Make, over_shards
from boostsample.testing.strategies import noisy_strategy_problem, run_strategy
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


def make_of(name: str) -> Make:
    return OTHERS.get(name) or functools.partial(make_strategy, name)


@slow_without_jit
@pytest.mark.parametrize("name", [*_NAMES, *OTHERS])
def test_strategies(name: str) -> None:
    with over_shards(3):
        for check in STRATEGY_CHECKS:
            if _named(check) not in _WITHOUT_SHARDS:
                check(make_of(name))


@slow_without_jit
@pytest.mark.parametrize("name", _NAMES)
def test_with_trees(name: str) -> None:
    with over_shards(3):
        for check in STRATEGY_CHECKS:
            if _named(check) in WITH_LEARNERS:
                check(make_of(name), "tree:n_leaves=4")


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        *((name, "over shards, the number of examples") for name in sorted(_REFUSED)),
        *(
            (f"uniform-naive:n_features=4:scheme={scheme}", "over shards, scheme must be .* use")
            for scheme in ("mvs", "goss", "uniform", "heaviest")
        ),
    ],
)
def test_strategies_and_schemes_that_are_refused(strategy: str, message: str) -> None:
    with over_shards(2), pytest.raises(SettingError, match=message):
        run_strategy(make_of(strategy), noisy_strategy_problem())


def test_the_checks_run_over_shards() -> None:
    """Not beside them: the columns of shards are there, and only inside the context."""

    def make() -> Laminating:
        return Laminating(n_features=4)

    with over_shards(2):
        inside = run_strategy(make, noisy_strategy_problem()).rounds[0].rows[0]
    outside = run_strategy(make, noisy_strategy_problem()).rounds[0].rows[0]
    assert inside["messages"] == 2 * 3
    assert "messages" not in outside
