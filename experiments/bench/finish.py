"""Nanoseconds an example of the finish: label sums, and the update of all weights.

Both pass over all weights once, by a stump that divides the examples at random: a processor that
guesses the side of each is wrong half of the time, which must cost nothing. It costs what the
update by a sorted column does not, whose sides are easily guessed. The bound is to read and write
as many numbers, changing their signs. All take turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boostsample.experiments.bench.looks import seconds_of
from boostsample.experiments.bench.problem import Problem, Progress, layout_of, weights_of
from boostsample.experiments.bench.ratios import Section, paired_ratio
from boostsample.experiments.tables.tables import Table
from boostsample.kernels.layout import N_BINS, aligned

__all__ = ["FinishTimes", "finish_section", "finish_table", "time_finish"]

_PARTS = ("sums", "update", "guessed", "rewrite")
_EDGE = 0.01


@dataclass(frozen=True)
class FinishTimes:
    """Seconds of label sums, of updates, and of reading and writing all weights, (n,) each.

    Those of `guessed` are updates by a stump that divides the examples into two stretches.
    """

    n_labels: int
    n_examples: int
    sums: NDArray[np.float64]
    update: NDArray[np.float64]
    guessed: NDArray[np.float64]
    rewrite: NDArray[np.float64]

    @property
    def n_classes(self) -> int:
        """Two for one label."""
        return max(2, self.n_labels)

    def nanoseconds(self, part: str) -> NDArray[np.float64]:
        """Of `sums`, `update`, `guessed` or `rewrite`: nanoseconds an example, (n,)."""
        seconds: NDArray[np.float64] = getattr(self, part)
        return 1e9 * seconds / self.n_examples


class _Cell:
    """Finishes with one number of labels, in turns with their bound."""

    def __init__(self, problem: Problem) -> None:
        rng = np.random.default_rng(1)
        self._weights = weights_of(problem)
        self._column = rng.integers(0, N_BINS, problem.bank.n_examples, dtype=np.uint8)
        self._sorted = np.sort(self._column)
        self._votes = rng.choice([-1, 1], self._weights.n_labels).astype(np.int8)
        self._others = aligned(self._weights.exact().values.size, np.float32)
        self._timed: list[tuple[float, ...]] = []

    def run(self, number: int) -> None:
        """Time each part once; every other update undoes the one before, but for its scale."""
        edge = _EDGE * (-1) ** number
        self._finish(self._sorted, edge)  # not timed: it brings near what others have driven out
        sums, update = self._finish(self._column, edge)
        _, guessed = self._finish(self._sorted, edge)
        self._rewrite()  # not timed either
        self._timed.append((sums, update, guessed, self._rewrite()))

    def _finish(self, column: NDArray[np.uint8], edge: float) -> tuple[float, float]:
        """Seconds of label sums, and of the update after them."""
        cut, votes = N_BINS // 2, self._votes
        return (
            seconds_of(lambda: self._weights.label_sums(column, cut)),
            seconds_of(lambda: self._weights.update(column, cut, votes, edge)),
        )

    def _rewrite(self) -> float:
        """Seconds to read and write as many numbers as there are weights."""
        return seconds_of(lambda: np.negative(self._others, out=self._others))

    def found(self) -> FinishTimes:
        """All but the first two, which compile."""
        weights = self._weights
        return FinishTimes(weights.n_labels, weights.n_examples, *np.array(self._timed[2:]).T)


def time_finish(
    problems: Sequence[Problem], repeats: int, progress: Progress | None = None
) -> list[FinishTimes]:
    """Time finishes of each problem in turns; the first two of each are not counted."""
    cells = [_Cell(problem) for problem in problems]
    for number in range(-2, repeats):
        if progress is not None:
            progress("finish", max(number, 0), repeats)
        for cell in cells:
            cell.run(number)
    return [cell.found() for cell in cells]


def finish_table(times: Sequence[FinishTimes]) -> Table:
    """Medians of nanoseconds an example, and the share of the bound in an update."""
    return Table(
        "the finish, by a stump that divides the examples at random: median nanoseconds an example "
        "of its label sums and of the update of all weights; of an update whose sides are easily "
        "guessed; the bound, reading and writing all weights, and its share of an update in "
        "percent",
        ("classes", "vectors", *_PARTS, "share"),
        tuple(
            (
                str(one.n_classes),
                layout_of(one.n_labels),
                *(f"{np.median(one.nanoseconds(part)):.2f}" for part in _PARTS),
                f"{100 * np.median(one.rewrite) / np.median(one.update):.0f}",
            )
            for one in times
        ),
    )


def finish_section(
    problems: Sequence[Problem], repeats: int, progress: Progress | None = None
) -> Section:
    """The finish for several numbers of classes."""
    times = time_finish(problems, repeats, progress)
    return Section(
        (finish_table(times),),
        {
            "finish": [
                {
                    "classes": one.n_classes,
                    "examples": one.n_examples,
                    **{
                        f"{part}_ns": {
                            "least": float(one.nanoseconds(part).min()),
                            "median": float(np.median(one.nanoseconds(part))),
                        }
                        for part in _PARTS
                    },
                }
                for one in times
            ]
        },
        {
            f"{one.n_classes} classes, {name}": paired_ratio(
                one.nanoseconds(part), one.nanoseconds("guessed")
            )
            for one in times
            for part, name in (("sums", "label sums"), ("update", "update"))
        },
        {"data": problems[0].name, "examples": len(problems[0].rows)},
    )
