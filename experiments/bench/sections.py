"""The sections of `boostsample bench`, by name.

To add one, write a function of data, sizes and progress that returns a `TimingSection`, and add it
to `SECTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from boostsample.errors import SettingError, unknown
from boostsample.experiments.bench.bounds import bench_bounds
from boostsample.experiments.bench.growth import bench_growth
from boostsample.experiments.bench.looks import bench_looks
from boostsample.experiments.bench.problem import BenchProblem
from boostsample.experiments.bench.rounds import bench_rounds
from boostsample.experiments.bench.timing import TimingSection, TimingSizes
from boostsample.experiments.common.progress import Progress

__all__ = ["SECTIONS", "SECTION_SIZES", "chosen_sections"]

SECTION_SIZES = TimingSizes()
SECTIONS: Mapping[str, Callable[[BenchProblem, TimingSizes, Progress], TimingSection]] = {
    "looks": bench_looks,
    "bounds": bench_bounds,
    "rounds": bench_rounds,
    "growth": bench_growth,
}
"""By name, in the order in which they run."""


def chosen_sections(only: str | None) -> tuple[str, ...]:
    """The names in a list such as "looks,rounds", in the order of `SECTIONS`; None is all.

    SettingError if a name is unknown, or if none is given.
    """
    if only is None:
        return tuple(SECTIONS)
    names = [name.strip() for name in only.split(",") if name.strip()]
    for name in names:
        if name not in SECTIONS:
            raise unknown("section", name, SECTIONS)
    if not names:
        raise SettingError(f"--only must name a section; there are: {', '.join(SECTIONS)}")
    return tuple(name for name in SECTIONS if name in names)
