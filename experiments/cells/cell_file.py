"""The file of one trained run: its stumps, its measurements, and the facts that identify it.

The file is that of a run, `boostsample.loop.run_file`, with more arrays. One element per search, of
the narrowest integer type: ``family`` (position in the bank), ``n_features`` (Q), ``n_examples``
(T), ``looks_search``, ``looks_modelling``, ``looks_finish``, ``microseconds``,
``nominal_nanoseconds``. As float16, precise to three digits, ``excess`` (estimated edge H minus G)
and, if the strategy predicts it, ``expected_edge``.

Arrays with one element per scored number of stumps, listed in ``points``: ``loss`` (log10),
``error`` (percent of the test examples) and those of
`boostsample.experiments.metrics`. For some of these, listed in ``marks``: ``auc`` and ``margins``
(2, marks, 200), see `boostsample.experiments.cells.training`, of training and of test examples.

A comparison with regret has ``best_edge`` (float64), the largest edge of all features in the rounds
``best_edge_at``.

``meta`` has `facts`, whose hash is the cell's key, and `about`. ``history`` and ``state`` are
optional. The cell can be scored again without training.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, one_line, os_fault
from boostsample.experiments.cells.tasks import cell_key, rounds_of_regret
from boostsample.experiments.metrics import SCORED_METRICS
from boostsample.files.archive import archive_content, integers_entry, narrowest
from boostsample.loop.numerics import NUMERICS
from boostsample.loop.run_file import (
    OtherFormat,
    RunEntries,
    edges_of_run,
    log_losses,
    run_arrays,
    terms_of_run,
)
from boostsample.records import Round, Term
from boostsample.rows.weights import StepSize

LOOKS = ("search", "modelling", "finish")
"""Purposes of looks; the finish is outside the budget."""
PREDICTED = "expected_edge"
"""The note in which a strategy predicts its edge."""

_KIND = "boostsample cell"
_COUNTS = (
    "n_features",
    "n_examples",
    *(f"looks_{purpose}" for purpose in LOOKS),
    "values_computed",
)


class DamagedCell(DataError):
    """A cell's file cannot be used; the message is a phrase with the reason."""


def cell_arrays(rounds: Sequence[Round], families: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The arrays with one element per search, round or term; `families` are names of the bank's."""
    rows = [row for done in rounds for row in done.rows]
    number = {name: at for at, name in enumerate(families)}
    arrays = run_arrays(rounds)
    arrays |= {name: narrowest([row[name] for row in rows]) for name in _COUNTS}
    arrays["family"] = narrowest([number[row["family"]] for row in rows])
    arrays["microseconds"] = narrowest([round(1e6 * row["seconds"]) for row in rows])
    arrays["nominal_nanoseconds"] = narrowest([round(1e3 * row["cost"]) for row in rows])
    estimated = np.array([row["edge_estimated"] for row in rows], np.float64)
    arrays["excess"] = (estimated - arrays["edge"]).astype(np.float16)
    if any(PREDICTED in row for row in rows):
        predicted = [row.get(PREDICTED) for row in rows]
        numbers = [math.nan if value is None else value for value in predicted]
        arrays[PREDICTED] = np.array(numbers, np.float16)
    return arrays


@dataclass(frozen=True, eq=False)
class Cell:
    """A trained run; the module's docstring lists the arrays.

    `about` has ``numerics``, ``n_rounds``, ``stopped``, ``n_labels``, ``n_examples`` (of training),
    ``data``, ``bank``, ``versions``, ``machine``, ``start`` (checksum of the state before the first
    round), ``started``, and ``wall`` (seconds, scoring included).
    """

    facts: dict[str, Any]  # everything that determines the bits of the results, as JSON takes it
    about: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    history: list[dict[str, Any]] | None = None  # history rows, if the plan requests them
    state: dict[str, Any] | None = None  # what continues the run, see `files.json_text`

    @property
    def key(self) -> str:
        """Hash of the facts."""
        return cell_key(self.facts)

    @property
    def n_rounds(self) -> int:
        """Rounds trained; fewer than requested if training ended early."""
        return int(self.about["n_rounds"])

    @property
    def _step_size(self) -> StepSize:
        # Steps are facts only if they are not full, so that keys of full steps stay short.
        rate, smoothing = self.facts.get("learning_rate", 1.0), self.facts.get("smoothing", 0.0)
        return StepSize(rate, smoothing, int(self.about["n_examples"]))

    @cached_property
    def loss(self) -> NDArray[np.float64]:
        """log10 of the exponential loss after each round: float64 (n_rounds,).

        It is computed from the edges; its last bit may differ from `loss_at`, made in training.
        """
        known = log_losses(self.arrays, self.n_rounds)
        if known[:1] != [None]:
            return np.array(known, np.float64) / math.log(10.0)
        changes = map(self._step_size.log_loss_change, edges_of_run(self.arrays).tolist())
        return np.array([total / math.log(10.0) for total in itertools.accumulate(changes)])

    def terms(self) -> list[list[Term]]:
        """The terms of each round."""
        return terms_of_run(self.arrays, int(self.about["n_labels"]), [self._step_size])

    def rounds(self) -> list[Round]:
        """The rounds; without history, their rows have only what `cell_arrays` reads."""
        rows = iter(self._measured() if self.history is None else self.history)
        parts = zip(
            self.terms(),
            self.arrays["searches"].tolist(),
            edges_of_run(self.arrays).tolist(),
            log_losses(self.arrays, self.n_rounds),
            strict=True,
        )
        return [
            Round(terms, list(itertools.islice(rows, n)), edge, log_loss)
            for terms, n, edge, log_loss in parts
        ]

    def _measured(self) -> list[dict[str, Any]]:
        names = [name for name, _ in self.about["data"]["families"]]
        columns = {
            **{name: self.arrays[name] for name in ("feature", "threshold", "edge", *_COUNTS)},
            "family": np.array(names)[self.arrays["family"]],
            "seconds": self.arrays["microseconds"] / 1e6,
            "cost": self.arrays["nominal_nanoseconds"] / 1e3,
            "edge_estimated": self.edge_estimated,
        }
        if PREDICTED in self.arrays:
            columns[PREDICTED] = self.arrays[PREDICTED]
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    @cached_property
    def edge_estimated(self) -> NDArray[np.float64]:
        """Estimated edge H of each search: float64 (n,); H - G is precise to three digits."""
        return np.asarray(self.arrays["edge"] + self.arrays["excess"])

    @cached_property
    def round(self) -> NDArray[np.int64]:
        """The round of each search, counted from 1: int64 (n,)."""
        return np.repeat(np.arange(1, self.n_rounds + 1), self.arrays["searches"])

    @property
    def n_searches(self) -> int:
        """Searches of all rounds, also those whose stump is not in the model."""
        return int(self.arrays["searches"].sum(dtype=np.int64))

    @property
    def n_terms(self) -> int:
        """Terms of the model: stumps, one or more for each round."""
        return int(self.arrays["search"].size)

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        """Position of the last search of each round."""
        return np.cumsum(self.arrays["searches"], dtype=np.int64) - 1

    def summed(self, name: str) -> NDArray[np.int64]:
        """Sum of an integer array over all searches up to the end of each round: (n_rounds,)."""
        return np.cumsum(self.arrays[name], dtype=np.int64)[self._ends]

    def mean(self, name: str) -> NDArray[np.float64]:
        """Mean of an integer array over all searches up to the end of each round: (n_rounds,)."""
        return self.summed(name) / (self._ends + 1)

    def looks(self, purpose: str) -> NDArray[np.int64]:
        """Looks for one of `LOOKS` up to the end of each round: int64 (n_rounds,)."""
        return self.summed(f"looks_{purpose}")

    @cached_property
    def seconds(self) -> NDArray[np.float64]:
        """Training time up to the end of each round: float64 (n_rounds,)."""
        return self.summed("microseconds") / 1e6

    @cached_property
    def cost(self) -> NDArray[np.float64]:
        """Nominal seconds up to the end of each round: float64 (n_rounds,)."""
        return self.summed("nominal_nanoseconds") / 1e9

    def _by_stumps(self, at: str, name: str) -> dict[int, float]:
        return dict(zip(self.arrays[at].tolist(), self.arrays[name].tolist(), strict=True))

    @cached_property
    def loss_at(self) -> dict[int, float]:
        """log10 of the exponential loss by number of stumps."""
        return self._by_stumps("points", "loss")

    @cached_property
    def errors(self) -> dict[int, float]:
        """Test error in percent by number of stumps."""
        return self._by_stumps("points", "error")

    @cached_property
    def metrics(self) -> dict[str, dict[int, float]]:
        """Each of `SCORED_METRICS` by number of stumps."""
        return {name: self._by_stumps("points", name) for name in SCORED_METRICS}

    @cached_property
    def areas(self) -> dict[int, float]:
        """Area under the ROC curve on the test examples by number of stumps, at the marks."""
        return self._by_stumps("marks", "auc")

    @cached_property
    def best_edges(self) -> dict[int, float]:
        """The best edges of all features by round; empty without regret."""
        return self._by_stumps("best_edge_at", "best_edge") if "best_edge" in self.arrays else {}

    @cached_property
    def regret(self) -> dict[int, float]:
        """1 - edge / best edge by number of stumps, mean over the rounds since the point before.

        Of a tree, edges are those of the search of its root, the first one of a round.
        """
        edges = self.arrays["edge"][self._ends - self.arrays["searches"] + 1]
        means, before = {}, 0
        for point in self.arrays["points"].tolist():
            rounds = [at for at in self.best_edges if before < at <= point]
            best = np.array([self.best_edges[at] for at in rounds])
            part = edges[np.array(rounds, np.int64) - 1] / np.where(best > 0, best, 1.0)
            if rounds:
                means[point] = float(np.where(best > 0, np.maximum(1 - part, 0), 0).mean())
            before = point
        return means

    def has(
        self,
        points: Sequence[int],
        marks: Sequence[int],
        history: bool,
        regret: int | None = None,
    ) -> bool:
        """Whether all requested scores, history rows and best edges are present."""
        last = self.n_rounds
        return (
            self.has_regret(points, regret)
            and {min(point, last) for point in points} <= set(self.arrays["points"].tolist())
            and self.arrays.keys() >= SCORED_METRICS.keys()
            and {min(point, last) for point in marks} <= set(self.arrays["marks"].tolist())
            and (self.history is not None or not history)
        )

    def has_regret(self, points: Iterable[int], every: int | None) -> bool:
        """Whether the best edges of `rounds_of_regret` are present."""
        return rounds_of_regret(points, self.n_rounds, every) <= self.best_edges.keys()

    def to_bytes(self) -> bytes:
        """The content of the cell's file."""
        meta = {"facts": self.facts, "about": self.about}
        return RunEntries(meta, self.arrays, self.history, self.state).to_bytes(_KIND)

    @classmethod
    def from_bytes(cls, content: bytes) -> Cell:
        """Read the content of a cell's file; DamagedCell if `to_bytes` has not written it."""
        try:
            meta, arrays, history, state = RunEntries.from_bytes(content, _KIND)
            cell = cls(meta["facts"], meta["about"], arrays, history, state)
            if integers_entry(cell.arrays, "searches", cell.n_rounds).min() < 1:
                raise DataError("each round must have a search")
            for name in ("feature", *_COUNTS, "family", "microseconds", "nominal_nanoseconds"):
                integers_entry(cell.arrays, name, cell.n_searches)
            return cell
        except OtherFormat as error:
            raise DamagedCell(f"the cell {error}") from error
        except Exception as error:  # NumPy's parsers raise errors of many types on garbage
            raise DamagedCell(f"it is damaged or half-written ({one_line(error)})") from error


def read_cell_file(path: Path, key: str) -> Cell:
    """Read a cell's file and verify its checksum, key and numerics.

    FileNotFoundError if there is none, DamagedCell if it cannot be used.
    """
    try:
        content = archive_content(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DamagedCell(f"the cell cannot be read ({os_fault(error)})") from error
    cell = Cell.from_bytes(content)
    if cell.key != key:
        raise DamagedCell("it is another cell under this name")
    number = cell.about.get("numerics")
    if number != NUMERICS:
        raise DamagedCell(f"the cell was computed with numerics {number}, now they are {NUMERICS}")
    return cell
