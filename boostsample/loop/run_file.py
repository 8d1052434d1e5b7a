"""Files of runs: what continues a run, and the facts that identify it.

Checkpoints and cells of comparisons are .npz archives that `numpy.load` reads without pickles. Both
have the arrays of `run_arrays`:

- one element per round: ``searches``, the number of its searches, and ``round_edge``, the edge of
  its base classifier, which is left out if it is the ``edge`` of its only search;
- one element per search, in the narrowest type: ``feature``; ``threshold`` (float32, raw);
  ``edge`` (float64);
- one element per term: ``search``, the number of the search in the round that found it; ``bin``,
  the index of its threshold in the bank; and those of `boostsample.records.term_arrays`.

The alphas and the loss follow from the edges by the step size; for objectives other than
AdaBoost.MH, ``round_alpha`` and ``round_log_loss`` have one element per round. ``history`` is JSON:
the history rows by column. ``state`` is JSON: what the booster needs beside them
(`boostsample.files.json_text`). ``meta`` is JSON: the kind of the file, its format, and the other
entries. ``sha256`` is a checksum over all other entries.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError
from boostsample.files.archive import (
    archive_bytes,
    archive_content,
    archive_entries,
    floats_entry,
    integers_entry,
    json_entry,
    narrowest,
    read_json_entry,
    rows_by_column,
    rows_of_columns,
    text_entry,
)
from boostsample.files.atomic import readable_file
from boostsample.files.json_text import pack_state, unpack_state
from boostsample.hashing import sha256_of_bytes
from boostsample.loop.committee import EXAMPLES_OF_MEMBERS, Committee
from boostsample.records import Round, Term
from boostsample.records.term_arrays import columns_of_terms, places_of_arrays, term_arrays
from boostsample.rows.weights import StepSize

if TYPE_CHECKING:
    from boostsample.loop.booster import Booster  # tables are read without it

FORMAT = 2
"""Version of the format of checkpoints and cells."""
_CHECKPOINT = "boostsample checkpoint"


def run_arrays(rounds: Sequence[Round]) -> dict[str, NDArray[Any]]:
    """The arrays of rounds, at least one; the module lists them."""
    terms = [term for done in rounds for term in done.terms]
    rows = [row for done in rounds for row in done.rows]
    columns = columns_of_terms(terms, terms[0].votes.size)
    split = np.array([term.below is not None for term in terms])
    stumps = len(terms) == len(rounds) and not split.any()
    arrays = {
        "searches": narrowest([len(done.rows) for done in rounds]),
        "feature": narrowest([row["feature"] for row in rows]),
        "threshold": np.array([row["threshold"] for row in rows], np.float32),
        "edge": np.array([row["edge"] for row in rows], np.float64),
        "search": narrowest([term.search for term in terms]),
        "bin": narrowest([term.threshold for term in terms]),
        **term_arrays(columns, None if stumps else split),
    }
    if rounds[0].log_loss is not None:
        arrays["round_log_loss"] = np.array([done.log_loss for done in rounds], np.float64)
        arrays["round_alpha"] = np.array([done.terms[0].alpha for done in rounds], np.float64)
    edges = np.array([done.edge for done in rounds], np.float64)
    if not np.array_equal(edges, arrays["edge"]):
        arrays["round_edge"] = edges
    return arrays


def edges_of_run(arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Edge of the base classifier of each round of `run_arrays`: float64 (R,)."""
    name = "round_edge" if "round_edge" in arrays else "edge"
    return floats_entry(arrays, name, arrays["searches"].size)


def log_losses(arrays: Mapping[str, NDArray[Any]], n_rounds: int) -> list[float] | list[None]:
    """Log of the loss after each round, or None for each if it follows from the edges."""
    if "round_log_loss" not in arrays:
        return [None] * n_rounds
    losses: list[float] = floats_entry(arrays, "round_log_loss", n_rounds).tolist()
    return losses


def terms_of_run(
    arrays: Mapping[str, NDArray[Any]], n_labels: int, steps: Sequence[StepSize]
) -> list[list[Term]]:
    """The terms of each round of `run_arrays`; `steps` are those of the members, in turn."""
    searches = integers_entry(arrays, "searches")
    if not searches.size or searches.min() < 1:
        raise DataError("each round must have a search")
    n_searches, n_terms = int(searches.sum()), int(arrays["votes"].shape[0])
    feature = integers_entry(arrays, "feature", n_searches)
    threshold = floats_entry(arrays, "threshold", n_searches)
    floats_entry(arrays, "edge", n_searches)
    search = integers_entry(arrays, "search", n_terms)
    bins = integers_entry(arrays, "bin", n_terms).tolist()
    places = places_of_arrays(arrays, n_terms, n_labels)
    if places.n_terms.size != searches.size:
        raise DataError("its terms must be those of the rounds")
    if np.any(search < 0) or np.any(search >= np.repeat(searches, places.n_terms)):
        raise DataError("each of its terms must be of a search of the round")
    at = np.repeat(np.cumsum(searches) - searches, places.n_terms) + search
    edges = edges_of_run(arrays).tolist()
    pairs = zip(itertools.cycle(steps), edges, strict=False)
    alphas = [step.alpha(edge) for step, edge in pairs]
    if "round_alpha" in arrays:
        alphas = floats_entry(arrays, "round_alpha", searches.size).tolist()
    if not np.isfinite(alphas).all():
        raise DataError("its edges must be those of base classifiers")
    columns = zip(
        feature[at].tolist(),
        bins,
        threshold[at].tolist(),
        places.votes,
        np.repeat(alphas, places.n_terms).tolist(),
        [votes if split else None for votes, split in zip(places.below, places.split, strict=True)],
        search.tolist(),
        places.parent.tolist(),
        places.side.tolist(),
        strict=True,
    )
    terms = itertools.starmap(Term, columns)
    return [list(itertools.islice(terms, n)) for n in places.n_terms.tolist()]


class RunEntries(NamedTuple):
    """The entries of a file of a run: arrays, history rows and state, where it has them."""

    meta: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    history: list[dict[str, Any]] | None
    state: dict[str, Any] | None

    def to_bytes(self, kind: str) -> bytes:
        """The content of the file; TypeError if state or history hold what cannot be saved."""
        meta = {"kind": kind, "format": FORMAT, **self.meta}
        entries = {**self.arrays, "meta": json_entry(meta)}
        if self.history is not None:
            entries["history"] = json_entry(rows_by_column(self.history))
        if self.state is not None:
            entries["state"] = text_entry(pack_state(self.state))
        return archive_bytes(entries)

    @classmethod
    def from_bytes(cls, content: bytes, kind: str) -> RunEntries:
        """The entries of `to_bytes`: OtherKind, OtherFormat, or any error of a parser if not."""
        entries = archive_entries(content)
        meta = read_json_entry(entries.pop("meta"))
        if meta["kind"] != kind:
            raise OtherKind(f"it is no {kind}")
        if meta["format"] != FORMAT:
            raise OtherFormat(f"has format {meta['format']}, not {FORMAT}")
        history, state = entries.pop("history", None), entries.pop("state", None)
        return cls(
            meta,
            entries,
            None if history is None else rows_of_columns(read_json_entry(history)),
            None if state is None else unpack_state(state.tobytes().decode("ascii")),
        )


class OtherKind(DataError):
    """A file is an archive of another kind."""


class OtherFormat(DataError):
    """A file was written in another format; the message is a phrase."""


@dataclass(frozen=True, eq=False)
class RunFile:
    """What continues a run; `start` is `start_of` the booster, `notes` are the caller's."""

    facts: dict[str, Any]
    start: str
    n_rounds: int
    plans_rounds: bool
    n_labels: int
    notes: dict[str, Any]
    rounds: list[Round]
    state: dict[str, Any]

    def to_bytes(self) -> bytes:
        """The content of a checkpoint; TypeError if state or history cannot be saved."""
        meta = {name: getattr(self, name) for name in _META}
        rows = [row for done in self.rounds for row in done.rows]
        return RunEntries(meta, run_arrays(self.rounds), rows, self.state).to_bytes(_CHECKPOINT)

    def other_plan(self, n_rounds: int, start: str) -> str:
        """Why a run of `n_rounds` with this start does not continue this one; empty if it does."""
        done, planned = len(self.rounds), self.n_rounds
        if planned != n_rounds and (self.plans_rounds or self.start != start):
            return f"n_rounds {planned}, now {n_rounds}, which the strategy depends on"
        if done > n_rounds:
            return f"{done} rounds are done, now n_rounds is {n_rounds}"
        if self.start != start:
            return "other weights or another state of the strategy before the first round"
        return ""

    def continue_in(self, booster: Booster | Committee) -> None:
        """Set a new booster to the end of this run; DataError if its weights are others then."""
        lacking = booster.strategy.state().keys() - self.state["strategy"].keys()
        if lacking:
            raise DataError(f"the state of the strategy lacks {min(lacking)!r}")
        terms, edges = [done.terms for done in self.rounds], [done.edge for done in self.rounds]
        booster.replay(terms, edges, self.state)


_META = {
    "facts": dict,
    "start": str,
    "n_rounds": int,
    "plans_rounds": bool,
    "n_labels": int,
    "notes": dict,
}


def start_of(booster: Booster | Committee) -> str:
    """Checksum of the state of a booster; TypeError if it cannot be saved."""
    return sha256_of_bytes(pack_state(booster.small_state()).encode())


def read_checkpoint(path: Path) -> RunFile | None:
    """Read a checkpoint, or None if there is no such file."""
    try:
        content = archive_content(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:  # a folder, a path with a NUL
        why = getattr(error, "strerror", None) or error
        raise DataError(f"the checkpoint '{path}' cannot be read: {why}") from error
    with readable_file(path):
        try:
            meta, arrays, rows, state = RunEntries.from_bytes(content, _CHECKPOINT)
            for name, kind in _META.items():
                if type(meta[name]) is not kind:
                    raise ValueError(f"its {name} must be of type {kind.__name__}")
            facts = meta["facts"]
            sizes = facts.get(EXAMPLES_OF_MEMBERS, [facts["training examples"]])
            steps = [StepSize(facts["learning_rate"], facts["smoothing"], n) for n in sizes]
            terms = terms_of_run(arrays, meta["n_labels"], steps)
            searches, edges = arrays["searches"].tolist(), edges_of_run(arrays).tolist()
            if rows is None or len(rows) != sum(searches):
                raise DataError("its history rows must be those of the rounds")
            rows_left = iter(rows)
            rounds = [
                Round(of_round, list(itertools.islice(rows_left, n)), edge, log_loss)
                for of_round, n, edge, log_loss in zip(
                    terms, searches, edges, log_losses(arrays, len(edges)), strict=True
                )
            ]
            if state is None or int(state["round"]) != len(rounds):
                raise DataError("its rounds are not all there")
            if type(state["strategy"]) is not dict:
                raise DataError("it lacks the state of the strategy")
            return RunFile(rounds=rounds, state=state, **{name: meta[name] for name in _META})
        except OtherKind:
            raise DataError(
                f"'{path}' is no checkpoint of boostsample; name another file"
            ) from None
        except OtherFormat as error:
            raise DataError(
                f"the checkpoint '{path}' {error}; use the version that wrote it, or train into "
                "another file"
            ) from error
        except DataError as error:
            raise DataError(
                f"the checkpoint '{path}' cannot be read: {error}; delete it or name another file"
            ) from error
