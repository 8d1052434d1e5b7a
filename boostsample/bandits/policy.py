"""What all policies share: the interface, the checks, and how arms are taken or drawn.

A step is `select` (k different arms), then `update` with one reward for each arm that was pulled.
The whole learned state stands in attributes whose names end in `_`: arrays of length n_arms and
plain numbers, so that `state` and `restore` continue a run to identical bits. A step costs
O(n_arms).
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.checks import check_integer
from boostsample.errors import SettingError

__all__ = ["IndexPolicy", "Policy", "best_arms", "draw_arms", "inclusion"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Policy(abc.ABC):
    """A rule that says which arms to pull next.

    Parameters
    ----------
    n_arms : int
        Number of arms M, at least 1.

    Attributes
    ----------
    n_steps_ : int
        Steps finished so far: calls of `update`, however many arms each one pulled.
    """

    def __init__(self, n_arms: int) -> None:
        self.n_arms = check_integer("n_arms", n_arms, 1)
        self.n_steps_ = 0

    def select(
        self, rng: np.random.Generator, k: int = 1, available: BoolArray | None = None
    ) -> IntArray:
        """Choose exactly k different arms.

        Parameters
        ----------
        rng : numpy.random.Generator
            The only source of randomness; left untouched by policies that do not draw.
        k : int
            Number of arms, from 1 to the number of available arms.
        available : bool (n_arms,), optional
            Arms that may be pulled in this step; all of them by default.

        Returns
        -------
        int64 (k,)
            Distinct arms, best first for index policies; the first arm wins a tie.

        Raises
        ------
        SettingError
            When k is out of range or `available` is not a mask of the right length.
        """
        candidates = None if available is None else self._candidates(available)
        n_candidates = self.n_arms if candidates is None else candidates.size
        if k != 1 or n_candidates < 1:
            k = check_integer("k", k, 1)
            if k > n_candidates:
                raise SettingError(
                    f"k must be at most the number of available arms, {n_candidates}, got {k}; "
                    "pull fewer arms in a step or make more of them available"
                )
        return self._pick(rng, k, candidates)

    def update(self, arms: ArrayLike, rewards: ArrayLike) -> None:
        """Learn from one step.

        Parameters
        ----------
        arms : int (k,) or int
            The different arms that were pulled.
        rewards : float (k,) or float
            One reward for each, between 0 and 1.

        Raises
        ------
        SettingError
            For arms out of range or repeated, rewards outside [0, 1] or NaN, different lengths.
        """
        pulled, paid = self._checked(arms, rewards)
        self._learn(pulled, paid)
        self.n_steps_ += 1

    @abc.abstractmethod
    def _pick(self, rng: np.random.Generator, k: int, candidates: IntArray | None) -> IntArray:
        """Choose k of `candidates` (None: all arms, at least k of them)."""

    @abc.abstractmethod
    def _learn(self, arms: IntArray, rewards: FloatArray) -> None:
        """Take in the rewards of distinct arms; `n_steps_` does not count this step yet."""

    def settings(self) -> dict[str, Any]:
        """The settings that this policy was built with, as plain values by name."""
        return {n: v for n, v in vars(self).items() if not (n.startswith("_") or n.endswith("_"))}

    def state(self) -> dict[str, Any]:
        """A copy of everything learned and of the settings: arrays, numbers, strings, dicts."""
        learned = {
            name: value.copy() if isinstance(value, np.ndarray) else value
            for name, value in vars(self).items()
            if name.endswith("_")
        }
        return {"policy": type(self).__name__, "settings": self.settings(), **learned}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state` returned; the next steps are the same to the bit.

        Raises
        ------
        SettingError
            When the state is of another policy, of other settings (Exp3.P with another horizon is
            another algorithm), or has missing, additional or misshapen parts. Nothing is changed
            then.
        """
        mine = {"policy": type(self).__name__, "settings": self.settings()}
        for part, expected in mine.items():
            if state.get(part) != expected:
                raise SettingError(
                    f"this state has {part} {state.get(part)!r}, but the policy has {expected!r}; "
                    "restore it into a policy built with the same settings"
                )
        names = {name for name in vars(self) if name.endswith("_")}
        if names != set(state) - set(mine):
            raise SettingError(
                f"a state of {mine['policy']} has the parts {', '.join(sorted(names))}; "
                f"got {', '.join(sorted(set(state) - set(mine)))}"
            )
        restored: dict[str, Any] = {}
        for name in names:
            own, value = getattr(self, name), np.array(state[name])
            shape = np.shape(own)
            if value.shape != shape or value.dtype != np.asarray(own).dtype:
                raise SettingError(
                    f"{name} must have shape {shape} and type {np.asarray(own).dtype}, "
                    f"got {value.shape} and {value.dtype}; the state is damaged"
                )
            restored[name] = value if shape else value.item()
        vars(self).update(restored)

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings().items())
        return f"{type(self).__name__}({settings})"

    def _candidates(self, available: BoolArray) -> IntArray:
        mask = np.asarray(available)
        if mask.dtype != np.bool_ or mask.shape != (self.n_arms,):
            raise SettingError(
                f"available must be a bool array of shape ({self.n_arms},), got {mask.dtype} of "
                f"shape {mask.shape}; mark each arm that may be pulled with True"
            )
        return np.flatnonzero(mask)

    def _checked(self, arms: ArrayLike, rewards: ArrayLike) -> tuple[IntArray, FloatArray]:
        pulled = np.asarray(arms)
        paid = np.asarray(rewards, dtype=np.float64)
        if pulled.ndim == 0:
            pulled, paid = pulled.reshape(1), paid.reshape(-1)
        if pulled.ndim != 1 or pulled.shape != paid.shape or pulled.size == 0:
            raise SettingError(
                "arms and rewards must be two lists of the same length, at least 1, got shapes "
                f"{pulled.shape} and {paid.shape}; give one reward for each arm that was pulled"
            )
        if pulled.dtype.kind not in "iu":
            raise SettingError(f"arms must be integers, got {pulled.dtype}")
        low, high = int(pulled.min()), int(pulled.max())
        if low < 0 or high >= self.n_arms:
            wrong = low if low < 0 else high
            raise SettingError(f"an arm must be between 0 and {self.n_arms - 1}, got {wrong}")
        if pulled.size > 1 and np.unique(pulled).size < pulled.size:
            raise SettingError(
                f"arms must be different in one step, got {pulled.tolist()}; "
                "give one reward for each arm, its best or its mean"
            )
        # Written so that NaN fails too.
        if not (paid.min() >= 0.0 and paid.max() <= 1.0):
            raise SettingError(
                f"rewards must be between 0 and 1, got {paid.tolist()}; scale or cap them"
            )
        return pulled.astype(np.int64, copy=False), paid


class IndexPolicy(Policy):
    """A policy that gives each arm an index and pulls the arms with the k largest."""

    @abc.abstractmethod
    def indices(self) -> FloatArray:
        """Index of every arm at the present step, float64 (n_arms,); the largest is pulled next."""

    def _pick(self, rng: np.random.Generator, k: int, candidates: IntArray | None) -> IntArray:
        index = self.indices()
        if candidates is None:
            return best_arms(index, k)
        return candidates[best_arms(index[candidates], k)]


def best_arms(index: FloatArray, k: int = 1) -> IntArray:
    """Positions of the k largest of `index` (M,), largest first; of equal ones the first.

    `index` may hold infinities but no NaN; k is from 1 to M. Returns int64 (k,). Cost: O(M), and
    sorting the few that may be among them.

    >>> best_arms(np.array([1.0, np.inf, 3.0, np.inf, 3.0]), 3).tolist()
    [1, 3, 2]
    """
    if k == 1:
        return np.array([index.argmax()], dtype=np.int64)
    # The k-th largest of some blocks' maxima is at most the k-th largest of all, and leaves little
    # to sort. np.partition would need 20 ms for 100,000 arms of which most are level.
    n_blocks = min(8 * k, index.size)
    maxima = np.maximum.reduceat(index, np.arange(n_blocks) * index.size // n_blocks)
    least = np.sort(maxima)[n_blocks - k]
    above = np.flatnonzero(index > least)
    best = above[np.argsort(-index[above], kind="stable")[:k]]
    if best.size < k:
        best = np.concatenate([best, np.flatnonzero(index == least)[: k - best.size]])
    return best


def inclusion(probabilities: FloatArray, k: int) -> FloatArray:
    """Probability with which each arm is among k different arms: min(1, c p).

    c is such that they sum to k. `probabilities` (M,) are positive and sum to 1; k is from 1 to M.
    For k = 1 these are they themselves. Drawing from p again and again until k different arms have
    come up, the usual way, has inclusion probabilities that nobody knows, so that rewards divided
    by p are biased upwards.

    Returns float64 (M,).

    >>> inclusion(np.array([0.7, 0.2, 0.1]), 2).round(6).tolist()
    [1.0, 0.666667, 0.333333]
    """
    if k == 1:
        return probabilities
    if k == probabilities.size:
        return np.ones(k)
    result = k * probabilities
    certain = np.zeros(probabilities.size, dtype=np.bool_)
    while (over := result > 1.0).any():
        certain |= over
        others = np.where(certain, 0.0, probabilities)
        result = others * ((k - np.count_nonzero(certain)) / others.sum())
        result[certain] = 1.0
    return result


def draw_arms(
    inclusion_probabilities: FloatArray, uniform: float | FloatArray, k: int = 1
) -> IntArray:
    """Draw k different arms, each with its given probability, from one uniform number.

    Cost: O(M + k log M). Systematic sampling: the cumulated probabilities are read at u, u + 1,
    ..., u + k - 1. That is exact for each arm by itself, which is all that a bandit's estimates
    rest on.

    Parameters
    ----------
    inclusion_probabilities : float64 (M,), or (..., M) if k = 1
        Positive, at most 1, summing to k.
    uniform : float in [0, 1), or float64 (...)
        One uniform number for each row.
    k : int
        Number of arms, from 1 to M.

    Returns
    -------
    int64 (k,), or (..., 1)
        Distinct arms in increasing order; always below M, however the sums are rounded.
    """
    cumulated = inclusion_probabilities.cumsum(axis=-1)
    n_arms = cumulated.shape[-1]
    if cumulated.ndim > 1:
        level = np.asarray(uniform)[..., None] * cumulated[..., -1:]
        below = (cumulated <= level).sum(axis=-1, keepdims=True, dtype=np.int64)
        return np.asarray(np.minimum(below, n_arms - 1))
    if k == 1:
        position = int(cumulated.searchsorted(uniform * cumulated[-1], side="right"))
        return np.array([min(position, n_arms - 1)], dtype=np.int64)
    offset = np.arange(k)
    read = (uniform + offset) * (cumulated[-1] / k)
    picks = cumulated.searchsorted(read, side="right")
    # Rounding can make two readings fall on one arm of probability 1, or pass the end.
    picks = np.maximum.accumulate(picks - offset) + offset
    return np.asarray(np.minimum(picks, n_arms - k + offset), dtype=np.int64)
