"""Tables in notebooks: as HTML, with their notes below."""

from __future__ import annotations

import html
from collections.abc import Sequence

_SHOWN = {"best": "<strong>{}</strong>", "tied": "{}="}


def notebook_html(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    flags: Sequence[Sequence[str]] = (),
    notes: Sequence[str] = (),
) -> str:
    """A ``<table>`` with its title, and a ``<p>`` for each note.

    `flags` has ``best``, ``tied`` or ``""`` for each entry of `rows`.
    """
    marks = flags or [[""] * len(row) for row in rows]
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in header)
    body = [
        "".join(
            f"<td>{_SHOWN.get(flag, '{}').format(html.escape(entry))}</td>"
            for entry, flag in zip(row, mine, strict=True)
        )
        for row, mine in zip(rows, marks, strict=True)
    ]
    return "\n".join(
        [
            f"<table><caption>{html.escape(title)}</caption>",
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *(f"<tr>{row}</tr>" for row in body),
            "</tbody></table>",
            *(f"<p>{html.escape(note)}</p>" for note in notes),
        ]
    )
