"""The engine with the strategy `full` is the naive twin; `naive_compare` does longer runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from boostsample.experiments.data.datasets import load_dataset
from tests.learners.naive_compare import Comparison

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
pytestmark = pytest.mark.skipif(not COMPILED, reason="compiled code compares whole data sets")


def compare(
    name: str, learner: str, n_rounds: int, data_dir: Path | None = None, *step_size: float
) -> Comparison:
    data = load_dataset(name, data_dir=data_dir, download=False)
    compared = Comparison(data, learner, *step_size)
    for _ in range(n_rounds):
        compared.next_round()
    assert compared.differences == []
    assert compared.errors[-1][0] < compared.errors[0][0]
    return compared


@pytest.mark.parametrize("learner", ["stump", "tree:2", "tree:9", "product:1", "product:3"])
def test_digits(learner: str) -> None:
    compared = compare("digits", learner, 15)
    assert compared.counts["searches"] >= 15


@pytest.mark.parametrize("learner", ["stump", "tree:9", "product:3"])
@pytest.mark.parametrize("step_size", [(0.1, 0.0), (1.0, 5.0), (0.5, 0.01)])
def test_digits_by_smaller_steps(learner: str, step_size: tuple[float, float]) -> None:
    compare("digits", learner, 6, None, *step_size)


@pytest.mark.parametrize(
    ("name", "learner"),
    [
        ("pendigits", "tree:19"),
        ("pendigits", "product:2"),
        ("letter", "tree:38"),
        ("letter", "product:10"),
    ],
)
def test_sets_from_files(name: str, learner: str, data_dir: Path) -> None:
    compare(name, learner, 2, data_dir)


def test_a_difference_is_found() -> None:
    compared = Comparison(load_dataset("digits"), "tree:4")
    compared.twin.w[0] *= 1.1
    compared.next_round()
    assert any("edge" in line for line in compared.differences)
