"""Formats: what a strict reader of each takes out of it is what was put in; widths of LaTeX."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest
from matplotlib.ft2font import FT2Font, LoadFlags
from rich.console import Console

from boostsample.errors import SettingError
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.tables.formats import (
    CSV_COLUMNS,
    FORMATS,
    to_csv,
    to_markdown,
    to_terminal,
    to_text,
)
from boostsample.experiments.tables.latex import latex_width, parse_width, to_latex
from boostsample.experiments.tables.score_tables import plain_table, result_table
from boostsample.experiments.tables.tables import ScoreTable, Table, mean_std
from tests.experiments import latex
from tests.experiments.fake_results import curve, results
from tests.paths import RESULTS, needs_results

NASTY = r"""<b>&amp;|a|*_x_*[y](z)`c`\d{e}$f$%g#h~i^j"k'l--m''n"""
SHIFTS = {"full": (0.0, 0.01, 0.02), NASTY: (0.02, 0.0, 0.02), "[poor": (1.0, 1.02, 1.01)}


@pytest.fixture
def table() -> ScoreTable:
    (found,) = result_table(
        [
            results(
                [
                    curve(name, r, shift=shift, data="a_b & c")
                    for name, shifts in SHIFTS.items()
                    for r, shift in enumerate(shifts)
                ]
            )
        ],
        "loss",
    )
    assert [row[1:] for row in found.flags] == [("best", "tied", "")] * 2
    return found


def test_plain_text(table: ScoreTable) -> None:
    lines = to_text(table).splitlines()
    assert lines[0] == table.title
    assert lines[3].split() == ["10", "-3.99", "(0.01)!", "-3.99", "(0.01)=", "-2.99", "(0.01)"]
    assert lines[6] == "! best of its row; = not told apart from the best"
    assert lines[7] == f"note: {table.notes[0]}"
    assert all(line == line.rstrip() for line in lines)
    assert to_text(table).isascii()
    # Marked or not, numbers stand below each other.
    assert lines[3].index(")!") == lines[4].index(")!")
    assert "best of its column" in to_text(table.transposed())


def test_tables_without_marks_have_no_legend(table: ScoreTable) -> None:
    (bare,) = result_table([results([curve("a", 0)])], "features")
    assert to_text(bare).splitlines()[2:] == ["------  ---", "    10   20", "   100  110"]
    assert "Bold" not in to_markdown(bare)
    assert "minipage" not in to_latex(bare)
    assert "class=" not in bare.to_html().split("<caption>")[1]


@pytest.mark.parametrize("width", [30, 60, 200])
def test_a_terminal_has_the_plain_text_with_the_best_in_bold(table: ScoreTable, width: int) -> None:
    text = to_terminal(table, width)
    assert text.plain == to_text(table, width)
    bold = [text.plain[s.start : s.end] for s in text.spans if s.style == "bold"]
    assert bold == [table.title, "-3.99 (0.01)!", "-4.99 (0.01)!"]
    stream = io.StringIO()
    Console(file=stream, width=width, force_terminal=True, highlight=False).print(text)
    assert "\x1b[1m-4.99 (0.01)!\x1b[0m" in stream.getvalue()


def markdown_cells(line: str) -> list[str]:
    """Cells of a line of a table as GitHub reads it: bars that are not escaped part them."""
    assert line.startswith("| ")
    assert line.endswith(" |")
    return [cell.strip() for cell in re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]]


def unescaped_markdown(text: str) -> str:
    bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", text)
    assert not re.search(r"[\\`*_\[\]<>#|~$&]", bare), bare
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)


def test_markdown(table: ScoreTable) -> None:
    lines = to_markdown(table).splitlines()
    assert unescaped_markdown(lines[0]) == table.title
    assert lines[1] == ""
    head, line, *rows = lines[2:6]
    assert tuple(map(unescaped_markdown, markdown_cells(head))) == table.header
    assert markdown_cells(line) == ["---:"] * 4
    assert markdown_cells(rows[1]) == ["100", "**-4.99 (0.01)**", "-4.99 (0.01)=", "-3.99 (0.01)"]
    assert lines[7] == "- Bold: best of its row; =: not told apart from the best"
    assert unescaped_markdown(lines[8]) == f"- {table.notes[0]}"
    assert markdown_cells(to_markdown(table.transposed()).splitlines()[3])[0] == "---"


LATEX_SIGNS = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\textasciigrave{}": "`",
    "{*}": "*",
    "{[}": "[",
    "{]}": "]",
    "-{}": "-",
    "'{}": "'",
    "$-$": "-",
    **{f"\\{sign}": sign for sign in "&%$#_{}"},
}
_LATEX_SIGN = re.compile("|".join(map(re.escape, LATEX_SIGNS)))


def unescaped_latex(text: str) -> str:
    """What LaTeX would print; any sign with a meaning that is not accounted for is an error."""
    text = re.sub(r"\\(?:textbf|underline)\{(\S*)\}", r"\1", text)
    bare = _LATEX_SIGN.sub("", text)
    assert not re.search(r"[\\&%$#_{}~^<>|`*\[\]]|--|''", bare), bare
    return _LATEX_SIGN.sub(lambda match: LATEX_SIGNS[match[0]], text)


def latex_environments(text: str) -> None:
    """Braces and environments are balanced; fails otherwise."""
    bare = re.sub(r"\\[{}]", "", text)
    depth = 0
    for sign in re.findall(r"[{}]", bare):
        depth += 1 if sign == "{" else -1
        assert depth >= 0
    assert depth == 0
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack


@pytest.mark.parametrize("across", ["row", "column"])
def test_latex(table: ScoreTable, across: str) -> None:
    table = table if across == "row" else table.transposed()
    text = to_latex(table, 500)
    latex_environments(text)
    caption = re.search(r"^\\caption\{(.*)\}$", text, re.MULTILINE)
    assert caption
    assert unescaped_latex(caption[1].replace(r"$\log_{10}$", "log10")) == table.title
    found = re.search(
        r"\\begin\{tabular\}\{@\{\}([lr]+)@\{\}\}\n"
        r"\\toprule\n(.*) \\\\\n\\midrule\n(.*)\\bottomrule\n",
        text,
        re.DOTALL,
    )
    assert found
    assert found[1] == ("r" if across == "row" else "l") + "r" * (len(table.header) - 1)
    head = found[2].splitlines()[-1].removesuffix(r" \\")
    names = ("", "10", "100") if across == "column" else table.header
    assert tuple(map(unescaped_latex, re.split(r"(?<!\\) & ", head))) == names
    lines = found[3].splitlines()
    assert all(line.endswith(r" \\") and line[0] not in "*[" for line in lines)
    cells = [re.split(r"(?<!\\) & ", line.removesuffix(r" \\")) for line in lines]
    assert tuple(tuple(map(unescaped_latex, row)) for row in cells) == table.rows
    commands = {"": "", r"\textbf": "best", r"\underline": "tied"}
    for row, flags in zip(cells, table.flags, strict=True):
        starts = [re.match(r"(?:\\(?:textbf|underline))?", cell) for cell in row[1:]]
        assert tuple(commands[start[0]] for start in starts if start) == flags[1:]
    (note,) = re.findall(r"^(the best is compared.*)\\par$", text, re.MULTILINE)
    assert unescaped_latex(note) == table.notes[0]


def test_csv(table: ScoreTable) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv([table, table]))))
    assert tuple(rows[0]) == CSV_COLUMNS
    assert rows[:6] == rows[6:]
    assert len(rows) == 2 * len(table.scores)
    for row, score in zip(rows, table.scores, strict=False):
        assert row["data"] == "a_b & c"
        assert (row["metric"], row["axis"]) == ("loss", "stumps")
        assert row["level"] == str(score.level)
        assert row["strategy"] == score.strategy
        assert row["n"] == "3"
        assert float(row["mean"]) == score.mean  # every digit
        assert float(row["std"]) == score.std
        assert row["best"] + row["tied"] == {"best": "10", "tied": "01", "": "00"}[score.flag]
        assert (row["p_value"] == "") == math.isnan(score.p_value)
        assert row["p_value"] == "" or float(row["p_value"]) == score.p_value


@pytest.mark.parametrize("across", ["row", "column"])
def test_html(table: ScoreTable, across: str) -> None:
    table = table if across == "row" else table.transposed()
    root = ElementTree.fromstring(table.to_html())
    assert root.findtext("caption") == table.title
    assert [(one.attrib, one.text) for one in root.findall("thead/tr/th")] == [
        ({"scope": "col"}, name) for name in table.header
    ]
    lines = root.findall("tbody/tr")
    for line, row, flags in zip(lines, table.rows, table.flags, strict=True):
        first, *others = line
        assert (first.tag, first.attrib, first.text) == ("th", {"scope": "row"}, row[0])
        for cell, flag, found in zip(row[1:], flags[1:], others, strict=True):
            text = "".join(found.itertext())
            assert (found.tag, text) == ("td", cell + ("=" if flag == "tied" else ""))
            assert found.attrib == ({"class": flag} if flag else {})
    assert table.to_html().count("<strong>") == 2


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_takes_several_tables(table: ScoreTable, name: str) -> None:
    assert FORMATS[name].ending.startswith(".")
    one, two = (FORMATS[name].render([table] * n) for n in (1, 2))
    assert not one.endswith("\n")
    assert two.count("4.9") == 2 * one.count("4.9") > 0


@pytest.mark.parametrize(
    ("values", "cell"),
    [
        ([-0.33, -0.35], "-0.34 (0.01)"),
        ([1.0, 2.0, 3.0], "2.00 (1.00)"),  # n - 1 under the sum
        ([-0.001, -0.001], "0.00 (0.00)"),
        ([], "n/a"),
        ([math.nan, 1.0], "nan (nan)"),
    ],
)
def test_cells(values: list[float], cell: str) -> None:
    assert mean_std(values) == cell


def test_a_plain_table_has_no_marks_and_no_name_of_the_data() -> None:
    variants = (("full", "", 0.0), ("laminating", "n_features=8", -0.1))
    runs = [
        curve(name, r, settings=settings, shift=shift + 0.02 * r)
        for name, settings, shift in variants
        for r in (0, 1)
    ]
    assert to_text(plain_table(results(runs), "loss")).splitlines() == [
        "log10 loss, mean (std) of 2 repetitions",
        "stumps          full  laminating:n_features=8",
        "------  ------------  -----------------------",
        "    10  -3.99 (0.01)             -4.09 (0.01)",
        "   100  -4.99 (0.01)             -5.09 (0.01)",
    ]
    with pytest.raises(SettingError, match=r"unknown metric 'los'.*known: loss, loss-area, error"):
        plain_table(results(runs), "los")


@pytest.mark.parametrize("width", [1, *range(20, 70)])
def test_wide_tables_are_cut_between_columns(width: int) -> None:
    table = Table(
        "title",
        ("name", *(f"column {k}" for k in range(6))),
        tuple((name, *(f"{name}{k}" for k in range(6))) for name in ("first", "second")),
    )
    text = to_text(table, width)
    for k in range(6):
        assert text.count(f"column {k}") == 1
        assert text.count(f"second{k}") == 1
    if width >= 20:
        lines = [line for line in text.splitlines() if not line.startswith("title")]
        assert max(map(len, lines)) <= width
    assert to_terminal(table, width).plain == text


def test_names_are_no_markup() -> None:
    names = ("[red]t[/x]", "[b]x", "[i]", "[/]")
    stream = io.StringIO()
    table = Table(names[0], ("a", names[1]), (names[2:],))
    Console(file=stream, width=80).print(to_terminal(table, 80))
    assert all(name in stream.getvalue() for name in names)


SMALL = str(RESULTS / "df11-mnist-noise")


def made(*names: str, cost: int = 1000) -> Results:
    return results([curve(name, r, shift=0.5 * r, cost=cost) for name in names for r in range(3)])


def only(*names: str, metric: str = "loss", axis: str = "stumps", cost: int = 1000) -> ScoreTable:
    (table,) = result_table([made(*names, cost=cost)], metric, axis)
    return table


def test_no_character_is_narrower_than_in_computer_modern() -> None:
    font = FT2Font(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "cmr10.ttf"))
    for code in range(33, 127):
        text = chr(code)
        if text in "\"'<>\\_`{|}~^*$-":  # other glyphs in that font, or none
            continue
        glyph = font.load_char(code, LoadFlags.NO_SCALE)
        assert latex_width(text) >= 10 * glyph.horiAdvance / font.units_per_EM - 0.01, text


def test_a_wide_table_is_cut_into_panels_with_its_notes_once() -> None:
    names = [f"strategy-{number}" for number in range(9)]
    table = only(*names)
    whole, cut = to_latex(table, 2000), to_latex(table, 240)
    assert whole.count(r"\begin{tabular}") == 1
    assert cut.count(r"\begin{tabular}") > 2
    for text in (whole, cut):
        assert text.count(r"\caption") == text.count("minipage}{") == text.count("{table}") // 2
        assert all(text.count(name) == 1 for name in names)
    rows = [line for line in cut.splitlines() if re.match(r"10+ &", line)]
    assert len(rows) == 2 * cut.count(r"\toprule")


def test_settings_in_names_have_lines_of_their_own() -> None:
    head = to_latex(only("full", "ucb:a=1:b_c=2")).partition(r"\midrule")[0].splitlines()[-3:]
    assert head == [" &  & ucb \\\\", " &  & :a=1 \\\\", "stumps & full & :b\\_c=2 \\\\"]


def test_a_column_that_cannot_fit_is_refused() -> None:
    with pytest.raises(SettingError, match=r"column 'a{70}' and the names .* shorter names by"):
        to_latex(only("a" * 70, "b"))


def test_standard_deviations_are_filled_up_to_one_width() -> None:
    text = to_latex(only("a", "b", metric="error"))
    assert r"(5.00)" in text
    wide = results([curve("a", r, shift=s * r) for s, r in ((9.0, 0), (9.0, 1))])
    wide.table.loc[wide.table["stumps"] == 10, "test_error"] = 3.0
    (table,) = result_table([wide], "error")
    assert r"3.00 \phantom{6}(0.00)" in to_latex(table)


def test_all_looks_of_a_table_have_one_unit() -> None:
    text = to_latex(only("a", metric="looks", cost=59_990))
    assert "in $10^{3}$ looks}" in text
    assert "10 & 599.90 (0.00)" in text
    assert "100 & 5,999.00 (0.00)" in text
    assert "e+0" not in text
    at = to_latex(only("a", axis="looks", cost=59_990))
    assert r"looks ($10^{3}$) & a \\" in at
    assert "\n599 & " in at
    assert "\n5,990 & " in at


@pytest.mark.parametrize("text", ["345", "0pt", "-3in", "3.5 inch", "wide", "nanpt"])
def test_widths_are_lengths(text: str) -> None:
    with pytest.raises(SettingError, match="--width must be a length in pt, in, cm or mm"):
        parse_width(text)


@needs_results
@pytest.mark.parametrize(("fault", "code"), [("", 0), ("Overfull \\hbox (9pt too wide)", 1)])
def test_the_check_fails_on_an_overfull_box(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fault: str,
    code: int,
) -> None:
    engine = tmp_path / "fake-latex"
    engine.write_text(f"#!/bin/sh\nprintf '%s\\n' '{fault}' > \"${{1%.tex}}.log\"\n", "utf-8")
    engine.chmod(0o755)
    monkeypatch.setattr(latex, "ENGINES", {str(engine): []})
    kept = tmp_path / "kept"
    assert latex.main([SMALL, "--keep", str(kept)]) == code
    assert capsys.readouterr().out.count(fault or "faults: 0") == len(latex.WIDTHS)
    for path in kept.glob("*.tex"):
        text = path.read_text("utf-8")
        assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") > 10
