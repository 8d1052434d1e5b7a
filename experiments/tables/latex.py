r"""LaTeX tables that fit a text width: booktabs, aligned numbers, one unit, notes once below.

A table wider than the text is cut between columns into panels of one float. Widths are those of
Computer Modern at 10 pt: a document in 12 pt needs a width of 10/12 of its text. Numbers are
aligned by their decimals; the best mean of a row is bold, those not told apart are underlined.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from boostsample.errors import SettingError, printable
from boostsample.experiments.metrics import METRICS
from boostsample.experiments.tables.tables import BEST, TIED, Score, ScoreTable, fixed_decimals

TEXT_WIDTH = 345.0
"""Default width in pt: the text of the class article at 10 pt."""
_POINTS = {"pt": 1.0, "in": 72.27, "cm": 72.27 / 2.54, "mm": 72.27 / 25.4}
_GAP = 12.0  # between two columns: twice \tabcolsep
_BOLD = 1.16  # bold digits are wider by this factor
_CHARACTERS = {
    280: "il.,;:!'`",
    310: "fj_",
    340: "- ",
    400: "rstI()[]",
    450: "cez",
    510: 'ago?*/"0123456789',
    560: "bdhkqvxynpuJS",
    780: "wABCDEFHKLNOPQRTUVXYZ=+&~^<>|",
    840: "mG%#$",
}
_WIDTHS = {character: width / 100 for width, group in _CHARACTERS.items() for character in group}
_WIDEST = 10.3  # of W, and of all others
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


def parse_width(text: str) -> float:
    """A length in pt; SettingError unless it is a positive number with the unit pt, in, cm or mm.

    >>> parse_width("240pt"), round(parse_width("3.5in"))
    (240.0, 253)
    """
    match = re.fullmatch(r"([0-9]*\.?[0-9]+) ?(pt|in|cm|mm)", text.strip())
    if match is None or not float(match[1]):
        raise SettingError(
            f"--width must be a length in pt, in, cm or mm, as in 345pt or 3.5in, got {text!r}"
        )
    return float(match[1]) * _POINTS[match[2]]


def latex_width(text: str) -> float:
    """Width of a text in Computer Modern at 10 pt, in pt; never less than it is.

    >>> round(latex_width("ucb"), 1)
    15.7
    """
    return sum(_WIDTHS.get(character, _WIDEST) for character in text)


def to_latex(table: ScoreTable, width: float = TEXT_WIDTH) -> str:
    r"""A floating table, no wider than `width` in pt.

    Needs the package booktabs. Characters beyond ASCII are kept, for engines that read UTF-8.
    SettingError if the row names and one column are wider than `width`.
    """
    scale, unit = _unit([score.mean for score in table.scores], table.metric)
    names = [row[0] for row in table.rows]
    levels, level_unit = _level_texts(table) if table.by_level else (names, "")
    axis = f"{table.unit}{level_unit}"
    if is_turned := table.across == "column":
        heads = [[name.removesuffix(f" {table.unit}")] for name in table.header[1:]]
        heads = [[level] for level in levels] if table.by_level else heads
        corner, span = "", axis
    else:
        heads = [re.split(r"(?<=.)(?=:)", name) for name in table.header[1:]]
        names, corner, span = levels, axis or table.header[0], ""
    columns = table.columns
    entries = [_entries(column, scale, METRICS[table.metric].decimals) for column in columns]
    sizes = [
        max(_BOLD * max(latex_width(plain) for plain, _ in column), *map(latex_width, head))
        for head, column in zip(heads, entries, strict=True)
    ]
    first = max(map(latex_width, [corner, *names]))
    for name, size in zip(table.header[1:], sizes, strict=True):
        if first + _GAP + size > width:
            raise SettingError(
                f"column {name!r} and the names of the rows need {first + _GAP + size:.0f} pt, "
                f"more than the width of {width:.0f} pt; give more --width, or shorter names by "
                "--rename"
            )
    lines = []
    for part in column_parts(first, sizes, _GAP, width):
        head = _head([heads[at] for at in part], corner, span)
        rows = [
            " & ".join([escaped_latex(name), *(entries[at][number][1] for at in part)]) + r" \\"
            for number, name in enumerate(names)
        ]
        first_align = "r" if table.by_level and not is_turned else "l"
        align = f"@{{}}{first_align}{'r' * len(part)}@{{}}"
        tabular = [*head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"]
        lines += [r"\par\medskip", rf"\begin{{tabular}}{{{align}}}", r"\toprule", *tabular]
    caption = escaped_latex(table.title).replace("log10", r"$\log_{10}$")
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering\sloppy",
            rf"\caption{{{caption}{unit}}}",
            *lines[1:],
            *_below([*table.legend("Bold: ", "underlined: "), *table.notes]),
            r"\end{table}",
        ]
    )


def _unit(values: Sequence[float], metric: str) -> tuple[float, str]:
    unit = {"looks": "looks", "values_computed": "values"}.get(metric)
    if unit is None and metric != "seconds":
        return 1.0, ""
    power = _power(values)
    short = {0: "s", -3: "ms", -6: r"$\mu$s"}
    if metric == "seconds":
        return 10.0**-power, f", in {short.get(power, f'$10^{{{power}}}$ s')}"
    return 10.0**-power, f", in $10^{{{power}}}$ {unit}" if power else ""


def _power(values: Sequence[float]) -> int:
    """The largest multiple of 3 such that 10 to its power is not above any positive value."""
    least = min((value for value in values if 0 < value < math.inf), default=1.0)
    return 3 * math.floor(math.log10(least) / 3 + 1e-12)


def _level_texts(table: ScoreTable) -> tuple[list[str], str]:
    levels = list(dict.fromkeys(score.level for score in table.scores))
    if table.axis == "stumps":
        return [f"{level:,.0f}" for level in levels], ""
    power = _power(levels)
    scaled = [level / 10.0**power for level in levels]
    exact = (
        digits
        for digits in range(9)
        if all(math.isclose(round(level, digits), level, rel_tol=1e-9) for level in scaled)
    )
    digits = next(exact, 9)
    return [f"{level:,.{digits}f}" for level in scaled], f" (10^{power})" if power else ""


def _entries(column: Sequence[Score], scale: float, decimals: int) -> list[tuple[str, str]]:
    """The entries of a column: what they look like, to measure, and LaTeX.

    Standard deviations are filled up on the left to the same width, so that means end in one line.
    """
    spreads = [
        "" if math.isnan(score.std) else fixed_decimals(score.std * scale, decimals)
        for score in column
    ]
    widest = max(spreads, key=len)
    entries = []
    for score, spread in zip(column, spreads, strict=True):
        missing = math.isnan(score.mean)
        mean = "-" if missing else fixed_decimals(score.mean * scale, decimals)
        shown = re.sub("^-(?=.*[0-9])", "$-$", mean)
        shown = {BEST: rf"\textbf{{{shown}}}", TIED: rf"\underline{{{shown}}}"}.get(
            score.flag, shown
        )
        filled = widest[: len(widest) - len(spread)]
        if not widest:
            entries.append((mean, shown))
        elif missing or not spread:
            entries.append((f"{mean} ({widest})", rf"{shown}\phantom{{ ({widest})}}"))
        else:
            pad = rf"\phantom{{{filled}}}" if filled else ""
            entries.append((f"{mean} ({widest})", f"{shown} {pad}({spread})"))
    return [(plain.replace("-", "+"), latex) for plain, latex in entries]  # a minus is as wide


def column_parts(first: float, sizes: Sequence[float], gap: float, width: float) -> list[list[int]]:
    """Positions of columns, cut into groups that fit a width beside a first column.

    >>> column_parts(5, [10, 10, 10], 1, 30), column_parts(5, [40], 1, 30)
    ([[0, 1], [2]], [[0]])
    """
    parts: list[list[int]] = [[]]
    used = first
    for at, size in enumerate(sizes):
        if parts[-1] and used + gap + size > width:
            parts.append([])
            used = first
        parts[-1].append(at)
        used += gap + size
    return parts


def _head(heads: Sequence[Sequence[str]], corner: str, span: str) -> list[str]:
    height = max(map(len, heads))
    filled = [[""] * (height - len(head)) + list(head) for head in heads]
    corners = [""] * (height - 1) + [_mathed(corner)]
    lines = [
        " & ".join([corner_text, *(escaped_latex(head[at]) for head in filled)]) + r" \\"
        for at, corner_text in enumerate(corners)
    ]
    if not span:
        return lines
    n = len(heads)
    above = rf" & \multicolumn{{{n}}}{{r@{{}}}}{{{_mathed(span)}}} \\"
    return [above, rf"\cmidrule(l){{2-{n + 1}}}", *lines]


def _mathed(text: str) -> str:
    return re.sub(r"10\\textasciicircum\{\}(-?[0-9]+)", r"$10^{\1}$", escaped_latex(text))


def _below(notes: Sequence[str]) -> list[str]:
    if not notes:
        return []
    return [
        r"\par\smallskip",
        r"\begin{minipage}{\linewidth}\footnotesize\raggedright",
        *(
            re.sub(r"(?<=[:=])(?=\S)", r"\\allowbreak{}", escaped_latex(note)) + r"\par"
            for note in notes
        ),
        r"\end{minipage}",
    ]


def escaped_latex(text: str) -> str:
    r"""Text with LaTeX's special characters escaped; also safe at the start of a row.

    >>> print(escaped_latex("ucb*:a_b=1|2"))
    ucb{*}:a\_b=1\textbar{}2
    """
    # LaTeX reads a star or a bracket after the end of a row as an argument of that end.
    text = re.sub(r"[*\[\]]", r"{\g<0>}", "".join(_LATEX.get(c, c) for c in printable(text)))
    return re.sub(r"([-'])(?=\1)", r"\1{}", text)  # LaTeX joins two of these into one sign
