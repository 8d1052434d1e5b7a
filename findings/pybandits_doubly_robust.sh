#!/usr/bin/env bash
# pybandits 8.4.1: DoublyRobust is not doubly robust, and SwitchDoublyRobust switches the wrong way.
#
# Off-policy estimators value a new policy from the log of an old one. The doubly robust estimator
# (Dudik et al. 2014) adds weighted residuals to the value under a reward model: reward minus the
# modelled reward of the logged action. It is unbiased if the model or the propensities are right.
# pybandits subtracts the modelled value of the new policy in place of that of the logged action.
# Switch-DR (Wang et al. 2017) drops residuals whose weight exceeds a threshold. pybandits drops all
# others: with the default threshold, infinity, every one. The docstrings cite both papers and
# mention neither change. Mean errors over 50 logs of 1,000 rows and four actions, true value 0.39:
#                                               pybandits    right
#   exact model, uniform propensities
#     DoublyRobust()                              +0.073    +0.002
#   model 0.1 too low, exact propensities
#     DoublyRobust()                              +0.003    +0.003
#     SwitchDoublyRobust()                        -0.100    +0.003
#     ope.SwitchDoublyRobust(switch_threshold=5)      -0.115    -0.018
# SubGaussianInverseProbabilityWeighting ignores its shrinkage_factor. There is no error or warning.
# Seen on Python 3.11. Compute the estimates from weights and residuals, as below.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/policies.py" <<'PYTHON'
from importlib.metadata import version

import numpy as np
from pybandits import offline_policy_estimator as ope

N_ROWS, N_ACTIONS, THRESHOLD = 1000, 4, 5.0
ESTIMATORS = {
    "DoublyRobust": (ope.DoublyRobust(), np.inf),
    "SwitchDoublyRobust()": (ope.SwitchDoublyRobust(), np.inf),
    "SwitchDoublyRobust(5)": (ope.SwitchDoublyRobust(switch_threshold=THRESHOLD), THRESHOLD),
}


def softmax(scores):
    return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


def errors(seed, model_error, uniform):
    generator = np.random.default_rng(seed)
    means = generator.uniform(0.1, 0.9, (N_ROWS, N_ACTIONS))
    old, new = softmax(3 * means), softmax(-3 * means)
    action = (generator.random((N_ROWS, 1)) > old.cumsum(axis=1)).sum(axis=1)
    row = np.arange(N_ROWS)
    reward = (generator.random(N_ROWS) < means[row, action]).astype(int)
    log = {
        "action": action,
        "reward": reward,
        "propensity_score": np.full(N_ROWS, 1 / N_ACTIONS) if uniform else old[row, action],
        "estimated_policy": new,
        "expected_reward": means + model_error,
    }
    weight = new[row, action] / log["propensity_score"]
    model = (new * log["expected_reward"]).sum(axis=1)
    residual = weight * (reward - log["expected_reward"][row, action])
    assert np.allclose(ope.DirectMethod().estimate_sample_rewards(**log), model)
    plain = ope.InverseProbabilityWeighting().estimate_sample_rewards(**log)
    assert np.allclose(plain, weight * reward)
    shrunk = ope.SubGaussianInverseProbabilityWeighting(shrinkage_factor=0.5)
    assert np.array_equal(shrunk.estimate_sample_rewards(**log), plain), "pybandits has changed"
    true_value = (new * means).sum(axis=1).mean()
    pairs = ESTIMATORS.values()
    theirs = [estimator.estimate_sample_rewards(**log).mean() for estimator, _ in pairs]
    right = [(model + (weight <= threshold) * residual).mean() for _, threshold in pairs]
    return np.transpose([theirs, right]) - true_value


print("pybandits", version("pybandits"))
found = {}
for model_error, uniform in ((0.0, True), (-0.1, False)):
    logs = np.array([errors(seed, model_error, uniform) for seed in range(50)])
    found[uniform] = logs.mean(axis=0)
    print(f"model {model_error:+.1f}, {'uniform' if uniform else 'exact'} propensities")
    for name, (theirs, right) in zip(ESTIMATORS, found[uniform], strict=True):
        print(f"  {name:22} pybandits {theirs:+.3f}, right {right:+.3f}")
assert abs(found[True][0, 1]) < 0.01 and found[True][0, 0] > 0.05, "pybandits has changed"
assert abs(found[False][0]).max() < 0.01
assert abs(found[False][1:, 1]).max() < 0.03
assert found[False][1:, 0].max() < -0.09, "pybandits has changed"
PYTHON
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pybandits==8.4.1 numpy==2.4.6 scipy==1.17.1 \
    scikit-learn==1.9.1 pydantic==2.14.4 jax==0.9.2 numpyro==0.20.1
"$folder/venv/bin/python" "$folder/policies.py"
