#!/usr/bin/env bash
# SMPyBandits 0.9.7: exploration at random never pulls the last arm.
#
# `EpsilonGreedy` documents a fully uniform random exploration. It draws the arm by NumPy's
# randint(0, nbArms - 1), which excludes the upper bound: of two arms only the first is explored.
# The classes derived from it share the line: EpsilonFirst, EpsilonDecreasing, EpsilonExpDecreasing,
# ETC_KnownGap, ETC_RandomStop. Three arms with rewards of means 0.9, 0.5 and 0.2, 2,000 rounds, ten
# seeds; mean number of pulls of the best arm by its place:
#                                   first   second   last
#   EpsilonFirst, 10 % of rounds    1,902    1,897       0
#   EpsilonGreedy, epsilon 0.3      1,421    1,557     551
#   UCB                             1,919    1,918   1,915
# The 551 come from seeds in which a tie before the first reward chose the arm. So a comparison of
# policies depends on the order of the arms. There is no warning. Seen on Python 3.11 with SciPy
# 1.13.1; SciPy 1.17.1 lacks a function that the package imports. Permute the arms in each run, or
# add an arm without rewards at the end.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/arms.py" <<'PYTHON'
import random
from contextlib import redirect_stdout
from importlib.metadata import version

import numpy as np

with redirect_stdout(None):  # it lists optional packages that are missing
    from SMPyBandits.Policies import UCB, EpsilonFirst, EpsilonGreedy, ETC_RandomStop

MEANS = (0.9, 0.5, 0.2)
ROUNDS = 2000


def pulls(policy, means, seed):
    random.seed(seed)
    np.random.seed(seed)
    rewards = np.random.default_rng(seed)
    policy.startGame()
    counts = np.zeros(len(means), dtype=int)
    for _ in range(ROUNDS):
        arm = int(policy.choice())
        counts[arm] += 1
        policy.getReward(arm, float(rewards.random() < means[arm]))
    return counts


print("SMPyBandits", version("SMPyBandits"))
uniform = pulls(EpsilonGreedy(3, epsilon=1.0), MEANS, 0)
print("epsilon 1, three arms:", uniform)
assert uniform[:2].min() > 900 and uniform[2] == 0, "SMPyBandits has changed"
two = pulls(EpsilonGreedy(2, epsilon=1.0), MEANS[:2], 0)
print("epsilon 1, two arms:", two)
assert two.tolist() == [ROUNDS, 0], "SMPyBandits has changed"
assert pulls(ETC_RandomStop(3, horizon=ROUNDS), MEANS, 0)[2] == 0, "SMPyBandits has changed"

policies = {
    "EpsilonFirst": lambda: EpsilonFirst(3, horizon=ROUNDS, epsilon=0.1),
    "EpsilonGreedy": lambda: EpsilonGreedy(3, epsilon=0.3),
    "UCB": lambda: UCB(3),
}
best = {}
for name, policy in policies.items():
    best[name] = [
        np.mean([pulls(policy(), np.roll(MEANS, place), seed)[place] for seed in range(10)])
        for place in range(3)
    ]
    print(name, "pulls the best arm, first, second or last:", best[name])
assert min(best["UCB"]) > 1850
assert min(best["EpsilonFirst"][:2]) > 1800 and best["EpsilonFirst"][2] == 0
assert best["EpsilonGreedy"][2] < 1000 < min(best["EpsilonGreedy"][:2])
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet SMPyBandits==0.9.7 scipy==1.13.1 numpy==1.26.4 \
    scikit-learn==1.9.1 pandas==2.3.3 matplotlib==3.11.2
"$folder/venv/bin/python" "$folder/arms.py"
