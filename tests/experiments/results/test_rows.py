"""Curve rows: what history rows say, summed up; a charged curve that pays for all runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from boostsample.experiments.cells.tasks import curve_points
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.variants import parse_names
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.runs import RESULT_COLUMNS, TABLE_COLUMNS
from boostsample.experiments.run.compare import compare

TUNED = "epsilon-greedy:arms=feature:n_features=2:pulls=2:epsilon=0.05|0.5|1:reward_scale=1"
MARKS = (2, 50, 100)


@pytest.fixture(scope="module")
def comparison() -> Results:
    rng = np.random.default_rng(12)
    X = rng.normal(size=(150, 7)).astype(np.float32)
    y = np.digitize(X[:, 0] + X[:, 1] + rng.normal(size=150), [-0.7, 0.7]).astype(np.int64)
    data = Dataset("noisy", X, y, ("a", "b", "c"), n_train=100)
    names = parse_names(f"uniform-naive:n_features=2,mas-naive,{TUNED}")
    plan = Plan(strategies=names, marks=MARKS, repeats=2, tune=True, history=True)
    return compare(data, plan)


def curve(comparison: Results, label: str, repetition: int = 0) -> list[dict[str, Any]]:
    return [
        row
        for row in comparison.curves
        if row["strategy"] == label and row["repetition"] == repetition
    ]


def test_rows_at_the_marks_are_the_result_rows(comparison: Results) -> None:
    assert all(tuple(row) == TABLE_COLUMNS for row in comparison.curves)
    names = ("data", "strategy", "repetition", "stumps")
    found = {tuple(row[n] for n in names): row for row in comparison.curves}
    assert len(found) == len(comparison.curves)  # no point twice
    for row in comparison.rows:
        mine = found[tuple(row[n] for n in names)]
        assert repr(row) == repr({column: mine[column] for column in RESULT_COLUMNS})


@pytest.mark.parametrize("label", ["uniform-naive", "mas-naive"])
def test_a_curve_sums_up_the_history(comparison: Results, label: str) -> None:
    rows = curve(comparison, label)
    history = [r for r in comparison.history if (r["strategy"], r["repetition"]) == (label, 0)]
    assert [row["stumps"] for row in rows] == sorted({*curve_points(100), *MARKS})
    for row in rows:
        past = history[: row["stumps"]]
        assert row["looks"] == sum(r["looks_search"] + r["looks_modelling"] for r in past)
        assert row["log10_loss"] == past[-1]["log10_loss"]
        assert row["features"] == pytest.approx(np.mean([r["n_features"] for r in past]))
        assert row["examples"] == pytest.approx(np.mean([r["n_examples"] for r in past]))
        assert row["seconds"] == pytest.approx(sum(r["seconds"] for r in past), abs=1e-4)
        assert math.isnan(row["auc"]) == (row["stumps"] not in MARKS)


def test_a_charged_curve_pays_for_all_runs(comparison: Results) -> None:
    label = next(row["strategy"] for row in comparison.rows if row["strategy"].endswith("charged"))
    plain = {row["stumps"]: row for row in curve(comparison, label.removesuffix(" charged"))}
    rows = curve(comparison, label)
    assert [row["stumps"] for row in rows] == sorted({row["stumps"] for row in rows})
    assert len(rows) > len(MARKS)
    for row in rows:
        own = row["stumps"] // 3
        if own == 0:
            assert math.isnan(row["log10_loss"])
            assert row["looks"] == 0
        else:
            assert row["log10_loss"] == plain[own]["log10_loss"]
            assert row["looks"] == 3 * plain[own]["looks"]  # each run costs as much
            assert row["seconds"] > plain[own]["seconds"]


def test_a_run_that_ended_early_repeats_its_last_state() -> None:
    X = np.array([[0.0], [0.0], [1.0], [1.0]] * 10, np.float32)
    data = Dataset("easy", X, X[:, 0].astype(np.int64), ("a", "b"), n_train=20)
    done = compare(data, Plan(strategies=parse_names("full"), marks=(1, 8), repeats=1))
    (run,) = done.runs
    assert run.n_rounds == 1
    first, last = run.table_rows((1, 8))
    assert (first["stumps"], last["stumps"]) == (1, 8)
    assert {**first, "stumps": 8} == last
