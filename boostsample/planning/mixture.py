"""Gaussian mixtures of edges, the density model of Maximum Adaptive Sampling ([DF11] 4.1).

[DF11] fits "a Gaussian mixture model" to the edges of the previous round and gives no details.
Here: EM from several deterministic starts, with a lower limit of the variances.

An edge estimated on T examples is G + D with D ~ N(0, (1 - G^2)/T) ([DF11] eq. 7). Fitted as they
are (`noise_variance=0`, as in the paper), the estimates give the mixture of H, wider than that of
G; Q and T chosen from it search too many features on too few examples. With the known variance of D
(`sampling_variance`), the mixture of G itself is fitted. Subtracting that variance from the
components of an ordinary fit is not the same: the noise then decides which component an edge
belongs to.

Edges that are missing, not finite or of a wrong shape raise DataError, other arguments out of range
SettingError.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.checks import check_integer
from boostsample.errors import DataError, SettingError
from boostsample.kernels import mixture_em as kernels

__all__ = [
    "Mixture",
    "Mixtures",
    "fit_gaussians",
    "fit_mixture",
    "fit_mixtures",
    "sampling_variance",
    "stack_mixtures",
]

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

_N_COMPONENTS = 3
_EM_RULES = 1e-6, 1e-5, 200
"""Least variance (scikit-learn's reg_covar: a standard deviation of 0.001), gain of the mean
log-likelihood at which to stop, and most iterations."""


class Mixture:
    """A mixture of Gaussians in one dimension; treat it as immutable.

    Parameters
    ----------
    proportions : array-like of float, shape (n_components,)
        Not negative, of sum 1 (up to 1e-6; divided by their sum). Components of proportion 0 are
        ignored.
    means : array-like of float, shape (n_components,)
    variances : array-like of float, shape (n_components,)
        Not negative. 0 is a point.

    Attributes
    ----------
    parameters : float64 array, shape (3, n_components)
        Rows: proportions, means, variances. `Mixture(*mixture.parameters)` equals the mixture bit
        for bit, so a strategy may keep this array as its state.
    log_likelihood : float
        Mean log density of the edges that it was fitted to; nan if it was not fitted.
    """

    def __init__(self, proportions: ArrayLike, means: ArrayLike, variances: ArrayLike) -> None:
        rows = [np.atleast_1d(np.asarray(row, float)) for row in (proportions, means, variances)]
        if any(row.ndim != 1 or row.size == 0 or row.shape != rows[0].shape for row in rows):
            shapes = ", ".join(str(row.shape) for row in rows)
            raise SettingError(
                "proportions, means and variances of a mixture must be vectors of one length, "
                f"at least 1, got shapes {shapes}"
            )
        parameters = np.array(rows)
        if not np.isfinite(parameters).all():
            raise SettingError("a mixture's proportions, means, variances must be finite numbers")
        if parameters[0].min() < 0 or abs(parameters[0].sum() - 1.0) > 1e-6:
            raise SettingError(
                "in a mixture, proportions must not be negative and must sum to 1, got "
                f"{parameters[0].tolist()}"
            )
        if parameters[2].min() < 0:
            raise SettingError(f"mixture variances must not be negative, got {rows[2].tolist()}")
        if abs(parameters[0].sum() - 1.0) > 1e-12:
            parameters[0] /= parameters[0].sum()
        parameters.flags.writeable = False
        self.parameters, self.log_likelihood = parameters, float("nan")

    @classmethod
    def _fitted(cls, parameters: Array, log_likelihood: float) -> Mixture:
        """A mixture from a kernel, read-only; without checks, which cost more than the fit."""
        mixture = cls.__new__(cls)
        mixture.parameters, mixture.log_likelihood = parameters, log_likelihood
        return mixture

    @property
    def proportions(self) -> Array:
        """float64 (n_components,)."""
        return np.asarray(self.parameters[0])

    @property
    def means(self) -> Array:
        """float64 (n_components,)."""
        return np.asarray(self.parameters[1])

    @property
    def variances(self) -> Array:
        """float64 (n_components,)."""
        return np.asarray(self.parameters[2])

    @property
    def n_components(self) -> int:
        """Number of components, those of proportion 0 included."""
        return int(self.parameters.shape[1])

    @property
    def mean(self) -> float:
        """Mean of the whole mixture."""
        return float(self.proportions @ self.means)

    @property
    def variance(self) -> float:
        """Variance of the whole mixture.

        At most the floor if all edges are equal, as in the first round under uniform weights:
        voting -1 for every label has edge (K-2)/K on any feature.
        """
        return float(self.proportions @ (self.variances + (self.means - self.mean) ** 2))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw `n` edges: float64 (n,)."""
        component = rng.choice(self.n_components, n, p=self.proportions)
        return rng.normal(self.means[component], np.sqrt(self.variances[component]))

    def __repr__(self) -> str:
        rows = (np.array2string(row, precision=4, separator=", ") for row in self.parameters)
        return f"Mixture({', '.join(rows)})"


class Mixtures(Sequence[Mixture]):
    """Mixtures of equal numbers of components; `stack` is float64 (n_mixtures, 3, n_components)."""

    def __init__(self, stack: Array, fits: Array) -> None:
        self.stack, self._fits = stack, fits

    def __len__(self) -> int:
        return len(self.stack)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[i] for i in range(len(self))[at]]
        parameters = self.stack[at]
        parameters.flags.writeable = False
        return Mixture._fitted(parameters, float(self._fits[at, 0]))

    def moments(self) -> tuple[list[float], list[float]]:
        """Mean and variance of each mixture."""
        if self.stack.shape[2] > 1:
            return [each.mean for each in self], [each.variance for each in self]
        rows = self.stack[:, :, 0].tolist()  # faster: strategies note them in every round
        means = [proportion * mean for proportion, mean, _ in rows]
        variances = [p * (variance + (mean - p * mean) ** 2) for p, mean, variance in rows]
        return means, variances


def stack_mixtures(mixtures: Sequence[Mixture]) -> Array:
    """Parameters of at least one mixture, for kernels: (K, 3, J), padded with empty components."""
    if len(mixtures) == 0:
        raise SettingError("mixtures must hold at least 1 mixture, got 0")
    if isinstance(mixtures, Mixtures):
        return mixtures.stack
    most = max(mixture.n_components for mixture in mixtures)
    models = np.zeros((len(mixtures), 3, most))
    for model, mixture in zip(models, mixtures, strict=True):
        model[:, : mixture.n_components] = mixture.parameters
    return models


def sampling_variance(edges: ArrayLike, n_examples: int) -> float:
    """Mean variance of the noise in edges estimated on T i.i.d. examples, from [DF11] eq. 7.

    Var(H | G) = (1 - G^2)/T, and E[1 - H^2] = (1 - G^2)(T - 1)/T; the result is the mean of (1 -
    H^2)/(T - 1). It is an upper bound for other draws, and for sums over labels. If the sample is
    exact, use 0 instead.

    `edges` are the estimated ones, H in [-1, 1], not none; T = `n_examples` is at least 2.

    >>> sampling_variance([0.0, 0.6], 101)
    0.0082
    """
    values = _finite(edges)
    n_examples = check_integer("n_examples", n_examples, 2)
    return max(float(1.0 - np.mean(values * values)), 0.0) / (n_examples - 1)


def fit_mixture(
    edges: ArrayLike,
    n_components: int = _N_COMPONENTS,
    *,
    noise_variance: float | ArrayLike = 0.0,
) -> Mixture:
    """Fit a mixture to edges by EM, until the mean log-likelihood gains less than 1e-5.

    Costs O(n log n), and O(n_components min(n, 128)) an iteration: 45 to 400 us for 10 to 1,300
    edges. Uses no random numbers. Variances are at least 1e-6. Fewer edges than components, or
    fewer different ones, leave components of proportion 0 or equal ones.

    Parameters
    ----------
    edges : array-like of float, shape (n,), n at least 1
    n_components : int, default 3
        Most components; [DF11] gives no number. Three on 10 or 20 edges fit points rather than a
        spread, which then seems too small: one component for every 20 edges or so is safer.
    noise_variance : float or array-like of shape (n,), default 0
        Known variance of the noise in all edges or in each, see `sampling_variance`; the fitted
        mixture is that of the edges without it. A single number is faster and converges faster.
    """
    return fit_mixtures([edges], n_components, noise_variance=[noise_variance])[0]


def fit_mixtures(
    edges: Sequence[ArrayLike],
    n_components: int = _N_COMPONENTS,
    *,
    noise_variance: float | Sequence[ArrayLike] = 0.0,
) -> Sequence[Mixture]:
    """Fit one mixture to each of several sets of edges, for instance families, in one kernel call.

    Parameters are those of `fit_mixture`; `edges`, and `noise_variance` unless it is one number,
    are sequences with an entry for each set.
    """
    n_components = check_integer("n_components", n_components, 1)
    is_number = isinstance(noise_variance, (int, float, np.number))
    noises: Any = [noise_variance] * len(edges) if is_number else noise_variance
    if len(noises) != len(edges):
        raise SettingError(
            "to fit mixtures, noise_variance must be a number or have an entry for each of "
            f"{len(edges)} sets, got {len(noises)}"
        )
    if len(edges) == 0:
        return []
    columns = [_columns(*pair) for pair in zip(edges, noises, strict=True)]
    first = np.array([0, *accumulate(each.shape[1] for each in columns)], np.int64)
    data = np.empty((4, first[-1]))
    np.concatenate(columns, axis=1, out=data)
    least, most = data[3].min(), data[3].max()
    if not 0 <= least <= most < np.inf:
        raise SettingError("to fit mixtures, noise_variance must be at least 0 and finite")
    models, fits = np.empty((len(edges), 3, n_components)), np.empty((len(edges), 2))
    # One noise for all values has a closed M step, which is faster (see the kernel).
    kernels.fit_mixture_segments(data, bool(least < most), first, *_EM_RULES, models, fits)
    return Mixtures(models, fits)


def fit_gaussians(edges: Array) -> Mixtures:
    """`fit_mixtures(edges, 1)` for sets of equal size, equal to the bit and faster.

    `edges` is float64 (n_sets, n) with n from 1 to 128.
    """
    if edges.ndim != 2 or not 1 <= edges.shape[1] <= kernels.MAX_MIXTURE_GROUPS:
        raise DataError(f"edges must have shape (n_sets, 1 to 128), got {edges.shape}")
    models, fits = np.empty((len(edges), 3, 1)), np.empty((len(edges), 2))
    if not kernels.fit_single_rows(edges, *_EM_RULES, np.empty(edges.shape[1]), models, fits):
        raise DataError(_NOT_FINITE)
    return Mixtures(models, fits)


_NOT_FINITE = "edges must be finite, got nan or infinity"


def _finite(edges: ArrayLike) -> Array:
    try:
        values = np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"edges must be a vector of numbers, got {edges!r:.60}") from error
    if values.ndim != 1:
        raise DataError(f"edges must be a vector, got shape {values.shape}")
    if values.size == 0:
        raise DataError("edges must hold at least 1 value, got 0")
    if not np.isfinite(values).all():
        raise DataError(_NOT_FINITE)
    return values


def _columns(edges: ArrayLike, noise: ArrayLike) -> Array:
    """Input of the kernel, (4, n): sorted edges, zeros, ones, and their noise."""
    values = _finite(edges)
    data = np.zeros((4, values.size))
    data[0], data[2] = values, 1.0
    try:
        noises = np.asarray(noise, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"noise_variance must hold numbers, got {noise!r:.60}") from error
    if noises.shape not in ((), values.shape):
        raise DataError(
            f"noise_variance must have one number for each of {values.size} edges, got shape "
            f"{noises.shape}"
        )
    data[3] = noises
    return data[:, np.argsort(values, kind="stable")]
