"""Weights, labels and the bank cannot be reached from anything that a strategy is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import boostsample.loop.booster as booster_module
import boostsample.rows.weights as weights_module
from boostsample.banks.bank import Bank
from boostsample.family import Family
from boostsample.kernels.array_layout import Rows
from boostsample.ledger import Ledger
from boostsample.loop.booster import Booster
from boostsample.rows.local_rows import LocalRows
from boostsample.rows.searcher import Searcher
from boostsample.step import Step
from boostsample.strategy import Outcome, Pool, Strategy, Stump
from tests.problems import bank_of, noisy_labels, table

N, F, K = 80, 8, 3


SECRET = (
    Bank,
    Family,
    Ledger,
    Booster,
    Searcher,
    weights_module.SignedWeights,
    LocalRows,
    Rows,
)


def reachable(start: dict[str, Any]) -> list[tuple[str, Any]]:
    """Everything that public names lead to: attributes, items, bases of arrays."""
    reached, seen, todo = [], set(), list(start.items())
    while todo:
        path, thing = todo.pop()
        if id(thing) in seen or isinstance(thing, type | int | float | str | bytes | None):
            continue
        seen.add(id(thing))
        reached.append((path, thing))
        if type(thing).__module__.startswith("numpy.random"):
            continue  # a stream of random numbers, whatever it is made of
        if isinstance(thing, np.ndarray):  # its other attributes are endless views of it
            todo.append((f"{path}.base", thing.base))
            continue
        if isinstance(thing, Mapping):
            todo.extend((f"{path}[{key!r}]", value) for key, value in thing.items())
        elif isinstance(thing, Sequence):
            todo.extend((f"{path}[{i}]", value) for i, value in enumerate(thing))
        for name in dir(thing):
            if not name.startswith("_"):
                try:
                    value = getattr(thing, name)
                except (AttributeError, TypeError, ValueError):
                    continue
                if not callable(value):
                    todo.append((f"{path}.{name}", value))
    return reached


def test_weights_labels_and_bank_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets: list[NDArray[Any]] = []
    made: list[weights_module.SignedWeights] = []

    class Watched(weights_module.SignedWeights):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            made.append(self)

    monkeypatch.setattr(booster_module, "SignedWeights", Watched)
    paths: list[str] = []

    class Spy(Strategy):
        def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
            self.look({"pool": pool, "rng": rng})

        def choose(self, step: Step) -> Stump:
            exact, part = step.draw(N), step.draw(20, "distinct")
            stumps = step.search([1, 5, 2], exact)
            self.look(
                {
                    "step": step,
                    "exact": exact,
                    "part": part,
                    "stumps": stumps,
                    "some": stumps[[0, 2]],
                    "stump": stumps.best(),
                    "edges": step.edges(stumps, part),
                }
            )
            return stumps.best()

        def learn(self, outcome: Outcome) -> None:
            self.look({"outcome": outcome})

        def look(self, start: dict[str, Any]) -> None:
            for path, thing in reachable(start):
                paths.append(path)
                assert not isinstance(thing, SECRET), path
                if isinstance(thing, np.ndarray):
                    for secret in secrets:
                        assert not np.may_share_memory(thing, secret), path

    X, Y = table(), noisy_labels()
    bank = bank_of(X, groups=2)
    secrets.extend([X, Y, bank.bins, bank.cuts, bank.n_bins])
    booster = Booster(bank, None, Y, Spy(), rng=0)
    inside = vars(made[0])
    secrets.extend(value for value in inside.values() if isinstance(value, np.ndarray))
    assert len(secrets) > 8
    booster.next_round()
    assert {"step.families[1]", "stump.votes", "pool.families", "outcome"} <= set(paths)
    # A walk that looks into private names does find them: it is not blind.
    with pytest.raises(AssertionError, match="hidden"):
        Spy().look({"hidden": [booster]})
