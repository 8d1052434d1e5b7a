"""Early stopping against plain loops over the definitions, and the predictions of stages."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csc_array
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, log_loss, recall_score

from boostsample import BoostSampleClassifier, DataError, SettingError
from boostsample.classifier.early_stopping import EvalMetric, RoundScores
from boostsample.classifier.inputs.held_rows import FitRows, HeldScores, held_out
from boostsample.classifier.prediction.probabilities import best_temperature, probabilities
from boostsample.labels import classify, encode
from boostsample.records import Round
from tests.classifier.conftest import Data, classifier
from tests.classifier.test_calibration import rule_of_votes


class _Scripted:
    """A metric whose values are given, in place of `EvalMetric`; no row is predicted alike."""

    def __init__(self, values: list[float], sign: float) -> None:
        self.held = SimpleNamespace(add=lambda _: self._next(), weight=np.ones(5))
        self.sign = sign
        self._values = iter(values)

    def _next(self) -> None:
        self.value = next(self._values)

    def __call__(self) -> float:
        return self.value

    def error(self) -> float:
        return 100.0 * self.value

    def constant(self) -> bool:
        return False


def naive_points(n_rounds: int) -> list[int]:
    """The rounds scored before the last: all of the first 32, then 16 of each doubling."""
    points = [1]
    while points[-1] < n_rounds:
        points.append(points[-1] + max(1, points[-1] // 16))
    return [point for point in points if point <= n_rounds]


def naive_choice(losses: dict[int, float]) -> int:
    """The first T of least mean loss over the scored rounds from 4T/5 to 6T/5; at least 10.

    Of those with the same scored rounds it is the last.
    """
    means, windows = {}, {}
    for T in losses:
        inside = [t for t in losses if 4 * T <= 5 * t <= 6 * T]
        if min(10, max(losses)) <= T:
            windows[T], means[T] = inside, round(float(np.mean([losses[t] for t in inside])), 12)
    best = min(means, key=lambda T: (means[T], T))
    return max(T for T, inside in windows.items() if inside == windows[best])


def test_all_rounds_are_kept_while_the_metric_falls() -> None:
    falling: Any = _Scripted([1.0 / at for at in range(1, 201)], 1.0)
    follower = RoundScores({}, decides=falling)
    for _ in range(200):
        assert not follower(None)  # type: ignore[arg-type]  # not read
    follower.end()
    assert follower.n_rounds() == 200


@pytest.mark.parametrize("value", [72.32142857142857, 41.964285714285715, 1e-9 / 3])
def test_of_equal_means_it_is_the_first(value: float) -> None:
    constant: Any = _Scripted([value] * 100, 1.0)
    follower = RoundScores({}, decides=constant)
    for _ in range(100):
        follower(None)  # type: ignore[arg-type]  # not read
    follower.end()
    assert follower.n_rounds() == 10


def test_training_goes_on_if_the_last_round_makes_a_later_number_the_best() -> None:
    """Round 100 is not among the rounds scored of each doubling."""
    values = [1.0 if 25 <= at <= 37 else 2.0 for at in range(1, 100)] + [-20.0] + [3.0] * 100
    follower = RoundScores({}, decides=_Scripted(values, 1.0))  # type: ignore[arg-type]  # a stand-in
    stops = [follower(None) for _ in range(200)]  # type: ignore[arg-type]  # not read
    first = next(at for at, stop in enumerate(stops, 1) if stop)
    best = follower.n_rounds()
    assert first == 2 * best == 174
    assert stops[first - 1] == "early stopping: eval_metric was best after 87 of 174 rounds"


@pytest.mark.parametrize("n_rounds", [1, 2, 9, 40, 250])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_choice_is_that_of_the_definition(n_rounds: int, sign: float, seed: int) -> None:
    r = np.random.default_rng(seed)
    values = np.round(r.normal(size=n_rounds) / 5 + np.exp(-np.arange(n_rounds) / 20), 2).tolist()
    follower = RoundScores({}, decides=_Scripted(values, sign))  # type: ignore[arg-type]  # a stand-in
    losses: dict[int, float] = {}
    for at, value in enumerate(values, 1):
        stop = follower(None)  # type: ignore[arg-type]  # not read
        last = max(losses, default=0)
        if at - last >= max(1, last // 16):
            losses[at] = sign * value
        if at >= 100 and at >= 2 * naive_choice(losses):
            losses[at] = sign * value
        best = naive_choice(losses)
        of_text = f"early stopping: eval_metric was best after {best} of {at} rounds"
        assert stop == (of_text if at >= 100 and at >= 2 * best else "")
    losses[n_rounds] = sign * values[-1]
    follower.end()
    assert follower.n_rounds() == naive_choice(losses)
    assert follower.errors is not None
    np.testing.assert_allclose(follower.errors, 100 * np.array(values))
    rows = follower.history([Round([], [{}, {}], 0.5)] * n_rounds)
    expected = [sign * losses.get(at, np.nan) for at in range(1, n_rounds + 1)]
    for part in (rows[::2], rows[1::2]):
        np.testing.assert_array_equal([row["validation"] for row in part], expected)


def class_rows(seed: int, n_classes: int, n: int = 80) -> tuple[HeldScores, NDArray[Any]]:
    """Held-out rows with scores, and their class codes; the last class of many is absent."""
    r = np.random.default_rng(seed)
    codes = r.integers(max(n_classes - 1, 2), size=n)
    labels = encode(codes, n_classes)
    held = HeldScores(
        SimpleNamespace(reader=lambda _: None),  # type: ignore[arg-type]  # a stand-in
        FitRows.of(None, labels, r.random(n) + 0.1),
        np.arange(n),
    )
    held.scores[:] = np.round((labels + 2 * r.normal(size=labels.shape)) * 3)
    held.largest, held.edges = 40.0, [0.4] * 8
    return held, codes


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("seed", range(3))
def test_metrics_are_those_of_scikit_learn(n_classes: int, seed: int) -> None:
    held, codes = class_rows(seed, n_classes)
    classes = np.array(list("abcdef")[:n_classes])
    rule = rule_of_votes(held.labels.shape[1])

    def value(metric: Any) -> float:
        return EvalMetric(metric, held, rule, classes)()

    chances = probabilities(held.scores, rule.offsets, best_temperature(held, rule), False)
    y, predicted, weight = classes[codes], classify(held.scores), held.weight
    assert value("log_loss") == pytest.approx(
        log_loss(y, chances, labels=classes, sample_weight=weight), rel=1e-6
    )
    error = 1 - accuracy_score(codes, predicted, sample_weight=weight)
    assert value("error") == pytest.approx(100 * error)
    recall = recall_score(
        codes, predicted, labels=np.unique(codes), average="macro", sample_weight=weight
    )
    assert value("balanced_error") == pytest.approx(100 * (1 - recall))
    areas = [naive_auc(codes == k, chances[:, k], weight) for k in np.unique(codes)]
    assert value("auc") == pytest.approx(np.mean(areas), rel=1e-6)
    received: list[Any] = []

    def brier(truth: Any, p: Any, sample_weight: Any) -> float:
        received[:] = [truth.tolist(), sample_weight.tolist()]
        return float(np.mean((p - (truth[:, None] == classes)) ** 2))

    assert value(brier) == pytest.approx(np.mean((chances - np.eye(n_classes)[codes]) ** 2))
    assert received == [y.tolist(), weight.tolist()]


def naive_auc(yes: NDArray[Any], scores: NDArray[Any], weight: NDArray[Any]) -> float:
    """Weight of the pairs of a positive and a negative row in the right order; ties are half."""
    right = total = 0.0
    for i in np.flatnonzero(yes):
        for j in np.flatnonzero(~yes):
            pair = weight[i] * weight[j]
            total += pair
            right += pair * ((scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j]))
    return right / total


def test_metrics_of_several_labels() -> None:
    r = np.random.default_rng(0)
    Y = (r.random((60, 3)) < 0.4).astype(int)
    held = class_rows(0, 2)[0]
    held.labels, held.weight = encode(Y), r.random(60) + 0.1
    held._scores = np.round(4 * (held.labels + r.normal(size=Y.shape)))
    offsets = np.array([0.3, 0.0, -0.2])
    rule = rule_of_votes(3)._replace(offsets=offsets, multi_label=True)

    def value(metric: str) -> float:
        return EvalMetric(metric, held, rule, np.arange(3))()

    temperature = best_temperature(held, rule)
    chances, weight = probabilities(held.scores, offsets, temperature, True), held.weight
    labels = range(3)
    losses = [log_loss(Y[:, k], chances[:, k], sample_weight=weight) for k in labels]
    assert value("log_loss") == pytest.approx(np.mean(losses), rel=1e-6)
    areas = [naive_auc(Y[:, k] > 0, held.scores[:, k], weight) for k in labels]
    assert value("auc") == pytest.approx(np.mean(areas))
    wrong = (held.scores > 0) != Y
    assert value("error") == pytest.approx(100 * np.average(wrong.mean(axis=1), weights=weight))
    balanced = [
        np.average(wrong[Y[:, k] == sign, k], weights=weight[Y[:, k] == sign])
        for k in labels
        for sign in (0, 1)
    ]
    assert value("balanced_error") == pytest.approx(100 * np.mean(balanced))


def test_the_curves_are_those_of_each_model(digits: Data) -> None:
    X, y = digits
    weight = np.random.default_rng(0).random(200)
    weight[:20] = 0.0
    val: dict[str, Any] = {"X_val": X[400:], "y_val": y[400:], "sample_weight_val": weight}
    sets = [(X[400:500], y[400:500]), (X[400:], y[400:], weight)]
    model = classifier(n_rounds=40, early_stopping=True, eval_metric="error", random_state=0)
    model.fit(X[:400], y[:400], eval_set=sets, **val)
    whole = classifier(n_rounds=40, random_state=0).fit(X[:400], y[:400])
    stages = list(whole.staged_predict(X[400:]))
    expected = [100 * np.average(stage != y[400:], weights=weight) for stage in stages]
    np.testing.assert_allclose(model.validation_error_, expected)
    scored = {at: expected[at - 1] for at in (*naive_points(40), 40)}
    assert model.n_rounds_ == len(model.model_) == naive_choice(scored)
    columns = {
        name: [row[name] for row in model.history_]
        for name in ("validation", "eval_set_0", "eval_set_1")
    }
    curve = [scored.get(at, np.nan) for at in range(1, 41)]
    np.testing.assert_allclose(columns["validation"], curve)
    np.testing.assert_allclose(columns["eval_set_1"], curve)
    first = [100 * np.mean(stage[:100] != y[400:500]) for stage in stages]
    np.testing.assert_allclose(columns["eval_set_0"][:32], first[:32])
    only_watched = classifier(n_rounds=40, eval_metric="error", random_state=0)
    only_watched.fit(X[:400], y[:400], eval_set=sets)
    assert [row["eval_set_1"] for row in only_watched.history_] == columns["eval_set_1"]
    assert "validation" not in only_watched.history_[0]
    np.testing.assert_array_equal(only_watched.decision_function(X), whole.decision_function(X))


@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=3"])
def test_the_model_is_that_of_a_shorter_fit(digits: Data, learner: str) -> None:
    X, y = digits
    settings: dict[str, Any] = {"learner": learner, "random_state": 0}
    model = classifier(n_rounds=60, early_stopping=True, **settings)
    model.fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    short = classifier(n_rounds=model.n_rounds_, **settings).fit(X[:400], y[:400])
    np.testing.assert_array_equal(model.decision_function(X), short.decision_function(X))
    np.testing.assert_allclose(model.feature_importances_, short.feature_importances_)
    assert sum(1 for _ in model.staged_predict(X[:5])) == model.n_rounds_


def test_several_labels_and_sparse_tables(digits: Data) -> None:
    X, y = digits
    Y = np.stack([y % 2 == 0, y > 4, y == 3], axis=1).astype(int)
    model = classifier(n_rounds=24, early_stopping=True, random_state=0)
    dense = model.fit(X[:400], Y[:400], X_val=X[400:], y_val=Y[400:]).validation_error_
    whole = classifier(n_rounds=24, random_state=0).fit(X[:400], Y[:400])
    expected = [100 * np.mean(stage != Y[400:]) for stage in whole.staged_predict(X[400:])]
    np.testing.assert_allclose(dense, expected)
    for table in (X[:400], csc_array(X[:400])):
        model.fit(table, Y[:400], X_val=csc_array(X[400:]), y_val=Y[400:])
        np.testing.assert_array_equal(model.validation_error_, dense)
    assert model.fit(X, Y).validation_error_.shape == (24,)


@pytest.mark.parametrize("fraction", [0.1, 0.37, 0.6])
def test_held_out_rows_are_a_part_of_each_class(fraction: float) -> None:
    r = np.random.default_rng(0)
    codes = r.choice(5, size=400, p=[0.5, 0.3, 0.1, 0.09, 0.01])
    codes[0] = 5
    train, held = held_out(encode(codes), fraction, np.random.default_rng(1), False)
    assert held.size == round(fraction * 400)
    np.testing.assert_array_equal(np.sort(np.concatenate([train, held])), np.arange(400))
    shares = np.bincount(codes[held], minlength=6) - fraction * np.bincount(codes)
    assert np.abs(shares).max() < 2
    assert set(codes[train]) == set(range(6))
    _, other = held_out(encode(codes), fraction, np.random.default_rng(2), False)
    assert set(other) != set(held)


def none(*_: Any) -> Any:
    return None


@pytest.mark.parametrize(
    ("settings", "held", "error", "message"),
    [
        ({"early_stopping": "no"}, {}, SettingError, "must be True or False, got 'no'"),
        ({"eval_metric": "f1"}, {}, SettingError, "log_loss, error, balanced_error, auc, a func"),
        ({"eval_metric": none}, {}, SettingError, "must return a number: "),
        ({}, {"eval_set": "X"}, SettingError, r"must be a sequence of \(X, y\) or"),
        ({"eval_metric": "auc"}, {"X_val": "X[:1]", "y_val": "y[:1]"}, DataError, "got 1 rows"),
        ({"early_stopping": False}, {"X_val": "X", "y_val": "y"}, SettingError, "and all with"),
        ({"calibration": "platt"}, {}, SettingError, "known: None, auto, rule, temperature"),
        ({}, {"X_val": "X"}, SettingError, "must be given together"),
        ({}, {"sample_weight_val": "y"}, SettingError, "only with them"),
        ({"validation_fraction": 1}, {}, SettingError, "must be above 0 and below 1, got 1"),
        ({"validation_fraction": 1e-4}, {}, DataError, "rows of each class .* at least one, got 0"),
        ({}, {"X_val": "X", "y_val": "y + 1"}, DataError, "the classes of y only, got 10"),
        ({}, {"X_val": "X[:, 1:]", "y_val": "y"}, ValueError, "63 features"),
    ],
)
def test_bad_validation(
    digits: Data,
    settings: dict[str, Any],
    held: dict[str, str],
    error: type[Exception],
    message: str,
) -> None:
    X, y = digits
    tables = {"X": X, "y": y, "y + 1": y + 1, "X[:, 1:]": X[:, 1:]}
    tables |= {"X[:1]": X[:1], "y[:1]": y[:1]}
    model = classifier(**{"n_rounds": 2, "random_state": 0, "early_stopping": True, **settings})
    more: dict[str, Any] = {name: tables[key] for name, key in held.items()}
    with pytest.raises(error, match=message):
        model.fit(X, y, **more)


def test_a_continued_model_is_scored_with_its_first_rounds(digits: Data) -> None:
    X, y = digits
    first = classifier(n_rounds=20, random_state=0).fit(X[:400], y[:400])
    model = classifier(n_rounds=12, early_stopping=True, random_state=1)
    model.set_params(calibration="temperature")
    model.fit(X[:400], y[:400], init_model=first, X_val=X[400:], y_val=y[400:])
    whole = classifier(n_rounds=12, random_state=1)
    whole.fit(X[:400], y[:400], init_model=first)
    stages = list(whole.staged_predict(X[400:]))
    expected = [100 * np.mean(stage != y[400:]) for stage in stages[20:]]
    np.testing.assert_allclose(model.validation_error_, expected)
    losses = {row["round"]: row["validation"] for row in model.history_}
    assert model.n_rounds_ == 20 + naive_choice(losses)
    np.testing.assert_array_equal(model.term_importances_[:20], first.term_importances_)
    np.testing.assert_allclose(whole.term_importances_[: model.n_rounds_], model.term_importances_)


def test_a_constant_model_is_a_warning(digits: Data) -> None:
    rare = (digits[1] == 3) & (np.arange(600) % 3 == 0)
    noise = np.random.default_rng(0).normal(size=(600, 4))
    model = classifier(n_rounds=20, early_stopping=True, random_state=0)
    with pytest.warns(UserWarning, match="same for all 60 held-out rows.*set class_weight="):
        model.fit(noise, rare)
    assert not model.predict(noise[:60]).any()


def targets(kind: str, y: NDArray[Any]) -> NDArray[Any]:
    if kind == "two classes":
        return y > 4
    if kind == "several labels":
        return np.stack([y > 4, y % 2 == 0, y % 3 == 0], axis=1).astype(int)
    return y


@pytest.mark.parametrize("kind", ["classes", "two classes", "several labels"])
@pytest.mark.parametrize("learner", ["stump", "product:n_terms=2", "tree:n_leaves=4"])
def test_each_stage_is_the_model_of_its_rounds(
    digits: Data, kind: str, learner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = digits
    monkeypatch.setattr("boostsample.models.model._CHUNK", 5)
    model = BoostSampleClassifier(learner=learner, n_rounds=13, random_state=0)
    model.fit(X, targets(kind, y))
    rows, whole = X[:50], model.decision_function(X[:50])
    scores = list(model.staged_decision_function(rows))
    assert len(scores) == model.n_rounds_ == 13
    for n_rounds, stage in enumerate(scores, start=1):
        expected = model.model_.decision_function(rows, n_rounds).reshape(stage.shape)
        np.testing.assert_allclose(stage, expected, atol=1e-12)
    assert scores[-1].shape == whole.shape
    predicted = list(model.staged_predict(rows))
    np.testing.assert_array_equal(predicted[-1], model.predict(rows))
    weight = np.arange(50.0)
    truth = targets(kind, y)[:50]
    assert list(model.staged_score(rows, truth, weight))[-1] == model.score(rows, truth, weight)
    shares = [np.mean((stage == truth).reshape(50, -1).all(axis=1)) for stage in predicted]
    np.testing.assert_allclose(list(model.staged_score(rows, truth)), shares)
    chances = list(model.staged_predict_proba(rows))
    np.testing.assert_allclose(chances[-1], model.predict_proba(rows), atol=1e-12)
    for labels, stage in zip(predicted, chances, strict=True):
        if kind != "several labels":
            np.testing.assert_allclose(stage.sum(axis=1), 1.0)
            np.testing.assert_array_equal(model.classes_[stage.argmax(axis=1)], labels)


def test_the_last_stage_has_the_bits_of_the_model(digits: Data) -> None:
    X, y = digits
    model = BoostSampleClassifier(n_rounds=300, random_state=0).fit(X, y)
    scores = list(model.staged_decision_function(X[:30]))
    np.testing.assert_array_equal(scores[-1], model.decision_function(X[:30]))
    np.testing.assert_array_equal(scores[255], model.model_.decision_function(X[:30], 256))


def test_X_is_checked_at_once(digits: Data) -> None:
    X, y = digits
    model = BoostSampleClassifier(n_rounds=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.staged_predict(X[:, :5])
    with pytest.raises(NotFittedError):
        BoostSampleClassifier().staged_predict(X)
