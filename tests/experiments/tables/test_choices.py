"""Chosen, ordered and renamed strategies and data sets of tables."""

from __future__ import annotations

import pytest

from boostsample.errors import SettingError
from boostsample.experiments.tables.formats import to_csv
from boostsample.experiments.tables.renamed import parse_new_names, renamed_results, renamed_tables
from boostsample.experiments.tables.score_tables import chosen_strategies, result_table
from tests.experiments.fake_results import curve, results

LABELS = ("full", "ucb*", "ucb* charged", "ucb")
MADE = [
    results([curve(name, r, data=data) for name in LABELS for r in range(2)])
    for data in ("one", "two")
]


def test_columns_follow_the_choice() -> None:
    def columns(*wanted: str, charged: bool = False) -> tuple[str, ...]:
        table = result_table(MADE[:1], "loss", charged=charged, strategies=wanted)[0]
        return table.header[1:]

    assert columns("ucb", "full") == ("ucb", "full")
    assert columns("full", "ucb*", charged=True) == ("full", "ucb*", "ucb* charged")
    with pytest.raises(SettingError, match=r"unknown strategy of these results 'ucbv'"):
        columns("ucbv")


def test_a_name_means_all_its_variants_unless_it_is_a_label() -> None:
    labels = ("ucb*:a=1", "ucb*:a=1 charged", "ucb:a=2", "ucbv")
    assert chosen_strategies(["ucb"], labels) == labels[:3]
    assert chosen_strategies(["ucb*"], labels) == labels[:2]
    assert chosen_strategies(["ucb:a=2", "ucb*:a=1"], labels) == (labels[2], *labels[:2])


def test_tables_follow_the_choice_of_data() -> None:
    assert [one.data for one in result_table(MADE, "loss", data=["two", "one"])] == ["two", "one"]
    assert [one.data for one in result_table(MADE, "loss", data=["two"])] == ["two"]
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


def test_notes_are_those_of_the_strategies_shown() -> None:
    notes = ["strategies with a * were tuned: so", "full: training ended early, number", "other"]
    facts = {"split": "fixed", "notes": notes}
    made = results([curve(name, r) for name in ("full", "ucb*", "b") for r in (0, 1)], facts=facts)
    shown = {
        name: list(result_table([made], "loss", strategies=[name])[0].notes)
        for name in ("full", "ucb", "b")
    }
    assert shown == {"full": notes[1:], "ucb": [notes[0], "other"], "b": ["other"]}


def test_new_names_are_everywhere() -> None:
    facts = {"split": "fixed", "notes": ["M is 4 for ucb*: ucb is not, nor my-full or full:a=1"]}
    made = results([curve(name, r) for name in LABELS for r in range(2)], facts=facts)
    tables = result_table([made], "loss", charged=True)
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
