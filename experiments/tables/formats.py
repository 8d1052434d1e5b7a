"""Tables of results as plain text, terminal text, Markdown, LaTeX, CSV and HTML.

Text, Markdown and LaTeX show the entries, mark the best and those not significantly different, and
list the notes below. Text wider than the terminal is cut between columns into several tables. HTML
leaves the notes to the page. CSV is for machines: one line an entry, all digits.
"""

from __future__ import annotations

import csv
import html
import io
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from boostsample.errors import SettingError, printable, unknown
from boostsample.experiments.tables.latex import to_latex
from boostsample.experiments.tables.score_tables import BEST, TIED, Score, ScoreTable
from boostsample.experiments.tables.tables import Table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_GAP = "  "
_FORMULA = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"  # the last four are wide forms of the first
_MARKS = {BEST: "!", TIED: "=", "": " "}
_BEST_ENTRY = re.compile(r"\S+(?: \([^()]*\))?!(?=\s|$)")


def to_text(table: Table, width: int | None = None) -> str:
    """Plain text with aligned columns: names to the left, numbers to the right."""
    return "\n\n".join(map(_plain, _parts(table, width)))


def _plain(table: Table) -> str:
    sizes = _sizes(table)
    lines = [
        _GAP.join(
            entry.ljust(size) if at == 0 and not _counts(table) else entry.rjust(size)
            for at, (entry, size) in enumerate(zip(row, sizes, strict=True))
        ).rstrip()
        for row in (table.header, tuple("-" * size for size in sizes), *table.rows)
    ]
    return "\n".join([table.title, *lines])


def to_rich(table: Table, width: int | None = None) -> list[RenderableType]:
    """Titles and tables for a terminal of that width."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    made: list[RenderableType] = []
    for part in _parts(table, width):
        rich = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        for at, name in enumerate(part.header):
            left = at == 0 and not _counts(part)
            rich.add_column(Text(name), justify="left" if left else "right", no_wrap=True)
        for row in part.rows:
            rich.add_row(*map(Text, row))
        made += [Text(part.title, style="bold"), rich, Text()]
    return made


def _parts(table: Table, width: int | None) -> list[Table]:
    """The printable table, cut between columns if it is wider than `width`."""
    table = Table(
        printable(table.title),
        tuple(map(printable, table.header)),
        tuple(tuple(map(printable, row)) for row in table.rows),
    )
    sizes = _sizes(table)
    parts: list[list[int]] = [[]]
    used = sizes[0]
    for at in range(1, len(sizes)):
        if width is not None and parts[-1] and used + len(_GAP) + sizes[at] > width:
            parts.append([])
            used = sizes[0]
        parts[-1].append(at)
        used += sizes[at] + len(_GAP)
    return [
        Table(
            table.title if number == 0 else f"{table.title} (continued)",
            tuple(table.header[at] for at in (0, *part)),
            tuple(tuple(row[at] for at in (0, *part)) for row in table.rows),
        )
        for number, part in enumerate(parts)
    ]


def _sizes(table: Table) -> list[int]:
    """The width of each column."""
    return [max(map(len, column)) for column in zip(table.header, *table.rows, strict=True)]


def _counts(table: Table) -> bool:
    """Whether numbers name the rows; these are aligned to the right."""
    return all(row[0].replace(",", "").isdecimal() for row in table.rows)


def to_plain_text(table: ScoreTable, width: int | None = None) -> str:
    """Plain text; ``!`` marks the best entries, ``=`` those not significantly different.

    A table wider than `width` is cut between columns.
    """
    return "\n".join([to_text(_with_marks(table), width), "", *_lines_below(table)]).rstrip()


def to_terminal(table: ScoreTable, width: int) -> Text:
    """The same as `to_plain_text`, with the title and the best entries in bold."""
    from rich.text import Text

    text = Text(to_text(_with_marks(table), width))
    text.stylize("bold", 0, len(printable(table.title)))
    text.highlight_regex(_BEST_ENTRY, "bold")
    return text.append("\n".join(["\n", *_lines_below(table)]).rstrip())


def _with_marks(table: ScoreTable) -> Table:
    if not table.marked:
        return table
    return Table(
        table.title,
        (table.header[0], *(f"{name} " for name in table.header[1:])),
        tuple(
            (row[0], *(text + _MARKS[flag] for text, flag in zip(row[1:], flags[1:], strict=True)))
            for row, flags in zip(table.rows, table.flags, strict=True)
        ),
    )


def _lines_below(table: ScoreTable) -> list[str]:
    legend = table.legend(f"{_MARKS[BEST]} ", f"{_MARKS[TIED]} ")
    return [*legend, *(f"note: {printable(note)}" for note in table.notes)]


def to_markdown(table: ScoreTable) -> str:
    """A table in GitHub's Markdown; best entries bold, ``=`` marks those not different."""

    def entry(text: str, flag: str) -> str:
        shown = _escaped_markdown(text)
        return f"**{shown}**" if flag == BEST else shown + _MARKS[flag].strip()

    lines = [
        [_escaped_markdown(name) for name in table.header],
        [_left_or_right(table, "---", "---:"), *("---:" for _ in table.header[1:])],
        *(list(map(entry, *pair)) for pair in zip(table.rows, table.flags, strict=True)),
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


def _left_or_right(table: Table, left: str, right: str) -> str:
    """The alignment of the first column: names to the left, numbers to the right."""
    return left if table.header[0] == "strategy" else right


def _csv_number(value: float) -> str:
    """All digits; whole numbers without a point, nothing for NaN."""
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


_CSV: Mapping[str, Callable[[ScoreTable, Score], str]] = {
    "data": lambda table, score: table.data,
    "metric": lambda table, score: table.metric,
    "axis": lambda table, score: table.axis,
    "level": lambda table, score: _csv_number(score.level),
    "strategy": lambda table, score: score.strategy,
    "n": lambda table, score: str(sum(not math.isnan(value) for value in score.values)),
    "mean": lambda table, score: _csv_number(score.mean),
    "std": lambda table, score: _csv_number(score.std),
    "best": lambda table, score: str(int(score.flag == BEST)),
    "tied": lambda table, score: str(int(score.flag == TIED)),
    "p_value": lambda table, score: _csv_number(score.p_value),
}
CSV_COLUMNS = tuple(_CSV)
"""``n`` counts the repetitions with a value; ``mean`` is empty if one has none; ``best`` and
``tied`` are 0 or 1; ``p_value`` includes Holm's correction and is empty if not tested."""


def to_csv(tables: Sequence[ScoreTable]) -> str:
    """All entries of several tables as one CSV text with `CSV_COLUMNS`, one line an entry."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for table in tables:
        for score in table.scores:
            writer.writerow([guarded_text(field(table, score)) for field in _CSV.values()])
    return stream.getvalue().rstrip("\n")


def to_html(table: ScoreTable) -> str:
    """A ``<table>`` with the title as its caption, without the notes.

    Marked entries have the class ``best`` or ``tied``; best ones are also ``<strong>``, the others
    end in ``=``, so that marks do not depend on colours.
    """

    def entry(text: str, flag: str) -> str:
        shown = html.escape(text)
        if not flag:
            return f"<td>{shown}</td>"
        shown = f"<strong>{shown}</strong>" if flag == BEST else f"{shown}{_MARKS[TIED]}"
        return f'<td class="{flag}">{shown}</td>'

    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in table.header)
    body = [
        f'<tr><th scope="row">{html.escape(row[0])}</th>'
        + "".join(map(entry, row[1:], flags[1:]))
        + "</tr>"
        for row, flags in zip(table.rows, table.flags, strict=True)
    ]
    return "\n".join(
        [
            '<table class="scores">',
            f"<caption>{html.escape(table.title)}</caption>",
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *body,
            "</tbody>",
            "</table>",
        ]
    )


class Format(NamedTuple):
    """A format: the ending of its files, and a function that renders tables as text."""

    ending: str
    render: Callable[[Sequence[ScoreTable]], str]


def one_by_one(render: Callable[[ScoreTable], str]) -> Callable[[Sequence[ScoreTable]], str]:
    """A function that renders tables one after the other, with an empty line between."""
    return lambda tables: "\n\n".join(map(render, tables))


FORMATS: Mapping[str, Format] = {
    "text": Format(".txt", one_by_one(to_plain_text)),
    "markdown": Format(".md", one_by_one(to_markdown)),
    "latex": Format(".tex", one_by_one(to_latex)),
    "csv": Format(".csv", to_csv),
}
"""The formats of ``boostsample table``, by name."""


def chosen_format(
    name: str | None, file: str | None, known: Collection[str] = tuple(FORMATS)
) -> str:
    """One of the `known` formats, by default that of the ending of `file`, of neither text."""
    endings = {FORMATS[one].ending: one for one in known}
    ending = ".txt" if file is None else Path(file).suffix.lower()
    if not name and ending not in endings:
        raise SettingError(
            f"the file of tables must end in one of {', '.join(endings)}, got '{file}'"
        )
    name = name or endings[ending]
    if name not in known:
        raise unknown("format", name, known)
    return name
