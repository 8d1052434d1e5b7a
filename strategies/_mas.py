"""What the three Maximum Adaptive Sampling strategies share: settings, probes, family models."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer
from boostsample.errors import unknown
from boostsample.kernels.members import draw_different
from boostsample.loop.sampling import known_scheme
from boostsample.planning.mixture import (
    Mixture,
    Mixtures,
    fit_gaussians,
    fit_mixtures,
    sampling_variance,
)
from boostsample.step import Step
from boostsample.strategy import FamilyInfo, Stumps

__all__ = [
    "beliefs",
    "check_settings",
    "draw_features",
    "draw_members",
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
#: Families up to this size are drawn from by Floyd's algorithm, whatever the number of features.
_FLOYD = 10_000


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


class _Design(NamedTuple):
    """What of the models is the same in every round.

    `counts` of each family's features on `n_examples`, their `ends`, and whether all are the same.
    """

    counts: tuple[int, ...]
    n_examples: int
    ends: tuple[int, ...]
    are_even: bool


@lru_cache(maxsize=256)
def _design(families: tuple[FamilyInfo, ...], budget: int, n_examples: int) -> _Design:
    sizes = [family.size for family in families]
    q, t = modelling_size(sizes, budget, n_examples)
    counts = tuple(min(q, size) for size in sizes)
    return _Design(counts, t, tuple(accumulate(counts, initial=0)), len(set(counts)) == 1)


def model_families(step: Step, n_components: int, noise: str) -> Sequence[Mixture] | None:
    """Mixtures of the edges of each family, from q features on t examples each.

    Charged as modelling, at most 10 % of the budget. None in the first round, and where that does
    not pay for one feature a family on two examples.
    """
    design = _design(tuple(step.families), step.budget, step.n_examples)
    if step.round == 1 or design.n_examples == 0:
        return None
    members = draw_members(step.families, design.counts, step.rng)
    sample = step.draw(design.n_examples)
    stumps = step.search(members, sample, purpose="modelling")
    if design.are_even and n_components == 1 and noise == "paper":
        return fit_gaussians(stumps.edge.reshape(len(design.counts), -1))
    edges = [stumps.edge[first:end] for first, end in pairwise(design.ends)]
    noises = [0.0] * len(edges)
    if noise == "deconvolved":
        noises = [noise_of(part, design.n_examples, sample.exact) for part in edges]
    return fit_mixtures(edges, n_components, noise_variance=noises)


def beliefs(
    step: Step, q: int, t: int, expected: float, mixtures: Sequence[Mixture], **more: Any
) -> None:
    """Note Q, T, the expected edge, and the mixture, or the mean and deviation of each family."""
    models: dict[str, Any] = {}
    if len(mixtures) == 1:
        one = mixtures[0]
        models = {
            "proportion": one.proportions,
            "mean": one.means,
            "deviation": np.sqrt(one.variances),
        }
    elif isinstance(mixtures, Mixtures):
        means, variances = mixtures.moments()
        models = {
            "family_mean": means,
            "family_deviation": [each**0.5 for each in variances],
        }
    step.note(planned_features=q, planned_examples=t, expected_edge=expected, **models, **more)


def draw_features(step: Step, q: int) -> NDArray[np.int64]:
    """Q different features of the whole pool, uniformly."""
    return step.rng.choice(step.n_features, size=q, replace=False, shuffle=False)


def draw_members(
    families: Sequence[FamilyInfo], counts: Sequence[int], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Different features of each family: as one call of `FamilyInfo.sample` after another gives.

    A call costs 10 to 40 us, which for ten families is longer than planning. NumPy follows Floyd's
    algorithm where the family is no larger than _FLOYD, and so does the kernel.
    """
    families, counts = tuple(families), tuple(counts)
    places = _places(families, counts)
    if places is None:
        return np.concatenate(
            [family.sample(n, rng) for family, n in zip(families, counts, strict=True)]
        )
    members = np.empty(sum(counts), np.int64)
    function, state = _addresses(rng.bit_generator)
    with rng.bit_generator.lock:
        draw_different(function, state, *places, members)
    return members


@lru_cache(maxsize=256)
def _places(
    families: tuple[FamilyInfo, ...], counts: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
    """Sizes, counts and first features; None where NumPy does not follow Floyd's algorithm."""
    each = [(family.size, n, family.first) for family, n in zip(families, counts, strict=True)]
    sizes, numbers, first = np.array(each, np.int64).T.copy()
    if sizes.max() > _FLOYD or np.any(numbers >= sizes):
        return None
    return sizes, numbers, first


@lru_cache(maxsize=16)
def _addresses(generator: np.random.BitGenerator) -> tuple[int, int]:
    """Where the function is that draws 32 bits, and what it changes."""
    functions = generator.ctypes
    address = ctypes.cast(functions.next_uint32, ctypes.c_void_p).value
    return address or 0, functions.state_address


def probing_search(step: Step) -> tuple[Stumps, int, bool]:
    """Search without a model; the stumps, T, and whether the sample was exact."""
    q, t = probe(step.remaining, step.n_features, step.n_examples)
    sample = step.draw(t)
    step.note(planned_features=q, planned_examples=sample.size, expected_edge=None)
    return step.search(draw_features(step, q), sample), sample.size, sample.exact
