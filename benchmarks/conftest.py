"""Options, sizes and data of the benchmarks."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest

from benchmarks.problem import BenchProblem, loaded_problem, synthetic_problem
from boostsample.registry import strategy_names

BASELINE = "uniform-naive"
"""The strategy whose rounds are the unit of other rounds."""


@dataclass(frozen=True)
class BenchSizes:
    """Sizes of the timed work. The kept ratios and the speeds in docs/speed.md belong to these."""

    examples: int = 60_000  # of the synthetic data: N,
    features: int = 2_000  # F,
    classes: int = 10  # K
    rounds: int = 200  # of each strategy,
    block: int = 20  # of them after a block of the baseline
    look_classes: tuple[int, ...] = (2, 10, 26, 100)
    look_features: tuple[int, int] = (10, 250)  # on all examples, on a sample
    look_sample: int = 1_000
    searches: int = 100
    bound_rounds: int = 60  # rounds of laminating beside its bare reads
    grown: tuple[tuple[str, tuple[int, ...]], ...] = (
        ("N", tuple(10**4 * n for n in (1, 2, 5, 10, 20, 50, 100, 140, 200))),
        ("Q", (10, 20, 50, 100, 200, 500, 1_000)),
        ("T", (500, 1_000, 2_000, 5_000, 10_000, 20_000, 40_000)),
        ("K", (2, 5, 10, 26, 50, 100)),
    )
    sweeps: int = 15  # timings of each size that grows


TEST_SIZES = BenchSizes(
    examples=400,
    features=24,
    classes=3,
    rounds=4,
    block=2,
    look_classes=(2, 3),
    look_features=(4, 8),
    look_sample=50,
    bound_rounds=2,
    grown=(("N", (300, 600)), ("Q", (2, 4)), ("T", (50, 100)), ("K", (2, 3))),
    sweeps=2,
)
"""Sizes where benchmarks run once, as tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("boostsample")
    group.addoption("--bench-data", help="a data set in place of the synthetic data")
    group.addoption("--bench-rounds", type=int, help="rounds of each strategy, 200 by default")


def _sizes(config: pytest.Config) -> BenchSizes:
    return BenchSizes() if config.getoption("benchmark_enable") else TEST_SIZES


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parameters that depend on the sizes; tests time two of the strategies."""
    sizes = _sizes(metafunc.config)
    left_out = "full", "quickboost", BASELINE
    timed = [name for name in strategy_names() if name not in left_out]
    values = {
        "n_labelled": sizes.look_classes,
        "grown": [letter for letter, _ in sizes.grown],
        "strategy": ["mas-q1", "laminating"] if sizes is TEST_SIZES else timed,
    }
    for name, choices in values.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, choices)


@pytest.fixture(scope="session")
def sizes(request: pytest.FixtureRequest) -> BenchSizes:
    return _sizes(request.config)


@pytest.fixture(scope="session")
def n_rounds(request: pytest.FixtureRequest, sizes: BenchSizes) -> int:
    return int(request.config.getoption("bench_rounds", None) or sizes.rounds)


@pytest.fixture(scope="session")
def problem(request: pytest.FixtureRequest, sizes: BenchSizes) -> BenchProblem:
    data = request.config.getoption("bench_data", None)
    if data is None:
        return synthetic_problem(sizes.examples, sizes.features, sizes.classes)
    return loaded_problem(data, os.environ.get("BOOSTSAMPLE_DATA_DIR"))
