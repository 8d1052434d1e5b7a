"""Ratios of timings of one run, and how far they scatter: what a bench can keep and compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.experiments.tables.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Ratio",
    "Section",
    "Slope",
    "fit_slope",
    "over_passes",
    "paired_ratio",
    "scatter",
    "slope_ratio",
]

_PARTS = 10
"""Parts of a series that are compared with each other to see how they scatter."""


class Ratio(NamedTuple):
    """A cost in units of another of the same run; `spread` is its relative standard error."""

    value: float
    spread: float


class Slope(NamedTuple):
    """A fitted power: cost ~ size ** `power`, with the cost at size 1."""

    power: float
    factor: float


@dataclass(frozen=True)
class Section:
    """What one part of a bench found.

    Attributes
    ----------
    tables : tuple of Table
        To print.
    numbers : mapping
        The same and more, as JSON takes it.
    ratios : mapping of str to Ratio
        To be compared with those of another run; larger is worse.
    conditions : mapping
        What must be equal for that, as JSON takes it.
    draw : callable, optional
        Makes its picture; needs matplotlib.
    """

    tables: tuple[Table, ...]
    numbers: Mapping[str, Any]
    ratios: Mapping[str, Ratio] = field(default_factory=dict)
    conditions: Mapping[str, Any] = field(default_factory=dict)
    draw: Callable[[], Figure] | None = None


def scatter(parts: ArrayLike) -> float:
    """Relative standard error of the middle of some parts of a series.

    From their median absolute deviation, so that a part in which the machine did something else
    does not count for much.

    >>> scatter([2.0, 2.0, 2.1, 1.9, 50.0])
    0.0331...
    """
    values = np.asarray(parts, dtype=np.float64)
    middle = np.median(values)
    deviation = 1.4826 * np.median(np.abs(values - middle))  # of a Gaussian, its std
    return float(deviation / abs(middle) / np.sqrt(values.size)) if middle else 0.0


def paired_ratio(costs: ArrayLike, units: ArrayLike) -> Ratio:
    """The median ratio of costs to units that were timed in turns, (n,) each.

    Neighbours in time share what else the machine does.

    >>> paired_ratio([2.0, 4.0, 9.0], [1.0, 2.0, 3.0]).value
    2.0
    """
    ratios = np.asarray(costs, dtype=np.float64) / np.asarray(units, dtype=np.float64)
    parts = np.array_split(ratios, min(_PARTS, ratios.size))
    return Ratio(float(np.median(ratios)), scatter([np.median(part) for part in parts]))


def over_passes(ratios: Sequence[Ratio]) -> Ratio:
    """The median of a ratio over several passes; it scatters as they do, if not more within one.

    >>> over_passes([Ratio(2.0, 0.01), Ratio(2.2, 0.01), Ratio(1.8, 0.02)])
    Ratio(value=2.0, spread=0.1...)
    """
    values = np.array([one.value for one in ratios])
    middle = float(np.median(values))
    among = float(np.std(values, ddof=1)) / abs(middle) if values.size > 1 and middle else 0.0
    return Ratio(middle, max(among, *(one.spread for one in ratios)))


def fit_slope(sizes: ArrayLike, costs: ArrayLike) -> Slope:
    """Least squares of log cost on log size.

    >>> fit_slope([1, 10, 100], [3.0, 30.0, 300.0]).power
    1.0
    """
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(costs, float))
    if np.unique(x).size < 2:
        raise ValueError(f"a slope needs two sizes or more, got {np.unique(x).size}")
    power = float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
    return Slope(power, float(np.exp(y.mean() - power * x.mean())))


def slope_ratio(sizes: Sequence[int], costs: NDArray[np.float64]) -> Ratio:
    """The slope of the medians of (sweeps, sizes), and how the slopes of single sweeps scatter."""
    value = fit_slope(sizes, np.median(costs, axis=0)).power
    return Ratio(value, scatter([fit_slope(sizes, sweep).power for sweep in costs]))
