"""Small problems and engine parts for the tests of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.banks.bank import Bank, FeatureBank
from boostsample.families import Columns, column_groups
from boostsample.family import Family
from boostsample.loop.booster import Booster
from boostsample.planning.costs import Ledger
from boostsample.rows.local_rows import LocalRows
from boostsample.rows.weights import SignedWeights
from boostsample.step import Step
from boostsample.strategy import Strategy, Stump


class Powers(Family):
    """Feature j is column j % d to the power of 1 + j // d, in row-major memory."""

    def __init__(self, n_columns: int, n_features: int, name: str = "powers") -> None:
        self.n_columns = n_columns
        self.n_features = n_features
        self.name = name
        self.asked: list[list[int]] = []

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        wanted = np.asarray(features)
        self.asked.append(wanted.tolist())
        factors = np.asarray(X[:, wanted % self.n_columns], np.float32)
        values = factors.copy()
        for power in range(1, 1 + int(wanted.max(initial=0)) // self.n_columns):
            # Multiplied one by one: the bits of NumPy's powers depend on the neighbours.
            higher = wanted // self.n_columns >= power
            values[:, higher] *= factors[:, higher]
        return np.ascontiguousarray(values)

    def feature_name(self, feature: SupportsIndex) -> str:
        power, column = divmod(feature.__index__(), self.n_columns)
        return f"column {column} to the power of {power + 1}"


def powers() -> list[Powers]:
    """Two families, 11 features of tables of at least 3 columns."""
    return [Powers(3, 7, "first"), Powers(2, 4, "second")]


def three_powers() -> list[Family]:
    """Three families, 22 features of `uneven_columns`."""
    return [Powers(4, 9, "first"), Powers(2, 3, "second"), Powers(3, 10, "third")]


def uneven_columns(n: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Columns (n, 4) of many values and of few, some of them missing."""
    values = rng.normal(size=(n, 4)).astype(np.float32)
    values[:, 1] = np.round(2 * values[:, 1])
    values[rng.random(n) < 0.1, 2] = np.nan
    return values


def asked_of(families: Sequence[Powers]) -> list[list[int]]:
    """What the families were asked for, call by call."""
    return [features for family in families for features in family.asked]


def same_bits(bank: FeatureBank, other: FeatureBank) -> bool:
    """Whether two banks are equal to the bit."""
    return all(
        getattr(bank, name).tobytes() == getattr(other, name).tobytes()
        for name in ("bins", "cuts", "n_bins", "first")
    )


def table(n: int = 80, n_features: int = 8, top: int = 9, seed: int = 0) -> NDArray[np.float32]:
    """Whole numbers 0 .. top - 1."""
    return np.random.default_rng(seed).integers(0, top, (n, n_features)).astype(np.float32)


def noisy_labels(n: int = 80, n_labels: int = 3, seed: int = 1) -> NDArray[np.int8]:
    """One +1 a row; a random sign for n_labels = 1."""
    codes = np.random.default_rng(seed).integers(0, max(2, n_labels), n)
    if n_labels == 1:
        return np.where(codes == 1, 1, -1).astype(np.int8)[:, None]
    return np.where(np.arange(n_labels) == codes[:, None], 1, -1).astype(np.int8)


def bank_of(X: NDArray[Any], rows: Any = None, groups: int = 1) -> FeatureBank:
    """A bank of the columns of X, as one family or dealt out to several."""
    d = X.shape[1]
    if groups == 1:
        return FeatureBank.build([Columns(range(d))], X, rows)
    parts = {f"part {g}": range(g * d // groups, (g + 1) * d // groups) for g in range(groups)}
    return FeatureBank.build(column_groups(parts, n_columns=d), X, rows)


def step_of(
    bank: Bank,
    Y: NDArray[np.int8],
    label_weights: NDArray[np.float64] | None = None,
    budget: int = 10**12,
    seed: int = 0,
    two_sided: bool = False,
) -> Step:
    """A step of the first round, outside of any booster."""
    u = np.ones(Y.shape) if label_weights is None else label_weights
    rows = LocalRows(bank, SignedWeights(Y, u, np.arange(len(Y))))
    return Step(
        rows.target((0, len(Y)), (), two_sided),
        Ledger("a strategy", budget),
        np.random.default_rng(seed),
        bank.family_infos(),
        (1, 1),
    )


def local_rows(booster: Booster) -> LocalRows:
    """The rows of a booster in this process."""
    rows = booster._rows
    assert isinstance(rows, LocalRows)
    return rows


def perfect(n: int = 40) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
    """Two classes that feature 1 tells apart."""
    X, Y = table(n, 3), noisy_labels(n, 1)
    X[:, 1] = Y[:, 0]
    return X, Y


class Do(Strategy):
    """A strategy whose `choose` is a function: for tests of what strategies may not do."""

    def __init__(self, chooser: Callable[[Step], Stump]) -> None:
        self.chooser = chooser

    def choose(self, step: Step) -> Stump:
        return self.chooser(step)


def booster_of(chooser: Callable[[Step], Stump] | Strategy, **settings: Any) -> Booster:
    """A booster on 80 examples, 8 features in 2 families and 3 labels."""
    strategy = chooser if isinstance(chooser, Strategy) else Do(chooser)
    named: dict[str, Any] = {"rng": 0, "n_rounds": 5, **settings}
    return Booster(bank_of(table(), groups=2), None, noisy_labels(), strategy, **named)


def rows_of(booster: Booster, rounds: int) -> list[dict[str, Any]]:
    """History rows of the next rounds, without the seconds."""
    rows = [row for _ in range(rounds) for row in booster.next_round().rows]
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


def stumps_of(booster: Booster, rounds: int) -> list[tuple[Any, ...]]:
    """What the next rounds add to the model, exactly."""
    terms: Sequence[Any] = [t for _ in range(rounds) for t in booster.next_round().terms]
    return [(t.feature, t.threshold, t.value, t.votes.tolist(), t.alpha) for t in terms]


def resumed(make: Callable[[int], Booster], n_rounds: int) -> Iterator[tuple[Booster, Booster]]:
    """A run, and boosters that have gone on to its end from the state of each of its rounds.

    `make` makes a booster of a seed. The boosters have other seeds and go on from the whole state,
    from terms and the small state, and from the first round again.
    """
    straight = make(0)
    done, states = [], [(straight.state(), straight.small_state())]
    for _ in range(n_rounds):
        done.append(straight.next_round())
        states.append((straight.state(), straight.small_state()))
    for at, (state, small) in enumerate(states[:-1]):
        by_state, by_terms = make(5), make(7)
        by_state.restore(state)
        by_terms.replay([d.terms for d in done[:at]], [d.edge for d in done[:at]], small)
        for run in (by_state, by_terms):
            rows_of(run, n_rounds - at)
            yield straight, run
        by_state.restore(states[0][0])
        rows_of(by_state, n_rounds)
        yield straight, by_state
