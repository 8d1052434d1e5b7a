"""Sampling strategies, one file each, and what one needs to write another."""

if __name__ != "boostsample.strategies":
    raise ImportError(
        f"import boostsample.strategies, not {__name__}: there would be two copies of every class"
    )

from boostsample.step import Step
from boostsample.strategies.full import Full
from boostsample.strategies.laminating import Laminating
from boostsample.strategies.uniform_1q import Uniform1Q
from boostsample.strategies.uniform_naive import UniformNaive
from boostsample.strategies.uniform_q1 import UniformQ1
from boostsample.strategy import FamilyInfo, Outcome, Pool, Sample, Strategy, Stump, Stumps

__all__ = [
    "FamilyInfo",
    "Full",
    "Laminating",
    "Outcome",
    "Pool",
    "Sample",
    "Step",
    "Strategy",
    "Stump",
    "Stumps",
    "Uniform1Q",
    "UniformNaive",
    "UniformQ1",
]
