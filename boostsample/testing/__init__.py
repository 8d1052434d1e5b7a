"""What any strategy and any feature family must do: one small check for each rule.

The checks of strategies take a function that makes the strategy, always with the same settings;
those of families take a family and a few examples. They raise an AssertionError that tells which
rule is broken and where, and need no test framework:

    from boostsample.testing.strategies import check_strategy

    check_strategy(lambda: MyStrategy(n_features=3))

In pytest, parametrise over `STRATEGY_CHECKS` or `FAMILY_CHECKS` to see each rule by its name.
"""

from __future__ import annotations

from boostsample.testing.families import (
    FAMILY_CHECKS,
    check_family,
    check_family_deterministic,
    check_family_dtypes,
    check_family_errors,
    check_family_examples,
    check_family_features,
    check_family_finite,
    check_family_input,
    check_family_layouts,
    check_family_names,
    check_family_pickling,
    check_family_range,
    check_family_result,
    check_family_settings,
    check_family_sizes,
    check_family_threads,
)
from boostsample.testing.strategies import (
    STRATEGY_CHECKS,
    Make,
    check_strategy,
    check_strategy_beyond_the_plan,
    check_strategy_budgets,
    check_strategy_constant_features,
    check_strategy_edge_of_one,
    check_strategy_example_weights,
    check_strategy_few_examples,
    check_strategy_global_random_state,
    check_strategy_instance_untouched,
    check_strategy_keeps_nothing,
    check_strategy_many_labels,
    check_strategy_missing_values,
    check_strategy_multi_label,
    check_strategy_one_family,
    check_strategy_one_feature,
    check_strategy_pickling,
    check_strategy_resume,
    check_strategy_rows,
    check_strategy_same_seed,
    check_strategy_settings,
    check_strategy_spending,
    check_strategy_state,
    check_strategy_two_classes,
)

__all__ = [
    "FAMILY_CHECKS",
    "STRATEGY_CHECKS",
    "Make",
    "check_family",
    "check_family_deterministic",
    "check_family_dtypes",
    "check_family_errors",
    "check_family_examples",
    "check_family_features",
    "check_family_finite",
    "check_family_input",
    "check_family_layouts",
    "check_family_names",
    "check_family_pickling",
    "check_family_range",
    "check_family_result",
    "check_family_settings",
    "check_family_sizes",
    "check_family_threads",
    "check_strategy",
    "check_strategy_beyond_the_plan",
    "check_strategy_budgets",
    "check_strategy_constant_features",
    "check_strategy_edge_of_one",
    "check_strategy_example_weights",
    "check_strategy_few_examples",
    "check_strategy_global_random_state",
    "check_strategy_instance_untouched",
    "check_strategy_keeps_nothing",
    "check_strategy_many_labels",
    "check_strategy_missing_values",
    "check_strategy_multi_label",
    "check_strategy_one_family",
    "check_strategy_one_feature",
    "check_strategy_pickling",
    "check_strategy_resume",
    "check_strategy_rows",
    "check_strategy_same_seed",
    "check_strategy_settings",
    "check_strategy_spending",
    "check_strategy_state",
    "check_strategy_two_classes",
]
