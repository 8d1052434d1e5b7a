"""Tables of results as plain text, on a terminal, and as Markdown, LaTeX, CSV and HTML.

Text, Markdown, LaTeX and HTML show the cells, mark the best and those not told apart from it, and
have the notes below (HTML leaves these to the page). CSV is for machines: one line a cell, all
digits.
"""

from __future__ import annotations

import csv
import html
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from boostsample.experiments.tables.results import BEST, TIED, Score, ScoreTable
from boostsample.experiments.tables.tables import Table, to_text

if TYPE_CHECKING:
    from rich.text import Text

__all__ = [
    "CSV_COLUMNS",
    "FORMATS",
    "Format",
    "to_csv",
    "to_html",
    "to_latex",
    "to_markdown",
    "to_plain",
    "to_terminal",
]

_MARKS = {BEST: "!", TIED: "=", "": " "}
_BEST_CELL = re.compile(r"\S+(?: \([^()]*\))?!(?=\s|$)")

CSV_COLUMNS = (
    "data",
    "metric",
    "axis",
    "level",
    "strategy",
    "n",
    "mean",
    "std",
    "best",
    "tied",
    "p_value",
)
"""``n`` counts the repetitions that have a value, ``mean`` is empty where one has none; ``best``
and ``tied`` are 0 or 1, ``p_value`` is corrected, and empty where nothing was tested."""


# ---------------------------------------------------------------------------------- plain text


def to_plain(table: ScoreTable, width: int | None = None) -> str:
    """Plain text; ``!`` behind the best cells, ``=`` behind those not told apart from it.

    Parameters
    ----------
    table : ScoreTable
    width : int, optional
        A wider table is cut between columns.
    """
    return "\n".join([to_text(_with_marks(table), width), "", *_lines_below(table)]).rstrip()


def to_terminal(table: ScoreTable, width: int) -> Text:
    """As `to_plain`, the title and the best cells in bold."""
    from rich.text import Text

    text = Text(to_text(_with_marks(table), width))
    text.stylize("bold", 0, len(table.title))
    text.highlight_regex(_BEST_CELL, "bold")
    return text.append("\n".join(["\n", *_lines_below(table)]).rstrip())


def _with_marks(table: ScoreTable) -> Table:
    if not table.marked:
        return table
    return Table(
        table.title,
        (table.header[0], *(f"{name} " for name in table.header[1:])),
        tuple(
            (row[0], *(c + _MARKS[flag] for c, flag in zip(row[1:], flags[1:], strict=True)))
            for row, flags in zip(table.rows, table.flags, strict=True)
        ),
    )


def _lines_below(table: ScoreTable) -> list[str]:
    legend = _legend(table, f"{_MARKS[BEST]} ", f"{_MARKS[TIED]} ")
    return [*legend, *(f"note: {note}" for note in table.notes)]


def _legend(table: ScoreTable, best: str, tied: str) -> list[str]:
    """What the marks of a format mean; nothing where there are none."""
    if not table.marked:
        return []
    return [f"{best}best of its {table.across}; {tied}not told apart from the best"]


# ------------------------------------------------------------------------------------ Markdown


def to_markdown(table: ScoreTable) -> str:
    """A table of GitHub's Markdown: best cells bold, ``=`` behind those not told apart from it."""

    def cell(text: str, flag: str) -> str:
        shown = _escaped_markdown(text)
        return f"**{shown}**" if flag == BEST else shown + _MARKS[flag].strip()

    lines = [
        [_escaped_markdown(name) for name in table.header],
        [_left_or_right(table, "---", "---:"), *("---:" for _ in table.header[1:])],
        *(list(map(cell, *pair)) for pair in zip(table.rows, table.flags, strict=True)),
    ]
    below = [*_legend(table, "Bold: ", f"{_MARKS[TIED]}: "), *table.notes]
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
    r"""Text as it is, whatever it means in Markdown.

    >>> print(_escaped_markdown("ucb*:a_b=1|2"))
    ucb\*:a\_b=1\|2
    """
    return re.sub(r"([\\`*_{}\[\]<>#|~$&])", r"\\\1", text)


def _left_or_right(table: Table, left: str, right: str) -> str:
    """Names stand to the left, numbers to the right."""
    return left if table.header[0] == "strategy" else right


# --------------------------------------------------------------------------------------- LaTeX

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}


def to_latex(table: ScoreTable) -> str:
    r"""A floating table of the package booktabs: best cells bold, those not told apart underlined.

    Names with characters beyond ASCII are left as they are, for engines that read UTF-8.
    """

    def cell(text: str, flag: str) -> str:
        shown = _escaped_latex(text)
        if text.startswith("-") and text != "-":
            shown = "$-$" + _escaped_latex(text[1:])
        return {BEST: rf"\textbf{{{shown}}}", TIED: rf"\underline{{{shown}}}", "": shown}[flag]

    rows = [
        " & ".join(map(cell, *pair)) + r" \\" for pair in zip(table.rows, table.flags, strict=True)
    ]
    below = [*_legend(table, "Bold: ", "underlined: "), *table.notes]
    notes = [
        r"\par\smallskip",
        r"\begin{minipage}{\linewidth}\footnotesize",
        *(_escaped_latex(note) + r"\par" for note in below),
        r"\end{minipage}",
    ]
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_escaped_latex(table.title)}}}",
            rf"\begin{{tabular}}{{{_left_or_right(table, 'l', 'r')}{'r' * len(table.header[1:])}}}",
            r"\toprule",
            " & ".join(map(_escaped_latex, table.header)) + r" \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            *(notes if below else ()),
            r"\end{table}",
        ]
    )


def _escaped_latex(text: str) -> str:
    r"""Text as it is, whatever it means in LaTeX; safe at the start of a row, too.

    >>> print(_escaped_latex("ucb*:a_b=1|2"))
    ucb{*}:a\_b=1\textbar{}2
    """
    # A star or a bracket behind the end of a row would be taken for its argument.
    text = re.sub(r"[*\[\]]", r"{\g<0>}", "".join(_LATEX.get(c, c) for c in text))
    return re.sub(r"([-'])(?=\1)", r"\1{}", text)  # two of these would be joined into one sign


# ----------------------------------------------------------------------------------------- CSV


def to_csv(tables: Sequence[ScoreTable]) -> str:
    """All cells of some tables in one file, a line a cell, with `CSV_COLUMNS`."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for table in tables:
        for score in table.scores:
            writer.writerow([table.data, table.metric, table.axis, *_csv_cells(score)])
    return stream.getvalue().rstrip("\n")


def _csv_cells(score: Score) -> list[str]:
    return [
        _csv_number(score.level),
        score.strategy,
        str(sum(not math.isnan(value) for value in score.values)),
        _csv_number(score.mean),
        _csv_number(score.std),
        str(int(score.flag == BEST)),
        str(int(score.flag == TIED)),
        _csv_number(score.p_value),
    ]


def _csv_number(value: float) -> str:
    """All digits; whole numbers without a point, nothing for NaN."""
    if math.isnan(value):
        return ""
    return str(int(value)) if math.isfinite(value) and value % 1 == 0 else repr(float(value))


# ---------------------------------------------------------------------------------------- HTML


def to_html(table: ScoreTable) -> str:
    """A ``<table>`` with the title as its caption; the notes are left to the page.

    Marked cells have the class ``best`` or ``tied``, and are marked without colours, too: best ones
    are ``<strong>``, ``=`` stands behind the others.
    """

    def cell(text: str, flag: str) -> str:
        shown = html.escape(text)
        if not flag:
            return f"<td>{shown}</td>"
        shown = f"<strong>{shown}</strong>" if flag == BEST else f"{shown}{_MARKS[TIED]}"
        return f'<td class="{flag}">{shown}</td>'

    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in table.header)
    body = [
        f'<tr><th scope="row">{html.escape(row[0])}</th>'
        + "".join(map(cell, row[1:], flags[1:]))
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


# ------------------------------------------------------------------------------------- all of it


@dataclass(frozen=True)
class Format:
    """A way to write tables.

    Attributes
    ----------
    ending : str
        Of its files.
    render : callable
        From tables to text without a line break at its end.
    """

    ending: str
    render: Callable[[Sequence[ScoreTable]], str]


def _one_by_one(render: Callable[[ScoreTable], str]) -> Callable[[Sequence[ScoreTable]], str]:
    return lambda tables: "\n\n".join(map(render, tables))


FORMATS: Mapping[str, Format] = {
    "text": Format(".txt", _one_by_one(to_plain)),
    "markdown": Format(".md", _one_by_one(to_markdown)),
    "latex": Format(".tex", _one_by_one(to_latex)),
    "csv": Format(".csv", to_csv),
}
"""The formats of ``boostsample table``, by name."""
