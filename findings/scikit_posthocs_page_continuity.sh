#!/usr/bin/env bash
# scikit-posthocs 0.17.1: Page's test of errors has half the p-value of that of accuracies.
#
# `test_page` tests whether scores rise ("greater") or fall ("less") along an order of methods. Its
# docstring says that a continuity correction is always applied. The correction should move the
# statistic towards its mean; `test_page` subtracts 0.5 whatever the side, which moves it away for
# falling scores. Three methods on five data sets; errors are 1 - accuracy:
#                               test_page   exact (SciPy)
#   accuracies, "greater"         0.077         0.079
#   errors, "less"                0.041         0.079
#   accuracies, "two-sided"       0.155
#   errors, "two-sided"           0.082
# Under the null hypothesis, over all rankings of five data sets, "greater" rejects at 5 % in 3.9 %
# of the cases and "less" in 8.0 %; at 1 %, in 0.7 % and 1.8 %. With more methods or data sets the
# difference is smaller. There is no warning. Seen on Python 3.11 with SciPy 1.17.1. Order the
# columns so that the expected trend rises, or use scipy.stats.page_trend_test.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/page.py" <<'PYTHON'
from importlib.metadata import version
from itertools import permutations, product

import numpy as np
from scikit_posthocs import test_page
from scipy.stats import page_trend_test

N_METHODS, N_SETS = 3, 5
accuracies = np.array(
    [
        [0.81, 0.84, 0.86],
        [0.90, 0.91, 0.93],
        [0.72, 0.79, 0.75],
        [0.88, 0.86, 0.89],
        [0.70, 0.67, 0.69],
    ]
)
errors = 1 - accuracies


def p_value(table, alternative):
    return test_page(table, alternative=alternative)[0]


print("scikit-posthocs", version("scikit-posthocs"))
rising, falling = p_value(accuracies, "greater"), p_value(errors, "less")
exact = page_trend_test(accuracies, method="exact").pvalue
same = page_trend_test(errors, predicted_ranks=[3, 2, 1], method="exact").pvalue
assert np.isclose(exact, same), "both tables have the same ranks, in the other direction"
print(f'accuracies, "greater"     {rising:.3f}   exact {exact:.3f}')
print(f'errors, "less"            {falling:.3f}   exact {same:.3f}')
assert abs(rising - exact) < 0.005, "scikit-posthocs has changed"
assert falling < 0.05 < 1.8 * falling < exact, "scikit-posthocs has changed"
both = [p_value(table, "two-sided") for table in (accuracies, errors)]
print(f"two-sided                 {both[0]:.3f} and {both[1]:.3f}")
assert both[0] > 1.8 * both[1], "scikit-posthocs has changed"

rankings = [np.array(order) for order in permutations(range(1, N_METHODS + 1))]
tables, numbers = {}, {}
for rows in product(rankings, repeat=N_SETS):
    statistic = int(np.sum(rows, axis=0) @ np.arange(1, N_METHODS + 1))
    tables[statistic] = np.array(rows)
    numbers[statistic] = numbers.get(statistic, 0) + 1
total = sum(numbers.values())
assert total == 6**N_SETS
for level, largest, least in ((0.05, 0.04, 0.079), (0.01, 0.007, 0.018)):
    rejected = {
        side: sum(numbers[key] for key in tables if p_value(tables[key], side) < level) / total
        for side in ("greater", "less")
    }
    print(f'at {level}, "greater" rejects {rejected["greater"]:.4f}, "less" {rejected["less"]:.4f}')
    assert rejected["greater"] < largest and rejected["less"] > least, "scikit-posthocs has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet scikit-posthocs==0.17.1 scipy==1.17.1 numpy==2.4.6 \
    pandas==2.3.3 statsmodels==0.15.0
"$folder/venv/bin/python" "$folder/page.py"
