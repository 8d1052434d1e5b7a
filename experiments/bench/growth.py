"""How the cost grows with N, Q, T and K, each alone, as slopes in log-log.

The sizes take turns, sweep after sweep, so that whatever else the machine does hits all of them
alike. In each turn the work is done twice and timed the second time: a run finds in the caches
what its own last round has left there, not what another size has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.experiments.bench.bounds import bytes_of_row, last_cache
from boostsample.experiments.bench.looks import seconds_of
from boostsample.experiments.bench.problem import (
    Problem,
    Progress,
    made_problem,
    relabelled,
    weights_of,
)
from boostsample.experiments.bench.ratios import Ratio, Section, Slope, fit_slope, slope_ratio
from boostsample.experiments.bench.rounds import BASELINE, RoundTimes, Timed
from boostsample.experiments.tables.tables import Table
from boostsample.loop.sampling import SCHEMES
from boostsample.loop.searcher import Searcher
from boostsample.registry import make_strategy

__all__ = [
    "FITTED_FROM",
    "Growth",
    "growth_of_examples",
    "growth_of_searches",
    "growth_section",
    "growth_table",
    "slopes_table",
    "sweep",
]

FITTED_FROM = 100_000
"""Slopes of N are fitted from here on: below, costs that do not grow count, and the caches near the
processor hold most weights."""
_Q = 10
_CLASSES = 10


@dataclass(frozen=True)
class Growth:
    """Seconds of the same work at several sizes: (sweeps, sizes).

    `what` grows: N, Q, T or K; `work` says what was timed, `looks` (sizes,) its looks. The slope is
    fitted to sizes of at least `fitted_from`.
    """

    what: str
    work: str
    sizes: tuple[int, ...]
    looks: tuple[int, ...]
    seconds: NDArray[np.float64]
    fitted_from: int = 0

    @property
    def fitted_sizes(self) -> tuple[int, ...]:
        """Those from `fitted_from` on, all of them if that would leave fewer than two."""
        large = tuple(size for size in self.sizes if size >= self.fitted_from)
        return large if len(large) > 1 else self.sizes

    def slope(self, of: Callable[..., Any] = np.median) -> Slope:
        """Of the medians, or of what `of` makes of the sweeps of each size."""
        return fit_slope(self.fitted_sizes, of(self._fitted_seconds, axis=0))

    def slope_with_spread(self) -> Ratio:
        """The slope of the medians, and how it scatters."""
        return slope_ratio(self.fitted_sizes, self._fitted_seconds)

    @property
    def _fitted_seconds(self) -> NDArray[np.float64]:
        return self.seconds[:, [size in self.fitted_sizes for size in self.sizes]]


def sweep(
    works: Sequence[Callable[[], float]],
    n_sweeps: int,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float64]:
    """Seconds of each work in each sweep, (sweeps, works), as it tells them.

    In each turn a work is done twice, and the second time counts.
    """
    seconds = np.empty((n_sweeps, len(works)))
    for number in range(n_sweeps):
        if progress is not None:
            progress(number, n_sweeps)
        for at, work in enumerate(works):
            work()
            seconds[number, at] = work()
    return seconds


def growth_of_examples(
    sizes: Sequence[int], n_sweeps: int, progress: Progress | None = None
) -> Growth:
    """Whole rounds of the baseline on N made examples: Q = 10 features, T = N."""
    works = []
    for number, n in enumerate(sizes):
        if progress is not None:
            progress("growth: data", number, len(sizes))
        problem = made_problem(n, 2 * _Q, _CLASSES)
        run = Timed(problem, make_strategy(BASELINE), 2 * n_sweeps + 1)
        times = RoundTimes(BASELINE)
        run.run(1, times)
        works.append(_round(run, times))
    seconds = sweep(works, n_sweeps, _stage(progress, "growth of N"))
    looks = tuple(_Q * n for n in sizes)
    return Growth("N", "a round", tuple(sizes), looks, seconds, FITTED_FROM)


def _round(run: Timed, times: RoundTimes) -> Callable[[], float]:
    def work() -> float:
        run.run(1, times)
        return times.seconds[-1]

    return work


def _stage(progress: Progress | None, name: str) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress(name, done, total)


def growth_of_searches(
    problem: Problem,
    what: str,
    cells: Sequence[tuple[int, int, int]],
    n_sweeps: int,
    progress: Progress | None = None,
) -> Growth:
    """Searches of Q fresh features on T examples with K labels, for several (Q, T, K).

    `what` is the one of them that grows. T = N is all examples, else each search has a new sample.
    """
    rng = np.random.default_rng(3)
    works = [_search(problem, q, t, k, rng) for q, t, k in cells]
    seconds = sweep(works, n_sweeps, _stage(progress, f"growth of {what}"))
    sizes = tuple(cell["QTK".index(what)] for cell in cells)
    return Growth(what, "a search", sizes, tuple(q * t for q, t, _ in cells), seconds)


def _search(
    problem: Problem, q: int, t: int, k: int, rng: np.random.Generator
) -> Callable[[], float]:
    weights = weights_of(relabelled(problem, k))
    searcher = Searcher(problem.bank, weights)
    exact = t >= len(problem.rows)

    def work() -> float:
        features = rng.choice(problem.bank.n_features, q, replace=False)
        rows = weights.exact() if exact else weights.draw(t, SCHEMES["iid"], rng)
        seconds = seconds_of(lambda: searcher.search(features, rows, exact))
        weights.release()
        return seconds

    return work


def growth_table(growth: Growth) -> Table:
    """Milliseconds and nanoseconds a look at each size, and the slope from each to the next."""
    medians = np.median(growth.seconds, axis=0)
    rows = []
    for at, (size, looks) in enumerate(zip(growth.sizes, growth.looks, strict=True)):
        step = ""
        if at:
            before = slice(at - 1, at + 1)
            step = f"{fit_slope(growth.sizes[before], medians[before]).power:.2f}"
        rows.append(
            (
                f"{size:,}",
                f"{1e3 * growth.seconds[:, at].min():.3f}",
                f"{1e3 * medians[at]:.3f}",
                f"{1e9 * medians[at] / looks:.2f}",
                step,
            )
        )
    first = growth.fitted_sizes[0]
    fitted = f" (fitted from {first:,} on)" if first > growth.sizes[0] else ""
    return Table(
        f"{growth.work} as {growth.what} grows: least and median milliseconds, nanoseconds a look, "
        f"slope since the line above; slope of all {growth.slope().power:.2f}{fitted}",
        (growth.what, "least", "median", "ns", "slope"),
        tuple(rows),
    )


def slopes_table(growths: Sequence[Growth]) -> Table:
    """The fitted slopes."""
    return Table(
        f"slopes in log-log of the median and of the least times, 1 is linear; of N from "
        f"{FITTED_FROM:,} on, and from where no cache holds the weights, as far as the machine "
        "tells, else over the last two doublings",
        ("", "of", "from", "to", "median", "least"),
        tuple(
            (
                one.what,
                one.work,
                f"{one.fitted_sizes[0]:,}",
                f"{one.sizes[-1]:,}",
                f"{one.slope().power:.3f}",
                f"{one.slope(np.min).power:.3f}",
            )
            for one in growths
        ),
    )


def _and_beyond_caches(growths: Sequence[Growth]) -> list[Growth]:
    """The growth of N once more, fitted to the sizes whose weights exceed the last cache.

    Where that would be fewer than two, to the last two doublings, see `_far_enough`.
    """
    sizes = growths[0].sizes
    beyond = _beyond_caches(sizes)
    first = beyond[0] if len(beyond) > 1 else sizes[-1] // 4
    return [growths[0], replace(growths[0], fitted_from=first), *growths[1:]]


def _beyond_caches(sizes: Sequence[int]) -> list[int]:
    return [n for n in sizes if n * bytes_of_row(_CLASSES) > last_cache()]


def _far_enough(sizes: Sequence[int]) -> tuple[int, ...]:
    """The sizes, and two doublings more where fewer than two have weights beyond the last cache.

    Rented machines tell of a cache that dozens of cores share, and have a part of it.
    """
    if len(_beyond_caches(sizes)) > 1:
        return tuple(sizes)
    return (*sizes, 2 * sizes[-1], 4 * sizes[-1])


def growth_section(
    problem: Problem,
    sizes: Sequence[int],
    n_features: Sequence[int],
    n_sampled: Sequence[int],
    n_classes: Sequence[int],
    n_sweeps: int,
    progress: Progress | None = None,
) -> tuple[Section, Growth]:
    """All four; the growth of N beyond the caches is given apart for the picture.

    Q grows on samples of the middle one of `n_sampled`, T with the middle one of `n_features`, and
    K with ten features on all examples.
    """
    n, sizes = len(problem.rows), _far_enough(sizes)
    most = problem.bank.n_features
    features = sorted({min(q, most) for q in n_features})
    sampled = sorted({min(t, n) for t in n_sampled})
    q, t, k = features[len(features) // 2], sampled[len(sampled) // 2], problem.n_classes
    growths = [
        growth_of_examples(sizes, n_sweeps, progress),
        growth_of_searches(problem, "Q", [(one, t, k) for one in features], n_sweeps, progress),
        growth_of_searches(problem, "T", [(q, one, k) for one in sampled], n_sweeps, progress),
        growth_of_searches(
            problem, "K", [(min(_Q, most), n, one) for one in n_classes], n_sweeps, progress
        ),
    ]
    with_slopes = _and_beyond_caches(growths)
    section = Section(
        (*(growth_table(one) for one in growths), slopes_table(with_slopes)),
        {
            "growth": [
                {
                    "what": one.what,
                    "work": one.work,
                    "sizes": list(one.sizes),
                    "looks": list(one.looks),
                    "least_ms": [1e3 * float(s) for s in one.seconds.min(axis=0)],
                    "median_ms": [1e3 * float(s) for s in np.median(one.seconds, axis=0)],
                    "fitted_from": one.fitted_from,
                    "slope": one.slope().power,
                    "slope_of_least": one.slope(np.min).power,
                }
                for one in with_slopes
            ]
        },
        {f"slope of {one.what}": one.slope_with_spread() for one in growths},
        {
            **problem.sizes(),
            "N": list(sizes),
            "Q": features,
            "T": sampled,
            "K": list(n_classes),
        },
    )
    return section, with_slopes[1]
