"""Importances, explanations and contributions against their formulas, and against SHAP."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris

from boostsample import BoostSampleClassifier, SettingError
from boostsample.experiments.plots.explained import explain_figure
from boostsample.families import Columns, Haar, Identity
from boostsample.models.importances import (
    explain,
    log_loss_falls,
    model_contributions,
    model_importances,
    side_shares,
)
from boostsample.models.model import Model
from boostsample.records import Term
from boostsample.rows.weights import StepSize
from tests.models.random_terms import VALUES, random_round


def naive_shares(model: Any, X: NDArray[Any], kind: str) -> dict[Any, float]:
    """Shares from the history rows: the loss of each round falls by the factor of its loss."""
    rounds: dict[int, list[dict[str, Any]]] = {}
    for row in model.history_:
        if row.get("term", 0) >= 0:
            rounds.setdefault(row["round"], []).append(row)
    sums: dict[Any, float] = {}
    before = 0.0
    for rows in rounds.values():
        fall = (before - rows[0]["log10_loss"]) * math.log(10)
        before = rows[0]["log10_loss"]
        reading = [
            row
            for row in rows
            if row["threshold"] > -math.inf or np.isnan(X[:, row["feature"]]).any()
        ]
        for row in reading:
            sums[row[kind]] = sums.get(row[kind], 0.0) + fall / len(reading)
    total = sum(sums.values())
    return {key: value / total for key, value in sums.items()}


@pytest.mark.parametrize("weight_init", ["balanced", "uniform"])
@pytest.mark.parametrize("learner", ["stump", "product:n_terms=3", "tree:n_leaves=4"])
@pytest.mark.parametrize("step_size", [(1.0, 0.0), (0.1, 0.0), (0.5, 2.0)])
def test_shares_are_those_of_the_formula(
    learner: str, weight_init: str, step_size: tuple[float, float]
) -> None:
    X, y = load_digits(return_X_y=True)
    X = X[:300].copy()
    X[::7, 20:24] = np.nan
    families = {"top": "0-31", "bottom": "32-63"}
    model = BoostSampleClassifier(
        learner=learner,
        n_rounds=15,
        weight_init=weight_init,
        families=families,
        random_state=1,
        learning_rate=step_size[0],
        smoothing=step_size[1],
    ).fit(X, y[:300])
    expected = naive_shares(model, X, "feature")
    importances = model.feature_importances_
    assert importances.shape == (64,)
    np.testing.assert_allclose(importances, [expected.get(j, 0.0) for j in range(64)], atol=1e-5)
    by_family = naive_shares(model, X, "family")
    assert model.family_importances_ == pytest.approx(
        {name: by_family.get(name, 0.0) for name in families}, abs=1e-5
    )
    assert importances.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("objective", "n_rounds"),
    [
        *((name, 10) for name in ("real-mh", "gentle", "info", "oc", "rank", "samme")),
        ("auto", "auto"),
    ],
)
def test_importances_are_falls_of_the_recorded_loss(objective: str, n_rounds: Any) -> None:
    X, y = load_digits(return_X_y=True)
    X, y = X[:200], (y % 2 if objective == "rank" else y)[:200]
    model = BoostSampleClassifier(objective=objective, n_rounds=n_rounds, random_state=0).fit(X, y)
    losses = {(row["round"], row.get("member", 0)): row["log10_loss"] for row in model.history_}
    turns = itertools.product(range(1, len(model.model_) // model.n_members_ + 1), range(10))
    falls = [
        (losses.get((turn - 1, member), 0.0) - losses[turn, member]) * math.log(10)
        for turn, member in turns
        if member < model.n_members_
    ]
    of_rounds = np.add.reduceat(model.term_importances_, model.model_.first)
    np.testing.assert_allclose(of_rounds * model.n_members_, falls, rtol=1e-6)


def test_importances_of_a_continued_model_begin_with_its_loss() -> None:
    X, y = load_digits(return_X_y=True)
    first = BoostSampleClassifier(objective="real-mh", n_rounds=5, random_state=0)
    first.fit(X[:200], y[:200])
    more = BoostSampleClassifier(objective="real-mh", n_rounds=2, random_state=1)
    more.fit(X[:200], y[:200], init_model=first)
    losses = [first.history_[-1]["log10_loss"], *(row["log10_loss"] for row in more.history_)]
    falls = -np.diff(losses)[np.diff(losses) != 0] * math.log(10)
    of_rounds = np.add.reduceat(more.term_importances_, more.model_.first)
    np.testing.assert_allclose(of_rounds[5:], falls, rtol=1e-6)
    np.testing.assert_array_equal(
        more.term_importances_[: len(first.model_.feature)], first.term_importances_
    )


def test_a_constant_stump_reads_no_column() -> None:
    """With uniform weights the first stump votes -1 for all classes, with any feature."""
    X, y = load_digits(return_X_y=True)
    how: Any = {"n_rounds": 3, "weight_init": "uniform", "random_state": 0}
    how |= {"learning_rate": 1.0}
    model = BoostSampleClassifier("full", "stump", **how).fit(X[:200], y[:200])
    assert model.model_.threshold[0] == -np.inf
    assert model.term_importances_[0] == 0.0
    assert np.all(model.term_importances_[1:] > 0.0)


def test_a_stump_that_sees_missing_values_reads_a_column() -> None:
    y = np.arange(40) % 2
    X = np.stack([np.where(y == 0, np.nan, 1.0), np.zeros(40)], axis=1)
    model = BoostSampleClassifier("full", n_rounds=2, random_state=0).fit(X, y)
    assert model.model_.threshold[0] == -np.inf
    assert model.feature_importances_.tolist() == [1.0, 0.0]


def test_columns_in_two_families_are_added() -> None:
    X, y = load_iris(return_X_y=True)
    families = {"petal": [2, 3], "length": [0, 2]}
    model = BoostSampleClassifier(n_rounds=20, families=families, random_state=0).fit(X, y)
    expected = np.zeros(4)
    columns = [2, 3, 0, 2]
    for feature, share in zip(model.model_.feature, model.term_importances_, strict=True):
        expected[columns[feature]] += share
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum())
    assert model.feature_importances_[1] == 0.0


def test_images_have_importances_of_families_only() -> None:
    X, y = load_digits(return_X_y=True)
    families = [Identity((8, 8)), Haar((8, 8))]
    model = BoostSampleClassifier(n_rounds=10, families=families, random_state=0)
    model.fit(X[:200].reshape(-1, 8, 8), y[:200])
    assert set(model.family_importances_) == {"identity", "haar"}
    assert sum(model.family_importances_.values()) == pytest.approx(1.0)
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(AttributeError, match="see family_importances_"):
        _ = model.feature_importances_


@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=4"])
def test_those_of_a_model_alone_need_no_rows(learner: str) -> None:
    X, y = load_digits(return_X_y=True)
    model = BoostSampleClassifier(
        learner=learner, n_rounds=10, weight_init="uniform", random_state=0
    ).fit(X[:200], y[:200])
    falls = log_loss_falls(
        model.model_.alpha[model.model_.first], StepSize(model.learning_rate, 1.0, 200)
    )
    importances = model_importances(model.model_, falls=falls)
    np.testing.assert_allclose(importances, model.term_importances_)


NAMES = ["height", "width", "age", "price"]


def term(feature: int, value: float, votes: list[int], alpha: float, *place: Any) -> Term:
    return Term(feature, 1, value, np.array(votes, np.int8), alpha, *place)


@pytest.fixture
def model() -> Model:
    """Three stumps, two of them with the same threshold, and a product of two terms."""
    families = [
        Columns([0, 1], "size", column_names=NAMES),
        Columns([2, 3], "rest", column_names=NAMES),
    ]
    terms = [
        term(0, 1.5, [1, -1, -1], 0.5),
        term(3, -math.inf, [1, 1, -1], 0.1),
        term(0, 1.5, [1, 1, -1], 0.25),
        term(2, 7.0, [1, -1, 1], 0.2),
        term(0, 2.5, [1, 1, 1], 0.2, None, 0, 0, 0),
    ]
    return Model(families, terms, 3)


def test_shares_are_falls_of_the_log_loss(model: Model) -> None:
    edges = np.tanh([0.5, 0.1, 0.25, 0.2])
    falls = -np.log(np.sqrt(1 - edges**2))
    want = np.array([falls[0], 0.0, falls[2], falls[3] / 2, falls[3] / 2])
    want /= want.sum()
    explanation = explain(model, ["a", "b", "c"])
    assert [use.name for use in explanation.families] == ["size", "rest"]
    assert explanation.families[0].share == pytest.approx(want[[0, 2, 4]].sum(), rel=1e-12)
    assert [use.n_used for use in explanation.families] == [1, 2]
    assert [use.name for use in explanation.features] == ["height", "age", "price"]
    assert [use.n_terms for use in explanation.features] == [3, 1, 1]
    assert [cut.threshold for cut in explanation.features[0].cuts] == [1.5, 2.5]
    score = explanation.features[0].cuts[0].score
    assert score is not None
    np.testing.assert_allclose(score, [0.75, -0.25, -0.75])
    assert explanation.features[0].cuts[1].score is None


def test_the_words(model: Model) -> None:
    text = str(explain(model, ["a", "b", "c"], n_features=3))
    assert "A model of 4 rounds with 5 terms that reads 3 features." in text
    assert "size: 1 of 2 features in 3 terms" in text
    assert "height (size), 3 terms" in text
    assert "at least 1.5: for a; against c, b" in text
    assert "at least 2.5: 1 term of products or trees" in text
    assert "not missing: for a, b; against c" in text
    assert "label 0" in str(explain(model))
    binary = Model(model.families, [term(0, 2.0, [-1], 0.5)], 1)
    assert "at least 2: against yes" in str(explain(binary, ["no", "yes"]))


def test_importances_may_be_given(model: Model) -> None:
    explanation = explain(model, n_features=1, importances=np.array([0, 0, 0, 3.0, 1.0]))
    assert [(use.name, use.share) for use in explanation.families] == [
        ("rest", 0.75),
        ("size", 0.25),
    ]
    assert [use.name for use in explanation.features] == ["age"]
    with pytest.raises(SettingError, match="importances must be one for each of 5 terms"):
        explain(model, importances=np.ones(4))
    with pytest.raises(SettingError, match="classes must name the 3 labels of the model, got 2"):
        explain(model, ["a", "b"])
    with pytest.raises(SettingError, match="n_features must be an integer at least 0, got -1"):
        explain(model, n_features=-1)


def test_the_picture(model: Model) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra 'report'")
    explanation = explain(model, ["a", "b", "c"])
    figure = explain_figure(explanation)
    widths = [[bar.get_width() for bar in axes.containers[0]] for axes in figure.axes]
    assert widths[0] == [100 * use.share for use in explanation.families]
    assert widths[1] == [100 * use.share for use in explanation.features]
    assert "height" in str(figure.get_label())


F = 5


class NaiveRound:
    """The value of a set of features of one round, from the definition."""

    def __init__(self, model: Model, number: int, shares: NDArray[np.float64]) -> None:
        self.model, self.shares = model, shares
        self.part = model.terms(number, number + 1)

    def children(self, term: int, side: int) -> list[int]:
        terms = range(self.part.start + 1, self.part.stop)
        parent, sides = self.model.parent, self.model.side
        return [t for t in terms if self.part.start + parent[t] == term and sides[t] == side]

    def output(self, term: int, x: NDArray[np.float32], S: Collection[int]) -> NDArray[np.float64]:
        model = self.model
        feature = int(model.feature[term])
        above = float(x[feature] >= np.float32(model.threshold[term]))
        above = above if feature in S else self.shares[term]
        total = np.zeros(model.n_labels)
        for side, part, votes in (
            (1, above, model.votes[term]),
            (-1, 1 - above, model.below[term]),
        ):
            below = self.children(term, side)
            total += part * (self.output(below[0], x, S) if below else votes)
        for factor in self.children(term, 0):
            total *= self.output(factor, x, S)
        return total

    def value(self, x: NDArray[np.float32], S: Collection[int]) -> NDArray[np.float64]:
        return np.asarray(self.model.alpha[self.part.start] * self.output(self.part.start, x, S))


def naive_contributions(
    model: Model, x: NDArray[np.float32], shares: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Base (K,) and the Shapley value (F, K) of each feature, from all sets of features."""
    rounds = [NaiveRound(model, number, shares) for number in range(len(model))]

    def value(S: Collection[int]) -> NDArray[np.float64]:
        return np.asarray(np.sum([other.value(x, S) for other in rounds], axis=0))

    values = np.zeros((F, model.n_labels))
    for feature in range(F):
        others = [other for other in range(F) if other != feature]
        for size in range(F):
            weight = math.factorial(size) * math.factorial(F - size - 1) / math.factorial(F)
            for S in itertools.combinations(others, size):
                values[feature] += weight * (value((*S, feature)) - value(S))
    return value(()), values


@pytest.mark.parametrize("with_background", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_they_are_shapley_values(seed: int, with_background: bool) -> None:
    """Of random trees of stumps and products, with repeated features and missing values."""
    rng = np.random.default_rng(seed)
    terms = [term for _ in range(3) for term in random_round(rng, F, 1 + seed % 3)]
    model = Model([Columns(range(F))], terms, 1 + seed % 3)
    X, background = rng.choice(np.array(VALUES, np.float32), (2, 7, F))
    shares = side_shares(model, background if with_background else None)
    base, values = model_contributions(model, X, np.arange(F), F, shares)
    least = 1e-14 * float(np.abs(model.alpha).sum())
    scores = model.decision_function(X)
    np.testing.assert_allclose(base + values.sum(axis=1), scores, rtol=1e-12, atol=least)
    for row in (0, 1):
        naive = naive_contributions(model, X[row], shares)
        np.testing.assert_allclose(base, naive[0], rtol=1e-12, atol=least)
        np.testing.assert_allclose(values[row], naive[1], rtol=1e-12, atol=least)


def shap_forest(model: Model, shares: NDArray[np.float64]) -> dict[str, Any]:
    """The trees of a model as shap.TreeExplainer takes them: to the left at or below a number."""
    trees = []
    for number in range(len(model)):
        part = model.terms(number, number + 1)
        inner = range(part.start, part.stop)
        place = {(part.start + model.parent[t], model.side[t]): t for t in inner[1:]}
        nodes: list[dict[str, Any]] = []

        def leaf(weight: float, votes: Any, nodes: list[dict[str, Any]] = nodes) -> int:
            nodes.append({"children": [-1, -1], "feature": -1, "threshold": 0.0})
            nodes[-1].update(value=votes * 1.0, weight=weight)
            return len(nodes) - 1

        waiting = [(leaf(1000.0, 0 * model.votes[part.start]), part.start)]
        for at, term in waiting:
            cut = np.nextafter(np.float32(model.threshold[term]), np.float32(-np.inf))
            nodes[at].update(feature=model.feature[term], threshold=cut)
            for side, votes in ((-1, model.below[term]), (1, model.votes[term])):
                share = shares[term] if side > 0 else 1 - shares[term]
                child = leaf(nodes[at]["weight"] * share, votes * model.alpha[part.start])
                nodes[at]["children"][(side + 1) // 2] = child
                if (term, side) in place:
                    waiting.append((child, place[term, side]))
        left, right = np.array([node["children"] for node in nodes], np.int32).T
        trees.append(
            {
                "children_left": left,
                "children_right": right,
                "children_default": left,
                "features": np.array([node["feature"] for node in nodes], np.int32),
                "thresholds": np.array([node["threshold"] for node in nodes], float),
                "values": np.array([node["value"] for node in nodes], float),
                "node_sample_weight": np.array([node["weight"] for node in nodes], float),
            }
        )
    return {"trees": trees}


@pytest.mark.parametrize("with_background", [False, True])
def test_trees_have_the_values_of_shap(with_background: bool) -> None:
    shap: Any = pytest.importorskip("shap", reason="shap is in the extra 'dev'")
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32)
    fitted = BoostSampleClassifier(n_rounds=15, random_state=0).fit(X[:400], y[:400])
    background = X[:400] if with_background else None
    contributions = fitted.contributions(X[400:440], background=background)
    forest = shap_forest(fitted.model_, side_shares(fitted.model_, background))
    explainer = shap.TreeExplainer(forest, feature_perturbation="tree_path_dependent")
    values = explainer.shap_values(X[400:440].astype(float), check_additivity=False)
    np.testing.assert_allclose(contributions.values, values.reshape(40, -1), atol=1e-12)
    np.testing.assert_allclose(
        contributions.base, np.ravel(explainer.expected_value)[0], atol=1e-12
    )


def test_indicators_add_up_to_their_column() -> None:
    import pandas

    r = np.random.default_rng(0)
    colour = r.choice(["red", "green", "blue"], size=120)
    frame = pandas.DataFrame({"noise": r.normal(size=120), "colour": colour, "size": r.random(120)})
    y = (colour == "red") ^ (frame["size"] > 0.7)
    model = BoostSampleClassifier(n_rounds=10, random_state=0).fit(frame, y)
    columns = model.contributions(frame)
    features = model.contributions(frame, by="feature")
    assert columns.names == ("noise", "colour", "size")
    of_colour = [name.startswith("colour=") for name in features.names]
    np.testing.assert_allclose(columns.values[:, 1], features.values[:, of_colour].sum(axis=1))
    for contributions in (columns, features, model.contributions(frame, by="family")):
        scores = contributions.base + contributions.values.sum(axis=1)
        np.testing.assert_allclose(scores, model.decision_function(frame), atol=1e-12)


def test_families_of_images_have_contributions() -> None:
    X, y = load_digits(return_X_y=True)
    images = X[:200].reshape(-1, 8, 8)
    families = [Identity((8, 8)), Haar((8, 8))]
    model = BoostSampleClassifier(n_rounds=5, families=families, random_state=0)
    model.fit(images, y[:200])
    contributions = model.contributions(images[:9], by="family")
    assert (contributions.names, contributions.values.shape) == (("identity", "haar"), (9, 2, 10))
    np.testing.assert_allclose(
        contributions.base + contributions.values.sum(axis=1),
        model.decision_function(images[:9]),
        atol=1e-12,
    )
    with pytest.raises(SettingError, match="give by='family' or by='feature'"):
        model.contributions(images[:9])
    with pytest.raises(SettingError, match="unknown way to sum contributions 'pixel'"):
        model.contributions(images[:9], by="pixel")
