"""Growth of the cost with N, Q, T or K alone, as slopes on log-log axes.

All sizes take turns, sweep after sweep, so that the load of the machine affects all of them alike.
In each turn the work of a size is done twice and the second time counts, so that its data are in
the caches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.problem import BenchProblem, synthetic_problem
from benchmarks.timing import BASELINE, BenchSizes, growth_slope, record_ratio, seconds_of
from boostsample.experiments.common.machine import machine_cache
from boostsample.loop.booster import Booster
from boostsample.rows.searcher import Searcher

_FITTED_FROM = 100_000
"""Least N of the fitted slope: smaller ones have large constant costs, and weights in near caches.
"""
_Q = 10
_CLASSES = 10
_ROW_BYTES = 40  # float32 weights of ten classes


def sweep_twice(works: Sequence[Callable[[], float]]) -> list[float]:
    """Seconds that each work returns the second time."""
    seconds = []
    for work in works:
        work()
        seconds.append(work())
    return seconds


def sizes_beyond_caches(examples: Sequence[int], cache: int) -> tuple[int, ...]:
    """The N, and two doublings more if fewer than two have weights larger than the last cache.

    Rented machines report a cache that dozens of cores share.
    """
    if sum(_ROW_BYTES * n > cache for n in examples) < 2:
        return (*examples, 2 * examples[-1], 4 * examples[-1])
    return tuple(examples)


def rounds_of(n: int, n_rounds: int) -> Callable[[], float]:
    """Rounds of the baseline on N synthetic examples: Q = 10 features, T = N."""
    problem = synthetic_problem(n, 2 * _Q, _CLASSES)
    named: dict[str, Any] = {"n_rounds": n_rounds, "weight_init": "uniform", "rng": 0}
    booster = Booster(problem.bank, problem.rows, problem.Y, BASELINE, **named)
    booster.next_round()
    return lambda: seconds_of(booster.next_round)


def searches_of(
    problem: BenchProblem, q: int, t: int, k: int, rng: np.random.Generator
) -> Callable[[], float]:
    """Searches of Q fresh features on T examples with K labels; T = N is all examples."""
    weights = problem.relabelled(k).weights()
    searcher = Searcher(problem.bank, weights)
    exact = t == len(problem.rows)

    def work() -> float:
        features: NDArray[np.int64] = rng.choice(problem.bank.n_features, q, replace=False)
        rows = weights.exact() if exact else searcher.draw(t, "iid", rng)
        seconds = seconds_of(searcher.search, features, rows, exact)
        weights.release()
        return seconds

    return work


def test_growth(benchmark: Any, problem: BenchProblem, sizes: BenchSizes, grown: str) -> None:
    """Q grows on samples of the middle T, T with the middle Q, K with ten features on all examples.

    The slope of N is fitted to sizes of at least 100,000.
    """
    n, most, asked = len(problem.rows), problem.bank.n_features, dict(sizes.grown)
    of = {
        "N": list(sizes_beyond_caches(asked["N"], machine_cache())),
        "Q": sorted({min(q, most) for q in asked["Q"]}),
        "T": sorted({min(t, n) for t in asked["T"]}),
        "K": list(asked["K"]),
    }
    q, t, k = of["Q"][len(of["Q"]) // 2], of["T"][len(of["T"]) // 2], problem.n_classes
    rng = np.random.default_rng(3)
    if grown == "N":
        works = [rounds_of(size, 2 * sizes.sweeps + 3) for size in of["N"]]
        looks = [_Q * size for size in of["N"]]
    else:
        cases = {
            "Q": [(size, t, k) for size in of["Q"]],
            "T": [(q, size, k) for size in of["T"]],
            "K": [(min(_Q, most), n, size) for size in of["K"]],
        }[grown]
        works = [searches_of(problem, *case, rng) for case in cases]
        looks = [case[0] * case[1] for case in cases]
    sweeps: list[list[float]] = []
    benchmark.pedantic(lambda: sweeps.append(sweep_twice(works)), rounds=sizes.sweeps)
    medians = np.median(sweeps, axis=0)
    fitted = [size >= _FITTED_FROM for size in of["N"]] if grown == "N" else [True] * len(looks)
    if sum(fitted) < 2:  # too few sizes are large: all of them count
        fitted = [True] * len(looks)
    slope = growth_slope(np.array(of[grown])[fitted].tolist(), medians[fitted])
    record_ratio(
        benchmark,
        "growth",
        f"slope of {grown}",
        slope,
        {**problem.sizes(), **of},
        median_ms=(1e3 * medians).tolist(),
        look_ns=(1e9 * medians / looks).tolist(),
    )
