"""The file of a checkpoint: what continues a run, and the facts that identify it.

The file is an .npz archive that `numpy.load` reads without pickles. ``feature``, ``threshold`` (bin
index) and ``value`` (raw threshold) have one element per term, ``edge`` and ``alpha`` one per
round; `boostsample.records.term_arrays` describes the others. ``history`` is JSON: the history rows
by column, and ``searches`` the number of rows of each round. ``state`` is JSON: what the booster
needs beside them (`boostsample.files.booster_state`). ``meta`` is JSON: the other entries of
`Saved`. ``sha256`` is a checksum over all other entries.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.files.archive import (
    archive_bytes,
    archive_content,
    archive_entries,
    json_entry,
    read_json_entry,
    rows_by_column,
    rows_of_columns,
    text_entry,
)
from boostsample.files.atomic import readable_file
from boostsample.files.booster_state import pack_state, unpack_state
from boostsample.loop.committee import EXAMPLES_OF_MEMBERS
from boostsample.records import Round
from boostsample.records.term_arrays import Cuts, term_arrays, terms_each, terms_of_arrays
from boostsample.rows.weights import StepSize

FORMAT = 1
"""Version of the file's format."""
_KIND = "boostsample checkpoint"


@dataclass(frozen=True, eq=False)
class Saved:
    """The content of a checkpoint.

    Attributes
    ----------
    facts : dict
        What identifies the run: `Booster.facts`.
    start : str
        Checksum of the state before the first round.
    n_rounds : int
        Rounds planned.
    plans_rounds : bool
        Whether the strategy has read their number.
    n_labels : int
    notes : dict
        JSON values that the caller wants to find again.
    rounds : list of Round
        At least one.
    state : dict
        `Booster.small_state` after the rounds.
    """

    facts: dict[str, Any]
    start: str
    n_rounds: int
    plans_rounds: bool
    n_labels: int
    notes: dict[str, Any]
    rounds: list[Round]
    state: dict[str, Any]

    def to_bytes(self) -> bytes:
        """The content of the file; TypeError if state or history hold what cannot be saved."""
        terms = [term for one in self.rounds for term in one.terms]
        meta = {
            "kind": _KIND,
            "format": FORMAT,
            **{name: getattr(self, name) for name in _META},
        }
        arrays = term_arrays(self.rounds)
        arrays.pop("round_edge", None)  # stumps have none, and need `edge` as well
        entries = {
            **arrays,
            "feature": np.array([term.feature for term in terms], np.int64),
            "threshold": np.array([term.threshold for term in terms], np.uint8),
            "value": np.array([term.value for term in terms], np.float64),
            "edge": np.array([one.edge for one in self.rounds], np.float64),
            "alpha": np.array([one.terms[0].alpha for one in self.rounds], np.float64),
            "searches": np.array([len(one.rows) for one in self.rounds], np.int64),
            "history": json_entry(rows_by_column([row for one in self.rounds for row in one.rows])),
            "state": text_entry(pack_state(self.state)),
            "meta": json_entry(meta),
        }
        return archive_bytes(entries)


_DTYPES = {
    "feature": "int64",
    "threshold": "uint8",
    "value": "float64",
    "edge": "float64",
    "alpha": "float64",
    "searches": "int64",
}
_META = {
    "facts": dict,
    "start": str,
    "n_rounds": int,
    "plans_rounds": bool,
    "n_labels": int,
    "notes": dict,
}


def read_checkpoint(path: Path) -> Saved | None:
    """Read a checkpoint, or None if there is no such file.

    DataError of one line if the file cannot be read, is damaged, is no checkpoint, or is one of
    another format.
    """
    try:
        content = archive_content(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:  # a folder, a path with a NUL
        why = getattr(error, "strerror", None) or error
        raise DataError(f"the checkpoint '{path}' cannot be read: {why}") from error
    with readable_file(path):
        try:
            entries = archive_entries(content)
        except DataError as error:
            raise DataError(
                f"the checkpoint '{path}' cannot be read: {error}; delete it or name another file"
            ) from error
        meta = read_json_entry(entries["meta"])
        if meta["kind"] != _KIND:
            raise DataError(f"'{path}' is no checkpoint of boostsample; name another file")
        if meta["format"] != FORMAT:
            raise DataError(
                f"the checkpoint '{path}' has format {meta['format']}, not {FORMAT}; use the "
                "version that wrote it, or train into another file"
            )
        for name, kind in _META.items():
            if type(meta[name]) is not kind:
                raise ValueError(f"its {name} must be of type {kind.__name__}")
        facts = meta["facts"]
        sizes = facts.get(EXAMPLES_OF_MEMBERS, [facts["training examples"]])
        steps = [StepSize(facts["learning_rate"], facts["smoothing"], n) for n in sizes]
        rounds = _rounds(entries, meta["n_labels"], steps)
        state = unpack_state(entries["state"].tobytes().decode("ascii"))
        if int(state["round"]) != len(rounds) or type(state["strategy"]) is not dict:
            raise DataError(f"the checkpoint '{path}' is damaged: its rounds are not all there")
        return Saved(rounds=rounds, state=state, **{name: meta[name] for name in _META})


def _rounds(
    entries: dict[str, NDArray[Any]], n_labels: int, steps: Sequence[StepSize]
) -> list[Round]:
    """The rounds of a checkpoint; exceptions of many types if the entries do not fit.

    `steps` are those of the members of a committee, in turn, or that of a booster.
    """
    for name, dtype in _DTYPES.items():
        if entries[name].dtype != dtype or entries[name].ndim != 1:
            raise ValueError(f"its {name} must be {dtype} (n,), got {entries[name].dtype}")
    alphas = entries["alpha"]
    _check_terms(entries, alphas.size)
    edges = entries["edge"].tolist()
    of_edges = [step.alpha(edge) for step, edge in zip(itertools.cycle(steps), edges, strict=False)]
    if not np.allclose(alphas, of_edges, rtol=1e-9):
        raise ValueError("the alphas are not those of the edges")
    cuts = Cuts(*(entries[name] for name in Cuts._fields))
    if np.abs(cuts.value[np.isfinite(cuts.value)]).max(initial=0.0) > np.finfo(np.float32).max:
        raise ValueError("a threshold is larger than any feature")
    terms = terms_of_arrays(entries, cuts, alphas, n_labels)
    rows = rows_of_columns(read_json_entry(entries["history"]))
    ends = np.cumsum(entries["searches"]).tolist()
    if len(rows) != ends[-1]:
        raise ValueError("the history rows are not those of the rounds")
    starts = [0, *ends[:-1]]
    return [
        Round(mine, rows[start:end], edge)
        for mine, start, end, edge in zip(
            terms, starts, ends, entries["edge"].tolist(), strict=True
        )
    ]


def _check_terms(entries: dict[str, NDArray[Any]], n_rounds: int) -> None:
    """ValueError unless searches and terms are those of the rounds, and parents come first."""
    counts, searches = terms_each(entries, n_rounds), entries["searches"]
    n_terms = len(entries["votes"])
    if not n_rounds or not len(searches) == counts.size == n_rounds or counts.sum() != n_terms:
        raise ValueError("the terms are not those of the rounds")
    if counts.min() < 1 or searches.min() < 1:
        raise ValueError("a round has no term or no search")
    if "term_parent" not in entries:
        return
    firsts = np.repeat(np.cumsum(counts) - counts, counts)
    places = np.arange(n_terms) - firsts
    parents, sides, found = (entries[f"term_{one}"] for one in ("parent", "side", "search"))
    if np.any(parents >= places) or np.any((parents == -1) != (places == 0)) or parents.min() < -1:
        raise ValueError("the terms of a round are not those of a tree")
    if np.any(np.abs(sides) > 1) or found.min() < 0 or np.any(found >= np.repeat(searches, counts)):
        raise ValueError("a term is of no side or search")
