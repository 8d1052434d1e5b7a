"""Base classes of bandit policies, and the arms of the largest indices.

A step is `select` (k different arms), then `update` with one reward for each pulled arm. Learned
state lives in attributes whose names end in `_`: arrays of length n_arms and plain numbers, so that
`state` and `restore` continue a run to identical bits. A step costs O(n_arms).
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.checks import check_integer
from boostsample.errors import SettingError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Policy(abc.ABC):
    """A rule that chooses which arms to pull next.

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

    def select(self, rng: np.random.Generator, k: int = 1) -> IntArray:
        """Choose exactly k different arms.

        Parameters
        ----------
        rng : numpy.random.Generator
            The only source of randomness; policies that do not draw leave it untouched.
        k : int
            Number of arms, from 1 to n_arms.

        Returns
        -------
        int64 (k,)
            Distinct arms, best first for index policies; the first arm wins a tie.

        Raises
        ------
        SettingError
            If k is out of range.
        """
        k = check_integer("k", k, 1)
        if k > self.n_arms:
            raise SettingError(
                f"k must be at most the number of arms, {self.n_arms}, got {k}; "
                "pull fewer arms in a step"
            )
        return self._pick(rng, k)

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
            If arms are out of range or repeated, rewards outside [0, 1] or NaN, or lengths differ.
        """
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
        numbers = pulled.tolist()  # a few, faster in lists than in arrays
        low, high = min(numbers), max(numbers)
        if low < 0 or high >= self.n_arms:
            wrong = low if low < 0 else high
            raise SettingError(f"an arm must be between 0 and {self.n_arms - 1}, got {wrong}")
        if len(set(numbers)) < len(numbers):
            raise SettingError(
                f"arms must be different in one step, got {numbers}; "
                "give one reward for each arm, its best or its mean"
            )
        if not all(0.0 <= one <= 1.0 for one in paid.tolist()):  # true for NaN, too
            raise SettingError(
                f"rewards must be between 0 and 1, got {paid.tolist()}; scale or cap them"
            )
        self._learn(pulled.astype(np.int64, copy=False), paid)
        self.n_steps_ += 1

    @abc.abstractmethod
    def _pick(self, rng: np.random.Generator, k: int) -> IntArray:
        """Choose k different arms, 1 <= k <= n_arms."""

    @abc.abstractmethod
    def _learn(self, arms: IntArray, rewards: FloatArray) -> None:
        """Learn the rewards of distinct arms; `n_steps_` does not count this step yet."""

    def settings(self) -> dict[str, Any]:
        """Settings of this policy, plain values by name."""
        return {n: v for n, v in vars(self).items() if not (n.startswith("_") or n.endswith("_"))}

    def state(self) -> dict[str, Any]:
        """Copy of settings and learned state: arrays, numbers, strings, dicts."""
        learned = {
            name: value.copy() if isinstance(value, np.ndarray) else value
            for name, value in self.learned().items()
        }
        return {"policy": type(self).__name__, "settings": self.settings(), **learned}

    def learned(self) -> dict[str, Any]:
        """Learned state for `resume`; its arrays are not copied, and later steps change them."""
        return {name: value for name, value in vars(self).items() if name.endswith("_")}

    def resume(self, learned: Mapping[str, Any]) -> None:
        """Continue from `learned` of a policy of the same settings; checks and copies nothing."""
        vars(self).update(learned)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state`; the next steps are the same to the bit.

        Raises
        ------
        SettingError
            If the state is of another policy or other settings (Exp3.P with another horizon is
            another algorithm), or has missing, additional or misshapen parts. The policy is
            unchanged then.
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


class IndexPolicy(Policy):
    """A policy that gives each arm an index and pulls the arms with the k largest."""

    @abc.abstractmethod
    def indices(self) -> FloatArray:
        """Index of every arm at the present step, float64 (n_arms,); the largest is pulled next."""

    def _pick(self, rng: np.random.Generator, k: int) -> IntArray:
        return best_arms(self.indices(), k)


class MeanPolicy(IndexPolicy):
    """An index policy that learns the mean reward of each arm.

    Attributes
    ----------
    counts_ : int64 (n_arms,)
        Pulls of each arm.
    sums_ : float64 (n_arms,)
        Sum of the rewards of each arm.
    """

    def __init__(self, n_arms: int) -> None:
        super().__init__(n_arms)
        self.counts_ = np.zeros(self.n_arms, dtype=np.int64)
        self.sums_ = np.zeros(self.n_arms)

    def _learn(self, arms: IntArray, rewards: FloatArray) -> None:
        self.counts_[arms] += 1
        self.sums_[arms] += rewards


def best_arms(index: FloatArray, k: int = 1) -> IntArray:
    """Positions of the k largest of `index` (M,), largest first; the first of equal ones.

    `index` may hold infinities but no NaN; k is from 1 to M. Returns int64 (k,). Cost: O(M) plus
    sorting a few candidates.

    >>> best_arms(np.array([1.0, np.inf, 3.0, np.inf, 3.0]), 3).tolist()
    [1, 3, 2]
    """
    if k == 1:
        return np.array([index.argmax()], dtype=np.int64)
    # The k-th largest of some blocks' maxima is at most the k-th largest of all and leaves little
    # to sort. np.partition needs 20 ms for 100,000 arms that are mostly equal.
    n_blocks = min(8 * k, index.size)
    maxima = np.maximum.reduceat(index, np.arange(n_blocks) * index.size // n_blocks)
    least = np.sort(maxima)[n_blocks - k]
    above = np.flatnonzero(index > least)
    best = above[np.argsort(-index[above], kind="stable")[:k]]
    if best.size < k:
        best = np.concatenate([best, np.flatnonzero(index == least)[: k - best.size]])
    return best
