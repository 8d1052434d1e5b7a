"""Compares the engine with the strategy `full` and the naive twin, round by round.

Stumps of the engine whose edge is within 1e-6 of the largest one are followed, and the order of
splits whose gains are that near.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from boostsample.banks.bank import FeatureBank
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.data.datasets import load_dataset
from boostsample.labels import encode
from boostsample.learner import Found, LeafLimits, Targets
from boostsample.loop.booster import Booster
from boostsample.loop.shard_booster import ShardBooster
from boostsample.models.model import TermArrays
from boostsample.records import Round
from boostsample.registry import families_by_name
from boostsample.rows.weights import initial_weights
from boostsample.shards.exchange import LocalShards
from boostsample.shards.server import array_sources
from tests.compiled import slow_without_jit
from tests.learners.naive_learners import NaiveBooster, NaiveRound
from tests.problems import bank_of, noisy_labels, table

#: Largest difference: of edges, relative; of gamma and alpha; of log10 of the loss.
EDGE, ALPHA, LOSS = 1e-6, 1e-6, 1e-4

Seen = list[tuple[Found, Targets]]


class Comparison:
    """An engine and a twin on the same examples; `differences` tells how they are apart.

    `train` and `test` are rows of the bank, `Y` (n, K) the labels of all its rows, `weights` the
    initial label weights of the training rows, `limits` those of the twin's tree; `errors` are
    those on the test rows after each round, of the engine and of the twin.
    """

    def __init__(
        self,
        engine: Any,
        learner: str,
        bank: Any,
        train: Any,
        test: Any,
        Y: NDArray[np.int8],
        weights: NDArray[np.float64],
        **limits: Any,
    ) -> None:
        name, _, size = learner.partition(":")
        self.engine = engine
        self._bins, self._test_bins = bank.bins[:, train], bank.bins[:, test]
        step = engine.step_size
        settings = name, int(size or 1), weights, step.learning_rate, step.smoothing
        self.twin = NaiveBooster(self._bins, bank.n_bins, Y[train], *settings, **limits)
        self._y = Y[test].argmax(axis=1)
        self._scores = np.zeros((2, len(test), Y.shape[1]))
        self.differences: list[str] = []
        self.apart = {"edge": 0.0, "gamma": 0.0, "alpha": 0.0, "log10 loss": 0.0}
        self.errors: list[tuple[int, int]] = []
        self._seen: Seen = []
        self.engine._targets = self._watched  # to see each search

    def _watched(self) -> Targets:
        """The targets of all examples; searches are kept with their targets."""

        class Watched:
            objective = self.engine.objective

            def __call__(_, targets: Targets, two_sided: bool, limits: LeafLimits | None) -> Found:
                stump: Found = self.engine._search(targets, two_sided, limits)
                self._seen.append((stump, targets))
                return stump

        rows = self.engine._rows
        return Targets(rows, Watched(), (0, rows.n_examples))

    def next_round(self) -> None:
        """Train a round of both."""
        self._seen = []
        done = self.engine.next_round()
        stumps = [(stump.feature, stump.threshold) for stump, _ in self._seen]
        nodes = [self._node(targets) for _, targets in self._seen]
        in_model = [stump.search for stump, _ in self._seen if stump.row.get("term", 0) >= 0]
        twin = self.twin.next_round(stumps, [parent for parent, _ in nodes], in_model)
        self._compare_searches(twin)
        self._compare_rounds(done, twin)

    def _node(self, targets: Targets) -> tuple[int, int]:
        """The search of the parent and the side of it, -1 and 0 for all examples."""
        if not targets.path:
            return -1, 0
        parent, side = targets.path[-1]
        return parent.search, side

    def _compare_searches(self, twin: NaiveRound) -> None:
        self._same("searches", len(self._seen), len(twin.searches))
        for number, ((stump, targets), naive) in enumerate(
            zip(self._seen, twin.searches, strict=False)
        ):
            where = f"search {number}"
            self._same(f"{where}: node", self._node(targets), (naive.parent, naive.side))
            self._same(f"{where}: examples", targets.n_examples, naive.n_examples)
            self._same(
                f"{where}: stump",
                (stump.feature, stump.threshold),
                (naive.feature, naive.threshold),
            )
            if naive.least_sum > EDGE:
                self._same(f"{where}: votes", stump.votes.tolist(), naive.votes.tolist())
            self._near("edge", stump.edge, naive.edge, EDGE * naive.edge + 1e-9, where)
            self._same(f"{where}: in the model", stump.row.get("term", 0) >= 0, naive.in_model)

    def _compare_rounds(self, done: Round, twin: NaiveRound) -> None:
        arrays = TermArrays(done.terms, self._scores.shape[2])
        outputs = arrays.outputs(self._sides(done, self._bins))
        differ = int((outputs != twin.o).sum())
        self._same(f"outputs (least sum {twin.least_sum:.2g})", differ, 0)
        self._near("gamma", done.edge, twin.gamma, ALPHA, "")
        if not self.engine.stopped:
            self._near("alpha", done.terms[0].alpha, twin.alpha, ALPHA, "")
        loss = float(done.rows[-1]["log10_loss"])
        self._near("log10 loss", loss, self.twin.log10_loss, LOSS, "")
        self._same("ended", bool(self.engine.stopped), self.twin.ended)
        of_engine, of_twin = self._scores
        of_engine += done.terms[0].alpha * arrays.outputs(self._sides(done, self._test_bins))
        of_twin += twin.alpha * twin.outputs(self._test_bins)
        mistakes = [
            int((scores.argmax(axis=1) != self._y).sum()) for scores in (of_engine, of_twin)
        ]
        self._same("test errors", *mistakes)
        self.errors.append((mistakes[0], mistakes[1]))

    def _sides(self, done: Round, bins: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return np.array([bins[term.feature] >= term.threshold for term in done.terms])

    def _same(self, name: str, value: Any, other: Any) -> None:
        if value != other:
            self.differences.append(f"round {self.engine.round}, {name}: {value}, twin {other}")

    def _near(self, name: str, value: float, other: float, most: float, where: str) -> None:
        apart = abs(value - other)
        self.apart[name] = max(self.apart[name], apart)
        if not apart <= most:
            self._same(f"{where} {name}", value, f"{other}, apart by {apart:.2g}")


def named(learner: str, **limits: Any) -> str:
    """The engine's name of a learner such as `tree:9`, with the limits of a tree."""
    name, _, size = learner.partition(":")
    sizes = {"n_terms" if name == "product" else "n_leaves": size} if size else {}
    return ":".join([name, *(f"{key}={value}" for key, value in {**sizes, **limits}.items())])


def split_of(data: Dataset) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Train and test rows: of the digits 1257 and 540."""
    if data.name != "digits":
        return data.split(0, 0)
    train, test = train_test_split(np.arange(data.n_examples), test_size=540, random_state=0)
    return train, test


def bank_for(data: Dataset, train: NDArray[np.int64]) -> FeatureBank:
    """The bank of the raw pixels or columns."""
    name = "identity" if data.is_image else "columns"
    families = families_by_name([name], data.X.shape[1:], column_names=data.columns)
    return FeatureBank.build(families, data.X, train)


def comparison_on(
    data: Dataset, learner: str, learning_rate: float = 1.0, smoothing: float = 0.0
) -> Comparison:
    """A comparison on a data set."""
    train, test = split_of(data)
    bank, Y = bank_for(data, train), encode(data.y, data.n_classes)
    step: dict[str, Any] = {"learning_rate": learning_rate, "smoothing": smoothing}
    engine = Booster(bank, train, Y[train], "full", named(learner), 10**6, **step)
    weights = initial_weights(Y[train], "balanced")
    return Comparison(engine, learner, bank, train, test, Y, weights)


pytestmark = slow_without_jit


def compare(
    name: str, learner: str, n_rounds: int, data_dir: Path | None = None, **step_size: float
) -> None:
    data = load_dataset(name, data_dir=data_dir, download=False)
    compared = comparison_on(data, learner, **step_size)
    for _ in range(n_rounds):
        compared.next_round()
    assert compared.differences == []
    assert compared.errors[-1][0] < compared.errors[0][0]


@pytest.mark.parametrize("learner", ["stump", "tree:2", "tree:9", "product:1", "product:3"])
def test_digits(learner: str) -> None:
    compare("digits", learner, 15)


@pytest.mark.parametrize("learner", ["tree:19", "product:2"])
def test_thousands_of_rows(learner: str, data_dir: Path) -> None:
    compare("pendigits", learner, 2, data_dir)


@pytest.mark.parametrize("n_shards", [0, 3])
@pytest.mark.parametrize("n_labels", [1, 2, 3, 5, 10, 17])
@pytest.mark.parametrize("weighted", [False, True])
def test_trees_on_random_rows(n_labels: int, weighted: bool, n_shards: int) -> None:
    """Whole numbers, of which a fifth are missing: there are ties, and weights of 0."""
    n, rng = 70, np.random.default_rng(n_labels)
    X, Y = table(n, 5, 4, n_labels), noisy_labels(n, n_labels)
    X[:, :2] += 3 * Y[:, :1] * (rng.random((n, 2)) < 0.3)
    X[rng.random(X.shape) < 0.2] = np.nan
    weight = rng.integers(0, 4, n).astype(np.float64) if weighted else np.ones(n)
    for learner in ("tree:2", "tree:7"):
        compare_weighted(X, Y, weight, learner, n_shards, 4)


def compare_weighted(
    X: Any, Y: Any, weight: Any, learner: str, n_shards: int, n_rounds: int, **limits: Any
) -> None:
    """Some rounds on weighted rows, in shards or in one process (0)."""
    bank, rows = bank_of(X), np.flatnonzero(weight)
    label_weights = initial_weights(Y[rows], "balanced") * weight[rows, None]
    name, how = named(learner, **limits), dict[str, Any](n_rounds=99, rng=0)
    if n_shards:
        shards = LocalShards(array_sources(bank, Y, n_shards, weight))
        engine: Any = ShardBooster(shards, "full", name, **how)
    else:
        engine = Booster(bank, None, Y, "full", name, example_weight=weight, **how)
    compared = Comparison(engine, learner, bank, rows, rows, Y, label_weights, **limits)
    for _ in range(n_rounds):
        compared.next_round()
    assert compared.differences == []


@pytest.mark.parametrize("n_shards", [0, 3])
@pytest.mark.parametrize("n_labels", [1, 3, 10])
@pytest.mark.parametrize(
    "limits",
    [
        {"min_leaf": 9},
        {"min_weight": 0.3},
        {"max_depth": 3},
        {"min_leaf": 4, "min_weight": 0.1, "max_depth": 2},
    ],
    ids=str,
)
def test_trees_within_limits(limits: dict[str, Any], n_labels: int, n_shards: int) -> None:
    """The best cut of all within the limits; rows of weight 0 are no examples."""
    n, rng = 90, np.random.default_rng(n_labels)
    X, Y = table(n, 6, 4, n_labels), noisy_labels(n, n_labels)
    X[:, 0] = np.arange(n) == 7  # divides one row from the others
    X[rng.random(X.shape) < 0.2] = np.nan
    weight = rng.random(n) * (rng.random(n) < 0.8)
    compare_weighted(X, Y, weight, "tree:7", n_shards, 6, **limits)


def test_a_difference_is_found() -> None:
    compared = comparison_on(load_dataset("digits"), "tree:4")
    compared.twin.w[0] *= 1.1
    compared.next_round()
    assert any("edge" in line for line in compared.differences)
