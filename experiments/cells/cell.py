"""A cell: one strategy with concrete settings in one repetition, trained, as numbers and as a file.

The file is an .npz archive that `numpy.load` opens without pickles. ``searches`` has the number of
searches of each round, one for stumps. Arrays with one entry a search:

- ``feature``, ``family`` (positions in the bank), ``n_features`` (Q), ``n_examples`` (T),
  ``looks_search``, ``looks_modelling``, ``looks_finish``, ``microseconds``: integers, as narrow as
  they fit;
- ``threshold`` (float32, raw; phi = +1 if x >= threshold) and ``votes`` (K bits a stump, set for
  +1): with ``edge`` they are the model, so that other scores can be taken without training again;
- ``edge`` (G, float64); to three digits (float16) ``excess``, the estimated edge H less G, and,
  where the strategy predicted it, ``expected_edge``;
- ``alpha`` and ``log10_loss`` (float64) only where they do not follow from the edges.

At some numbers of stumps, ``points``: ``loss`` (log10) and ``error`` (percent of the test
examples). At some of these, ``marks``: ``auc`` (area under the ROC curve on the test examples, mean
over the labels that have both signs) and ``margins`` (2, marks, 200): histograms over [-1, 1] of
y_il f_l(x_i) / sum of alpha, of training and of test examples.

``meta`` is JSON: what was asked (`facts`, whose hash is the cell's key) and how it went (`about`).
``sha256`` is a checksum over all other entries. ``history`` (JSON, only when it was asked for) has
the history rows column by column.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.experiments.cells.keys import key_of
from boostsample.experiments.common.files import one_line
from boostsample.learner import EDGE_GAP, alpha_of
from boostsample.records import Term

__all__ = ["FORMAT", "LOOKS", "Cell", "DamagedCell", "compact", "search_arrays"]

FORMAT = 1
"""Version of the file's format."""
LOOKS = ("search", "modelling", "finish")
"""What looks are spent on; the finish stands outside the budget."""
PREDICTED = "expected_edge"
"""The note of a strategy that says which edge it expects."""

_WHOLE = ("feature", "n_features", "n_examples", *(f"looks_{one}" for one in LOOKS))


class DamagedCell(DataError):
    """A file of a cell that cannot be used; the message is a phrase that says why."""


def compact(values: Any) -> NDArray[Any]:
    """Whole numbers in the narrowest type that holds them.

    >>> compact([0, 300]).dtype, compact([-1]).dtype
    (dtype('uint16'), dtype('int8'))
    """
    array = np.asarray(values, np.int64)
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    kinds = ("u1", "u2", "u4") if low >= 0 else ("i1", "i2", "i4")
    for kind in kinds:
        bounds = np.iinfo(kind)
        if bounds.min <= low and high <= bounds.max:
            return array.astype(kind)
    return array


def search_arrays(
    rows: Sequence[Mapping[str, Any]], terms: Sequence[Term], families: Sequence[str]
) -> dict[str, NDArray[Any]]:
    """The arrays of a cell that have one entry a search.

    Parameters
    ----------
    rows : sequence of mapping
        History rows.
    terms : sequence of Term
        What the same searches added to the model.
    families : sequence of str
        Names of the bank's families, in its order.
    """
    number = {name: at for at, name in enumerate(families)}
    arrays = {name: compact([row[name] for row in rows]) for name in _WHOLE}
    arrays["searches"] = compact(np.bincount([row["round"] for row in rows])[1:])
    arrays["family"] = compact([number[row["family"]] for row in rows])
    arrays["microseconds"] = compact([round(1e6 * row["seconds"]) for row in rows])
    arrays["threshold"] = np.array([term.value for term in terms], np.float32)
    votes = np.array([term.votes > 0 for term in terms], np.bool_)
    arrays["votes"] = np.packbits(votes.reshape(len(terms), -1), axis=1)
    edge = np.array([row["edge"] for row in rows], np.float64)
    arrays["edge"] = edge
    estimated = np.array([row["edge_estimated"] for row in rows], np.float64)
    arrays["excess"] = (estimated - edge).astype(np.float16)
    if any(PREDICTED in row for row in rows):
        told = [row.get(PREDICTED) for row in rows]
        plain = [math.nan if value is None else value for value in told]
        arrays[PREDICTED] = np.array(plain, np.float16)
    alpha = np.array([term.alpha for term in terms], np.float64)
    if not np.array_equal(alpha, _alphas(edge)):
        arrays["alpha"] = alpha
    loss = np.array([row["log10_loss"] for row in rows], np.float64)
    if not np.array_equal(loss, _losses(edge)):
        arrays["log10_loss"] = loss
    return arrays


def _alphas(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([alpha_of(edge) for edge in edges.tolist()])


def _losses(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """log10 of the loss after each stump, summed up as the loop does it."""
    total, losses = 0.0, []
    for given in edges.tolist():
        edge = 1.0 - EDGE_GAP if given > 1.0 - EDGE_GAP else given
        total += 0.5 * (math.log1p(edge) + math.log1p(-edge))
        losses.append(total / math.log(10.0))
    return np.array(losses)


@dataclass(frozen=True, eq=False)
class Cell:
    """A trained cell, see the top of this module.

    Attributes
    ----------
    facts : dict
        All that determines its bits, as JSON takes it.
    about : dict
        ``numerics``, ``n_rounds``, ``stopped``, ``n_labels``, ``families``, ``data``, ``versions``,
        ``machine``, ``started``, ``wall`` (seconds, scoring included).
    arrays : dict of str to ndarray
    history : list of dict or None
        History rows, if they were asked for.
    """

    facts: dict[str, Any]
    about: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    history: list[dict[str, Any]] | None = None

    @property
    def key(self) -> str:
        """What it is found by."""
        return key_of(self.facts)

    @property
    def n_rounds(self) -> int:
        """Rounds done; fewer than asked for where training ended early."""
        return int(self.about["n_rounds"])

    @cached_property
    def loss(self) -> NDArray[np.float64]:
        """log10 of the exponential loss after each round: float64 (n_rounds,).

        Where it follows from the edges it is summed up anew: on a machine with another logarithm,
        its last bit may differ. `loss_at` is what was computed in training.
        """
        stored = self.arrays.get("log10_loss")
        each = _losses(self.arrays["edge"]) if stored is None else stored
        return each[self._ends]

    @cached_property
    def alpha(self) -> NDArray[np.float64]:
        """The coefficient of each stump."""
        stored = self.arrays.get("alpha")
        return _alphas(self.arrays["edge"]) if stored is None else stored

    @cached_property
    def votes(self) -> NDArray[np.int8]:
        """Votes of each stump: int8 (n, K)."""
        bits = np.unpackbits(self.arrays["votes"], axis=1, count=int(self.about["n_labels"]))
        return np.where(bits == 1, 1, -1).astype(np.int8)

    @cached_property
    def edge_estimated(self) -> NDArray[np.float64]:
        """H of each search, its difference from G to three digits."""
        estimated: NDArray[np.float64] = self.arrays["edge"] + self.arrays["excess"]
        return estimated

    @cached_property
    def round(self) -> NDArray[np.int64]:
        """The round that each search belongs to, from 1 on."""
        return np.repeat(np.arange(1, self.n_rounds + 1), self.arrays["searches"])

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        """Position of the last search of each round."""
        return np.cumsum(self.arrays["searches"], dtype=np.int64) - 1

    def looks(self, purpose: str) -> NDArray[np.int64]:
        """Looks for a purpose, one of `LOOKS`, up to the end of each round: int64 (n_rounds,)."""
        sums: NDArray[np.int64] = np.cumsum(self.arrays[f"looks_{purpose}"], dtype=np.int64)
        return sums[self._ends]

    @cached_property
    def seconds(self) -> NDArray[np.float64]:
        """Training time up to the end of each round."""
        sums: NDArray[np.int64] = np.cumsum(self.arrays["microseconds"], dtype=np.int64)
        return sums[self._ends] / 1e6

    def _at_points(self, name: str) -> dict[int, float]:
        return dict(zip(self.arrays["points"].tolist(), self.arrays[name].tolist(), strict=True))

    @cached_property
    def loss_at(self) -> dict[int, float]:
        """log10 of the loss, by number of stumps."""
        return self._at_points("loss")

    @cached_property
    def errors(self) -> dict[int, float]:
        """Test error in percent, by number of stumps."""
        return self._at_points("error")

    @cached_property
    def areas(self) -> dict[int, float]:
        """Area under the ROC curve on the test examples, by number of stumps, at the marks."""
        return dict(zip(self.arrays["marks"].tolist(), self.arrays["auc"].tolist(), strict=True))

    def has(self, points: Sequence[int], marks: Sequence[int], history: bool) -> bool:
        """Whether what was scored includes all that is asked for now."""
        last = self.n_rounds
        return (
            {min(one, last) for one in points} <= set(self.arrays["points"].tolist())
            and {min(one, last) for one in marks} <= set(self.arrays["marks"].tolist())
            and (self.history is not None or not history)
        )

    def to_bytes(self) -> bytes:
        """The content of its file."""
        meta = {"format": FORMAT, "facts": self.facts, "about": self.about}
        entries = {**self.arrays, "meta": _json(meta)}
        if self.history is not None:
            entries["history"] = _json(_columns(self.history))
        entries["sha256"] = np.frombuffer(_digest(entries), np.uint8)
        stream = io.BytesIO()
        np.savez_compressed(stream, allow_pickle=False, **entries)
        return stream.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Cell:
        """Read a file's content, checksum verified.

        Raises
        ------
        DamagedCell
            It is not what `to_bytes` made, or of another format.
        """
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as archive:
                entries = {name: archive[name] for name in archive.files}
            if entries.pop("sha256").tobytes() != _digest(entries):
                raise DamagedCell("its checksum does not fit its content")
            meta = json.loads(entries.pop("meta").tobytes())
            if meta["format"] != FORMAT:
                raise DamagedCell(f"it is in format {meta['format']}, not {FORMAT}")
            told = entries.pop("history", None)
            history = None if told is None else _rows(json.loads(told.tobytes()))
            return cls(meta["facts"], meta["about"], entries, history)
        except DamagedCell:
            raise
        except Exception as error:  # of garbage NumPy raises whatever its parsers do
            raise DamagedCell(f"it is damaged or half-written ({one_line(error)})") from error


def _json(value: Any) -> NDArray[np.uint8]:
    text = json.dumps(value, sort_keys=True)
    return np.frombuffer(text.encode("ascii"), np.uint8)


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """History rows by column, which compresses better; with the columns that each row has."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    kinds: dict[tuple[str, ...], int] = {}
    of_row = [kinds.setdefault(tuple(row), len(kinds)) for row in rows]
    return {
        "kinds": [list(kind) for kind in kinds],
        "of_row": of_row,
        "columns": {name: [row[name] for row in rows if name in row] for name in names},
    }


def _rows(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    values = {name: iter(column) for name, column in found["columns"].items()}
    return [{name: next(values[name]) for name in found["kinds"][kind]} for kind in found["of_row"]]


def _digest(entries: Mapping[str, NDArray[Any]]) -> bytes:
    digest = hashlib.sha256()
    for name in sorted(entries):
        array = entries[name]
        digest.update(f"{name}:{array.dtype.str}:{array.shape};".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()
