"""What the three Maximum Adaptive Sampling strategies share: settings, probes, family models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer
from boostsample.errors import unknown
from boostsample.mixture import Mixture, fit_mixtures, sampling_variance
from boostsample.sampling import known_scheme
from boostsample.step import Step
from boostsample.strategy import Stumps

__all__ = [
    "beliefs",
    "check_settings",
    "draw_features",
    "model_families",
    "noise_of",
    "probe",
    "probing_search",
]

NOISES = {"paper": "edges as they are", "deconvolved": "known variance of the noise taken out"}
#: [DF11] 4.1: the modelling of MAS 1.Q and Q.1 accounts for 10 % of the total cost.
MODELLING_SHARE = 0.1
#: Features a family whose edges are modelled; fewer when the budget is short.
FEATURES_A_FAMILY = 16


def check_settings(n_components: int, noise: str, scheme: str) -> None:
    """SettingError for settings out of range."""
    check_integer("n_components", n_components, 1)
    if noise not in NOISES:
        raise unknown("noise", noise, NOISES)
    known_scheme(scheme)


def probe(budget: int, n_features: int, n_examples: int) -> tuple[int, int]:
    """Q and T of a search without a model: T = 4 Q, or more where features or examples run out.

    >>> probe(600_000, 16_000, 60_000)
    (387, 1550)
    """
    q = max(1, min(int(budget**0.5 / 2), n_features))
    t = min(budget // q, n_examples)
    return min(max(q, budget // t), n_features), t


def noise_of(edges: NDArray[np.float64], n_examples: int, exact: bool) -> float:
    """Variance of the noise in edges estimated on T examples; 0 where the sample is exact."""
    return 0.0 if exact or n_examples < 2 else sampling_variance(edges, n_examples)


def modelling_size(pool_sizes: Sequence[int], budget: int, n_examples: int) -> tuple[int, int]:
    """Features q a family and examples t of the modelling, 0 where it cannot be paid."""
    looks = int(MODELLING_SHARE * budget) // len(pool_sizes)
    q = min(FEATURES_A_FAMILY, max(pool_sizes), looks // 2)
    return (q, min(looks // q, n_examples)) if q >= 1 else (0, 0)


def model_families(step: Step, n_components: int, noise: str) -> list[Mixture] | None:
    """Mixtures of the edges of each family, from q features on t examples each.

    Charged as modelling, at most 10 % of the budget. None where that does not pay for one feature
    a family on two examples.
    """
    families = step.families
    q, t = modelling_size([family.size for family in families], step.budget, step.n_examples)
    if q == 0:
        return None
    members = [family.sample(q, step.rng) for family in families]
    sample = step.draw(t)
    stumps = step.search(np.concatenate(members), sample, purpose="modelling")
    ends = np.cumsum([part.size for part in members])
    edges = np.split(stumps.edge, ends[:-1])
    noises = [0.0] * len(edges)
    if noise == "deconvolved":
        noises = [noise_of(part, t, sample.exact) for part in edges]
    return fit_mixtures(edges, n_components, noise_variance=noises)


def beliefs(step: Step, q: int, t: int, expected: float, mixtures: Sequence[Mixture]) -> None:
    """Note Q, T, the expected edge, and the mixture, or the mean and deviation of each family."""
    step.note(planned_features=q, planned_examples=t, expected_edge=expected)
    if len(mixtures) == 1:
        one = mixtures[0]
        step.note(proportion=one.proportions, mean=one.means, deviation=np.sqrt(one.variances))
    elif mixtures:
        step.note(
            family_mean=np.array([m.mean for m in mixtures]),
            family_deviation=np.array([m.variance**0.5 for m in mixtures]),
        )


def draw_features(step: Step, q: int) -> NDArray[np.int64]:
    """Q different features of the whole pool, uniformly."""
    return step.rng.choice(step.n_features, size=q, replace=False, shuffle=False)


def probing_search(step: Step) -> tuple[Stumps, int, bool]:
    """Search without a model; the stumps, T, and whether the sample was exact."""
    q, t = probe(step.remaining, step.n_features, step.n_examples)
    sample = step.draw(t)
    step.note(planned_features=q, planned_examples=sample.size, expected_edge=None)
    return step.search(draw_features(step, q), sample), sample.size, sample.exact
