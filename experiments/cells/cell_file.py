"""The file of one trained run: its stumps, its measurements, and the facts that identify it.

The file is an .npz archive that `numpy.load` reads without pickles. ``searches`` is the number of
searches of each round, 1 for stumps. Arrays with one element per search:

- ``feature``, ``family`` (positions in the bank), ``n_features`` (Q), ``n_examples`` (T),
  ``looks_search``, ``looks_modelling``, ``looks_finish``, ``microseconds``: the narrowest integer
  type that holds the values;
- ``threshold`` (float32, raw; phi = +1 if x >= threshold); with the arrays of
  `boostsample.records.term_arrays` and the edges it is the model, so that it can be scored again
  without training;
- ``edge`` (G, float64); as float16, precise to three digits, ``excess`` (estimated edge H minus G)
  and, if the strategy predicts it, ``expected_edge``;

``alpha`` and ``log10_loss`` (float64) have one element per round; they are stored only if they do
not follow from the edges by full steps.

Arrays with one element per scored number of stumps, listed in ``points``: ``loss`` (log10),
``error`` (percent of the test examples) and those of
`boostsample.experiments.cells.class_metrics`. For some of these, listed in ``marks``: ``auc`` (area
under the ROC curve on the test examples, mean over the labels that have both signs) and ``margins``
(2, marks, 200): histograms over [-1, 1] of y_il f_l(x_i) / sum of alpha, of training and of test
examples.

``meta`` is JSON: `facts`, whose hash is the cell's key, and `about`. ``history``, optional, is
JSON: the history rows by column. ``state``, optional, is JSON: what the run needs to be
continued (`boostsample.files.booster_state`). ``sha256`` is a checksum over all other
entries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.errors import DataError, one_line, os_fault
from boostsample.experiments.cells.cell_terms import round_edges, rounds_of_cell
from boostsample.experiments.cells.class_metrics import CLASS_METRICS
from boostsample.experiments.cells.tasks import cell_key
from boostsample.files.archive import (
    archive_bytes,
    archive_content,
    archive_entries,
    json_entry,
    narrowest,
    read_json_entry,
    rows_by_column,
    rows_of_columns,
    text_entry,
)
from boostsample.files.booster_state import pack_state, unpack_state
from boostsample.loop.numerics import NUMERICS
from boostsample.records import Round, Term
from boostsample.records.term_arrays import TERM_INTEGERS, term_arrays
from boostsample.rows.weights import FULL_STEP

FORMAT = 1
"""Version of the file's format."""
LOOKS = ("search", "modelling", "finish")
"""Purposes of looks; the finish is outside the budget."""
PREDICTED = "expected_edge"
"""The note in which a strategy predicts its edge."""

_HISTORY_INTEGERS = ("feature", "n_features", "n_examples", *(f"looks_{one}" for one in LOOKS))
SEARCH_INTEGERS = (*_HISTORY_INTEGERS, "searches", "family", "microseconds")
"""Arrays of integers with one element per search, or per round."""


class DamagedCell(DataError):
    """A cell's file cannot be used; the message is a phrase with the reason."""


def cell_arrays(rounds: Sequence[Round], families: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The arrays of a cell that have one element per search, round or term.

    `families` are the names of the bank's families in its order.
    """
    rows = [row for one in rounds for row in one.rows]
    number = {name: at for at, name in enumerate(families)}
    arrays = {name: narrowest([row[name] for row in rows]) for name in _HISTORY_INTEGERS}
    arrays["searches"] = narrowest([len(one.rows) for one in rounds])
    arrays["family"] = narrowest([number[row["family"]] for row in rows])
    arrays["microseconds"] = narrowest([round(1e6 * row["seconds"]) for row in rows])
    arrays["threshold"] = np.array([row["threshold"] for row in rows], np.float32)
    for name, array in term_arrays(rounds).items():
        arrays[name] = narrowest(array) if name in TERM_INTEGERS else array
    edge = np.array([row["edge"] for row in rows], np.float64)
    arrays["edge"] = edge
    estimated = np.array([row["edge_estimated"] for row in rows], np.float64)
    arrays["excess"] = (estimated - edge).astype(np.float16)
    if any(PREDICTED in row for row in rows):
        predicted = [row.get(PREDICTED) for row in rows]
        numbers = [math.nan if value is None else value for value in predicted]
        arrays[PREDICTED] = np.array(numbers, np.float16)
    edges = round_edges(arrays)
    alpha = np.array([one.terms[0].alpha for one in rounds], np.float64)
    if not np.array_equal(alpha, alphas_of_edges(edges)):
        arrays["alpha"] = alpha
    loss = np.array([one.rows[-1]["log10_loss"] for one in rounds], np.float64)
    if not np.array_equal(loss, losses_of_edges(edges)):
        arrays["log10_loss"] = loss
    return arrays


def alphas_of_edges(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """The coefficients of base classifiers with these edges, of full steps."""
    return np.array([*map(FULL_STEP.alpha, edges.tolist())])


def losses_of_edges(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """log10 of the loss after each round of full steps, summed in the order of the loop."""
    total, losses = 0.0, []
    for edge in edges.tolist():
        total += FULL_STEP.log_loss_change(edge)
        losses.append(total / math.log(10.0))
    return np.array(losses)


@dataclass(frozen=True, eq=False)
class Cell:
    """A trained run; the module's docstring lists the arrays.

    `about` has ``numerics``, ``n_rounds``, ``stopped``, ``n_labels``, ``data``, ``bank``,
    ``versions``, ``machine``, ``started``, and ``wall`` (seconds, scoring included).
    """

    facts: dict[str, Any]  # everything that determines the bits of the results, as JSON takes it
    about: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    history: list[dict[str, Any]] | None = None  # history rows, if the plan requests them
    state: dict[str, Any] | None = None  # what continues the run, see `booster_state`

    @property
    def key(self) -> str:
        """Hash of the facts."""
        return cell_key(self.facts)

    @property
    def n_rounds(self) -> int:
        """Rounds trained; fewer than requested if training ended early."""
        return int(self.about["n_rounds"])

    @cached_property
    def loss(self) -> NDArray[np.float64]:
        """log10 of the exponential loss after each round: float64 (n_rounds,).

        If it is not stored, it is computed from the edges; on a machine with another logarithm, the
        last bit may differ from `loss_at`, which always is the value from training.
        """
        stored = self.arrays.get("log10_loss")
        return losses_of_edges(round_edges(self.arrays)) if stored is None else stored

    @cached_property
    def alpha(self) -> NDArray[np.float64]:
        """The coefficient of each round: float64 (n_rounds,)."""
        stored = self.arrays.get("alpha")
        return alphas_of_edges(round_edges(self.arrays)) if stored is None else stored

    def rounds(self, bank: Bank) -> list[list[Term]]:
        """The terms of each round, with thresholds as bins of the bank."""
        return rounds_of_cell(self.arrays, self.alpha, int(self.about["n_labels"]), bank)

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
        return (
            int(self.arrays["terms"].sum(dtype=np.int64))
            if "terms" in self.arrays
            else self.n_rounds
        )

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
    def class_metrics(self) -> dict[str, dict[int, float]]:
        """Each of `CLASS_METRICS` by number of stumps; empty if the cell lacks it."""
        return {
            name: self._by_stumps("points", name) if name in self.arrays else {}
            for name in CLASS_METRICS
        }

    @cached_property
    def areas(self) -> dict[int, float]:
        """Area under the ROC curve on the test examples by number of stumps, at the marks."""
        return self._by_stumps("marks", "auc")

    def has(self, points: Sequence[int], marks: Sequence[int], history: bool) -> bool:
        """Whether all requested scores, and history rows, are present."""
        last = self.n_rounds
        return (
            {min(one, last) for one in points} <= set(self.arrays["points"].tolist())
            and self.arrays.keys() >= CLASS_METRICS.keys()
            and {min(one, last) for one in marks} <= set(self.arrays["marks"].tolist())
            and (self.history is not None or not history)
        )

    def to_bytes(self) -> bytes:
        """The content of the cell's file."""
        meta = {"format": FORMAT, "facts": self.facts, "about": self.about}
        entries = {**self.arrays, "meta": json_entry(meta)}
        if self.history is not None:
            entries["history"] = json_entry(rows_by_column(self.history))
        if self.state is not None:
            entries["state"] = text_entry(pack_state(self.state))
        return archive_bytes(entries)

    @classmethod
    def from_bytes(cls, content: bytes) -> Cell:
        """Read the content of a cell's file; DamagedCell if `to_bytes` has not written it."""
        try:
            entries = archive_entries(content)
            meta = read_json_entry(entries.pop("meta"))
            if meta["format"] != FORMAT:
                raise DamagedCell(f"the cell is in format {meta['format']}, not {FORMAT}")
            columns = entries.pop("history", None)
            history = None if columns is None else rows_of_columns(read_json_entry(columns))
            packed = entries.pop("state", None)
            state = None if packed is None else unpack_state(packed.tobytes().decode("ascii"))
            _check_searches(entries, int(meta["about"]["n_rounds"]))
            return cls(meta["facts"], meta["about"], entries, history, state)
        except DamagedCell:
            raise
        except Exception as error:  # NumPy's parsers raise errors of many types on garbage
            raise DamagedCell(f"it is damaged or half-written ({one_line(error)})") from error


def _check_searches(arrays: dict[str, NDArray[Any]], n_rounds: int) -> None:
    """ValueError unless each round has searches, and integers belong to each of them."""
    searches = arrays["searches"]
    if searches.dtype.kind not in "iu" or searches.shape != (n_rounds,) or searches.min() < 1:
        raise ValueError("searches must be an integer of at least 1 for each round")
    n = int(searches.sum(dtype=np.int64))
    for name in (*_HISTORY_INTEGERS, "family", "microseconds"):
        if arrays[name].dtype.kind not in "iu" or arrays[name].shape != (n,):
            raise ValueError(f"{name} must be an integer for each search")


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
