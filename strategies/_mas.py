"""Base of the Maximum Adaptive Sampling strategies: settings, probing searches, family models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer
from boostsample.errors import unknown
from boostsample.planning.mixture import (
    Mixture,
    Mixtures,
    fit_gaussians,
    fit_mixtures,
    sampling_variance,
)
from boostsample.shard.sampling_schemes import unbiased_scheme
from boostsample.step import Step
from boostsample.strategy import FamilyInfo, Pool, Strategy, Stumps

__all__ = [
    "MASStrategy",
    "mas_family_models",
    "mas_first_models",
    "mas_noise",
    "note_beliefs",
    "mas_probe",
    "mas_probing_search",
]

_NOISES = ("paper", "deconvolved")
#: [DF11] 4.1: the modelling of MAS 1.Q and Q.1 accounts for 10 % of the total cost.
_MODELLING_SHARE = 0.1
#: Features searched per family to model its edges; fewer when the budget is short.
_FEATURES_PER_FAMILY = 16


@dataclass(eq=False, repr=False)
class MASStrategy(Strategy):
    """Settings of the Maximum Adaptive Sampling strategies, and their checks.

    Parameters
    ----------
    n_components : int
        Components of each mixture, here of each family's.
    noise : {"paper", "deconvolved"}
        Model the estimated edges as they are, or remove the known variance of their noise.
    scheme : str
        How samples are drawn, see `Step.draw`.
    """

    n_components: int = 1
    noise: str = "paper"
    scheme: str = "iid"

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings."""
        check_integer("n_components", self.n_components, 1)
        if self.noise not in _NOISES:
            raise unknown("noise", self.noise, _NOISES)
        unbiased_scheme(self.scheme)


def mas_probe(budget: int, n_features: int, n_examples: int) -> tuple[int, int]:
    """Q and T of a search without a model: T = 4 Q, or more if features or examples run out.

    >>> mas_probe(600_000, 16_000, 60_000)
    (387, 1550)
    """
    q = max(1, min(int(budget**0.5 / 2), n_features))
    t = min(budget // q, n_examples)
    return min(max(q, budget // t), n_features), t


def mas_probing_search(step: Step) -> tuple[Stumps, int, bool]:
    """Search all families without a model; returns stumps, T, and whether the sample is exact."""
    q, t = mas_probe(step.remaining, step.n_features, step.n_examples)
    sample = step.draw(t)
    note_beliefs(step, q, sample.size, None, [])
    features = step.rng.choice(step.n_features, size=q, replace=False, shuffle=False)
    return step.search(features, sample), sample.size, sample.exact


def mas_noise(edges: NDArray[np.float64], n_examples: int, exact: bool) -> float:
    """Variance of the noise in edges estimated on T examples; 0 if the sample is exact."""
    return 0.0 if exact or n_examples < 2 else sampling_variance(edges, n_examples)


def mas_family_models(step: Step, n_components: int, noise: str) -> Sequence[Mixture] | None:
    """Mixtures of the edges of each family, from q features on t examples each.

    Costs at most 10 % of the budget, charged as modelling. None in the first round, and if that
    share does not pay for one feature of each family on two examples.
    """
    counts, size = _modelled(step.families, step.budget, step.n_examples)
    if step.round == 1 or size == 0:
        return None
    features = step.sample_members(counts)
    sample = step.draw(size)
    edges = step.search(features, sample, purpose="modelling").edge
    return _fit_families(edges, counts, n_components, noise, sample.size, sample.exact)


def mas_first_models(
    pool: Pool, budget: int, n_components: int, noise: str
) -> tuple[Sequence[Mixture], int] | None:
    """Models of edges that are all 0, and the looks that they leave: for `start`.

    A plan from these compiles and caches what later rounds need. None if no round has models.
    """
    counts, size = _modelled(pool.families, budget, pool.n_examples)
    if size == 0:
        return None
    edges = np.zeros(sum(counts))
    edges.setflags(write=False)  # as the edges of a search: kernels are compiled for this, too
    models = _fit_families(edges, counts, n_components, noise, size, size == pool.n_examples)
    if n_components == 1 and noise == "paper":  # nodes of trees search fewer features
        fit_gaussians(edges[:1].reshape(1, 1))
    return models, budget - edges.size * size


def _modelled(
    families: Sequence[FamilyInfo], budget: int, n_examples: int
) -> tuple[list[int], int]:
    """Features of each family to search for its model, and T; T = 0 if the budget is too small."""
    sizes = [family.size for family in families]
    looks = int(_MODELLING_SHARE * budget) // len(sizes)
    q = min(_FEATURES_PER_FAMILY, max(sizes), looks // 2)
    return [min(q, size) for size in sizes], min(looks // q, n_examples) if q else 0


def _fit_families(
    edges: NDArray[np.float64],
    counts: list[int],
    n_components: int,
    noise: str,
    n_examples: int,
    exact: bool,
) -> Sequence[Mixture]:
    """A mixture for each family from the edges of its searched features."""
    if n_components == 1 and noise == "paper" and min(counts) == max(counts):
        return fit_gaussians(edges.reshape(-1, counts[0]))
    parts = np.split(edges, np.cumsum(counts)[:-1])
    noises = 0.0 if noise == "paper" else [mas_noise(e, n_examples, exact) for e in parts]
    return fit_mixtures(parts, n_components, noise_variance=noises)


def note_beliefs(
    step: Step, q: int, t: int, expected: float | None, mixtures: Sequence[Mixture], **more: Any
) -> None:
    """Note Q, T, the expected edge, and the mixture, or the mean and deviation of each family."""
    models: dict[str, Any] = {}
    if len(mixtures) == 1:
        (mixture,) = mixtures
        models = {
            "proportion": mixture.proportions,
            "mean": mixture.means,
            "deviation": np.sqrt(mixture.variances),
        }
    elif isinstance(mixtures, Mixtures):
        means, variances = mixtures.moments()
        models = {"family_mean": means, "family_deviation": [v**0.5 for v in variances]}
    step.note(planned_features=q, planned_examples=t, expected_edge=expected, **models, **more)
