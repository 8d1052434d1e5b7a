"""MAS Naive: plan Q and T from a Gaussian mixture fitted to the last round's edges.

Cost per iteration: one search of Q features on T examples, Q T at most the budget; EM and the
planning cost no looks and about 0.1 ms. Source: [DF11] section 4.1, e(Q,T) of eq. 9-13.
Left open by the paper: the number of components (3), grid and quadrature (see
`boostsample.planning.expected_edge`), and the first round. Round 1 is a probe, T = 4 Q, and so is round 2:
under uniform initial weights the first edges are all (K-2)/K and say nothing of the spread. A round
that searched few features would starve the next model, so edges are kept until 32 are together.
"""

from __future__ import annotations

import numpy as np

from boostsample.planning.expected_edge import plan
from boostsample.planning.mixture import fit_mixture
from boostsample.step import Step
from boostsample.strategies._mas import (
    beliefs,
    check_settings,
    draw_features,
    noise_of,
    probing_search,
)
from boostsample.strategy import Pool, Strategy, Stump

__all__ = ["MASNaive"]

_LEAST_EDGES = 32
#: Fewer edges a component overfit: the spread looks too small, and Q would stay small for good.
_EDGES_A_COMPONENT = 20


class MASNaive(Strategy):
    """Maximum Adaptive Sampling without families.

    Parameters
    ----------
    n_components : int
        Most components of the mixture; one for each 20 edges.
    noise : {"paper", "deconvolved"}
        Model the estimated edges as they are, or take out the known variance of their noise.
    scheme : str
        How samples are drawn, see `Step.draw`.
    """

    def __init__(self, n_components: int = 3, noise: str = "paper", scheme: str = "iid") -> None:
        self.n_components = n_components
        self.noise = noise
        self.scheme = scheme

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings, forget all edges."""
        check_settings(self.n_components, self.noise, self.scheme)
        self.edges_ = np.empty(0)
        self.noises_ = np.empty(0)

    def choose(self, step: Step) -> Stump:
        """Plan from the last edges, search, keep the new ones."""
        if self.edges_.size == 0:
            stumps, size, exact = probing_search(step)
        else:
            noises = self.noises_ if self.noise == "deconvolved" else 0.0
            n_components = max(1, min(self.n_components, self.edges_.size // _EDGES_A_COMPONENT))
            mixture = fit_mixture(self.edges_, n_components, noise_variance=noises)
            planned = plan(mixture, step.n_features, step.n_examples, step.budget)
            beliefs(step, planned.n_features, planned.n_examples, planned.edge, [mixture])
            sample = step.draw(planned.n_examples, self.scheme)
            stumps = step.search(draw_features(step, planned.n_features), sample)
            size, exact = sample.size, sample.exact
        if step.round > 1:
            self._keep(stumps.edge, noise_of(stumps.edge, size, exact))
        return stumps.best()

    def _keep(self, edges: np.ndarray[tuple[int], np.dtype[np.float64]], noise: float) -> None:
        """The newest edges, and older ones only while fewer than 32 are together."""
        older = max(0, _LEAST_EDGES - edges.size)
        self.edges_ = np.concatenate([edges, self.edges_[:older]])
        self.noises_ = np.concatenate([np.full(edges.size, noise), self.noises_[:older]])
