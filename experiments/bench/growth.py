"""Growth of the cost with N, Q, T or K alone, as slopes on log-log axes.

All sizes take turns, sweep after sweep, so that the load of the machine affects all of them alike.
In each turn the work of a size is done twice and the second time counts, so that its data are in
the caches.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.errors import SettingError
from boostsample.experiments.bench.problem import (
    BenchProblem,
    bench_problem_weights,
    made_bench_problem,
    relabelled_bench_problem,
)
from boostsample.experiments.bench.rounds import ROUND_BASELINE, TimedRounds
from boostsample.experiments.bench.timing import TimingResult, TimingSizes, timed_seconds
from boostsample.experiments.common.machine import machine_cache
from boostsample.experiments.common.progress import Progress
from boostsample.experiments.plots.drawing.figures import (
    decade_ticks,
    legend_below,
    new_figure,
    styled_axes,
)
from boostsample.experiments.tables.tables import Table
from boostsample.rows.searcher import Searcher

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FITTED_FROM = 100_000
"""Least N of fitted slopes: smaller ones have large constant costs, and weights in near caches."""
_Q = 10
_CLASSES = 10
_ROW_BYTES = 40  # float32 weights of ten classes


@dataclass(frozen=True)
class Growth:
    """Seconds of the same work at several sizes: float64 (sweeps, sizes).

    `what` is the size that grows: N, Q, T or K; `work` names the timed work, `looks` are its looks,
    (sizes,). The slope is fitted to sizes of at least `fitted_from`.
    """

    what: str
    work: str
    sizes: tuple[int, ...]
    looks: tuple[int, ...]
    seconds: NDArray[np.float64]
    fitted_from: int = 0

    @property
    def fitted_sizes(self) -> tuple[int, ...]:
        """Sizes from `fitted_from` on; all of them if there are fewer than two."""
        large = tuple(size for size in self.sizes if size >= self.fitted_from)
        return large if len(large) > 1 else self.sizes

    @property
    def slope(self) -> tuple[float, float]:
        """Power and factor of the medians of the sweeps."""
        fitted = [size in self.fitted_sizes for size in self.sizes]
        return growth_slope(self.fitted_sizes, np.median(self.seconds[:, fitted], axis=0))

    def numbers(self) -> dict[str, Any]:
        """Sizes, looks, milliseconds and slopes, as JSON takes them."""
        return {
            "what": self.what,
            "work": self.work,
            "sizes": list(self.sizes),
            "looks": list(self.looks),
            "least_ms": (1e3 * self.seconds.min(axis=0)).tolist(),
            "median_ms": (1e3 * np.median(self.seconds, axis=0)).tolist(),
            "fitted_from": self.fitted_from,
            "slope": self.slope[0],
        }


def growth_slope(sizes: ArrayLike, costs: ArrayLike) -> tuple[float, float]:
    """The power p and the factor c of cost = c * size ** p, by least squares of the logarithms.

    SettingError if there are fewer than two different sizes.

    >>> np.round(growth_slope([1, 10, 100], [3.0, 30.0, 300.0]), 6).tolist()
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


def growth_sweep(
    works: Sequence[Callable[[], float]], n_sweeps: int, stage: str, progress: Progress
) -> NDArray[np.float64]:
    """Seconds that each work returns in each sweep: float64 (sweeps, works); see the module."""
    seconds = np.empty((n_sweeps, len(works)))
    for number in range(n_sweeps):
        progress(stage, number, n_sweeps)
        for at, work in enumerate(works):
            work()
            seconds[number, at] = work()
    return seconds


def growth_of_examples(sizes: Sequence[int], n_sweeps: int, progress: Progress) -> Growth:
    """Rounds of the baseline on N made examples: Q = 10 features, T = N."""
    works = []
    for number, n in enumerate(sizes):
        progress("growth: data", number, len(sizes))
        problem = made_bench_problem(n, 2 * _Q, _CLASSES)
        run = TimedRounds(problem, ROUND_BASELINE, 2 * n_sweeps + 1)
        run.run(1)  # compiles
        works.append(functools.partial(run.run, 1))
    seconds = growth_sweep(works, n_sweeps, "growth of N", progress)
    looks = tuple(_Q * n for n in sizes)
    return Growth("N", "a round", tuple(sizes), looks, seconds, _FITTED_FROM)


def growth_of_searches(
    problem: BenchProblem,
    what: str,
    points: Sequence[tuple[int, int, int]],
    n_sweeps: int,
    progress: Progress,
) -> Growth:
    """Searches of Q fresh features on T examples with K labels, for several (Q, T, K).

    `what` is the letter of the one that grows. T = N is all examples; otherwise each search draws a
    new sample.
    """
    rng = np.random.default_rng(3)
    works = [_search(problem, q, t, k, rng) for q, t, k in points]
    seconds = growth_sweep(works, n_sweeps, f"growth of {what}", progress)
    sizes = tuple(point["QTK".index(what)] for point in points)
    return Growth(what, "a search", sizes, tuple(q * t for q, t, _ in points), seconds)


def _search(
    problem: BenchProblem, q: int, t: int, k: int, rng: np.random.Generator
) -> Callable[[], float]:
    weights = bench_problem_weights(relabelled_bench_problem(problem, k))
    searcher = Searcher(problem.bank, weights)

    def work() -> float:
        features = rng.choice(problem.bank.n_features, q, replace=False)
        rows = searcher.draw(t, "iid", rng)
        seconds = timed_seconds(lambda: searcher.search(features, rows, t == len(problem.rows)))
        weights.release()
        return seconds

    return work


def bench_growth_table(growth: Growth) -> Table:
    """Milliseconds and nanoseconds per look at each size, and the slope from each to the next."""
    medians = np.median(growth.seconds, axis=0)
    rows = []
    for at, (size, looks) in enumerate(zip(growth.sizes, growth.looks, strict=True)):
        pair = slice(at - 1, at + 1)
        slope = f"{growth_slope(growth.sizes[pair], medians[pair])[0]:z.2f}" if at else ""
        least, median = 1e3 * growth.seconds[:, at].min(), 1e3 * medians[at]
        ns = f"{1e9 * medians[at] / looks:.2f}"
        rows.append((f"{size:,}", f"{least:.3f}", f"{median:.3f}", ns, slope))
    first = growth.fitted_sizes[0]
    fitted = f" (fitted from {first:,} on)" if first > growth.sizes[0] else ""
    return Table(
        f"{growth.work} as {growth.what} grows: least and median milliseconds, nanoseconds a look, "
        f"slope since the line above; slope of all {growth.slope[0]:.2f}{fitted}",
        (growth.what, "least", "median", "ns", "slope"),
        tuple(rows),
    )


@styled_axes
def _growth_figure(growth: Growth) -> Figure:
    """Milliseconds per round against N, with the fitted slope."""
    figure = new_figure(4.8, 6.4)
    axes = figure.subplots()
    axes.loglog(growth.sizes, 1e3 * np.median(growth.seconds, axis=0), "o", label="median")
    axes.loglog(growth.sizes, 1e3 * growth.seconds.min(axis=0), "v", label="least")
    power, factor = growth.slope
    fitted = np.array(growth.fitted_sizes, dtype=np.float64)
    label = f"slope {power:.2f} from N = {fitted[0]:,.0f} on"
    axes.loglog(fitted, 1e3 * factor * fitted**power, label=label)
    axes.set(xlabel="examples N", ylabel=f"milliseconds {growth.work}")
    decade_ticks(axes.xaxis)
    decade_ticks(axes.yaxis)
    legend_below(figure, [axes])
    figure.suptitle(f"{growth.work} of {ROUND_BASELINE}: 10 features, all N examples, 10 classes")
    return figure


def bench_growth(problem: BenchProblem, sizes: TimingSizes, progress: Progress) -> TimingResult:
    """Growth with N, Q, T and K; the picture shows N.

    N is doubled twice more if fewer than two sizes have weights larger than the last cache: rented
    machines report a cache that dozens of cores share. Q grows on samples of the middle one of the
    T, T with the middle one of the Q, and K with ten features on all examples.
    """
    n, most, sweeps = len(problem.rows), problem.bank.n_features, sizes.sweeps
    n_examples = sizes.growth
    if sum(_ROW_BYTES * one > machine_cache() for one in n_examples) < 2:
        n_examples = (*n_examples, 2 * n_examples[-1], 4 * n_examples[-1])
    features = sorted({min(q, most) for q in sizes.growth_features})
    sampled = sorted({min(t, n) for t in sizes.growth_sampled})
    q, t, k = features[len(features) // 2], sampled[len(sampled) // 2], problem.n_classes
    points = {
        "Q": [(one, t, k) for one in features],
        "T": [(q, one, k) for one in sampled],
        "K": [(min(_Q, most), n, one) for one in sizes.growth_classes],
    }
    growths = [growth_of_examples(n_examples, sweeps, progress)]
    for what, these in points.items():
        growths.append(growth_of_searches(problem, what, these, sweeps, progress))
    grown = {"N": list(n_examples), "Q": features, "T": sampled, "K": list(sizes.growth_classes)}
    return TimingResult(
        tuple(map(bench_growth_table, growths)),
        {"growth": [one.numbers() for one in growths]},
        {f"slope of {one.what}": one.slope[0] for one in growths},
        {**problem.sizes(), **grown},
        functools.partial(_growth_figure, growths[0]),
    )
