"""Sizes and results of the timed sections of the bench; helpers for seconds, ratios and tables."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from boostsample.experiments.tables.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class TimingSizes:
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
    samples: tuple[int, ...] = (300, 1_000, 5_000, 20_000)  # examples of samples, of data
    sample_features: int = 4_096  # with at least so many features
    searches: int = 100
    gathers: int = 60  # rounds of laminating beside its bare reads
    growth: tuple[int, ...] = (*(10**4 * n for n in (1, 2, 5, 10, 20, 50, 100, 140, 200)),)
    growth_features: tuple[int, ...] = (10, 20, 50, 100, 200, 500, 1_000)
    growth_sampled: tuple[int, ...] = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 40_000)
    growth_classes: tuple[int, ...] = (2, 5, 10, 26, 50, 100)
    sweeps: int = 15  # timings of each size that grows


@dataclass(frozen=True)
class TimingResult:
    """The result of one section; mappings as JSON takes them."""

    tables: tuple[Table, ...]
    numbers: Mapping[str, Any]
    #: Costs in units of another cost of the same run, and slopes; larger is worse.
    ratios: Mapping[str, float]
    #: What must be equal in two runs whose ratios are compared.
    conditions: Mapping[str, Any]
    #: Makes the section's picture; needs matplotlib.
    draw: Callable[[], Figure] | None = None


def timing_table(
    title: str, columns: Mapping[str, str], numbers: Iterable[Mapping[str, Any]]
) -> Table:
    """A table of numbers, each column a format of their keys.

    >>> timing_table(
    ...     "", {"K": "{classes}", "share": "{share:.0%}"}, [{"classes": 2, "share": 0.5}]
    ... ).rows
    (('2', '50%'),)
    """
    forms = columns.values()
    return Table(
        title, tuple(columns), tuple(tuple(f.format_map(row) for f in forms) for row in numbers)
    )


def timed_seconds(work: Callable[..., Any], *args: Any) -> float:
    """Seconds that a call takes."""
    before = time.perf_counter()
    work(*args)
    return time.perf_counter() - before


def timed_ratio(costs: ArrayLike, units: ArrayLike) -> float:
    """The median ratio of costs to units that were timed in turns, (n,) each.

    Neighbours in time share the load of the machine, so it cancels.

    >>> timed_ratio([2.0, 4.0, 9.0], [1.0, 2.0, 3.0])
    2.0
    """
    return float(np.median(np.asarray(costs, np.float64) / np.asarray(units, np.float64)))
