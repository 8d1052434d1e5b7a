"""Feature values computed on demand: a column, a metric and an axis of results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from boostsample.errors import DataError
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.run_curves import curves_of_results
from boostsample.experiments.run.comparison import compare
from boostsample.experiments.tables.comparison_tables import looks_table
from boostsample.families import families_for
from boostsample.records import family_infos


def results(form: str) -> Results:
    names: dict[str, Any] = {
        "strategies": ["uniform-naive", "laminating"],
        "families": ["identity", "patches"],
    }
    return compare("digits", **names, rounds=[3, 10], repeats=1, bank=form, history=True)


def test_the_column_adds_up_the_history() -> None:
    done = results("lazy")
    (curves,) = curves_of_results(done)
    for label in ("uniform-naive", "laminating"):
        of_run = [row["values_computed"] for row in done.history if row["strategy"] == label]
        at = curves.at("values_computed", "stumps", 10)[label][0]
        assert at == sum(of_run) == np.cumsum(of_run)[9] > 0
        level = float(np.cumsum(of_run)[2])
        assert curves.at("loss", "values_computed", level)[label][0] == pytest.approx(
            curves.at("loss", "stumps", 3)[label][0]
        )
    assert len(curves.levels("values_computed")) == 2
    table = looks_table(done)
    assert table.header[-2:] == ("values computed", "ms")
    mean = sum(row["values_computed"] for row in done.history if row["strategy"] == "laminating")
    assert table.rows[1][-2] == f"{mean / 10:,.0f}"


def test_costs_add_up_the_history_in_nominal_seconds() -> None:
    done = results("memory")
    (curves,) = curves_of_results(done)
    for label in ("uniform-naive", "laminating"):
        of_run = [row["cost"] for row in done.history if row["strategy"] == label]
        assert curves.at("cost", "stumps", 10)[label][0] == pytest.approx(1e-6 * sum(of_run))
        level = 1e-6 * sum(of_run[:3])
        assert curves.at("loss", "cost", level)[label][0] == pytest.approx(
            curves.at("loss", "stumps", 3)[label][0]
        )
    table = replace(curves, table=curves.table.assign(cost=0.0))
    with pytest.raises(DataError, match="of a version without costs"):
        table.at("loss", "cost", 1.0)


def test_a_bank_in_memory_computes_none_while_training() -> None:
    done = results("memory")
    (curves,) = curves_of_results(done)
    assert curves.at("values_computed", "stumps", 3)["laminating"][0] == 0
    assert "values computed" not in looks_table(done).header
    with pytest.raises(DataError, match="the runs on digits have computed no feature values"):
        curves.at("loss", "values_computed", 1e6)


def test_strategies_see_what_a_value_costs() -> None:
    families = families_for((8, 8, 3))
    on_demand = family_infos(families, on_demand=True)
    assert [info.cost for info in on_demand] == [family.cost for family in families]
    assert min(info.cost for info in on_demand) > 0
    assert {info.cost for info in family_infos(families)} == {0.0}
    costs = {info.name: info.cost for info in on_demand}
    assert costs["identity"] < costs["hog"] < costs["hog-opponent"]
