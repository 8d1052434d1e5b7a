"""A small comparison that tests of pictures share, with its results as they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from boostsample import registry
from boostsample.experiments.cells.store import Store
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.plan import variants
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import Prepared, prepare
from boostsample.experiments.plan.variants import parse_names
from boostsample.experiments.results.plan_file import plan_bytes, plan_of_bytes
from boostsample.experiments.results.read_folder import Results
from boostsample.experiments.run.comparison import compare, compare_all, open_backend
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
