"""Tables of results: cells, marks and notes, from made-up curves and from a real comparison."""

from __future__ import annotations

import math
from typing import Any

import pytest

from boostsample.errors import SettingError
from boostsample.experiments.metrics import METRICS
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.significance import holm, paired_test
from boostsample.experiments.results.titles import label_of
from boostsample.experiments.run.comparison import compare
from boostsample.experiments.tables.formats import to_csv
from boostsample.experiments.tables.renamed import parse_new_names, renamed_results, renamed_tables
from boostsample.experiments.tables.score_tables import chosen_strategies, result_table
from boostsample.experiments.tables.tables import ScoreTable, mean_std
from tests.experiments.fake_results import curve, results

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
    def columns(*wanted: str, charged: bool = True) -> tuple[str, ...]:
        table = result_table(MADE[:1], "loss", charged=charged, strategies=wanted)[0]
        return table.header[1:]

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
