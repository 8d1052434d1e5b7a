"""Probabilities from the exponential loss, and the temperature that calibrates them."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from sklearn.datasets import load_digits, load_iris, make_classification, make_hastie_10_2
from sklearn.metrics import get_scorer, log_loss, roc_auc_score

from boostsample import BoostSampleClassifier
from boostsample.classifier.inputs.held_rows import FitRows, HeldScores
from boostsample.classifier.prediction.probabilities import (
    TemperatureRule,
    best_temperature,
    label_offsets,
    largest_score,
    log_probabilities,
    probabilities,
)
from boostsample.labels import classify, encode
from boostsample.objective import AdaBoostMH, Objective
from boostsample.objectives.ensembles import Bagging
from boostsample.objectives.real import RealMH
from boostsample.output_codes import OutputCode
from boostsample.rows.weights import initial_weights


def held_rows(signs: NDArray[np.int8], scores: NDArray[Any], weight: NDArray[Any]) -> HeldScores:
    """Held-out rows with these scores, by a model of 9 rounds."""
    rows = FitRows.of(None, signs, weight)
    bank = SimpleNamespace(reader=lambda _: None)
    held = HeldScores(bank, rows, rows.train)  # type: ignore[arg-type]  # a stand-in
    held.scores[:] = scores
    held.largest, held.edges = 5.0 * float(np.abs(scores).max()), [0.9] * 7 + [0.2, 0.4]
    return held


def rule_of_votes(n_labels: int) -> TemperatureRule:
    return TemperatureRule(AdaBoostMH(), 9, np.zeros(n_labels), False)


def naive_rule(
    largest: float,
    edges: list[float],
    offsets: NDArray[Any],
    multi_label: bool,
    most: float = 30,
) -> float:
    n_last = max(1, len(edges) // 4)
    edge = sum(edges[-n_last:]) / n_last
    n_classes = 2 if len(offsets) == 1 else len(offsets)
    rule = 1.1 * largest**0.73 * edge**0.29 / n_classes**0.45
    rule = max(rule, 1.0 if multi_label else 1 - edge / 0.3)
    if len(offsets) > 1 and not multi_label:
        return float(rule)
    return float(max(rule, (2 * largest + max(abs(offsets))) / most))


def naive_rule_of_values(
    largest: float, offsets: NDArray[Any], multi_label: bool, n_rows: int
) -> float:
    rule = 6.1 * largest**0.73 / max(2, len(offsets)) ** 0.33 / n_rows**0.39
    floor = 0.0 if len(offsets) > 1 and not multi_label else largest + max(abs(offsets))
    return float(max(rule, 1, floor / 30))


def naive_temperature(held: HeldScores, given: TemperatureRule) -> float:
    """By minimize_scalar over the definition, a row and a class or label after the other."""
    (n, n_labels), (objective, _, offsets, multi_label, code) = held.labels.shape, given
    rule = naive_rule(held.largest, held.edges, offsets, multi_label, math.inf)
    rule = held.largest if objective.resamples else rule
    rule = rule if code is None else 0.22 * code.n_bits
    positive = held.labels > 0
    if n_labels == 1:
        positive = np.hstack([~positive, positive])

    def loss(log_temperature: float) -> float:
        chances = probabilities(held.scores, offsets, math.exp(log_temperature), multi_label)
        total = (log_temperature - math.log(rule)) ** 2 / 2 / 0.5**2 * held.weight.mean()
        for row in range(n):
            for at, p in enumerate(np.clip(chances[row], 1e-300, 1 - 1e-16)):
                rest = 0.3 / (n + 1.3) / (1 if multi_label else positive.shape[1] - 1)
                target = (n + 1) / (n + 1.3) if positive[row, at] else rest
                part = target * math.log(p)
                if multi_label:
                    part += (1 - target) * math.log1p(-p)
                total -= held.weight[row] * part
        return float(total)

    best = minimize_scalar(loss, bounds=(-7, 7), method="bounded", options={"xatol": 1e-5})
    largest = 2 * np.abs(held.scores).max() + max(abs(offsets))
    least = 0.0 if n_labels > 1 and not multi_label else largest
    return float(max(math.exp(best.x), least / 20))


@pytest.mark.parametrize("objective", [AdaBoostMH(), RealMH(), Bagging()])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("scale", [0.02, 0.2, 3.0, 100.0])
def test_it_is_that_of_a_general_search(n_classes: int, scale: float, objective: Objective) -> None:
    r = np.random.default_rng(n_classes)
    codes, weight = r.integers(n_classes, size=25), r.random(25) + 0.1
    signs = encode(codes, n_classes)
    held = held_rows(signs, (signs + r.normal(size=signs.shape)) * scale, weight)
    rule = TemperatureRule(objective, 25, np.zeros(signs.shape[1]), False)
    expected = naive_temperature(held, rule)
    for start in (None, 1e-2, expected, 1e3):
        assert best_temperature(held, rule, start) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("edges", [[0.3], [0.9, 0.2, 0.4], [0.9] * 7 + [0.2, 0.4], [0.9, 1e-9]])
@pytest.mark.parametrize("largest", [0.3, 40.0, 1e9])
def test_the_rule(edges: list[float], largest: float) -> None:
    for offsets, multi_label in ((np.zeros(1), False), (np.zeros(5), False), (np.ones(3), True)):
        expected = naive_rule(largest, edges, offsets, multi_label)
        for n in (7, 10**5):
            votes = TemperatureRule(AdaBoostMH(), n, offsets, multi_label)
            assert votes.temperature(largest, edges) == pytest.approx(expected)
            assert votes._replace(objective=RealMH()).temperature(largest, edges) == pytest.approx(
                naive_rule_of_values(largest, offsets, multi_label, n)
            )
    for size, edge in ((0.0, edges), (1.0, [0.0])):
        assert rule_of_votes(5).temperature(size, edge) == 1.0


def test_it_is_that_of_a_general_search_for_bits() -> None:
    r = np.random.default_rng(0)
    signs = encode(r.integers(5, size=25), 5)
    held = held_rows(signs, r.normal(size=(25, 5)), r.random(25) + 0.1)
    held.code = OutputCode(r.choice(np.array([-1, 1], np.int8), (5, 12)), "hamming")
    held._scores = r.normal(size=(25, 12))
    rule = TemperatureRule(RealMH(), 25, np.zeros(5), False, held.code)
    expected = naive_temperature(held, rule)
    assert best_temperature(held, rule) == pytest.approx(expected, rel=2e-3)
    for offsets in (np.zeros(1), np.zeros(5)):
        assert rule._replace(offsets=offsets).temperature(1e9, [0.2]) == 0.22 * 12


def test_several_labels_share_one_temperature() -> None:
    r = np.random.default_rng(3)
    signs = np.where(r.random((80, 3)) < 0.3, 1, -1).astype(np.int8)
    scores: NDArray[Any] = (signs + r.normal(size=signs.shape)) * 4
    weight, rule = r.random(80), TemperatureRule(AdaBoostMH(), 80, r.random(3), True)
    held = held_rows(signs, scores, weight)
    expected = naive_temperature(held, rule)
    assert best_temperature(held, rule) == pytest.approx(expected, rel=2e-3)


def test_a_fit_is_calibrated_on_held_out_rows() -> None:
    X, y = load_digits(return_X_y=True)
    settings: dict[str, Any] = {"learner": "stump", "n_rounds": 200, "random_state": 0}
    settings |= {"strategy": "laminating", "learning_rate": 1.0}
    plain = BoostSampleClassifier(calibration=None, **settings).fit(X[:800], y[:800])
    model = BoostSampleClassifier(calibration="temperature", **settings)
    model.fit(X[:800], y[:800], X_val=X[800:1200], y_val=y[800:1200])
    assert plain.temperature_ == 1.0
    test = X[1200:]
    np.testing.assert_array_equal(model.decision_function(test), plain.decision_function(test))
    np.testing.assert_array_equal(model.predict(test), plain.predict(test))
    held = held_rows(encode(y[800:1200]), model.decision_function(X[800:1200]), np.ones(400))
    held.largest = largest_score(model.model_)
    held.edges = list({row["round"]: math.tanh(row["alpha"]) for row in model.history_}.values())
    expected = best_temperature(held, rule_of_votes(10))
    assert model.temperature_ == pytest.approx(expected, rel=1e-6)
    rule = BoostSampleClassifier(**settings).fit(X[:800], y[:800])
    by_rule = naive_rule(held.largest, held.edges, np.zeros(10), False)
    assert rule.temperature_ == pytest.approx(by_rule, rel=1e-6)
    losses = [log_loss(y[1200:], one.predict_proba(test)) for one in (model, plain)]
    assert losses[0] < losses[1]
    own = BoostSampleClassifier(calibration="temperature", **settings).fit(X[:800], y[:800])
    assert own.temperature_ not in (1.0, model.temperature_, rule.temperature_)


@pytest.mark.parametrize("objective", ["mh", "real-mh", "samme", "gentle"])
@pytest.mark.parametrize("early", [False, True])
def test_probabilities_of_converged_models_are_frequencies(objective: str, early: bool) -> None:
    """A constant column and one of two values: nothing is left after a few rounds."""
    X = np.zeros((400, 2))
    X[200:, 1] = 1
    y = np.arange(400) % 10 < np.where(X[:, 1], 7, 2)
    model = BoostSampleClassifier(
        n_rounds=100, objective=objective, early_stopping=early, random_state=0
    )
    chances = model.fit(X, y).predict_proba([[0, 0], [0, 1]])[:, 1]
    np.testing.assert_allclose(chances, [0.2, 0.7], atol=0.06)
    few = BoostSampleClassifier(n_rounds=50, objective=objective, random_state=0)
    constant = few.fit(X[:, :1], np.arange(400) % 5 == 0).predict_proba([[0]])
    np.testing.assert_allclose(constant, [[0.8, 0.2]], atol=0.03)


def test_the_largest_values_of_cells_do_not_bound_the_temperature() -> None:
    """Their sum over the rounds is far above the scores of all rows."""
    X, y = make_hastie_10_2(1_500, random_state=0)
    settings: dict[str, Any] = {"objective": "real-mh", "learner": "stump", "learning_rate": 1.0}
    model = BoostSampleClassifier(n_rounds=300, random_state=0, **settings)
    model.fit(X[:750], y[:750], eval_set=[(X[750:], y[750:])])
    margins = y[750:] * model.decision_function(X[750:])
    least = min(np.logaddexp(0, -2 * margins / t).mean() for t in np.geomspace(0.1, 10, 500))
    assert model.history_[-1]["eval_set_0"] == pytest.approx(least, rel=2e-3)
    assert 2 * largest_score(model.model_) / 30 > 5.0


@pytest.mark.parametrize(
    ("objective", "n_classes"),
    [*itertools.product(("real-mh", "gentle", "info", "bagging"), (2, 6)), ("hamming", 6)],
)
def test_the_rule_is_near_the_best_temperature(objective: str, n_classes: int) -> None:
    X, y = make_classification(
        4_000, 20, n_informative=8, n_classes=n_classes, flip_y=0.1, random_state=0
    )
    step = 1.0 if objective == "bagging" else 0.3
    settings: dict[str, Any] = {"learner": "tree:n_leaves=16", "learning_rate": step}
    if objective == "hamming":
        settings |= {"code": "dense:30", "decoding": "hamming"}
    else:
        settings["objective"] = objective
    model = BoostSampleClassifier(n_rounds=150, random_state=0, **settings)
    scores = model.fit(X[:2_000], y[:2_000]).decision_function(X[2_000:]).reshape(2_000, -1)

    def loss(temperature: float) -> float:
        offsets = np.zeros(scores.shape[1])
        chances = log_probabilities(scores, offsets, temperature, False)
        return -float(chances[np.arange(2_000), y[2_000:]].mean())

    assert loss(model.temperature_) < 1.12 * min(loss(t) for t in np.geomspace(0.5, 500, 80))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_that_go_on_or_stop_have_another_temperature(n_classes: int) -> None:
    X, y = load_digits(return_X_y=True)
    settings: dict[str, Any] = {"learner": "tree:n_leaves=3", "n_rounds": 24, "random_state": 0}
    settings |= {"learning_rate": 1.0}
    X, y = X[:300], y[:300] % n_classes
    model = BoostSampleClassifier(**settings).fit(X, y)
    more = BoostSampleClassifier(**settings).fit(X, y, init_model=model)
    edges = [math.tanh(alpha) for alpha in more.model_.alpha[more.model_.first]]
    offsets = np.zeros(more.model_.n_labels)
    given = largest_score(more.model_), edges[24:], offsets, False
    assert more.temperature_ == pytest.approx(naive_rule(*given))
    stopped = BoostSampleClassifier(early_stopping=True, calibration="rule", **settings).fit(X, y)
    held = BoostSampleClassifier(early_stopping=True, **settings).fit(X, y)
    assert held.n_rounds_ == stopped.n_rounds_
    edges = [math.tanh(alpha) for alpha in stopped.model_.alpha[stopped.model_.first]]
    by_rule = naive_rule(largest_score(stopped.model_), edges, offsets, False)
    assert held.temperature_ != stopped.temperature_ == pytest.approx(by_rule)


Floats = NDArray[Any]


def least_scores(signs: NDArray[np.int8], chance: Floats, weight_init: str) -> Floats:
    """The scores f_l of least expected loss, from its definition, one label after another.

    Rows of labels `signs` (m, K) have probabilities `chance` (m,).
    """
    u = initial_weights(signs, weight_init)

    def expected_loss(score: float, label: int) -> float:
        return float(np.sum(chance * u[:, label] * np.exp(-signs[:, label] * score)))

    return np.array(
        [
            minimize_scalar(expected_loss, args=(label,), bracket=(-1, 1), tol=1e-12).x
            for label in range(signs.shape[1])
        ]
    )


def naive_probabilities(scores: Floats, temperature: float = 1.0) -> Floats:
    """Multi-class: the c of each row with sum 1 by bracketing, from the formula."""

    def row(f: Floats) -> Floats:
        logits = 2.0 * f / temperature

        def values(c: float) -> Floats:
            return 1.0 / (1.0 + np.exp(-np.clip(logits + c, -700, 700)))

        ends = -logits.max() - 40.0, -logits.max() + 40.0
        c = brentq(lambda c: values(c).sum() - 1.0, *ends, xtol=1e-13)
        return values(c)

    return np.array([row(f) for f in scores])


@pytest.mark.parametrize("weight_init", ["uniform", "balanced"])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_the_least_loss_gives_the_probabilities(weight_init: str, n_classes: int) -> None:
    chance = np.random.default_rng(n_classes).dirichlet(np.ones(n_classes))
    signs = encode(np.arange(n_classes))
    scores = least_scores(signs, chance, weight_init)[None, :]
    chances = probabilities(scores, np.zeros(scores.shape[1]), 1.0, False)
    np.testing.assert_allclose(chances[0], chance, atol=1e-6)


@pytest.mark.parametrize("weight_init", ["uniform", "balanced"])
def test_the_least_loss_gives_the_probabilities_of_labels(weight_init: str) -> None:
    """Rows with 2 of 4 labels: given y_l, the number of labels does not depend on x."""
    signs = np.array([s for s in np.ndindex(2, 2, 2, 2) if sum(s) == 2], np.int8) * 2 - 1
    every = np.repeat(signs, 3, axis=0).astype(np.int8)
    offsets = label_offsets(every, weight_init, np.ones(len(every)))
    chance = np.random.default_rng(0).dirichlet(np.ones(len(signs)))
    scores = least_scores(signs.astype(np.int8), chance, weight_init)[None, :]
    chances = probabilities(scores, offsets, 1.0, True)
    np.testing.assert_allclose(chances[0], chance @ (signs > 0), atol=1e-6)


def test_offsets_are_those_of_the_docstring() -> None:
    r = np.random.default_rng(1)
    signs = np.where(r.random((40, 5)) < [0.0, 0.1, 0.5, 0.8, 1.0], 1, -1).astype(np.int8)
    weight = r.random(40)
    u = initial_weights(signs, "balanced")
    expected = []
    for label in range(5):
        sums = {+1: [0.0, 0.0], -1: [0.0, 0.0]}
        for i in range(40):
            of_sign = sums[int(signs[i, label])]
            of_sign[0] += weight[i] * u[i, label]
            of_sign[1] += weight[i]
        if sums[1][1] == 0 or sums[-1][1] == 0:
            expected.append(0.0)
        else:
            expected.append(np.log(sums[1][0] / sums[1][1]) - np.log(sums[-1][0] / sums[-1][1]))
    np.testing.assert_allclose(label_offsets(signs, "balanced", weight), expected, atol=1e-12)
    assert expected[0] == expected[4] == 0.0
    np.testing.assert_allclose(label_offsets(signs, "uniform", weight), 0.0, atol=1e-12)
    classes = encode(r.integers(6, size=30), 6)
    np.testing.assert_allclose(label_offsets(classes, "balanced", np.ones(30)), np.log(5))


@pytest.mark.parametrize("n_classes", [3, 4, 26])
@pytest.mark.parametrize("scale", [1e-9, 0.1, 1.0, 30.0])
def test_multi_class_is_the_nearest_distribution(n_classes: int, scale: float) -> None:
    r = np.random.default_rng(n_classes)
    scores: Floats = r.normal(size=(40, n_classes)) * scale
    scores[:5] = np.round(scores[:5])  # ties
    zeros = np.zeros(n_classes)
    chances = probabilities(scores, zeros, 1.5, False)
    np.testing.assert_allclose(chances, naive_probabilities(scores, 1.5), atol=1e-11)
    logs = log_probabilities(scores, zeros, 1.5, False)
    np.testing.assert_allclose(np.exp(logs), chances, atol=1e-12)
    alone = [probabilities(row[None], zeros, 1.5, False)[0] for row in scores]
    np.testing.assert_array_equal(alone, chances)


@pytest.mark.parametrize("n_labels", [1, 3, 10])
@pytest.mark.parametrize("scale", [1e-300, 1e-17, 1e-6, 1.0, 1000.0, 1e8])
def test_any_scores_give_probabilities_that_agree_with_the_classes(
    n_labels: int, scale: float
) -> None:
    r = np.random.default_rng(7)
    whole = r.integers(-3, 4, size=(400, n_labels))
    scores: Floats = np.vstack(
        [whole * scale, 1.0 + whole * scale, r.normal(size=whole.shape) * scale]
    )
    chances = probabilities(scores, np.zeros(n_labels), 1.0, False)
    assert np.all((chances >= 0) & (chances <= 1))
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_array_equal(chances.argmax(axis=1), classify(scores))
    logs = log_probabilities(scores, np.zeros(n_labels), 1.0, False)
    assert np.isfinite(logs).all()
    labels = probabilities(scores, np.zeros(n_labels), 1.0, True)
    assert np.all((labels >= 0) & (labels <= 1))
    assert np.isfinite(log_probabilities(scores, np.zeros(n_labels), 1.0, True)).all()


@pytest.mark.parametrize("objective", [AdaBoostMH(), RealMH(), Bagging()])
@pytest.mark.parametrize("n_labels", [1, 4])
@pytest.mark.parametrize("step", [1.0, 0.1, 1e-3])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3, 1e9])
def test_calibrated_probabilities_keep_the_order_of_the_scores(
    n_labels: int, step: float, scale: float, objective: Objective
) -> None:
    """Sums of 300 coefficients of any size; none ties but by the rule of the docstring.

    Scores are up to half of the sum of the largest real values.
    """
    r = np.random.default_rng(8)
    alphas = step * scale * r.random(300)
    scores: Floats = np.sign(r.normal(size=(2_000, n_labels, 300)) + 0.3) @ alphas
    scores[:2] = alphas.sum() * np.array([[1.0], [-1.0]])  # the largest possible ones
    offsets: Floats = np.zeros(1) if n_labels == 1 else r.normal(size=n_labels)
    largest = alphas.sum() * (2 if isinstance(objective, RealMH) else 1)
    rule = TemperatureRule(objective, 10**6, offsets, n_labels > 1)
    temperature = rule.temperature(largest, [0.2])
    chances = probabilities(scores, offsets, temperature, n_labels > 1)[:, -n_labels:]
    for label in range(n_labels):
        order = np.argsort(scores[:, label])
        ranked = chances[order, label]
        assert np.all(np.diff(ranked) >= 0)
        logits = (2 * scores[order, label] - offsets[label]) / temperature
        assert abs(logits).max() < 30.1
        apart = np.diff(logits) > 2.0**-52 * (
            1 + np.exp(np.maximum(abs(logits[1:]), abs(logits[:-1])))
        )
        assert np.all(np.diff(ranked)[apart] > 0)
        assert ranked[0] > 0
        assert ranked[-1] < 1
        yes = scores[:, label] + r.normal(size=2_000) * scores[:, label].std() > 0
        areas = [roc_auc_score(yes, values[:, label]) for values in (scores, chances)]
        assert areas[0] == areas[1]


@pytest.fixture(scope="module")
def iris() -> tuple[Floats, NDArray[Any], BoostSampleClassifier]:
    X, y = load_iris(return_X_y=True)
    names = np.array(["c", "a", "b"])[y]
    return X, names, BoostSampleClassifier(n_rounds=30, random_state=0).fit(X, names)


def test_a_classifier_has_probabilities(iris: Any) -> None:
    X, names, model = iris
    chances = model.predict_proba(X)
    assert chances.shape == (len(X), 3)
    np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))
    np.testing.assert_array_equal(
        chances, probabilities(model.decision_function(X), np.zeros(3), model.temperature_, False)
    )
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), chances, atol=1e-12)
    assert log_loss(names, chances) < 0.3


def test_several_labels_have_an_array_that_metrics_take() -> None:
    X, y = load_iris(return_X_y=True)
    Y = np.stack([y == 0, y > 0, X[:, 0] > 5.8, X[:, 1] > 4], axis=1).astype(int)
    model = BoostSampleClassifier(n_rounds=40, random_state=0).fit(X, Y)
    chances = model.predict_proba(X)
    assert chances.shape == Y.shape
    assert np.any(model.offset_ != 0.0)
    np.testing.assert_array_equal(
        chances, probabilities(model.decision_function(X), model.offset_, model.temperature_, True)
    )
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), chances, atol=1e-12)
    assert get_scorer("roc_auc")(model, X, Y) > 0.95
    assert get_scorer("average_precision")(model, X, Y) > 0.9
    assert np.abs(chances.mean(axis=0) - Y.mean(axis=0)).max() < 0.1


def test_far_scores_keep_their_distance_in_logarithms() -> None:
    """With two of three classes out of reach, p_2 = exp(-(f_1 - f_2)) up to the third."""
    scores = np.array([[1000.0, 900.0, -1000.0]])
    logs = log_probabilities(scores, np.zeros(3), 1.0, False)
    np.testing.assert_allclose(logs, [[-np.exp(-100.0), -100.0, -3900.0]])
