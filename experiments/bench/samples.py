"""Nanoseconds per look on samples of several sizes, beside a look at all examples.

Few of many examples lie in different cache lines. Features that lie together in the tiles of a bank
share these lines; searches of such features, and of features drawn one by one, take turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.experiments.bench.problem import (
    BenchProblem,
    bench_problem_weights,
    made_bench_problem,
)
from boostsample.experiments.bench.timing import (
    TimingResult,
    TimingSizes,
    timed_seconds,
    timing_table,
)
from boostsample.experiments.common.progress import Progress
from boostsample.records.feature_tiles import sample_tiles
from boostsample.rows.searcher import Searcher
from boostsample.rows.weights import SignedWeights

_ALL_FEATURES = 10
"""Features of a search of all examples."""
_LOOKS = 75_000
"""Looks of a search of a sample, of at most `_MOST_FEATURES` features."""
_MOST_FEATURES = 256


class SampleLooks(NamedTuple):
    """Median nanoseconds of a look at T examples, of Q features that lie together or apart."""

    n_features: int
    n_examples: int
    features: str
    nanoseconds: float

    def numbers(self, whole: SampleLooks) -> dict[str, Any]:
        """Sizes, nanoseconds, and their ratio to a look at all examples."""
        return {**self._asdict(), "ratio": self.nanoseconds / whole.nanoseconds}


def time_samples(
    problem: BenchProblem, sizes: Sequence[int], searches: int, progress: Progress
) -> list[SampleLooks]:
    """Looks at all examples, then at samples of several sizes, timed in turns.

    Each search has a new sample and new features. Looks count repeated examples, as budgets do.
    Without tiles, all features lie apart.
    """
    bank, weights, rng = problem.bank, bench_problem_weights(problem), np.random.default_rng(1)
    searcher = Searcher(bank.reader(problem.rows), weights)
    families = [family.size for family in bank.family_infos()]
    cases = [(min(_ALL_FEATURES, bank.n_features), len(problem.rows), "apart")]
    for size in sizes:
        q = min(_MOST_FEATURES, max(2, _LOOKS // size), bank.n_features)
        cases.append((q, size, "apart"))
        if sample_tiles(families, q, rng) is not None:
            cases.append((q, size, "together"))
    spent: list[list[float]] = [[] for _ in cases]
    for done in range(searches + 1):  # the first search of each case compiles
        progress("samples", done, searches + 1)
        for times, (q, size, kind) in zip(spent, cases, strict=True):
            features = sample_tiles(families, q, rng) if kind == "together" else None
            if features is None:
                features = rng.choice(bank.n_features, q, replace=False)
            times.append(_nanoseconds(searcher, weights, size, features, rng))
    return [
        SampleLooks(*case, float(np.median(times[1:])))
        for times, case in zip(spent, cases, strict=True)
    ]


def _nanoseconds(
    searcher: Searcher,
    weights: SignedWeights,
    size: int,
    features: NDArray[np.int64],
    rng: np.random.Generator,
) -> float:
    """Nanoseconds of a look of one search."""
    rows = searcher.draw(size, "iid", rng)
    exact = size == searcher.n_examples
    seconds = timed_seconds(searcher.search, features, rows, exact)
    weights.release()
    return 1e9 * seconds / (features.size * size)


def bench_samples(problem: BenchProblem, sizes: TimingSizes, progress: Progress) -> TimingResult:
    """Looks at samples of several sizes, of made data with as many features as tiles need."""
    if problem.bank.n_features < sizes.sample_features:
        progress("making data", 0, 0)
        made = len(problem.rows), sizes.sample_features, problem.n_classes
        problem = made_bench_problem(*made)
    drawn = [size for size in sizes.samples if size < len(problem.rows)]
    whole, *looks = time_samples(problem, drawn, sizes.searches, progress)
    numbers = [one.numbers(whole) for one in looks]
    table = timing_table(
        "a look at a sample, sweeps included: median nanoseconds, of features that lie together or "
        f"apart; ratios to the {whole.nanoseconds:.2f} ns of a look at all {whole.n_examples:,}",
        {
            "examples": "{n_examples:,}",
            "features": "{n_features:,}",
            "that lie": "{features}",
            "ns": "{nanoseconds:.2f}",
            "ratio": "{ratio:.2f}",
        },
        numbers,
    )
    ratios = {f"{one['n_examples']:,} examples, {one['features']}": one["ratio"] for one in numbers}
    return TimingResult((table,), {"samples": numbers}, ratios, problem.sizes())
