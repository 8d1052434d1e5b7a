"""Tables in notebooks: as HTML, with their notes below."""

from __future__ import annotations

import html

from boostsample.experiments.tables.formats import notes_below, to_html
from boostsample.experiments.tables.score_tables import ScoreTable
from boostsample.experiments.tables.tables import Table

__all__ = ["notebook_html"]


def notebook_html(table: Table) -> str:
    """A ``<table>``, and a ``<p>`` for each line below it."""
    if isinstance(table, ScoreTable):
        below = [f"<p>{html.escape(line)}</p>" for line in notes_below(table)]
        return "\n".join([to_html(table), *below])
    flags = tuple(("",) * len(row) for row in table.rows)
    return to_html(ScoreTable(table.title, table.header, table.rows, flags))
