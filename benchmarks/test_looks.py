"""Nanoseconds per look: beside its bounds, and on samples of several sizes.

A look adds the vectors of a row to a histogram: each is loaded, added and stored, and a processor
stores at most one vector per cycle. On few of many examples, as in the first stages of laminating,
nearly every read of a bin is a cache miss.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.bounds import store_bound, time_read_bound
from benchmarks.problem import BenchProblem
from benchmarks.timing import BenchSizes, median_ratio, record_ratio, seconds_of, time_in_turns
from boostsample.kernels.array_layout import Rows
from boostsample.loop.booster import Booster
from boostsample.records.feature_tiles import sample_tiles
from boostsample.rows.searcher import Searcher
from boostsample.step import Step
from boostsample.strategies.laminating import laminating_stages

_SAMPLE_LOOKS = 75_000
"""Looks of a search of a sample, of at most `_MOST_FEATURES` features."""
_MOST_FEATURES = 256


@pytest.mark.parametrize("rows", ["all examples", "a sample"])
def test_looks(
    benchmark: Any, problem: BenchProblem, sizes: BenchSizes, n_labelled: int, rows: str
) -> None:
    """A look on all examples in units of its stores, on a sample in units of its reads.

    The reads are of other features than the search, so that neither finds the bins of the other in
    a cache. Ten searches come before their bounds: directly after the stores, a search is 10 %
    slower on an Intel Xeon.
    """
    labelled = problem.relabelled(n_labelled)
    exact = rows == "all examples"
    n_features = min(sizes.look_features[not exact], problem.bank.n_features)
    n_examples = len(problem.rows) if exact else sizes.look_sample
    weights, rng = labelled.weights(), np.random.default_rng(1)
    searcher = Searcher(problem.bank, weights)
    store = store_bound(labelled.Y.shape[1])
    looks: list[int] = []
    bounds: dict[str, list[float]] = {"stores": [], "reads": []}

    def features() -> NDArray[np.int64]:
        return rng.choice(problem.bank.n_features, n_features, replace=False)

    def setup() -> tuple[NDArray[np.int64], Rows, bool]:
        return features(), searcher.draw(n_examples, "iid", rng), exact

    def unit(_: NDArray[np.int64], drawn: Rows, exact: bool) -> float:
        n = n_examples if exact else drawn.examples.size
        looks.append(n_features * n)
        bounds["stores"].append(seconds_of(store, looks[-1]))
        bounds["reads"].append(time_read_bound(problem.bank, features(), drawn, n))
        if len(looks) % 10 == 0:
            weights.release()
        return bounds["stores" if exact else "reads"][-1]

    warm_up = setup()
    searcher.search(*warm_up)
    unit(*warm_up)
    weights.release()
    looks.clear()
    for seconds in bounds.values():
        seconds.clear()
    searches, units = time_in_turns(
        benchmark, searcher.search, unit, sizes.searches, setup=setup, block=10
    )
    record_ratio(
        benchmark,
        "looks",
        f"{n_labelled} classes, {rows}",
        median_ratio(searches, units),
        {**problem.sizes(), "search": [list(sizes.look_features), sizes.look_sample]},
        search_ns=1e9 * float(np.median(searches / looks)),
        **{f"{name}_ns": 1e9 * median_ratio(seconds, looks) for name, seconds in bounds.items()},
    )


@pytest.mark.parametrize("together", [True, False], ids=["together", "apart"])
def test_samples(
    benchmark: Any, wide_problem: BenchProblem, sizes: BenchSizes, n_sampled: int, together: bool
) -> None:
    """A look at a sample in units of a look at all examples, of features that lie together or not.

    Few of many examples lie in different cache lines; features of a tile share these lines. Each
    search has a new sample and new features. Looks count repeated examples, as budgets do.
    """
    bank, weights, rng = wide_problem.bank, wide_problem.weights(), np.random.default_rng(1)
    searcher = Searcher(bank.reader(wide_problem.rows), weights)
    families = [family.size for family in bank.family_infos()]
    n_features = min(_MOST_FEATURES, max(2, _SAMPLE_LOOKS // n_sampled), bank.n_features)
    if n_sampled >= len(wide_problem.rows):
        pytest.skip(f"a sample needs fewer examples than the {len(wide_problem.rows)} of the data")
    if together and sample_tiles(families, n_features, rng) is None:
        pytest.skip(f"no tile has features of a sample of {n_features}")

    def setup() -> tuple[NDArray[np.int64], Rows, bool]:
        features = sample_tiles(families, n_features, rng) if together else None
        if features is None:
            features = rng.choice(bank.n_features, n_features, replace=False)
        return features, searcher.draw(n_sampled, "iid", rng), False

    def unit(*_: Any) -> float:
        weights.release()
        features = rng.choice(bank.n_features, min(10, bank.n_features), replace=False)
        seconds = seconds_of(searcher.search, features, weights.exact(), True)
        return seconds / (features.size * len(wide_problem.rows))

    searcher.search(*setup())
    unit()
    searches, units = time_in_turns(benchmark, searcher.search, unit, sizes.searches, setup=setup)
    look = float(np.median(searches)) / (n_features * n_sampled)
    record_ratio(
        benchmark,
        "samples",
        f"{n_sampled:,} examples, {'together' if together else 'apart'}",
        look / float(np.median(units)),
        wide_problem.sizes(),
        features=n_features,
        look_ns=1e9 * look,
        look_at_all_ns=1e9 * float(np.median(units)),
    )


def test_laminating_and_its_reads(
    benchmark: Any, problem: BenchProblem, sizes: BenchSizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The searches of a round of laminating in units of the bare reads of its stages.

    As in a round, each stage reads half of the features of the stage before; the features of the
    first are drawn anew, so that they are as cold as in a round. The samples of the stages are
    drawn one by one, those of a round are nested.
    """
    n, n_features = len(problem.rows), problem.bank.n_features
    weights, rng = problem.weights(), np.random.default_rng(2)
    searcher = Searcher(problem.bank, weights)
    stages = laminating_stages(None, n, n_features, 10 * n)
    named: dict[str, Any] = {"n_rounds": sizes.bound_rounds + 3, "weight_init": "uniform"}
    booster = Booster(problem.bank, problem.rows, problem.Y, "laminating", rng=0, **named)
    searched: list[float] = []
    search = Step.search

    def timed_search(*args: Any, **options: Any) -> Any:
        before = len(stumps)
        searched[-1] += seconds_of(lambda: stumps.append(search(*args, **options)))
        return stumps[before]

    def next_round() -> None:
        stumps.clear()
        searched.append(0.0)
        booster.next_round()

    def unit() -> float:
        total = 0.0
        features = rng.choice(n_features, stages[0][0], replace=False)
        for n_read, n_examples in stages:
            rows = searcher.draw(min(n_examples, n), "iid", rng)
            n_different = rows.examples.size or min(n_examples, n)
            total += time_read_bound(problem.bank, features[:n_read], rows, n_different)
            weights.release()
        return total

    stumps: list[Any] = []
    monkeypatch.setattr(Step, "search", timed_search)
    for _ in range(3):
        next_round()
    unit()
    searched.clear()
    _, reads = time_in_turns(benchmark, next_round, unit, sizes.bound_rounds)
    record_ratio(
        benchmark,
        "bounds",
        "laminating, searches to reads",
        median_ratio(searched, reads),
        problem.sizes(),
        stages=stages,
        reads_ms=1e3 * float(np.median(reads)),
        searches_ms=1e3 * float(np.median(searched)),
    )
