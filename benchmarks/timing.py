"""Sizes of the timed work, work timed in turns with its unit, and the ratio of the two."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

BASELINE = "uniform-naive"
"""The strategy whose rounds are the unit of other rounds, and grow with N."""


@dataclass(frozen=True)
class BenchSizes:
    """Sizes of the timed work. The kept ratios and the speeds in docs/speed.md belong to these."""

    examples: int = 60_000  # of the synthetic data: N,
    features: int = 2_000  # F,
    classes: int = 10  # K
    rounds: int = 200  # of each strategy,
    block: int = 20  # rounds before those of the baseline
    look_classes: tuple[int, ...] = (2, 10, 26, 100)
    look_features: tuple[int, int] = (10, 250)  # on all examples, on a sample
    look_sample: int = 1_000
    samples: tuple[int, ...] = (300, 1_000, 5_000, 20_000)  # examples of samples, of data
    sample_features: int = 4_096  # with at least this many features
    searches: int = 100
    bound_rounds: int = 60  # rounds of laminating beside its bare reads
    grown: tuple[tuple[str, tuple[int, ...]], ...] = (
        ("N", tuple(10**4 * n for n in (1, 2, 5, 10, 20, 50, 100, 140, 200))),
        ("Q", (10, 20, 50, 100, 200, 500, 1_000)),
        ("T", (500, 1_000, 2_000, 5_000, 10_000, 20_000, 40_000)),
        ("K", (2, 5, 10, 26, 50, 100)),
    )
    sweeps: int = 15  # timings of each size that grows
    threads: int = max(2, os.cpu_count() or 1)


TEST_SIZES = BenchSizes(
    examples=400,
    features=24,
    classes=3,
    rounds=4,
    block=2,
    look_classes=(2, 3),
    look_features=(4, 8),
    look_sample=50,
    samples=(20, 100),
    sample_features=4_096,
    searches=3,
    bound_rounds=2,
    grown=(("N", (300, 600)), ("Q", (2, 4)), ("T", (50, 100)), ("K", (2, 3))),
    sweeps=2,
    threads=2,
)
"""Sizes where benchmarks run once, as tests."""


def seconds_of(work: Callable[..., Any], *args: Any) -> float:
    """Seconds that a call takes."""
    before = time.perf_counter()
    work(*args)
    return time.perf_counter() - before


def time_in_turns(
    benchmark: Any,
    work: Callable[..., Any],
    unit: Callable[..., float],
    rounds: int,
    *,
    setup: Callable[[], tuple[Any, ...]] = tuple,
    block: int = 1,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Time `work` as a benchmark and, after each `block` of its calls, as many of `unit`.

    `setup` makes the arguments of a call of `work` and of its `unit`; `unit` returns its seconds.
    Returns the seconds of both, float64 (rounds,) each, or (1,) if benchmarks are disabled.
    """
    seconds: list[float] = []
    units: list[float] = []
    waiting: list[tuple[Any, ...]] = []

    def timed(*args: Any) -> None:
        seconds.append(seconds_of(work, *args))

    def after(*args: Any) -> None:
        waiting.append(args)
        if len(waiting) == block or len(seconds) == rounds or benchmark.disabled:
            units.extend(unit(*waiting_args) for waiting_args in waiting)
            waiting.clear()

    if benchmark.disabled:  # runs once, as a test, without a teardown
        args = setup()
        benchmark.pedantic(timed, args=args)
        after(*args)
    else:
        benchmark.pedantic(timed, setup=lambda: (setup(), {}), teardown=after, rounds=rounds)
    return np.array(seconds), np.array(units)


def median_ratio(costs: ArrayLike, units: ArrayLike) -> float:
    """The median ratio of costs to units that were timed in turns, (n,) each.

    Neighbours in time share the load of the machine, so it cancels.

    >>> median_ratio([2.0, 4.0, 9.0], [1.0, 2.0, 3.0])
    2.0
    """
    return float(np.median(np.asarray(costs, np.float64) / np.asarray(units, np.float64)))


def growth_slope(sizes: Sequence[int], costs: ArrayLike) -> float:
    """The power p of cost = c * size ** p, by least squares of the logarithms.

    >>> round(growth_slope([1, 10, 100], [3.0, 30.0, 300.0]), 6)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(np.asarray(costs, np.float64)), 1)[0])


def record_ratio(
    benchmark: Any, section: str, name: str, ratio: float, conditions: dict[str, Any], **more: Any
) -> None:
    """Put a ratio into the benchmark's record, for `benchmarks.check_ratios`.

    `conditions` must be equal in two runs whose ratios are compared; `more` is kept beside it.
    """
    benchmark.extra_info.update(
        section=section, ratio_name=name, ratio=ratio, conditions=conditions, **more
    )
