"""Tables look like those of the papers and lose nothing, however narrow the terminal."""

from __future__ import annotations

import io
import math

import pytest
from rich.console import Console

from boostsample.errors import SettingError
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.variants import parse_names
from boostsample.experiments.run.compare import compare
from boostsample.experiments.tables.comparison_tables import looks_table
from boostsample.experiments.tables.formats import to_terminal, to_text
from boostsample.experiments.tables.score_tables import score_table
from boostsample.experiments.tables.tables import Table, mean_std

ROWS = [
    {
        "strategy": strategy,
        "settings": settings,
        "stumps": stumps,
        "log10_loss": loss + shift,
        "test_error": 10 * shift,
    }
    for strategy, settings, loss in [("full", "", -0.34), ("laminating", "n_features=8", -0.4)]
    for shift in (-0.01, 0.01)
    for stumps in (10, 10_000)
]


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


def test_a_table_as_text() -> None:
    assert to_text(score_table(ROWS)).splitlines() == [
        "log10 loss, mean (std) of 2 repetitions",
        "stumps          full  laminating:n_features=8",
        "------  ------------  -----------------------",
        "    10  -0.34 (0.01)             -0.40 (0.01)",
        "10,000  -0.34 (0.01)             -0.40 (0.01)",
    ]
    assert "test error in percent" in to_text(score_table(ROWS, "error"))


def test_cells_without_a_run_and_uneven_repetitions() -> None:
    table = score_table([row for row in ROWS if row["stumps"] == 10] + ROWS[:1] + ROWS[1:2])
    assert table.title == "log10 loss, mean (std) of 1 to 3 repetitions"
    assert table.rows[1] == ("10,000", "-0.35", "n/a")


def test_an_unknown_metric() -> None:
    with pytest.raises(SettingError, match=r"unknown metric 'los'.*known: loss, error"):
        score_table(ROWS, "los")


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


def test_looks_by_purpose() -> None:
    plan = Plan(strategies=parse_names("full,uniform-naive:n_features=2"), marks=(6,), repeats=2)
    comparison = compare(load_dataset("chess(d=3,n=60)"), plan)
    table = looks_table(comparison)
    assert table.header == ("strategy", "budget", "search", "modelling", "finish", "ms")
    assert [row[:-1] for row in table.rows] == [
        ("full", "135", "135", "0", "45"),
        ("uniform-naive:n_features=2", "450", "90", "0", "45"),
    ]
    assert all(float(row[-1]) > 0 for row in table.rows)
    assert to_text(table).splitlines()[1].startswith("strategy  ")
