#!/usr/bin/env bash
# river 0.26.1: the bandit Exp3 ends with an error after some thousands of rewards.
#
# Rewards are in [0, 1], as Auer et al. (2002) ask. Exp3 multiplies the weight of the arm that was
# pulled by exp(gamma * reward / (probability * arms)), at least 1, and never scales the weights down:
# they grow until one of them is infinite, and the next pull raises
#   ValueError: Total of weights must be finite
# With three arms of rewards 0 or 1 (0.2, 0.5 and 0.9 of them 1) this was pull 4,739 for gamma = 0.5,
# and 23,632 for gamma = 0.1. Seen on Python 3.11. Keep the logarithms of the weights, and subtract
# their largest before exponentials are taken.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/pulls.py" <<'PYTHON'
from importlib.metadata import version

import numpy as np
from river.bandit import Exp3

print("river", version("river"))
for gamma, most in ((0.5, 10_000), (0.1, 50_000)):
    policy, draws, error = Exp3(gamma=gamma, seed=1), np.random.default_rng(0), ""
    for pull in range(1, most + 1):
        try:
            arm = policy.pull(range(3))
        except ValueError as failed:
            error = str(failed)
            break
        policy.update(arm, float(draws.random() < (0.2, 0.5, 0.9)[arm]))
    print(f"gamma {gamma}: pull {pull:,}: {error}")
    assert error == "Total of weights must be finite", "river has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet river==0.26.1 numpy==2.4.6
"$folder/venv/bin/python" "$folder/pulls.py"
