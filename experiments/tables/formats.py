"""Tables as plain text, terminal text, Markdown and CSV, and the formats of files of tables.

Text and Markdown show the entries, mark the best and those not significantly different, and list
the notes below. Text wider than the terminal is cut between columns into several tables. CSV is
for machines: one line an entry, all digits.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from boostsample.errors import printable
from boostsample.experiments.tables.latex import column_parts, to_latex
from boostsample.experiments.tables.tables import BEST, TIED, ScoreTable, Table

if TYPE_CHECKING:
    from rich.text import Text

_GAP = "  "
_FORMULA = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"  # the last four are wide forms of the first
_MARKS = {BEST: "!", TIED: "=", "": " "}
_BEST_ENTRY = re.compile(r"\S+(?: \([^()]*\))?!(?=\s|$)")


def to_text(table: Table, width: int | None = None) -> str:
    """Plain text with aligned columns: names to the left, numbers to the right.

    ``!`` marks the best entries, ``=`` those not significantly different. A table wider than
    `width` is cut between columns.
    """
    return "\n".join([_aligned(table, width), "", *_lines_below(table)]).rstrip()


def to_terminal(table: Table, width: int) -> Text:
    """The same as `to_text`, with the title and the best entries in bold."""
    from rich.text import Text

    text = Text(_aligned(table, width))
    text.stylize("bold", 0, len(printable(table.title)))
    if table.marked:
        text.highlight_regex(_BEST_ENTRY, "bold")
    return text.append("\n".join(["\n", *_lines_below(table)]).rstrip())


def _aligned(table: Table, width: int | None) -> str:
    marks = _MARKS if table.marked else dict.fromkeys(_MARKS, "")
    header = [table.header[0], *(f"{name}{marks['']}" for name in table.header[1:])]
    rows = [
        [name, *(f"{entry}{marks[flag]}" for entry, flag in entries)]
        for (name, _), *entries in table.flagged_rows()
    ]
    grid = [list(map(printable, row)) for row in (header, *rows)]
    sizes = [max(map(len, column)) for column in zip(*grid, strict=True)]
    grid.insert(1, ["-" * size for size in sizes])
    # Numbers that name the rows are aligned to the right.
    counts = all(row[0].replace(",", "").isdecimal() for row in table.rows)
    title = printable(table.title)
    parts: list[str] = []
    for part in column_parts(sizes[0], sizes[1:], len(_GAP), math.inf if width is None else width):
        lines = [f"{title} (continued)" if parts else title]
        for row in grid:
            name = row[0].rjust(sizes[0]) if counts else row[0].ljust(sizes[0])
            entries = (row[1 + at].rjust(sizes[1 + at]) for at in part)
            lines.append(_GAP.join([name, *entries]).rstrip())
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _lines_below(table: Table) -> list[str]:
    legend = table.legend(f"{_MARKS[BEST]} ", f"{_MARKS[TIED]} ")
    return [*legend, *(f"note: {printable(note)}" for note in table.notes)]


def to_markdown(table: Table) -> str:
    """A table in GitHub's Markdown; best entries bold, ``=`` marks those not different."""

    def entry(text: str, flag: str) -> str:
        shown = _escaped_markdown(text)
        return f"**{shown}**" if flag == BEST else shown + _MARKS[flag].strip()

    names = "---" if table.header[0] == "strategy" else "---:"
    lines = [
        [_escaped_markdown(name) for name in table.header],
        [names, *("---:" for _ in table.header[1:])],
        *([entry(*pair) for pair in row] for row in table.flagged_rows()),
    ]
    below = [*table.legend("Bold: ", f"{_MARKS[TIED]}: "), *table.notes]
    return "\n".join(
        [
            _escaped_markdown(table.title),
            "",
            *(f"| {' | '.join(line)} |" for line in lines),
            "",
            *(f"- {_escaped_markdown(note)}" for note in below),
        ]
    ).rstrip()


def _escaped_markdown(text: str) -> str:
    r"""Text with Markdown's special characters escaped.

    >>> print(_escaped_markdown("ucb*:a_b=1|2"))
    ucb\*:a\_b=1\|2
    """
    return re.sub(r"([\\`*_{}\[\]<>#|~$&])", r"\\\1", printable(text))


CSV_COLUMNS = (
    *("data", "metric", "axis", "level", "strategy"),
    *("n", "mean", "std", "best", "tied", "p_value"),
)
"""``n`` counts the repetitions with a value; ``mean`` is empty if one has none; ``best`` and
``tied`` are 0 or 1; ``p_value`` includes Holm's correction and is empty if not tested."""


def to_csv(tables: Sequence[ScoreTable]) -> str:
    """All entries of several tables as one CSV text with `CSV_COLUMNS`, one line an entry."""
    return csv_text(
        CSV_COLUMNS,
        (
            (
                *(table.data, table.metric, table.axis, _csv_number(score.level), score.strategy),
                sum(not math.isnan(value) for value in score.values),
                *map(_csv_number, (score.mean, score.std)),
                *(int(score.flag == BEST), int(score.flag == TIED), _csv_number(score.p_value)),
            )
            for table in tables
            for score in table.scores
            if score.strategy
        ),
    )


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """CSV without a line end after the last row; texts are those of `guarded_text`."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([guarded_text(field) if isinstance(field, str) else field for field in row])
    return stream.getvalue().rstrip("\n")


def _csv_number(value: float) -> str:
    if math.isnan(value):
        return ""
    return str(int(value)) if math.isfinite(value) and value % 1 == 0 else repr(float(value))


def guarded_text(text: str) -> str:
    """A text for a cell of a spreadsheet, with ' before what it would take for a formula.

    Numbers and single characters are none. A text that begins so already gets another ', so that
    different texts stay different.

    >>> [guarded_text(text) for text in ("=1+1", "'=1+1", "-0.5", "-", "@a", "ucb")]
    ["'=1+1", "''=1+1", '-0.5', '-', "'@a", 'ucb']
    """
    formula = text.lstrip("'")
    if len(text) < 2 or not formula or formula[0] not in _FORMULA:
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


class Format(NamedTuple):
    """A format: the ending of its files, and a function that renders tables as text."""

    ending: str
    render: Callable[[Sequence[ScoreTable]], str]


def one_by_one(render: Callable[[ScoreTable], str]) -> Callable[[Sequence[ScoreTable]], str]:
    """A function that renders tables one after the other, with an empty line between."""
    return lambda tables: "\n\n".join(map(render, tables))


FORMATS: Mapping[str, Format] = {
    "text": Format(".txt", one_by_one(to_text)),
    "markdown": Format(".md", one_by_one(to_markdown)),
    "latex": Format(".tex", one_by_one(to_latex)),
    "csv": Format(".csv", to_csv),
}
"""The formats of ``boostsample table``, by name."""
