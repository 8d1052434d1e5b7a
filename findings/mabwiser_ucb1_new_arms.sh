#!/usr/bin/env bash
# MABWiser 2.7.4: UCB1 never chooses an arm of which it has no reward yet, while others have some.
#
# UCB1 (Auer et al. 2002) plays each arm once before it compares bounds. MABWiser gives an arm without
# decisions the bound 0, and arms of rewards in [0, 1] have larger ones: the arm is not chosen, for
# any alpha, neither if it was missing in `fit` nor if `add_arm` brought it. Arms 1, 2 and 3 have
# rewards of means 0.2, 0.3 and 0.9; `fit` has two rewards each of arms 1 and 2. Choices of the next
# 3,000 rounds:
#   alpha     arm 1   arm 2   arm 3, the best
#   1           439   2,561       0
#   5         1,254   1,746       0
# With one reward of arm 3 in `fit` it is chosen in most rounds. Seen on Python 3.11. Give each arm a
# decision before `predict`, or use `warm_start`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/arms.py" <<'PYTHON'
from importlib.metadata import version

import numpy as np
from mabwiser.mab import MAB, LearningPolicy

MEANS = {1: 0.2, 2: 0.3, 3: 0.9}


def choices(alpha, decisions, rewards, *, added=()):
    draws = np.random.default_rng(0)
    chosen = dict.fromkeys(MEANS, 0)
    bandit = MAB([arm for arm in MEANS if arm not in added], LearningPolicy.UCB1(alpha), seed=1)
    bandit.fit(decisions, rewards)
    for arm in added:
        bandit.add_arm(arm)
    for _ in range(3000):
        arm = bandit.predict()
        chosen[arm] += 1
        bandit.partial_fit([arm], [float(draws.random() < MEANS[arm])])
    return chosen


print("MABWiser", version("mabwiser"))
for alpha in (1, 5):
    missing = choices(alpha, [1, 1, 2, 2], [0, 1, 0, 1])
    added = choices(alpha, [1, 1, 2, 2], [0, 1, 0, 1], added=(3,))
    known = choices(alpha, [1, 1, 2, 2, 3], [0, 1, 0, 1, 1])
    print(f"alpha {alpha}: missing in fit {missing}, added {added}, one reward {known}")
    assert missing[3] == added[3] == 0, "MABWiser has changed"
    assert known[3] == max(known.values()), "MABWiser has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mabwiser==2.7.4
"$folder/venv/bin/python" "$folder/arms.py"
