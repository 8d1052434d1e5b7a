"""Multi-armed bandits: UCB1, UCB-V, Exp3.P, epsilon-greedy, explore-then-commit, Hedge, rewards.

A policy sees only arm numbers and rewards between 0 and 1, so it works on any bandit.

===================  ===================================================  =================
class                rule                                                 draws
===================  ===================================================  =================
`UCB1`               mean + sqrt(2 log t / n), Auer et al. 2002a, [BK09]  k largest indices
`UCBV`               the same with the variance, Audibert et al. 2009     k largest indices
`Exp3P`              probabilities, Auer et al. 2002b, [BK10] Figure 2    k at random
`EpsilonGreedy`      mean, with some uniform pulls, Auer et al. 2002a     partly at random
`ExploreThenCommit`  m pulls of each arm, then the best mean              k largest indices
`Hedge`              exponential weights, rewards of all arms             k at random
===================  ===================================================  =================

>>> import numpy as np
>>> from boostsample.bandits import UCB1
>>> rng = np.random.default_rng(0)
>>> policy = UCB1(n_arms=3)
>>> for _ in range(500):
...     arms = policy.select(rng)
...     policy.update(arms, rng.random(arms.size) < np.array([0.2, 0.5, 0.8])[arms])
>>> int(policy.counts_.argmax())
2

References: Auer, Cesa-Bianchi, Fischer, Finite-time analysis of the multiarmed bandit problem, 2002
("2002a"); Auer, Cesa-Bianchi, Freund, Schapire, The nonstochastic multiarmed bandit problem, 2002
("2002b"); Audibert, Munos, Szepesvari, Exploration-exploitation tradeoff using variance estimates
in multi-armed bandits, 2009; [BK09], [BK10] Busa-Fekete and Kegl, 2009 and 2010; [DF11] Dubout and
Fleuret, 2011; [LS20] Lattimore and Szepesvari, Bandit algorithms, 2020.
"""

from boostsample.bandits.epsilon_greedy import EpsilonGreedy
from boostsample.bandits.exp3p import (
    Exp3P,
    draw_arms,
    exp3p_probabilities,
    exp3p_theory,
    exp3p_update,
    inclusion,
)
from boostsample.bandits.explore_then_commit import ExploreThenCommit
from boostsample.bandits.hedge import Hedge
from boostsample.bandits.policy import IndexPolicy, Policy, best_arms
from boostsample.bandits.rewards import REWARDS, log_edge, reward, root, squared_edge
from boostsample.bandits.ucb1 import UCB1, ucb1_indices
from boostsample.bandits.ucbv import UCBV, ucbv_indices

__all__ = [
    "REWARDS",
    "UCB1",
    "UCBV",
    "EpsilonGreedy",
    "Exp3P",
    "ExploreThenCommit",
    "Hedge",
    "IndexPolicy",
    "Policy",
    "best_arms",
    "draw_arms",
    "exp3p_probabilities",
    "exp3p_theory",
    "exp3p_update",
    "inclusion",
    "log_edge",
    "reward",
    "root",
    "squared_edge",
    "ucb1_indices",
    "ucbv_indices",
]
