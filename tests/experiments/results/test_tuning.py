"""Tuning keeps the run that a plain loop over the grid would keep, and charges all of them."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostsample.banks.bank import FeatureBank
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.metrics import SCORED_METRICS
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import prepare
from boostsample.experiments.plan.variants import Variant, parse_names
from boostsample.experiments.plots.curves import comparison_figure
from boostsample.experiments.results.read_folder import Results, read_results
from boostsample.experiments.results.runs import RESULT_COLUMNS, Run
from boostsample.experiments.results.write_folder import ResultsFolder
from boostsample.experiments.run.comparison import compare
from boostsample.experiments.tables.comparison_tables import looks_table, tuning_table
from boostsample.experiments.tables.formats import to_text
from boostsample.experiments.tables.score_tables import plain_table
from boostsample.labels import encode, error_percent
from boostsample.loop.booster import Booster
from boostsample.models.model import Model
from boostsample.registry import make_strategy
from boostsample.step import Step
from boostsample.strategy import Strategy, Stump
from tests.experiments.small_runs import easy, with_strategy

GRID = "epsilon-greedy:arms=feature:n_features=2:pulls=2:epsilon=0.05|0.5|1:reward_scale=1"
SETTINGS = [f"arms=feature:epsilon={e}:n_features=2:pulls=2:reward_scale=1" for e in (0.05, 0.5, 1)]
LABEL = "epsilon-greedy*:arms=feature:n_features=2:pulls=2:reward_scale=1"
MARKS = (2, 4, 12)


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = np.random.default_rng(11)
    X = rng.normal(size=(150, 7)).astype(np.float32)
    y = np.digitize(X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=150), [-0.7, 0.7]).astype(np.int64)
    return Dataset("thirds", X, y, ("a", "b", "c"), n_train=100)


@pytest.fixture(scope="module")
def comparison(data: Dataset) -> Results:
    return compare(data, plan_of(f"uniform-naive:n_features=2,{GRID}", history=True))


def plan_of(strategies: str, **settings: Any) -> Plan:
    usual: dict[str, Any] = {"marks": MARKS, "repeats": 2, "tune": True, "weights": "uniform"}
    return Plan(strategies=parse_names(strategies), **{**usual, **settings})


def timeless(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without their seconds, NaN as text: it is not equal to itself."""
    return [
        {k: str(v) if isinstance(v, float) else v for k, v in row.items() if k != "seconds"}
        for row in rows
    ]


def notes_of(comparison: Results) -> list[str]:
    notes: list[str] = comparison.settings["data_sets"][0]["notes"]
    return notes


def by_hand(data: Dataset, repetition: int, seed: int) -> list[tuple[list[dict[str, Any]], Model]]:
    """Train every setting of GRID by the loop itself: history rows and model."""
    train, _ = data.split(repetition, seed)
    families = prepare(data, plan_of("full")).families
    runs = []
    for epsilon in (0.05, 0.5, 1):
        settings = {
            "arms": "feature",
            "n_features": 2,
            "pulls": 2,
            "epsilon": epsilon,
            "reward_scale": 1,
        }
        variant = Variant("epsilon-greedy", settings)
        booster = Booster(
            FeatureBank.build(families, data.X, train),
            train,
            encode(data.y[train], 3),
            make_strategy("epsilon-greedy", **settings),
            n_rounds=12,
            weight_init="uniform",
            rng=np.random.default_rng(variant.stream(data.name, seed, repetition)),
        )
        rounds = [booster.next_round() for _ in range(12)]
        model = Model(families, [term for boosted in rounds for term in boosted.terms], 3)
        runs.append(([boosted.rows[0] for boosted in rounds], model))
    return runs


def test_rows_are_those_of_the_best_of_plain_loops(data: Dataset, comparison: Results) -> None:
    for repetition in range(2):
        _, test = data.split(repetition, 0)
        runs = by_hand(data, repetition, 0)
        finals = [history[-1]["log10_loss"] for history, _ in runs]
        assert len(set(finals)) == 3
        best = finals.index(min(finals))
        history, model = runs[best]
        wanted = []
        for name, share in ((LABEL, 1), (f"{LABEL} charged", 3)):
            for mark in MARKS:
                n = mark // share
                paid = [history] if share == 1 else [rows for rows, _ in runs]
                scores = model.decision_function(data.X[test], n)
                wrong = error_percent(scores, data.y[test])
                others = {
                    name: metric(scores, data.y[test], None)
                    for name, metric in SCORED_METRICS.items()
                    if name in RESULT_COLUMNS
                }
                wanted.append(
                    {
                        "data": "thirds",
                        "strategy": name,
                        "settings": SETTINGS[best],
                        "learner": "stump",
                        "budget": "default",
                        "weight_init": "uniform",
                        "bank": "memory",
                        "repetition": repetition,
                        "stumps": mark,
                        "log10_loss": history[n - 1]["log10_loss"] if n else math.nan,
                        "test_error": wrong if n else math.nan,
                        "looks": sum(row["looks_search"] for rows in paid for row in rows[:n]),
                        **(others if n else dict.fromkeys(others, math.nan)),
                    }
                )
        ours = [
            row
            for row in comparison.rows
            if "*" in row["strategy"] and row["repetition"] == repetition
        ]
        assert [tuple(row) for row in ours] == [RESULT_COLUMNS] * 6
        # The coefficients of a model are alpha to about 16 digits.
        losses = [[row["log_loss"] for row in rows] for rows in (ours, wanted)]
        np.testing.assert_allclose(losses[0], losses[1], rtol=1e-14)
        same = [
            [{name: row[name] for name in row if name != "log_loss"} for row in rows]
            for rows in (ours, wanted)
        ]
        assert timeless(same[0]) == timeless(same[1])
        assert [math.isnan(row["log10_loss"]) for row in ours] == [False] * 3 + [True, False, False]


def loss_of(run: Run) -> list[float]:
    losses: list[float] = run.cell.loss.tolist()
    return losses


def test_test_data_choose_nothing(data: Dataset, comparison: Results) -> None:
    y = data.y.copy()
    y[100:] = y[100:][::-1]
    other = compare(Dataset(data.name, data.X, y, data.classes, n_train=100), plan_of(GRID))
    for tuned_run, before in zip(other.runs, comparison.runs[2:], strict=True):
        assert (loss_of(tuned_run), tuned_run.trained) == (loss_of(before), before.trained)
    assert [r["test_error"] for r in other.rows] != [r["test_error"] for r in comparison.rows[6:]]


class Same(Strategy):
    """Searches the same feature whatever its settings, after a while."""

    def __init__(self, x: int = 1, wait: float = 0.0) -> None:
        self.x = x
        self.wait = wait

    def choose(self, step: Step) -> Stump:
        time.sleep(self.wait)
        return step.search([step.round % 3], step.draw(step.n_examples)).best()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("same:x=5|3|4", "x=5"),
        ("same:wait=0.01|0", "wait=0.01"),  # the second ends first
    ],
)
@pytest.mark.parametrize("n_jobs", [1, 4])
def test_the_first_setting_wins_a_tie(
    data: Dataset, monkeypatch: pytest.MonkeyPatch, text: str, kept: str, n_jobs: int
) -> None:
    with_strategy(monkeypatch, "same", Same)
    (tuned_run,) = compare(data, plan_of(text, repeats=1, n_jobs=n_jobs)).runs
    assert tuned_run.tuning is not None
    assert len(set(tuned_run.tuning.losses)) == 1
    assert tuned_run.trained.settings_text == kept


def test_training_that_ends_early_charges_what_it_took() -> None:
    plan = plan_of("uniform-1q:n_features=none|1", marks=(1, 3, 30), repeats=1)
    comparison = compare(easy(), plan)
    tuned, charged = comparison.rows[:3], comparison.rows[3:]
    assert {row["looks"] for row in tuned} == {30}
    assert [row["looks"] for row in charged] == [0, 60, 60]
    assert {row["log10_loss"] for row in charged[1:]} == {tuned[0]["log10_loss"]}
    assert "uniform-1q*: training ended early" in notes_of(comparison)[-1]
    comparison_figure(comparison)


def test_tables_have_both_columns_and_the_choice(comparison: Results) -> None:
    loss = plain_table(comparison, "loss")
    assert loss.header == ("stumps", "uniform-naive:n_features=2", LABEL, f"{LABEL} charged")
    assert loss.rows[0][-1] == "-"
    assert "-" not in [cell for row in loss.rows[1:] for cell in row]
    looks = {row[0]: row[1:-1] for row in looks_table(comparison).rows}
    assert looks[LABEL] == ("1,000", "200", "0", "100")
    assert looks[f"{LABEL} charged"] == ("3,000", "600", "0", "300")
    table = tuning_table(comparison)
    assert table is not None
    kept = [tuned_run.trained.settings_text for tuned_run in comparison.runs[2:]]
    assert {row[2]: row[3] for row in table.rows} == {s: str(kept.count(s)) for s in kept}
    assert {row[:2] for row in table.rows} == {(LABEL, "3")}
    assert "after 12 stumps, in 2 repetitions" in to_text(table)
    (note,) = notes_of(comparison)
    assert f"3 for {LABEL}" in note
    assert "smallest training loss after 12 stumps" in note


def test_the_folder_records_grid_choice_and_every_final_loss(
    comparison: Results, tmp_path: Path
) -> None:
    with ResultsFolder(tmp_path / "new") as folder:
        folder.write(comparison)
    saved = read_results(tmp_path / "new")
    assert timeless(saved.rows) == timeless(comparison.rows)
    _, tuned = saved.settings["data_sets"][0]["strategies"]
    assert (tuned["strategy"], tuned["grid"]) == (LABEL, SETTINGS)
    for search, tuned_run in zip(tuned["tuning"], comparison.runs[2:], strict=True):
        best = search["final_log10_loss"].index(min(search["final_log10_loss"]))
        assert search["kept"] == SETTINGS[best] == tuned_run.trained.settings_text
        assert search["final_log10_loss"][best] == tuned_run.final_loss
        assert search["looks"] == 3 * sum(
            tuned_run.looks[purpose] for purpose in ("search", "modelling")
        )
    assert saved.settings["data_sets"][0]["notes"] == notes_of(comparison)
