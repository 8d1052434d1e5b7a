"""Options and data of the benchmarks; their parameters depend on the sizes."""

from __future__ import annotations

import os

import pytest

from benchmarks.problem import BenchProblem, loaded_problem, synthetic_problem
from benchmarks.timing import BASELINE, TEST_SIZES, BenchSizes
from boostsample.registry import strategy_names


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("boostsample")
    group.addoption("--bench-data", help="a data set in place of the synthetic data")
    group.addoption("--bench-rounds", type=int, help="rounds of each strategy, 200 by default")


def _sizes(config: pytest.Config) -> BenchSizes:
    return BenchSizes() if config.getoption("benchmark_enable") else TEST_SIZES


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    sizes = _sizes(metafunc.config)
    measured = sizes is not TEST_SIZES
    rest = [name for name in strategy_names() if name not in ("full", "quickboost", BASELINE)]
    values = {
        "n_labelled": sizes.look_classes,
        "n_sampled": sizes.samples,
        "grown": [letter for letter, _ in sizes.grown],
        "strategy": rest if measured else ["mas-q1", "laminating"],
    }
    for name, choices in values.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, choices)


@pytest.fixture(scope="session")
def sizes(request: pytest.FixtureRequest) -> BenchSizes:
    """Full sizes if benchmarks are measured, small ones if they run once, as tests."""
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


@pytest.fixture(scope="session")
def wide_problem(sizes: BenchSizes, problem: BenchProblem) -> BenchProblem:
    """Data with enough features for a bank with tiles."""
    if problem.bank.n_features >= sizes.sample_features:
        return problem
    return synthetic_problem(len(problem.rows), sizes.sample_features, problem.n_classes)
