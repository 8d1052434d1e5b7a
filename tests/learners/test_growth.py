"""Trees that are grown in one call are those that single searches make."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from boostsample.banks.bank import FeatureBank
from boostsample.errors import SettingError, StrategyError
from boostsample.families.columns import Columns
from boostsample.labels import encode
from boostsample.learners.tree import Tree
from boostsample.loop.booster import Booster
from boostsample.objective import AdaBoostMH, Objective
from boostsample.objectives import SAMME, AdaBoostM1
from boostsample.records import NodeFeatures, Outcome, Pool, Round, Stump
from boostsample.step import Step
from boostsample.strategies import AdaptiveHalving, Screening, UniformNaive
from boostsample.strategy import Strategy
from tests.compiled import COMPILED


class OneByOne(Tree):
    """The same tree, by single searches."""

    def growth(self) -> int:
        return 0


class OwnGain(AdaBoostMH):
    """Has a method of its own."""

    def gain(self, sums: Any, whole: Any) -> float:
        return super().gain(sums, whole)


class Learning(UniformNaive):
    """Counts what it is told."""

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        super().start(pool, budget, n_rounds, rng)
        self.n_outcomes_ = 0

    def learn(self, outcome: Outcome) -> None:
        self.n_outcomes_ += 1


class Choosing(UniformNaive):
    """Chooses other stumps."""

    def choose(self, step: Step) -> Stump:
        features = np.arange(step.n_features)
        return step.search(features, step.draw(1)).best()


class OwnPool(AdaptiveHalving):
    """Nodes draw three features of another pool."""

    drawn: ClassVar[NodeFeatures]

    def features_of_nodes(self) -> NodeFeatures:
        return self.drawn


def booster(
    X: Any, y: Any, learner: Tree, strategy: Any = None, rows: Any = None, **settings: Any
) -> Booster:
    """A booster whose searches are of all features, or some, on seven tenths of the examples."""
    bank = FeatureBank.build([Columns(range(X.shape[1]))], X)
    if strategy is None:
        strategy = UniformNaive(n_features=X.shape[1], scheme="distinct")
    n_searched = getattr(strategy, "n_features", None) or X.shape[1]
    budget = f"{0.7 * n_searched:g}N"
    rows = np.arange(len(X)) if rows is None else rows
    Y = encode(y, int(y.max()) + 1)[rows]
    return Booster(bank, rows, Y, strategy, learner, 20, budget, rng=0, **settings)


def trained(run: Booster, n_rounds: int) -> list[Round]:
    """Some rounds."""
    rounds: list[Round] = []
    while not run.finished and len(rounds) < n_rounds:
        rounds.append(run.next_round())
    return rounds


def plain(rounds: list[Any]) -> list[Any]:
    """All that rounds hold, without their seconds."""
    terms = [
        [
            (*(getattr(t, a) for a in ("feature", "threshold", "value", "alpha", "search")),
             t.parent, t.side, t.votes.tolist(), t.below.tolist())
            for t in done.terms
        ]
        for done in rounds
    ]  # fmt: skip
    rows = [[row | {"seconds": 0.0} for row in done.rows] for done in rounds]
    return [terms, rows, [[*row] for row in rounds[0].rows], [done.edge for done in rounds]]


def table(kind: str) -> tuple[Any, Any]:
    """Tables of several kinds: X and y."""
    rng = np.random.default_rng(5)
    n, n_classes = {
        "two classes": (60, 2),
        "many labels": (90, 20),
        "many rows": (9000 if COMPILED else 70, 4),
        "few rows": (7, 2),
        "separable": (60, 3),
    }.get(kind, (80, 3))
    X = rng.integers(0, 2 if kind == "ties" else 30, (n, 8)).astype(np.float32)
    y = (X[:, 0] + X[:, 3] + rng.integers(0, 20, n)).astype(np.int64) % n_classes
    y[:n_classes] = np.arange(n_classes)
    if kind == "separable":
        X[:, 2] = y
    elif kind == "constant":
        X[:] = 1.0
    elif kind == "missing":
        X[rng.random(X.shape) < 0.3] = np.nan
    return X, y


def require_the_same_trees(X: Any, y: Any, n_leaves: int, **settings: Any) -> None:
    """Trees of one call and of single searches have the same terms, rows and state."""
    runs = [booster(X, y, learner(n_leaves), **settings) for learner in (Tree, OneByOne)]
    assert [run._grows for run in runs] == [True, False]
    grown, single = (plain(trained(run, 6)) for run in runs)
    assert grown == single
    np.testing.assert_equal(runs[0].small_state(), runs[1].small_state())


KINDS = (
    *("two classes", "three classes", "many labels", "many rows", "few rows", "separable"),
    *("ties", "constant", "missing"),
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_leaves", [2, 3, 16])
def test_grown_trees_are_those_of_single_searches(kind: str, n_leaves: int) -> None:
    X, y = table(kind)
    require_the_same_trees(X, y, n_leaves, learning_rate=0.5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("objective", ["real-mh", "info", "gentle", "bagging", "rank"])
def test_trees_of_other_objectives_grow_in_one_call(kind: str, objective: str) -> None:
    X, y = table(kind)
    if objective == "rank":
        y = y % 2
    learning_rate = 1.0 if objective == "bagging" else 0.5
    require_the_same_trees(X, y, 8, learning_rate=learning_rate, objective=objective)


@pytest.mark.parametrize("objective", [AdaBoostM1(), SAMME(), OwnGain()])
def test_objectives_with_other_worth_are_searched_one_by_one(objective: Objective) -> None:
    X, y = table("three classes")
    run = booster(X, y, Tree(6), objective=objective)
    assert not run._grows
    assert trained(run, 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_features", [6, 7])
def test_features_may_be_drawn_for_each_search(kind: str, n_features: int) -> None:
    X, y = table(kind)
    strategy = UniformNaive(n_features=n_features, scheme="distinct")
    require_the_same_trees(X, y, 16, strategy=strategy)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("node_sample", "objective"), [(0.5, "real-mh"), (0.8, "mh")])
def test_nodes_grow_below_a_root(kind: str, node_sample: float, objective: str) -> None:
    """Also where the best features are remembered, and where half of a cut is empty."""
    X, y = table(kind)
    strategy = AdaptiveHalving(node_sample=node_sample)
    require_the_same_trees(X, y, 16, strategy=strategy, learning_rate=0.5, objective=objective)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_features", [2, 7, 8])
def test_nodes_grow_of_a_pool_of_features(
    kind: str, n_features: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn by their chances of a large pool, else alike, or all of a small one."""
    monkeypatch.setattr("boostsample.strategies.screening._LARGE_POOL", 2)
    monkeypatch.setattr("boostsample.strategies.screening._MANY", 10_000)
    X, y = table(kind)
    strategy = Screening(n_features=n_features)
    require_the_same_trees(X, y, 16, strategy=strategy, learning_rate=0.5)


@pytest.mark.parametrize("learner", [Tree, OneByOne])
@pytest.mark.parametrize(
    ("drawn", "message"),
    [
        (NodeFeatures(0), "n of NodeFeatures must be an integer at least 1, got 0"),
        (NodeFeatures(3, again=np.array([2, 8])), "again .* features from 0 to 7, got 8; see"),
        (NodeFeatures(3, pool=np.array([2, -1])), "pool .* features from 0 to 7, got -1; see"),
        (NodeFeatures(1, pool=np.array([2, 1]), ends=np.ones(3)), "ends .* must be 2, .* got 3"),
    ],
)
def test_wrong_features_of_nodes_are_refused(
    learner: Any, drawn: NodeFeatures, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OwnPool, "drawn", drawn, raising=False)
    run = booster(*table("three classes"), learner(6), OwnPool(node_sample=0.8))
    with pytest.raises(SettingError, match=message):
        run.next_round()


def test_features_of_nodes_must_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OwnPool, "features_of_nodes", Strategy.features_of_nodes)
    run = booster(*table("three classes"), Tree(6), OwnPool(node_sample=0.8))
    with pytest.raises(StrategyError, match=r"features_of_nodes\(\) of OwnPool must be written"):
        run.next_round()


def test_more_features_of_nodes_than_were_declared_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There is room for 7: 5.6 N looks on eight tenths of the examples."""
    run = booster(*table("three classes"), Tree(6), OwnPool(node_sample=0.8))
    monkeypatch.setattr(OwnPool, "drawn", NodeFeatures(7), raising=False)
    run.next_round()
    monkeypatch.setattr(OwnPool, "drawn", NodeFeatures(8))
    with pytest.raises(SettingError, match=r"must be at most the 7 features of .*, got 8"):
        run.next_round()


@pytest.mark.parametrize("learner", [Tree, OneByOne])
def test_a_pool_with_repeats_has_fewer_features(
    learner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = NodeFeatures(4, pool=np.array([5, 5, 2, 2, 5]))
    monkeypatch.setattr(OwnPool, "drawn", drawn, raising=False)
    run = booster(*table("three classes"), learner(6), OwnPool(node_sample=0.8))
    of_nodes = trained(run, 1)[0].rows[1:]
    assert {row["n_features"] for row in of_nodes} == {2}
    assert {row["feature"] for row in of_nodes} <= {2, 5}


@pytest.mark.parametrize("rows", [np.arange(20, 70), np.arange(0, 80, 2)[::-1].copy()])
def test_rows_may_be_any_of_the_bank(rows: Any) -> None:
    X, y = table("three classes")
    require_the_same_trees(X, y, 6, rows=rows, example_weight=np.linspace(0.0, 2.0, rows.size))


@pytest.mark.parametrize(
    "strategy",
    [
        UniformNaive(n_features=6, scheme="distinct"),
        AdaptiveHalving(node_sample=0.8),
        Screening(n_features=3),
    ],
)
def test_trees_of_shuffled_features_are_searched_one_by_one(strategy: Any) -> None:
    """Rows and terms name the features of the bank: edges of roots are those of their cuts."""
    X, y = table("two classes")
    run = booster(X, y, Tree(6), strategy, objective="mh")
    run.shuffle_features(np.random.default_rng(3))
    assert not run._grows
    signs = np.where(y == 1, 1.0, -1.0)
    for _ in range(3):
        weights = run.example_weights()
        done = run.next_round()
        root, term = done.rows[0], done.terms[0]
        assert (root["feature"], root["threshold"]) == (term.feature, term.value)
        phi = np.where(X[:, term.feature] >= term.value, 1, -1)
        sides = [abs(weights[phi == side] @ signs[phi == side]) for side in (-1, 1)]
        assert root["edge"] == pytest.approx(sum(sides), abs=1e-6)


def test_budgets_without_a_limit_grow_the_trees_of_a_large_one() -> None:
    """Though budget times examples exceeds 64 bits."""
    X, y = table("three classes")
    bank, Y = FeatureBank.build([Columns(range(X.shape[1]))], X), encode(y, 3)
    runs = [
        Booster(bank, None, Y, AdaptiveHalving(node_sample=0.5), learner, 9, budget, rng=0)
        for learner in (Tree(6), OneByOne(6))
        for budget in (10**6, 2**59 + 12_345)
    ]
    assert [run._grows for run in runs] == [True, True, False, False]
    first, *others = [plain(trained(run, 4)) for run in runs]
    assert all(other == first for other in others)


def test_a_grown_run_can_be_replayed() -> None:
    X, y = table("three classes")
    run, other = (booster(X, y, Tree(6)) for _ in range(2))
    rounds = trained(run, 4)
    other.replay([done.terms for done in rounds], [done.edge for done in rounds], run.small_state())
    assert plain(trained(other, 2)) == plain(trained(run, 2))


@pytest.mark.parametrize(
    ("learner", "strategy"),
    [
        (Tree(6, min_leaf=2), None),
        (Tree(6, min_weight=0.01), None),
        (Tree(6, max_depth=2), None),
        (Tree(6), UniformNaive(n_features=None, scheme="distinct")),
        (Tree(6), UniformNaive(n_features=8, scheme="mvs")),
        (Tree(6), Learning(n_features=8, scheme="distinct")),
        (Tree(6), Choosing(n_features=8, scheme="distinct")),
    ],
)
def test_other_trees_and_strategies_search_one_by_one(learner: Tree, strategy: Any) -> None:
    X, y = table("three classes")
    run = booster(X, y, learner, strategy)
    assert not run._grows
    n_searches = sum(len(done.rows) for done in trained(run, 2))
    assert getattr(run.strategy, "n_outcomes_", n_searches) == n_searches


def test_small_nodes_that_need_all_examples_are_searched_one_by_one() -> None:
    X, y = table("three classes")
    assert booster(X, y, Tree(6))._grows
    assert not booster(X[:, :4], y, Tree(6))._grows
