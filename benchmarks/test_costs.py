"""Costs of looks and rounds in units of others, their growth, and predictions; see docs/speed.md.

The benchmark's record has the ratio, the conditions that must be equal where ratios are compared,
and other figures of docs/speed.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.bounds import store_bound, time_read_bound
from benchmarks.conftest import BASELINE, BenchSizes
from benchmarks.problem import BenchProblem, seconds_of, synthetic_problem, time_in_turns
from boostsample.experiments.common.machine import machine_cache
from boostsample.families import Identity
from boostsample.kernels.array_layout import Rows
from boostsample.loop.booster import Booster
from boostsample.models.model import Model
from boostsample.records import Term
from boostsample.rows.searcher import Searcher
from boostsample.step import Step
from boostsample.strategies.laminating import laminating_stages


def record_ratio(
    benchmark: Any, section: str, name: str, ratio: float, conditions: dict[str, Any], **more: Any
) -> None:
    """Put a ratio into the benchmark's record, for `benchmarks.check_ratios`."""
    more |= {"section": section, "ratio_name": name, "ratio": ratio, "conditions": conditions}
    benchmark.extra_info.update(more)


def booster_of(problem: BenchProblem, strategy: str, n_rounds: int) -> Booster:
    """A run that has compiled its kernels in three rounds."""
    data = problem.bank, problem.rows, problem.Y
    booster = Booster(*data, strategy, n_rounds=n_rounds + 3, weight_init="uniform", rng=0)
    for _ in range(3):
        booster.next_round()
    return booster


# ------------------------------------------------------------------------------------------ looks


@pytest.mark.parametrize("rows", ["all examples", "a sample"])
def test_looks(
    benchmark: Any, problem: BenchProblem, sizes: BenchSizes, n_labelled: int, rows: str
) -> None:
    """A look on all examples in units of its stores, on a sample in units of its reads.

    A look adds the vectors of a row to a histogram: each is loaded, added and stored, and a
    processor stores at most one vector per cycle. On a sample nearly every read of a bin is a cache
    miss. The reads are of other features than the search, so that neither finds the bins of the
    other in a cache. Searches run in blocks: directly after the stores, one is 10 % slower on an
    Intel Xeon.
    """
    labelled = problem.relabelled(n_labelled)
    exact = rows == "all examples"
    n_features = min(sizes.look_features[not exact], problem.bank.n_features)
    n_examples = len(problem.rows) if exact else sizes.look_sample
    weights, rng = labelled.weights(), np.random.default_rng(1)
    searcher, store = Searcher(problem.bank, weights), store_bound(labelled.Y.shape[1])
    costs: list[tuple[float, float, int]] = []

    def setup() -> tuple[NDArray[np.int64], Rows, bool]:
        features = rng.choice(problem.bank.n_features, n_features, replace=False)
        return features, searcher.sample(n_examples, "iid", rng).rows, exact

    def unit() -> float:
        weights.release()
        features, drawn, _ = setup()
        n = n_examples if exact else drawn.examples.size
        looks = n_features * n
        reads = time_read_bound(problem.bank, features, drawn, n)
        costs.append((seconds_of(store, looks), reads, looks))
        return costs[-1][not exact]

    searcher.search(*setup())
    unit()
    costs.clear()
    searches, units = time_in_turns(
        benchmark, searcher.search, unit, sizes.searches, setup=setup, block=10
    )
    stores, reads, looks = np.array(costs)[: len(searches)].T
    record_ratio(
        benchmark,
        "looks",
        f"{n_labelled} classes, {rows}",
        float(np.median(searches / units)),
        {**problem.sizes(), "search": [list(sizes.look_features), sizes.look_sample]},
        search_ns=1e9 * float(np.median(searches / looks)),
        stores_ns=1e9 * float(np.median(stores / looks)),
        reads_ns=1e9 * float(np.median(reads / looks)),
    )


def test_laminating_and_its_reads(
    benchmark: Any, problem: BenchProblem, sizes: BenchSizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The searches of a round of laminating in units of the bare reads of its stages.

    A stage reads the first half of the features of the stage before; the features of the first are
    drawn anew, so that they are as cold as in a round. The samples of the stages are drawn one by
    one, those of a round are nested.
    """
    n, n_features = len(problem.rows), problem.bank.n_features
    weights, rng = problem.weights(), np.random.default_rng(2)
    searcher = Searcher(problem.bank, weights)
    stages = laminating_stages(None, n, n_features, 10 * n)
    booster = booster_of(problem, "laminating", sizes.bound_rounds)
    parts = time_parts(booster, monkeypatch)
    searched: list[float] = []

    def next_round() -> None:
        before = parts["search"]
        booster.next_round()
        searched.append(parts["search"] - before)

    def unit() -> float:
        total = 0.0
        features = rng.choice(n_features, stages[0][0], replace=False)
        for n_read, n_examples in stages:
            rows = searcher.sample(min(n_examples, n), "iid", rng).rows
            n_different = rows.examples.size or min(n_examples, n)
            total += time_read_bound(problem.bank, features[:n_read], rows, n_different)
            weights.release()
        return total

    unit()
    _, reads = time_in_turns(benchmark, next_round, unit, sizes.bound_rounds)
    record_ratio(
        benchmark,
        "bounds",
        "laminating, searches to reads",
        float(np.median(np.array(searched) / reads)),
        problem.sizes(),
        stages=stages,
        reads_ms=1e3 * float(np.median(reads)),
        searches_ms=1e3 * float(np.median(searched)),
    )


# ----------------------------------------------------------------------------------------- rounds


def time_parts(booster: Booster, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Seconds of the parts of rounds, added up in the returned dict while rounds run.

    `own` is the strategy's own work, `search` and `modelling` are its searches for each purpose;
    the rest of a round is the loop's finish on all examples.
    """
    parts = {"own": 0.0, "draw": 0.0, "search": 0.0, "modelling": 0.0}

    def time_method(owner: Any, name: str, part: str) -> None:
        method = getattr(owner, name)

        def timed(*args: Any, **settings: Any) -> Any:
            before, inside = time.perf_counter(), sum(parts.values())
            result = method(*args, **settings)
            inside = sum(parts.values()) - inside  # seconds of calls inside, in their own parts
            parts[settings.get("purpose", part)] += time.perf_counter() - before - inside
            return result

        monkeypatch.setattr(owner, name, timed)

    for name in ("draw", "draw_nested", "sample_features", "sample_members"):
        time_method(Step, name, "draw")
    for name in ("search", "edges", "race"):
        time_method(Step, name, "search")
    for name in ("choose", "learn"):
        time_method(type(booster.strategy), name, "own")
    return parts


def test_round(
    benchmark: Any,
    problem: BenchProblem,
    sizes: BenchSizes,
    n_rounds: int,
    monkeypatch: pytest.MonkeyPatch,
    strategy: str,
) -> None:
    """The median round in units of the median round of the baseline, at equal looks.

    Both run in blocks of 20 rounds so that each finds a warm cache.
    """
    booster = booster_of(problem, strategy, n_rounds)
    baseline = booster_of(problem, BASELINE, n_rounds + sizes.block)
    parts, looks = time_parts(booster, monkeypatch), 0

    def next_round() -> None:
        nonlocal looks
        rows = booster.next_round().rows
        looks += sum(row["looks_search"] + row["looks_modelling"] for row in rows)

    def unit() -> float:
        before = parts.copy()
        seconds = seconds_of(baseline.next_round)
        parts.update(before)  # the parts are those of the strategy alone
        return seconds

    seconds, units = time_in_turns(benchmark, next_round, unit, n_rounds, block=sizes.block)
    shares = {part: spent / seconds.sum() for part, spent in parts.items()}
    shares["finish"] = 1.0 - sum(shares.values())
    assert 0 < looks <= 10 * len(problem.rows) * seconds.size
    assert min(shares.values()) >= 0
    assert shares["modelling"] > 0 or strategy not in ("mas-1q", "mas-q1")
    record_ratio(
        benchmark,
        "rounds",
        strategy,
        float(np.median(seconds) / np.median(units)),
        {**problem.sizes(), "rounds": n_rounds},
        ratio_of_means=float(seconds.mean() / units.mean()),
        baseline_ms=1e3 * float(np.median(units)),
        looks=looks / seconds.size,
        shares=shares,
    )


# ----------------------------------------------------------------------------------------- growth


def searches_of(
    problem: BenchProblem, q: int, t: int, k: int, rng: np.random.Generator
) -> Callable[[], float]:
    """Seconds of searches of Q fresh features on T examples with K labels; T = N is all."""
    weights, exact = problem.relabelled(k).weights(), t == len(problem.rows)
    searcher = Searcher(problem.bank, weights)

    def work() -> float:
        features: NDArray[np.int64] = rng.choice(problem.bank.n_features, q, replace=False)
        rows = weights.exact() if exact else searcher.sample(t, "iid", rng).rows
        seconds = seconds_of(searcher.search, features, rows, exact)
        weights.release()
        return seconds

    return work


def rounds_of(n: int, n_rounds: int) -> Callable[[], float]:
    """Seconds of rounds of the baseline on N synthetic examples: Q = 10 features, T = N."""
    booster = booster_of(synthetic_problem(n, 20, 10), BASELINE, n_rounds)
    return lambda: seconds_of(booster.next_round)


def test_growth(benchmark: Any, problem: BenchProblem, sizes: BenchSizes, grown: str) -> None:
    """The slope of the cost with N, Q, T or K alone on log-log axes.

    Q grows on samples of the middle T, T with the middle Q, K with ten features on all examples.
    The slope of N is fitted from 100,000 on: smaller N have large constant costs. All sizes take
    turns, so that the load of the machine affects all of them alike; in each turn the work of a
    size is done twice and the second time counts, so that its data are in the caches.
    """
    n, most, of = len(problem.rows), problem.bank.n_features, dict(sizes.grown)
    if sum(40 * n > machine_cache() for n in of["N"]) < 2:  # float32 weights of ten classes
        of["N"] = (*of["N"], 2 * of["N"][-1], 4 * of["N"][-1])
    of["Q"] = tuple(sorted({min(q, most) for q in of["Q"]}))
    of["T"] = tuple(sorted({min(t, n) for t in of["T"]}))
    q, t, k = of["Q"][len(of["Q"]) // 2], of["T"][len(of["T"]) // 2], problem.n_classes
    rng = np.random.default_rng(3)
    if grown == "N":
        works = [rounds_of(size, 2 * sizes.sweeps + 3) for size in of["N"]]
    else:
        case = {"Q": q, "T": t, "K": k} if grown != "K" else {"Q": min(10, most), "T": n}
        cases = [{**case, grown: size} for size in of[grown]]
        works = [searches_of(problem, each["Q"], each["T"], each["K"], rng) for each in cases]
    sweeps: list[list[float]] = []
    benchmark.pedantic(
        lambda: sweeps.append([work() for work in works for _ in range(2)][1::2]),
        rounds=sizes.sweeps,
    )
    grow, medians = np.array(of[grown]), np.median(sweeps, axis=0)
    fitted = grow >= 100_000
    if grown != "N" or fitted.sum() < 2:
        fitted[:] = True
    record_ratio(
        benchmark,
        "growth",
        f"slope of {grown}",
        float(np.polyfit(np.log(grow[fitted]), np.log(medians[fitted]), 1)[0]),
        {**problem.sizes(), **{letter: list(values) for letter, values in of.items()}},
        median_ms=(1e3 * medians).tolist(),
    )


def test_round_of_a_tree(benchmark: Any, sizes: BenchSizes) -> None:
    """A tree on few rows, in units of its looks in one exact search: what nodes cost beside them.

    As in the default fit of a narrow table: all features, seven tenths of the examples of a node.
    """
    problem = synthetic_problem(1_500, 16, 10)
    learner, strategy = "tree:n_leaves=32", "uniform-naive:n_features=16:scheme=distinct"
    data = problem.bank, problem.rows, problem.Y
    booster = Booster(*data, strategy, learner, budget="11.2N", learning_rate=0.2, rng=0)
    searcher = Searcher(problem.bank, problem.weights())
    exact, features = searcher.sample(1_500, "iid", np.random.default_rng(0)), np.arange(16)
    looks: list[int] = []

    def next_round() -> None:
        looks.append(sum(row["looks_search"] for row in booster.next_round().rows))

    def unit() -> float:
        return min(seconds_of(exact.search, features) for _ in range(5)) / (16 * 1_500)

    next_round()
    unit()
    looks.clear()
    seconds, units = time_in_turns(benchmark, next_round, unit, sizes.bound_rounds)
    ratio = float(np.median(seconds / (units * np.array(looks[: seconds.size]))))
    record_ratio(
        benchmark,
        "trees",
        "tree of 32 leaves on 1,500 examples, to its looks",
        ratio,
        problem.sizes(),
        search_us=1e6 * float(np.median(seconds)) / 61,
    )


# ------------------------------------------------------------------------------------- prediction


def random_model(n_rounds: int, n_terms: int) -> Model:
    """Rounds of one stump, or of trees in the order of a heap; 28 x 28 pixels, 10 labels."""
    rng = np.random.default_rng(1)
    terms = []
    for _ in range(n_rounds):
        alpha = float(rng.exponential())
        for t in range(n_terms):
            feature, cut = int(rng.integers(784)), float(rng.integers(256)) + 0.5
            votes = rng.choice(np.array([-1, 1], np.int8), (2, 10))
            below = None if n_terms == 1 else votes[1]
            place = (0, -1, 0) if t == 0 else (0, (t - 1) // 2, 1 if t % 2 else -1)
            terms.append(Term(feature, 1, cut, votes[0], alpha, below, *place))
    return Model([Identity((28, 28))], terms, 10)


@pytest.mark.parametrize("n", [1, 2_000])
@pytest.mark.parametrize(
    ("n_rounds", "n_terms"), [(10_000, 1), (1_000, 7)], ids=["stumps", "trees of eight leaves"]
)
def test_prediction(benchmark: Any, n_rounds: int, n_terms: int, n: int) -> None:
    model = random_model(n_rounds, n_terms)
    X = np.random.default_rng(0).integers(0, 256, (n, 28, 28), dtype=np.uint8)
    model.decision_function(X[:1])
    scores = benchmark(model.decision_function, X)
    assert scores.shape == (n, 10)
    assert np.isfinite(scores).all()
