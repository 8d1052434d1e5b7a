"""The sections of `boostsample bench`, by name.

To add one, write a function of data, sizes and progress that returns a `Section`, and add a line to
`SECTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from boostsample.errors import SettingError, unknown
from boostsample.experiments.bench.growth import growth_section
from boostsample.experiments.bench.looks import bounds_section, looks_section
from boostsample.experiments.bench.problem import BenchProblem
from boostsample.experiments.bench.rounds import rounds_section
from boostsample.experiments.bench.sections import Progress, Section, SectionSizes

__all__ = ["SECTIONS", "STANDARD", "chosen_bench_sections"]

STANDARD = SectionSizes()
SECTIONS: Mapping[str, Callable[[BenchProblem, SectionSizes, Progress], Section]] = (
    MappingProxyType(
        {
            "looks": looks_section,
            "bounds": bounds_section,
            "rounds": rounds_section,
            "growth": growth_section,
        }
    )
)
"""By name, in the order in which they run."""


def chosen_bench_sections(only: str | None) -> tuple[str, ...]:
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
