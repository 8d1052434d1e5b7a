"""How fast this machine does it: the sections of `boostsample bench`, and their usual sizes.

A section times one thing and gives tables, numbers, and ratios of one run that can be kept and
compared with those of another. A new one is a function of `Bench` and a line in `SECTIONS`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from boostsample.banks.bank import FeatureBank
from boostsample.errors import SettingError, unknown
from boostsample.experiments.bench.banks import bank_section
from boostsample.experiments.bench.bounds import bounds_section
from boostsample.experiments.bench.figure import growth_figure
from boostsample.experiments.bench.finish import finish_section
from boostsample.experiments.bench.growth import growth_section
from boostsample.experiments.bench.looks import looks_section
from boostsample.experiments.bench.problem import Problem, Progress, made_problem, relabelled
from boostsample.experiments.bench.ratios import Section, over_passes
from boostsample.experiments.bench.rounds import BASELINE, rounds_section
from boostsample.experiments.bench.start import start_section
from boostsample.experiments.bench.threads import threads_section
from boostsample.experiments.data.datasets import load_dataset
from boostsample.labels import encode
from boostsample.registry import default_families

__all__ = [
    "PASSES",
    "SECTIONS",
    "STANDARD",
    "Bench",
    "Kind",
    "Sizes",
    "chosen_sections",
    "problem_of",
]

PASSES = 3
"""How often everything is timed for a reference."""


@dataclass(frozen=True)
class Sizes:
    """How much is timed; the usual sizes are those that speeds of this project are given for."""

    examples: int = 60_000
    features: int = 2_000
    classes: int = 10
    look_classes: tuple[int, ...] = (2, 10, 26, 100)
    look_features: tuple[int, int] = (10, 250)
    look_sample: int = 1_000
    searches: int = 100
    stream_bytes: int | None = None
    finish_classes: tuple[int, ...] = (2, 4, 10, 26, 100)
    gathers: int = 60
    rounds: int = 200
    turn: int = 20
    growth: tuple[int, ...] = (
        10_000,
        20_000,
        50_000,
        100_000,
        200_000,
        500_000,
        1_000_000,
        1_400_000,
        2_000_000,
    )
    growth_features: tuple[int, ...] = (10, 20, 50, 100, 200, 500, 1_000)
    growth_sampled: tuple[int, ...] = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 40_000)
    growth_classes: tuple[int, ...] = (2, 5, 10, 26, 50, 100)
    sweeps: int = 15
    images: int = 10_000
    side: int = 28
    threads: int = max(2, os.cpu_count() or 1)
    thread_strategies: tuple[str, ...] = (BASELINE, "laminating")
    start_strategies: tuple[str, ...] = (BASELINE, "laminating", "mas-q1")
    start_repeats: int = 3


STANDARD = Sizes()


class Bench:
    """What the sections share.

    Parameters
    ----------
    sizes : Sizes
    strategies : sequence of str
        Those whose rounds are timed.
    problem : Problem, optional
        Data for looks, bounds, finish and rounds; made data of the sizes by default.
    progress : callable, optional
        Called as progress(stage, done, total).
    """

    def __init__(
        self,
        sizes: Sizes,
        strategies: Sequence[str],
        problem: Problem | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.sizes = sizes
        self.strategies = tuple(strategies)
        self.progress = progress
        self._problem = problem

    @property
    def problem(self) -> Problem:
        """Made when it is first asked for."""
        if self._problem is None:
            if self.progress is not None:
                self.progress("making data", 0, 0)
            sizes = self.sizes
            self._problem = made_problem(sizes.examples, sizes.features, sizes.classes)
        return self._problem

    def run(self, name: str) -> Section:
        """Time one of `SECTIONS`."""
        return SECTIONS[name].run(self)

    def run_again(self, found: Mapping[str, Section], passes: int) -> dict[str, Section]:
        """Sections with ratios of so many passes, the one that has `found` them included.

        A minute tells little of how ratios scatter from run to run. All sections of a pass come
        before the next pass.
        """
        ratios = {name: [one.ratios] for name, one in found.items() if one.ratios}
        for _ in range(passes - 1):
            for name, before in ratios.items():
                before.append(self.run(name).ratios)
        return {
            name: replace(
                found[name],
                ratios={key: over_passes([one[key] for one in series]) for key in series[0]},
            )
            for name, series in ratios.items()
        }


def problem_of(data: str, data_dir: str | None = None) -> Problem:
    """The training rows of a data set with the features of its default families."""
    loaded = load_dataset(data, data_dir=data_dir)
    train, _ = loaded.split(0, 0)
    families = default_families(loaded.X.shape[1:], column_names=loaded.columns)
    bank = FeatureBank.build(families, loaded.X[train], n_jobs=-1)
    return Problem(
        loaded.name, bank, np.arange(len(train)), encode(loaded.y[train], loaded.n_classes)
    )


def _looks(bench: Bench) -> Section:
    sizes = bench.sizes
    return looks_section(
        bench.problem,
        sizes.look_classes,
        sizes.look_features,
        sizes.look_sample,
        sizes.searches,
        bench.progress,
    )


def _bounds(bench: Bench) -> Section:
    sizes = bench.sizes
    return bounds_section(
        bench.problem, sizes.look_classes, sizes.stream_bytes, sizes.gathers, bench.progress
    )


def _finish(bench: Bench) -> Section:
    sizes = bench.sizes
    problems = [relabelled(bench.problem, k) for k in sizes.finish_classes]
    return finish_section(problems, sizes.searches, bench.progress)


def _rounds(bench: Bench) -> Section:
    sizes = bench.sizes
    return rounds_section(
        bench.problem, bench.strategies, sizes.rounds, bench.progress, turn=sizes.turn
    )


def _growth(bench: Bench) -> Section:
    sizes = bench.sizes
    section, growth = growth_section(
        bench.problem,
        sizes.growth,
        sizes.growth_features,
        sizes.growth_sampled,
        sizes.growth_classes,
        sizes.sweeps,
        bench.progress,
    )
    return replace(section, draw=functools.partial(growth_figure, growth))


def _threads(bench: Bench) -> Section:
    sizes = bench.sizes
    return threads_section(
        bench.problem,
        sizes.thread_strategies,
        sizes.threads,
        sizes.rounds,
        bench.progress,
        turn=sizes.turn,
    )


def _bank(bench: Bench) -> Section:
    n_jobs = [1, 2] if (os.cpu_count() or 1) > 1 else [1]
    return bank_section(bench.sizes.images, bench.sizes.side, n_jobs, bench.progress)


def _start(bench: Bench) -> Section:
    sizes = bench.sizes
    return start_section(sizes.start_strategies, sizes.start_repeats, bench.progress)


class Kind(NamedTuple):
    """A section, what it times, whether it runs unless others are named, and gives ratios."""

    run: Callable[[Bench], Section]
    summary: str
    usual: bool = True
    ratios: bool = True


SECTIONS: Mapping[str, Kind] = MappingProxyType(
    {
        "looks": Kind(_looks, "nanoseconds a look, and the share of its bound"),
        "bounds": Kind(_bounds, "vector stores, memory, and the reads of laminating"),
        "finish": Kind(_finish, "nanoseconds an example of the passes over all weights"),
        "rounds": Kind(_rounds, "milliseconds a round of every strategy, and its parts"),
        "growth": Kind(_growth, "cost as N, Q, T and K grow, with slopes"),
        "threads": Kind(_threads, "what several threads gain over one"),
        "bank": Kind(_bank, "building a feature bank, and opening it", ratios=False),
        "start": Kind(
            _start, "imports, and first fits with an empty cache", usual=False, ratios=False
        ),
    }
)
"""By name, in the order in which they run."""


def chosen_sections(only: str | None, everything: bool) -> tuple[str, ...]:
    """Names of sections in the order of `SECTIONS`: those of a list such as "looks,bank".

    Raises
    ------
    SettingError
        A name is unknown, none is given, or both a list and everything are asked for.
    """
    if only is None:
        return tuple(name for name, kind in SECTIONS.items() if kind.usual or everything)
    if everything:
        raise SettingError(f"--only {only} and --all exclude each other; leave one of them out")
    names = [name.strip() for name in only.split(",") if name.strip()]
    for name in names:
        if name not in SECTIONS:
            raise unknown("section", name, SECTIONS)
    if not names:
        raise SettingError(f"--only must name a section; there are: {', '.join(SECTIONS)}")
    return tuple(name for name in SECTIONS if name in names)
