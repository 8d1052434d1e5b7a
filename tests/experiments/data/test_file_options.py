"""Options of files: their text, their rules, and that neither name nor format changes a split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.errors import SettingError
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.data.file_options import split_data_text

ROWS = "ID,target,u,v\nr0,a,1,2\nr1,b,3,4\nr2,a,5,6\nr3,b,7,8\n"


@pytest.fixture(autouse=True)
def _in_a_folder_with_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text(ROWS, "utf-8")


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("x.csv", "x.csv", {}),
        ("x.csv:label=target:drop=ID", "x.csv", {"label": "target", "drop": "ID"}),
        ("C:/x.csv:label=a:b", "C:/x.csv", {"label": "a:b"}),
        ("x.csv:delimiter=::label=0", "x.csv", {"delimiter": ":", "label": "0"}),
        ("chess(d=4,n=100)", "chess(d=4,n=100)", {}),
        ("x.csv:label", "x.csv:label", {}),
    ],
)
def test_options_follow_a_path(text: str, name: str, options: dict[str, str]) -> None:
    assert split_data_text(text) == (name, options)


@pytest.mark.parametrize(
    ("text", "options", "columns"),
    [
        ("x.csv:label=target:drop=ID", {}, ("u", "v")),
        ("x.csv", {"label": "target", "drop": ["ID"]}, ("u", "v")),
        ("x.csv:drop=0, -1", {"label": 1}, ("u",)),
        ("x.csv", {"label": "target", "drop": 0, "header": None}, ("u", "v")),
        ("x.csv:label=1:drop=0,u:header=true", {}, ("v",)),
    ],
)
def test_text_and_arguments_say_the_same(
    text: str, options: dict[str, Any], columns: tuple[str, ...]
) -> None:
    data = load_dataset(text, **options)
    assert data.columns == columns
    assert data.classes == ("a", "b")
    assert data.X[:, -1].tolist() == ([1, 3, 5, 7] if columns == ("u",) else [2, 4, 6, 8])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x.csv:lable=target", "unknown option of csv files 'lable' (did you mean 'label'?)"),
        ("x.csv:label=", "label must be the name or the position of a column, got ''"),
        ("x.csv:label=u:label=v", "x.csv: label must be given once, got it twice"),
        ("x.csv:drop=ID,", "drop must be columns by name or position, as in ID,date, got 'ID,'"),
        ("x.csv:header=perhaps", "header must be true or false, got 'perhaps'"),
        ("x.csv:name=", "name must be text, got ''"),
        ("x.csv.gz.gz", "unknown data set"),
    ],
)
def test_wrong_options_are_one_clear_line(text: str, says: str) -> None:
    Path("y.csv").write_text("a,a,u\n1,2,x\n3,4,y\n", encoding="utf-8")
    with pytest.raises(SettingError) as raised:
        load_dataset(text)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_same_rows_have_the_same_split_and_streams_under_any_name() -> None:
    y = np.arange(80) % 2
    table = np.column_stack([np.arange(80.0), y])
    for name in ("one.csv", "two.tsv"):
        np.savetxt(name, table, delimiter="\t" if name == "two.tsv" else ",")
    np.savez("three.npz", X=table[:, :1], y=y)
    texts = ("one.csv", "two.tsv", "three.npz", "one.csv:name=four")
    one, *others = [load_dataset(text) for text in texts]
    assert [data.name for data in (one, *others)] == ["one", "two", "three", "four"]
    for data in others:
        assert data.split(1, 2)[1].tolist() == one.split(1, 2)[1].tolist()
        assert data.seeded_by == one.seeded_by
    # Recorded once: the draw must not change between versions and machines.
    assert one.split(0, 0)[1][:6].tolist() == [4, 6, 10, 11, 15, 17]


def test_named_sets_are_seeded_by_their_names() -> None:
    data = load_dataset("chess(d=3,n=60)")
    assert data.seeded_by == data.name == "chess(d=3,J=3,L=3,n=60)"
    assert load_dataset("chess:d=3:n=60").name == data.name
    again = Dataset(data.name, data.X, data.y, data.classes)
    assert again.split(0, 0)[1].tolist() == data.split(0, 0)[1].tolist()
