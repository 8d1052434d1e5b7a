"""Gaussian mixtures of edges, the density model of Maximum Adaptive Sampling ([DF11] 4.1).

[DF11] fits "a Gaussian mixture model" to the edges of the previous round and says no more. Here: EM
from several deterministic starts, with a floor under the variances, optionally from a former fit.

An edge estimated on T examples is G + D with D ~ N(0, (1 - G^2)/T) ([DF11] eq. 7). Fitted as they
are (`noise_variance=0`, what the paper does), the estimates give the mixture of H, wider than that
of G; a planner that takes it for the mixture of G sees large differences where there is noise, and
searches too many features on too few examples. With the known variance of D (`sampling_variance`),
the mixture of G itself is fitted. Subtracting that variance from the components of an ordinary fit
is not the same: the noise then decides which component an edge belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.errors import DataError, SettingError
from boostsample.kernels import mixture as kernels
from boostsample.kernels import single
from boostsample.planning.edge_sets import NOT_FINITE, finite, plain, weighted

__all__ = [
    "Mixture",
    "Mixtures",
    "fit_gaussians",
    "fit_mixture",
    "fit_mixtures",
    "sampling_variance",
]

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
NUMBER = (int, float, np.integer, np.floating)

N_COMPONENTS = 3
VARIANCE_FLOOR = 1e-6  # scikit-learn's reg_covar: a standard deviation of 0.001
TOLERANCE = 1e-5
MAX_ITERATIONS = 200


class Mixture:
    """A mixture of Gaussians in one dimension; treat it as immutable.

    Parameters
    ----------
    proportions : array-like of float, shape (n_components,)
        Not negative, of sum 1 (up to 1e-6, then divided by it). Those of proportion 0 are ignored.
    means : array-like of float, shape (n_components,)
    variances : array-like of float, shape (n_components,)
        Not negative. 0 is a point.

    Attributes
    ----------
    parameters : float64 array, shape (3, n_components)
        Rows: proportions, means, variances. `Mixture(*mixture.parameters)` is the same mixture, bit
        for bit, so that a strategy may keep this array as its state.
    log_likelihood : float
        Mean per edge of the log density when it was fitted; nan for one that was not.
    n_iterations : int
        EM iterations of the winning start.

    Raises
    ------
    SettingError
        Shapes that differ, numbers out of range or not finite.
    """

    def __init__(self, proportions: ArrayLike, means: ArrayLike, variances: ArrayLike) -> None:
        rows = [np.atleast_1d(np.asarray(row, float)) for row in (proportions, means, variances)]
        if any(row.ndim != 1 or row.size == 0 or row.shape != rows[0].shape for row in rows):
            shapes = ", ".join(str(row.shape) for row in rows)
            raise SettingError(
                "proportions, means and variances must be vectors of one length, "
                f"at least 1, got shapes {shapes}"
            )
        parameters = np.array(rows)
        if not np.isfinite(parameters).all():
            raise SettingError("proportions, means and variances must be finite numbers")
        if parameters[0].min() < 0 or abs(parameters[0].sum() - 1.0) > 1e-6:
            raise SettingError(
                f"proportions must not be negative and must sum to 1, got {parameters[0].tolist()}"
            )
        if parameters[2].min() < 0:
            raise SettingError(f"variances must not be negative, got {parameters[2].tolist()}")
        if abs(parameters[0].sum() - 1.0) > 1e-12:
            parameters[0] /= parameters[0].sum()
        parameters.flags.writeable = False
        self.parameters, self.log_likelihood, self.n_iterations = parameters, float("nan"), 0

    @classmethod
    def _fitted(cls, parameters: Array, log_likelihood: float, n_iterations: float) -> Mixture:
        """A mixture from a kernel, read-only; it needs no checks, which cost more than the fit."""
        mixture = cls.__new__(cls)
        mixture.parameters, mixture.log_likelihood = parameters, log_likelihood
        mixture.n_iterations = int(n_iterations)
        return mixture

    @property
    def proportions(self) -> Array:
        """float64 (n_components,)."""
        row: Array = self.parameters[0]
        return row

    @property
    def means(self) -> Array:
        """float64 (n_components,)."""
        row: Array = self.parameters[1]
        return row

    @property
    def variances(self) -> Array:
        """float64 (n_components,)."""
        row: Array = self.parameters[2]
        return row

    @property
    def n_components(self) -> int:
        """Number of components, those of proportion 0 included."""
        return int(self.parameters.shape[1])

    @property
    def mean(self) -> float:
        """Mean of the whole mixture."""
        if self.n_components == 1:  # asked for in every round, of every family
            return float(self.parameters[0, 0] * self.parameters[1, 0])
        return float(self.proportions @ self.means)

    @property
    def variance(self) -> float:
        """Variance of the whole mixture.

        At most the floor where all edges were equal, as in the first round under uniform weights:
        voting -1 for every label has edge (K-2)/K on any feature. No planner must rely on it.
        """
        if self.n_components == 1:
            one, mean, variance = self.parameters[:, 0].tolist()
            return float(one * (variance + (mean - one * mean) ** 2))
        return float(self.proportions @ (self.variances + (self.means - self.mean) ** 2))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw `n` edges: float64 (n,)."""
        component = rng.choice(self.n_components, n, p=self.proportions)
        return rng.normal(self.means[component], np.sqrt(self.variances[component]))

    def mean_log_likelihood(self, edges: ArrayLike, noise_variance: float = 0.0) -> float:
        """Mean log density of `edges`, each a draw plus noise of variance `noise_variance`.

        Raises
        ------
        DataError
            No edge, or edges that are not finite.
        SettingError
            A point component (variance 0) without noise has no density.
        """
        values = finite(edges)
        if not noise_variance >= 0:
            raise SettingError(f"noise_variance must be at least 0, got {noise_variance}")
        if (self.variances + noise_variance).min() <= 0:
            raise SettingError(
                "the log likelihood needs variances above 0, got a component of variance 0; "
                "give it a variance or pass a noise_variance"
            )
        proportions, means, variances = self.parameters[:, self.proportions > 0, None]
        total = variances + noise_variance
        logs = np.log(proportions) - 0.5 * (
            np.log(2 * np.pi * total) + (values - means) ** 2 / total
        )
        return float(np.logaddexp.reduce(logs, axis=0).mean())

    def __repr__(self) -> str:
        rows = (np.array2string(row, precision=4, separator=", ") for row in self.parameters)
        return f"Mixture({', '.join(rows)})"


class Mixtures(Sequence[Mixture]):
    """Several mixtures of as many components each, a family each, as `fit_mixtures` returns them.

    Attributes
    ----------
    stack : float64 array, shape (n_mixtures, 3, n_components)
        The parameters of all of them, for kernels; nobody writes to it.
    """

    def __init__(self, stack: Array, fits: Array) -> None:
        self.stack, self._fits = stack, fits

    def __len__(self) -> int:
        return len(self.stack)

    @overload
    def __getitem__(self, at: int) -> Mixture: ...
    @overload
    def __getitem__(self, at: slice) -> list[Mixture]: ...
    def __getitem__(self, at: int | slice) -> Mixture | list[Mixture]:
        if isinstance(at, slice):
            return [self[i] for i in range(len(self))[at]]
        parameters = self.stack[at]
        parameters.flags.writeable = False
        return Mixture._fitted(parameters, *self._fits[at].tolist())

    def moments(self) -> tuple[list[float], list[float]]:
        """Mean and variance of each of them, as the mixtures themselves tell."""
        if self.stack.shape[2] > 1:
            return [each.mean for each in self], [each.variance for each in self]
        rows = self.stack[:, :, 0].tolist()  # asked for in every round
        means = [one * mean for one, mean, _ in rows]
        return means, [one * (variance + (mean - one * mean) ** 2) for one, mean, variance in rows]


def sampling_variance(edges: ArrayLike, n_examples: int) -> float:
    """Mean variance of the noise in edges estimated on T i.i.d. examples, from [DF11] eq. 7.

    Var(H | G) = (1 - G^2)/T, and E[1 - H^2] = (1 - G^2)(T - 1)/T; the result is the mean of (1 -
    H^2)/(T - 1). It is an upper bound for other draws, and for sums over labels. Where the sample
    is exact, use 0 instead.

    Parameters
    ----------
    edges : array-like of float in [-1, 1], not empty
        Estimated edges H.
    n_examples : int
        T, at least 2.

    Raises
    ------
    DataError
        No edge, or edges that are not finite.
    SettingError
        T below 2.

    Examples
    --------
    >>> sampling_variance([0.0, 0.6], 101)
    0.0082
    """
    values = finite(edges)
    if n_examples < 2:
        raise SettingError(f"n_examples must be at least 2, got {n_examples}")
    return max(float(1.0 - np.mean(values * values)), 0.0) / (n_examples - 1)


def fit_mixture(
    edges: ArrayLike,
    n_components: int = N_COMPONENTS,
    *,
    noise_variance: float | ArrayLike = 0.0,
    weights: ArrayLike | None = None,
    variance_floor: float = VARIANCE_FLOOR,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    start: Mixture | None = None,
) -> Mixture:
    """Fit a mixture to edges by EM.

    Costs O(n log n) and O(n_components min(n, 128)) an iteration: 45 to 400 us, with `start` 25 to
    160 us, for 10 to 1,300 edges. Deterministic: no random numbers. Fewer edges than components, or
    fewer different ones, leave components of proportion 0 or equal ones.

    Parameters
    ----------
    edges : array-like of float, shape (n,), n at least 1
    n_components : int, default 3
        Most components; [DF11] gives no number. Three on 10 or 20 edges fit points rather than a
        spread, which then looks too small: one component for every 20 edges or so is safer.
    noise_variance : float or array-like of shape (n,), default 0
        Known variance of the noise in the edges, of all or of each, see `sampling_variance`. The
        mixture fitted is that of the edges without it. A single number is handled faster and
        converges faster.
    weights : array-like of float, shape (n,), optional
        How much each edge counts; not negative, not all 0. Default: 1 each.
    variance_floor : float, default 1e-6
        Least variance of a component.
    tolerance : float, default 1e-5
        Stop when the mean log-likelihood per edge gains less than this an iteration.
    max_iterations : int, default 200
    start : Mixture, optional
        A former fit with as many components. It competes with two fresh starts, so that a fit to a
        degenerate round locks nothing in; one with a component of proportion 0 is not used.

    Returns
    -------
    Mixture

    Raises
    ------
    DataError
        No edge, edges that are not finite, bad weights.
    SettingError
        Settings out of range.
    """
    noise = float(noise_variance) if isinstance(noise_variance, NUMBER) else [noise_variance]
    return fit_mixtures(
        [edges],
        n_components,
        noise_variance=noise,
        weights=None if weights is None else [weights],
        variance_floor=variance_floor,
        tolerance=tolerance,
        max_iterations=max_iterations,
        starts=[start],
    )[0]


def fit_mixtures(
    edges: Sequence[ArrayLike],
    n_components: int = N_COMPONENTS,
    *,
    noise_variance: float | Sequence[ArrayLike] = 0.0,
    weights: Sequence[ArrayLike] | None = None,
    variance_floor: float = VARIANCE_FLOOR,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    starts: Sequence[Mixture | None] | None = None,
) -> Sequence[Mixture]:
    """Fit one mixture to each of several sets of edges, a family each, in one call of the kernel.

    Parameters are those of `fit_mixture`; `edges`, `weights`, `starts`, and `noise_variance` unless
    it is one number, are sequences with an entry for each set.
    """
    if n_components < 1:
        raise SettingError(f"n_components must be at least 1, got {n_components}")
    if not 0 < variance_floor < np.inf:
        raise SettingError(f"variance_floor must be above 0 and finite, got {variance_floor}")
    if not tolerance >= 0:
        raise SettingError(f"tolerance must be at least 0, got {tolerance}")
    if max_iterations < 1:
        raise SettingError(f"max_iterations must be at least 1, got {max_iterations}")
    n_sets = len(edges)
    if n_sets == 0:
        return []
    for name, given in (("weights", weights), ("starts", starts)):
        if given is not None and len(given) != n_sets:
            raise SettingError(
                f"{name} must have an entry for each of {n_sets} sets, got {len(given)}"
            )
    noises: Sequence[ArrayLike] = (
        [float(noise_variance)] * n_sets if isinstance(noise_variance, NUMBER) else noise_variance
    )
    if len(noises) != n_sets:
        raise SettingError(
            f"noise_variance must be a number or have an entry for each of {n_sets} sets, "
            f"got {len(noises)}"
        )
    known = [float(noise) for noise in noises if isinstance(noise, NUMBER)]
    if weights is None and len(known) == n_sets:
        data, first = plain(edges, known)
    else:
        data, first = weighted(edges, weights, noises)
        known = data[3].tolist()
    if not all(0 <= noise < np.inf for noise in known):
        raise SettingError("noise_variance must be at least 0 and finite")
    differ = any(noise != known[0] for noise in known)
    how = differ, first, float(variance_floor), float(tolerance), int(max_iterations)
    models, fits = np.empty((n_sets, 3, n_components)), np.empty((n_sets, 2))
    warm = _begin(starts or (), models)
    if n_components == 1 and np.diff(first).max() <= kernels.MAX_GROUPS:
        single.fit_single(data, *how, models, fits)
    else:
        kernels.fit_segments(data, *how, warm, models, fits)
    return Mixtures(models, fits)


def fit_gaussians(edges: Array) -> Mixtures:
    """`fit_mixtures(edges, 1)` for sets of one size, the rows of a matrix, to the bit and sooner.

    Parameters
    ----------
    edges : float64 array, shape (n_sets, n), n from 1 to 128

    Raises
    ------
    DataError
        Edges that are not finite, or another shape.
    """
    if edges.ndim != 2 or not 1 <= edges.shape[1] <= kernels.MAX_GROUPS:
        raise DataError(f"edges must have shape (n_sets, 1 to 128), got {edges.shape}")
    shapes = (4, edges.shape[1]), (len(edges), 3, 1), (len(edges), 2)
    data, models, fits = map(np.empty, shapes)
    if not single.fit_rows(edges, VARIANCE_FLOOR, TOLERANCE, MAX_ITERATIONS, data, models, fits):
        raise DataError(NOT_FINITE)
    return Mixtures(models, fits)


def _begin(starts: Sequence[Mixture | None], models: Array) -> NDArray[np.bool_]:
    """Write starts into models (S, 3, J); whether each one is used: bool (S,)."""
    used = np.zeros(len(models), np.bool_)
    for i, start in enumerate(starts):
        if start is not None:
            if start.parameters.shape != models[i].shape:
                raise SettingError(
                    f"a start must have n_components = {models.shape[2]}, got {start.n_components}"
                )
            models[i] = start.parameters
            used[i] = start.proportions.min() > 0
    return used
