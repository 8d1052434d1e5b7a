"""Looks, bounds and growth: what is computed from timings, and what the bounds work on."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.banks.lazy import LazyBank
from boostsample.experiments.bench.bounds import (
    N_BINS,
    bench_bounds,
    bench_bounds_table,
    read_bound_kernel,
    store_bound,
    store_bound_kernel,
    time_bounds,
    time_read_bound,
)
from boostsample.experiments.bench.growth import (
    Growth,
    bench_growth,
    bench_growth_table,
    growth_of_searches,
    growth_slope,
    growth_sweep,
)
from boostsample.experiments.bench.looks import (
    LookTimes,
    bench_looks,
    bench_looks_table,
    time_looks,
)
from boostsample.experiments.bench.problem import (
    BenchProblem,
    bench_problem_weights,
    made_bench_problem,
)
from boostsample.experiments.bench.rounds import ROUND_PARTS, RoundTimes
from boostsample.experiments.bench.timing import TimingSizes, timed_ratio
from boostsample.families.columns import Columns
from boostsample.kernels.array_layout import aligned, row_layout
from boostsample.rows.sampling_schemes import SCHEMES


def silent(stage: str, done: int, total: int) -> None:
    """No progress."""


@pytest.fixture(scope="module")
def problem() -> BenchProblem:
    return made_bench_problem(500, 24, 3)


# ---------------------------------------------------------------------------------- arithmetic


def test_the_slope_of_a_power() -> None:
    sizes = [10, 30, 100, 1000]
    assert growth_slope(sizes, [0.5 * n**1.25 for n in sizes]) == pytest.approx((1.25, 0.5))
    assert growth_slope([1, 2, 4], [3.0, 3.0, 3.0])[0] == pytest.approx(0.0)
    with pytest.raises(ValueError, match="two sizes or more, got 1"):
        growth_slope([5, 5], [1.0, 2.0])


def test_paired_ratios_forgive_a_machine_that_slows_down() -> None:
    units = np.array([1.0, 1.0, 2.0, 2.0, 40.0, 40.0])
    assert timed_ratio(3.0 * units, units) == pytest.approx(3.0)


def made_looks(search: list[float], stores: float, reads: float) -> LookTimes:
    n = len(search)
    looks = np.full(n, 1_000_000)
    return LookTimes(
        10,
        10,
        100_000,
        True,
        looks,
        np.array(search) * 1e-3,
        np.full(n, stores * 1e-3),
        np.full(n, reads * 1e-3),
    )


def test_the_share_is_that_of_the_larger_bound() -> None:
    one = made_looks([1.0, 2.0, 4.0], stores=0.5, reads=0.25)
    assert one.nanoseconds("search") == pytest.approx([1.0, 2.0, 4.0])
    assert one.numbers()["share"] == pytest.approx(0.25)
    other = made_looks([1.0, 2.0, 4.0], stores=0.5, reads=1.0)
    assert other.numbers()["share"] == pytest.approx(0.5)
    (row,) = bench_looks_table([one]).rows
    assert row == ("10", "8 + 2", "10", "100,000", "1.00", "2.00", "0.50", "0.25", "25%")


def test_reads_of_all_stages_stand_beside_the_rounds() -> None:
    parts = {part: [0.0] * 2 for part in ROUND_PARTS}
    rounds = RoundTimes("laminating", [0.004, 0.006], [], {**parts, "search": [0.002, 0.004]})
    reads = np.array([[1e-3, 2e-3], [3e-3, 4e-3]])
    table = bench_bounds_table([[4, 100], [2, 200]], reads, rounds)
    assert table.rows == (
        ("stage 1", "4", "100", "1.00", "2.00"),
        ("stage 2", "2", "200", "2.00", "3.00"),
        ("all reads", "", "", "3.00", "5.00"),
        ("its searches", "", "", "2.00", "3.00"),
        ("its draws", "", "", "0.00", "0.00"),
        ("its round", "", "", "4.00", "5.00"),
    )


def test_slopes_of_medians_forgive_a_slow_sweep() -> None:
    costs = np.array([[1.0, 10.0, 100.0]] * 4 + [[50.0, 10.0, 100.0]])
    assert Growth("N", "a round", (1, 10, 100), (1,) * 3, costs).slope[0] == pytest.approx(1.0)


def growth(fitted_from: int) -> Growth:
    """Constant up to 100, linear from there on."""
    seconds = np.array([[1e-3, 1e-3, 1e-2, 1e-1], [1e-3, 1e-3, 1e-2, 1e-1]])
    return Growth(
        "N", "a round", (10, 100, 1000, 10_000), (10**6,) * 4, seconds, fitted_from=fitted_from
    )


def test_slopes_are_fitted_where_they_should_be() -> None:
    assert growth(100).slope[0] == pytest.approx(1.0)
    assert growth(0).slope[0] < 0.8
    # Too few sizes are left: all of them count, and the table says so.
    assert growth(10_000).slope == growth(0).slope
    table = bench_growth_table(growth(100))
    assert "slope of all 1.00 (fitted from 100 on)" in table.title
    assert [row[-1] for row in table.rows] == ["", "0.00", "1.00", "1.00"]
    assert table.rows[-1][1:4] == ("100.000", "100.000", "100.00")


def test_sizes_take_turns_and_every_second_time_counts() -> None:
    done: list[str] = []

    def work(name: str) -> float:
        done.append(name)
        return float(len(done))

    seconds = growth_sweep([lambda: work("a"), lambda: work("b")], 2, "", silent)
    assert "".join(done) == "aabbaabb"
    assert seconds.tolist() == [[2.0, 4.0], [6.0, 8.0]]


# --------------------------------------------------------------------------------- micro-kernels


@pytest.mark.parametrize("n_labels", [1, 3, 10, 26])
def test_stores_touch_each_bin_once_in_turn(n_labels: int) -> None:
    blocks, tail = row_layout(n_labels)
    row = aligned(8 * (blocks + 1), np.float32)
    row[: 8 * blocks + tail] = np.arange(1, 8 * blocks + tail + 1)
    planes = aligned((blocks + 1) * N_BINS * 8, np.float32)
    store_bound_kernel(blocks, tail)(row, planes, 3 * N_BINS)
    for k in range(blocks):
        plane = planes[k * N_BINS * 8 : (k + 1) * N_BINS * 8].reshape(N_BINS, 8)
        assert (plane == 3 * row[8 * k : 8 * k + 8]).all()
    rest = planes[blocks * N_BINS * 8 :]
    bins, nothing = rest[: N_BINS * tail], rest[N_BINS * tail :]
    assert (bins.reshape(N_BINS, tail) == 3 * row[8 * blocks : 8 * blocks + tail]).all()
    assert not nothing.any()
    store_bound(n_labels)(8)


@pytest.mark.parametrize("n_examples", [4, 60])  # fewer and more than a feature has cache lines
@pytest.mark.parametrize("n_features", [1, 4, 7])
def test_reads_read_every_bin(problem: BenchProblem, n_features: int, n_examples: int) -> None:
    bins = problem.bank.take(np.arange(24), problem.rows)
    features = np.random.default_rng(0).choice(24, n_features, replace=False)
    examples = np.linspace(3, 499, n_examples).astype(np.int32)
    nothing = np.empty(0, np.int32)
    assert read_bound_kernel(bins, features, 0, examples, 4) == bins[features][:, examples].sum(
        dtype=int
    )
    assert read_bound_kernel(bins, features, 2, nothing, 9) == bins[features, 2:11].sum(dtype=int)


def test_reads_of_a_bank_that_shows_only_what_is_asked_for() -> None:
    X = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
    bank = LazyBank([Columns(range(6), n_columns=6)], X)
    rows: NDArray[np.int64] = np.arange(50)
    made = made_bench_problem(50, 6, 3)
    weights = bench_problem_weights(BenchProblem("lazy", bank, rows, made.Y))
    drawn = weights.draw(20, SCHEMES["iid"], np.random.default_rng(0))
    assert time_read_bound(bank.reader(rows), np.array([0, 5]), drawn, drawn.examples.size) > 0


# ---------------------------------------------------------------------------------- what is timed


def test_looks_count_the_rows_that_are_read(problem: BenchProblem) -> None:
    exact, sampled = time_looks([(problem, 4, 500), (problem, 4, 50)], 3, silent, turn=2)
    assert (exact.n_labels, exact.n_features, exact.n_examples) == (3, 4, 500)
    assert exact.exact
    assert exact.looks.tolist() == [2000, 2000, 2000]
    assert sampled.n_examples == 50
    assert not sampled.exact
    assert len(sampled.search) == len(sampled.stores) == len(sampled.reads) == 3
    assert (sampled.looks <= 4 * 50).all()
    assert (sampled.looks % 4 == 0).all()


def test_the_section_of_looks(problem: BenchProblem) -> None:
    sizes = TimingSizes(look_classes=(2, 3), look_features=(4, 100), look_sample=50, searches=2)
    found = bench_looks(problem, sizes, silent)
    assert [row[:4] for row in found.tables[0].rows] == [
        ("2", "1", "4", "500"),
        ("2", "1", "24", "50"),
        ("3", "4", "4", "500"),
        ("3", "4", "24", "50"),
    ]
    assert list(found.ratios) == [
        "2 classes, all examples",
        "2 classes, a sample",
        "3 classes, all examples",
        "3 classes, a sample",
    ]
    json.dumps([found.numbers, found.conditions])
    # There is no sample of as many examples as there are.
    whole = replace(sizes, look_classes=(3,), look_sample=500)
    assert len(bench_looks(problem, whole, silent).tables[0].rows) == 1


def test_gathers_follow_the_stages_of_laminating(problem: BenchProblem) -> None:
    stages, reads, rounds = time_bounds(problem, 3, silent)
    assert stages[0][0] == 2 * stages[1][0]
    assert reads.shape == (3, len(stages))
    assert (reads > 0).all()
    assert len(rounds.seconds) == 3


def test_the_section_of_bounds(problem: BenchProblem) -> None:
    found = bench_bounds(problem, TimingSizes(gathers=2), silent)
    assert found.tables[0].rows[-1][0] == "its round"
    assert list(found.ratios) == ["laminating, searches to reads"]
    json.dumps([found.numbers, found.conditions])


def test_searches_of_any_size_can_be_swept(problem: BenchProblem) -> None:
    points = [(3, 100, 3), (3, 500, 3)]
    grown = growth_of_searches(problem, "T", points, 2, silent)
    assert grown.sizes == (100, 500)
    assert grown.looks == (300, 1500)
    assert grown.seconds.shape == (2, 2)


@pytest.mark.parametrize(
    ("cache", "n_examples"),
    [(40_000, (500, 2_000, 4_000)), (100_000, (500, 2_000, 4_000, 8_000, 16_000))],
)
def test_n_grows_until_no_cache_holds_the_weights(
    monkeypatch: pytest.MonkeyPatch, cache: int, n_examples: tuple[int, ...]
) -> None:
    monkeypatch.setattr("boostsample.experiments.bench.growth.machine_cache", lambda: cache)
    sizes = TimingSizes(
        growth=(500, 2_000, 4_000),
        growth_features=(2, 4),
        growth_sampled=(20, 40),
        growth_classes=(2, 3),
        sweeps=1,
    )
    found = bench_growth(made_bench_problem(100, 4, 2), sizes, silent)
    assert found.conditions["N"] == list(n_examples)
    assert [row[0] for row in found.tables[0].rows] == [f"{n:,}" for n in n_examples]
    assert list(found.ratios) == [f"slope of {what}" for what in "NQTK"]
