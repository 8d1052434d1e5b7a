"""Objectives in the classifier, in files and with what they do not take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris

from boostsample import Booster, BoostSampleClassifier, boost
from boostsample.classifier.fit_run import FitRun
from boostsample.errors import DataError, SettingError, StrategyError
from boostsample.labels import encode
from boostsample.objectives import GentleBoost
from boostsample.records import Round
from boostsample.registry import OBJECTIVES, make_objective
from boostsample.rows.searcher import SearchRules
from tests.compiled import slow_without_jit
from tests.loop.checkpoint_runs import bits
from tests.problems import bank_of, noisy_labels, table

pytestmark = slow_without_jit

Data = tuple[NDArray[Any], NDArray[Any]]


def data_for(objective: str) -> Data:
    X, y = (
        load_breast_cancer(return_X_y=True) if objective == "rank" else load_iris(return_X_y=True)
    )
    return X.astype(np.float32)[::2], y[::2]


@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=4"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_models_of_the_classifier(objective: str, learner: str, tmp_path: Path) -> None:
    """Files keep scores and the objective; contributions add up to the score."""
    X, y = data_for(objective)
    settings: dict[str, Any] = {"learning_rate": 1.0} if objective == "bagging" else {}
    model = BoostSampleClassifier(
        objective=objective, learner=learner, n_rounds=15, random_state=0, **settings
    ).fit(X, y)
    scores = model.decision_function(X)
    assert model.score(X, y) > 0.6
    assert np.all(np.isfinite(model.predict_proba(X)))
    model.save(tmp_path / "model.bsm")
    loaded = BoostSampleClassifier.load(tmp_path / "model.bsm")
    assert loaded.decision_function(X).tobytes() == scores.tobytes()
    assert loaded.objective == objective
    assert model.term_importances_.sum() > 0 or len(model.history_) == 1
    found = model.contributions(X[:20])
    added = found.base + found.values.sum(axis=1)
    np.testing.assert_allclose(added, scores[:20], atol=1e-9)


def run(objective: str, checkpoint: Path | None, n_rounds: int) -> list[Round]:
    Y = noisy_labels(80, 1 if objective == "rank" else 4)
    settings: dict[str, Any] = {"objective": objective, "checkpoint": checkpoint}
    return list(
        boost(bank_of(table()), None, Y, "uniform-naive", n_rounds=n_rounds, rng=3, **settings)
    )


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_checkpoints_continue(objective: str, tmp_path: Path) -> None:
    whole = run(objective, None, 8)
    run(objective, tmp_path / "run.npz", 5)
    continued = run(objective, tmp_path / "run.npz", 8)
    assert bits(continued) == bits(whole)


def booster(objective: Any, learner: str = "stump", n_labels: int = 3, **settings: Any) -> Booster:
    strategy = settings.pop("strategy", "full")
    Y = settings.pop("Y", noisy_labels(80, n_labels))
    made = Booster(bank_of(table()), None, Y, strategy, learner, objective=objective, **settings)
    for _ in range(3):
        made.next_round()
    return made


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "real-mb"}, r"unknown objective 'real-mb' \(did you mean 'real-mh'\?\)"),
        ({"objective": 3}, "objective must be a name or an instance of Objective, got 3"),
        ({"objective": "gentle", "learner": "product"}, "products multiply opposite votes"),
        ({"objective": "m1", "learner": "product"}, "products multiply opposite votes"),
        ({"objective": "real-mh:abstains=1", "learner": "tree"}, "abstains=True is for stumps"),
        ({"objective": "real-mh:abstains=no"}, "abstains must be True or False, got 'no'"),
        *(
            (
                {"objective": name, "smoothing": 0.1},
                f"smoothing must be 0 with the objective '{name}', .* got 0.1; use smoothing=0",
            )
            for name in ("real-mh", "info", "gentle", "bagging")
        ),
        ({"objective": "bagging", "learning_rate": 0.5}, "bagging has votes of equal weight"),
        ({"objective": "rank"}, "the objective 'rank' is for two classes, got 3 labels"),
        (
            {"objective": "samme", "strategy": "uniform-naive:scheme=filter", "budget": "2N"},
            "draws by logistic weights need weights in proportion to exp",
        ),
        ({"objective": "m1", "scores": np.zeros((80, 3))}, "do not follow from the scores"),
    ],
)
def test_settings_that_do_not_fit(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        booster(**settings)


@pytest.mark.parametrize("objective", ["real-mh", "info", "gentle"])
def test_products_are_refused_before_labels_are_multiplied_by_values(objective: str) -> None:
    """Of a constant feature they are 0, and so would be all weights."""
    Y = np.array([[1], [-1], [1], [-1]], np.int8)
    made = Booster(
        bank_of(np.ones((4, 2), np.float32)),
        None,
        Y,
        "weight-trimming",
        "product",
        objective=objective,
        rng=0,
    )
    with pytest.raises(SettingError, match="products multiply opposite votes"):
        made.next_round()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"Y": np.ones((80, 3), np.int8)}, "needs one class for each example"),
        ({"objective": "rank", "n_labels": 1, "groups": np.arange(80)}, "needs a query with"),
        ({"objective": "rank", "n_labels": 1, "groups": [1, 2]}, "groups must be one query for"),
        *(
            ({"objective": "rank", "n_labels": 1, "groups": groups}, message)
            for groups, message in (
                ([*[1.0] * 79, np.nan], "a query for each example, but contain nan"),
                (np.array([*["a"] * 79, None], object), "a query for each example, but contain"),
                (np.array([*[1] * 79, "NaT"], "M8[ns]"), "a query for each example, but contain"),
                (np.array([*["a"] * 79, 1], object), "groups must be queries of one kind"),
            )
        ),
    ],
)
def test_data_that_do_not_fit(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        booster(**{"objective": "samme", **settings})


@pytest.mark.parametrize("strategy", ["uniform-naive", "cost-aware", "laminating", "mas-naive"])
@pytest.mark.parametrize("objective", ["real-mh", "samme", "rank", "bagging"])
def test_sampled_strategies(objective: str, strategy: str) -> None:
    """Edges are between 0 and 1, and a look costs what it costs."""
    rng, n = np.random.default_rng(0), 600
    Y = noisy_labels(n, 1 if objective == "rank" else 5)
    X = table(n, 70, 9)
    X[:, :5] += 4 * (Y[:, :1] > 0) * (rng.random((n, 1)) < 0.7)
    made = Booster(bank_of(X), None, Y, strategy, objective=objective, budget="10N", rng=1)
    first = made.next_round().edge
    for _ in range(12):
        for row in made.next_round().rows:
            assert 0.0 <= row["edge"] <= 1.0
            assert row["looks_search"] + row["looks_modelling"] <= 10 * n
    assert first > 0.0


@pytest.mark.parametrize("n_labels", [1, 3, 26])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_whether_a_mass_bounds_edges(objective: str, n_labels: int) -> None:
    made = make_objective(objective)
    made.check(n_labels if objective != "rank" else 1, one_search=True)
    rules = SearchRules(made.two_sided, made.classes, made.maps_edges)
    assert rules.bounds_edges == (objective != "samme" or n_labels == 1)


def test_groups_of_rank_are_the_queries() -> None:
    """Labels that only order examples within a query."""
    rng, n = np.random.default_rng(1), 400
    groups = rng.integers(0, 20, n)
    value = rng.random(n)
    y = value > 0.5
    X = (value + 10.0 * groups).astype(np.float32)[:, None]
    X = np.hstack([X, value[:, None].astype(np.float32)])
    Y = np.where(y, 1, -1).astype(np.int8)[:, None]
    made = Booster(bank_of(X), None, Y, "full", objective="rank", groups=groups, rng=0)
    assert made.next_round().terms[0].feature == 1


def queries() -> tuple[Any, Any, Any]:
    """Rows of 40 queries; the first column says which rows of a query are relevant."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 6)
    X = rng.integers(0, 20, (240, 5)).astype(np.float32)
    shift = rng.integers(0, 20, 40)[groups]  # says nothing within a query
    y = (X[:, 0] + rng.normal(0.0, 3.0, 240) > 10).astype(int)
    X[:, 1] += shift
    return X, y, groups


def test_a_missing_query_is_an_error() -> None:
    X, y, groups = queries()
    some = np.where(groups < 3, np.nan, groups)
    model = BoostSampleClassifier(objective="rank", n_rounds=2, random_state=0)
    with pytest.raises(DataError, match="groups must have a query for each example"):
        model.fit(X, y, groups=some)
    model.fit(X, y, groups > 2, groups=some)


def test_fit_takes_queries() -> None:
    X, y, groups = queries()
    settings: Any = {"strategy": "full", "learner": "stump", "n_rounds": 8, "learning_rate": 1.0}
    settings["random_state"] = 0
    names = [f"query {k}" for k in groups]
    model = BoostSampleClassifier(objective="rank", **settings).fit(X, y, groups=names)
    booster = Booster(
        bank_of(X), None, encode(y, 2), "full", n_rounds=8, objective="rank", groups=groups, rng=0
    )
    edges = [booster.next_round().edge for _ in range(8)]
    np.testing.assert_allclose([row["edge"] for row in model.history_], edges, rtol=1e-6)
    alone = BoostSampleClassifier(objective="rank", **settings).fit(X, y)
    assert alone.history_[0]["edge"] != model.history_[0]["edge"]


def test_a_checkpoint_of_other_queries_is_refused(tmp_path: Path) -> None:
    X, y, groups = queries()
    settings: Any = {"objective": "rank", "learner": "stump", "random_state": 0}
    settings["checkpoint"] = tmp_path / "rank.checkpoint"
    BoostSampleClassifier(n_rounds=3, **settings).fit(X, y, groups=groups)
    longer = BoostSampleClassifier(n_rounds=6, **settings)
    with pytest.raises((DataError, SettingError), match="queries of the training examples"):
        longer.fit(X, y, groups=groups % 7)
    assert longer.fit(X, y, groups=groups).n_rounds_ == 6


@pytest.mark.parametrize("settings", [{}, {"early_stopping": True}, {"calibration": "temperature"}])
def test_rows_held_out_divide_no_query(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, groups = queries()
    parts: list[Any] = []
    booster = FitRun.booster

    def kept(self: FitRun, train: Any, *arguments: Any) -> Any:
        parts.append(train)
        return booster(self, train, *arguments)

    monkeypatch.setattr(FitRun, "booster", kept)
    n_rounds = "auto" if not settings else 5
    BoostSampleClassifier(objective="rank", n_rounds=n_rounds, random_state=0, **settings).fit(
        X, y, groups=groups, eval_set=[(X, y)]
    )
    assert parts
    for train in parts:
        assert train.size < len(X)
        assert np.bincount(groups[train]).tolist() == [
            6 if k in groups[train] else 0 for k in range(groups[train].max() + 1)
        ]


@pytest.mark.parametrize(
    ("settings", "groups", "message"),
    [
        ({"objective": "mh"}, np.zeros(240), "groups are queries of rows to rank"),
        ({}, np.zeros(7), "one query for each of the 240 rows"),
        ({"early_stopping": True}, np.zeros(240), "one query cannot be divided"),
    ],
)
def test_queries_that_do_not_fit(settings: Any, groups: Any, message: str) -> None:
    X, y, _ = queries()
    model = BoostSampleClassifier(
        **{"objective": "rank", "n_rounds": 3, "random_state": 0, **settings}
    )
    with pytest.raises((SettingError, DataError), match=message):
        model.fit(X, y, groups=groups)


def test_values_of_gentle_stay_mean_labels_where_rounding_exceeds_the_mass() -> None:
    sums = np.array([[3e-17, -3e-17], [0.1, 2e-17]])
    masses = np.array([[1e-19, 1e-19], [0.4, -1e-18]])
    values = make_objective("gentle").values(sums, masses)
    assert values.tolist() == [[1.0, -1.0], [0.25, 0.0]]


class Own(GentleBoost):
    """Gentle AdaBoost, whose values a function changes."""

    name = "own"

    def __init__(self, change: Callable[..., Any]) -> None:
        super().__init__()
        self.change = change

    def values(self, sums: Any, masses: Any) -> Any:
        return self.change(super().values(sums, masses), sums)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda values, sums: values[..., :1],
            r"the shape of sums, \(2, 3\), got float64 \(2, 1\)",
        ),
        (lambda values, sums: values.T, r"the shape of sums, .* got float64 \(3, 2\); return one"),
        (lambda values, sums: values.tolist(), "an array of numbers .* got a list"),
        (lambda values, sums: None, "got a NoneType"),
        (lambda values, sums: values + 1j, "got complex128"),
        (lambda values, sums: np.ma.masked_less(values, 0), "got a MaskedArray"),
        (lambda values, sums: 1e5 * np.sign(values), "between -700 and 700, got .?100000; bound"),
        (lambda values, sums: values * np.nan, "must return finite values .* got nan"),
    ],
)
def test_values_must_be_moderate_numbers_for_all_sums(change: Any, message: str) -> None:
    for learner in ("stump", "tree:n_leaves=3"):
        with pytest.raises(StrategyError, match=r"values\(\) of the objective Own must return"):
            booster(Own(change), learner)
    with pytest.raises(StrategyError, match=message):
        booster(Own(change))


def halved(values: Any, sums: Any) -> Any:
    sums *= 0.5
    return values


@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=3"])
def test_values_cannot_change_the_sums(learner: str) -> None:
    """The edge would be that of other sums."""
    with pytest.raises(ValueError, match="read-only"):
        booster(Own(halved), learner)


def test_values_may_be_kept_in_an_array_that_is_used_again() -> None:
    """Each leaf has its own values, not those of the last one."""
    kept = np.empty(3)

    def into_the_same_array(values: Any, sums: Any) -> Any:
        if values.shape != kept.shape:
            return values
        kept[:] = values
        return kept

    learner = "tree:n_leaves=3:min_leaf=2"  # leaf by leaf
    made, expected = (booster(x, learner) for x in (Own(into_the_same_array), GentleBoost()))
    assert made.example_weights().tolist() == expected.example_weights().tolist()
