"""Results as data frames, and tables as notebooks show them."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.tables.tables import Table

ROWS = [
    {"data": "chess", "strategy": "full", "settings": "", "stumps": 2, "log10_loss": -0.5},
    {"data": "chess", "strategy": "full", "settings": "", "stumps": 4, "log10_loss": -0.75},
]
HISTORY = [{"data": "1", "round": "1", "edge": "0.25", "arm": "", "stopped": ""}]


def results(history: Any = None) -> Results:
    return Results({"rounds": [2, 4]}, ROWS, history or [])


def test_results_become_a_data_frame() -> None:
    frame = results().to_frame()
    assert frame.to_dict("records") == ROWS
    assert frame["stumps"].dtype.kind == "i"


def test_texts_of_history_rows_become_numbers() -> None:
    frame = results(HISTORY).to_frame("history")
    assert frame["edge"].tolist() == [0.25]
    assert frame["round"].dtype.kind == "i"
    assert frame["arm"].isna().all()
    assert frame["data"].tolist() == ["1"]  # a name


def test_tables_that_are_not_there_are_refused() -> None:
    with pytest.raises(DataError, match=r"must hold history .* --history"):
        results().to_frame("history")
    with pytest.raises(SettingError, match="unknown table 'row'"):
        results().to_frame("row")


def test_without_pandas_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SettingError, match=r"to_frame needs the package pandas.*pip install"):
        results().to_frame()


def test_tables_are_shown_in_notebooks() -> None:
    plain = Table("a < b", ("strategy", "ms"), (("full", "1.5"),))
    assert "<caption>a &lt; b</caption>" in plain._repr_html_()
    assert "<td>1.5</td>" in plain._repr_html_()
    flags = (("", "best"),)
    scores = Table("loss", ("stumps", "full"), (("10", "-1"),), flags, ("two < three",))
    shown = scores._repr_html_()
    assert '<th scope="row">10</th><td class="best"><strong>-1</strong></td>' in shown
    assert "<p>bold: best of its row; =: not told apart from the best</p>" in shown
    assert "<p>note: two &lt; three</p>" in shown
