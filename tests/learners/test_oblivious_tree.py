"""Oblivious trees beside a naive twin, their searches, and what they refuse."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from boostsample import BoostSampleClassifier
from boostsample.banks.bank import FeatureBank
from boostsample.banks.lazy import LazyBank
from boostsample.errors import SettingError
from boostsample.families.columns import Columns
from boostsample.labels import encode
from boostsample.learners import ObliviousTree
from boostsample.loop.booster import Booster
from boostsample.models.model import Model

RIDGE = 1e-3
ALL = "uniform-naive:n_features=4:scheme=distinct"


def table(n: int, n_classes: int, seed: int = 0) -> tuple[Any, Any]:
    """Four columns of few values, some missing, and labels that depend on two of them."""
    r = np.random.default_rng(seed)
    X = r.integers(0, 9, (n, 4)).astype(np.float32)
    X[r.random(X.shape) < 0.05] = np.nan
    y = (np.nan_to_num(X[:, 0]) // 3 + np.nan_to_num(X[:, 1]) // 4) % n_classes
    y = np.where(r.random(n) < 0.2, r.integers(0, n_classes, n), y).astype(np.int64)
    return X, y


def bank_of(X: Any) -> FeatureBank:
    return FeatureBank.build([Columns(range(X.shape[1]))], X)


def booster_of(X: Any, y: Any, learner: str, strategy: str = ALL, **settings: Any) -> Booster:
    Y = encode(y, int(y.max()) + 1)
    options: dict[str, Any] = {"budget": "100N", "rng": 0, "n_rounds": 9, **settings}
    return Booster(bank_of(X), np.arange(len(y)), Y, strategy, learner, **options)


def fit_of(weights: Any) -> float:
    """The sum over labels of S^2 / (M + ridge) of the rows with these signed weights (n, K)."""
    return math.fsum(weights.sum(0) ** 2 / (np.abs(weights).sum(0) + RIDGE))


def naive_levels(X: Any, signed: Any, depth: int) -> tuple[list[tuple[int, float]], Any]:
    """The cuts (feature, least value above) of the levels, and the leaf of each row."""
    code, cuts = np.zeros(len(X), int), list[tuple[int, float]]()
    for _ in range(depth):
        best, cut = sum(fit_of(signed[code == leaf]) for leaf in set(code)) + 1e-9, None
        for feature in range(X.shape[1]):
            # Missing values are below all others.
            for value in np.unique(X[:, feature]):
                above = X[:, feature] >= value
                if above.all() or np.isnan(value):
                    continue
                parts = itertools.product(set(code), (above, ~above))
                fit = sum(fit_of(signed[(code == leaf) & side]) for leaf, side in parts)
                if fit > best + 1e-12:
                    best, cut = fit, (feature, float(value))
        if cut is None:
            break
        cuts.append(cut)
        code = 2 * code + (X[:, cut[0]] >= cut[1])
    return cuts, code


@pytest.mark.parametrize("objective", ["mh", "real-mh"])
@pytest.mark.parametrize("n_classes", [2, 3, 20])
def test_rounds_are_those_of_the_twin(objective: str, n_classes: int) -> None:
    X, y = table(120, n_classes)
    booster = booster_of(X, y, "oblivious-tree:depth=3", objective=objective, learning_rate=0.5)
    Y = encode(y, n_classes)
    scores, e = np.zeros(Y.shape), 1.0 / Y.size
    start = np.abs(Y / Y.size) if n_classes == 2 else None
    if start is None:
        of_label = np.where(Y > 0, 1.0, 1.0 / (n_classes - 1))
        start = of_label / of_label.sum()
    for _ in range(4):
        signed = start * Y * np.exp(-Y * scores)
        loss = np.abs(signed).sum()
        signed /= loss
        cuts, code = naive_levels(X, signed, 3)
        done = booster.next_round()
        first = {term.search: term for term in reversed(done.terms)}
        of_terms = [(term.feature, term.value) for _, term in sorted(first.items())]
        assert [feature for feature, _ in of_terms] == [feature for feature, _ in cuts]
        for (feature, value), (_, above) in zip(of_terms, cuts, strict=True):
            values = X[:, feature]
            np.testing.assert_array_equal(values >= value, values >= above)
        sums = np.array([signed[code == leaf].sum(0) for leaf in range(8)])
        masses = np.array([np.abs(signed[code == leaf]).sum(0) for leaf in range(8)])
        edge = math.fsum(np.abs(sums).ravel())
        if objective == "mh":
            step = np.where(sums < 0, -1.0, 1.0) * 0.25 * math.log((1 + edge) / (1 - edge))
        else:
            values = 0.5 * np.log((masses + sums + 2 * e) / (masses - sums + 2 * e))
            step = 0.5 * values
            right, wrong = (masses + sums) / 2, (masses - sums) / 2
            z = math.fsum((right * np.exp(-values) + wrong * np.exp(values)).ravel())
            edge = math.sqrt(1.0 - z * z)
        scores += step[code]
        added = Model([Columns(range(4))], done.terms, Y.shape[1]).decision_function(X)
        np.testing.assert_allclose(added, step[code], rtol=2e-4, atol=1e-6)
        after = np.log10(np.sum(start * np.exp(-Y * scores)))
        assert done.rows[-1]["log10_loss"] == pytest.approx(after, abs=1e-5)
        assert len(done.rows) == len(cuts)
        assert done.edge == pytest.approx(edge, rel=1e-5)
        assert [row["edge_estimated"] for row in done.rows] == [row["edge"] for row in done.rows]


def test_a_level_is_one_search_on_a_sample() -> None:
    X, y = table(1000, 2)
    strategy = "uniform-naive:n_features=2:scheme=distinct"
    booster = booster_of(X, y, "oblivious-tree:depth=4", strategy, budget="1.2N")
    done = booster.next_round()
    assert len(done.rows) == 4
    for search, row in enumerate(done.rows):
        assert (row["search"], row["n_features"], row["n_examples"]) == (search, 2, 600)
        assert (row["looks_search"], row["looks_finish"]) == (1200, 1000)
        assert row["term"] == next(at for at, t in enumerate(done.terms) if t.search == search)
    features = {row["feature"] for _ in range(9) for row in booster.next_round().rows}
    assert features == {0, 1, 2, 3}
    # Few features of many are drawn as well.
    strategy = strategy.replace("n_features=2", "n_features=1")
    one = booster_of(np.tile(X, 10), y, "oblivious-tree", strategy)
    assert {row["n_features"] for row in one.next_round().rows} == {1}


@pytest.mark.parametrize("objective", ["mh", "real-mh"])
def test_nodes_without_examples(objective: str) -> None:
    """They are worth 0 with values, and vote as the node above them."""
    X = np.array([[0, 0], [0, 0], [0, 1], [1, 1], [1, 1], [1, 1]], np.float32)
    y = np.array([0, 0, 1, 1, 1, 0])
    strategy = "uniform-naive:n_features=2:scheme=distinct"
    booster = booster_of(X, y, "oblivious-tree:depth=2", strategy, objective=objective)
    done = booster.next_round()
    assert [row["feature"] for row in done.rows] == [1, 0]
    model = Model([Columns(range(2))], done.terms, 1)
    empty, filled = model.decision_function(np.array([[1, 0], [0, 0]], np.float32))
    assert filled < 0
    assert empty == (0.0 if objective == "real-mh" else filled)


def test_edges_are_estimated_on_the_sample() -> None:
    X, y = table(1000, 2)
    done = booster_of(X, y, "oblivious-tree:depth=3", budget="2N").next_round()
    for row in done.rows:
        assert row["edge_estimated"] != row["edge"]
        assert row["edge_estimated"] == pytest.approx(row["edge"], abs=0.1)


@pytest.mark.parametrize("learning_rate", [0.2, 1.0])
def test_a_constant_table_has_a_base_classifier_without_cuts(learning_rate: float) -> None:
    """It ends the training as for other learners, unless later searches read other rows."""
    X, y = np.zeros((20, 4), np.float32), np.arange(20) % 2
    for budget in ("4N", "2N"):
        learner = "oblivious-tree"
        booster = booster_of(X, y, learner, budget=budget, learning_rate=learning_rate)
        done = booster.next_round()
        assert (len(done.rows), len(done.terms), done.rows[0]["edge"]) == (1, 1, 0.0)
        ended = "edge 0: all features were searched on all examples, none has an edge"
        assert booster.stopped == (ended if budget == "4N" else "")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strategy": "laminating"}, "one sample of different examples, which Laminating does not"),
        ({"strategy": "uniform-naive"}, "use the strategy uniform-naive:n_features=Q:scheme=dist"),
        ({"strategy": "uniform-naive:n_features=2"}, "or the learner tree"),
        ({"objective": "m1"}, "the objective 'm1' does not; use mh or real-mh"),
        ({"max_model_features": 4}, "got max_model_features=4; leave it out"),
        ({"budget_kind": "growing"}, "has equal budgets, got 'growing'; use equal ones, or"),
        ({"strategy": "full", "max_model_features": 4}, "no limit on the features of a model"),
    ],
)
def test_it_refuses_what_it_cannot_grow(settings: dict[str, Any], message: str) -> None:
    X, y = table(50, 3)
    with pytest.raises(SettingError, match=message):
        booster_of(X, y, "oblivious-tree", **settings)


def test_it_needs_a_bank_in_memory() -> None:
    X, y = table(50, 2)
    bank = LazyBank([Columns(range(4))], X)
    with pytest.raises(SettingError, match="use bank='memory' without shards, or the learner tree"):
        Booster(bank, np.arange(50), encode(y), ALL, ObliviousTree(3))


def test_depths_out_of_range() -> None:
    for depth in (0, 13):
        with pytest.raises(SettingError, match=f"depth must be .*, got {depth}"):
            ObliviousTree(depth)


def test_runs_are_restored_and_threads_change_nothing() -> None:
    X, y = table(300, 2)
    settings: dict[str, Any] = {"budget": "2N", "objective": "real-mh", "learning_rate": 0.3}
    whole = booster_of(X, y, "oblivious-tree:depth=5", n_jobs=3, **settings)
    edges = [whole.next_round().edge for _ in range(6)]
    first = booster_of(X, y, "oblivious-tree:depth=5", **settings)
    rounds = [first.next_round() for _ in range(3)]
    for way in ("restore", "replay"):
        second = booster_of(X, y, "oblivious-tree:depth=5", **settings)
        if way == "restore":
            second.restore(first.state())
        else:
            terms, of_rounds = [done.terms for done in rounds], [done.edge for done in rounds]
            second.replay(terms, of_rounds, first.small_state())
        assert [second.next_round().edge for _ in range(3)] == edges[3:]
    assert [done.edge for done in rounds] == edges[:3]


class Ended(Exception):
    """Raised with the learner of the first booster of a fit."""


def test_the_classifier_has_them_for_two_classes_and_few_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = table(400, 2)
    named = BoostSampleClassifier(learner="oblivious-tree:depth=4", objective="real-mh")
    named.set_params(random_state=0).fit(X, y)
    scores = named.decision_function(X)
    default = BoostSampleClassifier(random_state=0).fit(X, y)
    np.testing.assert_array_equal(default.decision_function(X), scores)
    # Contributions and importances are those of any tree.
    parts = named.contributions(X[:20])
    np.testing.assert_allclose(parts.base + parts.values.sum(axis=1), scores[:20], atol=1e-9)

    def end(bank: Any, rows: Any, Y: Any, strategy: Any, learner: Any, **settings: Any) -> None:
        raise Ended(learner)

    monkeypatch.setattr("boostsample.classifier.fit_run.Booster", end)
    others: list[dict[str, Any]] = [
        {"learner": "auto:n_leaves=16"},
        {"n_rounds": 20},
        {"early_stopping": True},
        {"max_model_features": 3},
        {"budget": "2N"},
        {"strategy": "ucb"},
        {"bank": "lazy"},
        {"objective": "gentle"},
    ]
    for settings in ({}, *others):
        with pytest.raises(Ended, match="^tree" if settings else "^oblivious-tree"):
            BoostSampleClassifier(random_state=0, **settings).fit(X, y)
