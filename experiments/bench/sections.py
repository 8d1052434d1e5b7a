"""Sizes and results of the sections of the bench, and helpers for tables, ratios and slopes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from boostsample.errors import SettingError
from boostsample.experiments.tables.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Progress",
    "Section",
    "SectionSizes",
    "fit_slope",
    "paired_ratio",
    "seconds_of",
    "section_table",
]

Progress = Callable[[str, int, int], None]
"""Called as progress(stage, done, total)."""


@dataclass(frozen=True)
class SectionSizes:
    """Sizes of the timed work; the published speeds belong to the defaults."""

    examples: int = 60_000  # of the made data: N,
    features: int = 2_000  # F,
    classes: int = 10  # K
    strategies: tuple[str, ...] = ()  # timed beside `uniform-naive`
    rounds: int = 200  # of each strategy,
    turn: int = 20  # rounds before the next strategy
    threads: int = max(2, os.cpu_count() or 1)
    look_classes: tuple[int, ...] = (2, 10, 26, 100)
    look_features: tuple[int, int] = (10, 250)  # on all examples, on a sample
    look_sample: int = 1_000
    searches: int = 100
    gathers: int = 60  # rounds of laminating beside its bare reads
    growth: tuple[int, ...] = (*(10**4 * n for n in (1, 2, 5, 10, 20, 50, 100, 140, 200)),)
    growth_features: tuple[int, ...] = (10, 20, 50, 100, 200, 500, 1_000)
    growth_sampled: tuple[int, ...] = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 40_000)
    growth_classes: tuple[int, ...] = (2, 5, 10, 26, 50, 100)
    sweeps: int = 15  # timings of each size that grows


@dataclass(frozen=True)
class Section:
    """The result of one section; mappings as JSON takes them."""

    tables: tuple[Table, ...]
    numbers: Mapping[str, Any]
    #: Costs in units of another cost of the same run, and slopes; larger is worse.
    ratios: Mapping[str, float]
    #: What must be equal in two runs whose ratios are compared.
    conditions: Mapping[str, Any]
    #: Makes the section's picture; needs matplotlib.
    draw: Callable[[], Figure] | None = None


def section_table(
    title: str, columns: Mapping[str, str], numbers: Iterable[Mapping[str, Any]]
) -> Table:
    """A table of numbers, each column a format of their keys.

    >>> section_table(
    ...     "", {"K": "{classes}", "share": "{share:.0%}"}, [{"classes": 2, "share": 0.5}]
    ... ).rows
    (('2', '50%'),)
    """
    forms = columns.values()
    return Table(
        title, tuple(columns), tuple(tuple(f.format_map(row) for f in forms) for row in numbers)
    )


def seconds_of(work: Callable[..., Any], *args: Any) -> float:
    """Seconds that a call takes."""
    before = time.perf_counter()
    work(*args)
    return time.perf_counter() - before


def paired_ratio(costs: ArrayLike, units: ArrayLike) -> float:
    """The median ratio of costs to units that were timed in turns, (n,) each.

    Neighbours in time share the load of the machine, so it cancels.

    >>> paired_ratio([2.0, 4.0, 9.0], [1.0, 2.0, 3.0])
    2.0
    """
    return float(np.median(np.asarray(costs, np.float64) / np.asarray(units, np.float64)))


def fit_slope(sizes: ArrayLike, costs: ArrayLike) -> tuple[float, float]:
    """The power p and the factor c of cost = c * size ** p, by least squares of the logarithms.

    SettingError if there are fewer than two different sizes.

    >>> np.round(fit_slope([1, 10, 100], [3.0, 30.0, 300.0]), 6).tolist()
    [1.0, 3.0]
    """
    n_sizes = np.unique(np.asarray(sizes)).size
    if n_sizes < 2:
        raise SettingError(
            f"a slope needs two sizes or more, got {n_sizes}; take larger data, or leave growth "
            "out of --only"
        )
    power, intercept = np.polyfit(np.log(sizes), np.log(costs), 1)
    return float(power), float(np.exp(intercept))
