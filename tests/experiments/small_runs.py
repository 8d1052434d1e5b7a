"""A small comparison that tests of pictures share, with its results as they are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample import registry
from boostsample.banks.bank import FeatureBank
from boostsample.experiments.cells.store import Store
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.metrics import SCORED_METRICS
from boostsample.experiments.plan import variants
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import Prepared, prepare
from boostsample.experiments.plan.variants import Variant, parse_names
from boostsample.experiments.results.plan_file import plan_bytes, plan_of_bytes
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.results.runs import RESULT_COLUMNS
from boostsample.experiments.run.comparison import compare, compare_all, open_backend
from boostsample.labels import encode, error_percent
from boostsample.loop.booster import Booster
from boostsample.models.model import Model
from boostsample.registry import make_strategy

STRATEGIES = ("uniform-q1", "mas-naive", "laminating:n_features=16")


@cache
def comparison(name: str = "digits") -> Results:
    """Three strategies, two repetitions, 20 rounds."""
    strategies = list(STRATEGIES)
    return compare(name, strategies=strategies, rounds=[2, 20], repeats=2, weight_init="uniform")


def results(name: str = "digits") -> Results:
    """The same as a results folder has it."""
    return Results({"rounds": [2, 20], "weights": "uniform"}, comparison(name).table)


def thirds(
    n_rows: int = 160, n_features: int = 6, seed: int = 3, noise: float = 0.0, **more: Any
) -> Dataset:
    """A table of three classes, which the first two columns and some noise tell."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    total = X[:, 0] + X[:, 1] + noise * rng.normal(size=n_rows)
    y = np.digitize(total, [-0.7, 0.7]).astype(np.int64)
    return Dataset("thirds", X, y, ("a", "b", "c"), **more)


def prepared(data: Dataset | str, strategies: str, **settings: Any) -> Prepared:
    """A data set, or that of a name, with a plan of these strategies."""
    plan = Plan(strategies=parse_names(strategies), **settings)
    return prepare(load_dataset(data) if isinstance(data, str) else data, plan)


def prepared_thirds(n_rounds: int, repeats: int, n_rows: int = 160) -> Prepared:
    names = "laminating,uniform-naive:n_features=2,mas-naive"
    return prepared(thirds(n_rows), names, marks=(3, n_rounds), repeats=repeats)


def filled(setup: Prepared, store: Store, n_jobs: int = 1, **more: Any) -> Any:
    """The results of a comparison that fills a store, trained in this process; None of a share."""
    with open_backend("threading", n_jobs) as backend:
        return compare_all([setup], store, backend, **more)


def rows_of_threads(setup: Prepared, n_jobs: int = 2) -> list[dict[str, str]]:
    """The result rows without their seconds, trained in this process."""
    return timeless(filled(setup, Store(), n_jobs))


def easy() -> Dataset:
    """A table that one stump classifies without an error."""
    X = np.arange(40, dtype=np.float32)[:, None]
    return Dataset("easy", X, (X[:, 0] >= 20).astype(np.int64), ("a", "b"))


def with_strategy(monkeypatch: pytest.MonkeyPatch, name: str, make: Callable[..., Any]) -> None:
    def known(wanted: str, **settings: Any) -> Any:
        return make(**settings) if wanted == name else make_strategy(wanted, **settings)

    monkeypatch.setattr(variants, "make_strategy", known)


def run_by_hand(
    data: Dataset, variant: Variant, n_rounds: int, *, repetition: int, seed: int, weights: str
) -> tuple[list[dict[str, Any]], Model]:
    """History rows and model of a run, trained by the loop itself."""
    train, _ = data.split(repetition, seed)
    families = prepare(data, Plan(strategies=(variant,))).families
    booster = Booster(
        FeatureBank.build(families, data.X, train),
        train,
        encode(data.y[train], data.n_classes),
        variant.strategy(),
        n_rounds=n_rounds,
        weight_init=weights,
        rng=np.random.default_rng(variant.stream(data.name, seed, repetition)),
    )
    rounds = [booster.next_round() for _ in range(n_rounds)]
    model = Model(families, [term for one in rounds for term in one.terms], data.n_classes)
    return [one.rows[0] for one in rounds], model


def check_row(
    row: dict[str, Any],
    data: Dataset,
    test: NDArray[np.intp],
    run: tuple[list[dict[str, Any]], Model],
    n_rounds: int,
    **others: Any,
) -> None:
    """A result row is that of the first rounds of `run_by_hand`, NaN without any, and `others`."""
    history, model = run
    assert tuple(row) == RESULT_COLUMNS
    scores = model.decision_function(data.X[test], n_rounds)
    values = {
        name: metric(scores, data.y[test], None)
        for name, metric in SCORED_METRICS.items()
        if name in RESULT_COLUMNS
    }
    values["log10_loss"] = history[n_rounds - 1]["log10_loss"]
    values["test_error"] = error_percent(scores, data.y[test])
    if n_rounds == 0:
        values = dict.fromkeys(values, math.nan)
    # The coefficients of a model are alpha to about 16 digits, so that its sums are exact.
    assert row["log_loss"] == pytest.approx(values["log_loss"], rel=1e-14, nan_ok=True)
    values["log_loss"] = row["log_loss"]
    same = {"data": data.name, "learner": "stump", "budget": "default", "bank": "memory"}
    assert timeless_rows([row]) == timeless_rows([{**same, **values, **others}])


def looks_of(history: list[dict[str, Any]]) -> int:
    return sum(row["looks_search"] + row["looks_modelling"] for row in history)


def make_incomplete(folder: Path) -> None:
    """Turn a complete results folder into one whose tables were not yet written."""
    plan = plan_of_bytes((folder / "plan.json").read_bytes())
    (folder / "plan.json").write_bytes(plan_bytes({**plan, "complete": False}))
    (folder / "table.csv").unlink()


def timeless(results: Results | None) -> list[dict[str, str]]:
    """All rows without their seconds, as text: NaN is not equal to itself."""
    rows = [] if results is None else [*results.rows, *results.curves, *results.history]
    return timeless_rows(rows)


def timeless_rows(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [{key: str(row[key]) for key in row if key != "seconds"} for row in rows]


def with_entry_points(
    monkeypatch: pytest.MonkeyPatch, places: Mapping[str, Mapping[str, str]]
) -> None:
    """Have a distribution named my-desk with these places by group and name."""

    def entry_points(group: str) -> list[EntryPoint]:
        points = [EntryPoint(name, place, group) for name, place in places.get(group, {}).items()]
        for point in points:
            vars(point)["dist"] = SimpleNamespace(name="my-desk")
        return points

    monkeypatch.setattr(registry, "entry_points", entry_points)


def refused(error: type[Exception], says: str, call: Any, *args: Any, **options: Any) -> str:
    """The one line with which a call is refused."""
    with pytest.raises(error) as raised:
        call(*args, **options)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
    return str(raised.value)
