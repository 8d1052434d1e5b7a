"""What takes part in a race, and on what; real peers on tiny data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from boostsample.errors import DataError, SettingError
from boostsample.experiments.data.datasets import Dataset, load_dataset
from boostsample.experiments.plan.plan import Plan, parse_names
from boostsample.experiments.plan.variants import Variant
from boostsample.experiments.race import peers
from boostsample.experiments.race.job import Job, make_job, warm_up_job
from boostsample.experiments.race.methods import Boosted, Codes, LightGBM, Paused, XGBoost
from boostsample.experiments.race.peers import Method, peer, strategy
from boostsample.experiments.race.race import race
from boostsample.experiments.race.runs import Rules
from boostsample.families import Columns
from boostsample.models.model import Model
from boostsample.registry import default_families


@pytest.fixture
def job(rng: np.random.Generator) -> Job:
    """Two classes, 100 test rows, a table of 7 columns in which the second tells the class."""
    X = rng.normal(size=(400, 7)).astype(np.float32)
    y = (X[:, 1] + 0.1 * X[:, 2] > 0).astype(np.int64)
    families = (Columns(range(3), "left", n_columns=7), Columns(range(3, 7), "right", n_columns=7))
    return Job("made", X[:300], X[300:], y[:300], y[300:], 2, families, n_rounds=1000)


def methods_of(text: str) -> list[Method]:
    return [peer(variant) for variant in parse_names(text)]


# ---------------------------------------------------------------------------------------- the job


def test_a_job_has_the_drawn_columns_of_the_split() -> None:
    data = load_dataset("digits")
    made = make_job(data, 40, seed=3, n_jobs=2, n_rounds=9)
    families = default_families(data.X.shape[1:], seed=3)
    train, test = data.split(0, 3)
    drawn = np.sort(
        np.random.default_rng(3).choice(sum(f.n_features for f in families), 40, replace=False)
    )
    first = 0
    names: list[str] = []
    for family in families:
        local = drawn[(drawn >= first) & (drawn < first + family.n_features)] - first
        at = np.searchsorted(drawn, local + first)
        for rows, X in ((train, made.X_train), (test, made.X_test)):
            np.testing.assert_array_equal(X[:, at], family.compute(data.X[rows], local))
        names += [family.name] * local.size
        first += family.n_features
    assert [f.name for f in made.families for _ in range(f.n_features)] == names
    assert [c for f in made.families for c in f.columns] == list(range(40))
    assert made.X_train.flags.c_contiguous
    assert made.X_train.dtype == np.float32
    np.testing.assert_array_equal(made.y_test, data.y[test])
    assert (made.n_columns, made.n_jobs, made.n_rounds) == (40, 2, 9)


def test_a_job_takes_all_columns_where_there_are_few() -> None:
    assert make_job(load_dataset("chess(d=3,n=60)")).n_columns == 3


def test_jobs_that_cannot_be() -> None:
    data = load_dataset("chess(d=3,n=60)")
    with pytest.raises(SettingError, match=r"columns must be at most the 3 features .* got 4"):
        make_job(data, 4)
    with pytest.raises(SettingError, match="columns must be an integer at least 1, got 0"):
        make_job(data, 0)
    several = Dataset("several", data.X, np.eye(2, dtype=np.int8)[data.y], ("a", "b"))
    with pytest.raises(DataError, match="several: a race needs one class a row"):
        make_job(several)


def test_warming_up_sees_every_class(job: Job) -> None:
    rare = Job(**{**vars(job), "y_train": np.r_[np.zeros(299, np.int64), 1]})
    small = warm_up_job(rare)
    assert set(small.y_train) == {0, 1}
    assert small.n_rounds == 2


# ------------------------------------------------------------------------------------ the methods


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"error": 101.0}, "error must be between 0 and 100 percent, got 101"),
        ({"error": math.nan}, "error must be between 0 and 100 percent, got nan"),
        ({"limit": 0.0}, "limit must be a number of seconds above 0, got 0"),
        ({"limit": math.inf}, "limit must be a number of seconds above 0, got inf"),
        ({"repeats": 0}, "repeats must be an integer at least 1, got 0"),
        ({"seed": -1}, "seed must be an integer at least 0, got -1"),
    ],
)
def test_rules_that_cannot_be(named: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Rules(**named)


def test_grids() -> None:
    assert len(peer(Variant("hist-gradient-boosting")).grid) == 1
    both = peer(Variant("hist-gradient-boosting"), full_grid=True)
    assert [one.settings["max_leaf_nodes"] for one in both.grid] == [31, 8]
    given = peer(Variant.parse("hist-gradient-boosting:max_leaf_nodes=15:max_bins=63"))
    assert [one.settings for one in given.grid] == [
        {"max_leaf_nodes": 15, "learning_rate": 0.3, "max_features": 0.05, "max_bins": 63}
    ]
    assert given.name == "hist-gradient-boosting:max_bins=63:max_leaf_nodes=15"


def test_the_grid_of_lightgbm_is_the_one_that_is_published() -> None:
    assert {key: set(values) for key, values in peers.PEERS["lightgbm"].grid.items()} == {
        "num_leaves": {8, 31, 63},
        "learning_rate": {0.1, 0.2, 0.3},
        "feature_fraction": {0.02, 0.05, 0.2},
        "data_sample_strategy": {"bagging", "goss"},
    }


def test_peers_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingError, match="unknown peer 'foo'; known: lightgbm, xgboost"):
        peer(Variant("foo"))
    with pytest.raises(
        SettingError, match=r"unknown setting of adaboost 'depth' .* known: learning"
    ):
        peer(Variant.parse("adaboost:depth=3"))
    monkeypatch.setattr(peers, "find_spec", lambda package: None)
    with pytest.raises(SettingError, match=r"lightgbm is not installed; .*boostsample\[peers\]"):
        peer(Variant("lightgbm"))


def test_races_that_cannot_be(job: Job) -> None:
    with pytest.raises(SettingError, match="a race needs at least one method, got none"):
        race(job, [])
    with pytest.raises(SettingError, match="each method must be there once, got 'adaboost' twice"):
        race(job, methods_of("adaboost") * 2)
    with pytest.raises(SettingError, match="adaboost:learning_rate=-1 does not run: InvalidParam"):
        race(job, methods_of("adaboost:learning_rate=-1"))


def predictions(one: Paused, checks: set[int], n: int) -> Codes:
    """Predictions after n iterations, with others taken on the way."""
    one.prepare()
    for done in range(1, n + 1):
        one.advance()
        if done in checks:
            one.predict()
    return one.predict()


def kinds() -> list[Any]:
    skip = {
        name: pytest.mark.skipif(
            not peers.installed(name), reason=f"{name} is not installed: boostsample[peers] has it"
        )
        for name in ("lightgbm", "xgboost")
    }
    return [
        pytest.param(LightGBM, "lightgbm:num_leaves=4", marks=skip["lightgbm"]),
        pytest.param(XGBoost, "xgboost:max_leaves=4", marks=skip["xgboost"]),
        pytest.param(Boosted, "uniform-naive", id="boostsample"),
    ]


@pytest.fixture
def digits() -> Job:
    data = load_dataset("digits")
    made = make_job(data, 60, n_rounds=50)
    return warm_up_job(made)


@pytest.mark.parametrize(("kind", "text"), kinds())
def test_scores_add_up_whenever_they_are_asked_for(
    digits: Job, kind: type[Paused], text: str
) -> None:
    variant = Variant.parse(text)

    def make() -> Paused:
        if kind is Boosted:
            return Boosted(digits, variant, 0, Plan())
        return kind(digits, variant, 0)

    often = predictions(make(), {1, 2, 3, 5}, 12)
    np.testing.assert_array_equal(often, predictions(make(), set(), 12))
    assert np.mean(often != digits.y_test) < 0.5
    halves = {"y_train": digits.y_train % 2, "y_test": digits.y_test % 2, "n_classes": 2}
    digits = Job(**{**vars(digits), **halves})
    assert np.mean(predictions(make(), {2}, 12) != digits.y_test) < 0.4


@pytest.mark.skipif(
    not peers.installed("lightgbm"), reason="lightgbm is not installed: boostsample[peers] has it"
)
def test_scores_of_lightgbm_are_its_own(digits: Job) -> None:
    one = LightGBM(digits, Variant.parse("lightgbm:num_leaves=4"), 0)
    predictions(one, {2, 3}, 6)
    expected = one._booster.predict(digits.X_test, raw_score=True)
    np.testing.assert_allclose(one._scores, expected, rtol=1e-12)


@pytest.mark.skipif(
    not peers.installed("xgboost"), reason="xgboost is not installed: boostsample[peers] has it"
)
def test_scores_of_xgboost_are_its_own_but_for_a_constant(digits: Job) -> None:
    one = XGBoost(digits, Variant.parse("xgboost:max_leaves=4"), 0)
    predictions(one, {2, 3}, 6)
    expected = one._booster.inplace_predict(digits.X_test, predict_type="margin")
    differences = one._scores - expected
    np.testing.assert_allclose(differences, np.full_like(differences, differences[0, 0]), atol=1e-5)


def test_scores_of_boostsample_are_those_of_a_model_of_the_same_stumps(digits: Job) -> None:
    one = Boosted(digits, Variant("uniform-naive"), 4, Plan(budget="5N"))
    predictions(one, {3}, 10)
    again = Boosted(digits, Variant("uniform-naive"), 4, Plan(budget="5N"))
    again.prepare()
    assert again._booster.budget == 5 * digits.y_train.size
    terms = [term for _ in range(10) for term in again._booster.next_round().terms]
    model = Model(digits.families, terms, 10)
    np.testing.assert_allclose(one._scores, model.decision_function(digits.X_test), rtol=1e-12)


def test_threads_and_seeds_change_bits_as_they_should(digits: Job) -> None:
    def stumps(job: Job, seed: int) -> list[tuple[int, float]]:
        one = Boosted(job, Variant("uniform-naive"), seed, Plan())
        one.prepare()
        rounds = [one._booster.next_round() for _ in range(5)]
        return [(term.feature, term.alpha) for done in rounds for term in done.terms]

    two = Job(**{**vars(digits), "n_jobs": 2})
    assert stumps(digits, 0) == stumps(two, 0)
    assert stumps(digits, 0) != stumps(digits, 1)


def test_everybody_learns(job: Job) -> None:
    plan = Plan(strategies=parse_names("uniform-naive,laminating"))
    methods = [strategy(variant, plan) for variant in plan.variants]
    methods += methods_of("hist-gradient-boosting:max_leaf_nodes=4:max_features=1.0,adaboost")
    found = race(job, methods, Rules(error=15.0, repeats=1))
    assert [found.result(name).ended for name in found.methods] == ["reached"] * 4
    assert all(found.result(name).lowest <= 15.0 for name in found.methods)
    assert all(run.seconds > 0 for run in found.runs)
    boosted = found.result("uniform-naive")
    assert 0 < boosted.prepared < boosted.seconds
