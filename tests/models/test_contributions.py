"""Contributions: Shapley values of the definition, which add up to the scores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits

from boostsample import BoostSampleClassifier, SettingError
from boostsample.families import Columns, Haar, Identity
from boostsample.models.contributions import model_contributions, side_shares
from boostsample.models.model import Model
from tests.models.random_terms import VALUES, random_round

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
