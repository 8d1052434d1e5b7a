"""Checks for any strategy, feature family, learner and objective.

Checks of strategies and objectives take a function that makes one, always with the same settings;
checks of families take a family and a few examples. They raise an AssertionError that names the
broken rule and the place, and need no test framework:

    from boostsample.testing import check_strategy

    check_strategy(lambda: MyStrategy(n_features=3))

In pytest, parametrise over `STRATEGY_CHECKS`, `FAMILY_CHECKS` or `OBJECTIVE_CHECKS` to see each
rule by its name.
"""

from boostsample.testing import families, objectives, strategies
from boostsample.testing.families import *  # noqa: F403 - its __all__ is exported below
from boostsample.testing.learners import check_learner
from boostsample.testing.objectives import *  # noqa: F403 - its __all__ is exported below
from boostsample.testing.strategies import *  # noqa: F403 - its __all__ is exported below

__all__ = ["check_learner"]
__all__ += families.__all__
__all__ += objectives.__all__
__all__ += strategies.__all__
