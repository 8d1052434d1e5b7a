"""Tables of results: cells, marks and notes; what a strict reader of each format takes out."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import pytest
from matplotlib.ft2font import FT2Font, LoadFlags
from rich.console import Console

from boostsample.errors import SettingError
from boostsample.experiments.metrics import METRICS
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.significance import holm, paired_test
from boostsample.experiments.results.titles import label_of
from boostsample.experiments.run.comparison import compare
from boostsample.experiments.tables.formats import (
    CSV_COLUMNS,
    FORMATS,
    to_csv,
    to_markdown,
    to_terminal,
    to_text,
)
from boostsample.experiments.tables.latex import latex_width, parse_width, to_latex
from boostsample.experiments.tables.renamed import parse_new_names, renamed_results, renamed_tables
from boostsample.experiments.tables.score_tables import chosen_strategies, plain_table, result_table
from boostsample.experiments.tables.tables import ScoreTable, Table, mean_std
from tests.experiments import latex
from tests.experiments.fake_results import curve, results
from tests.paths import RESULTS, needs_results

NOISE = {  # of three strategies in five repetitions
    "good": (0.00, 0.01, -0.02, 0.01, 0.00),
    "near": (0.03, 0.00, -0.01, 0.02, 0.01),
    "poor": (0.51, 0.50, 0.49, 0.52, 0.50),
}


def noisy(**settings: Any) -> Results:
    return results(
        [curve(name, r, shift=s) for name, mine in NOISE.items() for r, s in enumerate(mine)],
        **settings,
    )


def only(folder: Results, metric: str = "loss", axis: str = "stumps", **kinds: Any) -> ScoreTable:
    (table,) = result_table([folder], metric, axis, **kinds)
    return table


def test_cells_marks_and_title() -> None:
    table = only(noisy())
    assert table.title == "made: log10 loss, mean (std) of 5 repetitions"
    assert table.header == ("stumps", "good", "near", "poor")
    assert table.rows == (
        ("10", "-4.00 (0.01)", "-3.99 (0.02)", "-3.50 (0.01)"),
        ("100", "-5.00 (0.01)", "-4.99 (0.02)", "-4.50 (0.01)"),
    )
    assert table.flags == (("", "best", "tied", ""),) * 2
    assert (table.data, table.metric, table.axis) == ("made", "loss", "stumps")


def test_scores_are_the_cells_as_numbers() -> None:
    scores = only(noisy()).scores
    assert [(score.level, score.strategy, score.flag) for score in scores[:3]] == [
        (10, "good", "best"),
        (10, "near", "tied"),
        (10, "poor", ""),
    ]
    tests = [paired_test(NOISE[name], NOISE["good"]) for name in ("near", "poor")]
    assert [score.p_value for score in scores[1:3]] == pytest.approx(holm(tests))
    assert math.isnan(scores[0].p_value)
    assert scores[0].mean == pytest.approx(-4)
    assert scores[0].std == pytest.approx(math.sqrt(0.0006 / 4))


def test_splits_that_were_drawn_tell_less() -> None:
    drawn = {"split": "drawn", "n_train": [60, 60], "n_test": [20, 20], "notes": []}
    fixed_p = only(noisy()).scores[1].p_value
    table = only(noisy(facts=drawn))
    assert table.scores[1].p_value > fixed_p
    assert "n_test / n_train = 0.33 (Nadeau and Bengio 2003); Holm's" in table.notes[0]
    assert "on the same split, so that" in only(noisy()).notes[0]


def test_higher_is_better_for_areas_and_nothing_for_numbers_of_features() -> None:
    table = only(noisy(), "auc")
    assert table.rows[0][1:] == ("0.9000 (0.0001)", "0.8999 (0.0002)", "0.8950 (0.0001)")
    assert table.flags[0] == ("", "best", "tied", "")
    for metric, cell in (("features", "20 (0)"), ("examples", "12,345 (0)")):
        table = only(noisy(), metric)
        assert table.rows[0][1] == cell
        assert not table.marked
        assert table.notes == ()


def test_looks_and_seconds_that_were_spent() -> None:
    folder = results([curve("a", r, cost=c) for r, c in enumerate((59_000, 61_000))])
    assert [row[1] for row in only(folder, "looks").rows] == [
        "600,000 (14,142)",
        "6.00e+06 (141,421)",
    ]
    assert [row[1] for row in only(folder, "seconds").rows] == ["0.0200 (0.00)", "0.200 (0.00)"]
    assert [row[1] for row in only(folder, "looks", "seconds", levels=[0.02]).rows] == [
        "600,000 (14,142)"
    ]


def test_at_equal_looks() -> None:
    folder = results(
        [curve("a", 0), curve("a", 1), curve("b", 0, cost=5000), curve("b", 1, cost=5000, ends=30)]
    )
    table = only(folder, axis="looks")
    assert table.rows == (
        ("10,000", "-4.00 (0.00)", "-4.00 (0.00)"),
        ("100,000", "-5.00 (0.00)", "-5.00 (0.00)"),
    )
    assert "the levels of looks are the least that any run had spent at each mark" in table.notes[1]
    table = only(folder, axis="looks", levels=[3e3, 4e5])
    # One of the two runs of b reaches 400,000: a mean of those that do would be a choice of runs.
    assert table.rows == (("3,000", "-3.48 (0.00)", "-"), ("400,000", "-", "-"))
    assert not table.marked


def test_one_repetition_is_not_tested() -> None:
    table = only(results([curve("a", 0), curve("b", 0, shift=1.0)]))
    assert table.title == "made: log10 loss, one repetition"
    assert table.rows[0] == ("10", "-4.00", "-3.00")
    assert table.flags[0] == ("", "best", "")
    assert table.notes == ("no difference is tested, which takes at least two repetitions",)


def test_incomplete_folders_say_so() -> None:
    facts: dict[str, Any] = {"settings": "", "budget": [600]}
    strategies = [{"strategy": name, **facts} for name in ("mas-naive", "ucb*")]
    folder = results(
        [curve("a", 0), curve("a", 1), curve("ucb*", 1), curve("ucb* charged", 1)],
        facts={"strategies": strategies},
        repeats=3,
        missing=7,
    )
    table = only(folder, charged=False)
    assert table.header == ("stumps", "a", "ucb*")
    notes = "\n".join(table.notes)
    assert "fewer than 3 repetitions: a 2, ucb* 1\n" in notes
    assert "without a result yet: mas-naive" in notes
    assert "charged" not in notes


def test_charged_columns_take_no_part() -> None:
    runs = [curve("a", r, shift=0.01 * r) for r in range(3)]
    runs += [curve("ucb*", r, shift=1 + 0.01 * r) for r in range(3)]
    without = only(results(runs))
    charged = [curve("ucb* charged", r, shift=-5) for r in range(3)]
    table = only(results(runs + charged))
    assert table.flags == tuple((*row, "") for row in without.flags)
    assert table.flags[0] == ("", "best", "", "")
    assert [
        score.p_value for score in table.scores if "charged" not in score.strategy
    ] == pytest.approx([score.p_value for score in without.scores], nan_ok=True)
    assert only(results(runs + charged), charged=False).rows == without.rows


def test_transposed_twice_is_the_same_cells() -> None:
    table = only(noisy())
    other = table.transposed()
    assert other.header == ("strategy", "10 stumps", "100 stumps")
    assert [row[0] for row in other.rows] == ["good", "near", "poor"]
    assert [row[1:] for row in other.rows] == list(
        zip(*(row[1:] for row in table.rows), strict=True)
    )
    assert other.flags == (("", "best", "best"), ("", "tied", "tied"), ("", "", ""))
    assert (table.across, other.across) == ("row", "column")


@pytest.fixture(scope="module")
def comparison() -> Results:
    bandit = "ucb:n_features=2:exploration=0.1|2:reward_scale=1"
    names = ["full", "uniform-naive:n_features=2", bandit]
    return compare("chess(d=3,n=60)", strategies=names, rounds=[2, 9], repeats=3, tune=True)


def test_a_real_comparison_has_the_cells_of_its_own_tables(comparison: Results) -> None:
    for metric in ("loss", "error"):
        table = only(comparison, metric)
        values: dict[tuple[int, str], list[float]] = {}
        for row in comparison.rows:
            of_cell = values.setdefault((row["stumps"], label_of(row)), [])
            of_cell.append(row[METRICS[metric].column])
        assert table.header == ("stumps", *dict.fromkeys(label for _, label in values))
        assert table.rows == tuple(
            (str(mark), *(mean_std(values[mark, label], metric) for label in table.header[1:]))
            for mark in (2, 9)
        )
    notes = [note for note in table.notes if "strategies with a * were tuned" in note]
    assert len(notes) == 1
    assert set(comparison.settings["data_sets"][0]["notes"]) <= set(table.notes)


LABELS = ("full", "ucb*", "ucb* charged", "ucb")
MADE = [
    results([curve(name, r, data=data) for name in LABELS for r in range(2)])
    for data in ("one", "two")
]


def test_columns_follow_the_choice() -> None:
    def columns(*wanted: str) -> tuple[str, ...]:
        return result_table(MADE[:1], "loss", strategies=wanted)[0].header[1:]

    assert columns("ucb", "full") == ("ucb", "full")
    assert columns("full", "ucb*") == ("full", "ucb*", "ucb* charged")
    with pytest.raises(SettingError, match=r"unknown strategy of these results 'ucbv'"):
        columns("ucbv")


def test_a_name_means_all_its_variants_unless_it_is_a_label() -> None:
    labels = ("ucb*:a=1", "ucb*:a=1 charged", "ucb:a=2", "ucbv")
    assert chosen_strategies(["ucb"], labels) == labels[:3]
    assert chosen_strategies(["ucb*"], labels) == labels[:2]
    assert chosen_strategies(["ucb:a=2", "ucb*:a=1"], labels) == (labels[2], *labels[:2])


def test_tables_follow_the_choice_of_data() -> None:
    assert [shown.data for shown in result_table(MADE, "loss", data=["two", "one"])] == [
        "two",
        "one",
    ]
    assert [shown.data for shown in result_table(MADE, "loss", data=["two"])] == ["two"]
    with pytest.raises(SettingError, match="unknown data set of these results 'tow'"):
        result_table(MADE, "loss", data=["tow"])


def test_a_data_set_without_the_chosen_strategies_is_refused() -> None:
    other = results([curve("full", 0, data="three")])
    with pytest.raises(SettingError, match="results of three must have one of the strategies ucb"):
        result_table([MADE[0], other], "loss", strategies=["ucb"])


def test_the_best_is_that_of_the_strategies_shown() -> None:
    shifts = {"a": 0, "b": 1, "c": 2}
    made = results([curve(name, r, shift=by) for name, by in shifts.items() for r in (0, 1)])
    (table,) = result_table([made], "loss", strategies=["c", "b"])
    assert table.flags[0] == ("", "", "best")


def test_new_names_are_everywhere() -> None:
    facts = {"split": "fixed", "notes": ["M is 4 for ucb*: ucb is not, nor my-full or full:a=1"]}
    made = results([curve(name, r) for name in LABELS for r in range(2)], facts=facts)
    tables = result_table([made], "loss")
    (table,) = renamed_tables(tables, {"ucb*": "UCB (tuned)", "full": "All"})
    assert table.header == ("stumps", "All", "UCB (tuned)", "UCB (tuned) charged", "ucb")
    assert "M is 4 for UCB (tuned): ucb is not, nor my-full or full:a=1" in table.notes
    assert {line.split(",")[4] for line in to_csv([table]).splitlines()[1:]} == {*table.header[1:]}
    turned = renamed_tables([tables[0].transposed()], {"full": "All"})[0]
    assert turned.rows[0][0] == "All"
    with pytest.raises(SettingError, match="unknown strategy of these results 'fulll'"):
        renamed_tables(tables, {"fulll": "All"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("laminating", "must be OLD=NEW pairs separated by commas, .*; got 'laminating'"),
        ("a=", "got 'a='"),
        ("a=b,a=c", "must name a strategy once, got 'a' twice"),
        ("a=c,b=c", "must give different new names, got 'c' twice"),
    ],
)
def test_texts_that_are_no_names(text: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        parse_new_names(text)


def test_names_may_be_exchanged_but_not_be_given_twice() -> None:
    made = results([curve("full", 0), curve("ucb", 0), curve("ucb", 0, settings="n=2")])
    (renamed,) = renamed_results([made], parse_new_names("full=ucb,ucb=full,ucb:n=2=Two"))
    assert list(dict.fromkeys(row["strategy"] for row in renamed.rows)) == ["ucb", "full", "Two"]
    with pytest.raises(SettingError, match=r"'fulll' \(did you mean 'full'\?\); known: full, ucb"):
        renamed_results([made], {"fulll": "x"})
    with pytest.raises(SettingError, match="would give two strategies the name 'ucb'"):
        renamed_results([made], {"full": "ucb"})


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
        ([1.0, 2.0, 3.0], "2.00 (1.00)"),  # n - 1 under the sum
        ([-0.001, -0.001], "0.00 (0.00)"),
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


def named(*names: str, cost: int = 1000) -> Results:
    return results([curve(name, r, shift=0.5 * r, cost=cost) for name in names for r in range(3)])


def table_of(
    *names: str, metric: str = "loss", axis: str = "stumps", cost: int = 1000
) -> ScoreTable:
    (table,) = result_table([named(*names, cost=cost)], metric, axis)
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
    table = table_of(*names)
    whole, cut = to_latex(table, 2000), to_latex(table, 240)
    assert whole.count(r"\begin{tabular}") == 1
    assert cut.count(r"\begin{tabular}") > 2
    for text in (whole, cut):
        assert text.count(r"\caption") == text.count("minipage}{") == text.count("{table}") // 2
        assert all(text.count(name) == 1 for name in names)
    rows = [line for line in cut.splitlines() if re.match(r"10+ &", line)]
    assert len(rows) == 2 * cut.count(r"\toprule")


def test_settings_in_names_have_lines_of_their_own() -> None:
    head = to_latex(table_of("full", "ucb:a=1:b_c=2")).partition(r"\midrule")[0].splitlines()[-3:]
    assert head == [" &  & ucb \\\\", " &  & :a=1 \\\\", "stumps & full & :b\\_c=2 \\\\"]


def test_a_column_that_cannot_fit_is_refused() -> None:
    with pytest.raises(SettingError, match=r"column 'a{70}' and the names .* shorter names by"):
        to_latex(table_of("a" * 70, "b"))


def test_standard_deviations_are_filled_up_to_one_width() -> None:
    text = to_latex(table_of("a", "b", metric="error"))
    assert r"(5.00)" in text
    wide = results([curve("a", r, shift=s * r) for s, r in ((9.0, 0), (9.0, 1))])
    wide.table.loc[wide.table["stumps"] == 10, "test_error"] = 3.0
    (table,) = result_table([wide], "error")
    assert r"3.00 \phantom{6}(0.00)" in to_latex(table)


def test_all_looks_of_a_table_have_one_unit() -> None:
    text = to_latex(table_of("a", metric="looks", cost=59_990))
    assert "in $10^{3}$ looks}" in text
    assert "10 & 599.90 (0.00)" in text
    assert "100 & 5,999.00 (0.00)" in text
    assert "e+0" not in text
    at = to_latex(table_of("a", axis="looks", cost=59_990))
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
