"""Columns of a history row: names, types and descriptions, defined once."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from boostsample.errors import SettingError


class Column(NamedTuple):
    """One column: its name, the type of its entries, and what they are."""

    name: str
    kind: type
    description: str


HISTORY_COLUMNS = (
    Column("round", int, "boosting round, from 1"),
    Column("search", int, "search in the round, from 0; a stump takes one search"),
    Column("family", str, "name of the family of the chosen feature"),
    Column("feature", int, "global index of the chosen feature"),
    Column("threshold", float, "threshold in raw units; -inf is the constant stump"),
    Column("n_features", int, "different features searched, Q"),
    Column("n_examples", int, "examples of the sample that the chosen stump was found on, T"),
    Column("edge_estimated", float, "edge of the stump on its sample, H"),
    Column("edge", float, "edge on all examples of the search, G"),
    Column("alpha", float, "coefficient of the base classifier of the round"),
    Column("log10_loss", float, "log10 of the exponential loss after the round"),
    Column("looks_search", int, "looks spent on searching"),
    Column("looks_modelling", int, "looks spent on modelling"),
    Column(
        "looks_finish",
        int,
        "examples read to finish the stump: all of the search; not charged to the budget",
    ),
    Column("values_computed", int, "feature values that a lazy bank computed"),
    Column(
        "cost",
        float,
        "nominal microseconds of the search with its draws and finish, by constants "
        "(`boostsample.planning.costs`), the same on all machines",
    ),
    Column("seconds", float, "duration of the round, shared evenly by its searches"),
    Column("stopped", str, "why training ended in this round; empty if it goes on"),
)

TERM_COLUMN = Column(
    "term",
    int,
    "last column, of products and trees only: place of the stump among the terms of the round, "
    "from 0, of the first one with the cut of a level; -1 if the model does not use it",
)
"""The column that follows the notes if rounds have several searches."""

SHARD_COLUMNS = (
    Column("bytes", int, "over shards only: bytes sent and received in the round, of all shards"),
    Column("messages", int, "over shards only: messages to shards in the round, each answered"),
)
"""The last columns of rounds over shards, the same in all searches of a round."""

VALIDATION_COLUMN = Column(
    "validation",
    float,
    "classifier with rows left out only: `eval_metric` of these rows after the round; NaN if it "
    "was not scored. `eval_set_0`, ... follow for the sets that `fit` was given",
)
"""The last column of the classifier's history with early stopping."""

MEMBER_COLUMN = Column(
    "member",
    int,
    "classifier whose score is the mean of several models only: which of them the search is of, "
    "from 0",
)
"""The column that follows those of the held-out sets."""

_LATER_COLUMNS = (TERM_COLUMN, *SHARD_COLUMNS, VALIDATION_COLUMN, MEMBER_COLUMN)
_ORDER = tuple(column.name for column in HISTORY_COLUMNS)
#: Names that notes must not use.
HISTORY_NAMES = frozenset(column.name for column in (*HISTORY_COLUMNS, *_LATER_COLUMNS))


def history_row(notes: dict[str, Any], **entries: Any) -> dict[str, Any]:
    """One row: an entry for each of `HISTORY_COLUMNS`, in their order, and then the notes."""
    assert tuple(entries) == _ORDER, entries
    entries.update(notes)
    return entries


def note_columns(
    notes: Mapping[str, Any], longest: int, earlier: Mapping[str, Any]
) -> dict[str, Any]:
    """The columns of notes as plain scalars; of a vector, `longest` at most, name_0, name_1, ...

    Those of earlier notes come first.
    """
    columns = dict(earlier)
    for name, value in notes.items():
        numbers = _flat(name, value, longest)
        if not (HISTORY_NAMES.isdisjoint(numbers) and columns.keys().isdisjoint(numbers)):
            key = next(key for key in numbers if key in HISTORY_NAMES or key in columns)
            owner = "the loop" if key in HISTORY_NAMES else "another note"
            raise SettingError(
                f"a note must not be named {key!r}, a column of the history that {owner} writes; "
                "choose another name"
            )
        columns.update(numbers)
    return columns


def _flat(name: str, value: Any, longest: int) -> dict[str, Any]:
    if value is None or type(value) is float or (type(value) is int and abs(value) < 2**63):
        return {name: value}  # most notes: saves 1 us each
    array = np.asarray(value)
    if array.ndim > 1 or array.size > longest or array.dtype.kind not in "biufUS":
        raise SettingError(
            f"in the history, the note {name!r} must be a scalar or a vector of at most {longest} "
            f"numbers, got shape {array.shape} of {array.dtype}; note a summary of it"
        )
    if array.ndim == 0:
        return {name: array.item()}
    return dict(zip(_vector_columns(name, array.size), array.tolist(), strict=True))


@functools.lru_cache(maxsize=256)
def _vector_columns(name: str, n: int) -> tuple[str, ...]:
    return tuple(f"{name}_{i}" for i in range(n))


def markdown_table(
    columns: Sequence[Column] = (*HISTORY_COLUMNS, *_LATER_COLUMNS),
) -> str:
    """The columns as a Markdown table, as in `docs/columns.md`."""
    rows = [f"| `{name}` | {kind.__name__} | {text} |" for name, kind, text in columns]
    return "\n".join(["| column | type | meaning |", "| --- | --- | --- |", *rows])
