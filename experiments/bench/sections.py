"""The sections of `boostsample bench`, by name.

To add one, write a function of data, sizes and progress that returns a `TimingResult`, and add it
to `SECTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from boostsample.experiments.bench.bounds import bench_bounds
from boostsample.experiments.bench.growth import bench_growth
from boostsample.experiments.bench.learner_rounds import bench_learner_rounds
from boostsample.experiments.bench.looks import bench_looks
from boostsample.experiments.bench.problem import BenchProblem
from boostsample.experiments.bench.rounds import bench_rounds
from boostsample.experiments.bench.samples import bench_samples
from boostsample.experiments.bench.timing import TimingResult, TimingSizes
from boostsample.experiments.common.progress import Progress

SECTION_SIZES = TimingSizes()
SECTIONS: Mapping[str, Callable[[BenchProblem, TimingSizes, Progress], TimingResult]] = {
    "looks": bench_looks,
    "samples": bench_samples,
    "bounds": bench_bounds,
    "rounds": bench_rounds,
    "learners": bench_learner_rounds,
    "growth": bench_growth,
}
"""By name, in the order in which they run."""
