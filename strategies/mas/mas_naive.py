"""MAS Naive: choose Q and T from a Gaussian mixture fitted to the last round's edges.

Cost per iteration: one search of Q features on T examples, Q T at most the budget; fitting and
choosing cost no looks and about 0.1 ms. Source: [DF11] section 4.1, e(Q,T) of eq. 9-13.
The paper leaves open: the number of components (3), candidates and quadrature (see
`boostsample.planning.expected_edge`), and the first rounds. Rounds 1 and 2 are probes with T = 4 Q:
under uniform initial weights the first edges are all (K-2)/K and show no spread. At least
the last 32 edges are kept, because a round may search few features. Nodes of trees, whose edges are
of other examples, are probes too, and their edges are not kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boostsample.planning.expected_edge import best_expected_edge
from boostsample.planning.mixture import fit_mixture
from boostsample.step import Step
from boostsample.strategies.mas._mas import MASStrategy, mas_noise, mas_probing_search, note_beliefs
from boostsample.strategy import Pool, Stump

#: Edges that are kept, at least: a search of few features alone gives no spread.
_LEAST_EDGES = 32
#: With fewer, the mixture overfits: its spread is too small, and Q would stay small.
_EDGES_PER_COMPONENT = 20


@dataclass(eq=False, repr=False)
class MASNaive(MASStrategy):
    """Maximum Adaptive Sampling without families.

    Parameters
    ----------
    n_components : int
        Maximum number of components of the mixture; one for each 20 edges.
    noise, scheme
        See `MASStrategy`.
    """

    n_components: int = 3

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings and remove all edges; compile what plans need."""
        super().start(pool, budget, n_rounds, rng)
        nothing = fit_mixture([0.0], 1)
        best_expected_edge(nothing, pool.n_features, pool.n_examples, budget)
        self.edges_ = np.empty(0)
        self.noises_ = np.empty(0)

    def choose(self, step: Step) -> Stump:
        """Choose Q and T from the last edges, search, keep the new edges."""
        if self.edges_.size == 0 or not step.whole:
            stumps, size, exact = mas_probing_search(step)
        else:
            noises = self.noises_ if self.noise == "deconvolved" else 0.0
            n_components = max(1, min(self.n_components, self.edges_.size // _EDGES_PER_COMPONENT))
            mixture = fit_mixture(self.edges_, n_components, noise_variance=noises)
            q, t, edge = best_expected_edge(mixture, step.n_features, step.n_examples, step.budget)
            note_beliefs(step, q, t, edge, [mixture])
            sample = step.draw(t, self.scheme)
            features = step.rng.choice(step.n_features, size=q, replace=False, shuffle=False)
            stumps = step.search(features, sample)
            size, exact = sample.size, sample.exact
        if step.round > 1 and step.whole:
            self._keep(stumps.edge, mas_noise(stumps.edge, size, exact))
        return stumps.best()

    def _keep(self, edges: NDArray[np.float64], noise: float) -> None:
        """Keep the newest edges, and older ones as long as there are fewer than 32."""
        older = max(0, _LEAST_EDGES - edges.size)
        self.edges_ = np.concatenate([edges, self.edges_[:older]])
        self.noises_ = np.concatenate([np.full(edges.size, noise), self.noises_[:older]])
