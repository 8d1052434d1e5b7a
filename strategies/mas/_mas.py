"""Base of the Maximum Adaptive Sampling strategies: settings, probing searches, family models."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer, check_known
from boostsample.planning.mixture import (
    Mixture,
    Mixtures,
    fit_gaussians,
    fit_mixtures,
    sampling_variance,
)
from boostsample.rows.sampling_schemes import unbiased_scheme
from boostsample.step import Step
from boostsample.strategy import FamilyInfo, Pool, Strategy, Stumps

#: [DF11] 4.1: the modelling of MAS 1.Q and Q.1 accounts for 10 % of the total cost.
_MODELLING_SHARE = 0.1
#: Features searched per family to model its edges; fewer when the budget is short.
_FEATURES_PER_FAMILY = 16
#: Rounds in which edges change little: this part of those done, 2.5 %. Edges fall like a power of
#: the round, by about r^(-1/3) on MNIST, which is 1 % in r/40 rounds.
_ROUNDS_PER_ROUND = 40


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
        How samples of planned searches are drawn, see `Step.draw`. Those of models and of probes of
        all features are independent draws, whose noise is known.
    """

    noises: ClassVar[tuple[str, ...]] = ("paper", "deconvolved")

    n_components: int = 1
    noise: str = "paper"
    scheme: str = "iid"

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings."""
        check_integer("n_components", self.n_components, 1)
        check_known("noise", self.noise, self.noises)
        unbiased_scheme(self.scheme)


class MASFamilyStrategy(MASStrategy):
    """Settings of the strategies that model each family, and these models.

    Parameters
    ----------
    n_components, scheme
        See `MASStrategy`.
    noise : {"paper", "deconvolved", "averaged"}
        Model the edges of a few features and examples of this round as they are, or without the
        known variance of their noise. `averaged`: the families take turns over about r / 40 rounds,
        r being the round; each round models fewer features on r / 40 times the examples, and the
        last edges of each family are its model, at least 16 of this and earlier rounds, those of
        the searches included; nodes of trees are modelled as with `paper`. Up to round 40 that is
        `paper`, to the bit, if the budget pays for 16 features of each family.
    """

    noises: ClassVar[tuple[str, ...]] = ("paper", "deconvolved", "averaged")

    @staticmethod
    @abc.abstractmethod
    def plan(
        mixtures: Sequence[Mixture], sizes: Sequence[int], n_examples: int, budget: int
    ) -> Any:
        """The searches of largest expected edge, from models and sizes of the families."""

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings; remove all edges; compile what plans need."""
        super().start(pool, budget, n_rounds, rng)
        first = self._first_models(pool, budget)
        if first is not None:
            models, looks = first
            self.plan(models, [family.size for family in pool.families], pool.n_examples, looks)
        if self.noise == "averaged":
            self.edges_: list[NDArray[np.float64]] = [np.empty(0) for _ in pool.families]
            self.least_ = [min(_FEATURES_PER_FAMILY, family.size) for family in pool.families]
            self.turn_ = 0

    def family_models(self, step: Step) -> Sequence[Mixture] | None:
        """Mixtures of the edges of each family.

        Costs at most 10 % of the budget, charged as modelling. None in the first round, and if that
        share does not pay for one feature of each family on two examples.
        """
        counts, size = _modelled(step.families, step.budget, step.n_examples)
        if step.round == 1 or size == 0:
            return None
        averaged = self.noise == "averaged" and step.whole
        if averaged and all(edges.size for edges in self.edges_):
            looks = int(_MODELLING_SHARE * step.budget)
            times = max(1.0, step.round / _ROUNDS_PER_ROUND)
            size = min(int(size * times), looks, step.n_examples)
            counts, self.turn_ = mas_turn(counts, looks // size, self.turn_)
        features = step.sample_members(counts)
        sample = step.draw(size)
        edges = step.search(features, sample, purpose="modelling").edge
        if averaged:
            self.keep_edges(step, edges, counts)
            edges, counts = np.concatenate(self.edges_), [each.size for each in self.edges_]
            edges.setflags(write=False)  # as those of a search, see `_first_models`
        return _fit_families(
            edges, counts, self.n_components, self.noise, sample.size, sample.exact
        )

    def keep_edges(self, step: Step, edges: NDArray[np.float64], counts: Sequence[int]) -> None:
        """Keep counts[k] edges of family k if they are to be averaged; older ones fill up to 16."""
        if self.noise != "averaged" or not step.whole:
            return
        end = 0
        for k, count in enumerate(counts):
            if count:
                end += count
                older = self.edges_[k][: max(0, self.least_[k] - count)]
                self.edges_[k] = np.concatenate([edges[end - count : end], older])

    def _first_models(self, pool: Pool, budget: int) -> tuple[Sequence[Mixture], int] | None:
        """Models of edges that are all 0, and the looks left; compiles what later rounds need."""
        counts, size = _modelled(pool.families, budget, pool.n_examples)
        if size == 0:
            return None
        edges = np.zeros(sum(counts))
        edges.setflags(write=False)  # as the edges of a search: kernels are compiled for this, too
        exact = size == pool.n_examples
        models = _fit_families(edges, counts, self.n_components, self.noise, size, exact)
        if self.n_components == 1 and self.noise != "deconvolved":
            fit_gaussians(edges[:1].reshape(1, 1))  # nodes of trees search fewer features
        if self.noise == "averaged":
            fit_mixtures([edges], self.n_components)  # for families of fewer than 16 features
        return models, budget - edges.size * size


def mas_turn(most: Sequence[int], n: int, first: int) -> tuple[list[int], int]:
    """How many of n features each family gets if the families take turns, and whose turn is next.

    Family k gets at most most[k]; the first feature is family `first`'s.

    >>> mas_turn([16, 2, 16], 8, 1)
    ([3, 2, 3], 1)
    >>> mas_turn([16, 2, 16], 1, 1)
    ([0, 1, 0], 2)
    """
    if n >= sum(most):
        return list(most), first
    counts, at = [0] * len(most), first
    while n > 0:
        if counts[at] < most[at]:
            counts[at] += 1
            n -= 1
        at = (at + 1) % len(most)
    return counts, at


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
    if (
        n_components == 1
        and noise != "deconvolved"
        and min(counts) == max(counts) <= _FEATURES_PER_FAMILY
    ):
        return fit_gaussians(edges.reshape(-1, counts[0]))
    parts = np.split(edges, np.cumsum(counts)[:-1])
    if noise != "deconvolved":
        return fit_mixtures(parts, n_components)
    noises = [mas_noise(each, n_examples, exact) for each in parts]
    return fit_mixtures(parts, n_components, noise_variance=noises)


def note_beliefs(
    step: Step, q: int, t: int, expected: float | None, mixtures: Sequence[Mixture], **more: Any
) -> None:
    """Note Q, T, the expected edge, and the mixture, or the mean and deviation of each family.

    Normal distributions of edges near 1 expect more than 1, which is noted as 1.
    """
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
    bound = None if expected is None else min(expected, 1.0)
    step.note(planned_features=q, planned_examples=t, expected_edge=bound, **models, **more)
