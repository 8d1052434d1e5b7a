"""Looks, bounds, growth and starts: what is computed from timings, and what the bounds work on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.banks.lazy import LazyBank
from boostsample.errors import DataError
from boostsample.experiments.bench import bounds as bench_bounds
from boostsample.experiments.bench import start as bench_start
from boostsample.experiments.bench.banks import bank_section, made_images
from boostsample.experiments.bench.bounds import (
    GatherTimes,
    bounds_section,
    bounds_table,
    bytes_a_look,
    gathers_table,
    time_gathers,
)
from boostsample.experiments.bench.growth import (
    Growth,
    growth_of_searches,
    growth_section,
    growth_table,
    slopes_table,
    sweep,
)
from boostsample.experiments.bench.kernels import (
    N_BINS,
    _store_kernel,
    read_bins,
    read_words,
    store_rows,
)
from boostsample.experiments.bench.looks import (
    LookTimes,
    looks_section,
    looks_table,
    time_looks,
    time_reads,
)
from boostsample.experiments.bench.problem import Problem, made_problem, weights_of
from boostsample.experiments.bench.ratios import (
    Ratio,
    fit_slope,
    over_passes,
    paired_ratio,
    scatter,
    slope_ratio,
)
from boostsample.experiments.bench.rounds import PARTS, RoundTimes
from boostsample.families.columns import Columns
from boostsample.kernels.layout import aligned, vectors_of
from boostsample.loop.sampling import SCHEMES


@pytest.fixture(scope="module")
def problem() -> Problem:
    return made_problem(500, 24, 3)


# ---------------------------------------------------------------------------------- arithmetic


def test_the_slope_of_a_power() -> None:
    sizes = [10, 30, 100, 1000]
    slope = fit_slope(sizes, [0.5 * n**1.25 for n in sizes])
    assert slope.power == pytest.approx(1.25)
    assert slope.factor == pytest.approx(0.5)
    assert fit_slope([1, 2, 4], [3.0, 3.0, 3.0]).power == pytest.approx(0.0)
    with pytest.raises(ValueError, match="two sizes or more, got 1"):
        fit_slope([5, 5], [1.0, 2.0])


def test_slopes_of_medians_forgive_a_slow_sweep() -> None:
    costs = np.array([[1.0, 10.0, 100.0]] * 4 + [[50.0, 10.0, 100.0]])
    assert slope_ratio([1, 10, 100], costs) == pytest.approx((1.0, 0.0))


def test_ratios_of_passes_scatter_as_passes_do() -> None:
    assert over_passes([Ratio(2.0, 0.3)]) == (2.0, 0.3)
    value, spread = over_passes([Ratio(1.0, 0.01), Ratio(2.0, 0.02), Ratio(3.0, 0.01)])
    assert (value, spread) == pytest.approx((2.0, 0.5))
    assert over_passes([Ratio(2.0, 0.1), Ratio(2.0, 0.2)]) == (2.0, 0.2)


def test_the_scatter_of_parts() -> None:
    assert scatter([3.0, 3.0, 3.0]) == 0.0
    # Deviations 0.2, 0.1, 0, 0.1, 7: their median is 0.1.
    assert scatter([1.8, 1.9, 2.0, 2.1, 9.0]) == pytest.approx(1.4826 * 0.1 / 2.0 / 5**0.5)


def test_paired_ratios_forgive_a_machine_that_slows_down() -> None:
    units = np.array([1.0, 1.0, 2.0, 2.0, 40.0, 40.0])
    ratio = paired_ratio(3.0 * units, units)
    assert ratio.value == pytest.approx(3.0)
    assert ratio.spread == pytest.approx(0.0)


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
    assert one.share == pytest.approx(0.25)
    assert made_looks([1.0, 2.0, 4.0], stores=0.5, reads=1.0).share == pytest.approx(0.5)
    (row,) = looks_table([one]).rows
    assert row == ("10", "8 + 2", "10", "100,000", "1.00", "2.00", "0.50", "0.25", "25")


def test_bytes_of_a_look() -> None:
    # A bin, and a fifth of the float32 weights of a row with its padding.
    assert bytes_a_look(1) == pytest.approx(1 + 4 / 5)
    assert bytes_a_look(26) == pytest.approx(1 + 26 * 4 / 5)
    assert bytes_a_look(100) == pytest.approx(1 + 100 * 4 / 5)
    table = bounds_table([2, 10], [[1e-9, 2e-9, 3e-9], [4e-9]], [18e9])
    assert table.rows == (
        ("2", "1", "2.00", "1.8", "0.10"),
        ("10", "8 + 2", "4.00", "9.0", "0.50"),
    )


def test_reads_of_all_stages_stand_beside_the_rounds() -> None:
    parts = {part: [0.0] * 2 for part in PARTS}
    rounds = RoundTimes("laminating", [0.004, 0.006], [], {**parts, "search": [0.002, 0.004]})
    reads = np.array([[1e-3, 2e-3], [3e-3, 4e-3]])
    table = gathers_table(GatherTimes([[4, 100], [2, 200]], reads, rounds))
    assert table.rows == (
        ("stage 1", "4", "100", "1.00", "2.00"),
        ("stage 2", "2", "200", "2.00", "3.00"),
        ("all reads", "", "", "3.00", "5.00"),
        ("its searches", "", "", "2.00", "3.00"),
        ("its draws", "", "", "0.00", "0.00"),
        ("its round", "", "", "4.00", "5.00"),
    )


def growth(fitted_from: int) -> Growth:
    """Constant up to 100, linear from there on."""
    seconds = np.array([[1e-3, 1e-3, 1e-2, 1e-1], [1e-3, 1e-3, 1e-2, 1e-1]])
    return Growth(
        "N", "a round", (10, 100, 1000, 10_000), (10**6,) * 4, seconds, fitted_from=fitted_from
    )


def test_slopes_are_fitted_where_they_should_be() -> None:
    assert growth(100).slope().power == pytest.approx(1.0)
    assert growth(0).slope().power < 0.8
    # Too few sizes are left: all of them count, and the table says so.
    assert growth(10_000).slope() == growth(0).slope()
    table = growth_table(growth(100))
    assert "slope of all 1.00 (fitted from 100 on)" in table.title
    assert [row[-1] for row in table.rows] == ["", "0.00", "1.00", "1.00"]
    assert table.rows[-1][1:4] == ("100.000", "100.000", "100.00")
    (row, _) = slopes_table([growth(100), growth(10_000)]).rows
    assert row == ("N", "a round", "100", "10,000", "1.000", "1.000")
    assert slopes_table([growth(10_000)]).rows[0][2] == "10"


def test_sizes_take_turns_and_every_second_time_counts() -> None:
    done: list[str] = []

    def work(name: str) -> float:
        done.append(name)
        return float(len(done))

    seconds = sweep([lambda: work("a"), lambda: work("b")], 2)
    assert "".join(done) == "aabbaabb"
    assert seconds.tolist() == [[2.0, 4.0], [6.0, 8.0]]


# --------------------------------------------------------------------------------- micro-kernels


@pytest.mark.parametrize("n_labels", [1, 3, 10, 26])
def test_stores_touch_each_bin_once_in_turn(n_labels: int) -> None:
    blocks, tail = vectors_of(n_labels)
    row = aligned(8 * (blocks + 1), np.float32)
    row[: 8 * blocks + tail] = np.arange(1, 8 * blocks + tail + 1)
    planes = aligned((blocks + 1) * N_BINS * 8, np.float32)
    _store_kernel(blocks, tail)(row, planes, 3 * N_BINS)
    for k in range(blocks):
        plane = planes[k * N_BINS * 8 : (k + 1) * N_BINS * 8].reshape(N_BINS, 8)
        assert (plane == 3 * row[8 * k : 8 * k + 8]).all()
    rest = planes[blocks * N_BINS * 8 :]
    bins, nothing = rest[: N_BINS * tail], rest[N_BINS * tail :]
    assert (bins.reshape(N_BINS, tail) == 3 * row[8 * blocks : 8 * blocks + tail]).all()
    assert not nothing.any()
    store_rows(n_labels)(8)


@pytest.mark.parametrize("n_examples", [4, 60])  # fewer and more than a feature has cache lines
@pytest.mark.parametrize("n_features", [1, 4, 7])
def test_reads_read_every_bin(problem: Problem, n_features: int, n_examples: int) -> None:
    bins = problem.bank.take(np.arange(24), problem.rows)
    features = np.random.default_rng(0).choice(24, n_features, replace=False)
    examples = np.linspace(3, 499, n_examples).astype(np.int32)
    nothing = np.empty(0, np.int32)
    assert read_bins(bins, features, 0, examples, 4) == bins[features][:, examples].sum(dtype=int)
    assert read_bins(bins, features, 2, nothing, 9) == bins[features, 2:11].sum(dtype=int)
    assert read_words(np.array([1, 2, 2**40], np.uint64)) == 3 + 2**40


def test_reads_of_a_bank_that_shows_only_what_is_asked_for() -> None:
    X = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
    bank = LazyBank([Columns(range(6), n_columns=6)], X)
    rows: NDArray[np.int64] = np.arange(50)
    made = made_problem(50, 6, 3)
    weights = weights_of(Problem("lazy", bank, rows, made.Y))
    drawn = weights.draw(20, SCHEMES["iid"], np.random.default_rng(0))
    assert time_reads(bank.reader(rows), np.array([0, 5]), drawn, drawn.examples.size) > 0


# ---------------------------------------------------------------------------------- what is timed


def test_looks_count_the_rows_that_are_read(problem: Problem) -> None:
    exact, sampled = time_looks([(problem, 4, None), (problem, 4, 50)], 3, turn=2)
    assert (exact.n_labels, exact.n_features, exact.n_examples) == (3, 4, 500)
    assert exact.exact
    assert exact.looks.tolist() == [2000, 2000, 2000]
    assert sampled.n_examples == 50
    assert not sampled.exact
    assert len(sampled.search) == len(sampled.stores) == len(sampled.reads) == 3
    assert (sampled.looks <= 4 * 50).all()
    assert (sampled.looks % 4 == 0).all()


def test_the_section_of_looks(problem: Problem) -> None:
    found = looks_section(problem, (2, 3), (4, 100), 50, 2)
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
    assert len(looks_section(problem, (3,), (4, 4), 500, 2).tables[0].rows) == 1


def test_gathers_follow_the_stages_of_laminating(problem: Problem) -> None:
    times = time_gathers(problem, 3)
    assert times.stages[0][0] == 2 * times.stages[1][0]
    assert times.reads.shape == (3, len(times.stages))
    assert (times.reads > 0).all()
    assert len(times.rounds.seconds) == 3


def test_the_section_of_bounds(problem: Problem) -> None:
    found = bounds_section(problem, (2, 3), 2**16, 2)
    assert [row[0] for row in found.tables[0].rows] == ["2", "3"]
    assert found.tables[1].rows[-1][0] == "its round"
    assert found.numbers["last_cache_bytes"] == bench_bounds.last_cache() > 0
    json.dumps([found.numbers, found.conditions])


def test_searches_of_any_size_can_be_swept(problem: Problem) -> None:
    cells = [(3, 100, 3), (3, 500, 3)]
    grown = growth_of_searches(problem, "T", cells, 2)
    assert grown.sizes == (100, 500)
    assert grown.looks == (300, 1500)
    assert grown.seconds.shape == (2, 2)


# ----------------------------------------------------------------------------- banks and processes


def test_made_images_are_bright_on_black() -> None:
    images = made_images(30, 10)
    assert images.shape == (30, 10, 10)
    assert images.dtype == np.uint8
    assert 0.3 < (images == 0).mean() < 0.7
    assert len(np.unique(images)) > 100


def test_the_bank_is_built_in_a_folder_that_is_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BOOSTSAMPLE_CACHE_DIR", str(tmp_path / "mine"))
    families = [Columns(range(9), n_columns=9)]

    def flat(n: int, side: int) -> NDArray[Any]:
        return made_images(n, side).reshape(n, -1)

    monkeypatch.setattr("boostsample.experiments.bench.banks.made_images", flat)
    found = bank_section(100, 3, [1, 2], families=families)
    assert [row[0] for row in found.tables[0].rows] == [
        "in memory, one thread",
        "in memory, 2 threads",
        "on disk, 2 threads",
        "opened from disk",
    ]
    assert found.numbers["bank"]["features"] == 9
    assert not found.ratios
    import os

    assert os.environ["BOOSTSAMPLE_CACHE_DIR"] == str(tmp_path / "mine")
    assert not list(tmp_path.iterdir())


def test_processes_find_this_package(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(bench_start.time_process(["-c", "import boostsample"], 2)) == 2
    with pytest.raises(DataError, match=r"process that was to be timed failed: .*'nothing_such'"):
        bench_start.time_process(["-c", "import nothing_such"], 1)
    # The second one finds what the first one has left in the cache.
    fit = (
        "import os, sys; path = os.path.join(os.environ['NUMBA_CACHE_DIR'], sys.argv[1]);"
        "print(0.25 if os.path.exists(path) else 4.5); open(path, 'a').close()"
    )
    monkeypatch.setattr(bench_start, "_FIT", fit)
    assert bench_start.time_first_fit("ucb", 2) == (4.5, [0.25, 0.25])
    monkeypatch.setattr(bench_start, "time_process", lambda arguments, repeats: [0.5, 0.25])
    found = bench_start.start_section(["ucb"], 2)
    assert found.tables[0].rows[-1] == ("first fit, ucb", "4.50", "0.25")
    assert found.tables[0].rows[1] == ("import boostsample", "", "0.25")


@pytest.mark.parametrize(
    ("cache", "sizes", "fitted_from"),
    [(40_000, (500, 2_000, 4_000), 2_000), (100_000, (500, 2_000, 4_000, 8_000, 16_000), 4_000)],
)
def test_n_grows_until_no_cache_holds_the_weights(
    monkeypatch: pytest.MonkeyPatch, cache: int, sizes: tuple[int, ...], fitted_from: int
) -> None:
    monkeypatch.setattr("boostsample.experiments.bench.growth.last_cache", lambda: cache)
    problem = made_problem(100, 4, 2)
    found, grown = growth_section(problem, (500, 2_000, 4_000), (2, 4), (20, 40), (2, 3), 1)
    assert grown.sizes == sizes
    assert [row[2] for row in found.tables[-1].rows[:2]] == ["500", f"{fitted_from:,}"]
    assert grown.fitted_from == fitted_from
