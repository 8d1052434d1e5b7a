"""Tables of docs/RESULTS.md on features computed on demand, and the overheads of strategies.

    python -m tests.experiments.on_demand --data-dir DIR
    python -m tests.experiments.on_demand

The first command measures which part of the CPU time of a run is the strategies' own, and writes
docs/results/on-demand.csv; the second prints the tables from it and from the small files of
`boostsample compare --grid df11-on-demand`. A strategy's own time is that of `choose`, `learn` and
`start` without the draws and searches that it asks for; all time includes computing the features.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import Any
from unittest.mock import patch

import click
import pandas as pd

from boostsample.banks.lazy import LazyBank
from boostsample.experiments.commands.shared.options import data_dir_option
from boostsample.experiments.data.datasets import load_dataset
from boostsample.experiments.results.read_folder import read_results
from boostsample.experiments.results.run_curves import curves_of_results
from boostsample.experiments.tables.tables import mean_std
from boostsample.families import families_for
from boostsample.labels import encode
from boostsample.loop.booster import Booster
from boostsample.step import Step
from tests.experiments import markdown
from tests.paths import RESULTS

DATA = {"mnist": "MNIST", "cifar10": "CIFAR-10"}
STRATEGIES = (
    *("uniform-naive", "mas-naive", "mas-1q", "mas-q1", "laminating"),
    *("adaptive-halving", "cost-aware"),
)
PAPER = {"mas-naive": "0.2", "mas-1q": "2", "mas-q1": "8", "laminating": "0"}
"""Overheads in percent, [DF11] section 5.3."""
SECONDS = (3, 10, 30)
TIMED = 10.0  # CPU seconds of a run of which the strategy's own are measured
MEASURED, RUNS = RESULTS / "on-demand.csv", RESULTS / "df11-on-demand"


class _Clock:
    """CPU seconds of wrapped calls, without those of wrapped calls within them."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {"own": 0.0, "asked": 0.0}
        self._within = ["other"]

    def wrap(self, what: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def timed(*args: Any, **settings: Any) -> Any:
            outer = self._within[-1]
            self._within.append(what)
            begin = time.thread_time()
            try:
                return call(*args, **settings)
            finally:
                spent = time.thread_time() - begin
                self._within.pop()
                if outer != "asked":
                    self.seconds[what] += spent
                    if outer in self.seconds:
                        self.seconds[outer] -= spent

        return timed


def own_share(data: Any, name: str) -> float:
    """The share of a strategy in the CPU time of a run on demand, in percent."""
    train, _ = data.split(0, 0)
    X, Y = data.X[train], encode(data.y[train], data.n_classes)
    bank = LazyBank(families_for(X.shape[1:]), X)
    booster = Booster(bank, None, Y, name, rng=0, weight_init="uniform", n_rounds=10**6)
    clock, asked = _Clock(), ("draw", "draw_nested", "search", "race", "race_again", "edges")
    booster.next_round()
    timed: dict[str, Any] = {each: clock.wrap("asked", getattr(Step, each)) for each in asked}
    with patch.multiple(Step, **timed):
        for each in ("choose", "learn"):
            setattr(booster.strategy, each, clock.wrap("own", getattr(booster.strategy, each)))
        begin = time.thread_time()
        while time.thread_time() < begin + TIMED:
            booster.next_round()
        return 100 * clock.seconds["own"] / (time.thread_time() - begin)


def losses(data: str) -> list[str]:
    """A table in Markdown: log10 loss, and test error in percent, after some seconds."""
    (curves,) = (each for each in curves_of_results(read_results(RUNS)) if each.data == data)
    pairs = [(metric, level) for metric in ("loss", "error") for level in SECONDS]
    rows = []
    for strategy in STRATEGIES:
        row = [f"`{strategy}`"]
        for metric, level in pairs:
            values = curves.at(metric, "seconds", level)[strategy].values()
            row.append(mean_std(list(values), metric))
        rows.append(row)
    return markdown.table(["", *(f"{metric}, {level} s" for metric, level in pairs)], rows)


def costs() -> list[str]:
    """A table in Markdown: milliseconds and computed values of a round, and overheads."""
    measured = pd.read_csv(MEASURED).set_index(["data", "strategy"])["percent"]
    table = read_results(RUNS).table
    last = table.sort_values("seconds").groupby(["data", "strategy", "repetition"]).tail(1)
    rows = []
    for strategy in STRATEGIES:
        row = [f"`{strategy}`", PAPER.get(strategy, "")]
        for data in DATA:
            runs = last[(last["data"] == data) & (last["strategy"] == strategy)]
            per_look = runs["values_computed"].sum() / runs["looks"].sum()
            row += [f"{measured[data, strategy]:.1f}", f"{per_look:.2f}"]
        rows.append(row)
    head = ["", "[DF11] 5.3, overhead in %"]
    for name in DATA.values():
        head += [f"{name}: overhead in %", "values per look"]
    return markdown.table(head, rows)


def blocks() -> dict[str, str]:
    made = {f"{title}, on demand": losses(name) for name, title in DATA.items()}
    made["Overheads and computed values"] = costs()
    return {title: "\n".join(lines) for title, lines in made.items()}


@click.command()
@data_dir_option
def main(data_dir: str | None) -> None:
    if data_dir is None:
        for title, table in blocks().items():
            click.echo(f"**{title}**\n\n{table}\n")
        return
    rows = []
    for name in DATA:
        data = load_dataset(name, data_dir=data_dir)
        for strategy in STRATEGIES:
            rows.append((name, strategy, round(own_share(data, strategy), 2)))
            click.echo(rows[-1])
    pd.DataFrame(rows, columns=["data", "strategy", "percent"]).to_csv(MEASURED, index=False)


if __name__ == "__main__":
    main()
